/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_internal.h"

#include <inttypes.h>

#include "base/checked.h"
#include "index/index_found.h"

/* Within a radius: the rows of a query's lists by the row kernels; the codes are not looked at. */

struct range_work {
    struct ivf *x;
    const struct vector_rows *queries;
    const struct index_search *s;
    const struct ivf_search_params *p;
    float radius;
    struct index_found *found;
};

static grebe_status scan_list(const struct range_work *w, uint32_t list, const void *form, struct index_found *f,
                              grebe_error *err)
{
    const struct ivf *x = w->x;
    const struct index_store *s = &x->store;
    const uint32_t *positions = x->lists.positions + x->lists.begin[list] * IVF_BLOCK;

    for (size_t at = 0; at < x->lists.sizes[list]; at += IVF_BLOCK) {
        const size_t here = min_size(IVF_BLOCK, x->lists.sizes[list] - at);
        float values[IVF_BLOCK];
        grebe_status st = index_found_reserve(f, x->base.ctx->a, here, err);

        for (size_t i = 0; st == GREBE_OK && i < here; i++) {
            if (positions[at + i] >= s->n) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "lists: expected rows below %" PRIu64 ", found %u", s->n,
                                positions[at + i]);
            }
        }
        if (st != GREBE_OK) {
            return st;
        }
        s->ops->gather(form, s->rows, s->stride, positions + at, here, s->dim, values);
        index_exact_finish(s, values, here);
        for (size_t i = 0; i < here; i++) {
            const uint32_t position = positions[at + i];

            f->items[f->n] = (struct topk_item){values[i], position};
            f->n += values[i] <= w->radius && !index_bits_has(&x->removed, position) &&
                    index_filter_has(&w->s->filter, position);
        }
    }
    return GREBE_OK;
}

static grebe_status range_query(void *arg, size_t q, grebe_error *err)
{
    const struct range_work *w = arg;
    const struct ivf *x = w->x;
    const struct index_store *s = &x->store;
    const size_t n_probe = min_size(w->p->nprobe, x->lists.n_lists), room = topk_capacity(n_probe);
    const size_t bytes = s->stride + s->dim * sizeof(float) + room * sizeof(struct topk_item);
    unsigned char *form = mem_alloc_aligned(x->base.ctx->a, bytes, MEM_ALIGN_VECTOR);
    float *query;
    struct topk lists;
    grebe_status st = GREBE_OK;

    if (form == NULL) {
        return mem_fail(err, bytes, "a query");
    }
    query = (float *)(void *)(form + s->stride);
    GREBE_TRY(index_store_query(s, w->queries, q, form, err));
    vector_to_f32(s->elem, form, s->dim, query);
    topk_init(&lists, n_probe, (struct topk_item *)(void *)(query + s->dim), room);
    tile_search(&x->panels, 0, x->panels.n, 0, query, 1, ivf_is_l2(x), &lists);
    topk_finish(&lists);
    for (size_t i = 0; i < n_probe; i++) {
        GREBE_TRY(scan_list(w, lists.items[i].id, form, &w->found[q], err));
    }
    index_found_sort(&w->found[q]);
out:
    mem_free_aligned(x->base.ctx->a, form, bytes, MEM_ALIGN_VECTOR);
    return st;
}

grebe_status ivf_range(struct ivf *x, const struct vector_rows *queries, float radius, const struct index_search *s,
                       const struct ivf_search_params *p, struct index_ranges *out, grebe_error *err)
{
    const grebe_allocator *a = x->base.ctx->a;
    const size_t n = (size_t)queries->n;
    struct range_work w = {x, queries, s, p, radius, mem_alloc_zero(a, n * sizeof *w.found)};
    grebe_status st;

    *out = (struct index_ranges){0};
    if (w.found == NULL) {
        return mem_fail(err, n * sizeof *w.found, "ranges");
    }
    st = parallel_for(x->base.ctx->pool, s->call.threads, n, range_query, &w, s->call.cancel, err);
    if (st == GREBE_OK) {
        st = index_found_join(w.found, n, a, out, err);
    }
    for (size_t q = 0; q < n; q++) {
        index_found_release(&w.found[q], a);
    }
    mem_free(a, w.found, n * sizeof *w.found);
    return st;
}
