/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/transform.h"
#include "expr/expr.h"

enum { MAPPED_ROWS = 1 << 14 };

/* Rows of the ones among n bits, behind `first`. */
static grebe_status put_ones(struct buf *rows, const uint8_t *keep, int64_t n, int64_t n_true, int64_t first,
                             grebe_error *err)
{
    grebe_status st = buf_reserve(rows, (size_t)n_true * sizeof(int64_t), err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t *out = (int64_t *)(void *)(rows->data + rows->len);
    for (int64_t i = 0; i < n; i += 8) {
        unsigned bits = keep[i >> 3];
        while (bits != 0) {
            *out++ = first + i + __builtin_ctz(bits);
            bits &= bits - 1;
        }
    }
    rows->len += (size_t)n_true * sizeof(int64_t);
    return GREBE_OK;
}

/* Rows for which the condition is true: int64 appended. Only its columns are read. */
static grebe_status find_rows(struct transform *t, const struct expr *e, struct buf *rows, grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    const grebe_allocator *a = ds->ctx->a;
    grebe_status st = GREBE_OK;
    size_t n_columns = 0, keep_len = 0;
    const int *columns = expr_columns(e, &n_columns);
    static const int none[1] = { 0 };
    uint8_t *keep = NULL;
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        struct ArrowArray batch = { 0 };
        int64_t end = dataset_batch_end(ds, row, ds->indices != NULL ? MAPPED_ROWS : INT64_MAX), n_true = 0;
        size_t len = bitmap_bytes(end - row);
        st = transform_check(t, err);
        if (st == GREBE_OK && len > keep_len) {
            mem_free(a, keep, keep_len);
            keep = mem_alloc(a, len);
            keep_len = keep != NULL ? len : 0;
            st = keep == NULL ? mem_fail(err, len, "kept rows") : GREBE_OK;
        }
        st = st == GREBE_OK ? dataset_read_some(ds, row, &end, columns != NULL ? columns : none, n_columns, &batch, err)
                            : st;
        if (st == GREBE_OK) {
            st = expr_eval(e, (const struct ArrowArray *const *)batch.children, end - row, keep, &n_true, err);
            st = st == GREBE_OK ? put_ones(rows, keep, end - row, n_true, row, err)
                                : error_wrap(err, st, "rows %lld to %lld", (long long)row, (long long)end - 1);
        }
        array_release(&batch);
        row = end;
        transform_progress(t, "filter", row, ds->n_rows);
    }
    mem_free(a, keep, keep_len);
    return st;
}

grebe_status grebe_dataset_filter(const grebe_dataset *ds, const char *where, const grebe_transform_options *options,
                                  grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && where != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct expr *e = NULL;
    struct buf rows = BUF_INIT(ds->ctx->a);
    const char *path = NULL;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "filter@2.0.1", err));
    GREBE_TRY(expr_parse(ds->ctx->a, where, &e, err));
    GREBE_TRY(expr_bind(e, &ds->schema, err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(fingerprint_arg_text(&t.f, "function", where, err));
    GREBE_TRY(transform_arg_memory(&t, err));
    GREBE_TRY(transform_arg_batch(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    if (ds->n_rows == 0) {
        *out = grebe_dataset_keep(ds);
        goto out;
    }
    GREBE_TRY(transform_path(&t, NULL, "", &path, err));
    if (transform_finds(&t, path)) {
        st = dataset_with_indices_file(&t, path, out, err);
        goto out;
    }
    GREBE_TRY(find_rows(&t, e, &rows, err));
    GREBE_TRY(dataset_select_rows(&t, (const int64_t *)(const void *)rows.data, (int64_t)(rows.len / sizeof(int64_t)),
                                  path, out, err));
out:
    expr_free(e);
    buf_release(&rows);
    transform_end(&t);
    return st;
}
