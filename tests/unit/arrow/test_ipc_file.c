/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_test_data.h"

#include <dirent.h>

#include "arrow/ipc_file.h"

static const char *const golden[] = { "all_types.arrows", "unions_runs.arrows", "polars.arrows",
                                      "all_types_take.arrows", "dictionary_delta.arrows" };
enum { N_GOLDEN = sizeof golden / sizeof *golden };

/* A golden stream as a file, each of its batches `times` times. */
static void as_file(const char *name, enum ipc_compression compression, int times, struct buf *dst)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ipc_write_options o = { compression, INT32_MIN, true };
#if !defined(GREBE_HAVE_LZ4)
    o.compression = compression == IPC_LZ4_FRAME ? IPC_ZSTD : compression;
#endif
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ipc_writer *w = NULL;
    o.level = 1;
    open_golden(mem_system(), name, &stream);
    assert_ok(stream_schema(&stream, &schema, &err));
    assert_ok(ipc_writer_new(mem_system(), &schema, &o, ipc_sink_buf, dst, &w, &err));
    struct ArrowArray batch;
    while (stream_next(&stream, &batch, &err) == GREBE_OK) {
        for (int i = 0; i < times; i++) {
            assert_ok(ipc_writer_write(w, &batch, &err));
        }
        array_release(&batch);
    }
    assert_ok(ipc_writer_finish(w, &err));
    ipc_writer_free(w);
    stream_release(&stream);
    schema_release(&schema);
}

static grebe_status open_bytes(const grebe_allocator *a, const void *bytes, size_t len,
                               struct ipc_file **out, grebe_error *err)
{
    struct region *r = NULL;
    *out = NULL;
    grebe_status st = region_new(a, len, &r, err);
    if (st == GREBE_OK) {
        memcpy(r->data, bytes, len);
        st = ipc_file_open(a, r, out, err);
        region_drop(r);
    }
    return st;
}

static void test_ipc_file__each_batch__is_that_of_the_stream(void **state)
{
    (void)state;
    static const enum ipc_compression codecs[] = { IPC_UNCOMPRESSED, IPC_LZ4_FRAME, IPC_ZSTD };
    for (size_t i = 0; i < N_GOLDEN * 3; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf bytes = BUF_INIT(mem_system());
        struct ipc_file *f = NULL;
        struct ArrowArrayStream stream;
        as_file(golden[i / 3], codecs[i % 3], 2, &bytes);
        assert_ok(open_bytes(mem_system(), bytes.data, bytes.len, &f, &err));
        open_golden(mem_system(), golden[i / 3], &stream);
        struct ArrowArray expected, got;
        size_t at = 0;
        for (; stream_next(&stream, &expected, &err) == GREBE_OK; at += 2) {
            for (size_t k = 0; k < 2; k++) {
                assert_int_equal(f->batches[at + k].n_rows, expected.length);
#if defined(GREBE_HAVE_LZ4)
                assert_int_equal(f->batches[at + k].compression, codecs[i % 3]);
#endif
                assert_ok(ipc_file_read(f, at + k, NULL, 0, &got, &err));
                /* Indices into a dictionary that has grown: the values are the same. */
                assert_true(array_equal(&f->schema, &expected, &got));
                array_release(&got);
            }
            array_release(&expected);
        }
        assert_int_equal(f->n_batches, at);
        stream_release(&stream);
        ipc_file_close(f);
        buf_release(&bytes);
    }
}

static void test_ipc_file__columns__alone_and_in_any_order(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf bytes = BUF_INIT(mem_system());
    struct ipc_file *f = NULL;
    struct ArrowArray all, some;
    as_file("all_types.arrows", IPC_ZSTD, 1, &bytes);
    assert_ok(open_bytes(mem_system(), bytes.data, bytes.len, &f, &err));
    int n = (int)f->schema.n_children;
    for (int i = 0; i < n; i++) {
        int fields[2] = { i, (i + 3) % n };
        assert_ok(ipc_file_read(f, 0, fields, 2, &some, &err));
        assert_ok(ipc_file_read(f, 0, NULL, 0, &all, &err));
        for (int k = 0; k < 2; k++) {
            assert_true(array_equal(f->schema.children[fields[k]], all.children[fields[k]],
                                    some.children[k]));
        }
        array_release(&some);
        array_release(&all);
    }
    assert_ok(ipc_file_read(f, 0, NULL, 0, &all, &err));
    ipc_file_close(f); /* arrays stay */
    assert_int_equal(all.children[0]->length, all.length);
    array_release(&all);
    buf_release(&bytes);
}

/* Everything of a file; whatever happens must be a clean status. */
static grebe_status drain(const grebe_allocator *a, const void *bytes, size_t len, grebe_error *err)
{
    struct ipc_file *f = NULL;
    grebe_status st = open_bytes(a, bytes, len, &f, err);
    for (size_t i = 0; st == GREBE_OK && i < f->n_batches; i++) {
        struct ArrowArray rows;
        st = ipc_file_read(f, i, NULL, 0, &rows, err);
        if (st == GREBE_OK) {
            assert_int_equal(array_check(&f->schema, &rows, true, err), GREBE_OK);
            array_release(&rows);
        }
    }
    ipc_file_close(f);
    return st;
}

static void test_ipc_file__every_cut__is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GOLDEN; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf bytes = BUF_INIT(mem_system());
        as_file(golden[i], i % 2 ? IPC_LZ4_FRAME : IPC_UNCOMPRESSED, 1, &bytes);
        assert_ok(drain(mem_system(), bytes.data, bytes.len, &err));
        for (size_t n = 0; n < bytes.len; n++) {
            assert_int_equal(drain(mem_system(), bytes.data, n, &err), GREBE_ECORRUPT);
        }
        buf_release(&bytes);
    }
}

static void test_ipc_file__every_flip__clean(void **state)
{
    (void)state;
    static const unsigned char flips[] = { 0x01, 0xff };
    for (size_t i = 0; i < N_GOLDEN * 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct buf bytes = BUF_INIT(mem_system());
        as_file(golden[i / 2], i % 2 ? IPC_ZSTD : IPC_UNCOMPRESSED, 1, &bytes);
        for (size_t at = 0; at < bytes.len; at++) {
            bytes.data[at] ^= flips[at % 2];
            grebe_status st = drain(mem_system(), bytes.data, bytes.len, &err);
            assert_true(st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_EUNSUPPORTED ||
                        st == GREBE_ESCHEMA || st == GREBE_ELIMIT || st == GREBE_ENOMEM);
            bytes.data[at] ^= flips[at % 2];
        }
        buf_release(&bytes);
    }
}

static void test_ipc_file__finds_of_fuzzers__clean(void **state)
{
    (void)state;
    char path[1024];
    int n = 0;
    snprintf(path, sizeof path, "%s/golden/arrow/hostile", TEST_DATA);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (e->d_name[0] == '.') {
            continue;
        }
        grebe_error err = GREBE_ERROR_INIT;
        size_t len = 0;
        snprintf(path, sizeof path, "%s/golden/arrow/hostile/%s", TEST_DATA, e->d_name);
        unsigned char *bytes = test_read_file(path, &len);
        grebe_status st = drain(mem_system(), bytes, len, &err);
        assert_true(st <= GREBE_OK);
        assert_true(st < GREBE_OK || ipc_file_sniff(bytes, len));
        n++;
        free(bytes);
    }
    closedir(folder);
    assert_true(n >= 50);
}

static void test_ipc_file__big_endian__refused_by_name(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf bytes = BUF_INIT(mem_system());
    struct ipc_file *f = NULL;
    as_file("polars.arrows", IPC_UNCOMPRESSED, 1, &bytes);
    assert_ok(open_bytes(mem_system(), bytes.data, bytes.len, &f, &err));
    /* The footer's Schema table begins with its endianness (int16), the first field written. */
    bool is_refused = false;
    for (size_t at = f->footer_start; at < bytes.len && !is_refused; at++) {
        struct ipc_file *other = NULL;
        bytes.data[at] ^= 1;
        if (open_bytes(mem_system(), bytes.data, bytes.len, &other, &err) == GREBE_EUNSUPPORTED) {
            is_refused = strstr(err.message, "big-endian") != NULL;
        }
        ipc_file_close(other);
        bytes.data[at] ^= 1;
    }
    assert_true(is_refused);
    ipc_file_close(f);
    buf_release(&bytes);
}

static void test_ipc_file__no_memory__no_leak(void **state)
{
    (void)state;
    static const enum ipc_compression codecs[] = { IPC_UNCOMPRESSED, IPC_ZSTD };
    for (size_t c = 0; c < 2; c++) {
        struct buf bytes = BUF_INIT(mem_system());
        as_file("dictionary_delta.arrows", codecs[c], 1, &bytes);
        grebe_status st = GREBE_ENOMEM;
        for (size_t n = 1; st == GREBE_ENOMEM; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct test_allocator t;
            test_allocator_init(&t);
            t.fail_at = n;
            st = drain(&t.a, bytes.data, bytes.len, &err);
            assert_int_equal(t.n_live, 0);
        }
        assert_int_equal(st, GREBE_OK);
        buf_release(&bytes);
    }
}

static void test_ipc_file__writer_without_memory__no_leak(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batches[3];
    grebe_error err = GREBE_ERROR_INIT;
    open_golden(mem_system(), "dictionary_delta.arrows", &stream);
    assert_ok(stream_schema(&stream, &schema, &err));
    for (int i = 0; i < 3; i++) {
        assert_ok(stream_next(&stream, &batches[i], &err));
    }
    grebe_status st = GREBE_ENOMEM;
    for (size_t n = 1; st == GREBE_ENOMEM; n++) {
        struct test_allocator t;
        struct ipc_write_options o = { IPC_ZSTD, 1, true };
        struct ipc_writer *w = NULL;
        test_allocator_init(&t);
        struct buf bytes = BUF_INIT(&t.a);
        t.fail_at = n;
        st = ipc_writer_new(&t.a, &schema, &o, ipc_sink_buf, &bytes, &w, &err);
        for (int i = 0; i < 3 && st == GREBE_OK; i++) {
            st = ipc_writer_write(w, &batches[i], &err);
        }
        st = st == GREBE_OK ? ipc_writer_finish(w, &err) : st;
        ipc_writer_free(w);
        buf_release(&bytes);
        assert_int_equal(t.n_live, 0);
    }
    assert_int_equal(st, GREBE_OK);
    for (int i = 0; i < 3; i++) {
        array_release(&batches[i]);
    }
    schema_release(&schema);
    stream_release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipc_file__each_batch__is_that_of_the_stream),
        cmocka_unit_test(test_ipc_file__columns__alone_and_in_any_order),
        cmocka_unit_test(test_ipc_file__every_cut__is_an_error),
        cmocka_unit_test(test_ipc_file__every_flip__clean),
        cmocka_unit_test(test_ipc_file__finds_of_fuzzers__clean),
        cmocka_unit_test(test_ipc_file__big_endian__refused_by_name),
        cmocka_unit_test(test_ipc_file__no_memory__no_leak),
        cmocka_unit_test(test_ipc_file__writer_without_memory__no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
