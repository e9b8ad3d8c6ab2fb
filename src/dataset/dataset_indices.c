/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_table.h"

#include <stdatomic.h>
#include <string.h>

struct dataset_indices {
    atomic_uint refs;
    grebe_context *ctx;
    struct region *owner; /* of the numbers */
    const uint64_t *rows;
    int64_t n;
    char *path;
};

int64_t dataset_indices_len(const struct dataset_indices *x)
{
    return x->n;
}
const uint64_t *dataset_indices_rows(const struct dataset_indices *x)
{
    return x->rows;
}
const char *dataset_indices_path(const struct dataset_indices *x)
{
    return x->path;
}

struct dataset_indices *dataset_indices_keep(struct dataset_indices *x)
{
    if (x != NULL) {
        atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    }
    return x;
}

void dataset_indices_drop(struct dataset_indices *x)
{
    if (x == NULL || atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    region_drop(x->owner);
    str_free(x->ctx->a, x->path);
    mem_free(x->ctx->a, x, sizeof *x);
}

/* owner is moved in, also on failure. */
static grebe_status new_over(grebe_context *ctx, struct region *owner, const uint64_t *rows, int64_t n,
                             const char *path, struct dataset_indices **out, grebe_error *err)
{
    struct dataset_indices *x = mem_alloc_zero(ctx->a, sizeof *x);
    *out = NULL;
    if (x == NULL) {
        region_drop(owner);
        return mem_fail(err, sizeof *x, "indices");
    }
    atomic_init(&x->refs, 1);
    x->ctx = ctx;
    x->owner = owner;
    x->rows = rows;
    x->n = n;
    x->path = str_copy(ctx->a, path);
    if (path != NULL && x->path == NULL) {
        dataset_indices_drop(x);
        return mem_fail(err, strlen(path), path);
    }
    *out = x;
    return GREBE_OK;
}

static void free_rows(struct region *r)
{
    mem_free(r->a, r->data, r->len);
}

grebe_status dataset_indices_new(grebe_context *ctx, uint64_t *rows, int64_t n, struct dataset_indices **out,
                                 grebe_error *err)
{
    struct region *owner = NULL;
    size_t len = (size_t)n * sizeof *rows;
    *out = NULL;
    grebe_status st = region_wrap(ctx->a, rows, len, free_rows, NULL, &owner, err);
    if (st != GREBE_OK) {
        mem_free(ctx->a, rows, len);
        return st;
    }
    return new_over(ctx, owner, rows, n, NULL, out, err);
}

grebe_status dataset_indices_slice(struct dataset_indices *x, int64_t begin, int64_t end, struct dataset_indices **out,
                                   grebe_error *err)
{
    return new_over(x->ctx, region_keep(x->owner), x->rows + begin, end - begin, x->path, out, err);
}

static grebe_status check_below(const uint64_t *rows, int64_t n, int64_t n_rows, const char *path, grebe_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] >= (uint64_t)n_rows) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: index %lld is row %llu of %lld", path, (long long)i,
                              (unsigned long long)rows[i], (long long)n_rows);
        }
    }
    return GREBE_OK;
}

grebe_status dataset_indices_open(grebe_context *ctx, const char *path, int64_t n_rows, struct dataset_indices **out,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct rows_file *f = NULL;
    struct region *all = NULL;
    *out = NULL;
    GREBE_TRY(rows_file_open(ctx, path, false, &f, err));
    if (f->schema.n_children != 1 || strcmp(f->schema.children[0]->format, "L") != 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected one column of uint64, found %lld columns", path,
                        (long long)f->schema.n_children);
        goto out;
    }
    GREBE_TRY(region_new(ctx->a, (size_t)f->n_rows * sizeof(uint64_t), &all, err));
    for (size_t i = 0; i < f->n_batches; i++) {
        struct ArrowArray rows;
        GREBE_TRY(rows_file_batch(f, i, NULL, 0, &rows, err));
        const struct ArrowArray *column = rows.children[0];
        if (array_null_count(column) != 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: an index is null", path);
        } else {
            memcpy(all->data + f->batch_begin[i] * 8, (const uint64_t *)column->buffers[1] + column->offset,
                   (size_t)column->length * 8);
        }
        array_release(&rows);
        if (st != GREBE_OK) {
            goto out;
        }
    }
    const uint64_t *rows = (const uint64_t *)(void *)all->data;
    GREBE_TRY(check_below(rows, f->n_rows, n_rows, path, err));
    st = new_over(ctx, all, rows, f->n_rows, path, out, err);
    all = NULL;
out:
    region_drop(all);
    rows_file_drop(f);
    return st;
}
