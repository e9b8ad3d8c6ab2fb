/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a few hundred bytes that claim gigabytes: refused by a limit or as corrupt, before memory is asked for. */
#include "parquet/parquet_column.h"

#include "parquet_one_column.h"

enum { PEAK_MAX = 24 << 20, FILE_MAX = 1024 };

/* Reads some of the rows, takes one, checks the file; nothing may ask for much. */
static void use(const struct claim *c, struct test_allocator *t, const struct buf *file, bool is_take)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct format_reader *r = NULL;
    struct ArrowArray rows = { 0 };
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    options.allocator = &t->a;
    assert_ok(context_new(&options, &ctx, &err));
    assert_ok(io_memory_new(ctx, &store, &err));
    assert_ok(io_create(store, "x.parquet", false, &w, &err));
    assert_ok(io_write(w, file->data, file->len, &err));
    assert_ok(io_writer_publish(w, true, &err));
    io_writer_free(w);
    grebe_status st = parquet_format.open(store, "x.parquet", NULL, &r, &err);
    if (st == GREBE_OK) {
        int64_t row = 0;
        st = is_take ? r->ops->take(r, NULL, 0, &row, 1, &call, &rows, &err)
                     : r->ops->read(r, NULL, 0, 0, r->chunk_begin[1], &call, &rows, &err);
        r->ops->close(r);
    }
    if (st == GREBE_OK) {
        array_release(&rows);
    }
    /* One row may be had where all of them are too much. */
    if (st != c->expected && !(is_take && st == GREBE_OK)) {
        fail_msg("%s: expected %s, found %s (%s)", c->what, grebe_status_name(c->expected),
                 grebe_status_name(st), err.message);
    }
    if (st != GREBE_OK && !is_take && strstr(err.message, c->fragment) == NULL) {
        fail_msg("%s: message \"%s\" does not hold \"%s\"", c->what, err.message, c->fragment);
    }
    io_store_free(store);
    context_free(ctx);
    if (t->peak_bytes > PEAK_MAX) {
        fail_msg("%s: %zu bytes were asked for", c->what, t->peak_bytes);
    }
}

#define DATA(n, e) { .type = PQ_PAGE_DATA, .num_values = (n), .encoding = (e), \
                     .definition_encoding = PQ_RLE, .repetition_encoding = PQ_RLE }
#define RAW(n, e, raw) { .type = PQ_PAGE_DATA, .num_values = (n), .encoding = (e), \
                         .definition_encoding = PQ_RLE, .repetition_encoding = PQ_RLE, \
                         .uncompressed_size = (raw) }
#define DICTIONARY(n) { .type = PQ_PAGE_DICTIONARY, .num_values = (n), .encoding = PQ_PLAIN }
#define INT64_COLUMN .type = PQ_INT64, .repetition = PQ_REQUIRED
#define ROWS(n) .num_rows = (n), .num_values = (n)

/* RLE runs of a bit: varint(2 n), value; a length before them. */
#define ALL_NULL_2E31 { 6, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0 }

static const struct claim claims[] = {
    { "a page of 2 GiB", INT64_COLUMN, .codec = PQ_ZSTD, ROWS(1 << 28),
      .page = RAW(1 << 28, PQ_PLAIN, INT32_MAX), .len = 16, .expected = GREBE_ELIMIT,
      .fragment = "the limit is 1073741824" },
    { "a zstd page of 1 GiB", INT64_COLUMN, .codec = PQ_ZSTD, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "16 bytes cannot stand for" },
    { "a snappy page of 1 GiB", INT64_COLUMN, .codec = PQ_SNAPPY, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "cannot stand for" },
    { "a gzip page of 1 GiB", INT64_COLUMN, .codec = PQ_GZIP, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "cannot stand for" },
#if defined(GREBE_HAVE_LZ4)
    { "an LZ4 page of 1 GiB", INT64_COLUMN, .codec = PQ_LZ4_RAW, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "cannot stand for" },
    { "an LZ4 page of 1 GiB as Hadoop frames it", INT64_COLUMN, .codec = PQ_LZ4, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "cannot stand for" },
#endif
    { "a page of 2^27 values in 16 bytes", INT64_COLUMN, ROWS(1 << 27),
      .page = DATA(1 << 27, PQ_PLAIN), .len = 16, .expected = GREBE_ECORRUPT, .fragment = "16" },
    { "2^40 rows", INT64_COLUMN, ROWS((int64_t)1 << 40), .page = DATA(2, PQ_PLAIN), .len = 16,
      .expected = GREBE_ECORRUPT, .fragment = "1099511627776" },
    { "a dictionary of 2^31 numbers", INT64_COLUMN, ROWS(8), .dictionary = DICTIONARY(INT32_MAX),
      .dictionary_len = 16, .page = DATA(8, PQ_RLE_DICTIONARY), .bytes = { 1, 3, 0 }, .len = 3,
      .expected = GREBE_ECORRUPT, .fragment = "dictionary" },
    { "a dictionary of 2^31 strings", .type = PQ_BYTE_ARRAY, .repetition = PQ_REQUIRED, ROWS(8),
      .dictionary = DICTIONARY(INT32_MAX), .dictionary_len = 16, .page = DATA(8, PQ_RLE_DICTIONARY),
      .bytes = { 1, 3, 0 }, .len = 3, .expected = GREBE_ECORRUPT, .fragment = "dictionary" },
    { "a dictionary page of 1 GiB", INT64_COLUMN, .codec = PQ_ZSTD, ROWS(8),
      .dictionary = { .type = PQ_PAGE_DICTIONARY, .num_values = 1 << 27, .encoding = PQ_PLAIN,
                      .uncompressed_size = 1 << 30 },
      .dictionary_len = 16,
      .page = { .type = PQ_PAGE_DATA_V2, .num_values = 8, .num_rows = 8,
                .encoding = PQ_RLE_DICTIONARY },
      .bytes = { 1, 3, 0 }, .len = 3,
      .expected = GREBE_ECORRUPT, .fragment = "cannot stand for" },
    { "values of 2^28 bytes", .type = PQ_FIXED, .type_length = 1 << 28, .repetition = PQ_REQUIRED,
      ROWS(8), .page = DATA(8, PQ_PLAIN), .len = 16, .expected = GREBE_ECORRUPT, .fragment = "16" },
    { "a string of 2 GiB", .type = PQ_BYTE_ARRAY, .repetition = PQ_REQUIRED, ROWS(1),
      .page = DATA(1, PQ_PLAIN), .bytes = { 0xff, 0xff, 0xff, 0x7f }, .len = 16,
      .expected = GREBE_ECORRUPT, .fragment = "ends beyond" },
    { "2^31 nulls in one page", .type = PQ_INT64, .repetition = PQ_OPTIONAL, ROWS(INT32_MAX),
      .page = DATA(INT32_MAX, PQ_PLAIN), .bytes = ALL_NULL_2E31, .len = 10,
      .expected = GREBE_ELIMIT, .fragment = "the limit is" },
    { "deltas of 2^27 values that are not there", INT64_COLUMN, ROWS(1 << 27),
      .page = DATA(1 << 27, PQ_DELTA_BINARY_PACKED),
      .bytes = { 0x80, 0x01, 4, 0x80, 0x80, 0x80, 0x40, 2, 2, 64, 64, 64, 64 }, .len = 16,
      .expected = GREBE_ECORRUPT, .fragment = "" },
    { "lengths of 2^27 strings that are not there", .type = PQ_BYTE_ARRAY,
      .repetition = PQ_REQUIRED, ROWS(1 << 27), .page = DATA(1 << 27, PQ_DELTA_LENGTH_BYTE_ARRAY),
      .bytes = { 0x80, 0x01, 4, 0x80, 0x80, 0x80, 0x40, 2, 2, 64, 64, 64, 64 }, .len = 16,
      .expected = GREBE_ECORRUPT, .fragment = "" },
    { "streams of 2^27 bytes each in 16", INT64_COLUMN, ROWS(1 << 27),
      .page = DATA(1 << 27, PQ_BYTE_STREAM_SPLIT), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "16" },
    { "levels of 2^28 values, eight of which are there", .type = PQ_INT64,
      .repetition = PQ_OPTIONAL, ROWS(1 << 27), .page = DATA(1 << 27, PQ_PLAIN),
      .bytes = { 2, 0, 0, 0, 16, 0 }, .len = 6, .expected = GREBE_ECORRUPT, .fragment = "" },
    { "eight null lists of 2^30 floats each", .type = PQ_FLOAT, .repetition = PQ_OPTIONAL,
      .is_list = true, .hint = "+w:1073741824", ROWS(8), .page = DATA(8, PQ_PLAIN),
      .bytes = { 2, 0, 0, 0, 16, 0, 2, 0, 0, 0, 16, 0 }, .len = 12, .expected = GREBE_ELIMIT,
      .fragment = "1073741824 elements" },
    { "eight null lists of 2^30 floats that cannot be null", .type = PQ_FLOAT,
      .repetition = PQ_REQUIRED, .is_list = true, .hint = "+w:1073741824", ROWS(8),
      .page = DATA(8, PQ_PLAIN), .bytes = { 2, 0, 0, 0, 16, 0, 2, 0, 0, 0, 16, 0 }, .len = 12,
      .expected = GREBE_ELIMIT, .fragment = "1073741824 elements" },
};

static void test_budget__tiny_files__refused_before_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct buf file = BUF_INIT(mem_system());
        make_file(&claims[i], &file);
        assert_true(file.len <= FILE_MAX);
        for (int is_take = 0; is_take < 2; is_take++) {
            struct test_allocator t;
            test_allocator_init(&t);
            use(&claims[i], &t, &file, is_take);
            assert_int_equal(t.live_bytes, 0);
        }
        buf_release(&file);
    }
}

static void test_budget__of_a_call__shared_and_given_back(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_budget b = { .limit_bytes = 100 };
    assert_ok(pq_budget_take(&b, 60, &err));
    assert_fails(pq_budget_take(&b, 41, &err), GREBE_ELIMIT, "the limit is 100");
    assert_ok(pq_budget_take(&b, 40, &err));
    assert_fails(pq_budget_take(&b, 1, &err), GREBE_ELIMIT, "more than the 100 of this call");
    assert_fails(pq_budget_take(&b, UINT64_MAX, &err), GREBE_ELIMIT, "limit");
    pq_budget_return(&b, 60);
    assert_ok(pq_budget_take(&b, 60, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget__tiny_files__refused_before_memory),
        cmocka_unit_test(test_budget__of_a_call__shared_and_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
