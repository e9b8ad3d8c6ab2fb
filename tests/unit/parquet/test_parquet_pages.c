/* SPDX-License-Identifier: Apache-2.0 */
/* Page headers of any length, pages of kinds unknown to us, encodings that nobody has given yet. */
#include "parquet/parquet_format.h"

#include "parquet_one_column.h"

static grebe_status read_file(const struct buf *file, int64_t sum[1], grebe_error *err)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *w = NULL;
    struct format_reader *r = NULL;
    struct ArrowArray rows;
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    assert_int_equal(context_new(NULL, &ctx, err), GREBE_OK);
    assert_int_equal(io_memory_new(ctx, &store, err), GREBE_OK);
    assert_int_equal(io_create(store, "x.parquet", false, &w, err), GREBE_OK);
    assert_int_equal(io_write(w, file->data, file->len, err), GREBE_OK);
    assert_int_equal(io_writer_publish(w, true, err), GREBE_OK);
    io_writer_free(w);
    grebe_status st = parquet_format.open(store, "x.parquet", NULL, &r, err);
    if (st == GREBE_OK) {
        st = r->ops->read(r, NULL, 0, 0, r->chunk_begin[1], &call, &rows, err);
        if (st == GREBE_OK) {
            const int64_t *values = rows.children[0]->buffers[1];
            *sum = 0;
            for (int64_t i = 0; i < rows.length; i++) {
                *sum += values[rows.children[0]->offset + i];
            }
            array_release(&rows);
        }
        r->ops->close(r);
    }
    io_store_free(store);
    context_free(ctx);
    return st;
}

/* Two values: 7 and 8. */
static struct claim two_values(int32_t encoding)
{
    struct claim c = { .type = PQ_INT64, .repetition = PQ_REQUIRED, .num_rows = 2, .num_values = 2,
                       .page = { .type = PQ_PAGE_DATA, .num_values = 2, .encoding = encoding,
                                 .definition_encoding = PQ_RLE, .repetition_encoding = PQ_RLE },
                       .bytes = { 7, 0, 0, 0, 0, 0, 0, 0, 8 }, .len = 16 };
    return c;
}

/* The page with an unknown binary field of n bytes in its header; the footer says nothing of it. */
static void put_long_header(const struct claim *c, size_t n, struct buf *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pq_page_header h = c->page;
    unsigned char field[16] = { 0x08 }; /* binary, its id follows */
    size_t at = 1;
    h.compressed_size = h.uncompressed_size = (int32_t)c->len;
    assert_ok(pq_page_header_encode(&h, out, &err));
    assert_int_equal(out->data[--out->len], 0); /* the end of the struct */
    for (uint64_t v = 2 * 30000; v > 0; v >>= 7) { /* zigzag */
        field[at++] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
    }
    for (uint64_t v = n; v > 0; v >>= 7) {
        field[at++] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
    }
    assert_ok(buf_put(out, field, at, &err));
    assert_ok(buf_reserve(out, n + 1, &err));
    memset(out->data + out->len, 'x', n);
    out->len += n;
    assert_ok(buf_put_byte(out, 0, &err));
    assert_ok(buf_put(out, c->bytes, c->len, &err));
}

static void test_page_header__any_length__read_up_to_the_limit(void **state)
{
    (void)state;
    static const size_t lengths[] = { 100, 500, 5000, 1 << 20, (16 << 20) - 200, (16 << 20) + 1, 20 << 20 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf file = BUF_INIT(mem_system()), page = BUF_INIT(mem_system());
        struct claim c = two_values(PQ_PLAIN);
        int64_t sum = 0;
        put_long_header(&c, lengths[i], &page);
        c.before = page.data;
        c.before_len = page.len;
        c.num_rows = c.num_values = 4; /* with the plain page behind it */
        make_file(&c, &file);
        if (lengths[i] < 16 << 20) {
            assert_ok(read_file(&file, &sum, &err));
            assert_int_equal(sum, 30);
        } else {
            assert_fails(read_file(&file, &sum, &err), GREBE_ELIMIT, "page header: more than 16777216");
        }
        buf_release(&file);
        buf_release(&page);
    }
}

static void test_page__unknown_kind__passed_over(void **state)
{
    (void)state;
    /* type 9 (and 1, an index page), sizes 3 and 3, then 3 bytes */
    static const unsigned char pages[][10] = { { 0x15, 0x12, 0x15, 0x06, 0x15, 0x06, 0x00, 1, 2, 3 },
                                               { 0x15, 0x02, 0x15, 0x06, 0x15, 0x06, 0x00, 1, 2, 3 } };
    for (size_t i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf file = BUF_INIT(mem_system());
        struct claim c = two_values(PQ_PLAIN);
        int64_t sum = 0;
        c.before = pages[i];
        c.before_len = sizeof pages[i];
        make_file(&c, &file);
        assert_ok(read_file(&file, &sum, &err));
        assert_int_equal(sum, 15);
        buf_release(&file);
    }
}

static void test_page__unknown_encoding__named(void **state)
{
    (void)state;
    static const int32_t encodings[] = { 1, 11, 77 };
    for (size_t i = 0; i < 3; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf file = BUF_INIT(mem_system());
        struct claim c = two_values(encodings[i]);
        int64_t sum = 0;
        make_file(&c, &file);
        grebe_status st = read_file(&file, &sum, &err);
        assert_true(st == GREBE_EUNSUPPORTED || st == GREBE_ECORRUPT);
        assert_non_null(strstr(err.message, "column v"));
        assert_non_null(strstr(err.message, "encoding"));
        buf_release(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_header__any_length__read_up_to_the_limit),
        cmocka_unit_test(test_page__unknown_kind__passed_over),
        cmocka_unit_test(test_page__unknown_encoding__named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
