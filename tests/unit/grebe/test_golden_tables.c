/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that the Milvus storage engine wrote must give exactly its rows, at every version,
 * however they are read.
 */
#include "test_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_stream.h"
#include "grebe/scan.h"
#include "grebe/table.h"
#include "grebe/txn.h"
#include "source/source.h"

#define FOLDER TEST_DATA "/golden/loon/"

struct golden {
    const char *name;
    int64_t version;
    int64_t n_rows;
    const char *rows; /* folder and version of the expected rows */
};

static const struct golden goldens[] = {
    { "single", 1, 50, "single/rows-v1" },       { "types", 1, 300, "types/rows-v1" },
    { "commits", 1, 120, "commits/rows-v1" },    { "commits", 2, 200, "commits/rows-v2" },
    { "commits", 3, 200, "commits/rows-v3" },    { "deletes", 1, 90, "deletes/rows-v1" },
    { "deletes", 2, 90, "deletes/rows-v2" },     { "deletes", 3, 120, "deletes/rows-v3" },
    { "article", 1, 2000, "article/rows-v1" },   { "row_groups", 1, 9000, "row_groups/rows-v1" },
    { "ranges", 1, 51, "ranges/rows-v1" },       { "current", 1, 90, "deletes/rows-v1" },
    { "current", 2, 90, "deletes/rows-v2" },     { "current", 3, 120, "deletes/rows-v3" },
    { "current", 4, 120, "deletes/rows-v3" },
};
enum { N_GOLDENS = sizeof goldens / sizeof goldens[0] };

struct rows {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static void rows_release(struct rows *r)
{
    array_release(&r->array);
    schema_release(&r->schema);
}

/* All batches of a stream as one. */
static void read_all(struct ArrowArrayStream *stream, int64_t batch_rows_max, struct rows *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray batches[4096];
    const struct ArrowArray *list[4096];
    size_t n = 0;
    assert_ok(stream_schema(stream, &out->schema, &err));
    for (;;) {
        grebe_status st = stream_next(stream, &batches[n], &err);
        if (st == GREBE_END) {
            break;
        }
        assert_ok(st);
        assert_ok(array_check(&out->schema, &batches[n], true, &err));
        assert_true(batches[n].length > 0);
        assert_true(batch_rows_max == 0 || batches[n].length <= batch_rows_max);
        list[n] = &batches[n];
        assert_true(++n < 4096);
    }
    assert_true(n > 0);
    assert_ok(array_concat(mem_system(), &out->schema, list, n, &out->array, &err));
    for (size_t i = 0; i < n; i++) {
        array_release(&batches[i]);
    }
    stream_release(stream);
}

static void read_expected(grebe_context *ctx, struct io_store *store, const char *name,
                          struct rows *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    char path[512];
    const struct file_format *format = NULL;
    struct format_reader *reader = NULL;
    struct file_hints hints = { 0, 0, false };
    struct call call = call_options_resolve(ctx, NULL);
    snprintf(path, sizeof path, FOLDER "%s.parquet", name);
    assert_ok(format_find(ctx, "parquet", &format, &err));
    assert_ok(format->open(store, path, &hints, &reader, &err));
    assert_int_equal(reader->n_chunks, 1);
    assert_ok(schema_copy(mem_system(), &reader->schema, &out->schema, &err));
    assert_ok(reader->ops->read(reader, NULL, 0, 0, reader->n_rows, &call, &out->array, &err));
    reader->ops->close(reader);
}

/* Same columns with the same values. */
static void assert_rows(const struct rows *expected, const struct rows *found, const char *what)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_int_equal(expected->array.length, found->array.length);
    assert_int_equal(expected->schema.n_children, found->schema.n_children);
    for (int64_t i = 0; i < expected->schema.n_children; i++) {
        const struct ArrowSchema *type = expected->schema.children[i];
        struct ArrowArray widened = { 0 };
        int k = 0; /* the reference's list of groups and the file of rows order them differently */
        assert_ok(schema_find(&found->schema, type->name, &k, &err));
        assert_ok(array_widen(mem_system(), found->schema.children[k], type,
                              found->array.children[k], &widened, &err));
        if (!array_equal(type, expected->array.children[i], &widened)) {
            fail_msg("%s: column %s differs", what, type->name);
        }
        array_release(&widened);
    }
}

static grebe_table *open_golden(grebe_context *ctx, const struct golden *g, int32_t compat)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_table *t = NULL;
    char path[512];
    snprintf(path, sizeof path, FOLDER "%s/table", g->name);
    o.version = g->version;
    o.compat = compat;
    assert_ok(grebe_table_open(ctx, path, &o, &t, &err));
    assert_int_equal(grebe_table_version(t), g->version);
    assert_int_equal(grebe_table_num_rows(t), g->n_rows);
    return t;
}

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
};

static int set_up(void **state)
{
    static struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(grebe_context_new(NULL, &f.ctx, &err));
    assert_ok(io_local_new(f.ctx, &f.store, &err));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    io_store_free(f->store);
    grebe_context_free(f->ctx);
    return 0;
}

static void scan_as(const struct fixture *f, const struct golden *g, int32_t compat,
                    int64_t batch_rows, uint32_t threads, uint64_t memory)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct rows expected = { 0 };
    struct rows found = { 0 };
    struct ArrowArrayStream stream;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    char what[128];
    snprintf(what, sizeof what, "%s@%lld, batches of %lld, %u threads", g->name,
             (long long)g->version, (long long)batch_rows, threads);
    read_expected(f->ctx, f->store, g->rows, &expected);
    grebe_table *t = open_golden(f->ctx, g, compat);
    call.threads = threads;
    call.memory_limit_bytes = memory;
    o.batch_rows = batch_rows;
    o.call = &call;
    assert_ok(grebe_table_scan(t, &o, &stream, &err));
    grebe_table_close(t); /* the stream keeps what it needs */
    read_all(&stream, batch_rows, &found);
    assert_rows(&expected, &found, what);
    rows_release(&expected);
    rows_release(&found);
}

static void test_golden__scan__every_version_value_exact(void **state)
{
    for (size_t i = 0; i < N_GOLDENS; i++) {
        const struct golden *g = &goldens[i];
        scan_as(*state, g, GREBE_COMPAT_NONE, 0, 1, 0);
        scan_as(*state, g, GREBE_COMPAT_MILVUS, 8192, 4, 0);
        scan_as(*state, g, GREBE_COMPAT_NONE, 7, 4, 1);
        if (g->n_rows <= 300) {
            scan_as(*state, g, GREBE_COMPAT_NONE, 1, 2, 4096);
        }
    }
}

static void test_golden__take__same_rows_as_the_scan(void **state)
{
    const struct fixture *f = *state;
    uint64_t seed = test_seed();
    for (size_t i = 0; i < N_GOLDENS; i++) {
        const struct golden *g = &goldens[i];
        grebe_error err = GREBE_ERROR_INIT;
        struct rows expected = { 0 };
        struct rows wanted = { 0 };
        struct rows found = { 0 };
        int64_t ids[600];
        for (size_t k = 0; k < 600; k++) { /* any order, with duplicates */
            ids[k] = (int64_t)(test_random(&seed) % (uint64_t)g->n_rows);
        }
        read_expected(f->ctx, f->store, g->rows, &expected);
        grebe_table *t = open_golden(f->ctx, g, GREBE_COMPAT_NONE);
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
            grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
            call.threads = threads;
            o.call = &call;
            assert_ok(grebe_table_take(t, ids, 600, &o, &found.array, &found.schema, &err));
            assert_ok(array_check(&found.schema, &found.array, true, &err));
            assert_ok(schema_copy(mem_system(), &expected.schema, &wanted.schema, &err));
            assert_ok(array_gather(mem_system(), &expected.schema, &expected.array, ids, 600,
                                   &wanted.array, &err));
            assert_rows(&wanted, &found, g->name);
            rows_release(&found);
            rows_release(&wanted);
        }
        grebe_table_close(t);
        rows_release(&expected);
    }
}

static void test_golden__take_as_milvus__strictly_ascending_only(void **state)
{
    const struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray got = { 0 };
    grebe_table *t = open_golden(f->ctx, &goldens[3], GREBE_COMPAT_MILVUS);
    static const int64_t fine[] = { 0, 119, 120, 199 };
    static const int64_t unsorted[] = { 5, 3 };
    static const int64_t twice[] = { 5, 5 };
    static const int64_t negative[] = { -1, 5 };
    static const int64_t beyond[] = { 5, 200 };
    assert_ok(grebe_table_take(t, fine, 4, NULL, &got, NULL, &err));
    assert_int_equal(got.length, 4);
    array_release(&got);
    assert_ok(grebe_table_take(t, NULL, 0, NULL, &got, NULL, &err));
    assert_int_equal(got.length, 0);
    array_release(&got);
    assert_fails(grebe_table_take(t, unsorted, 2, NULL, &got, NULL, &err), GREBE_EINVAL,
                 "ascending");
    assert_fails(grebe_table_take(t, twice, 2, NULL, &got, NULL, &err), GREBE_EINVAL, "ascending");
    assert_fails(grebe_table_take(t, negative, 2, NULL, &got, NULL, &err), GREBE_EINVAL, "-1");
    assert_fails(grebe_table_take(t, beyond, 2, NULL, &got, NULL, &err), GREBE_EINVAL, "200");
    grebe_table_close(t);
}

static void test_golden__check__no_errors(void **state)
{
    const struct fixture *f = *state;
    for (size_t i = 0; i < N_GOLDENS; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        grebe_check_options o = GREBE_CHECK_OPTIONS_INIT;
        size_t n_errors = 0;
        grebe_table *t = open_golden(f->ctx, &goldens[i], GREBE_COMPAT_NONE);
        o.is_deep = true;
        assert_ok(grebe_table_check(t, &o, &n_errors, &err));
        assert_int_equal(n_errors, 0);
        grebe_table_close(t);
    }
}

/* Files that pyarrow wrote, none of our key-values in them, become a table's column group in place. */
static void test_plain_files__appended_as_a_group__read(void **state)
{
    const struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct rows expected = { 0 };
    struct rows found = { 0 };
    struct ArrowArrayStream stream;
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_table *empty = NULL;
    grebe_table *t = NULL;
    grebe_txn *x = NULL;
    char *folder = test_folder_new();
    char file[512];
    snprintf(file, sizeof file, FOLDER "single/rows-v1.parquet");
    static const char *const columns[] = { "id", "name", "value" };
    grebe_group_file part = { file, 0, 50, NULL, 0 };
    grebe_group group = { columns, 3, "parquet", &part, 1 };
    o.version = 0;
    assert_ok(grebe_table_open(f->ctx, folder, &o, &empty, &err));
    assert_ok(grebe_txn_new(empty, NULL, &x, &err));
    assert_ok(grebe_txn_append_files(x, &group, 1, &err));
    assert_ok(grebe_txn_commit(x, NULL, &t, &err));
    assert_int_equal(grebe_table_version(t), 1);
    assert_ok(grebe_table_scan(t, NULL, &stream, &err));
    read_all(&stream, 0, &found);
    read_expected(f->ctx, f->store, "single/rows-v1", &expected);
    assert_rows(&expected, &found, "plain files");
    rows_release(&found);
    rows_release(&expected);
    grebe_txn_free(x);
    grebe_table_close(t);
    grebe_table_close(empty);
    test_folder_remove(folder);
}

static void test_golden__info_and_log__as_the_manifest_says(void **state)
{
    const struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_info *info = NULL;
    grebe_log *log = NULL;
    grebe_table *t = open_golden(f->ctx, &goldens[14], GREBE_COMPAT_NONE);
    assert_ok(grebe_table_info_get(t, &info, &err));
    assert_string_equal(info->encoding, "avro");
    assert_false(info->has_stored_schema);
    assert_int_equal(info->n_groups, 3);
    assert_int_equal(info->groups[0].n_files, 2);
    assert_int_equal(info->groups[0].files[1].row_begin, 90);
    assert_int_equal(info->groups[0].files[1].size_bytes, 1219);
    assert_int_equal(info->n_delta_logs, 2);
    assert_int_equal(info->n_indexes, 1);
    assert_string_equal(info->indexes[0].index_type, "hnsw");
    assert_int_equal(info->n_stats, 2);
    assert_string_equal(info->stats[0].key, "bloom_filter.100");
    grebe_table_info_free(info);
    assert_ok(grebe_table_log(t, 0, &log, &err));
    assert_int_equal(log->n, 4);
    assert_int_equal(log->entries[0].version, 4);
    assert_int_equal(log->entries[3].n_rows, 90);
    assert_true(log->entries[0].is_time_of_file);
    assert_string_equal(log->entries[0].operation, "");
    grebe_log_free(log);
    grebe_table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden__scan__every_version_value_exact),
        cmocka_unit_test(test_golden__take__same_rows_as_the_scan),
        cmocka_unit_test(test_golden__take_as_milvus__strictly_ascending_only),
        cmocka_unit_test(test_golden__check__no_errors),
        cmocka_unit_test(test_plain_files__appended_as_a_group__read),
        cmocka_unit_test(test_golden__info_and_log__as_the_manifest_says),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
