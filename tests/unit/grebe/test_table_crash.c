/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit that is killed, fails or runs out of memory at any step leaves the old version or
 * makes the new one; many at the same time make consecutive versions.
 */
#include "table_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include "table/version.h"

enum { ROWS_BEFORE = 60, ROWS_MORE = 20 };

static void in_folder(char dst[512], const char *folder, const char *rest)
{
    int n = snprintf(dst, 512, "%s/%s", folder, rest);
    assert_in_range(n, 1, 511);
}

/* What a reader finds after the accident: version 1 or 2, whole. */
static int64_t assert_old_or_new(const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = fixture_context(NULL);
    grebe_table *t = NULL;
    size_t n_errors = 0;
    char folder[512];
    assert_ok(grebe_table_open(ctx, path, NULL, &t, &err));
    int64_t version = grebe_table_version(t);
    assert_true(version == 1 || version == 2);
    assert_ids(t, version == 1 ? ROWS_BEFORE : ROWS_BEFORE + ROWS_MORE);
    assert_ok(grebe_table_check(t, NULL, &n_errors, &err));
    assert_int_equal(n_errors, 0);
    in_folder(folder, path, "_metadata");
    struct name_count names = count_names(t->store->store, folder);
    assert_int_equal(names.n_manifests, version);
    assert_int_equal(names.n_others, 0);
    grebe_table_close(t);
    grebe_context_free(ctx);
    return version;
}

static void make_table(const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = fixture_context(NULL);
    struct io_store *store = NULL;
    grebe_table *t = NULL;
    assert_ok(io_local_new(ctx, &store, &err));
    assert_ok(create_in(store, path, ROWS_BEFORE, NULL, &t, &err));
    grebe_table_close(t);
    io_store_free(store);
    grebe_context_free(ctx);
}

/* Append and commit through a store that misbehaves as planned. */
static grebe_status append_with(const char *path, const struct io_fault_plan *plan,
                                bool is_durable, uint64_t *n_calls, grebe_error *err)
{
    grebe_context *ctx = fixture_context(NULL);
    struct io_store *local = NULL;
    struct io_fault_store *fault = NULL;
    grebe_table *t = NULL;
    grebe_txn *x = NULL;
    struct ArrowArrayStream rows;
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    o.is_not_durable = !is_durable;
    call.threads = 1; /* so that calls come in the same order each time */
    w.call = &call;
    grebe_status st = io_local_new(ctx, &local, err);
    if (st == GREBE_OK) {
        st = io_fault_new(ctx, local, &fault, err);
    }
    if (st == GREBE_OK) {
        fault->plan = *plan;
        st = table_open_in(&fault->store, path, NULL, &t, err);
    }
    if (st == GREBE_OK) {
        st = grebe_txn_new(t, &o, &x, err);
    }
    if (st == GREBE_OK) {
        rows_stream(ROWS_BEFORE, ROWS_MORE, &rows);
        st = grebe_txn_append(x, &rows, &w, err);
    }
    if (st == GREBE_OK) {
        st = grebe_txn_commit(x, NULL, NULL, err);
    }
    *n_calls = fault != NULL ? atomic_load(&fault->counts.calls) : 0;
    grebe_txn_free(x);
    grebe_table_close(t);
    io_store_free(fault != NULL ? &fault->store : NULL);
    grebe_context_free(ctx);
    return st;
}

static void test_commit__killed_at_every_call__old_or_new(void **state)
{
    (void)state;
    size_t n_old = 0;
    size_t n_new = 0;
    bool was_killed = true;
    for (uint64_t n = 1; was_killed; n++) {
        char *folder = test_folder_new();
        char path[512];
        in_folder(path, folder, "t");
        make_table(path);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            grebe_error err = GREBE_ERROR_INIT;
            struct io_fault_plan plan = { .kill_at = n };
            uint64_t n_calls = 0;
            grebe_status st = append_with(path, &plan, true, &n_calls, &err);
            _exit(st == GREBE_OK ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        was_killed = WEXITSTATUS(status) == 137;
        assert_true(was_killed || WEXITSTATUS(status) == 0);
        int64_t version = assert_old_or_new(path);
        n_old += version == 1;
        n_new += version == 2;
        test_folder_remove(folder);
    }
    assert_true(n_old > 5 && n_new >= 1);
}

/* A file where the folder of versions belongs is no race that was lost: trying again is in vain. */
static void test_create__file_in_place_of_a_folder__told_at_once(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = fixture_context(NULL);
    struct io_store *store = NULL;
    grebe_table *t = NULL;
    char *folder = test_folder_new();
    char path[512];
    in_folder(path, folder, "_metadata");
    test_write_file(path, "x", 1);
    assert_ok(io_local_new(ctx, &store, &err));
    assert_fails(create_in(store, folder, 10, NULL, &t, &err), GREBE_EEXISTS,
                 "cannot make the folder");
    assert_null(t);
    io_store_free(store);
    grebe_context_free(ctx);
    test_folder_remove(folder);
}

static void test_commit__every_call_fails_once__old_or_new_and_no_stray_files(void **state)
{
    (void)state;
    uint64_t n_calls = UINT64_MAX;
    for (uint64_t n = 1; n <= n_calls; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct io_fault_plan plan = { .fail_at = n };
        char *folder = test_folder_new();
        char path[512];
        char data[512];
        uint64_t made = 0;
        in_folder(path, folder, "t");
        in_folder(data, path, "_data");
        make_table(path);
        grebe_status st = append_with(path, &plan, false, &made, &err);
        int64_t version = assert_old_or_new(path);
        if (st == GREBE_OK) {
            assert_int_equal(version, 2);
        } else {
            assert_true(err.message[0] != '\0');
            assert_true(version == 1 || st == GREBE_EUNKNOWN_OUTCOME);
        }
        grebe_context *ctx = fixture_context(NULL);
        struct io_store *local = NULL;
        assert_ok(io_local_new(ctx, &local, &err));
        if (version == 1) {
            assert_int_equal(count_names(local, data).n_others, 2);
        }
        io_store_free(local);
        grebe_context_free(ctx);
        test_folder_remove(folder);
        if (made < n) {
            break; /* beyond the last call: nothing failed */
        }
    }
}

static void test_commit__everything_fails_from_a_call_on__old_or_new(void **state)
{
    (void)state;
    for (uint64_t n = 1;; n++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct io_fault_plan plan = { .fail_at = n, .fail_all_after = true,
                                      .fail_status = GREBE_ELIMIT };
        char *folder = test_folder_new();
        char path[512];
        uint64_t made = 0;
        in_folder(path, folder, "t");
        make_table(path);
        grebe_status st = append_with(path, &plan, false, &made, &err);
        int64_t version = assert_old_or_new(path);
        assert_true(version == 1 || st == GREBE_OK || st == GREBE_EUNKNOWN_OUTCOME);
        test_folder_remove(folder);
        if (st == GREBE_OK && made < n) {
            break;
        }
    }
}

/* ---- many at once ---- */

enum { PROCESSES = 6, COMMITS = 5 };

static void child_commits(const char *path, int number)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = fixture_context(NULL);
    struct io_store *store = NULL;
    int failed = io_local_new(ctx, &store, &err) != GREBE_OK;
    for (int i = 0; i < COMMITS && !failed; i++) {
        grebe_table *t = NULL;
        grebe_table *next = NULL;
        failed = table_open_in(store, path, NULL, &t, &err) != GREBE_OK ||
                 append_to(t, 1000 * number + i, 1, 0, &next, &err) != GREBE_OK;
        if (failed) {
            fprintf(stderr, "process %d: %s\n", number, err.message);
        }
        grebe_table_close(next);
        grebe_table_close(t);
    }
    io_store_free(store);
    grebe_context_free(ctx);
    _exit(failed);
}

static void test_commit__many_processes__consecutive_versions_nothing_lost(void **state)
{
    (void)state;
    grebe_error err = GREBE_ERROR_INIT;
    char *folder = test_folder_new();
    char path[512];
    in_folder(path, folder, "t");
    make_table(path);
    pid_t pids[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        pids[p] = fork();
        assert_true(pids[p] >= 0);
        if (pids[p] == 0) {
            child_commits(path, p + 1);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;
        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    grebe_context *ctx = fixture_context(NULL);
    grebe_table *t = NULL;
    int64_t *versions = NULL;
    size_t n = 0;
    assert_ok(grebe_table_open(ctx, path, NULL, &t, &err));
    assert_ok(grebe_table_versions(t, &versions, &n, &err));
    assert_int_equal(n, 1 + PROCESSES * COMMITS);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(versions[i], i + 1);
    }
    grebe_versions_free(t, versions, n);
    int64_t n_ids = 0;
    int64_t *ids = all_ids(t, &n_ids);
    assert_int_equal(n_ids, ROWS_BEFORE + PROCESSES * COMMITS);
    for (int p = 1; p <= PROCESSES; p++) { /* of each process all rows, in its order */
        int next = 0;
        for (int64_t i = ROWS_BEFORE; i < n_ids; i++) {
            if (ids[i] / 1000 == p) {
                assert_int_equal(ids[i] % 1000, next++);
            }
        }
        assert_int_equal(next, COMMITS);
    }
    free(ids);
    grebe_table_close(t);
    grebe_context_free(ctx);
    test_folder_remove(folder);
}

/* ---- no memory ---- */

static grebe_status whole_life(const grebe_allocator *a, grebe_error *err)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    grebe_table *t = NULL;
    grebe_table *t2 = NULL;
    grebe_txn *x = NULL;
    grebe_log *log = NULL;
    grebe_table_info *info = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowArray got = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    static const struct column_spec spec[] = { { "score", "id" } };
    static const int64_t ids[] = { 3, 25, 3, 0, 21 };
    o.allocator = a;
    o.threads = 1;
    grebe_status st = GREBE_OK;
    GREBE_TRY(grebe_context_new(&o, &ctx, err));
    GREBE_TRY(io_memory_new(ctx, &store, err));
    GREBE_TRY(create_in(store, "t", 20, NULL, &t, err));
    GREBE_TRY(append_to(t, 20, 10, 0, &t2, err));
    GREBE_TRY(grebe_txn_new(t2, NULL, &x, err));
    rows_of(spec, 1, 0, 30, 30, &rows);
    GREBE_TRY(grebe_txn_add_columns(x, &rows, 0, INT64_MAX, NULL, err));
    GREBE_TRY(grebe_txn_drop_column(x, "name", err));
    GREBE_TRY(grebe_txn_rename_column(x, "id", "key", err));
    grebe_table_close(t);
    t = NULL;
    GREBE_TRY(grebe_txn_commit(x, NULL, &t, err));
    GREBE_TRY(grebe_table_take(t, ids, 5, NULL, &got, &schema, err));
    assert_int_equal(got.length, 5);
    GREBE_TRY(grebe_table_log(t, 0, &log, err));
    GREBE_TRY(grebe_table_info_get(t, &info, err));
    GREBE_TRY(grebe_table_tag(t, "x", 1, "m", err));
    GREBE_TRY(grebe_table_scan(t, NULL, &rows, err));
    array_release(&got);
    for (;;) {
        st = stream_next(&rows, &got, err);
        if (st != GREBE_OK) {
            break;
        }
        array_release(&got);
    }
    st = st == GREBE_END ? GREBE_OK : st;
out:
    array_release(&got);
    schema_release(&schema);
    if (rows.release != NULL) {
        stream_release(&rows);
    }
    grebe_log_free(log);
    grebe_table_info_free(info);
    grebe_txn_free(x);
    grebe_table_close(t);
    grebe_table_close(t2);
    io_store_free(store);
    if (ctx != NULL) {
        grebe_context_free(ctx);
    }
    return st;
}

static void test_table__memory_runs_out_anywhere__reported_and_no_leak(void **state)
{
    (void)state;
    struct test_allocator a;
    grebe_error err = GREBE_ERROR_INIT;
    test_allocator_init(&a);
    assert_ok(whole_life(&a.a, &err));
    assert_int_equal(a.n_live, 0);
    size_t n_calls = a.n_calls;
    assert_true(n_calls > 100);
    for (size_t n = 1; n <= n_calls; n++) {
        test_allocator_init(&a);
        a.fail_at = n;
        err = (grebe_error)GREBE_ERROR_INIT;
        grebe_status st = whole_life(&a.a, &err);
        if (st != GREBE_ENOMEM && st != GREBE_OK) { /* a cache may do without */
            fail_msg("allocation %zu of %zu: %s: %s", n, n_calls, grebe_status_name(st), err.message);
        }
        if (a.n_live != 0) {
            fail_msg("allocation %zu of %zu: %zu blocks left (%s)", n, n_calls, a.n_live,
                     err.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit__killed_at_every_call__old_or_new),
        cmocka_unit_test(test_create__file_in_place_of_a_folder__told_at_once),
        cmocka_unit_test(test_commit__every_call_fails_once__old_or_new_and_no_stray_files),
        cmocka_unit_test(test_commit__everything_fails_from_a_call_on__old_or_new),
        cmocka_unit_test(test_commit__many_processes__consecutive_versions_nothing_lost),
        cmocka_unit_test(test_table__memory_runs_out_anywhere__reported_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
