/* SPDX-License-Identifier: Apache-2.0 */
/* Small Arrow streams and files that claim much: refused, or read for what they are, within a small peak of memory. */
#include "arrow_test_data.h"

#include "arrow/ipc_file.h"
#include "base/endian.h"

enum { ROWS = 1000, PEAK_MAX = 2 << 20 };

/* Columns of int64: the first with random values, or zeros as the others. */
static void make_batch(int n_columns, bool is_random, int64_t n_rows, struct ArrowSchema *schema, struct ArrowArray *batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray columns[8];
    uint64_t seed = 1;
    void *p = NULL;
    assert_ok(schema_new(mem_system(), "+s", "", false, n_columns, schema, &err));
    for (int i = 0; i < n_columns; i++) {
        assert_ok(schema_new(mem_system(), "l", "x", true, 0, schema->children[i], &err));
        assert_ok(array_new(mem_system(), n_rows, 2, 0, &columns[i], &err));
        assert_ok(array_alloc_buffer(mem_system(), &columns[i], 1, (size_t)n_rows * 8, &p, &err));
        for (int64_t k = 0; k < n_rows; k++) {
            ((uint64_t *)p)[k] = i == 0 && is_random ? test_random(&seed) : 0;
        }
    }
    assert_ok(array_struct(mem_system(), n_rows, columns, (size_t)n_columns, batch, &err));
}

/* One column of nulls, and no byte of them. */
static void make_nulls(int64_t n_rows, struct ArrowSchema *schema, struct ArrowArray *batch)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray column;
    assert_ok(schema_new(mem_system(), "+s", "", false, 1, schema, &err));
    assert_ok(schema_new(mem_system(), "n", "x", true, 0, schema->children[0], &err));
    assert_ok(array_new(mem_system(), n_rows, 0, 0, &column, &err));
    column.null_count = n_rows;
    assert_ok(array_struct(mem_system(), n_rows, &column, 1, batch, &err));
}

static void write_bytes(const struct ArrowSchema *schema, const struct ArrowArray *const *batches, size_t n,
                        enum ipc_compression compression, bool is_file, struct buf *dst)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ipc_write_options o = { compression, INT32_MIN, is_file };
    struct ipc_writer *w = NULL;
    o.level = 1;
    assert_ok(ipc_writer_new(mem_system(), schema, &o, ipc_sink_buf, dst, &w, &err));
    for (size_t i = 0; i < n; i++) {
        assert_ok(ipc_writer_write(w, batches[i], &err));
    }
    assert_ok(ipc_writer_finish(w, &err));
    ipc_writer_free(w);
}

/* Every batch of a stream or file; peak: what reading asked for beyond the bytes themselves. */
static grebe_status drain(const struct buf *bytes, bool is_file, size_t *peak, grebe_error *err)
{
    struct test_allocator t;
    struct region *r = NULL;
    struct ipc_file *f = NULL;
    struct ArrowArrayStream stream = { 0 };
    struct ArrowArray rows;
    assert_int_equal(region_new(mem_system(), bytes->len, &r, err), GREBE_OK);
    memcpy(r->data, bytes->data, bytes->len);
    test_allocator_init(&t);
    grebe_status st = is_file ? ipc_file_open(&t.a, r, &f, err)
                              : ipc_stream_of_region(&t.a, r, &stream, err);
    region_drop(r);
    for (size_t i = 0; st == GREBE_OK && (!is_file || i < f->n_batches); i++) {
        st = is_file ? ipc_file_read(f, i, NULL, 0, &rows, err) : stream_next(&stream, &rows, err);
        if (st == GREBE_OK) {
            array_release(&rows);
        }
    }
    ipc_file_close(f);
    stream_release(&stream);
    assert_int_equal(t.live_bytes, 0);
    *peak = t.peak_bytes;
    return st == GREBE_END ? GREBE_OK : st;
}

/* Overwrite every little-endian number that is `from`; how many there were. */
static int replace(struct buf *bytes, size_t begin, int64_t from, int64_t to)
{
    int n = 0;
    for (size_t at = begin; at + 8 <= bytes->len; at++) {
        if ((int64_t)load_le64(bytes->data + at) == from) {
            store_le64(bytes->data + at, (uint64_t)to);
            n++;
        }
    }
    return n;
}

static void test_buffers__lengths_that_lie__corrupt_before_memory(void **state)
{
    (void)state;
    static const int64_t lies[] = { 1 << 21, INT32_MAX, (int64_t)1 << 31, (int64_t)1 << 40, INT64_MAX,
                                    INT64_MIN, -2 };
    for (size_t i = 0; i < 4 * sizeof lies / sizeof *lies; i++) {
        grebe_error err = GREBE_ERROR_INIT;
#if defined(GREBE_HAVE_LZ4)
        enum ipc_compression codec = i & 1 ? IPC_ZSTD : IPC_LZ4_FRAME;
#else
        enum ipc_compression codec = IPC_ZSTD;
#endif
        bool is_file = (i & 2) != 0;
        struct buf bytes = BUF_INIT(mem_system());
        struct ArrowSchema schema;
        struct ArrowArray batch;
        const struct ArrowArray *one = &batch;
        size_t peak = 0;
        make_batch(2, false, ROWS, &schema, &batch);
        write_bytes(&schema, &one, 1, codec, is_file, &bytes);
        assert_ok(drain(&bytes, is_file, &peak, &err));
        assert_true(replace(&bytes, 0, ROWS * 8, lies[i / 4]) >= 1);
        assert_fails(drain(&bytes, is_file, &peak, &err), GREBE_ECORRUPT, "uncompressed");
        assert_true(peak < PEAK_MAX);
        array_release(&batch);
        schema_release(&schema);
        buf_release(&bytes);
    }
}

static void test_buffers__many_of_the_same_bytes__corrupt(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf bytes = BUF_INIT(mem_system());
    struct ArrowSchema schema;
    struct ArrowArray batch;
    const struct ArrowArray *one = &batch;
    unsigned char zeros[16], large[16];
    size_t peak = 0, at = 0;
    int n = 0;
    make_batch(4, true, ROWS, &schema, &batch);
    write_bytes(&schema, &one, 1, IPC_ZSTD, false, &bytes);
    /* struct Buffer { offset, length }: the first of some bytes, at the begin of the body, is the random one. */
    at = 8 + load_le32(bytes.data + 4);
    while (load_le64(bytes.data + at) != 0 || load_le64(bytes.data + at + 8) < ROWS * 8 ||
           load_le64(bytes.data + at + 8) > bytes.len) {
        at += 8;
        assert_true(at + 24 < bytes.len);
    }
    memcpy(large, bytes.data + at, 16);
    for (at += 16; n < 3; at += 16) {
        assert_true(at + 16 < bytes.len);
        memcpy(zeros, bytes.data + at, 16);
        if (load_le64(zeros + 8) > 0) {
            memcpy(bytes.data + at, large, 16);
            n++;
        }
    }
    assert_fails(drain(&bytes, false, &peak, &err), GREBE_ECORRUPT, "overlaps another one");
    array_release(&batch);
    schema_release(&schema);
    buf_release(&bytes);
}

static void test_blocks__one_message_many_times__corrupt(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf bytes = BUF_INIT(mem_system());
    struct ArrowSchema schema, other;
    struct ArrowArray large, small;
    size_t peak = 0;
    make_batch(1, true, 8 * ROWS, &schema, &large);
    make_batch(1, true, 1, &other, &small);
    const struct ArrowArray *const batches[] = { &large, &small, &small, &small };
    write_bytes(&schema, batches, 4, IPC_UNCOMPRESSED, true, &bytes);
    assert_ok(drain(&bytes, true, &peak, &err));
    struct region *r = NULL;
    struct ipc_file *f = NULL;
    assert_ok(region_new(mem_system(), bytes.len, &r, &err));
    memcpy(r->data, bytes.data, bytes.len);
    assert_ok(ipc_file_open(mem_system(), r, &f, &err));
    region_drop(r);
    /* All blocks become that of the large batch. */
    for (size_t i = 1; i < 4; i++) {
        for (size_t at = f->footer_start; at + 24 <= bytes.len; at++) {
            if (load_le64(bytes.data + at) == f->batches[i].offset) {
                store_le64(bytes.data + at, f->batches[0].offset);
                store_le64(bytes.data + at + 16, f->batches[0].body_len);
            }
        }
    }
    ipc_file_close(f);
    assert_fails(drain(&bytes, true, &peak, &err), GREBE_ECORRUPT, "footer: blocks of");
    array_release(&large);
    array_release(&small);
    schema_release(&schema);
    schema_release(&other);
    buf_release(&bytes);
}

static void test_nulls__rows_without_bytes__bounded(void **state)
{
    (void)state;
    static const int64_t counts[] = { (int64_t)1 << 28, ((int64_t)1 << 28) + 1, INT32_MAX, (int64_t)1 << 40,
                                      (int64_t)1 << 55 };
    for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        bool is_file = i & 1;
        struct buf bytes = BUF_INIT(mem_system());
        struct ArrowSchema schema;
        struct ArrowArray batch;
        const struct ArrowArray *one = &batch;
        size_t peak = 0;
        make_nulls(counts[i / 2], &schema, &batch);
        write_bytes(&schema, &one, 1, IPC_UNCOMPRESSED, is_file, &bytes);
        assert_true(bytes.len <= 1024);
        if (i / 2 == 0) {
            assert_ok(drain(&bytes, is_file, &peak, &err));
        } else {
            assert_fails(drain(&bytes, is_file, &peak, &err), GREBE_ELIMIT, "the limit is 268435456");
        }
        assert_true(peak < PEAK_MAX);
        array_release(&batch);
        schema_release(&schema);
        buf_release(&bytes);
    }
}

/* What is done with rows that have no bytes asks for none. */
static void test_nulls__joined_and_chosen__no_memory(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct test_allocator t;
    struct ArrowSchema schema;
    struct ArrowArray batch, out;
    const int64_t rows[] = { 0, 5, ((int64_t)1 << 28) - 1 };
    make_nulls((int64_t)1 << 28, &schema, &batch);
    const struct ArrowArray *const both[] = { &batch, &batch };
    test_allocator_init(&t);
    assert_ok(array_concat(&t.a, &schema, both, 2, &out, &err));
    assert_true(out.length == (int64_t)1 << 29);
    array_release(&out);
    assert_ok(array_gather(&t.a, &schema, &batch, rows, 3, &out, &err));
    assert_int_equal(out.length, 3);
    array_release(&out);
    assert_true(t.peak_bytes < PEAK_MAX);
    assert_int_equal(t.live_bytes, 0);
    array_release(&batch);
    schema_release(&schema);
}

/* From a pipe, whose end nobody knows: memory grows only as bytes come in. */
static grebe_status read_pieces(void *from, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct buf *b = from;
    (void)err;
    *got = len < b->len ? len : b->len;
    memcpy(dst, b->data, *got);
    memmove(b->data, b->data + *got, b->len - *got);
    b->len -= *got;
    return GREBE_OK;
}

static void test_messages__lengths_that_lie__read_as_bytes_come(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct test_allocator t;
        struct buf bytes = BUF_INIT(mem_system());
        struct ArrowSchema schema;
        struct ArrowArray batch, rows;
        struct ArrowArrayStream stream = { 0 };
        const struct ArrowArray *one = &batch;
        make_batch(1, true, 64, &schema, &batch);
        write_bytes(&schema, &one, 1, IPC_UNCOMPRESSED, false, &bytes);
        size_t second = 8 + load_le32(bytes.data + 4);
        if (i == 0) {
            store_le32(bytes.data + second + 4, INT32_MAX); /* of the metadata */
        } else {
            assert_true(replace(&bytes, second, 64 * 8, (int64_t)1 << 40) >= 1); /* of the body */
        }
        struct ipc_source source = { read_pieces, NULL, &bytes };
        test_allocator_init(&t);
        grebe_status st = ipc_stream_open(&t.a, &source, &stream, &err);
        assert_int_equal(st, GREBE_OK);
        assert_int_equal(stream_next(&stream, &rows, &err), GREBE_ECORRUPT);
        assert_true(t.peak_bytes < 2 * PEAK_MAX);
        stream_release(&stream);
        assert_int_equal(t.live_bytes, 0);
        array_release(&batch);
        schema_release(&schema);
        buf_release(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers__lengths_that_lie__corrupt_before_memory),
        cmocka_unit_test(test_buffers__many_of_the_same_bytes__corrupt),
        cmocka_unit_test(test_blocks__one_message_many_times__corrupt),
        cmocka_unit_test(test_nulls__rows_without_bytes__bounded),
        cmocka_unit_test(test_nulls__joined_and_chosen__no_memory),
        cmocka_unit_test(test_messages__lengths_that_lie__read_as_bytes_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
