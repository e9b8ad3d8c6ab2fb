/* SPDX-License-Identifier: Apache-2.0 */
#include "table_fixture.h"

#include <regex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table/version.h"

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
};

static int set_up(void **state)
{
    struct fixture *f = malloc(sizeof *f);
    grebe_error err = GREBE_ERROR_INIT;
    f->ctx = fixture_context(NULL);
    assert_ok(io_memory_new(f->ctx, &f->store, &err));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    io_store_free(f->store);
    grebe_context_free(f->ctx);
    free(f);
    return 0;
}

static grebe_table *create(struct fixture *f, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    assert_ok(create_in(f->store, "t", n, NULL, &t, &err));
    return t;
}

static grebe_txn *begin_as(const grebe_table *t, int32_t on_conflict, int32_t retries)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    grebe_txn *x = NULL;
    o.on_conflict = on_conflict;
    o.retries_max = retries;
    o.is_not_durable = true;
    assert_ok(grebe_txn_new(t, &o, &x, &err));
    return x;
}

static grebe_txn *begin(const grebe_table *t) { return begin_as(t, 0, -1); }

static grebe_table *commit(grebe_txn *x)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = NULL;
    int64_t version = 0;
    assert_ok(grebe_txn_commit(x, &version, &t, &err));
    assert_int_equal(grebe_table_version(t), version);
    grebe_txn_free(x);
    return t;
}

static grebe_table *reopen(struct fixture *f, int64_t version)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_table *t = NULL;
    o.version = version;
    assert_ok(table_open_in(f->store, "t", &o, &t, &err));
    return t;
}

static grebe_table_info *info_of(const grebe_table *t)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table_info *info = NULL;
    assert_ok(grebe_table_info_get(t, &info, &err));
    return info;
}

static void assert_sound(const grebe_table *t)
{
    grebe_error err = GREBE_ERROR_INIT;
    size_t n = 0;
    assert_ok(grebe_table_check(t, NULL, &n, &err));
    assert_int_equal(n, 0);
}

static void add_column(grebe_txn *x, const char *name, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows;
    struct column_spec spec = { name, "id" };
    rows_of(&spec, 1, 0, n, 1000, &rows);
    assert_ok(grebe_txn_add_columns(x, &rows, 0, INT64_MAX, NULL, &err));
}

static bool has_column(const grebe_table *t, const char *name)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowSchema s;
    int at = 0;
    assert_ok(grebe_table_schema(t, &s, &err));
    bool found = schema_find(&s, name, &at, NULL) == GREBE_OK;
    schema_release(&s);
    return found;
}

/* ---- create and append ---- */

static void test_create__rows__version_1_and_default_groups(void **state)
{
    struct fixture *f = *state;
    grebe_table *t = create(f, 120);
    assert_int_equal(grebe_table_version(t), 1);
    assert_int_equal(grebe_table_num_rows(t), 120);
    assert_ids(t, 120);
    assert_sound(t);
    grebe_table_info *info = info_of(t);
    assert_int_equal(info->n_groups, 2); /* scalars; the vector */
    assert_int_equal(info->groups[0].n_columns, 2);
    assert_string_equal(info->groups[1].columns[0], "v");
    assert_true(info->has_stored_schema);
    assert_int_equal(info->next_row_id, 120);
    regex_t name;
    assert_int_equal(regcomp(&name, "/[0-9]+_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}"
                                    "-[0-9a-f]{12}\\.parquet$", REG_EXTENDED | REG_NOSUB), 0);
    for (size_t g = 0; g < 2; g++) {
        struct io_info file;
        grebe_error err = GREBE_ERROR_INIT;
        const grebe_file_info *entry = &info->groups[g].files[0];
        assert_int_equal(regexec(&name, entry->path, 0, NULL, 0), 0);
        assert_ok(io_stat(f->store, entry->path, &file, &err));
        assert_int_equal(file.id.size_bytes, entry->size_bytes);
        assert_int_equal(entry->row_end, 120);
    }
    regfree(&name);
    grebe_table_info_free(info);
    grebe_table_close(t);
}

static void test_create__again__exists(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 5);
    grebe_table *second = NULL;
    size_t n_data = count_names(f->store, "t/_data").n_others;
    assert_fails(create_in(f->store, "t", 5, NULL, &second, &err), GREBE_EEXISTS, "version 1");
    assert_int_equal(count_names(f->store, "t/_data").n_others, n_data);
    grebe_table_close(t);
}

static void test_create__no_rows__schema_kept(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 0);
    grebe_table *more = NULL;
    assert_int_equal(grebe_table_num_rows(t), 0);
    assert_true(has_column(t, "v"));
    assert_ids(t, 0);
    assert_ok(append_to(t, 0, 30, 0, &more, &err));
    assert_ids(more, 30);
    assert_sound(more);
    grebe_table_close(more);
    grebe_table_close(t);
}

static void test_create__groups_named__as_named(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const char *const first[] = { "v", "id" };
    grebe_group_spec group = { first, 2 };
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    grebe_table *t = NULL;
    w.groups = &group;
    w.n_groups = 1;
    assert_ok(create_in(f->store, "t", 10, &w, &t, &err));
    grebe_table_info *info = info_of(t);
    assert_int_equal(info->n_groups, 2);
    assert_int_equal(info->groups[0].n_columns, 2);
    assert_string_equal(info->groups[1].columns[0], "name");
    grebe_table_info_free(info);
    grebe_table_close(t);
    static const char *const unknown[] = { "nmae" };
    group = (grebe_group_spec){ unknown, 1 };
    assert_fails(create_in(f->store, "u", 10, &w, &t, &err), GREBE_ENOTFOUND, "name");
    w = (grebe_write_options)GREBE_WRITE_OPTIONS_INIT;
    w.is_single_group = true;
    assert_ok(create_in(f->store, "w", 10, &w, &t, &err));
    info = info_of(t);
    assert_int_equal(info->n_groups, 1);
    grebe_table_info_free(info);
    grebe_table_close(t);
}

static void test_create__profile_milvus__reference_shapes(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    grebe_table *t = NULL;
    w.profile = GREBE_PROFILE_MILVUS;
    assert_ok(create_in(f->store, "t", 10, &w, &t, &err));
    grebe_table_info *info = info_of(t);
    assert_int_equal(info->n_groups, 1);
    assert_int_equal(info->n_stats, 0);
    assert_false(info->has_stored_schema);
    grebe_table_info_free(info);
    struct region *bytes = NULL;
    struct io_identity id;
    assert_ok(io_read_all(f->store, "t/_metadata/manifest-1.avro", 1 << 20, &bytes, &id, &err));
    assert_int_equal(bytes->data[4], 4); /* two header entries, none of ours */
    for (size_t i = 0; i + 5 <= bytes->len; i++) {
        assert_memory_not_equal(bytes->data + i, "grebe", 5);
    }
    region_drop(bytes);
    assert_ids(t, 10);
    grebe_table_close(t);
}

static void test_append__twice__versions_in_turn_and_old_files_unchanged(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t1 = create(f, 100);
    struct region *before = NULL;
    struct region *after = NULL;
    struct io_identity id;
    assert_ok(io_read_all(f->store, "t/_metadata/manifest-1.avro", 1 << 20, &before, &id, &err));
    grebe_table *t2 = NULL;
    grebe_table *t3 = NULL;
    assert_ok(append_to(t1, 100, 1, 0, &t2, &err));
    assert_ok(append_to(t2, 101, 63, 0, &t3, &err));
    assert_int_equal(grebe_table_version(t3), 3);
    assert_ids(t3, 164);
    assert_int_equal(grebe_table_next_row_id(t3), 164);
    assert_sound(t3);
    assert_ok(io_read_all(f->store, "t/_metadata/manifest-1.avro", 1 << 20, &after, &id, &err));
    assert_int_equal(before->len, after->len);
    assert_memory_equal(before->data, after->data, before->len);
    grebe_table *old = reopen(f, 1);
    assert_ids(old, 100);
    grebe_table_close(old);
    region_drop(before);
    region_drop(after);
    grebe_table_close(t1);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_append__columns_by_name__missing_null_widened_or_refused(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 10);
    struct ArrowArrayStream rows;
    static const struct column_spec fine[] = { { "v", "v" }, { "id", "id" } };
    static const struct column_spec no_id[] = { { "name", "name" }, { "v", "v" } };
    static const struct column_spec extra[] = { { "id", "id" }, { "v", "v" }, { "x", "id" } };
    static const struct column_spec other[] = { { "id", "name" }, { "v", "v" } };
    grebe_txn *x = begin(t);
    rows_of(fine, 2, 10, 5, 5, &rows);
    assert_ok(grebe_txn_append(x, &rows, NULL, &err));
    rows_of(no_id, 2, 10, 5, 5, &rows);
    assert_fails(grebe_txn_append(x, &rows, NULL, &err), GREBE_ESCHEMA, "\"id\"");
    rows_of(extra, 3, 10, 5, 5, &rows);
    assert_fails(grebe_txn_append(x, &rows, NULL, &err), GREBE_ESCHEMA, "\"x\"");
    rows_of(other, 2, 10, 5, 5, &rows);
    assert_fails(grebe_txn_append(x, &rows, NULL, &err), GREBE_ESCHEMA, "expected int64, found string");
    grebe_table *t2 = commit(x);
    assert_ids(t2, 15);
    assert_int_equal(count_names(f->store, "t/_data").n_others, 4); /* nothing of the refused ones */
    struct ArrowArray got;
    int64_t ids[] = { 12 };
    assert_ok(grebe_table_take(t2, ids, 1, NULL, &got, NULL, &err));
    assert_true(array_is_null(got.children[1], 0));
    array_release(&got);
    grebe_table_close(t);
    grebe_table_close(t2);
}

/* ---- transactions ---- */

static void test_commit__nothing_recorded__invalid_and_no_file(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_txn *x = begin(t);
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_EINVAL, "nothing");
    grebe_txn_free(x);
    assert_int_equal(count_names(f->store, "t/_metadata").n_manifests, 1);
    grebe_table_close(t);
}

static void test_commit__two_with_fail__one_conflicts(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_table *won = NULL;
    grebe_table *lost = NULL;
    struct ArrowArrayStream rows;
    grebe_txn *x = begin_as(t, GREBE_ON_CONFLICT_FAIL, -1);
    rows_stream(3, 2, &rows);
    assert_ok(grebe_txn_append(x, &rows, NULL, &err));
    assert_ok(append_to(t, 3, 2, GREBE_ON_CONFLICT_FAIL, &won, &err));
    assert_int_equal(count_names(f->store, "t/_data").n_others, 6);
    assert_fails(grebe_txn_commit(x, NULL, &lost, &err), GREBE_ECONFLICT, "changed since version 1");
    assert_true(err.flags & GREBE_ERROR_HAS_VERSIONS);
    assert_int_equal(err.read_version, 1);
    assert_int_equal(err.latest_version, 2);
    grebe_txn_free(x);
    assert_int_equal(count_names(f->store, "t/_data").n_others, 4); /* its files are gone */
    assert_int_equal(count_names(f->store, "t/_metadata").n_manifests, 2);
    grebe_table_close(won);
    grebe_table_close(t);
}

static void test_commit__existing_files_after_a_conflict__stay_and_commit_anew(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 4);
    grebe_table *t2 = NULL;
    grebe_table_info *info = info_of(t);
    grebe_group groups[2];
    grebe_group_file files[2];
    for (size_t g = 0; g < 2; g++) { /* the table's own files once more, rows [1, 3) */
        files[g] = (grebe_group_file){ info->groups[g].files[0].path, 1, 3, NULL, 0 };
        groups[g] = (grebe_group){ info->groups[g].columns, info->groups[g].n_columns, "parquet",
                                   &files[g], 1 };
    }
    grebe_txn *x = begin_as(t, GREBE_ON_CONFLICT_FAIL, -1);
    assert_ok(grebe_txn_append_files(x, groups, 2, &err));
    assert_ok(append_to(t, 4, 1, GREBE_ON_CONFLICT_FAIL, &t2, &err));
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "");
    grebe_txn_free(x);
    x = begin_as(t2, GREBE_ON_CONFLICT_FAIL, -1);
    assert_ok(grebe_txn_append_files(x, groups, 2, &err));
    grebe_table *t3 = commit(x);
    int64_t n = 0;
    int64_t *ids = all_ids(t3, &n);
    static const int64_t expected[] = { 0, 1, 2, 3, 4, 1, 2 };
    assert_int_equal(n, 7);
    assert_memory_equal(ids, expected, sizeof expected);
    free(ids);
    grebe_table_info_free(info);
    info = info_of(t3); /* stored as bare names, so that the table can move */
    assert_string_equal(info->groups[0].files[2].path, info->groups[0].files[0].path);
    grebe_table_info_free(info);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_commit__rebase__appends_commute(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_table *t2 = NULL;
    grebe_table *t3 = NULL;
    assert_ok(append_to(t, 3, 2, 0, &t2, &err));
    assert_ok(append_to(t, 5, 2, 0, &t3, &err)); /* begun at version 1 */
    assert_int_equal(grebe_table_version(t3), 3);
    assert_ids(t3, 7);
    assert_int_equal(grebe_table_next_row_id(t3), 7);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_commit__rebase__what_does_not_commute_conflicts(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_table *t2 = NULL;
    grebe_property one = { "k", "1" };
    grebe_property two = { "k", "2" };
    /* new column against appended rows */
    grebe_txn *x = begin(t);
    add_column(x, "score", 3);
    assert_ok(append_to(t, 3, 2, 0, &t2, &err));
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "5 meanwhile");
    assert_int_equal(err.latest_version, 2);
    grebe_txn_free(x);
    /* rows against a new column */
    struct ArrowArrayStream rows;
    x = begin(t2);
    rows_stream(5, 1, &rows);
    assert_ok(grebe_txn_append(x, &rows, NULL, &err));
    grebe_txn *y = begin(t2);
    add_column(y, "score", 5);
    grebe_table *t3 = commit(y);
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "columns");
    grebe_txn_free(x);
    /* the same column twice */
    x = begin(t2);
    add_column(x, "score", 5);
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "score");
    grebe_txn_free(x);
    /* the same statistics twice */
    x = begin(t3);
    y = begin(t3);
    assert_ok(grebe_txn_set_stat(x, "s", NULL, 0, &one, 1, &err));
    assert_ok(grebe_txn_set_stat(y, "s", NULL, 0, &two, 1, &err));
    grebe_table *t4 = commit(x);
    assert_fails(grebe_txn_commit(y, NULL, NULL, &err), GREBE_ECONFLICT, "statistics");
    grebe_txn_free(y);
    /* an index against the drop of its column */
    x = begin(t4);
    y = begin(t4);
    grebe_index index = { .column_name = "name", .index_type = "inverted", .path = "t/_index/i" };
    assert_ok(grebe_txn_add_index(x, &index, &err));
    assert_ok(grebe_txn_drop_column(y, "name", &err));
    grebe_table_close(commit(y));
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "dropped meanwhile");
    grebe_txn_free(x);
    grebe_table_close(t4);
    t4 = reopen(f, -1);
    /* rename against drop */
    x = begin(t4);
    y = begin(t4);
    assert_ok(grebe_txn_rename_column(x, "score", "points", &err));
    assert_ok(grebe_txn_drop_column(y, "score", &err));
    grebe_table *t5 = commit(y);
    assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "score");
    grebe_txn_free(x);
    assert_sound(t5);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
    grebe_table_close(t4);
    grebe_table_close(t5);
}

static void test_commit__rebase__independent_changes_all_arrive(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_property one = { "k", "1" };
    grebe_txn *x[6];
    for (size_t i = 0; i < 6; i++) {
        x[i] = begin(t);
    }
    add_column(x[0], "a", 3);
    add_column(x[1], "b", 3);
    assert_ok(grebe_txn_drop_column(x[2], "name", &err));
    assert_ok(grebe_txn_set_stat(x[3], "s", NULL, 0, &one, 1, &err));
    assert_ok(grebe_txn_add_delta_log(x[4], "t/_delta/7", 0, 1, &err));
    assert_ok(grebe_txn_rename_column(x[5], "id", "key", &err));
    for (size_t i = 0; i < 6; i++) {
        grebe_table_close(commit(x[i]));
    }
    grebe_table *last = reopen(f, -1);
    assert_int_equal(grebe_table_version(last), 7);
    assert_true(has_column(last, "a") && has_column(last, "b") && has_column(last, "key"));
    assert_false(has_column(last, "name") || has_column(last, "id"));
    grebe_table_info *info = info_of(last);
    assert_int_equal(info->n_delta_logs, 1);
    assert_string_equal(info->delta_logs[0].path, "t/_delta/7");
    assert_int_equal(info->n_stats, 3); /* ours and the two of Grebe */
    grebe_table_info_free(info);
    grebe_table_close(last);
    grebe_table_close(t);
}

static void test_commit__overwrite__leaves_the_others_out(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_table *t2 = NULL;
    grebe_table *t3 = NULL;
    assert_ok(append_to(t, 100, 10, 0, &t2, &err));
    assert_ok(append_to(t, 3, 2, GREBE_ON_CONFLICT_OVERWRITE, &t3, &err));
    assert_int_equal(grebe_table_version(t3), 3);
    assert_ids(t3, 5);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

/* A store in which somebody else takes the next version just before each of the first publishes. */
struct race_store {
    struct io_store store;
    struct io_store *inner;
    int n_left;
    bool takes_folders; /* what it takes instead is the empty folder of the file */
};

static struct io_store *inner_of(struct io_store *s) { return ((struct race_store *)s)->inner; }

static grebe_status race_open(struct io_store *s, const char *path, struct io_file **out,
                              grebe_error *err)
{
    return io_open(inner_of(s), path, out, err);
}

static grebe_status race_stat(struct io_store *s, const char *path, struct io_info *out,
                              grebe_error *err)
{
    return io_stat(inner_of(s), path, out, err);
}

static grebe_status race_list(struct io_store *s, const char *path, io_list_fn fn, void *arg,
                              grebe_error *err)
{
    return io_list(inner_of(s), path, fn, arg, err);
}

static grebe_status race_make_folders(struct io_store *s, const char *path, bool is_durable,
                                      grebe_error *err)
{
    return io_make_folders(inner_of(s), path, is_durable, err);
}

static grebe_status race_remove(struct io_store *s, const char *path, grebe_error *err)
{
    return io_remove(inner_of(s), path, err);
}

static grebe_status race_create(struct io_store *s, const char *path, bool is_durable,
                                struct io_writer **out, grebe_error *err)
{
    struct race_store *r = (struct race_store *)s;
    int64_t version = 0;
    if (version_of_name(path_base_name(path), &version) && r->n_left > 0 && !r->takes_folders) {
        grebe_table *t = NULL;
        grebe_table *theirs = NULL;
        r->n_left--;
        assert_int_equal(table_open_in(r->inner, "t", NULL, &t, err), GREBE_OK);
        assert_int_equal(append_to(t, grebe_table_num_rows(t), 1, 0, &theirs, err), GREBE_OK);
        grebe_table_close(theirs);
        grebe_table_close(t);
    }
    if (r->takes_folders && r->n_left > 0) {
        char folder[640];
        snprintf(folder, sizeof folder, "%.*s", (int)(path_base_name(path) - path - 1), path);
        r->n_left -= io_remove(r->inner, folder, NULL) == GREBE_OK;
    }
    return io_create(r->inner, path, is_durable, out, err);
}

static void test_commit__races_lost__retried_up_to_the_limit(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const struct io_store_ops ops = { race_open,   race_stat,   race_list, race_make_folders,
                                             race_remove, race_create, NULL };
    struct race_store race = { { &ops, f->ctx, f->store }, f->store, 3, false };
    grebe_table_close(create(f, 3));
    for (int on_conflict = 0; on_conflict < 3; on_conflict += 2) { /* rebase, overwrite */
        grebe_table *t = NULL;
        grebe_table *mine = NULL;
        int64_t n_rows = 0;
        assert_ok(table_open_in(&race.store, "t", NULL, &t, &err));
        n_rows = grebe_table_num_rows(t);
        struct ArrowArrayStream rows;
        grebe_txn *x = begin_as(t, on_conflict, 0);
        rows_stream(n_rows, 1, &rows);
        assert_ok(grebe_txn_append(x, &rows, NULL, &err));
        race.n_left = 1;
        assert_fails(grebe_txn_commit(x, NULL, NULL, &err), GREBE_ECONFLICT, "retries exhausted");
        grebe_txn_free(x);
        x = begin_as(t, on_conflict, 5);
        rows_stream(n_rows + 4, 1, &rows);
        assert_ok(grebe_txn_append(x, &rows, NULL, &err));
        race.n_left = 3;
        int64_t version = 0;
        assert_ok(grebe_txn_commit(x, &version, &mine, &err));
        assert_int_equal(race.n_left, 0);
        assert_int_equal(version, grebe_table_version(t) + 5); /* 1 + 3 of theirs, mine */
        assert_int_equal(grebe_table_num_rows(mine), on_conflict == 0 ? n_rows + 5 : n_rows + 1);
        grebe_txn_free(x);
        grebe_table_close(mine);
        grebe_table_close(t);
    }
}

/* A writer that fails takes along the folders that it made, which others have seen there. */
static void test_create__empty_folders_vanish__made_again(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    static const struct io_store_ops ops = { race_open,   race_stat,   race_list, race_make_folders,
                                             race_remove, race_create, NULL };
    struct io_store *local = NULL;
    grebe_table *t = NULL;
    char *top = test_folder_new();
    char path[600];
    snprintf(path, sizeof path, "%s/t", top);
    assert_ok(io_local_new(f->ctx, &local, &err));
    struct race_store race = { { &ops, f->ctx, f->store }, local, 1, true };
    assert_ok(create_in(&race.store, path, 3, NULL, &t, &err));
    assert_int_equal(race.n_left, 0);
    assert_ids(t, 3);
    grebe_table_close(t);
    snprintf(path, sizeof path, "%s/u", top);
    race.n_left = 100; /* nobody is that unlucky: it does not go on for ever */
    assert_fails(create_in(&race.store, path, 3, NULL, &t, &err), GREBE_ENOTFOUND, "_data");
    assert_int_equal(access(path, F_OK), -1);
    test_folder_remove(top);
    io_store_free(local);
}

static void test_open__versions__old_missing_and_zero(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 3);
    grebe_table *u = NULL;
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    o.version = 9;
    assert_fails(table_open_in(f->store, "t", &o, &u, &err), GREBE_ENOTFOUND, "9");
    o.version = 0;
    assert_ok(table_open_in(f->store, "t", &o, &u, &err));
    assert_int_equal(grebe_table_num_rows(u), 0);
    grebe_table_close(u);
    o.version = -2;
    assert_fails(table_open_in(f->store, "t", &o, &u, &err), GREBE_EINVAL, "-2");
    assert_fails(table_open_in(f->store, "nowhere", NULL, &u, &err), GREBE_ENOTFOUND, "nowhere");
    grebe_table_close(t);
}

/* ---- columns ---- */

static void test_add_columns__rows_must_match(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 20);
    struct ArrowArrayStream rows;
    struct column_spec spec = { "score", "id" };
    struct column_spec taken = { "id", "id" };
    grebe_txn *x = begin(t);
    rows_of(&spec, 1, 0, 19, 100, &rows);
    assert_fails(grebe_txn_add_columns(x, &rows, 0, INT64_MAX, NULL, &err), GREBE_ESCHEMA,
                 "expected 20 rows as the table has, found 19");
    rows_of(&taken, 1, 0, 20, 100, &rows);
    assert_fails(grebe_txn_add_columns(x, &rows, 0, INT64_MAX, NULL, &err), GREBE_EEXISTS, "id");
    rows_of(&spec, 1, 0, 5, 100, &rows);
    assert_fails(grebe_txn_add_columns(x, &rows, 5, 10, NULL, &err), GREBE_EUNSUPPORTED, "part");
    assert_int_equal(count_names(f->store, "t/_data").n_others, 2);
    add_column(x, "score", 20);
    grebe_table *t2 = commit(x);
    assert_true(has_column(t2, "score"));
    assert_sound(t2);
    grebe_table_info *info = info_of(t2);
    assert_int_equal(info->n_groups, 3);
    assert_string_equal(info->groups[2].columns[0], "score"); /* appended last */
    grebe_table_info_free(info);
    grebe_table_close(t);
    grebe_table_close(t2);
}

static void test_drop_column__emptied_group_and_indexes_go(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_index index = { .column_name = "v", .index_type = "hnsw", .path = "t/_index/x" };
    grebe_txn *x = begin(t);
    assert_ok(grebe_txn_add_index(x, &index, &err));
    index.column_name = "id";
    index.index_type = "bitmap";
    assert_ok(grebe_txn_add_index(x, &index, &err));
    grebe_table *t2 = commit(x);
    x = begin(t2);
    assert_fails(grebe_txn_drop_column(x, "vv", &err), GREBE_ENOTFOUND, "vv");
    assert_ok(grebe_txn_drop_column(x, "v", &err));
    assert_fails(grebe_txn_drop_column(x, "v", &err), GREBE_ENOTFOUND, "v");
    add_column(x, "v", 6); /* replaces the column in one transaction */
    grebe_table *t3 = commit(x);
    grebe_table_info *info = info_of(t3);
    assert_int_equal(info->n_groups, 2);
    assert_int_equal(info->n_indexes, 1);
    assert_string_equal(info->indexes[0].column_name, "id");
    grebe_table_info_free(info);
    assert_true(has_column(t3, "v"));
    assert_ids(t3, 6);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_rename_column__files_stay_and_the_old_name_is_free(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_txn *x = begin(t);
    assert_fails(grebe_txn_rename_column(x, "nam", "label", &err), GREBE_ENOTFOUND, "nam");
    assert_fails(grebe_txn_rename_column(x, "name", "id", &err), GREBE_EEXISTS, "id");
    assert_ok(grebe_txn_rename_column(x, "name", "label", &err));
    grebe_table *t2 = commit(x);
    assert_true(has_column(t2, "label"));
    assert_false(has_column(t2, "name"));
    struct ArrowArray got;
    int64_t ids[] = { 3 };
    static const char *const columns[] = { "label" };
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    o.columns = columns;
    o.n_columns = 1;
    assert_ok(grebe_table_take(t2, ids, 1, &o, &got, NULL, &err));
    assert_false(array_is_null(got.children[0], 0));
    array_release(&got);
    x = begin(t2);
    add_column(x, "name", 6); /* its files need another name for it */
    grebe_table *t3 = commit(x);
    assert_true(has_column(t3, "label") && has_column(t3, "name"));
    assert_sound(t3);
    static const struct column_spec specs[] = {
        { "id", "id" }, { "label", "name" }, { "v", "v" }, { "name", "id" }
    };
    struct ArrowArrayStream rows;
    rows_of(specs, 4, 6, 3, 100, &rows);
    x = begin(t3);
    assert_ok(grebe_txn_append(x, &rows, NULL, &err));
    grebe_table *t4 = commit(x);
    assert_ids(t4, 9);
    assert_sound(t4);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
    grebe_table_close(t4);
}

/* Two new columns, the values of the first being "name_…" and those of the second numbers. */
static grebe_table *rename_and_add(struct fixture *f, const char *first, const char *second,
                                   bool is_single_group)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    grebe_group_spec groups[] = { { .columns = &first, .n_columns = 1 },
                                  { .columns = &second, .n_columns = 1 } };
    const struct column_spec specs[] = { { first, "name" }, { second, "id" } };
    struct ArrowArrayStream rows;
    grebe_table *t = create(f, 6);
    grebe_txn *x = begin(t);
    assert_ok(grebe_txn_rename_column(x, "name", "label", &err));
    grebe_table *renamed = commit(x);
    rows_of(specs, 2, 0, 6, 100, &rows);
    w.is_single_group = is_single_group;
    w.groups = is_single_group ? NULL : groups;
    w.n_groups = is_single_group ? 0 : 2;
    x = begin(renamed);
    assert_ok(grebe_txn_add_columns(x, &rows, 0, INT64_MAX, &w, &err));
    grebe_table *added = commit(x);
    grebe_table_close(t);
    grebe_table_close(renamed);
    return added;
}

static void test_add_columns__names_like_those_in_files__no_column_lost(void **state)
{
    static const char *const orders[][2] = { { "name", "name.2" }, { "name.2", "name" } };
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct fixture *f = NULL;
        const char *const *names = orders[i % 2];
        struct ArrowArrayStream stream;
        struct ArrowArray b;
        grebe_error err = GREBE_ERROR_INIT;
        grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
        assert_int_equal(set_up((void **)&f), 0);
        grebe_table *t = rename_and_add(f, names[0], names[1], i < 2);
        o.columns = names;
        o.n_columns = 2;
        assert_sound(t);
        assert_ok(grebe_table_scan(t, &o, &stream, &err));
        assert_ok(stream_next(&stream, &b, &err));
        assert_int_equal(b.length, 6);
        assert_memory_equal(b.children[0]->buffers[2], "name_0name_1", 12);
        assert_int_equal(((const int64_t *)b.children[1]->buffers[1])[5], 5);
        array_release(&b);
        stream_release(&stream);
        grebe_table_close(t);
        assert_int_equal(tear_down((void **)&f), 0);
    }
}

/* Two writers rename and add at once: what each calls its column in files was free when it began. */
static void test_add_columns__file_name_taken_meanwhile__conflict_says_so(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_txn *x = begin(t);
    assert_ok(grebe_txn_rename_column(x, "name", "label", &err));
    grebe_table *t2 = commit(x);
    grebe_txn *late = begin(t2);
    add_column(late, "name", 6); /* "name.2" in files */
    x = begin(t2);
    add_column(x, "name.2", 6);
    grebe_table *t3 = commit(x);
    assert_fails(grebe_txn_commit(late, NULL, NULL, &err), GREBE_ECONFLICT,
                 "\"name\" is called \"name.2\" in its files, as another column");
    grebe_txn_free(late);
    assert_sound(t3);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_drop_column__what_follows_counts_on_it__refused_at_once(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
    grebe_table *t = create(f, 6);
    grebe_txn *x = begin(t);
    assert_ok(grebe_txn_rename_column(x, "name", "label", &err));
    assert_fails(grebe_txn_drop_column(x, "name", &err), GREBE_ENOTFOUND, "not there any more");
    assert_fails(grebe_txn_drop_column(x, "label", &err), GREBE_ENOTFOUND, "label");
    assert_ok(grebe_txn_drop_column(x, "id", &err));
    grebe_table *t2 = commit(x);
    assert_true(has_column(t2, "label") && !has_column(t2, "name") && !has_column(t2, "id"));
    x = begin(t);
    rows_stream(6, 3, &rows);
    assert_ok(grebe_txn_append(x, &rows, NULL, &err));
    assert_fails(grebe_txn_drop_column(x, "v", &err), GREBE_EINVAL, "drops come before rows");
    grebe_txn_free(x);
    x = begin(t);
    assert_ok(grebe_table_schema(t, &schema, &err));
    assert_ok(grebe_txn_set_schema(x, &schema, &err));
    assert_fails(grebe_txn_drop_column(x, "v", &err), GREBE_EINVAL, "drops come before a schema");
    schema_release(&schema);
    grebe_txn_free(x);
    grebe_table_close(t);
    grebe_table_close(t2);
}

static void test_drop_column__all_of_them__rows_that_follow_are_new(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_table *t3 = NULL;
    struct ArrowArray got;
    static const char *const names[] = { "id", "name", "v" };
    static const int64_t gone[] = { 5 };
    static const int64_t there[] = { 9, 6 };
    grebe_txn *x = begin(t);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(grebe_txn_drop_column(x, names[i], &err));
    }
    grebe_table *t2 = commit(x);
    assert_int_equal(grebe_table_num_rows(t2), 0);
    assert_int_equal(grebe_table_next_row_id(t2), 6);
    assert_ok(append_to(t2, 0, 4, 0, &t3, &err));
    assert_ids(t3, 4);
    assert_int_equal(grebe_table_next_row_id(t3), 10);
    assert_fails(grebe_table_take(t3, gone, 1, NULL, &got, NULL, &err), GREBE_ENOTFOUND, "deleted");
    assert_ok(grebe_table_take(t3, there, 2, NULL, &got, NULL, &err));
    assert_int_equal(((const int64_t *)got.children[0]->buffers[1])[got.children[0]->offset], 3);
    array_release(&got);
    x = begin(t3); /* and all at once */
    for (size_t i = 0; i < 3; i++) {
        assert_ok(grebe_txn_drop_column(x, names[i], &err));
    }
    add_column(x, "id", 7);
    grebe_table *t4 = commit(x);
    assert_ids(t4, 7);
    assert_int_equal(grebe_table_next_row_id(t4), 17);
    assert_sound(t4);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
    grebe_table_close(t4);
}

/* ---- entries ---- */

static void test_append_files__layout__checked(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_table_info *info = info_of(t);
    grebe_group_file a = { info->groups[0].files[0].path, 0, 6, NULL, 0 };
    grebe_group_file b = { info->groups[1].files[0].path, 0, 6, NULL, 0 };
    static const char *const permuted[] = { "name", "id" };
    static const char *const short_list[] = { "id" };
    static const char *const v[] = { "v" };
    grebe_group fine[2] = { { permuted, 2, "parquet", &a, 1 }, { v, 1, "parquet", &b, 1 } };
    grebe_group one[1] = { fine[0] };
    grebe_group columns[2] = { { short_list, 1, "parquet", &a, 1 }, fine[1] };
    grebe_group format[2] = { fine[0], { v, 1, "vortex", &b, 1 } };
    grebe_txn *x = begin(t);
    assert_fails(grebe_txn_append_files(x, one, 1, &err), GREBE_ESCHEMA, "2 column groups");
    assert_fails(grebe_txn_append_files(x, columns, 2, &err), GREBE_ESCHEMA, "group 0");
    assert_fails(grebe_txn_append_files(x, format, 2, &err), GREBE_ESCHEMA, "vortex");
    b.row_end = 5;
    assert_fails(grebe_txn_append_files(x, fine, 2, &err), GREBE_ESCHEMA, "rows");
    b.row_end = 6;
    a.row_begin = -1;
    assert_fails(grebe_txn_append_files(x, fine, 2, &err), GREBE_EINVAL, "-1");
    a.row_begin = 0;
    assert_ok(grebe_txn_append_files(x, fine, 2, &err));
    grebe_table *t2 = commit(x);
    assert_int_equal(grebe_table_num_rows(t2), 12);
    grebe_table_info_free(info);
    info = info_of(t2);
    assert_string_equal(info->groups[0].columns[0], "id"); /* the base's order is kept */
    grebe_table_info_free(info);
    assert_sound(t2);
    grebe_table_close(t);
    grebe_table_close(t2);
}

static void test_append__indexes__dropped_unless_added_with_it(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_index index = { .column_name = "v", .index_type = "hnsw", .path = "t/_index/x",
                          .index_id = 5 };
    grebe_txn *x = begin(t);
    assert_ok(grebe_txn_add_index(x, &index, &err));
    grebe_table *t2 = commit(x);
    x = begin(t2);
    index.index_id = 6;
    assert_ok(grebe_txn_add_index(x, &index, &err)); /* before the append: order does not matter */
    struct ArrowArrayStream rows;
    rows_stream(6, 2, &rows);
    assert_ok(grebe_txn_append(x, &rows, NULL, &err));
    grebe_table *t3 = commit(x);
    grebe_table_info *info = info_of(t3);
    assert_int_equal(info->n_indexes, 1);
    assert_int_equal(info->indexes[0].index_id, 6);
    grebe_table_info_free(info);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_indexes__identity__by_id_or_by_column_and_type(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_txn *x = begin(t);
    const struct { int64_t id; const char *type; const char *name; } steps[] = {
        { 1, "hnsw", "a" }, { 2, "hnsw", "b" }, { 1, "ivf", "c" },
        { 0, "flat", "d" }, { 0, "flat", "e" }, { 3, "flat", "f" },
    };
    for (size_t i = 0; i < 6; i++) {
        grebe_index index = { .column_name = "v", .index_type = steps[i].type,
                              .index_name = steps[i].name, .path = "t/_index/x",
                              .index_id = steps[i].id };
        assert_ok(grebe_txn_add_index(x, &index, &err));
    }
    grebe_table *t2 = commit(x);
    grebe_table_info *info = info_of(t2);
    static const char *const expected[] = { "b", "c", "e", "f" };
    assert_int_equal(info->n_indexes, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(info->indexes[i].index_name, expected[i]);
    }
    grebe_table_info_free(info);
    x = begin(t2);
    assert_int_equal(grebe_txn_drop_index(x, 0, &err), GREBE_EINVAL);
    assert_ok(grebe_txn_drop_index(x, 2, &err));
    grebe_table *t3 = commit(x);
    info = info_of(t3);
    assert_int_equal(info->n_indexes, 3);
    grebe_table_info_free(info);
    grebe_table_close(t);
    grebe_table_close(t2);
    grebe_table_close(t3);
}

static void test_stats_deltas_lobs__kept_in_their_order(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_txn *x = begin(t);
    static const char *const paths[] = { "t/_stats/bm25.101/7", "t/_stats/bm25.101/8" };
    grebe_property old = { "k", "old" };
    grebe_property now[] = { { "z", "1" }, { "k", "new" } };
    assert_ok(grebe_txn_set_stat(x, "z.9", paths, 2, &old, 1, &err));
    assert_ok(grebe_txn_set_stat(x, "a.1", paths, 1, &old, 1, &err));
    assert_ok(grebe_txn_set_stat(x, "z.9", paths, 1, now, 2, &err));
    assert_fails(grebe_txn_set_stat(x, "grebe.schema", NULL, 0, &old, 1, &err), GREBE_EINVAL,
                 "reserved");
    assert_ok(grebe_txn_add_delta_log(x, "t/_delta/b", 2, INT64_C(1) << 40, &err));
    assert_ok(grebe_txn_add_delta_log(x, "t/_delta/a", 0, 5, &err));
    assert_ok(grebe_txn_add_lob_file(x, "lobs/7/_data/u.vx", 7, 10, 9, 4096, &err));
    grebe_table *t2 = commit(x);
    grebe_table_info *info = info_of(t2);
    assert_int_equal(info->n_stats, 4);
    assert_string_equal(info->stats[0].key, "a.1");
    assert_string_equal(info->stats[1].key, "grebe.rowids");
    assert_string_equal(info->stats[3].key, "z.9");
    assert_int_equal(info->stats[3].n_paths, 1);
    assert_string_equal(info->stats[3].paths[0], "bm25.101/7");
    assert_string_equal(info->stats[3].metadata_keys[0], "k");
    assert_string_equal(info->stats[3].metadata_values[0], "new");
    assert_int_equal(info->n_delta_logs, 2);
    assert_string_equal(info->delta_logs[0].path, "t/_delta/b");
    assert_int_equal(info->delta_logs[0].type, 2);
    assert_int_equal(info->delta_logs[0].n_entries, INT64_C(1) << 40);
    grebe_table_info_free(info);
    const struct manifest_lob *lob = manifest_lob_at(&t2->snapshot->manifest, 0);
    assert_string_equal(lob->path.data, "7/_data/u.vx");
    assert_int_equal(lob->valid_rows, 9);
    grebe_table_close(t);
    grebe_table_close(t2);
}

/* ---- tags, times, log ---- */

static void test_tags__made_once_and_opened_by_name(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_table *t2 = NULL;
    grebe_table *u = NULL;
    grebe_tag_list *tags = NULL;
    assert_ok(append_to(t, 6, 1, 0, &t2, &err));
    assert_ok(grebe_table_tag(t2, "first", 1, "the \"first\" one", &err));
    assert_ok(grebe_table_tag(t2, "erste-f\xc3\xa4hre", GREBE_VERSION_LATEST, NULL, &err));
    assert_fails(grebe_table_tag(t2, "first", 2, NULL, &err), GREBE_EEXISTS, "first");
    assert_fails(grebe_table_tag(t2, "none", 7, NULL, &err), GREBE_ENOTFOUND, "7");
    static const char *const bad[] = { "", "a/b", "a@b", "12", ".x", "a\nb", "\xff" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(grebe_table_tag(t2, bad[i], 1, NULL, &err), GREBE_EINVAL);
    }
    assert_ok(grebe_table_tags(t2, &tags, &err));
    assert_int_equal(tags->n, 2);
    assert_string_equal(tags->tags[1].name, "first");
    assert_string_equal(tags->tags[1].message, "the \"first\" one");
    assert_int_equal(tags->tags[0].version, 2);
    grebe_tag_list_free(tags);
    assert_ok(table_open_in(f->store, "t@first", NULL, &u, &err));
    assert_int_equal(grebe_table_version(u), 1);
    assert_string_equal(grebe_table_path(u), "t");
    grebe_table_close(u);
    assert_ok(table_open_in(f->store, "t@2", NULL, &u, &err));
    assert_int_equal(grebe_table_version(u), 2);
    grebe_table_close(u);
    assert_ok(table_open_in(f->store, "t@2999-01-01T00:00:00Z", NULL, &u, &err));
    assert_int_equal(grebe_table_version(u), 2);
    grebe_table_close(u);
    assert_fails(table_open_in(f->store, "t@1999-01-01", NULL, &u, &err), GREBE_ENOTFOUND, "1999");
    assert_fails(table_open_in(f->store, "t@nothing", NULL, &u, &err), GREBE_ENOTFOUND, "nothing");
    assert_ok(create_in(f->store, "t@5", 4, NULL, &u, &err)); /* a folder of that name comes first */
    grebe_table_close(u);
    assert_ok(table_open_in(f->store, "t@5", NULL, &u, &err));
    assert_int_equal(grebe_table_num_rows(u), 4);
    grebe_table_close(u);
    assert_ok(grebe_table_tag_delete(t2, "first", &err));
    assert_fails(grebe_table_tag_delete(t2, "first", &err), GREBE_ENOTFOUND, "first");
    grebe_table_close(t);
    grebe_table_close(t2);
}

static void test_log__operations_messages_rows(void **state)
{
    struct fixture *f = *state;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_table *t = create(f, 6);
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    grebe_txn *x = NULL;
    grebe_log *log = NULL;
    o.message = "scores for all";
    assert_ok(grebe_txn_new(t, &o, &x, &err));
    add_column(x, "score", 6);
    assert_ok(grebe_txn_drop_column(x, "name", &err));
    grebe_table *t2 = commit(x);
    assert_ok(grebe_table_log(t2, 0, &log, &err));
    assert_int_equal(log->n, 2);
    assert_string_equal(log->entries[0].operation, "add-column+drop-column");
    assert_string_equal(log->entries[0].message, "scores for all");
    assert_int_equal(log->entries[0].n_rows, 6);
    assert_int_equal(log->entries[0].n_files, 3);
    assert_string_equal(log->entries[1].operation, "create");
    assert_false(log->entries[1].is_time_of_file);
    assert_int_equal(strncmp(log->entries[1].writer, "grebe ", 6), 0);
    grebe_log_free(log);
    grebe_table_close(t);
    grebe_table_close(t2);
}

static void test_versions__odd_names__ignored(void **state)
{
    (void)state;
    int64_t v = 0;
    assert_true(version_of_name("manifest-10.avro", &v) && v == 10);
    assert_true(version_of_name("manifest-9223372036854775807.avro", &v) && v == INT64_MAX);
    static const char *const odd[] = { "manifest-x.avro", "manifest-.avro", "foo",
                                       "manifest-007.avro", "manifest-0.avro", "manifest-7.tmp1",
                                       "manifest-9223372036854775808.avro", "manifest--1.avro",
                                       "manifest-1.avro~", ".tmp-1-manifest-1.avro" };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_false(version_of_name(odd[i], &v));
    }
}

static void test_times__text_and_back(void **state)
{
    (void)state;
    char text[TIME_TEXT_LEN];
    int64_t us = 0;
    static const char *const same[] = { "1970-01-01T00:00:00Z", "2026-11-29T12:00:00.000001Z",
                                        "1969-12-31T23:59:59.999999Z", "2024-02-29T23:59:59Z" };
    for (size_t i = 0; i < 4; i++) {
        assert_true(time_parse(same[i], &us));
        time_print(text, us);
        assert_string_equal(text, same[i]);
    }
    assert_true(time_parse("2026-11-29T14:00:00+02:00", &us));
    time_print(text, us);
    assert_string_equal(text, "2026-11-29T12:00:00Z");
    assert_true(time_parse("2026-11-29", &us));
    static const char *const bad[] = { "", "2026", "2026-13-01", "2026-02-30", "2026-11-29T25:00:00Z",
                                       "2026-11-29T12:00Z", "2026-11-29T12:00:00.Z", "2026-11-29x" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(time_parse(bad[i], &us));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_create__rows__version_1_and_default_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create__again__exists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create__no_rows__schema_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create__groups_named__as_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create__profile_milvus__reference_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append__twice__versions_in_turn_and_old_files_unchanged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append__columns_by_name__missing_null_widened_or_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__nothing_recorded__invalid_and_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__two_with_fail__one_conflicts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__existing_files_after_a_conflict__stay_and_commit_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__rebase__appends_commute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__rebase__what_does_not_commute_conflicts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__rebase__independent_changes_all_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__overwrite__leaves_the_others_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit__races_lost__retried_up_to_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create__empty_folders_vanish__made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open__versions__old_missing_and_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_add_columns__rows_must_match, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drop_column__emptied_group_and_indexes_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rename_column__files_stay_and_the_old_name_is_free, set_up, tear_down),
        cmocka_unit_test(test_add_columns__names_like_those_in_files__no_column_lost),
        cmocka_unit_test_setup_teardown(test_add_columns__file_name_taken_meanwhile__conflict_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drop_column__what_follows_counts_on_it__refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drop_column__all_of_them__rows_that_follow_are_new, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append_files__layout__checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_append__indexes__dropped_unless_added_with_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_indexes__identity__by_id_or_by_column_and_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stats_deltas_lobs__kept_in_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tags__made_once_and_opened_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log__operations_messages_rows, set_up, tear_down),
        cmocka_unit_test(test_versions__odd_names__ignored),
        cmocka_unit_test(test_times__text_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
