/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_test_data.h"

#include <dirent.h>

/* Bytes handed out in small, uneven pieces. */
struct pieces {
    const unsigned char *p;
    size_t len, pos;
};

static grebe_status read_pieces(void *from, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct pieces *s = from;
    (void)err;
    *got = len < s->len - s->pos ? len : s->len - s->pos;
    if (*got > 0) {
        memcpy(dst, s->p + s->pos, *got);
    }
    s->pos += *got;
    return GREBE_OK;
}

static void write_batches(struct buf *dst, const struct ArrowSchema *schema,
                          const struct ArrowArray *const *batches, size_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ipc_writer *w = NULL;
    assert_ok(ipc_writer_new(mem_system(), schema, NULL, ipc_sink_buf, dst, &w, &err));
    for (size_t i = 0; i < n; i++) {
        assert_ok(ipc_writer_write(w, batches[i], &err));
    }
    assert_ok(ipc_writer_finish(w, &err));
    ipc_writer_free(w);
}

static void read_back(const struct buf *bytes, const struct ArrowSchema *schema,
                      const struct ArrowArray *expected)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct pieces from = { bytes->data, bytes->len, 0 };
    struct ipc_source source = { read_pieces, NULL, &from };
    struct ArrowArrayStream stream;
    struct ArrowSchema got_schema;
    struct ArrowArray got;
    assert_ok(ipc_stream_open(mem_system(), &source, &stream, &err));
    assert_ok(stream_schema(&stream, &got_schema, &err));
    assert_true(schema_equal(schema, &got_schema, 0));
    assert_ok(stream_next(&stream, &got, &err));
    assert_true(array_equal(schema, expected, &got));
    array_release(&got);
    assert_int_equal(stream_next(&stream, &got, &err), GREBE_END);
    assert_int_equal(stream_next(&stream, &got, &err), GREBE_END);
    schema_release(&got_schema);
    stream_release(&stream);
}

static void save(const char *name, const struct buf *b)
{
    const char *folder = getenv("GREBE_TEST_OUT"); /* for a look with another implementation */
    if (folder != NULL) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, name);
        test_write_file(path, b->data, b->len);
    }
}

static void test_ipc_stream__golden__written_and_read_back(void **state)
{
    (void)state;
    static const char *const names[] = { "all_types.arrows", "all_types_zstd.arrows",
                                         "all_types_take.arrows", "unions_runs.arrows",
                                         "polars.arrows", "all_types_lz4.arrows",
                                         "feather_lz4.feather" };
    grebe_error err = GREBE_ERROR_INIT;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct ArrowSchema schema;
        struct ArrowArray batch;
        struct array_shared *shared = NULL;
        struct ArrowArray slice;
        struct buf bytes = BUF_INIT(mem_system());
        read_golden(names[i], &schema, &batch);
        const struct ArrowArray *one = &batch;
        write_batches(&bytes, &schema, &one, 1);
        read_back(&bytes, &schema, &batch);
        save(names[i], &bytes);
        /* A slice is written as the rows it has. */
        int64_t n = batch.length;
        assert_ok(array_share(mem_system(), &batch, &shared, &err));
        assert_ok(array_slice(shared, 1, n - 2 > 0 ? n - 2 : n - 1, &slice, &err));
        buf_clear(&bytes);
        one = &slice;
        write_batches(&bytes, &schema, &one, 1);
        read_back(&bytes, &schema, &slice);
        array_release(&slice);
        array_shared_drop(shared);
        buf_release(&bytes);
        schema_release(&schema);
    }
}

static void test_ipc_stream__compressed__same_values(void **state)
{
    (void)state;
    struct ArrowSchema schema;
    struct ArrowArray plain;
    static const char *const names[] = { "all_types_zstd.arrows", "all_types_lz4.arrows" };
    read_golden("all_types.arrows", &schema, &plain);
    for (size_t i = 0; i < 2; i++) {
        struct ArrowSchema other;
        struct ArrowArray batch;
        read_golden(names[i], &other, &batch);
        assert_true(schema_equal(&schema, &other, 0));
        assert_true(array_equal(&schema, &plain, &batch));
        schema_release(&other);
        array_release(&batch);
    }
    schema_release(&schema);
    array_release(&plain);
}

static void test_ipc_stream__dictionaries__delta_and_replacement(void **state)
{
    (void)state;
    static const char *const expected[3][2] = { { "a", "b" }, { "c", "a" }, { "z", NULL } };
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batches[3];
    struct ArrowArray joined;
    open_golden(mem_system(), "dictionary_delta.arrows", &stream);
    assert_ok(stream_schema(&stream, &schema, &err));
    for (int k = 0; k < 3; k++) {
        assert_ok(stream_next(&stream, &batches[k], &err));
        const struct ArrowArray *d = batches[k].children[0];
        for (int row = 0; row < 2; row++) {
            assert_int_equal(array_is_null(d, row), expected[k][row] == NULL);
            if (expected[k][row] != NULL) {
                int32_t index = ((const int32_t *)d->buffers[1])[d->offset + row];
                const int32_t *offsets = d->dictionary->buffers[1];
                assert_int_equal(offsets[index + 1] - offsets[index], 1);
                const char *text = d->dictionary->buffers[2];
                assert_int_equal(text[offsets[index]], expected[k][row][0]);
            }
        }
    }
    stream_release(&stream);
    /* Joined: one dictionary without doubles; written with three dictionaries. */
    const struct ArrowArray *all[3] = { &batches[0], &batches[1], &batches[2] };
    assert_ok(array_concat(mem_system(), &schema, all, 3, &joined, &err));
    assert_int_equal(joined.children[0]->dictionary->length, 4);
    struct buf bytes = BUF_INIT(mem_system());
    write_batches(&bytes, &schema, all, 3);
    save("dictionary_delta.arrows", &bytes);
    buf_clear(&bytes);
    const struct ArrowArray *one = &joined;
    write_batches(&bytes, &schema, &one, 1);
    read_back(&bytes, &schema, &joined);
    buf_release(&bytes);
    array_release(&joined);
    for (int k = 0; k < 3; k++) {
        array_release(&batches[k]);
    }
    schema_release(&schema);
}

/* Read to the end; whatever happens must be a clean status. */
static grebe_status drain(const grebe_allocator *a, const unsigned char *bytes, size_t len,
                          bool by_region, grebe_error *err)
{
    struct ArrowArrayStream stream;
    struct pieces from = { bytes, len, 0 };
    struct ipc_source source = { read_pieces, NULL, &from };
    grebe_status st = GREBE_OK;
    if (by_region) {
        struct region *r = NULL;
        st = region_new(a, len, &r, err);
        if (st == GREBE_OK) {
            memcpy(r->data, bytes, len);
            st = ipc_stream_of_region(a, r, &stream, err);
            region_drop(r);
        }
    } else {
        st = ipc_stream_open(a, &source, &stream, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    for (int i = 0; st == GREBE_OK && i < 1000; i++) {
        struct ArrowArray batch;
        st = stream_next(&stream, &batch, err);
        if (st == GREBE_OK) {
            array_release(&batch);
        }
    }
    stream_release(&stream);
    return st;
}

static void test_ipc_stream__hostile_files__refused_or_read(void **state)
{
    (void)state;
    char path[1024];
    int n_refused = 0;
    int n_read = 0;
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
        grebe_status st = drain(mem_system(), bytes, len, false, &err);
        assert_int_equal(drain(mem_system(), bytes, len, true, &err), st);
        n_read += st == GREBE_END;
        n_refused += st != GREBE_END;
        free(bytes);
    }
    closedir(folder);
    print_message("%d refused, %d read\n", n_refused, n_read);
    assert_true(n_refused > 50);
}

static void test_ipc_stream__size_that_wraps__refused(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    struct buf bytes = BUF_INIT(mem_system());
    struct ArrowSchema schema, field;
    struct ArrowArray batch, column, got;
    struct ArrowArrayStream stream;
    const struct ArrowArray *one = &batch;
    const struct ArrowSchema *fields[1] = { &field };
    /* 2^34 values of 2^30 bytes: 0 bytes, where 64 bits are all that is counted in; too many rows before that */
    assert_ok(schema_new(mem_system(), "w:1073741824", "x", false, 0, &field, &err));
    assert_ok(schema_struct(mem_system(), fields, 1, &schema, &err));
    assert_ok(array_new(mem_system(), INT64_C(1) << 34, 2, 0, &column, &err));
    array_set_buffer(&column, 1, "", NULL);
    assert_ok(array_struct(mem_system(), INT64_C(1) << 34, &column, 1, &batch, &err));
    write_batches(&bytes, &schema, &one, 1);
    struct pieces from = { bytes.data, bytes.len, 0 };
    struct ipc_source source = { read_pieces, NULL, &from };
    assert_ok(ipc_stream_open(mem_system(), &source, &stream, &err));
    assert_fails(stream_next(&stream, &got, &err), GREBE_ELIMIT, "17179869184 rows");
    assert_fails(stream_next(&stream, &got, &err), GREBE_ELIMIT, "17179869184 rows");
    stream_release(&stream);
    array_release(&batch);
    schema_release(&schema);
    schema_release(&field);
    buf_release(&bytes);
}

/* ---- streams ---- */

/* Fails once, and would go on with the rows behind. */
struct flaky {
    int n_calls;
};

static grebe_status flaky_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    (void)self;
    return schema_new(mem_system(), "+s", "", false, 0, out, err);
}

static grebe_status flaky_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct flaky *f = self;
    if (++f->n_calls == 2) {
        return GREBE_FAIL(err, GREBE_EIO, "the disk said no");
    }
    return array_new(mem_system(), f->n_calls, 1, 0, out, err);
}

static void flaky_free(void *self) { (void)self; }

static void test_stream__asked_again_after_a_failure__same_failure(void **state)
{
    (void)state;
    static const struct stream_ops ops = { flaky_schema, flaky_next, flaky_free };
    grebe_error err = GREBE_ERROR_INIT;
    struct flaky f = { 0 };
    struct ArrowArrayStream stream;
    struct ArrowArray got;
    assert_ok(stream_export(mem_system(), &ops, &f, &stream, &err));
    assert_ok(stream_next(&stream, &got, &err));
    array_release(&got);
    for (int i = 0; i < 2; i++) {
        assert_fails(stream_next(&stream, &got, &err), GREBE_EIO, "the disk said no");
        assert_int_not_equal(stream.get_next(&stream, &got), 0);
        assert_string_equal(stream.get_last_error(&stream), "the disk said no");
    }
    assert_int_equal(f.n_calls, 2); /* rows behind the failure are not taken for the next ones */
    stream_release(&stream);
}

static void test_ipc_stream__cut_and_flipped__clean(void **state)
{
    (void)state;
    static const char *const names[] = { "all_types.arrows", "all_types_zstd.arrows",
                                         "all_types_lz4.arrows", "unions_runs.arrows",
                                         "dictionary_delta.arrows", "polars.arrows" };
    grebe_error err = GREBE_ERROR_INIT;
    uint64_t seed = test_seed();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        size_t len = 0;
        snprintf(path, sizeof path, "%s/golden/arrow/%s", TEST_DATA, names[i]);
        unsigned char *bytes = test_read_file(path, &len);
        for (size_t n = 0; n < len; n += 1 + n / 500) {
            unsigned char *cut = malloc(n + 1);
            memcpy(cut, bytes, n);
            grebe_status st = drain(mem_system(), cut, n, n % 2, &err);
            assert_true(st < 0 || st == GREBE_END);
            free(cut);
        }
        for (int round = 0; round < 2000; round++) {
            static const unsigned char nasty[] = { 0, 0xff, 0x7f, 0x80, 1 };
            size_t at = test_random(&seed) % len;
            unsigned char old = bytes[at];
            bytes[at] = nasty[test_random(&seed) % 5];
            grebe_status st = drain(mem_system(), bytes, len, round % 2, &err);
            assert_true(st < 0 || st == GREBE_END);
            bytes[at] = old;
        }
        free(bytes);
    }
}

static void test_ipc_stream__no_memory__nothing_leaks(void **state)
{
    (void)state;
    static const char *const names[] = { "all_types_zstd.arrows", "unions_runs.arrows",
                                         "dictionary_delta.arrows" };
    struct test_allocator t;
    test_allocator_init(&t);
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        size_t len = 0;
        snprintf(path, sizeof path, "%s/golden/arrow/%s", TEST_DATA, names[i]);
        unsigned char *bytes = test_read_file(path, &len);
        for (size_t n = 1;; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            t.n_calls = 0;
            t.fail_at = n;
            grebe_status st = drain(&t.a, bytes, len, n % 2, &err);
            assert_int_equal(t.n_live, 0);
            if (st == GREBE_END) {
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipc_stream__golden__written_and_read_back),
        cmocka_unit_test(test_ipc_stream__compressed__same_values),
        cmocka_unit_test(test_ipc_stream__dictionaries__delta_and_replacement),
        cmocka_unit_test(test_ipc_stream__hostile_files__refused_or_read),
        cmocka_unit_test(test_ipc_stream__size_that_wraps__refused),
        cmocka_unit_test(test_stream__asked_again_after_a_failure__same_failure),
        cmocka_unit_test(test_ipc_stream__cut_and_flipped__clean),
        cmocka_unit_test(test_ipc_stream__no_memory__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
