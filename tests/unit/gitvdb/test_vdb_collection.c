/* SPDX-License-Identifier: Apache-2.0 */
/* Collections through the public calls: every allocation fails once, disks are full, folders closed; merge, copy, batches, threads. */
#include "vdb_api_test.h"

#include "arrow/arrow_array.h"
#include "arrow/arrow_schema.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIM = 3 };

/* ---- every allocation fails ---- */

typedef grebe_status (*operation_fn)(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);

static grebe_status op_create(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_config c = GREBE_VDB_CONFIG_INIT(DIM);
    c.vector_space = "space";
    return grebe_vdb_create(vdb, "new", &c, out, err);
}

static grebe_status upsert_into(grebe_vdb *vdb, const char *name, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_write_options o = GREBE_VDB_WRITE_OPTIONS_INIT;
    struct text t = make_lines(20, 30, DIM, 9);
    o.batch_size = UINT64_MAX;
    grebe_status st = grebe_vdb_upsert_lines(vdb, name, text_read, text_rewind, &t, &o, out, err);
    free(t.data);
    return st;
}

static grebe_status op_upsert(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err) { return upsert_into(vdb, "c", out, err); }
static grebe_status op_upsert_new(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err) { return upsert_into(vdb, "new", out, err); }

static grebe_status op_upsert_point(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_upsert_point(vdb, "c", "\"word\"", "[1,2.5,3]", "{\"a\":[1.5,{\"b\":\"\\u00e9\"}]}", NULL, out, err);
}

static grebe_status op_delete(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_select s = GREBE_VDB_SELECT_INIT;
    static const char *const ids[] = { "3", "\"no such\"" };
    s.ids = ids;
    s.n_ids = 2;
    s.filter = "{\"must\":[{\"key\":\"n\",\"range\":{\"gte\":7}}]}";
    s.filter_len = strlen(s.filter);
    return grebe_vdb_delete(vdb, "c", &s, NULL, out, err);
}

static grebe_status op_merge(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_merge(vdb, "c", "refs/git-vdb/collections/other", 2, out, err);
}

static grebe_status op_restore(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_restore(vdb, "c", "refs/git-vdb/collections/c~1", out, err);
}

static grebe_status op_search(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    static const float vectors[] = { 1, 2, 3, -1, 0, 0.5F };
    grebe_vdb_query q = GREBE_VDB_QUERY_INIT;
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    q.vectors = vectors;
    q.n_vectors = 2;
    q.dimension = DIM;
    q.mode = 2;
    q.select.filter = "{\"must_not\":[{\"key\":\"n\",\"any\":[1,2]}]}";
    q.select.filter_len = strlen(q.select.filter);
    o.with_payload = o.with_vector = true;
    return grebe_vdb_search(vdb, "c", &q, &o, out, err);
}

static grebe_status op_get(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    static const char *const fields[] = { "n", "no.such" };
    o.with_payload = o.with_vector = true;
    o.fields = fields;
    o.n_fields = 2;
    o.at = "refs/git-vdb/collections/c~1";
    return grebe_vdb_get(vdb, "c", NULL, &o, out, err);
}

static grebe_status op_validate(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_validate(vdb, "c", NULL, true, true, out, err);
}

static grebe_status op_diff(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_diff(vdb, "c", "refs/git-vdb/collections/c", "refs/git-vdb/collections/other", out, err);
}

static const struct {
    const char *name;
    operation_fn run;
    bool is_write;
} operations[] = {
    { "create", op_create, true },     { "upsert", op_upsert, true },   { "upsert_new", op_upsert_new, true },
    { "point", op_upsert_point, true }, { "delete", op_delete, true },  { "merge", op_merge, true },
    { "restore", op_restore, true },   { "search", op_search, false }, { "get", op_get, false },
    { "validate", op_validate, false }, { "diff", op_diff, false },
};

/* "c" with two commits, "other" split off from it, with changes of its own. */
static void put_two_sides(grebe_vdb *vdb)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    put_points(vdb, "c", 0, 30, DIM, 1, UINT64_MAX);
    assert_ok(grebe_vdb_copy(vdb, "c", NULL, "other", &r, &err));
    grebe_vdb_result_free(r);
    put_points(vdb, "c", 25, 10, DIM, 2, UINT64_MAX);
    put_points(vdb, "other", 25, 20, DIM, 3, UINT64_MAX);
}

static void test_allocation__each_fails__all_or_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
        struct api_fixture f;
        char before[41], before_new[41], now[41];
        api_fixture_open(&f);
        put_two_sides(f.vdb);
        read_ref(f.path, "c", before);
        assert_int_equal(strlen(before), 40);
        size_t n = 0;
        grebe_status st = GREBE_ENOMEM;
        while (st != GREBE_OK) {
            grebe_error err = GREBE_ERROR_INIT;
            grebe_vdb_result *r = NULL;
            n++;
            api_shut(&f);
            api_open(&f);
            size_t live = f.memory.n_live;
            f.memory.fail_at = f.memory.n_calls + n;
            st = operations[k].run(f.vdb, &r, &err);
            f.memory.fail_at = 0;
            if (st != GREBE_OK && st != GREBE_ENOMEM) {
                fail_msg("%s: allocation %zu: expected ENOMEM, found %s: %s", operations[k].name, n, grebe_status_name(st), err.message);
            }
            assert_true((r != NULL) == (st == GREBE_OK));
            grebe_vdb_result_free(r);
            read_ref(f.path, "c", now);
            read_ref(f.path, "new", before_new);
            if (st != GREBE_OK) {
                assert_string_equal(now, before);
                assert_string_equal(before_new, "");
                assert_true(f.memory.n_live >= live);
            }
            assert_true(n < 20000);
        }
        assert_true(n > 5);
        assert_int_equal(operations[k].is_write, strcmp(now, before) != 0 || *before_new != '\0');
        assert_valid(f.vdb, "c");
        api_fixture_close(&f);
    }
}

/* ---- disks and folders ---- */

static void test_full_disk__any_size__old_state_stays(void **state)
{
    (void)state;
    struct api_fixture f;
    char before[41], now[41];
    api_fixture_open(&f);
    put_two_sides(f.vdb);
    read_ref(f.path, "c", before);
    assert_int_equal(run_shell("find '%s' -type f | sort >'%s/before'", f.path, f.folder), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 1; bytes < 3000; bytes += bytes < 60 ? 13 : 167) {
        for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
            grebe_error err = GREBE_ERROR_INIT;
            grebe_vdb_result *r = NULL;
            if (operations[k].is_write) {
                limit_files(bytes);
                grebe_status st = operations[k].run(f.vdb, &r, &err);
                limit_files(RLIM_INFINITY);
                read_ref(f.path, "c", now);
                if (st == GREBE_OK) { /* small enough: put the reference back */
                    grebe_vdb_result_free(r);
                    assert_int_equal(run_shell("git -C '%s' update-ref refs/git-vdb/collections/c %s && rm -f '%s/refs/git-vdb/collections/new'",
                                               f.path, before, f.path), 0);
                    continue;
                }
                assert_null(r);
                assert_true(st == GREBE_EIO || st == GREBE_ELIMIT);
                assert_string_equal(now, before);
                read_ref(f.path, "new", now);
                assert_string_equal(now, "");
            }
        }
    }
    assert_valid(f.vdb, "c");
    /* nothing is left that a failed write made, and all of it can be done now */
    assert_int_equal(run_shell("find '%s' -name '*.lock' -o -name '*tmp*' | grep .", f.path), 1);
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    assert_ok(op_upsert(f.vdb, &r, &err));
    grebe_vdb_result_free(r);
    api_fixture_close(&f);
}

static int use_closed_folder(const char *path)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    grebe_vdb *vdb = NULL;
    grebe_vdb_result *r = NULL;
    if (context_new(NULL, &ctx, &err) != GREBE_OK || grebe_vdb_open(ctx, path, GREBE_VDB_EXISTING, &vdb, &err) != GREBE_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
        grebe_status st = operations[k].run(vdb, &r, &err);
        if (st != (operations[k].is_write ? GREBE_EIO : GREBE_OK)) {
            fprintf(stderr, "%s: %s: %s\n", operations[k].name, grebe_status_name(st), err.message);
            return 2;
        }
        grebe_vdb_result_free(r);
        r = NULL;
    }
    grebe_vdb_close(vdb);
    context_free(ctx);
    return 0;
}

static void test_closed_folder__reads_work_writes_say_so(void **state)
{
    (void)state;
    struct api_fixture f;
    int status;
    api_fixture_open(&f);
    put_two_sides(f.vdb);
    assert_int_equal(run_shell("cp -r '%s' '%s/closed' && chmod 755 '%s' && chmod -R a-w '%s/closed'", f.path, f.folder, f.folder, f.folder), 0);
    char closed[600];
    snprintf(closed, sizeof closed, "%s/closed", f.folder);
    bool is_root = geteuid() == 0;
    if (is_root) {
        assert_int_equal(run_shell("chown -R 65534:65534 '%s'", closed), 0);
    }
    api_shut(&f); /* the child looks for git's configuration anew, where it may */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("HOME", closed, 1);
        _exit(is_root && (setgid(65534) != 0 || setuid(65534) != 0) ? 9 : use_closed_folder(closed));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(run_shell("cd '%s' && find . -type f | sort >'%s/a' && cd '%s' && find . -type f | sort | diff - '%s/a'", f.path, f.folder,
                               closed, f.folder), 0);
    assert_int_equal(run_shell("chmod -R u+w '%s'", closed), 0);
    api_open(&f);
    api_fixture_close(&f);
}

/* ---- merge, copy, rename ---- */

static void check_ids(grebe_vdb *vdb, uint64_t from, uint64_t to, const char *like)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    o.with_vector = true;
    for (uint64_t id = from; id < to; id++) {
        char word[24];
        const char *ids[] = { word };
        grebe_vdb_select s = GREBE_VDB_SELECT_INIT;
        grebe_vdb_result *a = NULL, *b = NULL;
        snprintf(word, sizeof word, "%llu", (unsigned long long)id);
        s.ids = ids;
        s.n_ids = 1;
        assert_ok(grebe_vdb_get(vdb, "c", &s, &o, &a, &err));
        o.at = like;
        assert_ok(grebe_vdb_get(vdb, "c", &s, &o, &b, &err));
        o.at = NULL;
        char *x = printed(a), *y = printed(b);
        assert_string_equal(strstr(x, "\"points\""), strstr(y, "\"points\""));
        assert_non_null(strstr(x, "\"vector\""));
        free(x);
        free(y);
        grebe_vdb_result_free(a);
        grebe_vdb_result_free(b);
    }
}

static void test_merge__conflicts__listed_or_decided(void **state)
{
    (void)state;
    struct api_fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    char before[41], now[41];
    static const char other[] = "refs/git-vdb/collections/other", old[] = "refs/git-vdb/collections/kept";
    api_fixture_open(&f);
    put_two_sides(f.vdb); /* base 0-29; ours changed 25-34, theirs 25-44 */
    assert_ok(grebe_vdb_copy(f.vdb, "c", NULL, "kept", &r, &err));
    grebe_vdb_result_free(r);
    r = NULL;
    read_ref(f.path, "c", before);
    assert_int_equal(grebe_vdb_merge(f.vdb, "c", other, 0, &r, &err), GREBE_ECONFLICT);
    assert_non_null(r);
    char *list = printed(r);
    for (int id = 25; id < 35; id++) {
        char word[16];
        snprintf(word, sizeof word, "%d", id);
        assert_non_null(strstr(list, word));
    }
    assert_null(strstr(list, "36"));
    free(list);
    grebe_vdb_result_free(r);
    read_ref(f.path, "c", now);
    assert_string_equal(now, before);
    /* ours: their 35-44 come in addition, ours stay as they are */
    assert_ok(grebe_vdb_merge(f.vdb, "c", other, 1, &r, &err));
    grebe_vdb_result_free(r);
    assert_int_equal(count_of(f.vdb, "c"), 45);
    check_ids(f.vdb, 20, 35, old);
    check_ids(f.vdb, 35, 45, other);
    assert_valid(f.vdb, "c");
    assert_int_equal(run_shell("test $(git -C '%s' rev-list --parents -1 refs/git-vdb/collections/c | wc -w) = 3", f.path), 0);
    /* theirs */
    assert_ok(grebe_vdb_restore(f.vdb, "c", before, &r, &err));
    grebe_vdb_result_free(r);
    assert_ok(grebe_vdb_rename(f.vdb, "c", "merged", &r, &err));
    grebe_vdb_result_free(r);
    assert_int_equal(grebe_vdb_info(f.vdb, "c", NULL, &r, &err), GREBE_ENOTFOUND);
    assert_ok(grebe_vdb_rename(f.vdb, "kept", "c", &r, &err));
    grebe_vdb_result_free(r);
    assert_ok(grebe_vdb_merge(f.vdb, "c", other, 2, &r, &err));
    grebe_vdb_result_free(r);
    assert_int_equal(count_of(f.vdb, "c"), 45);
    check_ids(f.vdb, 25, 45, other);
    /* a second time there is nothing to take; a name that is taken is refused */
    root_of(f.vdb, "c", before);
    assert_ok(grebe_vdb_merge(f.vdb, "c", other, 0, &r, &err));
    grebe_vdb_result_free(r);
    root_of(f.vdb, "c", now);
    assert_string_equal(now, before);
    assert_int_equal(grebe_vdb_copy(f.vdb, "c", NULL, "other", &r, &err), GREBE_EEXISTS);
    assert_int_equal(grebe_vdb_rename(f.vdb, "c", "other", &r, &err), GREBE_EEXISTS);
    assert_int_equal(grebe_vdb_copy(f.vdb, "no", NULL, "x", &r, &err), GREBE_ENOTFOUND);
    api_fixture_close(&f);
}

static void test_merge__other_points__no_conflict(void **state)
{
    (void)state;
    struct api_fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    char merged[41], want[41];
    api_fixture_open(&f);
    put_points(f.vdb, "c", 0, 20, DIM, 5, UINT64_MAX);
    assert_ok(grebe_vdb_copy(f.vdb, "c", NULL, "side", &r, &err));
    grebe_vdb_result_free(r);
    put_points(f.vdb, "c", 20, 300, DIM, 5, 50);
    put_points(f.vdb, "side", 320, 180, DIM, 5, 50);
    assert_ok(grebe_vdb_merge(f.vdb, "c", "refs/git-vdb/collections/side", 0, &r, &err));
    grebe_vdb_result_free(r);
    root_of(f.vdb, "c", merged);
    clean_root(500, DIM, 5, want);
    assert_string_equal(merged, want);
    /* what one side deleted and the other left alone is gone */
    assert_ok(grebe_vdb_copy(f.vdb, "c", NULL, "less", &r, &err));
    grebe_vdb_result_free(r);
    static const char *const ids[] = { "0", "450" };
    grebe_vdb_select s = GREBE_VDB_SELECT_INIT;
    s.ids = ids;
    s.n_ids = 2;
    assert_ok(grebe_vdb_delete(f.vdb, "less", &s, NULL, &r, &err));
    grebe_vdb_result_free(r);
    put_points(f.vdb, "c", 500, 1, DIM, 5, 1);
    assert_ok(grebe_vdb_merge(f.vdb, "c", "refs/git-vdb/collections/less", 0, &r, &err));
    grebe_vdb_result_free(r);
    assert_int_equal(count_of(f.vdb, "c"), 499);
    assert_valid(f.vdb, "c");
    api_fixture_close(&f);
}

/* The number of commits that a collection has. */
static unsigned commits_of(const struct api_fixture *f, const char *name)
{
    char command[700];
    unsigned n = 0;
    snprintf(command, sizeof command, "git -C '%s' rev-list --count refs/git-vdb/collections/%s", f->path, name);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%u", &n), 1);
    pclose(p);
    return n;
}

static void check_merge(struct api_fixture *f, const char *name, const char *revision, uint64_t affected, unsigned n_more)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    char now[41];
    unsigned before = commits_of(f, name);
    assert_ok(grebe_vdb_merge(f->vdb, name, revision, 0, &r, &err));
    assert_int_equal(grebe_vdb_result_count(r), affected);
    root_of(f->vdb, name, now);
    assert_string_equal(grebe_vdb_result_root(r), now);
    grebe_vdb_result_free(r);
    assert_int_equal(commits_of(f, name), before + n_more);
}

static void test_merge__one_side_only__no_commit(void **state)
{
    (void)state;
    struct api_fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    char here[41], there[41];
    api_fixture_open(&f);
    put_points(f.vdb, "c", 0, 30, DIM, 1, 10);
    assert_ok(grebe_vdb_copy(f.vdb, "c", NULL, "side", &r, &err));
    grebe_vdb_result_free(r);
    put_points(f.vdb, "side", 25, 20, DIM, 2, 10);
    read_ref(f.path, "c", here);
    check_merge(&f, "c", "c", 0, 0);
    check_merge(&f, "c", "refs/git-vdb/collections/c~2", 0, 0);
    check_merge(&f, "side", "c", 0, 0);
    read_ref(f.path, "c", there);
    assert_string_equal(here, there);
    check_merge(&f, "c", "side", 20, 2);
    read_ref(f.path, "c", here);
    read_ref(f.path, "side", there);
    assert_string_equal(here, there);
    put_points(f.vdb, "c", 100, 1, DIM, 2, 10);
    put_points(f.vdb, "side", 101, 1, DIM, 2, 10);
    check_merge(&f, "c", "side", 1, 2);
    check_merge(&f, "c", "side", 0, 0);
    assert_int_equal(grebe_vdb_info(f.vdb, "c", "side", &r, &err), GREBE_ENOTFOUND);
    assert_non_null(strstr(err.message, "did you mean refs/git-vdb/collections/side?"));
    assert_int_equal(grebe_vdb_info(f.vdb, "c", "sid", &r, &err), GREBE_ENOTFOUND);
    assert_null(strstr(err.message, "did you mean"));
    api_fixture_close(&f);
}

/* ---- rows ---- */

static grebe_status op_list(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err) { return grebe_vdb_list(vdb, out, err); }
static grebe_status op_log(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_history(vdb, "c", 20, out, err);
}
static grebe_status op_compare(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_diff(vdb, "c", "refs/git-vdb/collections/c~1", "refs/git-vdb/collections/other", out, err);
}
static grebe_status op_doctor(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    return grebe_vdb_doctor(vdb, out, err);
}
static grebe_status op_conflicts(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    grebe_status st = grebe_vdb_merge(vdb, "c", "other", 0, out, err);
    return st == GREBE_ECONFLICT && *out != NULL ? GREBE_OK : GREBE_EIO;
}

static const struct {
    grebe_status (*run)(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err);
    int64_t n_rows, n_columns;
} row_cases[] = { { op_list, 2, 6 }, { op_log, 3, 5 }, { op_compare, 20, 2 }, { op_doctor, 2, 4 }, { op_conflicts, 10, 3 },
                  { op_upsert_point, 1, 2 } };

static void test_rows__any_result__and_no_memory_at_any_place(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof row_cases / sizeof *row_cases; k++) {
        struct api_fixture f;
        grebe_error err = GREBE_ERROR_INIT;
        grebe_vdb_result *r = NULL;
        grebe_status st = GREBE_ENOMEM;
        api_fixture_open(&f);
        put_two_sides(f.vdb);
        assert_ok(row_cases[k].run(f.vdb, &r, &err));
        for (size_t n = 1; st != GREBE_OK; n++) {
            struct ArrowArray rows;
            struct ArrowSchema schema;
            size_t live = f.memory.n_live;
            f.memory.fail_at = f.memory.n_calls + n;
            st = grebe_vdb_result_rows(r, &rows, &schema, &err);
            f.memory.fail_at = 0;
            if (st == GREBE_OK) {
                assert_ok(schema_check(&schema, &err));
                assert_ok(array_check(&schema, &rows, true, &err));
                assert_int_equal(rows.length, row_cases[k].n_rows);
                assert_int_equal(rows.n_children, row_cases[k].n_columns);
                schema.release(&schema);
                rows.release(&rows);
            } else {
                assert_int_equal(st, GREBE_ENOMEM);
                assert_true(rows.release == NULL && schema.release == NULL);
            }
            assert_int_equal(f.memory.n_live, live);
            assert_true(n < 2000);
        }
        grebe_vdb_result_free(r);
        api_fixture_close(&f);
    }
}

/* ---- batches and threads ---- */

static void test_batches_and_threads__same_root_same_answers(void **state)
{
    (void)state;
    enum { N = 2600, WIDE = 12 };
    static const uint32_t threads[] = { 1, 2, 5 };
    static const uint64_t batches[] = { 333, UINT64_MAX, 1000 };
    char want[41], root[41];
    char *answers[3] = { NULL };
    struct text t = make_lines(0, N, WIDE, 4);
    clean_root(N, WIDE, 4, want);
    for (int i = 0; i < 3; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct git_fixture g = { .folder = test_folder_new() };
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_vdb *vdb = NULL;
        grebe_vdb_result *r = NULL;
        float queries[WIDE * 20];
        uint64_t seed = 11;
        snprintf(g.path, sizeof g.path, "%s/r.git", g.folder);
        o.threads = threads[i];
        assert_ok(context_new(&o, &g.ctx, &err));
        assert_ok(grebe_vdb_open(g.ctx, g.path, GREBE_VDB_CREATE, &vdb, &err));
        assert_ok(put_lines(vdb, "c", &t, batches[i], &err));
        root_of(vdb, "c", root);
        assert_string_equal(root, want);
        for (int k = 0; k < WIDE * 20; k++) {
            queries[k] = (float)(test_random(&seed) >> 50) - 8192;
        }
        for (int mode = 0; mode < 3; mode++) {
            grebe_vdb_query q = GREBE_VDB_QUERY_INIT;
            q.vectors = queries;
            q.n_vectors = 20;
            q.dimension = WIDE;
            q.mode = mode;
            q.probes = 5;
            q.limit = 100;
            assert_ok(grebe_vdb_search(vdb, "c", &q, NULL, &r, &err));
            char *text = printed(r);
            struct text all = { answers[i], answers[i] == NULL ? 0 : strlen(answers[i]), 0 };
            text_append(&all, text, strlen(text));
            answers[i] = all.data;
            free(text);
            grebe_vdb_result_free(r);
        }
        assert_valid(vdb, "c");
        grebe_vdb_close(vdb);
        context_free(g.ctx);
        assert_fsck(g.path);
        test_folder_remove(g.folder);
        assert_string_equal(answers[i], answers[0]);
    }
    for (int i = 0; i < 3; i++) {
        free(answers[i]);
    }
    free(t.data);
}

/* ---- arguments ---- */

static void test_calls__no_name_no_repository_no_out__refused(void **state)
{
    (void)state;
    struct api_fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    api_fixture_open(&f);
    assert_fails(grebe_vdb_get(f.vdb, NULL, NULL, NULL, &r, &err), GREBE_EINVAL, "name");
    assert_fails(grebe_vdb_count(NULL, "c", NULL, NULL, &r, &err), GREBE_EINVAL, "vdb");
    assert_fails(grebe_vdb_delete(NULL, "c", NULL, NULL, &r, &err), GREBE_EINVAL, "vdb");
    assert_fails(grebe_vdb_describe(f.vdb, NULL, &err), GREBE_EINVAL, "out");
    assert_fails(grebe_vdb_list(NULL, &r, &err), GREBE_EINVAL, "vdb");
    assert_fails(grebe_vdb_info(f.vdb, NULL, NULL, &r, &err), GREBE_EINVAL, "name");
    assert_fails(grebe_vdb_drop(f.vdb, NULL, &r, &err), GREBE_EINVAL, "name");
    assert_fails(grebe_vdb_copy(f.vdb, "c", NULL, NULL, &r, &err), GREBE_EINVAL, "to");
    assert_fails(grebe_vdb_rename(f.vdb, "c", NULL, &r, &err), GREBE_EINVAL, "to");
    assert_fails(grebe_vdb_push(f.vdb, "c", NULL, &r, &err), GREBE_EINVAL, "remote");
    assert_fails(grebe_vdb_pull(f.vdb, "c", NULL, &r, &err), GREBE_EINVAL, "remote");
    assert_fails(grebe_vdb_history(f.vdb, NULL, 1, &r, &err), GREBE_EINVAL, "name");
    assert_fails(grebe_vdb_restore(f.vdb, "c", NULL, &r, &err), GREBE_EINVAL, "revision");
    assert_fails(grebe_vdb_gc(NULL, 0, &r, &err), GREBE_EINVAL, "vdb");
    assert_fails(grebe_vdb_doctor(NULL, &r, &err), GREBE_EINVAL, "vdb");
    assert_null(r);
    api_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocation__each_fails__all_or_nothing),
        cmocka_unit_test(test_full_disk__any_size__old_state_stays),
        cmocka_unit_test(test_closed_folder__reads_work_writes_say_so),
        cmocka_unit_test(test_merge__conflicts__listed_or_decided),
        cmocka_unit_test(test_merge__other_points__no_conflict),
        cmocka_unit_test(test_merge__one_side_only__no_commit),
        cmocka_unit_test(test_rows__any_result__and_no_memory_at_any_place),
        cmocka_unit_test(test_batches_and_threads__same_root_same_answers),
        cmocka_unit_test(test_calls__no_name_no_repository_no_out__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
