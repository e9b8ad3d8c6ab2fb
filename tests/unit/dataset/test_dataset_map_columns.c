/* SPDX-License-Identifier: Apache-2.0 */
/* A map that leaves columns as they are writes the others alone: the files, the rows, and when whole rows are written after all. */
#include "dataset_case.h"

#include <pthread.h>
#include <sys/stat.h>

/* Gives column `name` (id * 2); from row `whole_from` on all columns by itself, or `other` beside. */
struct job {
    const char *name, *other;
    int64_t other_from, whole_from; /* rows; INT64_MAX: none */
    int64_t none_from, none_to;     /* whole batches that give no rows */
    int n_calls;
};

static void put_ids(const char *name, int64_t first, int64_t n, int64_t times, struct ArrowSchema *schema, struct ArrowArray *out)
{
    grebe_error err;
    void *p = NULL;
    assert_ok(schema_new(mem_system(), "l", name, true, 0, schema, &err));
    assert_ok(array_new(mem_system(), n, 2, 0, out, &err));
    assert_ok(array_alloc_buffer(mem_system(), out, 1, (size_t)n * 8, &p, &err));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)p)[i] = (first + i) * times;
    }
}

static grebe_status apply(void *ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *unused)
{
    grebe_error err;
    struct job *job = ctx;
    int64_t first = in->first_row, n = in->rows->length;
    const char *names[4] = { job->name };
    size_t n_names = 1;
    struct ArrowArray columns[4];
    job->n_calls++;
    if (first >= job->other_from) {
        names[n_names++] = job->other;
    }
    n = first >= job->none_from && first < job->none_to ? 0 : n;
    if (first >= job->whole_from || n == 0) {
        out->kind = GREBE_MAP_REPLACE;
        n_names = 0;
        names[n_names++] = "id";
        names[n_names++] = "label";
        names[n_names++] = job->name;
    }
    (void)unused;
    assert_ok(schema_new(mem_system(), "+s", "", false, (int64_t)n_names, &out->schema, &err));
    for (size_t i = 0; i < n_names; i++) {
        put_ids(names[i], first, n, strcmp(names[i], "id") == 0 ? 1 : 2, out->schema.children[i], &columns[i]);
    }
    assert_ok(array_struct(mem_system(), n, columns, n_names, &out->rows, &err));
    return GREBE_OK;
}

static int64_t size_of(const char *folder, const char *fingerprint, const char *behind)
{
    char path[600];
    struct stat s;
    snprintf(path, sizeof path, "%s/cache-%s%s.arrow", folder, fingerprint, behind);
    return stat(path, &s) == 0 ? (int64_t)s.st_size : -1;
}

/* The same map in memory of a set that has an indices mapping: whole rows, by the other way. */
static grebe_dataset *mapped_whole(const grebe_dataset *ds, struct job *job, const grebe_map_options *m)
{
    grebe_error err;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    grebe_dataset *out = NULL;
    o.keep_in_memory = true;
    assert_ok(grebe_dataset_map(ds, apply, job, m, &o, &out, &err));
    assert_int_equal(out->n_files, 0);
    return out;
}

static void only_new_columns_are_written(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    enum { N = 20000 };
    grebe_dataset *ds = saved_set(f, N, path), *out = NULL, *again = NULL;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    struct job job = { "x", NULL, INT64_MAX, INT64_MAX, 0, 0, 0 };
    const char *const removed[] = { "text", "label" };
    m.function_id = "x";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    int64_t size = size_of(path, out->fingerprint, "-columns");
    assert_true(size >= N * 8 && size < N * 8 + 20 * 300 + 2000); /* the numbers, and what a batch has around them */
    assert_int_equal(size_of(path, out->fingerprint, ""), -1);
    assert_int_equal(out->n_files, 2);
    grebe_dataset *whole = mapped_whole(ds, &job, &m);
    assert_same_rows(out, whole);
    assert_int_equal(job.n_calls, 40);
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &again, &err));
    assert_int_equal(job.n_calls, 40); /* found */
    assert_same_rows(again, whole);
    grebe_dataset_free(again);
    grebe_dataset_free(whole);
    /* of a map of a map, a slice, a data set that comes from its names of files alone */
    grebe_dataset *slice = NULL, *next = NULL;
    job.name = "y";
    m.function_id = "y";
    assert_ok(grebe_dataset_slice(out, 5000, 15001, NULL, &slice, &err));
    assert_ok(grebe_dataset_map(slice, apply, &job, &m, NULL, &next, &err));
    whole = mapped_whole(slice, &job, &m);
    assert_same_rows(next, whole);
    assert_int_equal(next->n_files, 3);
    grebe_dataset_free(whole);
    grebe_dataset_free(next);
    grebe_dataset_free(slice);
    /* a column in its place, others removed */
    job.name = "id";
    m.function_id = "id";
    m.remove_columns = removed;
    m.n_remove_columns = 1;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &next, &err));
    whole = mapped_whole(ds, &job, &m);
    assert_same_rows(next, whole);
    assert_true(size_of(path, next->fingerprint, "-columns") > 0);
    grebe_dataset_free(whole);
    grebe_dataset_free(next);
    /* nothing stays */
    m.function_id = "alone";
    m.n_remove_columns = 2;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &next, &err));
    assert_int_equal(size_of(path, next->fingerprint, "-columns"), -1);
    assert_true(size_of(path, next->fingerprint, "") > 0);
    grebe_dataset_free(next);
    /* the last batch is dropped: fewer rows on both sides */
    m.n_remove_columns = 0;
    m.batch_rows = 900;
    m.drop_last_batch = true;
    m.function_id = "drop";
    for (int i = 0; i < 2; i++) { /* written, found */
        job.n_calls = 0;
        assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &next, &err));
        assert_int_equal(next->n_rows, N / 900 * 900);
        assert_int_equal(job.n_calls, i == 0 ? N / 900 : 0);
        grebe_dataset_free(next);
    }
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

static void whole_rows_where_asked(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300], file[400];
    grebe_dataset *ds = saved_set(f, 100, path), *out = NULL, *mixed = NULL;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    struct job job = { "x", NULL, INT64_MAX, INT64_MAX, 0, 0, 0 };
    uint32_t seed = 1;
    m.function_id = "x";
    /* a file of the caller's name has all columns */
    snprintf(file, sizeof file, "%s/mine.arrow", f->folder);
    o.cache_file = file;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
    const char *own = file;
    grebe_dataset *opened = NULL;
    assert_ok(grebe_dataset_of_files(f->ctx, &own, 1, NULL, &opened, &err));
    assert_same_rows(opened, out);
    grebe_dataset_free(opened);
    grebe_dataset_free(out);
    /* rows in another order than in the table; features other than those the columns have */
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, NULL, &mixed, &err));
    assert_ok(grebe_dataset_map(mixed, apply, &job, &m, NULL, &out, &err));
    assert_true(size_of(path, out->fingerprint, "") > 0);
    grebe_dataset_free(out);
    m.features = "{\"id\":{\"dtype\":\"int32\",\"_type\":\"Value\"},\"text\":{\"dtype\":\"string\",\"_type\":\"Value\"},"
                 "\"label\":{\"dtype\":\"int64\",\"_type\":\"Value\"},\"x\":{\"dtype\":\"int64\",\"_type\":\"Value\"}}";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_true(size_of(path, out->fingerprint, "") > 0);
    assert_string_equal(features_find(out->features, "id")->dtype, "int32");
    grebe_dataset_free(out);
    grebe_dataset_free(mixed);
    grebe_dataset_free(ds);
}

/* A later batch sets one more column of the set, or gives all columns itself. */
static void batches_that_differ(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = saved_set(f, 5000, path), *out = NULL;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    const char *const text = "text";
    struct job jobs[] = { { "x", "label", 3000, INT64_MAX, 0, 0, 0 }, { "x", NULL, INT64_MAX, 3000, 0, 0, 0 } };
    m.remove_columns = &text;
    m.n_remove_columns = 1;
    for (size_t i = 0; i < 2; i++) {
        m.function_id = i == 0 ? "more" : "whole";
        assert_ok(grebe_dataset_map(ds, apply, &jobs[i], &m, NULL, &out, &err));
        assert_int_equal(jobs[i].n_calls, 5); /* none twice */
        assert_int_equal(size_of(path, out->fingerprint, "-columns"), -1);
        assert_true(size_of(path, out->fingerprint, "") > 0);
        int64_t *ids = ids_of(out, "id"), *labels = ids_of(out, "label"), *x = ids_of(out, "x");
        for (int64_t k = 0; k < 5000; k++) {
            assert_int_equal(ids[k], k);
            assert_int_equal(x[k], 2 * k);
            assert_int_equal(labels[k], k < 3000 ? k % 10 : 2 * k);
        }
        free(ids);
        free(labels);
        free(x);
        grebe_dataset_free(out);
    }
    grebe_dataset_free(ds);
}

/* Batches of which no row is left, at the beginning, in between and at the end: the columns that stay lose these rows too. */
static void batches_without_rows(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = saved_set(f, 5000, path), *out = NULL;
    static const int64_t none[][2] = { { 0, 1000 }, { 2000, 3000 }, { 4000, 5000 }, { 0, 5000 } };
    const char *const text = "text";
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    m.remove_columns = &text;
    m.n_remove_columns = 1;
    for (size_t i = 0; i < 4; i++) {
        struct job job = { "x", NULL, INT64_MAX, INT64_MAX, none[i][0], none[i][1], 0 };
        char id[24];
        snprintf(id, sizeof id, "%zu", i);
        m.function_id = id;
        for (int k = 0; k < 2; k++) { /* written, found */
            assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
            int64_t row = 0, *ids = ids_of(out, "id");
            for (int64_t r = 0; r < 5000; r++) {
                if (r < none[i][0] || r >= none[i][1]) {
                    assert_int_equal(ids[row++], r);
                }
            }
            assert_int_equal(out->n_rows, row);
            free(ids);
            grebe_dataset_free(out);
        }
        assert_int_equal(job.n_calls, 5);
    }
    grebe_dataset_free(ds);
}

/* Columns of some rows, as a process leaves them that ends while it makes whole rows of them: not believed. */
static void columns_of_fewer_rows(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300], from[600], to[600];
    grebe_dataset *ds = saved_set(f, 5000, path), *some = NULL, *out = NULL, *of_some = NULL;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    struct job job = { "x", NULL, INT64_MAX, INT64_MAX, 0, 0, 0 };
    m.function_id = "x";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_ok(grebe_dataset_slice(ds, 0, 3000, NULL, &some, &err));
    assert_ok(grebe_dataset_map(some, apply, &job, &m, NULL, &of_some, &err));
    snprintf(from, sizeof from, "%s/cache-%s-columns.arrow", path, of_some->fingerprint);
    snprintf(to, sizeof to, "%s/cache-%s-columns.arrow", path, out->fingerprint);
    grebe_dataset_free(out);
    grebe_dataset_free(of_some);
    assert_int_equal(rename(from, to), 0);
    job.n_calls = 0;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(job.n_calls, 5);
    assert_int_equal(out->n_rows, 5000);
    grebe_dataset *whole = mapped_whole(ds, &job, &m);
    assert_same_rows(out, whole);
    grebe_dataset_free(whole);
    grebe_dataset_free(out);
    grebe_dataset_free(some);
    grebe_dataset_free(ds);
}

/* What a function sees that wants one thread. */
struct serial {
    struct job job;
    pthread_t caller;
    int64_t next, fail_at;
};

static grebe_status apply_serial(void *ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    struct serial *s = ctx;
    assert_true(pthread_equal(pthread_self(), s->caller));
    assert_int_equal(in->first_row, s->next);
    s->next += in->rows->length;
    if (s->fail_at >= in->first_row && s->fail_at < s->next) {
        err->status = GREBE_EINVAL;
        snprintf(err->message, sizeof err->message, "does not like it");
        return GREBE_EINVAL;
    }
    return apply(&s->job, in, out, err);
}

/* Read ahead and written behind on other threads, the function sees all rows in their order on one. */
static void one_thread_calls_in_order(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = saved_set(f, 30000, path), *out = NULL;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    call.threads = 4;
    o.call = &call;
    m.is_serial = true;
    m.batch_rows = 37;
    for (int n = 1; n <= 3; n++) {
        struct serial s = { { "x", NULL, INT64_MAX, INT64_MAX, 0, 0, 0 }, pthread_self(), 0, -1 };
        char id[24];
        snprintf(id, sizeof id, "%d", n);
        m.function_id = id;
        m.n_parts = n;
        assert_ok(grebe_dataset_map(ds, apply_serial, &s, &m, &o, &out, &err));
        assert_int_equal(s.next, 30000);
        int64_t *x = ids_of(out, "x");
        for (int64_t i = 0; i < 30000; i++) {
            assert_int_equal(x[i], 2 * i);
        }
        free(x);
        grebe_dataset_free(out);
    }
    /* a failure: no batch behind it is given to the function, nothing is left that would be found */
    struct serial s = { { "x", NULL, INT64_MAX, INT64_MAX, 0, 0, 0 }, pthread_self(), 0, 20000 };
    m.n_parts = 1;
    m.function_id = "fails";
    assert_fails(grebe_dataset_map(ds, apply_serial, &s, &m, &o, &out, &err), GREBE_EINVAL, "rows 19980 to 20016: does not like it");
    assert_int_equal(s.next, 20017);
    s = (struct serial){ { "x", NULL, INT64_MAX, INT64_MAX, 0, 0, 0 }, pthread_self(), 0, -1 };
    assert_ok(grebe_dataset_map(ds, apply_serial, &s, &m, &o, &out, &err));
    assert_int_equal(s.next, 30000);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_new_columns_are_written, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(whole_rows_where_asked, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(batches_that_differ, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(batches_without_rows, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(columns_of_fewer_rows, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(one_thread_calls_in_order, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
