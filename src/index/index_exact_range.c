/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_exact.h"

#include <string.h>

#include "base/checked.h"
#include "index/index_exact_internal.h"
#include "index/index_found.h"

enum { ROWS_BLOCK = 256 };

struct range_work {
    grebe_context *ctx;
    const struct index_store *store;
    const struct index_list *rows;
    const struct vector_rows *queries;
    float radius;
    struct index_found *found; /* shape [queries->n] */
};

static grebe_status range_query(void *arg, size_t q, grebe_error *err)
{
    struct range_work *w = arg;
    const struct index_store *s = w->store;
    const struct index_list *l = w->rows;
    struct index_found *f = w->found + q;
    unsigned char *query = mem_alloc_aligned(w->ctx->a, s->stride, MEM_ALIGN_VECTOR);
    grebe_status st = GREBE_OK;

    if (query == NULL) {
        return mem_fail(err, s->stride, "a query");
    }
    GREBE_TRY(index_store_query(s, w->queries, q, query, err));
    for (size_t at = 0; at < l->n; at += ROWS_BLOCK) {
        const size_t here = min_size(ROWS_BLOCK, l->n - at);
        float values[ROWS_BLOCK];

        GREBE_TRY(index_found_reserve(f, w->ctx->a, ROWS_BLOCK, err));
        if (l->positions == NULL) {
            s->ops->many(query, s->rows + at * s->stride, s->stride, here, s->dim, values);
        } else {
            s->ops->gather(query, s->rows, s->stride, l->positions + at, here, s->dim, values);
        }
        index_exact_finish(s, values, here);
        for (size_t i = 0; i < here; i++) {
            f->items[f->n] = (struct topk_item){values[i], exact_position(l, at + i)};
            f->n += values[i] <= w->radius;
        }
    }
    index_found_sort(f);
out:
    mem_free_aligned(w->ctx->a, query, s->stride, MEM_ALIGN_VECTOR);
    return st;
}

grebe_status index_exact_range(grebe_context *ctx, const struct index_store *store, const struct index_bits *removed,
                               const struct vector_rows *queries, float radius, const struct index_search *s,
                               struct index_ranges *out, grebe_error *err)
{
    struct index_list rows = {0};
    struct range_work w = {ctx, store, &rows, queries, radius, NULL};
    const size_t n = (size_t)queries->n;
    grebe_status st = GREBE_OK;

    *out = (struct index_ranges){0};
    GREBE_TRY(index_list_make(ctx->a, store->n, removed, &s->filter, &rows, err));
    w.found = mem_alloc_zero(ctx->a, n * sizeof *w.found);
    if (w.found == NULL) {
        st = mem_fail(err, n * sizeof *w.found, "ranges");
        goto out;
    }
    GREBE_TRY(parallel_for(ctx->pool, s->call.threads, n, range_query, &w, s->call.cancel, err));
    st = index_found_join(w.found, n, ctx->a, out, err);
out:
    for (size_t q = 0; w.found != NULL && q < n; q++) {
        index_found_release(&w.found[q], ctx->a);
    }
    mem_free(ctx->a, w.found, n * sizeof *w.found);
    index_list_release(&rows);
    return st;
}
