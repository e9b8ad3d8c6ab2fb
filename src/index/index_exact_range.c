/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_exact.h"

#include <string.h>

#include "base/checked.h"
#include "index/index_exact_internal.h"

enum { ROWS_BLOCK = 256 };

/* Rows of one query, growing. */
struct found {
    struct topk_item *items;
    size_t n, capacity;
};

struct range_work {
    grebe_context *ctx;
    const struct index_store *store;
    const struct index_list *rows;
    const struct vector_rows *queries;
    float radius;
    struct found *found; /* shape [queries->n] */
};

static grebe_status found_reserve(const grebe_allocator *a, struct found *f, grebe_error *err)
{
    const size_t capacity = f->capacity == 0 ? 4 * ROWS_BLOCK : 2 * f->capacity;
    struct topk_item *items;

    if (f->capacity - f->n >= ROWS_BLOCK) {
        return GREBE_OK;
    }
    items = mem_resize(a, f->items, f->capacity * sizeof *items, capacity * sizeof *items);
    if (items == NULL) {
        return mem_fail(err, capacity * sizeof *items, "rows within a radius");
    }
    f->items = items;
    f->capacity = capacity;
    return GREBE_OK;
}

static grebe_status range_query(void *arg, size_t q, grebe_error *err)
{
    struct range_work *w = arg;
    const struct index_store *s = w->store;
    const struct index_list *l = w->rows;
    struct found *f = w->found + q;
    struct topk all;
    unsigned char *query = mem_alloc_aligned(w->ctx->a, s->stride, MEM_ALIGN_VECTOR);
    grebe_status st = GREBE_OK;

    if (query == NULL) {
        return mem_fail(err, s->stride, "a query");
    }
    GREBE_TRY(index_store_query(s, w->queries, q, query, err));
    for (size_t at = 0; at < l->n; at += ROWS_BLOCK) {
        const size_t here = min_size(ROWS_BLOCK, l->n - at);
        float values[ROWS_BLOCK];

        GREBE_TRY(found_reserve(w->ctx->a, f, err));
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
    topk_init(&all, f->n, f->items, f->capacity);
    all.n = f->n;
    topk_finish(&all);
out:
    mem_free_aligned(w->ctx->a, query, s->stride, MEM_ALIGN_VECTOR);
    return st;
}

/* All queries' rows one behind the other. */
static grebe_status join_ranges(const struct range_work *w, struct index_ranges *out, grebe_error *err)
{
    const grebe_allocator *a = w->ctx->a;
    const size_t n = (size_t)w->queries->n;
    size_t total = 0;

    for (size_t q = 0; q < n; q++) {
        total += w->found[q].n;
    }
    *out = (struct index_ranges){.a = a, .n = n, .total = total, .capacity = total};
    out->offsets = mem_alloc(a, (n + 1) * sizeof *out->offsets);
    out->positions = mem_alloc(a, total * sizeof *out->positions);
    out->distances = mem_alloc(a, total * sizeof *out->distances);
    if (out->offsets == NULL || out->positions == NULL || out->distances == NULL) {
        index_ranges_release(out);
        return mem_fail(err, total * sizeof(struct topk_item), "rows within a radius");
    }
    total = 0;
    for (size_t q = 0; q < n; q++) {
        out->offsets[q] = (int64_t)total;
        for (size_t i = 0; i < w->found[q].n; i++, total++) {
            out->positions[total] = w->found[q].items[i].id;
            out->distances[total] = w->found[q].items[i].distance;
        }
    }
    out->offsets[n] = (int64_t)total;
    return GREBE_OK;
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
    st = join_ranges(&w, out, err);
out:
    for (size_t q = 0; w.found != NULL && q < n; q++) {
        mem_free(ctx->a, w.found[q].items, w.found[q].capacity * sizeof *w.found[q].items);
    }
    mem_free(ctx->a, w.found, n * sizeof *w.found);
    index_list_release(&rows);
    return st;
}
