/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow files of data sets: found batch by batch, checked column by column, damaged ones refused. */
#include "ipc/rows_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "arrow/ipc.h"
#include "test_fixture.h"
#include "test_support.h"

#define SAVED TEST_DATA "/data/hfdatasets/saved/"

static const char *const good_files[] = {
    "single/data-00000-of-00001.arrow",     "alt_zstd/data-00000-of-00001.arrow",
#ifdef GREBE_HAVE_LZ4
    "alt_lz4/data-00000-of-00001.arrow",
#endif
    "nested/data-00000-of-00001.arrow",     "batches/data-00000-of-00001.arrow", "media/data-00000-of-00001.arrow",
    "all_values/data-00000-of-00001.arrow",
};

/* Reads every batch of every column and gives the rows seen; a failure of any is given back. */
static grebe_status read_everything(struct rows_file *f, int64_t *n_rows, grebe_error *err)
{
    *n_rows = 0;
    for (size_t i = 0; i < f->n_batches; i++) {
        struct ArrowArray rows;
        for (int c = 0; c < (int)f->schema.n_children; c++) {
            grebe_status st = rows_file_batch(f, i, &c, 1, &rows, err);
            if (st != GREBE_OK) {
                return st;
            }
            st = array_check(f->schema.children[c], rows.children[0], true, err);
            array_release(&rows);
            if (st != GREBE_OK) {
                return st;
            }
        }
        grebe_status st = rows_file_batch(f, i, NULL, 0, &rows, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (rows.length != f->batch_begin[i + 1] - f->batch_begin[i]) {
            fail_msg("batch %zu has %lld rows", i, (long long)rows.length);
        }
        *n_rows += rows.length;
        array_release(&rows);
    }
    return GREBE_OK;
}

static void reads_saved_files(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    for (size_t k = 0; k < sizeof good_files / sizeof *good_files; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s%s", SAVED, good_files[k]);
        for (int in_memory = 0; in_memory < 2; in_memory++) {
            struct rows_file *file = NULL;
            int64_t n = 0;
            assert_ok(rows_file_open(f->ctx, path, in_memory != 0, &file, &err));
            assert_ok(read_everything(file, &n, &err));
            assert_int_equal(n, file->n_rows);
            assert_true(n > 0);
            rows_file_drop(file);
        }
    }
}

static void refuses_damage(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512];
    for (size_t k = 0; k < sizeof good_files / sizeof *good_files; k++) {
        snprintf(path, sizeof path, "%s%s", SAVED, good_files[k]);
        size_t len = 0;
        unsigned char *bytes = test_read_file(path, &len);
        for (int round = 0; round < 400; round++) {
            unsigned char *copy = malloc(len);
            memcpy(copy, bytes, len);
            size_t n = len;
            if (round % 4 == 0) {
                n = (size_t)(test_random(&f->seed) % len);
            }
            for (int i = 0; i < 3 && round % 4 != 0; i++) {
                copy[test_random(&f->seed) % len] ^= (unsigned char)(1u << (test_random(&f->seed) % 8));
            }
            snprintf(path, sizeof path, "%s/damaged.arrow", f->folder);
            test_write_file(path, copy, n);
            free(copy);
            struct rows_file *file = NULL;
            int64_t rows = 0;
            grebe_status st = rows_file_open(f->ctx, path, false, &file, &err);
            if (st == GREBE_OK) {
                st = read_everything(file, &rows, &err);
                rows_file_drop(file);
            }
            if (st != GREBE_OK && strstr(err.message, "damaged.arrow") == NULL) {
                fail_msg("no file in \"%s\"", err.message);
            }
        }
        free(bytes);
    }
}

static void names_the_place_of_a_cut(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    struct rows_file *file = NULL;
    assert_fails(rows_file_open(f->ctx, SAVED "bad_truncated/data-00000-of-00001.arrow", false, &file, &err),
                 GREBE_ECORRUPT, "at byte");
    assert_null(file);
    assert_fails(rows_file_open(f->ctx, SAVED "none.arrow", false, &file, &err), GREBE_ENOTFOUND, "none.arrow");
}

/* {id: int64, text: dictionary of words}: the dictionary of batch b has words of its own. */
static void write_words(const char *path, int n_batches, int64_t n_rows, bool has_words, bool is_file)
{
    grebe_error err;
    const grebe_allocator *a = mem_system();
    struct ArrowSchema schema, values;
    struct buf bytes = BUF_INIT(a);
    struct ipc_writer *w = NULL;
    struct ipc_write_options o = { IPC_UNCOMPRESSED, 0, is_file };
    assert_ok(schema_new(a, "+s", "", false, has_words ? 2 : 1, &schema, &err));
    assert_ok(schema_new(a, "l", "id", true, 0, schema.children[0], &err));
    if (has_words) {
        assert_ok(schema_new(a, "i", "word", true, 0, schema.children[1], &err));
        assert_ok(schema_new(a, "u", "", true, 0, &values, &err));
        assert_ok(schema_set_dictionary(a, schema.children[1], &values, &err));
    }
    assert_ok(ipc_writer_new(a, &schema, &o, ipc_sink_buf, &bytes, &w, &err));
    for (int b = 0; b < n_batches; b++) {
        struct ArrowArray columns[2], rows, words;
        void *p = NULL;
        assert_ok(array_new(a, n_rows, 2, 0, &columns[0], &err));
        assert_ok(array_alloc_buffer(a, &columns[0], 1, (size_t)n_rows * 8, &p, &err));
        for (int64_t i = 0; i < n_rows; i++) {
            ((int64_t *)p)[i] = b * n_rows + i;
        }
        if (has_words) {
            assert_ok(array_new(a, n_rows, 2, 0, &columns[1], &err));
            assert_ok(array_alloc_buffer(a, &columns[1], 1, (size_t)n_rows * 4, &p, &err));
            for (int64_t i = 0; i < n_rows; i++) {
                ((int32_t *)p)[i] = (int32_t)(i % 2);
            }
            assert_ok(array_new(a, 2, 3, 0, &words, &err));
            assert_ok(array_alloc_buffer(a, &words, 1, 12, &p, &err));
            memcpy(p, (int32_t[]){ 0, 1, 3 }, 12);
            assert_ok(array_alloc_buffer(a, &words, 2, 3, &p, &err));
            memcpy(p, "abb", 3);
            ((char *)p)[0] = (char)('a' + b);
            assert_ok(array_set_dictionary(a, &columns[1], &words, &err));
        }
        assert_ok(array_struct(a, n_rows, columns, has_words ? 2 : 1, &rows, &err));
        assert_ok(ipc_writer_write(w, &rows, &err));
        array_release(&rows);
    }
    assert_ok(ipc_writer_finish(w, &err));
    ipc_writer_free(w);
    schema_release(&schema);
    test_write_file(path, bytes.data, bytes.len);
    buf_release(&bytes);
}

static void decodes_dictionaries_that_change(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512];
    snprintf(path, sizeof path, "%s/words.arrow", f->folder);
    for (int n_batches = 1; n_batches < 4; n_batches += 2) {
        write_words(path, n_batches, 4, true, false);
        struct rows_file *file = NULL;
        assert_ok(rows_file_open(f->ctx, path, false, &file, &err));
        assert_int_equal(file->n_rows, n_batches * 4);
        assert_string_equal(file->schema.children[1]->format, "u");
        for (int b = 0; b < n_batches; b++) {
            struct ArrowArray rows;
            int column = 1;
            assert_ok(rows_file_batch(file, (size_t)b, &column, 1, &rows, &err));
            const int32_t *offsets = rows.children[0]->buffers[1];
            const char *text = rows.children[0]->buffers[2];
            assert_int_equal(text[offsets[0]], 'a' + b);
            assert_int_equal(offsets[2] - offsets[1], 2);
            array_release(&rows);
        }
        rows_file_drop(file);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void opens_many_batches_by_their_heads(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[512];
    snprintf(path, sizeof path, "%s/many.arrow", f->folder);
    write_words(path, 1000, 1000, false, false);
    struct rows_file *file = NULL;
    double begin = seconds();
    assert_ok(rows_file_open(f->ctx, path, false, &file, &err));
    double took = seconds() - begin;
    print_message("opened 1000 batches in %.2f ms\n", took * 1e3);
    assert_int_equal(file->n_batches, 1000);
    assert_int_equal(file->n_rows, 1000000);
    struct ArrowArray rows;
    assert_ok(rows_file_batch(file, 999, NULL, 0, &rows, &err));
    assert_int_equal(((const int64_t *)rows.children[0]->buffers[1])[999], 999999);
    rows_file_drop(file); /* rows stay good */
    assert_int_equal(((const int64_t *)rows.children[0]->buffers[1])[0], 999000);
    array_release(&rows);
    assert_true(took < 0.05); /* the aim is 2 ms on a quiet machine */
}

/* A stream of n_columns of int8, three batches of five rows: heads of few bytes or of many. */
static struct buf wide_stream(int64_t n_columns)
{
    grebe_error err;
    const grebe_allocator *a = mem_system();
    struct ArrowSchema schema;
    struct buf bytes = BUF_INIT(a);
    struct ipc_writer *w = NULL;
    struct ArrowArray *columns = calloc((size_t)n_columns, sizeof *columns);
    assert_ok(schema_new(a, "+s", "", false, n_columns, &schema, &err));
    for (int64_t c = 0; c < n_columns; c++) {
        assert_ok(schema_new(a, "c", "n", true, 0, schema.children[c], &err));
    }
    assert_ok(ipc_writer_new(a, &schema, NULL, ipc_sink_buf, &bytes, &w, &err));
    for (int b = 0; b < 3; b++) {
        struct ArrowArray rows;
        for (int64_t c = 0; c < n_columns; c++) {
            void *p = NULL;
            assert_ok(array_new(a, 5, 2, 0, &columns[c], &err));
            assert_ok(array_alloc_buffer(a, &columns[c], 1, 5, &p, &err));
            memset(p, b + (int)c, 5);
        }
        assert_ok(array_struct(a, 5, columns, (size_t)n_columns, &rows, &err));
        assert_ok(ipc_writer_write(w, &rows, &err));
        array_release(&rows);
    }
    assert_ok(ipc_writer_finish(w, &err));
    ipc_writer_free(w);
    schema_release(&schema);
    free(columns);
    return bytes;
}

/* Heads that are read and heads that are looked at in memory say the same, whole or cut off. */
static void reads_heads_of_any_length(void **state)
{
    struct fixture *f = *state;
    grebe_error err, other;
    char path[512];
    static const int64_t widths[] = { 1, 12, 30, 100, 300 };
    snprintf(path, sizeof path, "%s/wide.arrow", f->folder);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        struct buf bytes = wide_stream(widths[k]);
        size_t step = bytes.len / 150 + 1;
        for (size_t len = bytes.len; len > 0; len = len > step ? len - step : 0) {
            struct rows_file *mapped = NULL, *read = NULL;
            int64_t n_mapped = 0, n_read = 0;
            test_write_file(path, bytes.data, len);
            grebe_status st = rows_file_open(f->ctx, path, false, &mapped, &err);
            assert_int_equal(rows_file_open(f->ctx, path, true, &read, &other), st);
            if (st == GREBE_OK) {
                assert_int_equal(mapped->n_batches, read->n_batches);
                assert_ok(read_everything(mapped, &n_mapped, &err));
                assert_ok(read_everything(read, &n_read, &err));
                assert_int_equal(n_mapped, n_read);
                assert_true(len < bytes.len || n_read == 15);
            } else {
                assert_string_equal(err.message, other.message);
            }
            rows_file_drop(mapped);
            rows_file_drop(read);
        }
        buf_release(&bytes);
    }
}

static void gives_memory_back_when_it_fails(void **state)
{
    (void)state;
    grebe_error err;
    for (size_t fail_at = 1; fail_at < 100000; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        o.allocator = &t.a;
        assert_ok(context_new(&o, &ctx, &err));
        t.fail_at = t.n_calls + fail_at;
        struct rows_file *file = NULL;
        int64_t n = 0;
        grebe_status st = rows_file_open(ctx, SAVED "nested/data-00000-of-00001.arrow", false, &file, &err);
        if (st == GREBE_OK) {
            st = read_everything(file, &n, &err);
        }
        rows_file_drop(file);
        t.fail_at = 0;
        context_free(ctx);
        assert_int_equal(t.n_live, 0);
        if (st == GREBE_OK) {
            return;
        }
        assert_int_equal(st, GREBE_ENOMEM);
    }
    fail_msg("it never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_saved_files, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(refuses_damage, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_the_place_of_a_cut, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(decodes_dictionaries_that_change, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(opens_many_batches_by_their_heads, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(reads_heads_of_any_length, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(gives_memory_back_when_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
