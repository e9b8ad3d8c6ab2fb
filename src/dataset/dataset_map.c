/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/map_beside.h"
#include "dataset/rows_sink.h"

/* What became of one part. */
struct part {
    struct map_job *j;
    int32_t i;
    int64_t nothing_row, something_row; /* a batch that gave nothing, or something; -1: none */
    struct features *features; /* of the result */
    struct features *given;    /* of the file, when it has only the columns that the function gave; else NULL */
    struct rows_sink *sink;
    int64_t n_put;
    struct buf pending; /* struct map_batch: before the types of all columns are known */
    struct buf path, path_beside, fingerprint;
    struct dataset_table *table; /* NULL: nothing */
};

static void part_release(struct part *p)
{
    struct map_batch *b = (struct map_batch *)(void *)p->pending.data;
    for (size_t i = 0; i < p->pending.len / sizeof *b; i++) {
        map_batch_release(p->j, &b[i]);
    }
    buf_release(&p->pending);
    buf_release(&p->path);
    buf_release(&p->path_beside);
    buf_release(&p->fingerprint);
    rows_sink_free(p->sink);
    features_free(p->features);
    features_free(p->given);
    dataset_table_drop(p->table);
}

/* ---- batches into the part's file ---- */

static int64_t part_begin(const struct part *p)
{
    int64_t begin = 0, end = 0;
    map_job_range(p->j, p->i, &begin, &end);
    return begin;
}

static const char *path_of(const struct buf *path)
{
    return path->len > 0 ? (const char *)path->data : NULL;
}

/* For whole rows (given NULL), or for the columns that the function gives. */
static grebe_status open_sink(struct part *p, grebe_error *err)
{
    const struct map_job *j = p->j;
    struct rows_writer_options o = { (const char *)p->fingerprint.data, j->t.o.writer_batch_rows, false, false };
    return rows_sink_new(j->t.ds->ctx, path_of(p->given != NULL ? &p->path_beside : &p->path),
                         p->given != NULL ? p->given : p->features, &o, &p->sink, err);
}

/* The file of the columns given is done: the table of both. */
static grebe_status finish_beside(struct part *p, struct dataset_table **out, grebe_error *err)
{
    struct dataset_table *given = NULL;
    struct features *features = NULL;
    grebe_status st = rows_sink_finish(p->sink, &given, err);
    if (st == GREBE_OK) {
        st = map_beside_join(p->j, part_begin(p), p->n_put, given, p->given, &features, out, err);
    }
    if (st == GREBE_OK) {
        features_free(p->features);
        p->features = features;
        features = NULL;
    }
    features_free(features);
    dataset_table_drop(given);
    return st;
}

/* A batch came that is not like those before: what was written of their columns becomes whole rows. */
static grebe_status write_whole(struct part *p, grebe_error *err)
{
    enum { ROWS = 1000 };
    struct dataset_table *before = NULL;
    grebe_status st = finish_beside(p, &before, err);
    rows_sink_free(p->sink);
    p->sink = NULL;
    features_free(p->given);
    p->given = NULL;
    st = st == GREBE_OK ? open_sink(p, err) : st;
    for (int64_t row = 0; row < p->n_put && st == GREBE_OK; row += ROWS) {
        struct ArrowArray rows = { 0 };
        st = dataset_table_read(before, row, min_i64(row + ROWS, p->n_put), NULL, 0, &rows, err);
        st = st == GREBE_OK ? rows_sink_put(p->sink, &rows, err) : st;
    }
    dataset_table_drop(before);
    return st == GREBE_OK ? map_job_forget(p->j, path_of(&p->path_beside), err) : st;
}

/* moved in, also on failure */
static grebe_status put_batch(struct part *p, struct map_batch *b, int64_t first_row, grebe_error *err)
{
    const grebe_allocator *a = p->j->t.ds->ctx->a;
    struct feature_cast_options o = { .first_row = first_row };
    struct ArrowArray cast = { 0 };
    struct map_batch given = { 0 };
    int64_t n = b->rows.length;
    grebe_status st = GREBE_OK;
    if (p->given != NULL && !map_beside_is_alike(b, p->given)) {
        GREBE_TRY(write_whole(p, err));
    }
    if (p->given != NULL) {
        GREBE_TRY(map_beside_given(p->j, b, &given, err));
        GREBE_TRY(features_cast(a, p->given, &given.schema, &given.rows, &o, &cast, err));
    } else {
        GREBE_TRY(features_cast(a, p->features, &b->schema, &b->rows, &o, &cast, err));
    }
    GREBE_TRY(rows_sink_put(p->sink, &cast, err));
    p->n_put += n;
out:
    map_batch_release(p->j, b);
    map_batch_release(p->j, &given);
    return st;
}

/* The types are known: the file is begun, and what waited is written. first: the batch that told. */
static grebe_status begin_sink(struct part *p, const struct map_batch *first, grebe_error *err)
{
    struct map_job *j = p->j;
    grebe_status st = GREBE_OK;
    if (first != NULL && map_beside_allowed(j) && map_beside_fits(j, first, p->features)) {
        st = map_beside_given_features(j, first, p->features, &p->given, err);
    }
    st = st == GREBE_OK ? open_sink(p, err) : st;
    struct map_batch *b = (struct map_batch *)(void *)p->pending.data;
    for (size_t i = 0; i < p->pending.len / sizeof *b; i++) {
        if (st == GREBE_OK) {
            st = put_batch(p, &b[i], 0, err);
        } else {
            map_batch_release(j, &b[i]);
        }
    }
    buf_clear(&p->pending);
    return st;
}

static grebe_status put_given_features(struct part *p, grebe_error *err)
{
    return features_merge(p->j->t.ds->ctx->a, p->j->given, p->j->given, &p->features, err);
}

/* A batch of something; moved in, also on failure. */
static grebe_status take_batch(struct part *p, struct map_batch *b, int64_t first_row, grebe_error *err)
{
    struct map_job *j = p->j;
    grebe_status st = GREBE_OK;
    if (b->rows.length == 0) { /* rows that are not there say nothing of types */
        goto out;
    }
    if (p->sink == NULL && j->given != NULL) {
        if (p->features == NULL) {
            GREBE_TRY(put_given_features(p, err));
        }
    } else if (p->sink == NULL) {
        GREBE_TRY(map_batch_features(j, b, &p->features, err));
        if (map_features_are_open(p->features)) {
            GREBE_TRY(buf_put(&p->pending, b, sizeof *b, err));
            memset(b, 0, sizeof *b);
            goto out;
        }
    }
    if (p->sink == NULL) {
        GREBE_TRY(begin_sink(p, b, err));
    }
    st = put_batch(p, b, first_row, err);
out:
    map_batch_release(j, b);
    return st;
}

static grebe_status note_kind(struct part *p, bool is_nothing, int64_t row, grebe_error *err)
{
    int64_t *own = is_nothing ? &p->nothing_row : &p->something_row;
    int64_t other = is_nothing ? p->something_row : p->nothing_row;
    if (other >= 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "row %lld: the function gave %s after row %lld, where it gave %s",
                          (long long)row, is_nothing ? "nothing" : "something", (long long)other,
                          is_nothing ? "something" : "nothing");
    }
    *own = *own < 0 ? row : *own;
    return GREBE_OK;
}

/* ---- a part ---- */

static grebe_status run_batches(struct part *p, grebe_error *err)
{
    struct map_job *j = p->j;
    int64_t begin = 0, end = 0;
    grebe_status st = GREBE_OK;
    map_job_range(j, p->i, &begin, &end);
    for (int64_t row = begin; row < end && st == GREBE_OK;) {
        struct map_batch b;
        int64_t n = min_i64(j->batch_rows, end - row);
        if (j->m.drop_last_batch && j->batch_rows != INT64_MAX && n < j->batch_rows) {
            break;
        }
        st = map_batch_make(j, row, row + n, p->i, &b, err);
        if (st == GREBE_OK) {
            st = note_kind(p, b.is_nothing, row, err);
            if (st == GREBE_OK && !b.is_nothing) {
                st = take_batch(p, &b, row, err);
            } else {
                map_batch_release(j, &b);
            }
        }
        row += n;
        map_job_progress(j, n);
    }
    return st;
}

/* Rows that a part has when the function gives as many as it gets. */
static int64_t rows_expected(const struct map_job *j, int64_t n)
{
    return j->m.drop_last_batch && j->batch_rows != INT64_MAX ? n - n % j->batch_rows : n;
}

/*
 * A part that was written before: whole rows, or columns beside those of the data set. The columns of fewer rows were left by a
 * process that ended while it made whole rows of them: p->table stays NULL, and the part is computed.
 */
static grebe_status open_part(struct part *p, bool is_beside, grebe_error *err)
{
    const struct map_job *j = p->j;
    const char *path = path_of(is_beside ? &p->path_beside : &p->path);
    int64_t begin = 0, end = 0;
    struct dataset_table *table = NULL;
    grebe_status st = dataset_table_of_files(j->t.ds->ctx, &path, 1, false, &table, err);
    map_job_range(j, p->i, &begin, &end);
    struct features **own = is_beside ? &p->given : &p->features;
    st = st == GREBE_OK ? features_from_schema(j->t.ds->ctx->a, dataset_table_schema(table), true, own, err) : st;
    int64_t n = rows_expected(j, end - begin);
    if (st == GREBE_OK && is_beside && dataset_table_num_rows(table) != n) {
        features_free(p->given);
        p->given = NULL;
        goto out;
    }
    if (st == GREBE_OK && is_beside) {
        st = map_beside_join(j, begin, n, table, p->given, &p->features, &p->table, err);
    } else if (st == GREBE_OK) {
        p->table = dataset_table_keep(table);
    }
    map_job_progress(p->j, end - begin);
out:
    dataset_table_drop(table);
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", path);
}

static grebe_status run_part(void *arg, size_t i, grebe_error *err)
{
    struct part *p = (struct part *)arg + i;
    struct map_job *j = p->j;
    grebe_status st = GREBE_OK;
    GREBE_TRY(map_job_path(j, p->i, "", &p->path, err));
    GREBE_TRY(map_job_path(j, p->i, MAP_COLUMNS_SUFFIX, &p->path_beside, err));
    GREBE_TRY(map_job_fingerprint(j, p->i, &p->fingerprint, err));
    bool is_whole = map_job_finds(j, path_of(&p->path));
    if (is_whole || (map_beside_allowed(j) && map_job_finds(j, path_of(&p->path_beside)))) {
        GREBE_TRY(open_part(p, !is_whole, err));
        if (p->table != NULL) {
            p->something_row = 0;
            goto out;
        }
    }
    GREBE_TRY(run_batches(p, err));
    if (p->something_row < 0 && p->nothing_row >= 0) {
        goto out;
    }
    if (p->features == NULL) { /* no rows at all */
        st = j->given != NULL ? put_given_features(p, err) : dataset_copy_features(j->t.ds, &p->features, err);
        if (st != GREBE_OK) {
            goto out;
        }
    }
    if (p->sink == NULL) {
        const struct map_batch *first = (const struct map_batch *)(const void *)p->pending.data;
        GREBE_TRY(begin_sink(p, p->pending.len > 0 ? first : NULL, err));
    }
    if (p->given != NULL) {
        GREBE_TRY(finish_beside(p, &p->table, err));
    } else {
        GREBE_TRY(rows_sink_finish(p->sink, &p->table, err));
    }
out:
    return st;
}

/* ---- all parts ---- */

static bool is_null_feature(const struct feature *f)
{
    return f->kind == FEATURE_VALUE && strcmp(f->dtype, "null") == 0;
}

/* The features of all parts together: nulls give way to a type. */
static grebe_status unite(struct part *parts, size_t n, const struct features **first, struct features **out,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = parts[0].j->t.ds->ctx->a;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        const struct features *f = parts[i].features;
        if (dataset_table_num_rows(parts[i].table) == 0 && i + 1 < n && *first == NULL) {
            continue; /* types of no rows count only when there are none */
        }
        if (*first == NULL) {
            *first = f;
            st = features_merge(a, f, f, out, err);
            continue;
        }
        for (size_t k = 0; k < f->top.n_fields && st == GREBE_OK && dataset_table_num_rows(parts[i].table) > 0; k++) {
            const struct feature *own = &f->top.fields[k], *known = features_find(*out, own->name);
            if (known == NULL || f->top.n_fields != (*out)->top.n_fields ||
                (!feature_equal(known, own) && !is_null_feature(known) && !is_null_feature(own))) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA,
                                "column \"%.64s\": its type in part %zu is another than in those before", own->name, i);
            } else if (is_null_feature(known) && !is_null_feature(own)) {
                struct features *merged = NULL, *one = NULL;
                const char *name = own->name;
                st = features_project(a, f, &name, NULL, 1, &one, err);
                st = st == GREBE_OK ? features_merge(a, *out, one, &merged, err) : st;
                features_free(one);
                if (st == GREBE_OK) {
                    features_free(*out);
                    *out = merged;
                }
            }
        }
    }
    return st;
}

/* The table of a part with the columns of all. */
static grebe_status fit_table(const struct part *p, const struct features *all, const struct ArrowSchema *schema,
                              struct dataset_table **out, grebe_error *err)
{
    const grebe_allocator *a = p->j->t.ds->ctx->a;
    size_t n = all->top.n_fields;
    int *columns = mem_alloc(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        columns[i] = -1;
        for (size_t k = 0; k < p->features->top.n_fields; k++) {
            const struct feature *f = &p->features->top.fields[k];
            bool is_same = strcmp(f->name, all->top.fields[i].name) == 0 && feature_equal(f, &all->top.fields[i]);
            columns[i] = is_same ? (int)k : columns[i];
        }
    }
    grebe_status st = dataset_table_project(p->table, columns, schema, out, err);
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

static grebe_status join_parts(struct map_job *j, struct part *parts, size_t n, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = j->t.ds->ctx->a;
    struct derived d = { .are_rows_new = true };
    const struct features *first = NULL;
    struct ArrowSchema schema = { 0 };
    struct dataset_table **tables = mem_alloc_zero(a, n * sizeof *tables);
    if (tables == NULL) {
        return mem_fail(err, n * sizeof *tables, "tables");
    }
    GREBE_TRY(unite(parts, n, &first, &d.features, err));
    GREBE_TRY(features_to_schema(a, d.features, &schema, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(fit_table(&parts[i], d.features, &schema, &tables[i], err));
    }
    GREBE_TRY(
        dataset_table_stack(j->t.ds->ctx, (const struct dataset_table *const *)tables, n, &schema, &d.table, err));
    GREBE_TRY(
        dataset_derive(j->t.ds, &d, n == 1 ? (const char *)parts[0].fingerprint.data : j->t.fingerprint, out, err));
out:
    for (size_t i = 0; i < n; i++) {
        dataset_table_drop(tables[i]);
    }
    mem_free(a, tables, n * sizeof *tables);
    schema_release(&schema);
    features_free(d.features);
    dataset_table_drop(d.table);
    return st;
}

static grebe_status check_kinds(const struct part *parts, size_t n, bool *is_nothing, grebe_error *err)
{
    int64_t nothing = -1, something = -1;
    for (size_t i = 0; i < n; i++) {
        nothing = parts[i].nothing_row >= 0 && nothing < 0 ? parts[i].nothing_row : nothing;
        something = parts[i].something_row >= 0 && something < 0 ? parts[i].something_row : something;
    }
    *is_nothing = nothing >= 0 && something < 0;
    return nothing < 0 || something < 0
               ? GREBE_OK
               : GREBE_FAIL(err, GREBE_ESCHEMA, "row %lld: the function gave nothing, at row %lld it gave something",
                            (long long)nothing, (long long)something);
}

static grebe_status map_parts(struct map_job *j, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset *ds = j->t.ds;
    size_t n = j->m.part >= 0 ? 1 : (size_t)j->n_parts;
    bool is_nothing = false;
    struct part *parts = mem_alloc_zero(ds->ctx->a, n * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, n * sizeof *parts, "parts");
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct part){
            .j = j, .i = j->m.part >= 0 ? j->m.part : (int32_t)i, .nothing_row = -1, .something_row = -1
        };
        parts[i].pending = parts[i].path = parts[i].path_beside = parts[i].fingerprint = BUF_INIT(ds->ctx->a);
    }
    GREBE_TRY(parallel_for(ds->ctx->pool, j->t.call.threads, n, run_part, parts, j->t.call.cancel, err));
    GREBE_TRY(check_kinds(parts, n, &is_nothing, err));
    if (is_nothing) {
        *out = grebe_dataset_keep(ds);
    } else {
        st = join_parts(j, parts, n, out, err);
    }
out:
    for (size_t i = 0; i < n; i++) {
        part_release(&parts[i]);
    }
    mem_free(ds->ctx->a, parts, n * sizeof *parts);
    return st;
}

grebe_status grebe_dataset_map(const grebe_dataset *ds, grebe_map_fn fn, void *fn_ctx, const grebe_map_options *map,
                               const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && fn != NULL && out != NULL);
    struct map_job j;
    *out = NULL;
    grebe_status st = map_job_begin(&j, ds, false, map, options, err);
    j.map = fn;
    j.fn_ctx = fn_ctx;
    if (st == GREBE_OK && ds->n_rows == 0) {
        st = j.m.n_remove_columns > 0
                 ? grebe_dataset_remove_columns(ds, j.m.remove_columns, j.m.n_remove_columns, options, out, err)
                 : GREBE_OK;
        *out = st == GREBE_OK && *out == NULL ? grebe_dataset_keep(ds) : *out;
    } else if (st == GREBE_OK) {
        st = map_parts(&j, out, err);
    }
    map_job_end(&j);
    return st;
}
