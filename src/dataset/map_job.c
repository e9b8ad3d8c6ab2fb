/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/map_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "dataset/map_suffix.h"
#include "dataset/order.h"

enum { BATCH_ROWS = 1000, PARTS_MAX = 1 << 20 };

static const char *template_of(const struct map_job *j)
{
    return j->m.suffix_template != NULL ? j->m.suffix_template : MAP_SUFFIX_DEFAULT;
}

/* ---- what was asked ---- */

static grebe_status check_map(struct map_job *j, grebe_error *err)
{
    const grebe_map_options *m = &j->m;
    if (m->batch_rows < -1 || m->n_parts < 0 || m->n_parts > PARTS_MAX || m->part < -1 ||
        (m->part >= 0 && m->part >= max_i64(1, m->n_parts))) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "batch_rows %lld, part %d of %d: expected -1 or more rows, a part below the number of parts",
                          (long long)m->batch_rows, (int)m->part, (int)m->n_parts);
    }
    j->batch_rows = m->batch_rows == 0 ? BATCH_ROWS : m->batch_rows < 0 ? INT64_MAX : m->batch_rows;
    grebe_status st = map_suffix_check(template_of(j), err);
    if (st == GREBE_OK && m->features != NULL) {
        st = features_from_json(j->t.ds->ctx->a, m->features, strlen(m->features), &j->given, err);
    }
    return st;
}

static grebe_status choose_columns(struct map_job *j, grebe_error *err)
{
    const grebe_dataset *ds = j->t.ds;
    const grebe_allocator *a = ds->ctx->a;
    grebe_status st = GREBE_OK;
    size_t n = ds->features->top.n_fields;
    j->n_input = j->m.input_columns != NULL ? j->m.n_input_columns : n;
    j->input = mem_alloc(a, j->n_input * sizeof *j->input);
    j->is_removed = mem_alloc_zero(a, n);
    j->carried = mem_alloc(a, n * sizeof *j->carried);
    if (j->input == NULL || j->is_removed == NULL || j->carried == NULL) {
        return mem_fail(err, n * sizeof *j->input, "columns");
    }
    if (j->m.input_columns != NULL) {
        st = dataset_find_columns(ds, j->m.input_columns, j->n_input, j->input, err);
    }
    for (size_t i = 0; j->m.input_columns == NULL && i < n; i++) {
        j->input[i] = (int)i;
    }
    for (size_t i = 0; i < j->m.n_remove_columns && st == GREBE_OK; i++) {
        int column = 0;
        st = dataset_find_columns(ds, &j->m.remove_columns[i], 1, &column, err);
        if (st == GREBE_OK) {
            j->is_removed[column] = true;
        }
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        bool is_input = false;
        for (size_t k = 0; k < j->n_input; k++) {
            is_input = is_input || j->input[k] == (int)i;
        }
        if (!is_input && !j->is_removed[i]) {
            j->carried[j->n_carried++] = (int)i;
        }
    }
    return st == GREBE_OK ? schema_project(a, &ds->schema, j->input, j->n_input, &j->input_schema, err) : st;
}

static grebe_status absorb(struct map_job *j, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct transform *t = &j->t;
    const grebe_map_options *m = &j->m;
    if (j->batch_rows != BATCH_ROWS) {
        GREBE_TRY(fingerprint_arg_int(&t->f, "batch_size", m->batch_rows, err));
    }
    GREBE_TRY(fingerprint_arg_bool(&t->f, "batched", true, err));
    if (m->drop_last_batch) {
        GREBE_TRY(fingerprint_arg_bool(&t->f, "drop_last_batch", true, err));
    }
    if (m->features != NULL) {
        GREBE_TRY(fingerprint_arg_json(&t->f, "features", m->features, err));
    }
    GREBE_TRY(transform_arg_name(t, err));
    if (m->function_id != NULL) {
        GREBE_TRY(fingerprint_arg_text(&t->f, "function", m->function_id, err));
    } else {
        char drawn[17];
        GREBE_TRY(fingerprint_random(t->ds->ctx, drawn, err));
        GREBE_TRY(fingerprint_arg_text(&t->f, "function", drawn, err));
    }
    if (m->input_columns != NULL) {
        GREBE_TRY(fingerprint_arg_texts(&t->f, "input_columns", m->input_columns, m->n_input_columns, err));
    }
    GREBE_TRY(transform_arg_memory(t, err));
    if (m->n_remove_columns > 0) {
        GREBE_TRY(fingerprint_arg_texts(&t->f, "remove_columns", m->remove_columns, m->n_remove_columns, err));
    }
    if (!m->is_type_kept) {
        GREBE_TRY(fingerprint_arg_bool(&t->f, "try_original_type", false, err));
    }
    GREBE_TRY(transform_arg_batch(t, err));
    GREBE_TRY(transform_seal(t, NULL, err));
out:
    return st;
}

/* ---- parts ---- */

/* Part i of n. */
static grebe_status path_of_part(const struct map_job *j, int32_t i, int32_t n, const char *suffix, struct buf *dst,
                                 grebe_error *err)
{
    if (j->path == NULL) {
        return GREBE_OK;
    }
    const char *dot = strrchr(path_base_name(j->path), '.');
    grebe_status st = buf_put(dst, j->path, (size_t)(dot - j->path), err);
    st = st == GREBE_OK ? buf_put_text(dst, suffix, err) : st;
    if (st == GREBE_OK && n > 1) {
        st = map_suffix_put(template_of(j), i, n, dst, err);
    }
    return st == GREBE_OK ? buf_put(dst, dot, strlen(dot) + 1, err) : st;
}

/* How many parts of each number are there already. */
struct found {
    const struct map_job *j;
    const char *prefix, *extension;
    struct buf counts; /* struct count */
};

struct count {
    int32_t n, n_found;
};

static grebe_status count_file(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    struct found *f = arg;
    size_t len = strlen(name), n_prefix = strlen(f->prefix), n_extension = strlen(f->extension);
    int32_t rank = 0, n = 0;
    (void)kind;
    if (strncmp(name, f->prefix, n_prefix) != 0) {
        return GREBE_OK;
    }
    size_t n_suffix = strlen(MAP_COLUMNS_SUFFIX);
    n_prefix += strncmp(name + n_prefix, MAP_COLUMNS_SUFFIX, n_suffix) == 0 ? n_suffix : 0;
    if (len <= n_prefix + n_extension || strcmp(name + len - n_extension, f->extension) != 0 ||
        !map_suffix_parse(template_of(f->j), name + n_prefix, len - n_prefix - n_extension, &rank, &n)) {
        return GREBE_OK;
    }
    struct count *known = (struct count *)(void *)f->counts.data;
    for (size_t i = 0; i < f->counts.len / sizeof *known; i++) {
        if (known[i].n == n) {
            known[i].n_found++;
            return GREBE_OK;
        }
    }
    return buf_put(&f->counts, &(struct count){ n, 1 }, sizeof(struct count), err);
}

/* Whether x is the better number of parts: less is missing, nearer to what is wanted, smaller. */
static bool is_better(const struct count *x, const struct count *y, int32_t wanted)
{
    int64_t missing_x = (int64_t)(x->n - x->n_found) * y->n, missing_y = (int64_t)(y->n - y->n_found) * x->n;
    int32_t far_x = abs(x->n - wanted), far_y = abs(y->n - wanted);
    return missing_x != missing_y ? missing_x < missing_y : far_x != far_y ? far_x < far_y : x->n < y->n;
}

/* Whether all rows are there as one part. */
static grebe_status find_whole(const struct map_job *j, struct count *whole, grebe_error *err)
{
    struct buf path = BUF_INIT(j->t.ds->ctx->a);
    grebe_status st = path_of_part(j, 0, 1, MAP_COLUMNS_SUFFIX, &path, err);
    whole->n_found = transform_finds(&j->t, j->path) || (st == GREBE_OK && transform_finds(&j->t, (const char *)path.data));
    buf_release(&path);
    return st;
}

static grebe_status plan_parts(struct map_job *j, grebe_error *err)
{
    const grebe_dataset *ds = j->t.ds;
    int32_t wanted = (int32_t)max_i64(1, min_i64(max_i64(1, j->m.n_parts), ds->n_rows));
    j->n_parts = j->m.part >= 0 ? (int32_t)max_i64(1, j->m.n_parts) : wanted;
    if (j->path == NULL || j->t.o.ignore_cache || j->is_unknown || j->m.part >= 0) {
        return GREBE_OK;
    }
    struct found f = { .j = j, .counts = BUF_INIT(ds->ctx->a) };
    struct io_store *store = NULL;
    const char *base = path_base_name(j->path), *dot = strrchr(base, '.');
    char *prefix = str_copy_len(ds->ctx->a, base, (size_t)(dot - base));
    char *folder =
        base == j->path ? str_copy(ds->ctx->a, ".") : str_copy_len(ds->ctx->a, j->path, (size_t)(base - j->path));
    grebe_status st = prefix == NULL || folder == NULL ? mem_fail(err, strlen(j->path), "a path")
                                                       : io_local_new(ds->ctx, &store, err);
    if (st == GREBE_OK) {
        f.prefix = prefix;
        f.extension = dot;
        struct io_info info;
        if (io_stat(store, folder, &info, NULL) == GREBE_OK) {
            st = io_list(store, folder, count_file, &f, err);
        }
    }
    if (st == GREBE_OK) {
        struct count best = { wanted, 0 }, whole = { 1, 0 };
        st = find_whole(j, &whole, err);
        const struct count *known = (const struct count *)(const void *)f.counts.data;
        for (size_t i = 0; i < f.counts.len / sizeof *known; i++) {
            if (known[i].n <= PARTS_MAX && is_better(&known[i], &best, wanted)) {
                best = known[i];
            }
        }
        best = whole.n_found > 0 && is_better(&whole, &best, wanted) ? whole : best;
        j->n_parts = best.n;
    }
    buf_release(&f.counts);
    str_free(ds->ctx->a, prefix);
    str_free(ds->ctx->a, folder);
    io_store_free(store);
    return st;
}

grebe_status map_job_begin(struct map_job *j, const grebe_dataset *ds, bool is_filter, const grebe_map_options *map,
                           const grebe_transform_options *options, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *path = NULL;
    memset(j, 0, sizeof *j);
    pthread_mutex_init(&j->lock, NULL);
    j->m = (grebe_map_options)GREBE_MAP_OPTIONS_INIT;
    j->is_filter = is_filter;
    GREBE_TRY(transform_begin(&j->t, ds, options, is_filter ? "filter@2.0.1" : "_map_single", err));
    GREBE_TRY(options_copy(&j->m, sizeof j->m, map, err));
    j->is_unknown = j->m.function_id == NULL && j->t.o.new_fingerprint == NULL && j->t.o.cache_file == NULL;
    GREBE_TRY(check_map(j, err));
    GREBE_TRY(choose_columns(j, err));
    GREBE_TRY(absorb(j, err));
    GREBE_TRY(transform_path(&j->t, NULL, "", &path, err));
    if (path != NULL) {
        j->path = str_copy(ds->ctx->a, path);
        if (j->path == NULL) {
            st = mem_fail(err, strlen(path), path);
            goto out;
        }
    }
    GREBE_TRY(plan_parts(j, err));
out:
    return st;
}

void map_job_end(struct map_job *j)
{
    const grebe_allocator *a = j->t.ds->ctx->a;
    size_t n = j->t.ds->features->top.n_fields;
    mem_free(a, j->input, j->input != NULL ? j->n_input * sizeof *j->input : 0);
    mem_free(a, j->is_removed, n);
    mem_free(a, j->carried, n * sizeof *j->carried);
    schema_release(&j->input_schema);
    features_free(j->given);
    str_free(a, j->path);
    pthread_mutex_destroy(&j->lock);
    transform_end(&j->t);
}

void map_job_range(const struct map_job *j, int32_t i, int64_t *begin, int64_t *end)
{
    order_part(j->t.ds->n_rows, j->n_parts, i, begin, end);
}

grebe_status map_job_path(const struct map_job *j, int32_t i, const char *suffix, struct buf *dst, grebe_error *err)
{
    return path_of_part(j, i, j->n_parts, suffix, dst, err);
}

grebe_status map_job_fingerprint(const struct map_job *j, int32_t i, struct buf *dst, grebe_error *err)
{
    grebe_status st = buf_put_text(dst, j->t.fingerprint, err);
    if (st == GREBE_OK && j->n_parts > 1) {
        st = map_suffix_put(template_of(j), i, j->n_parts, dst, err);
    }
    return st == GREBE_OK ? buf_put_byte(dst, 0, err) : st;
}

grebe_status map_job_forget(const struct map_job *j, const char *path, grebe_error *err)
{
    struct io_store *store = NULL;
    grebe_status st = path != NULL ? io_local_new(j->t.ds->ctx, &store, err) : GREBE_OK;
    st = st == GREBE_OK && path != NULL ? io_remove(store, path, err) : st;
    io_store_free(store);
    return st;
}

bool map_job_finds(const struct map_job *j, const char *path)
{
    return !j->is_unknown && path != NULL && transform_finds(&j->t, path);
}

grebe_status map_job_read(struct map_job *j, int64_t begin, int64_t end, int32_t part, struct ArrowArray *rows,
                          grebe_map_input *in, grebe_error *err)
{
    grebe_status st = transform_check(&j->t, err);
    st = st == GREBE_OK ? dataset_read_rows(j->t.ds, begin, end, j->input, j->n_input, rows, err) : st;
    *in = (grebe_map_input){ &j->input_schema, rows, begin, j->n_parts > 1 || j->m.part > 0 ? part : 0 };
    return st;
}

void map_job_progress(struct map_job *j, int64_t n)
{
    pthread_mutex_lock(&j->lock);
    j->n_done += n;
    transform_progress(&j->t, j->is_filter ? "filter" : "map", j->n_done, j->t.ds->n_rows);
    pthread_mutex_unlock(&j->lock);
}

grebe_status grebe_dataset_map_plan(const grebe_dataset *ds, bool is_filter, const grebe_map_options *map,
                                    const grebe_transform_options *options, int32_t *n_parts, bool *is_done, size_t max,
                                    grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && n_parts != NULL);
    struct map_job j;
    struct buf path = BUF_INIT(ds->ctx->a);
    grebe_status st = map_job_begin(&j, ds, is_filter, map, options, err);
    if (st == GREBE_OK) {
        *n_parts = j.n_parts;
    }
    for (int32_t i = 0; st == GREBE_OK && is_done != NULL && i < j.n_parts && (size_t)i < max; i++) {
        static const char *const suffixes[] = { "", MAP_COLUMNS_SUFFIX };
        is_done[i] = false;
        for (size_t k = 0; k < 2 && st == GREBE_OK && !is_done[i]; k++) {
            buf_clear(&path);
            st = map_job_path(&j, i, suffixes[k], &path, err);
            is_done[i] = st == GREBE_OK && path.len > 0 && map_job_finds(&j, (const char *)path.data);
        }
    }
    map_job_end(&j);
    buf_release(&path);
    return st;
}
