/* SPDX-License-Identifier: Apache-2.0 */
/* Import, chunks, policies, files that end, packed files: what cannot be tried from outside. */
#include "table_fixture.h"

#include <unistd.h>

#include "grebe/chunk.h"
#include "grebe/packed.h"
#include "grebe/source.h"

#define MILVUS TEST_DATA "/golden/parquet/milvus/"

static const char *const packed_paths[] = { MILVUS "column_group_0.parquet",
                                            MILVUS "column_group_1.parquet",
                                            MILVUS "column_group_2.parquet" };
/* The samples as plain files: their columns are not each other's. */
static const char *const plain_paths[] = { MILVUS "column_group_0.parquet" };

static grebe_status context_of(const grebe_allocator *a, grebe_context **out, grebe_error *err)
{
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    o.allocator = a;
    o.threads = 1;
    return grebe_context_new(&o, out, err);
}

/* ---- every allocation fails once ---- */

typedef grebe_status (*life_fn)(const grebe_allocator *a, grebe_error *err);

static void fail_everywhere(life_fn life)
{
    struct test_allocator a;
    grebe_error err = GREBE_ERROR_INIT;
    test_allocator_init(&a);
    assert_ok(life(&a.a, &err));
    assert_int_equal(a.n_live, 0);
    size_t n_calls = a.n_calls;
    assert_true(n_calls > 50);
    for (size_t n = 1; n <= n_calls; n++) {
        test_allocator_init(&a);
        a.fail_at = n;
        err = (grebe_error)GREBE_ERROR_INIT;
        grebe_status st = life(&a.a, &err);
        if (st != GREBE_ENOMEM && st != GREBE_OK) { /* a cache may do without */
            fail_msg("allocation %zu of %zu: %s: %s", n, n_calls, grebe_status_name(st), err.message);
        }
        if (a.n_live != 0) {
            fail_msg("allocation %zu of %zu: %zu blocks left (%s)", n, n_calls, a.n_live,
                     err.message);
        }
    }
}

/* A table in memory takes a file of the disk: its path is absolute. */
static grebe_status import_life(const grebe_allocator *a, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = NULL;
    grebe_table *made = NULL;
    grebe_table *base = NULL;
    grebe_txn *x = NULL;
    char folder[] = "/tmp/grebe_import_XXXXXX";
    char path[64];
    grebe_txn_options txn = GREBE_TXN_OPTIONS_INIT;
    grebe_import_options o = GREBE_IMPORT_OPTIONS_INIT;
    grebe_chunks *chunks = NULL;
    struct ArrowArray got[3] = { { 0 } };
    struct ArrowSchema schema = { 0 };
    const size_t numbers[] = { 0, 0, 0 };
    const int64_t ids[] = { 99, 0, 5 };
    size_t of_rows[3];
    size_t n = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t", folder);
    txn.is_not_durable = true;
    o.is_checked = true;
    GREBE_TRY(context_of(a, &ctx, err));
    GREBE_TRY(grebe_table_import(ctx, path, plain_paths, 1, &o, &txn, &base, err));
    assert_int_equal(grebe_table_num_rows(base), 100);
    GREBE_TRY(grebe_txn_new(base, &txn, &x, err));
    GREBE_TRY(grebe_txn_import(x, &packed_paths[1], 1, NULL, err)); /* another column: new */
    GREBE_TRY(grebe_txn_commit(x, NULL, &made, err));
    GREBE_TRY(grebe_chunks_open(made, 0, NULL, 0, &chunks, err));
    assert_int_equal(grebe_chunks_count(chunks), 1);
    GREBE_TRY(grebe_chunks_of_rows(chunks, ids, 3, of_rows, &n, err));
    assert_int_equal(n, 1);
    GREBE_TRY(grebe_chunks_schema(chunks, &schema, err));
    GREBE_TRY(grebe_chunks_read(chunks, numbers, 3, NULL, got, err));
    assert_int_equal(got[2].length, 100);
out:
    for (size_t i = 0; i < 3; i++) {
        array_release(&got[i]);
    }
    schema_release(&schema);
    grebe_chunks_close(chunks);
    grebe_txn_free(x);
    grebe_table_close(made);
    grebe_table_close(base);
    if (ctx != NULL) {
        grebe_context_free(ctx);
    }
    for (int v = 1; v <= 2; v++) {
        char manifest[160];
        snprintf(manifest, sizeof manifest, "%s/_metadata/manifest-%d.avro", path, v);
        unlink(manifest);
    }
    char metadata[80];
    snprintf(metadata, sizeof metadata, "%s/_metadata", path);
    rmdir(metadata);
    rmdir(path);
    if (rmdir(folder) != 0) {
        fail_msg("%s: something was left behind", folder);
    }
    return st;
}

static void test_import__memory_runs_out_anywhere__nothing_left(void **state)
{
    (void)state;
    fail_everywhere(import_life);
}

static grebe_status packed_life(const grebe_allocator *a, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = NULL;
    grebe_table *t = NULL;
    grebe_packed_options o = GREBE_PACKED_OPTIONS_INIT;
    const int64_t fields[] = { 103, 7, 100 };
    struct ArrowArrayStream rows = { 0 };
    struct ArrowArray batch = { 0 };
    int64_t n = 0;
    char path[] = "/tmp/grebe_packed_XXXXXX";
    int fd = mkstemp(path);
    const char *const paths[] = { path };
    o.field_ids = fields;
    o.n_field_ids = 3;
    assert_true(fd >= 0);
    close(fd);
    GREBE_TRY(context_of(a, &ctx, err));
    GREBE_TRY(grebe_packed_open(ctx, packed_paths, 3, &o, &t, err));
    GREBE_TRY(grebe_table_scan(t, NULL, &rows, err));
    GREBE_TRY(stream_next(&rows, &batch, err));
    assert_int_equal(batch.n_children, 3);
    assert_int_equal(array_null_count(batch.children[1]), batch.length);
    stream_release(&rows);
    grebe_table_close(t);
    t = NULL;
    GREBE_TRY(grebe_packed_open(ctx, packed_paths, 3, NULL, &t, err));
    GREBE_TRY(grebe_table_scan(t, NULL, &rows, err));
    GREBE_TRY(grebe_packed_write(ctx, paths, 1, &rows, NULL, NULL, false, &n, err));
    assert_int_equal(n, 100);
out:
    unlink(path);
    array_release(&batch);
    if (rows.release != NULL) {
        stream_release(&rows);
    }
    grebe_table_close(t);
    if (ctx != NULL) {
        grebe_context_free(ctx);
    }
    return st;
}

static void test_packed__memory_runs_out_anywhere__nothing_left(void **state)
{
    (void)state;
    fail_everywhere(packed_life);
}

static grebe_status policy_life(const grebe_allocator *a, grebe_error *err)
{
    static const grebe_property properties[] = {
        { "writer.policy", "schema_based" },
        { "writer.split.schema_based.patterns", "v|x, n.*" },
        { "writer.split.schema_based.formats", "parquet,parquet" },
        { "unknown", "value" },
    };
    grebe_status st = GREBE_OK;
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    grebe_table *t = NULL;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    w.properties = properties;
    w.n_properties = 4;
    w.file_bytes = 1;
    GREBE_TRY(context_of(a, &ctx, err));
    GREBE_TRY(io_memory_new(ctx, &store, err));
    GREBE_TRY(create_in(store, "t", 120, &w, &t, err));
    const struct manifest *m = &t->snapshot->manifest;
    assert_int_equal(m->groups.n, 3);
    assert_string_equal(manifest_column_at(manifest_group_at(m, 0), 0), "v");
    assert_string_equal(manifest_column_at(manifest_group_at(m, 1), 0), "name");
    assert_string_equal(manifest_column_at(manifest_group_at(m, 2), 0), "id");
    assert_int_equal(manifest_group_at(m, 0)->files.n, 3); /* a file for each batch of 50 rows */
out:
    grebe_table_close(t);
    io_store_free(store);
    if (ctx != NULL) {
        grebe_context_free(ctx);
    }
    return st;
}

static void test_policy__memory_runs_out_anywhere__nothing_left(void **state)
{
    (void)state;
#ifdef GREBE_HAVE_PCRE2
    fail_everywhere(policy_life);
#else
    struct test_allocator a;
    grebe_error err = GREBE_ERROR_INIT;
    test_allocator_init(&a);
    assert_fails(policy_life(&a.a, &err), GREBE_EUNSUPPORTED, "PCRE2");
#endif
}

/* ---- appends that follow an import in one transaction ---- */

static void test_import__then_rows__one_version(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = fixture_context(NULL);
    struct io_store *store = NULL;
    grebe_table *t = NULL, *made = NULL;
    grebe_txn *x = NULL;
    grebe_txn_options txn = GREBE_TXN_OPTIONS_INIT;
    grebe_table_open_options open = GREBE_TABLE_OPEN_OPTIONS_INIT;
    struct ArrowArrayStream rows;
    static const struct column_spec other[] = { { "other", "id" } };
    txn.is_not_durable = true;
    open.version = 0;
    assert_ok(io_local_new(ctx, &store, &err));
    assert_ok(table_open_in(store, "/tmp/grebe_no_such_table", &open, &t, &err));
    assert_ok(grebe_txn_new(t, &txn, &x, &err));
    assert_ok(grebe_txn_import(x, plain_paths, 1, NULL, &err));
    rows_of(other, 1, 0, 3, 3, &rows);
    assert_fails(grebe_txn_append(x, &rows, NULL, &err), GREBE_ESCHEMA, "\"id\"");
    assert_fails(grebe_txn_import(x, plain_paths, 1, NULL, &err), GREBE_EEXISTS, "already");
    assert_fails(grebe_txn_import(x, &packed_paths[1], 0, NULL, &err), GREBE_EINVAL, "n_paths");
    assert_ok(grebe_txn_import(x, &packed_paths[1], 1, NULL, &err));
    rows_of(other, 1, 0, 100, 100, &rows);
    assert_fails(grebe_txn_append(x, &rows, NULL, &err), GREBE_EINVAL, "rows come before");
    grebe_txn_free(x);
    assert_int_equal(access("/tmp/grebe_no_such_table", F_OK), -1);
    grebe_table_close(made);
    grebe_table_close(t);
    io_store_free(store);
    grebe_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import__memory_runs_out_anywhere__nothing_left),
        cmocka_unit_test(test_packed__memory_runs_out_anywhere__nothing_left),
        cmocka_unit_test(test_policy__memory_runs_out_anywhere__nothing_left),
        cmocka_unit_test(test_import__then_rows__one_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
