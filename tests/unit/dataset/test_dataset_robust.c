/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets when memory is short, when a writer dies, when texts are many; fingerprints of whole calls. */
#include "dataset/rows_writer.h"
#include "dataset_case.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- memory ---- */

typedef grebe_status (*attempt_fn)(grebe_context *ctx, const char *folder, grebe_error *err);

/* Every allocation fails once; nothing is left over, and what comes is ENOMEM or the result. */
static void with_failing_memory(attempt_fn attempt, const char *folder)
{
    grebe_error err;
    for (size_t fail_at = 1; fail_at < 1000000; fail_at++) {
        struct test_allocator t;
        test_allocator_init(&t);
        grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
        grebe_context *ctx = NULL;
        o.allocator = &t.a;
        o.threads = 1;
        assert_ok(context_new(&o, &ctx, &err));
        t.fail_at = t.n_calls + fail_at;
        grebe_status st = attempt(ctx, folder, fail_at % 2 == 0 ? &err : NULL); /* a caller need not want to be told */
        t.fail_at = 0;
        context_free(ctx);
        if (t.n_live != 0) {
            fail_msg("allocation %zu failing leaves %zu blocks", fail_at, t.n_live);
        }
        if (st == GREBE_OK) {
            return;
        }
        if (st != GREBE_ENOMEM) {
            fail_msg("allocation %zu failing: %s (%s)", fail_at, grebe_status_name(st), fail_at % 2 == 0 ? err.message : "not told");
        }
    }
    fail_msg("it never succeeded");
}

static grebe_status load_and_read(grebe_context *ctx, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_dataset_dict *dict = NULL;
    struct ArrowArray rows = { 0 };
    static const int64_t some[] = { 3, 1, 1, -1 };
    GREBE_TRY(grebe_dataset_load_from_disk(ctx, folder, NULL, &dict, err));
    GREBE_TRY(grebe_dataset_take(grebe_dataset_dict_get(dict, 0), some, 4, NULL, 0, &rows, err));
out:
    array_release(&rows);
    grebe_dataset_dict_free(dict);
    return st;
}

static grebe_status transform(grebe_context *ctx, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_dataset_dict *dict = NULL;
    grebe_dataset *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    uint32_t seed = 1;
    static const grebe_sort_key keys[] = { { "text", true }, { "label", false } };
    static const grebe_computed_column computed = { "n", "length(text) + id" };
    o.keep_in_memory = true;
    GREBE_TRY(grebe_dataset_load_from_disk(ctx, folder, NULL, &dict, err));
    GREBE_TRY(grebe_dataset_shuffle(grebe_dataset_dict_get(dict, 0), (grebe_seed){ &seed, 1 }, &o, &a, err));
    GREBE_TRY(grebe_dataset_sort(a, keys, 2, false, &o, &b, err));
    GREBE_TRY(grebe_dataset_map_expr(b, &computed, 1, &o, &c, err));
    GREBE_TRY(grebe_dataset_filter(c, "n > 3", &o, &d, err));
out:
    grebe_dataset_free(a);
    grebe_dataset_free(b);
    grebe_dataset_free(c);
    grebe_dataset_free(d);
    grebe_dataset_dict_free(dict);
    return st;
}

static grebe_status load_and_save(grebe_context *ctx, const char *folder, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_dataset_dict *dict = NULL;
    grebe_dataset *out = NULL;
    char path[300];
    struct buf packed = BUF_INIT(ctx->a);
    snprintf(path, sizeof path, "%s/again", folder);
    GREBE_TRY(grebe_dataset_load_from_disk(ctx, CASES "saved/nested", NULL, &dict, err));
    GREBE_TRY(grebe_dataset_save_to_disk(grebe_dataset_dict_get(dict, 0), path, NULL, err));
out:
    grebe_dataset_free(out);
    buf_release(&packed);
    grebe_dataset_dict_free(dict);
    return st;
}

static void gives_memory_back(void **state)
{
    struct fixture *f = *state;
    with_failing_memory(load_and_read, CASES "saved/nested");
    with_failing_memory(transform, CASES "saved/single");
    with_failing_memory(load_and_save, f->folder);
}

/* ---- a writer that dies ---- */

static void die(void *ctx, const grebe_progress *progress)
{
    int *left = ctx;
    (void)progress;
    if (--*left == 0) {
        raise(SIGKILL);
    }
}

static void keeps_the_old_folder_when_killed(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    snprintf(path, sizeof path, "%s/set", f->folder);
    grebe_dataset *old = made_set(f->ctx, 30, 10), *more = made_set(f->ctx, 200, 10);
    assert_ok(grebe_dataset_save_to_disk(old, path, NULL, &err));
    int n_killed = 0;
    for (int at = 1; at <= 24; at += 3) {
        pid_t child = fork();
        if (child == 0) {
            grebe_save_options o = GREBE_SAVE_OPTIONS_INIT;
            grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
            int left = at;
            call.progress = die;
            call.progress_ctx = &left;
            o.call = &call;
            o.n_shards = 2;
            _exit(grebe_dataset_save_to_disk(more, path, &o, NULL) == GREBE_OK ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        grebe_dataset_dict *dict = NULL;
        assert_ok(grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err));
        bool is_killed = WIFSIGNALED(status);
        n_killed += is_killed;
        assert_same_rows(grebe_dataset_dict_get(dict, 0), is_killed ? old : more);
        grebe_dataset_dict_free(dict);
        if (!is_killed) {
            break;
        }
    }
    assert_true(n_killed >= 5);
    grebe_dataset_free(old);
    grebe_dataset_free(more);
}

static void stop_it(void *ctx, const grebe_progress *progress)
{
    (void)progress;
    grebe_cancel_set(ctx);
}

static void stops_when_told(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_cancel *cancel = NULL;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    grebe_save_options save = GREBE_SAVE_OPTIONS_INIT;
    static const grebe_computed_column computed = { "n", "id + 1" };
    grebe_dataset *ds = made_set(f->ctx, 100, 10), *out = NULL;
    assert_ok(grebe_cancel_new(f->ctx, &cancel, &err));
    call.cancel = cancel;
    call.progress = stop_it;
    call.progress_ctx = cancel;
    o.call = &call;
    save.call = &call;
    assert_fails(grebe_dataset_map_expr(ds, &computed, 1, &o, &out, &err), GREBE_ECANCELLED, "");
    assert_null(out);
    snprintf(path, sizeof path, "%s/cancelled", f->folder);
    assert_fails(grebe_dataset_save_to_disk(ds, path, &save, &err), GREBE_ECANCELLED, "");
    struct stat info;
    assert_int_not_equal(stat(path, &info), 0);
    grebe_cancel_free(cancel);
    grebe_dataset_free(ds);
}

static int n_entries(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    }
    closedir(dir);
    return n;
}

/* A file has its name when it is finished, and else there is none. */
static void leaves_no_unfinished_file(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = made_set(f->ctx, 2500, 100);
    struct rows_writer *w = NULL;
    struct rows_writer_options o = { "0123456789abcdef", 0, false, false };
    struct ArrowArray rows;
    snprintf(path, sizeof path, "%s/rows.arrow", f->folder);
    for (int is_finished = 0; is_finished < 2; is_finished++) {
        assert_ok(rows_writer_new(f->ctx, path, ds->features, &o, &w, &err));
        for (int64_t row = 0; row < 2500; row += 300) { /* joined to batches of 1000 */
            assert_ok(grebe_dataset_read(ds, row, row + 300 < 2500 ? row + 300 : 2500, NULL, 0, &rows, &err));
            assert_ok(rows_writer_put(w, &rows, &err));
        }
        assert_int_equal(rows_writer_num_rows(w), 2500);
        if (is_finished) {
            assert_ok(rows_writer_finish(w, &err));
        }
        rows_writer_free(w);
        assert_int_equal(n_entries(f->folder), is_finished);
    }
    struct rows_file *file = NULL;
    assert_ok(rows_file_open(f->ctx, path, false, &file, &err));
    assert_int_equal(file->n_batches, 3);
    assert_int_equal(file->batch_begin[2], 2000);
    rows_file_drop(file);
    struct stat info;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
    snprintf(path, sizeof path, "%s/none/rows.arrow", f->folder);
    assert_fails(rows_writer_new(f->ctx, path, ds->features, &o, &w, &err), GREBE_ENOTFOUND, "none/rows.arrow");
    grebe_dataset_free(ds);
}

/* ---- fingerprints of whole calls ---- */

static void assert_fingerprint(grebe_dataset *ds, const char *expected)
{
    assert_non_null(ds);
    assert_string_equal(ds->fingerprint, expected);
    grebe_dataset_free(ds);
}

static void names_results_as_the_library_does(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *made =
        set_of_text(f->ctx, "[{\"a\": 3, \"b\": \"x\"}, {\"a\": 1, \"b\": \"y\"}, {\"a\": 2, \"b\": \"x\"}, "
                            "{\"a\": 5, \"b\": \"y\"}, {\"a\": 4, \"b\": \"x\"}, {\"a\": 6, \"b\": \"z\"}]");
    grebe_dataset *ds = NULL, *out = NULL, *test = NULL;
    grebe_dataset_labels labels = { .fingerprint = "0123456789abcdef" };
    assert_ok(grebe_dataset_with(made, &labels, &ds, &err));
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    uint32_t seed = 42;
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, NULL, &out, &err));
    assert_fingerprint(out, "098bc69bed2990d1");
    o.keep_in_memory = true;
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, &o, &out, &err));
    assert_fingerprint(out, "ad59dda924943856");
    o.keep_in_memory = false;
    o.ignore_cache = true;
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, &o, &out, &err));
    assert_fingerprint(out, "098bc69bed2990d1");
    o.writer_batch_rows = 10;
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, &o, &out, &err));
    assert_fingerprint(out, "3042a6bfb7e01eb7");
    static const int64_t zero_two[] = { 0, 2 }, zero_one[] = { 0, 1 }, five[] = { 5 };
    assert_ok(grebe_dataset_select(ds, zero_two, 2, NULL, &out, &err));
    assert_fingerprint(out, "7fef2f7672c762e0");
    assert_ok(grebe_dataset_select(ds, zero_one, 2, NULL, &out, &err));
    assert_fingerprint(out, "ebbb19ac7b133370");
    assert_ok(grebe_dataset_select(ds, five, 1, NULL, &out, &err));
    assert_fingerprint(out, "1bc3315a9762e153");
    assert_ok(grebe_dataset_select(ds, NULL, 0, NULL, &out, &err));
    assert_fingerprint(out, "0456a33e743950a6");
    assert_ok(grebe_dataset_slice(ds, 2, 4, NULL, &out, &err));
    assert_fingerprint(out, "f148ccb38ef684d1");
    assert_ok(grebe_dataset_slice(ds, 0, 2, NULL, &out, &err)); /* take(2) */
    assert_fingerprint(out, "b0eeb08edc147385");
    assert_ok(grebe_dataset_slice(ds, 2, INT64_MAX, NULL, &out, &err)); /* skip(2) */
    assert_fingerprint(out, "da16e8ce150ea59a");
    assert_ok(grebe_dataset_shard(ds, 2, 1, true, NULL, &out, &err));
    assert_fingerprint(out, "2b3f9d78194af4e7");
    assert_ok(grebe_dataset_rename_columns(ds, &(grebe_column_rename){ "a", "z" }, 1, NULL, &out, &err));
    assert_fingerprint(out, "bd575362703cb1d2");
    assert_ok(grebe_dataset_remove_columns(ds, (const char *const[]){ "a" }, 1, NULL, &out, &err));
    assert_fingerprint(out, "d7d868647bfd32b3");
    assert_ok(grebe_dataset_remove_columns(ds, (const char *const[]){ "a", "b" }, 2, NULL, &out, &err));
    assert_fingerprint(out, "d9823df4c81a2ba3");
    assert_ok(grebe_dataset_select_columns(ds, (const char *const[]){ "b" }, 1, NULL, &out, &err));
    assert_fingerprint(out, "f08e0b13bdfbf9dc");
    assert_ok(grebe_dataset_flatten(ds, 0, NULL, &out, &err));
    assert_fingerprint(out, "d3d7ce4b9f7ea3e8");
    assert_ok(grebe_dataset_flatten_indices(ds, NULL, &out, &err));
    assert_fingerprint(out, "c32499a6cde83edd");
    assert_ok(grebe_dataset_sort(ds, &(grebe_sort_key){ "a", false }, 1, false, NULL, &out, &err));
    assert_fingerprint(out, "8bd99d1e0b33854d");
    assert_ok(grebe_dataset_sort(ds, &(grebe_sort_key){ "a", true }, 1, false, NULL, &out, &err));
    assert_fingerprint(out, "c806bb805b69ffb1");
    assert_ok(grebe_dataset_sort(ds, (grebe_sort_key[]){ { "b", false }, { "a", false } }, 2, false, NULL, &out, &err));
    assert_fingerprint(out, "908462b651d32d74");
    assert_ok(grebe_dataset_sort(ds, (grebe_sort_key[]){ { "b", true }, { "a", false } }, 2, true, NULL, &out, &err));
    assert_fingerprint(out, "84559ae1123b45bc");
    assert_ok(grebe_dataset_batch(ds, 2, NULL, false, NULL, &out, &err));
    assert_fingerprint(out, "a667e3b47761e2e0");
    grebe_split_options split = GREBE_SPLIT_OPTIONS_INIT;
    split.test_fraction = 0.5;
    split.seed = (grebe_seed){ &seed, 1 };
    assert_ok(grebe_dataset_train_test_split(ds, &split, NULL, &out, &test, &err));
    assert_fingerprint(out, "20fc500382288979");
    assert_fingerprint(test, "1ffcc19698ca1019");
    split.test_fraction = -1;
    split.test_rows = 2;
    seed = 1;
    assert_ok(grebe_dataset_train_test_split(ds, &split, NULL, &out, &test, &err));
    assert_fingerprint(out, "d44c87106c67409b");
    assert_fingerprint(test, "31a6f81b61fc1ea1");
    /* formats */
    const grebe_dataset_format formats[] = { { "numpy", NULL, 0, NULL, false },
                                             { "torch", (const char *const[]){ "a" }, 1, "{\"dtype\": null, \"z\": 3, \"aa\": true}", true },
                                             { NULL, NULL, 0, NULL, false },
                                             { "numpy", NULL, 0, "[1]", false } };
    assert_ok(grebe_dataset_with(ds, &(grebe_dataset_labels){ .format = &formats[0] }, &out, &err));
    assert_fingerprint(out, "496d8b35de1aebb4");
    assert_ok(grebe_dataset_with(ds, &(grebe_dataset_labels){ .format = &formats[1] }, &out, &err));
    assert_fingerprint(out, "97447b71021f5c07");
    assert_ok(grebe_dataset_with(ds, &(grebe_dataset_labels){ .format = &formats[2] }, &out, &err));
    assert_fingerprint(out, "a4437205799a5668");
    assert_ok(grebe_dataset_with(ds, &(grebe_dataset_labels){ .format = &formats[0], .fingerprint = "mine" }, &out, &err));
    assert_fingerprint(out, "mine");
    assert_fails(grebe_dataset_with(ds, &(grebe_dataset_labels){ .format = &formats[3] }, &out, &err), GREBE_EINVAL, "kwargs");
    /* one that the caller names */
    o = (grebe_transform_options)GREBE_TRANSFORM_OPTIONS_INIT;
    o.new_fingerprint = "mine";
    assert_ok(grebe_dataset_slice(ds, 0, 2, &o, &out, &err));
    assert_fingerprint(out, "mine");
    o.new_fingerprint = "not/mine";
    assert_fails(grebe_dataset_slice(ds, 0, 2, &o, &out, &err), GREBE_EINVAL, "not/mine");
    grebe_dataset_free(ds);
    grebe_dataset_free(made);
}

/* ---- sorting against a plain one ---- */

struct sortable {
    int64_t row, a;
    double f;
    int state; /* of f: 0 value, 1 NaN, 2 null */
};

static int by_f_then_a(const void *x, const void *y)
{
    const struct sortable *p = x, *q = y;
    if (p->state != q->state) {
        return p->state < q->state ? -1 : 1;
    }
    if (p->state == 0 && p->f != q->f) {
        return p->f > q->f ? -1 : 1; /* descending */
    }
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->row > q->row) - (p->row < q->row);
}

static void sorts_many_rows(void **state)
{
    enum { N = 100000 };
    struct fixture *f = *state;
    grebe_error err;
    const grebe_allocator *a = mem_system();
    struct sortable *expected = calloc(N, sizeof *expected);
    struct ArrowSchema schema;
    struct ArrowArray columns[3], batch;
    struct ArrowArrayStream stream;
    void *id = NULL, *va = NULL, *vf = NULL, *bits = NULL;
    grebe_dataset *ds = NULL, *out = NULL;
    static const char *const names[] = { "id", "a", "f" };
    assert_ok(schema_new(a, "+s", "", false, 3, &schema, &err));
    for (int i = 0; i < 3; i++) {
        assert_ok(schema_new(a, i == 2 ? "g" : "l", names[i], true, 0, schema.children[i], &err));
        assert_ok(array_new(a, N, 2, 0, &columns[i], &err));
    }
    assert_ok(array_alloc_buffer(a, &columns[0], 1, N * 8, &id, &err));
    assert_ok(array_alloc_buffer(a, &columns[1], 1, N * 8, &va, &err));
    assert_ok(array_alloc_buffer(a, &columns[2], 1, N * 8, &vf, &err));
    assert_ok(array_alloc_buffer(a, &columns[2], 0, bitmap_bytes(N), &bits, &err));
    memset(bits, 0, bitmap_bytes(N));
    for (int64_t i = 0; i < N; i++) {
        uint64_t r = test_random(&f->seed);
        struct sortable *s = &expected[i];
        *s = (struct sortable){ i, (int64_t)(r % 7) - 3, (double)((int64_t)(r >> 8 & 255) - 128) * 0.5,
                                r % 11 == 0   ? 1
                                : r % 13 == 0 ? 2
                                              : 0 };
        ((int64_t *)id)[i] = i;
        ((int64_t *)va)[i] = s->a;
        ((double *)vf)[i] = s->state == 1 ? (double)NAN : s->f == 0 && (r & 1) ? -0.0 : s->f;
        if (s->state != 2) {
            bit_set(bits, i);
        }
    }
    columns[2].null_count = N - bitmap_count(bits, 0, N);
    assert_ok(array_struct(a, N, columns, 3, &batch, &err));
    assert_ok(stream_from_batches(a, &schema, &batch, 1, &stream, &err));
    assert_ok(grebe_dataset_of_rows(f->ctx, &stream, NULL, &ds, &err));
    assert_ok(grebe_dataset_sort(ds, (grebe_sort_key[]){ { "f", true }, { "a", false } }, 2, false, NULL, &out, &err));
    qsort(expected, N, sizeof *expected, by_f_then_a);
    int64_t *got = ids_of(out, "id");
    for (int64_t i = 0; i < N; i++) {
        if (got[i] != expected[i].row) {
            fail_msg("row %lld: %lld, expected %lld", (long long)i, (long long)got[i], (long long)expected[i].row);
        }
    }
    free(got);
    free(expected);
    schema_release(&schema);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

/* ---- more text than 32-bit offsets count ---- */

static void holds_three_gigabytes_of_text(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    enum { N_BATCHES = 96, N_ROWS = 32, LEN = 1 << 20 };
    if (getenv("GREBE_TEST_HUGE") == NULL) {
        skip();
    }
    const grebe_allocator *a = mem_system();
    char path[300];
    struct ArrowSchema schema;
    struct ArrowArrayStream stream;
    struct ArrowArray *batches = calloc(N_BATCHES, sizeof *batches);
    grebe_dataset *memory = NULL, *out = NULL, *mixed = NULL;
    assert_ok(schema_new(a, "+s", "", false, 2, &schema, &err));
    assert_ok(schema_new(a, "l", "id", true, 0, schema.children[0], &err));
    assert_ok(schema_new(a, "u", "text", true, 0, schema.children[1], &err));
    for (int b = 0; b < N_BATCHES; b++) {
        struct ArrowArray c[2];
        void *id = NULL, *offsets = NULL, *bytes = NULL;
        assert_ok(array_new(a, N_ROWS, 2, 0, &c[0], &err));
        assert_ok(array_new(a, N_ROWS, 3, 0, &c[1], &err));
        assert_ok(array_alloc_buffer(a, &c[0], 1, N_ROWS * 8, &id, &err));
        assert_ok(array_alloc_buffer(a, &c[1], 1, (N_ROWS + 1) * 4, &offsets, &err));
        assert_ok(array_alloc_buffer(a, &c[1], 2, (size_t)N_ROWS * LEN, &bytes, &err));
        memset(bytes, 'a' + b % 26, (size_t)N_ROWS * LEN);
        for (int i = 0; i <= N_ROWS; i++) {
            ((int32_t *)offsets)[i] = i * LEN;
            ((int64_t *)id)[i < N_ROWS ? i : 0] = i < N_ROWS ? b * N_ROWS + i : b * N_ROWS;
        }
        assert_ok(array_struct(a, N_ROWS, c, 2, &batches[b], &err));
    }
    assert_ok(stream_from_batches(a, &schema, batches, N_BATCHES, &stream, &err));
    assert_ok(grebe_dataset_of_rows(f->ctx, &stream, NULL, &memory, &err));
    snprintf(path, sizeof path, "%s/huge", f->folder);
    assert_ok(grebe_dataset_save_to_disk(memory, path, NULL, &err));
    grebe_dataset_free(memory);
    grebe_dataset_dict *dict = NULL;
    assert_ok(grebe_dataset_load_from_disk(f->ctx, path, NULL, &dict, &err));
    const grebe_dataset *ds = grebe_dataset_dict_get(dict, 0);
    assert_int_equal(ds->n_rows, N_BATCHES * N_ROWS);
    uint32_t seed = 3;
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, NULL, &mixed, &err));
    struct ArrowArray rows;
    assert_fails(grebe_dataset_read(mixed, 0, mixed->n_rows, NULL, 0, &rows, &err), GREBE_ELIMIT, "32-bit");
    assert_ok(
        grebe_dataset_sort(mixed, (grebe_sort_key[]){ { "text", true }, { "id", false } }, 2, false, NULL, &out, &err));
    assert_ok(grebe_dataset_read(out, 0, 2, NULL, 0, &rows, &err));
    assert_int_equal(((const char *)rows.children[1]
                          ->buffers[2])[((const int32_t *)rows.children[1]->buffers[1])[rows.children[1]->offset]],
                     'z');
    array_release(&rows);
    grebe_dataset_free(out);
    static const grebe_computed_column computed = { "n", "length(text)" };
    assert_ok(grebe_dataset_map_expr(mixed, &computed, 1, NULL, &out, &err));
    assert_int_equal(out->n_rows, ds->n_rows);
    grebe_dataset_free(out);
    grebe_dataset_free(mixed);
    grebe_dataset_dict_free(dict);
    schema_release(&schema);
    free(batches);
}

/* ---- few rows of batches that are damaged elsewhere ---- */

/* "t<i>" of row i: where it begins in the first batch. */
static int32_t text_begin(int64_t row)
{
    int32_t at = 0;
    for (int64_t i = 0; i < row; i++) {
        at += i < 10 ? 2 : i < 100 ? 3 : 4;
    }
    return at;
}

/* Bytes at `find` in the file become those of `put`. */
static void damage(const char *path, const void *find, size_t len, size_t skip, const void *put, size_t put_len)
{
    unsigned char bytes[65536];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file), at = 0;
    assert_true(n < sizeof bytes);
    while (at + len <= n && memcmp(bytes + at, find, len) != 0) {
        at++;
    }
    assert_true(at + len <= n);
    assert_int_equal(fseek(file, (long)(at + skip), SEEK_SET), 0);
    assert_int_equal(fwrite(put, 1, put_len, file), put_len);
    fclose(file);
}

/* Row `bad` is refused however it is asked for, its neighbours `good` are read. */
static void assert_one_bad_row(grebe_context *ctx, const char *folder, int64_t bad, const int64_t *good, size_t n)
{
    grebe_error err;
    grebe_dataset_dict *dict = NULL;
    struct ArrowArray rows;
    assert_ok(grebe_dataset_load_from_disk(ctx, folder, NULL, &dict, &err));
    const grebe_dataset *ds = grebe_dataset_dict_get(dict, 0);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < n; i++) {
            assert_ok(grebe_dataset_read(ds, good[i], good[i] + 1, NULL, 0, &rows, &err));
            array_release(&rows);
        }
        assert_ok(grebe_dataset_take(ds, good, n, NULL, 0, &rows, &err));
        struct arrow_bytes text = arrow_bytes_at(rows.children[1], ARROW_STRING, 0, 0);
        char expected[32];
        snprintf(expected, sizeof expected, "t%lld", (long long)good[0]);
        assert_int_equal(text.len, strlen(expected));
        assert_memory_equal(text.p, expected, strlen(expected));
        array_release(&rows);
        int64_t with_bad[] = { good[0], bad };
        assert_int_equal(grebe_dataset_read(ds, bad, bad + 1, NULL, 0, &rows, &err), GREBE_ECORRUPT);
        assert_int_equal(grebe_dataset_read(ds, bad - 2, bad + 1, NULL, 0, &rows, &err), GREBE_ECORRUPT);
        assert_int_equal(grebe_dataset_take(ds, with_bad, 2, NULL, 0, &rows, &err), GREBE_ECORRUPT);
        assert_int_equal(grebe_dataset_take(ds, &bad, 1, NULL, 0, &rows, &err), GREBE_ECORRUPT);
    }
    /* as often as the batch has rows: it is checked whole then, and refused */
    grebe_status st = GREBE_OK;
    for (int i = 0; i < 2000 && st == GREBE_OK; i++) {
        st = grebe_dataset_read(ds, good[0], good[0] + 1, NULL, 0, &rows, &err);
        if (st == GREBE_OK) {
            array_release(&rows);
        }
    }
    assert_int_equal(st, GREBE_ECORRUPT);
    assert_int_equal(grebe_dataset_read(ds, 0, 1000, NULL, 0, &rows, &err), GREBE_ECORRUPT);
    grebe_dataset_dict_free(dict);
}

static void checks_the_rows_it_gives_out(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_save_options o = GREBE_SAVE_OPTIONS_INIT;
    char folder[300], path[400];
    grebe_dataset *ds = made_set(f->ctx, 1000, 1000);
    static const int64_t near[] = { 500, 502, 0, 999 }, far[] = { 498, 503, 0, 999 };
    static const int32_t wrong[] = { -5, INT32_MAX, 1 };
    snprintf(folder, sizeof folder, "%s/few", f->folder);
    snprintf(path, sizeof path, "%s/data-00000-of-00001.arrow", folder);
    assert_ok(grebe_dataset_save_to_disk(ds, folder, &o, &err));
    damage(path, "t500t501t502", 12, 4, "\xff", 1);
    assert_one_bad_row(f->ctx, folder, 501, near, 4);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int32_t offsets[] = { text_begin(499), text_begin(500), text_begin(501), text_begin(502) };
        assert_ok(grebe_dataset_save_to_disk(ds, folder, &o, &err));
        damage(path, offsets, sizeof offsets, 8, &wrong[i], 4); /* where row 500 ends and row 501 begins */
        assert_one_bad_row(f->ctx, folder, 500, far, 4);
        if (wrong[i] != 1) { /* else it is a longer text of good bytes */
            assert_one_bad_row(f->ctx, folder, 501, far, 4);
        }
    }
    grebe_dataset_free(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_memory_back, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(checks_the_rows_it_gives_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(keeps_the_old_folder_when_killed, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(stops_when_told, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(leaves_no_unfinished_file, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_results_as_the_library_does, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(sorts_many_rows, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(holds_three_gigabytes_of_text, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
