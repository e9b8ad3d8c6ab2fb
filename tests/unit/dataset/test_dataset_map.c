/* SPDX-License-Identifier: Apache-2.0 */
/* Functions over rows: what becomes of columns and types, parts and their files, failures. */
#include "dataset/map_suffix.h"
#include "dataset_case.h"

#include <dirent.h>
#include <stdatomic.h>

/* What the function of a test does. */
struct job {
    const char *name, *other; /* column given; a second one */
    const char *format; /* "l": id * 2; "i": id; "n": nulls; "u": text; "mixed": null in the first 10 rows, then id */
    int32_t kind;
    int64_t fail_at, nothing_from, nothing_to; /* rows; -1: none */
    int64_t give;                              /* rows given for a batch; -1: as many */
    atomic_int n_calls, n_rows;
};

#define JOB_INIT                                                                                                       \
    {                                                                                                                  \
        .name = "x", .format = "l", .fail_at = -1, .nothing_from = -1, .nothing_to = -1, .give = -1                    \
    }

static void put_column(const char *format, const char *name, int64_t first, int64_t n, struct ArrowSchema *schema,
                       struct ArrowArray *out)
{
    grebe_error err;
    const grebe_allocator *a = mem_system();
    void *p = NULL;
    const char *own = strcmp(format, "mixed") == 0 ? (first < 10 ? "n" : "l") : format;
    assert_ok(schema_new(a, own, name, true, 0, schema, &err));
    if (*own == 'n') {
        assert_ok(array_nulls(a, schema, n, out, &err));
        return;
    }
    assert_ok(array_new(a, n, *own == 'u' ? 3 : 2, 0, out, &err));
    assert_ok(array_alloc_buffer(a, out, 1, (size_t)(n + 1) * 8, &p, &err));
    if (*own == 'u') {
        void *bytes = NULL;
        assert_ok(array_alloc_buffer(a, out, 2, (size_t)n, &bytes, &err));
        memset(bytes, 'a', (size_t)n);
        for (int64_t i = 0; i <= n; i++) {
            ((int32_t *)p)[i] = (int32_t)i;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (*own == 'i') {
            ((int32_t *)p)[i] = (int32_t)(first + i);
        } else {
            ((int64_t *)p)[i] = (first + i) * 2;
        }
    }
}

static grebe_status apply(void *ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    struct job *job = ctx;
    grebe_error e;
    struct ArrowArray columns[2];
    int64_t first = in->first_row, n = job->give >= 0 ? job->give : in->rows->length;
    atomic_fetch_add(&job->n_calls, 1);
    atomic_fetch_add(&job->n_rows, (int)in->rows->length);
    if (job->fail_at >= first && job->fail_at < first + in->rows->length) {
        return GREBE_FAIL(err, GREBE_EINVAL, "does not like it");
    }
    if (first >= job->nothing_from && first < job->nothing_to) {
        out->kind = GREBE_MAP_NOTHING;
        return GREBE_OK;
    }
    if (in->schema->n_children > 0 && in->rows->length > 0 && strcmp(in->schema->children[0]->name, "id") == 0) {
        const struct ArrowArray *id = in->rows->children[0];
        if (((const int64_t *)id->buffers[1])[id->offset] != first &&
            ((const int64_t *)id->buffers[1])[id->offset] >= 0) {
            first = ((const int64_t *)id->buffers[1])[id->offset]; /* a mapped data set */
        }
    }
    out->kind = job->kind;
    size_t n_columns = job->other != NULL ? 2 : 1;
    if (schema_new(mem_system(), "+s", "", false, (int64_t)n_columns, &out->schema, &e) != GREBE_OK) {
        return GREBE_ENOMEM;
    }
    put_column(job->format, job->name, first, n, out->schema.children[0], &columns[0]);
    if (job->other != NULL) {
        put_column("u", job->other, first, n, out->schema.children[1], &columns[1]);
    }
    return array_struct(mem_system(), n, columns, n_columns, &out->rows, err);
}

static void assert_columns(const grebe_dataset *ds, const char *expected)
{
    char all[256] = "";
    grebe_dataset_info d;
    grebe_dataset_get_info(ds, &d);
    for (size_t i = 0; i < d.n_columns; i++) {
        strcat(all, i > 0 ? "," : "");
        strcat(all, d.columns[i]);
    }
    assert_string_equal(all, expected);
}

static void puts_columns_in_their_places(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = made_set(f->ctx, 25, 4), *out = NULL;
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    const char *const text = "text";
    m.batch_rows = 10;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err)); /* a new column stands last */
    assert_columns(out, "id,text,label,x");
    grebe_dataset_free(out);
    job.name = "text"; /* one of the same name keeps its place */
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_columns(out, "id,text,label");
    assert_string_equal(features_find(out->features, "text")->dtype, "int64");
    grebe_dataset_free(out);
    m.remove_columns = &text; /* removed and given again it stands last */
    m.n_remove_columns = 1;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_columns(out, "id,label,text");
    grebe_dataset_free(out);
    job.name = "x";
    job.other = "y";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_columns(out, "id,label,x,y");
    grebe_dataset_free(out);
    job.kind = GREBE_MAP_REPLACE;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_columns(out, "x,y");
    assert_int_equal(out->n_rows, 25);
    grebe_dataset_free(out);
    /* only some columns are given to the function, the others are carried */
    job.kind = GREBE_MAP_MERGE;
    job.other = NULL;
    const char *const id = "id";
    m.input_columns = &id;
    m.n_input_columns = 1;
    m.n_remove_columns = 0;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_columns(out, "id,text,label,x");
    int64_t *x = ids_of(out, "x");
    assert_int_equal(x[24], 48);
    free(x);
    grebe_dataset_free(out);
    /* names that are not there */
    const char *const none = "none";
    m.input_columns = &none;
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ENOTFOUND, "\"id\"");
    grebe_dataset_free(ds);
}

static void keeps_and_finds_types(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = made_set(f->ctx, 25, 4), *out = NULL, *again = NULL;
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    m.batch_rows = 5;
    /* int32 fits an int64 column: the type stays, unless it is not to */
    job.name = "label";
    job.format = "i";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_string_equal(features_find(out->features, "label")->dtype, "int64");
    grebe_dataset_free(out);
    m.is_type_kept = false;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_string_equal(features_find(out->features, "label")->dtype, "int32");
    grebe_dataset_free(out);
    /* nulls first, numbers later */
    m.is_type_kept = true;
    job.name = "x";
    job.format = "mixed";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_string_equal(features_find(out->features, "x")->dtype, "int64");
    struct buf text = lines_of(out, 0);
    assert_non_null(strstr(buf_text(&text), "\"x\": null}\n{\"id\": 10, \"text\": \"t10\", \"label\": 0, \"x\": 20}"));
    buf_release(&text);
    grebe_dataset_free(out);
    /* in parts, of which one has nulls only */
    m.n_parts = 5;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_string_equal(features_find(out->features, "x")->dtype, "int64");
    assert_int_equal(out->n_rows, 25);
    grebe_dataset_free(out);
    m.n_parts = 0;
    /* features asked for: just these columns */
    job.format = "l";
    m.features = "{\"id\": {\"dtype\": \"int64\", \"_type\": \"Value\"}}";
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ESCHEMA, "");
    job.kind = GREBE_MAP_REPLACE;
    job.name = "id";
    m.features = "{\"id\": {\"dtype\": \"string\", \"_type\": \"Value\"}}";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_string_equal(features_find(out->features, "id")->dtype, "string");
    grebe_dataset_free(out);
    (void)again;
    grebe_dataset_free(ds);
}

static void knows_nothing_from_something(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = made_set(f->ctx, 25, 4), *out = NULL;
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    m.batch_rows = 5;
    job.nothing_from = 0;
    job.nothing_to = 100;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_ptr_equal(out, ds);
    grebe_dataset_free(out);
    job.nothing_to = 10;
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ESCHEMA,
                 "row 10: the function gave something after row 0");
    job.nothing_from = 10;
    job.nothing_to = 100;
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ESCHEMA,
                 "row 10: the function gave nothing after row 0");
    m.n_parts = 5;
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ESCHEMA, "nothing");
    assert_null(out);
    grebe_dataset_free(ds);
}

static void counts_rows(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    grebe_dataset *ds = made_set(f->ctx, 25, 4), *out = NULL, *none = made_set(f->ctx, 0, 4);
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    m.batch_rows = 10;
    m.drop_last_batch = true;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(out->n_rows, 20);
    grebe_dataset_free(out);
    m.n_parts = 2; /* 13 and 12 rows: a batch of ten of each */
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(out->n_rows, 20);
    grebe_dataset_free(out);
    m.drop_last_batch = false;
    m.n_parts = 0;
    job.give = 3;
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ESCHEMA,
                 "rows 0 to 9: the function gave 3 rows for 10");
    job.kind = GREBE_MAP_REPLACE;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(out->n_rows, 9);
    grebe_dataset_free(out);
    job.give = 0; /* no rows at all: those columns that there were */
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(out->n_rows, 0);
    assert_columns(out, "id,text,label");
    grebe_dataset_free(out);
    m.is_rows_fixed = true;
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err), GREBE_ESCHEMA, "0 rows for 10");
    /* one batch of all */
    m = (grebe_map_options)GREBE_MAP_OPTIONS_INIT;
    m.batch_rows = -1;
    job = (struct job)JOB_INIT;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(job.n_calls, 1);
    grebe_dataset_free(out);
    /* no rows: the function is not called */
    job = (struct job)JOB_INIT;
    const char *const text = "text";
    m.remove_columns = &text;
    m.n_remove_columns = 1;
    assert_ok(grebe_dataset_map(none, apply, &job, &m, NULL, &out, &err));
    assert_int_equal(job.n_calls, 0);
    assert_columns(out, "id,label");
    grebe_dataset_free(out);
    grebe_dataset_free(none);
    grebe_dataset_free(ds);
}

/* Files of the folder whose names hold a text. */
static int n_files(const char *folder, const char *part)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        n += strstr(e->d_name, part) != NULL;
    }
    closedir(dir);
    return n;
}

static void writes_parts_and_finds_them(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = saved_set(f, 70, path), *out = NULL, *first = NULL;
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    m.batch_rows = 5;
    m.function_id = "double of id";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &first, &err));
    assert_int_equal(job.n_calls, 14);
    assert_int_equal(n_files(path, "cache-"), 1);
    char name[64];
    snprintf(name, sizeof name, "cache-%s-columns.arrow", first->fingerprint);
    assert_int_equal(n_files(path, name), 1);
    /* the same again, and asked for in parts: found */
    for (int n = 0; n < 4; n++) {
        m.n_parts = n;
        assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
        assert_int_equal(job.n_calls, 14);
        assert_string_equal(out->fingerprint, first->fingerprint);
        assert_same_rows(out, first);
        grebe_dataset_free(out);
    }
    /* another function, batch size or column set: not */
    m.n_parts = 0;
    m.function_id = "other";
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
    assert_string_not_equal(out->fingerprint, first->fingerprint);
    assert_int_equal(job.n_calls, 28);
    grebe_dataset_free(out);
    m.function_id = NULL; /* unknown: never found */
    for (int i = 0; i < 2; i++) {
        assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
        assert_int_equal(job.n_calls, 42 + 14 * i);
        grebe_dataset_free(out);
    }
    /* any number of parts gives the same rows */
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    call.threads = 4;
    o.call = &call;
    o.ignore_cache = true;
    m.function_id = "double of id";
    for (int n = 1; n <= 8; n++) {
        m.n_parts = n;
        assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
        assert_same_rows(out, first);
        assert_string_equal(out->fingerprint, first->fingerprint);
        grebe_dataset_free(out);
    }
    snprintf(name, sizeof name, "cache-%s-columns_00006_of_00007.arrow", first->fingerprint);
    assert_int_equal(n_files(path, name), 1);
    assert_int_equal(n_files(path, ".tmp"), 0);
    grebe_dataset_free(first);
    grebe_dataset_free(ds);
}

static void completes_what_was_interrupted(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = saved_set(f, 70, path), *out = NULL;
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    grebe_call_options call = GREBE_CALL_OPTIONS_INIT;
    call.threads = 1;
    o.call = &call;
    m.batch_rows = 5;
    m.n_parts = 7;
    m.function_id = "fails";
    job.fail_at = 42; /* in the fifth part: four are written */
    assert_fails(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err), GREBE_EINVAL,
                 "rows 40 to 44: does not like it");
    assert_null(out);
    assert_int_equal(n_files(path, "cache-"), 4);
    assert_int_equal(n_files(path, "tmp"), 0);
    bool is_done[16];
    int32_t n_parts = 0;
    m.n_parts = 4; /* asked for otherwise, the seven are completed */
    assert_ok(grebe_dataset_map_plan(ds, false, &m, &o, &n_parts, is_done, 16, &err));
    assert_int_equal(n_parts, 7);
    assert_true(is_done[3] && !is_done[4] && !is_done[6]);
    job.fail_at = -1;
    job.n_rows = 0;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
    assert_int_equal(job.n_rows, 30);
    assert_int_equal(out->n_rows, 70);
    grebe_dataset_free(out);
    /* one part alone, as a worker process asks */
    m.function_id = "workers";
    m.n_parts = 3;
    m.part = 1;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
    assert_int_equal(out->n_rows, 23);
    assert_non_null(strstr(out->fingerprint, "_00001_of_00003"));
    grebe_dataset_free(out);
    m.part = -1;
    job.n_rows = 0;
    assert_ok(grebe_dataset_map(ds, apply, &job, &m, &o, &out, &err));
    assert_int_equal(job.n_rows, 47);
    grebe_dataset_free(out);
    grebe_dataset_free(ds);
}

static grebe_status keep_even(void *ctx, const grebe_map_input *in, uint8_t *keep, grebe_error *err)
{
    struct job *job = ctx;
    atomic_fetch_add(&job->n_calls, 1);
    for (int64_t i = 0; i < in->rows->length; i++) {
        int64_t id = ((const int64_t *)in->rows->children[0]->buffers[1])[in->rows->children[0]->offset + i];
        keep[i] = id % 2 == 0;
        if (id == job->fail_at) {
            return GREBE_FAIL(err, GREBE_EINVAL, "id %d", (int)id);
        }
    }
    return GREBE_OK;
}

static void filters(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char path[300];
    grebe_dataset *ds = saved_set(f, 70, path), *shuffled = NULL, *out = NULL, *again = NULL, *plain = NULL;
    struct job job = JOB_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    uint32_t seed = 7;
    m.batch_rows = 9;
    m.function_id = "even";
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, NULL, &shuffled, &err));
    for (int n = 0; n < 5; n++) {
        grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
        o.ignore_cache = true;
        m.n_parts = n;
        assert_ok(grebe_dataset_filter_fn(shuffled, keep_even, &job, &m, &o, &out, &err));
        assert_ok(grebe_dataset_filter(shuffled, "id % 2 = 0", NULL, &plain, &err));
        assert_int_equal(out->n_rows, 35);
        assert_same_rows(out, plain);
        grebe_dataset_free(out);
        grebe_dataset_free(plain);
    }
    int before = job.n_calls;
    m.n_parts = 2;
    assert_ok(grebe_dataset_filter_fn(shuffled, keep_even, &job, &m, NULL, &out, &err));
    assert_int_equal(job.n_calls, before); /* found */
    /* filters one after another */
    assert_ok(grebe_dataset_filter(out, "id < 10", NULL, &again, &err));
    assert_int_equal(again->n_rows, 5);
    grebe_dataset_free(again);
    assert_ok(grebe_dataset_filter(out, "id >= 0", NULL, &again, &err));
    assert_same_rows(again, out);
    grebe_dataset_free(again);
    assert_ok(grebe_dataset_filter(out, "id < 0", NULL, &again, &err));
    assert_int_equal(again->n_rows, 0);
    grebe_dataset_free(again);
    assert_fails(grebe_dataset_filter(out, "ids < 0", NULL, &again, &err), GREBE_ENOTFOUND, "ids");
    job.fail_at = 20;
    m.function_id = NULL;
    assert_fails(grebe_dataset_filter_fn(ds, keep_even, &job, &m, NULL, &again, &err), GREBE_EINVAL,
                 "rows 18 to 26: id 20");
    grebe_dataset_free(out);
    grebe_dataset_free(shuffled);
    grebe_dataset_free(ds);
}

/* ---- what the library left in its cache ---- */

static void copy_folder(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char x[900], y[900];
        size_t len = 0;
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(x, sizeof x, "%s/%.200s", from, e->d_name);
        snprintf(y, sizeof y, "%s/%.200s", to, e->d_name);
        unsigned char *bytes = test_read_file(x, &len);
        test_write_file(y, bytes, len);
        free(bytes);
    }
    closedir(dir);
}

static grebe_status never(void *ctx, const grebe_map_input *in, grebe_map_output *out, grebe_error *err)
{
    (void)ctx, (void)in, (void)out;
    return GREBE_FAIL(err, GREBE_EINVAL, "it was called");
}

static grebe_status never_kept(void *ctx, const grebe_map_input *in, uint8_t *keep, grebe_error *err)
{
    (void)ctx, (void)in, (void)keep;
    return GREBE_FAIL(err, GREBE_EINVAL, "it was called");
}

static void finds_what_the_library_cached(void **state)
{
    struct fixture *f = *state;
    grebe_error err;
    char file[400];
    const char *path = file;
    uint32_t seed = 42;
    static const char folder[] = CASES "cache/plain/csv/default-972686286a8b0ff1/0.0.0/"
                                       "7067e4b2422ab4b7d61ccf25eb67c03d0df17a5264a8fa53f4593051b5adb555";
    static const int64_t shuffled[] = { 15, 16, 19, 20, 9, 7, 17, 24, 6, 10, 3, 0, 21, 18, 12, 5, 11, 14, 23, 2, 4, 22, 1, 13, 8 };
    static const int64_t sorted[] = { 16, 9, 23, 19, 10, 22, 0, 13, 15, 12, 11, 7, 5, 4, 20, 1, 24, 18, 2, 8, 21, 14, 17, 6, 3 };
    grebe_dataset *made = NULL, *ds = NULL, *mixed = NULL, *out = NULL;
    grebe_dataset_labels labels = { .fingerprint = "ad46de3f6fd2269d" };
    copy_folder(folder, f->folder);
    snprintf(file, sizeof file, "%s/csv-train.arrow", f->folder);
    assert_ok(grebe_dataset_of_files(f->ctx, &path, 1, NULL, &made, &err));
    assert_ok(grebe_dataset_with(made, &labels, &ds, &err));
    int before = n_files(f->folder, "arrow");
    assert_ok(grebe_dataset_shuffle(ds, (grebe_seed){ &seed, 1 }, NULL, &mixed, &err));
    assert_string_equal(mixed->fingerprint, "9541f6e1efc48137");
    assert_ids(mixed, shuffled, 25);
    assert_ok(grebe_dataset_sort(mixed, &(grebe_sort_key){ "t", false }, 1, false, NULL, &out, &err));
    assert_string_equal(out->fingerprint, "757289a7811d510e");
    assert_ids(out, sorted, 25);
    grebe_dataset_free(out);
    grebe_transform_options o = GREBE_TRANSFORM_OPTIONS_INIT;
    grebe_map_options m = GREBE_MAP_OPTIONS_INIT;
    o.new_fingerprint = "feed0000000003ab";
    m.n_parts = 3;
    assert_ok(grebe_dataset_map(ds, never, NULL, &m, &o, &out, &err));
    assert_int_equal(out->n_rows, 25);
    int64_t *ids = ids_of(out, "id");
    assert_int_equal(ids[24], 25);
    free(ids);
    grebe_dataset_free(out);
    m.n_parts = 0;
    assert_ok(grebe_dataset_map(ds, never, NULL, &m, &o, &out, &err)); /* three parts stand for one */
    grebe_dataset_free(out);
    o.new_fingerprint = "feed00000000c0de";
    assert_ok(grebe_dataset_map(ds, never, NULL, &m, &o, &out, &err));
    assert_int_equal(out->n_rows, 25);
    grebe_dataset_free(out);
    o.new_fingerprint = "feed00000000f11e";
    assert_ok(grebe_dataset_filter_fn(ds, never_kept, NULL, &m, &o, &out, &err));
    assert_ids(out, (const int64_t[]){ 0, 3, 6, 9, 12, 15, 18, 21, 24 }, 9);
    assert_int_equal(out->n_files, 2);
    grebe_dataset_free(out);
    assert_int_equal(n_files(f->folder, "arrow"), before); /* nothing was written */
    grebe_dataset_free(mixed);
    grebe_dataset_free(ds);
    grebe_dataset_free(made);
}

static void reads_names_of_parts(void **state)
{
    (void)state;
    grebe_error err;
    struct buf text = BUF_INIT(mem_system());
    int32_t rank = 0, n = 0;
    assert_ok(map_suffix_check(MAP_SUFFIX_DEFAULT, &err));
    assert_ok(map_suffix_put(MAP_SUFFIX_DEFAULT, 3, 12, &text, &err));
    assert_string_equal(buf_text(&text), "_00003_of_00012");
    assert_true(map_suffix_parse(MAP_SUFFIX_DEFAULT, "_00003_of_00012", 15, &rank, &n));
    assert_int_equal(rank, 3);
    assert_int_equal(n, 12);
    assert_false(map_suffix_parse(MAP_SUFFIX_DEFAULT, "_00012_of_00012", 15, &rank, &n));
    assert_false(map_suffix_parse(MAP_SUFFIX_DEFAULT, "_3_of_00012", 11, &rank, &n));
    assert_false(map_suffix_parse(MAP_SUFFIX_DEFAULT, "_00003_of_00012x", 16, &rank, &n));
    assert_true(map_suffix_parse("-{num_proc}-{rank}", "-5-4", 4, &rank, &n));
    assert_fails(map_suffix_check("_{rank}", &err), GREBE_EINVAL, "num_proc");
    assert_fails(map_suffix_check("_{rank}_{rank}_{num_proc}", &err), GREBE_EINVAL, "once");
    assert_fails(map_suffix_check("_{rank}_{nproc}", &err), GREBE_EINVAL, "nproc");
    assert_fails(map_suffix_check("_{rank:05x}_{num_proc}", &err), GREBE_EINVAL, "05x");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(puts_columns_in_their_places, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(keeps_and_finds_types, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(knows_nothing_from_something, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(counts_rows, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(writes_parts_and_finds_them, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(completes_what_was_interrupted, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(filters, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(finds_what_the_library_cached, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(reads_names_of_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
