/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/map_part.h"

#include <string.h>

#include "base/checked.h"
#include "dataset/map_beside.h"

void map_part_release(struct map_part *p)
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

static int64_t part_begin(const struct map_part *p)
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
static grebe_status open_sink(struct map_part *p, grebe_error *err)
{
    const struct map_job *j = p->j;
    struct rows_writer_options o = { (const char *)p->fingerprint.data, j->t.o.writer_batch_rows, false, false };
    return rows_sink_new(j->t.ds->ctx, path_of(p->given != NULL ? &p->path_beside : &p->path),
                         p->given != NULL ? p->given : p->features, &o, &p->sink, err);
}

/* The file of the columns given is done: the table of both. */
static grebe_status finish_beside(struct map_part *p, struct dataset_table **out, grebe_error *err)
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
static grebe_status write_whole(struct map_part *p, grebe_error *err)
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
static grebe_status put_batch(struct map_part *p, struct map_batch *b, grebe_error *err)
{
    const grebe_allocator *a = p->j->t.ds->ctx->a;
    struct feature_cast_options o = { .first_row = b->first_row };
    struct ArrowArray cast = { 0 };
    struct map_batch given = { 0 };
    int64_t n = b->rows.length;
    grebe_status st = GREBE_OK;
    bool is_beside = b->first_row == part_begin(p) + p->n_put; /* not so where rows before went */
    if (p->given != NULL && (!is_beside || !map_beside_is_alike(b, p->given))) {
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
static grebe_status begin_sink(struct map_part *p, const struct map_batch *first, grebe_error *err)
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
            st = put_batch(p, &b[i], err);
        } else {
            map_batch_release(j, &b[i]);
        }
    }
    buf_clear(&p->pending);
    return st;
}

static grebe_status put_given_features(struct map_part *p, grebe_error *err)
{
    return features_merge(p->j->t.ds->ctx->a, p->j->given, p->j->given, &p->features, err);
}

/* A batch of something; moved in, also on failure. */
grebe_status map_part_take(struct map_part *p, struct map_batch *b, grebe_error *err)
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
    st = put_batch(p, b, err);
out:
    map_batch_release(j, b);
    return st;
}

/* ---- a part ---- */

/* Rows that a part has when the function gives as many as it gets. */
static int64_t rows_expected(const struct map_job *j, int64_t n)
{
    return j->m.drop_last_batch && j->batch_rows != INT64_MAX ? n - n % j->batch_rows : n;
}

/*
 * A part that was written before: whole rows, or columns beside those of the data set. The columns of fewer rows were left by a
 * process that ended while it made whole rows of them: p->table stays NULL, and the part is computed.
 */
static grebe_status open_part(struct map_part *p, bool is_beside, grebe_error *err)
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

grebe_status map_part_run(void *arg, size_t i, grebe_error *err)
{
    struct map_part *p = (struct map_part *)arg + i;
    struct map_job *j = p->j;
    grebe_status st = GREBE_OK;
    int64_t begin = 0, end = 0;
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
    GREBE_TRY(map_part_batches(p, err));
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
    map_job_range(j, p->i, &begin, &end);
    if (p->given != NULL && p->n_put != rows_expected(j, end - begin)) { /* the last rows went */
        GREBE_TRY(write_whole(p, err));
    }
    if (p->given != NULL) {
        GREBE_TRY(finish_beside(p, &p->table, err));
    } else {
        GREBE_TRY(rows_sink_finish(p->sink, &p->table, err));
    }
out:
    return st;
}
