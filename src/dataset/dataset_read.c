/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_internal.h"

#include <string.h>

#include "arrow/arrow_stream.h"
#include "base/checked.h"
#include "base/context_internal.h"

enum { MAPPED_BATCH_ROWS = 1000 };

int dataset_find_column(const grebe_dataset *ds, const char *name)
{
    for (size_t i = 0; i < ds->features->top.n_fields; i++) {
        if (strcmp(ds->columns[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

grebe_status dataset_find_columns(const grebe_dataset *ds, const char *const *names, size_t n, int *out,
                                  grebe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = dataset_find_column(ds, names[i]);
        if (out[i] >= 0) {
            continue;
        }
        struct buf all = BUF_INIT(ds->ctx->a);
        for (size_t k = 0; k < ds->features->top.n_fields && all.len < 200; k++) {
            if (buf_printf(&all, NULL, "%s\"%.40s\"", k > 0 ? ", " : "", ds->columns[k]) != GREBE_OK) {
                break;
            }
        }
        const char *text = buf_text(&all);
        grebe_status st = GREBE_FAIL(err, GREBE_ENOTFOUND, "no column \"%.64s\": there are %s", names[i],
                                     text != NULL ? text : "others");
        buf_release(&all);
        return st;
    }
    return GREBE_OK;
}

static grebe_status take_indices(const grebe_dataset *ds, int64_t begin, int64_t n, const int *columns,
                                 size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    /* rows of a table are below 2^63: the numbers are the same signed */
    const int64_t *rows = (const int64_t *)(const void *)(dataset_indices_rows(ds->indices) + begin);
    for (int64_t i = 1; i < n; i++) {
        if (rows[i] != rows[i - 1] + 1) {
            return dataset_table_take(ds->table, rows, n, columns, n_columns, out, err);
        }
    }
    int64_t first = n > 0 ? rows[0] : 0;
    return dataset_table_read(ds->table, first, first + n, columns, n_columns, out, err);
}

grebe_status dataset_read_rows(const grebe_dataset *ds, int64_t begin, int64_t end, const int *columns,
                               size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    if (ds->indices != NULL) {
        return take_indices(ds, begin, end - begin, columns, n_columns, out, err);
    }
    return dataset_table_read(ds->table, begin, end, columns, n_columns, out, err);
}

grebe_status dataset_read_some(const grebe_dataset *ds, int64_t begin, int64_t *end, const int *columns,
                               size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = dataset_read_rows(ds, begin, *end, columns, n_columns, out, err);
    while (st == GREBE_ELIMIT && *end - begin > 1) {
        *end = begin + (*end - begin) / 2;
        st = dataset_read_rows(ds, begin, *end, columns, n_columns, out, err);
    }
    return st;
}

int64_t dataset_batch_end(const grebe_dataset *ds, int64_t row, int64_t most)
{
    if (ds->indices != NULL) {
        return min_i64(ds->n_rows, row + min_i64(most, ds->n_rows - row));
    }
    int64_t end = dataset_table_batch_end(ds->table, row);
    return end - row > most ? row + most : end;
}

/* Numbers of the columns asked for; NULL with GREBE_OK: all. */
static grebe_status choose(const grebe_dataset *ds, const char *const *names, size_t n, int **out, grebe_error *err)
{
    *out = NULL;
    if (names == NULL) {
        return GREBE_OK;
    }
    int *columns = mem_alloc(ds->ctx->a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    grebe_status st = dataset_find_columns(ds, names, n, columns, err);
    if (st != GREBE_OK) {
        mem_free(ds->ctx->a, columns, n * sizeof *columns);
        return st;
    }
    *out = columns;
    return GREBE_OK;
}

grebe_status grebe_dataset_read(const grebe_dataset *ds, int64_t begin, int64_t end, const char *const *columns,
                                size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    int *chosen = NULL;
    memset(out, 0, sizeof *out);
    if (begin < 0 || begin > end || end > ds->n_rows) {
        return GREBE_FAIL(err, GREBE_EINVAL, "rows %lld to %lld: the data set has %lld", (long long)begin,
                          (long long)end, (long long)ds->n_rows);
    }
    grebe_status st = choose(ds, columns, n_columns, &chosen, err);
    if (st == GREBE_OK) {
        st = dataset_read_rows(ds, begin, end, chosen, n_columns, out, err);
    }
    mem_free(ds->ctx->a, chosen, n_columns * sizeof *chosen);
    return st;
}

/* Positions as the caller counts them as rows of the table. */
static grebe_status resolve_rows(const grebe_dataset *ds, const int64_t *rows, size_t n, int64_t *out, grebe_error *err)
{
    const uint64_t *indices = ds->indices != NULL ? dataset_indices_rows(ds->indices) : NULL;
    for (size_t i = 0; i < n; i++) {
        int64_t row = rows[i] < 0 ? rows[i] + ds->n_rows : rows[i];
        if (row < 0 || row >= ds->n_rows) {
            return GREBE_FAIL(err, GREBE_EINVAL, "row %lld: the data set has %lld", (long long)rows[i],
                              (long long)ds->n_rows);
        }
        out[i] = indices != NULL ? (int64_t)indices[row] : row;
    }
    return GREBE_OK;
}

grebe_status grebe_dataset_take(const grebe_dataset *ds, const int64_t *rows, size_t n, const char *const *columns,
                                size_t n_columns, struct ArrowArray *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL && (rows != NULL || n == 0));
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    int *chosen = NULL;
    memset(out, 0, sizeof *out);
    int64_t *resolved = mem_alloc(a, n * sizeof *resolved);
    if (resolved == NULL) {
        return mem_fail(err, n * sizeof *resolved, "rows");
    }
    GREBE_TRY(resolve_rows(ds, rows, n, resolved, err));
    GREBE_TRY(choose(ds, columns, n_columns, &chosen, err));
    GREBE_TRY(dataset_table_take(ds->table, resolved, (int64_t)n, chosen, n_columns, out, err));
out:
    mem_free(a, resolved, n * sizeof *resolved);
    mem_free(a, chosen, n_columns * sizeof *chosen);
    return st;
}

/* ---- all rows in order ---- */

struct scan {
    grebe_dataset *ds;
    int *columns; /* NULL: all */
    size_t n_columns;
    int64_t batch_rows, at;
    struct call call;
};

static grebe_status scan_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    const struct scan *s = self;
    const grebe_allocator *a = s->ds->ctx->a;
    grebe_status st;
    if (s->columns == NULL) {
        return features_to_file_schema(a, s->ds->features, NULL, out, err);
    }
    const char **names = mem_alloc(a, s->n_columns * sizeof *names);
    struct features *f = NULL;
    if (names == NULL) {
        return mem_fail(err, s->n_columns * sizeof *names, "columns");
    }
    for (size_t i = 0; i < s->n_columns; i++) {
        names[i] = s->ds->columns[s->columns[i]];
    }
    st = features_project(a, s->ds->features, names, NULL, s->n_columns, &f, err);
    if (st == GREBE_OK) {
        st = features_to_file_schema(a, f, NULL, out, err);
    }
    features_free(f);
    mem_free(a, names, s->n_columns * sizeof *names);
    return st;
}

static grebe_status scan_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct scan *s = self;
    memset(out, 0, sizeof *out);
    grebe_status st = call_check(&s->call, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (s->at >= s->ds->n_rows) {
        return GREBE_END;
    }
    int64_t end = s->batch_rows > 0
                      ? s->at + min_i64(s->batch_rows, s->ds->n_rows - s->at)
                      : dataset_batch_end(s->ds, s->at, s->ds->indices != NULL ? MAPPED_BATCH_ROWS : INT64_MAX);
    st = dataset_read_rows(s->ds, s->at, end, s->columns, s->n_columns, out, err);
    if (st == GREBE_OK) {
        s->at = end;
    }
    return st;
}

static void scan_free(void *self)
{
    struct scan *s = self;
    const grebe_allocator *a = s->ds->ctx->a;
    grebe_dataset *ds = s->ds;
    mem_free(a, s->columns, s->n_columns * sizeof *s->columns);
    mem_free(a, s, sizeof *s);
    grebe_dataset_free(ds);
}

static const struct stream_ops scan_ops = { scan_schema, scan_next, scan_free };

grebe_status grebe_dataset_scan(const grebe_dataset *ds, const char *const *columns, size_t n_columns,
                                int64_t batch_rows, const grebe_call_options *call, struct ArrowArrayStream *out,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL && batch_rows >= 0);
    const grebe_allocator *a = ds->ctx->a;
    memset(out, 0, sizeof *out);
    struct scan *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a scan");
    }
    s->ds = grebe_dataset_keep(ds);
    s->n_columns = columns != NULL ? n_columns : 0;
    s->batch_rows = batch_rows;
    s->call = call_options_resolve(ds->ctx, call);
    grebe_status st = choose(ds, columns, n_columns, &s->columns, err);
    if (st == GREBE_OK) {
        st = stream_export(a, &scan_ops, s, out, err);
    }
    if (st != GREBE_OK) {
        s->n_columns = s->columns != NULL ? s->n_columns : 0;
        scan_free(s);
    }
    return st;
}
