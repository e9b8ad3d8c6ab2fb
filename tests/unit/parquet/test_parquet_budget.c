/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a few hundred bytes that claim gigabytes: refused by a limit or as corrupt, before memory is asked for. */
#include "parquet/parquet_column.h"

#include <stdlib.h>

#include "arrow/ipc.h"
#include "base/base64.h"
#include "base/endian.h"
#include "parquet/parquet_format.h"
#include "test_support.h"

enum { PEAK_MAX = 24 << 20, FILE_MAX = 1024 };

/* A file of one column: a dictionary page where it has bytes, then a data page. */
struct claim {
    const char *what;
    int32_t type, type_length, repetition, codec;
    bool is_list;
    const char *hint; /* Arrow format of the list, in ARROW:schema */
    int64_t num_rows, num_values; /* of the chunk */
    struct pq_page_header dictionary, page;
    unsigned char dictionary_bytes[16], bytes[32];
    size_t dictionary_len, len;
    grebe_status expected;
    const char *fragment;
};

static struct pq_bytes text(const char *s)
{
    return (struct pq_bytes){ (const unsigned char *)s, strlen(s) };
}

static uint32_t fill_schema(const struct claim *c, struct pq_schema_element elements[4])
{
    uint32_t n = c->is_list ? 4 : 2;
    for (uint32_t i = 0; i < n; i++) {
        pq_schema_element_init(&elements[i]);
        elements[i].n_children = i + 1 < n ? 1 : -1;
    }
    elements[0].name = text("schema");
    if (c->is_list) {
        elements[1].name = text("v");
        elements[1].repetition = PQ_OPTIONAL;
        elements[1].converted = PQ_CONV_LIST;
        elements[2].name = text("list");
        elements[2].repetition = PQ_REPEATED;
    }
    elements[n - 1].name = text(c->is_list ? "element" : "v");
    elements[n - 1].repetition = c->repetition;
    elements[n - 1].type = c->type;
    elements[n - 1].type_length = c->type_length;
    return n;
}

static void put_page(struct buf *file, const struct pq_page_header *header, const unsigned char *bytes,
                     size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_page_header h = *header;
    h.compressed_size = (int32_t)len;
    h.uncompressed_size = h.uncompressed_size == 0 ? (int32_t)len : h.uncompressed_size;
    assert_ok(pq_page_header_encode(&h, file, &err));
    assert_ok(buf_put(file, bytes, len, &err));
}

static void put_hint(const char *format, struct buf *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct buf message = BUF_INIT(a);
    struct ArrowSchema hint;
    assert_ok(schema_new(a, "+s", "", false, 1, &hint, &err));
    assert_ok(schema_new(a, format, "v", true, 1, hint.children[0], &err));
    assert_ok(schema_new(a, "f", "element", true, 0, hint.children[0]->children[0], &err));
    assert_ok(ipc_schema_encode(&message, &hint, &err));
    assert_ok(base64_encode(out, message.data, message.len, &err));
    schema_release(&hint);
    buf_release(&message);
}

static void make_file(const struct claim *c, struct buf *file)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_schema_element elements[4];
    struct pq_row_group group;
    struct pq_chunk chunk;
    struct buf hint = BUF_INIT(mem_system());
    const struct pq_bytes path[] = { text("v"), text("list"), text("element") };
    const int32_t encodings[] = { c->page.encoding, PQ_RLE };
    unsigned char tail[8];
    assert_ok(buf_put(file, "PAR1", 4, &err));
    pq_chunk_init(&chunk);
    chunk.type = c->type;
    chunk.codec = c->codec;
    chunk.num_values = c->num_values;
    if (c->dictionary_len > 0) {
        chunk.dictionary_page_offset = 4;
        put_page(file, &c->dictionary, c->dictionary_bytes, c->dictionary_len);
    }
    chunk.data_page_offset = (int64_t)file->len;
    put_page(file, &c->page, c->bytes, c->len);
    chunk.total_compressed_size = (int64_t)file->len - 4;
    chunk.total_uncompressed_size = INT64_MAX / 2;
    chunk.path = path;
    chunk.n_path = c->is_list ? 3 : 1;
    chunk.encodings = encodings;
    chunk.n_encodings = 2;
    chunk.has_metadata = true;
    pq_row_group_init(&group);
    group.columns = &chunk;
    group.n_columns = 1;
    group.num_rows = c->num_rows;
    struct pq_footer footer = { .version = 2, .num_rows = c->num_rows, .schema = elements,
                                .n_schema = fill_schema(c, elements), .n_row_groups = 1,
                                .row_groups = &group };
    struct pq_key_value pair;
    if (c->hint != NULL) {
        put_hint(c->hint, &hint);
        pair = (struct pq_key_value){ text("ARROW:schema"), { hint.data, hint.len } };
        footer.key_values = &pair;
        footer.n_key_values = 1;
    }
    size_t before = file->len;
    assert_ok(pq_footer_encode(&footer, file, &err));
    store_le32(tail, (uint32_t)(file->len - before));
    memcpy(tail + 4, "PAR1", 4);
    assert_ok(buf_put(file, tail, sizeof tail, &err));
    buf_release(&hint);
    assert_true(file->len <= FILE_MAX);
}

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
    { "an LZ4 page of 1 GiB", INT64_COLUMN, .codec = PQ_LZ4_RAW, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "cannot stand for" },
    { "an LZ4 page of 1 GiB as Hadoop frames it", INT64_COLUMN, .codec = PQ_LZ4, ROWS(1 << 27),
      .page = RAW(1 << 27, PQ_PLAIN, 1 << 30), .len = 16, .expected = GREBE_ECORRUPT,
      .fragment = "cannot stand for" },
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
