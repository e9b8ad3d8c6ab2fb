/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/order.h"
#include "dataset/rows_writer.h"
#include "dataset/transform.h"

/* ---- slices and mappings ---- */

grebe_status dataset_slice_rows(struct transform *t, int64_t begin, int64_t end, grebe_dataset **out, grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    struct derived d = { .are_rows_new = true };
    grebe_status st;
    if (ds->indices != NULL && begin < end) {
        st = dataset_indices_slice(ds->indices, begin, end, &d.indices, err);
    } else {
        st = dataset_table_slice(ds->table, begin, end, &d.table, err);
    }
    return st == GREBE_OK ? dataset_derive(ds, &d, t->fingerprint, out, err) : st;
}

static grebe_status indices_features(const grebe_allocator *a, struct features **out, grebe_error *err)
{
    static const char json[] = "{\"indices\": {\"dtype\": \"uint64\", \"_type\": \"Value\"}}";
    return features_from_json(a, json, sizeof json - 1, out, err);
}

grebe_status dataset_write_indices(struct transform *t, const char *path, const uint64_t *rows, int64_t n,
                                   grebe_error *err)
{
    enum { PIECE = 1 << 20 };
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = t->ds->ctx->a;
    struct features *f = NULL;
    struct rows_writer *w = NULL;
    struct rows_writer_options o = { t->fingerprint, t->o.writer_batch_rows, false, false };
    GREBE_TRY(indices_features(a, &f, err));
    GREBE_TRY(rows_writer_new(t->ds->ctx, path, f, &o, &w, err));
    for (int64_t i = 0; i < n; i += PIECE) {
        struct ArrowArray column = { 0 }, batch = { 0 };
        GREBE_TRY(transform_check(t, err));
        int64_t len = min_i64(PIECE, n - i);
        GREBE_TRY(array_new(a, len, 2, 0, &column, err));
        array_set_buffer(&column, 1, rows + i, NULL); /* the writer is done with it before the caller is */
        st = array_struct(a, len, &column, 1, &batch, err);
        if (st != GREBE_OK) {
            array_release(&column);
            goto out;
        }
        GREBE_TRY(rows_writer_put(w, &batch, err));
    }
    GREBE_TRY(rows_writer_finish(w, err));
out:
    rows_writer_free(w);
    features_free(f);
    return st;
}

grebe_status dataset_with_indices_file(struct transform *t, const char *path, grebe_dataset **out, grebe_error *err)
{
    struct derived d = { .are_rows_new = true };
    grebe_status st = dataset_indices_open(t->ds->ctx, path, dataset_table_num_rows(t->ds->table), &d.indices, err);
    return st == GREBE_OK ? dataset_derive(t->ds, &d, t->fingerprint, out, err) : st;
}

grebe_status dataset_select_order(struct transform *t, int64_t *rows, int64_t n, const char *path, grebe_dataset **out,
                                  grebe_error *err)
{
    struct derived d = { .are_rows_new = true };
    bool is_run = true;
    for (int64_t i = 1; i < n && is_run; i++) {
        is_run = rows[i] == rows[i - 1] + 1;
    }
    if (is_run) {
        int64_t begin = n > 0 ? rows[0] : 0;
        mem_free(t->ds->ctx->a, rows, (size_t)n * sizeof *rows);
        return dataset_slice_rows(t, begin, begin + n, out, err);
    }
    /* Rows of the data set become rows of its table where they stand: there may be a lot of them. */
    uint64_t *mapped = (uint64_t *)(void *)rows;
    const uint64_t *before = t->ds->indices != NULL ? dataset_indices_rows(t->ds->indices) : NULL;
    for (int64_t i = 0; before != NULL && i < n; i++) {
        mapped[i] = before[mapped[i]];
    }
    if (path != NULL) {
        grebe_status st = dataset_write_indices(t, path, mapped, n, err);
        mem_free(t->ds->ctx->a, mapped, (size_t)n * sizeof *mapped);
        return st == GREBE_OK ? dataset_with_indices_file(t, path, out, err) : st;
    }
    grebe_status st = dataset_indices_new(t->ds->ctx, mapped, n, &d.indices, err);
    return st == GREBE_OK ? dataset_derive(t->ds, &d, t->fingerprint, out, err) : st;
}

grebe_status dataset_select_rows(struct transform *t, const int64_t *rows, int64_t n, const char *path,
                                 grebe_dataset **out, grebe_error *err)
{
    size_t len = (size_t)n * sizeof *rows;
    int64_t *own = mem_alloc(t->ds->ctx->a, len);
    if (own == NULL) {
        return mem_fail(err, len, "indices");
    }
    if (n > 0) {
        memcpy(own, rows, len);
    }
    return dataset_select_order(t, own, n, path, out, err);
}

/* ---- calls ---- */

grebe_status grebe_dataset_select(const grebe_dataset *ds, const int64_t *rows, size_t n,
                                  const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && (rows != NULL || n == 0) && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    *out = NULL;
    int64_t *wrapped = mem_alloc(ds->ctx->a, n * sizeof *wrapped);
    GREBE_TRY(transform_begin(&t, ds, options, "select", err));
    if (wrapped == NULL) {
        st = mem_fail(err, n * sizeof *wrapped, "rows");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        wrapped[i] = rows[i] < 0 ? rows[i] + ds->n_rows : rows[i];
        if (wrapped[i] < 0 || wrapped[i] >= ds->n_rows) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "row %lld: the data set has %lld", (long long)rows[i],
                            (long long)ds->n_rows);
            goto out;
        }
    }
    if (t.o.new_fingerprint == NULL) {
        GREBE_TRY(transform_arg_name(&t, err));
        GREBE_TRY(fingerprint_arg_rows(&t.f, "indices", rows, n, err));
        GREBE_TRY(transform_arg_memory(&t, err));
        GREBE_TRY(transform_arg_batch(&t, err));
    }
    GREBE_TRY(transform_seal(&t, NULL, err));
    /* a file only where the caller wants one */
    const char *path = NULL;
    if (t.o.cache_file != NULL) {
        GREBE_TRY(transform_path(&t, NULL, "", &path, err));
    }
    st = dataset_select_order(&t, wrapped, (int64_t)n, path, out, err);
    wrapped = NULL;
out:
    mem_free(ds->ctx->a, wrapped, wrapped != NULL ? n * sizeof *wrapped : 0);
    transform_end(&t);
    return st;
}

grebe_status grebe_dataset_slice(const grebe_dataset *ds, int64_t begin, int64_t end,
                                 const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    *out = NULL;
    begin = max_i64(0, min_i64(begin, ds->n_rows));
    end = max_i64(begin, min_i64(end, ds->n_rows));
    GREBE_TRY(transform_begin(&t, ds, options, "select", err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(fingerprint_arg_range(&t.f, "indices", begin, end, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(dataset_slice_rows(&t, begin, end, out, err));
out:
    transform_end(&t);
    return st;
}

grebe_status grebe_dataset_shard(const grebe_dataset *ds, int64_t n, int64_t index, bool is_contiguous,
                                 const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    *out = NULL;
    if (n < 1 || index < 0 || index >= n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "shard %lld of %lld: expected 0 to n - 1", (long long)index, (long long)n);
    }
    if (is_contiguous) {
        int64_t begin = 0, end = 0;
        order_part(ds->n_rows, n, index, &begin, &end);
        return grebe_dataset_slice(ds, begin, end, options, out, err);
    }
    int64_t count = index < ds->n_rows ? (ds->n_rows - index - 1) / n + 1 : 0;
    int64_t *rows = mem_alloc(ds->ctx->a, (size_t)count * sizeof *rows);
    if (rows == NULL) {
        return mem_fail(err, (size_t)count * sizeof *rows, "rows");
    }
    for (int64_t i = 0; i < count; i++) {
        rows[i] = index + i * n;
    }
    grebe_status st = grebe_dataset_select(ds, rows, (size_t)count, options, out, err);
    mem_free(ds->ctx->a, rows, (size_t)count * sizeof *rows);
    return st;
}

grebe_status grebe_dataset_repeat(const grebe_dataset *ds, int64_t n, const grebe_transform_options *options,
                                  grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct derived d = { .are_rows_new = ds->indices != NULL };
    int64_t total = 0;
    const struct dataset_table **tables = NULL;
    *out = NULL;
    if (n <= 0) {
        return grebe_dataset_slice(ds, 0, 0, options, out, err);
    }
    if (!checked_mul_i64(ds->n_rows, n, &total) || total > INT64_MAX / 8 || (ds->indices == NULL && n > 1 << 24)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%lld rows %lld times", (long long)ds->n_rows, (long long)n);
    }
    GREBE_TRY(transform_begin(&t, ds, options, "repeat", err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(fingerprint_arg_int(&t.f, "num_times", n, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    if (ds->indices != NULL) {
        uint64_t *rows = mem_alloc(ds->ctx->a, (size_t)total * sizeof *rows);
        if (rows == NULL) {
            st = mem_fail(err, (size_t)total * sizeof *rows, "indices");
            goto out;
        }
        for (int64_t i = 0; i < n; i++) {
            memcpy(rows + i * ds->n_rows, dataset_indices_rows(ds->indices), (size_t)ds->n_rows * sizeof *rows);
        }
        GREBE_TRY(dataset_indices_new(ds->ctx, rows, total, &d.indices, err));
    } else {
        tables = mem_alloc(ds->ctx->a, (size_t)n * sizeof *tables);
        if (tables == NULL) {
            st = mem_fail(err, (size_t)n * sizeof *tables, "tables");
            goto out;
        }
        for (int64_t i = 0; i < n; i++) {
            tables[i] = ds->table;
        }
        GREBE_TRY(dataset_table_stack(ds->ctx, tables, (size_t)n, dataset_table_schema(ds->table), &d.table, err));
    }
    GREBE_TRY(dataset_derive(ds, &d, t.fingerprint, out, err));
out:
    mem_free(ds->ctx->a, (void *)(uintptr_t)tables, tables != NULL ? (size_t)n * sizeof *tables : 0);
    transform_end(&t);
    return st;
}

grebe_status grebe_dataset_flatten_indices(const grebe_dataset *ds, const grebe_transform_options *options,
                                           grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct derived d = { 0 };
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "flatten_indices", err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(transform_arg_memory(&t, err));
    GREBE_TRY(transform_arg_batch(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    if (ds->indices == NULL) {
        st = dataset_derive(ds, &d, t.fingerprint, out, err);
    } else {
        st = dataset_rewrite(&t, ds->features, NULL, NULL, out, err);
    }
out:
    transform_end(&t);
    return st;
}
