/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_rank.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "index/index_exact.h"

enum { SCAN_PIECE = 64, RERANK_MORE_SQ8 = 8, RERANK_MIN_SQ4 = 64, FEW = 512 };

/* About how many nanoseconds a walk takes whose pool has `ef` nodes: it measures half of the links of each. */
static double walk_cost(const struct graph *g, double ef)
{
    enum { CODE_NS = 22, ROW_NS = 45 };
    double visit = g->codes.quant != GRAPH_QUANT_NONE ? CODE_NS : ROW_NS;
    return ef * g->width / 2 * visit;
}

void graph_rank_plan(const struct graph *g, const struct index_filter *filter, size_t k, uint64_t n_queries, uint32_t *ef,
                     uint32_t *rerank, struct graph_rank_job *out)
{
    uint64_t alive = g->n - g->removed.n_set;
    *out = (struct graph_rank_job){ .g = g, .filter = filter, .n_allowed = alive };
    if (filter->words != NULL && filter->n_set < alive) {
        out->n_allowed = filter->n_set;
    }
    out->is_thin = filter->words != NULL || g->removed.n_set != 0;
    double wanted = (double)*ef > (double)k ? (double)*ef : (double)k;
    if (*rerank == 0) {
        bool is_coarse = g->codes.quant == GRAPH_QUANT_SQ4;
        size_t few = is_coarse ? RERANK_MIN_SQ4 : k < INDEX_ROWS_MAX ? k + RERANK_MORE_SQ8 : INDEX_ROWS_MAX;
        size_t many = k < INDEX_ROWS_MAX / 4 ? (is_coarse ? 4 * k : k + k / 2) : INDEX_ROWS_MAX;
        *rerank = (uint32_t)(many < few ? few : many);
    }
    if (*rerank < k) {
        *rerank = k < UINT32_MAX ? (uint32_t)k : UINT32_MAX;
    }
    if (out->n_allowed == 0) {
        out->is_scan = true;
        return;
    }
    /* so many of the pool's nodes are allowed when the filter knows nothing of distances */
    wanted = wanted * (double)g->n / (double)out->n_allowed;
    out->is_scan = wanted >= (double)g->n ||
                   (out->is_thin && walk_cost(g, wanted) >= index_exact_cost(&g->store, out->n_allowed, n_queries)) ||
                   wanted * g->width / 2 >= (double)out->n_allowed;
    *ef = out->is_scan ? 1 : (uint32_t)wanted;
}

grebe_status graph_rank_init(struct graph_rank *r, const struct graph_rank_job *j, size_t ef, size_t k,
                             grebe_error *err)
{
    size_t most = k < j->n_allowed ? k : (size_t)j->n_allowed;
    *r = (struct graph_rank){ .a = j->g->a };
    r->room = (ef < SCAN_PIECE ? SCAN_PIECE : ef) + 1;
    r->found_room = topk_capacity(most) + most + 1;
    r->found = mem_alloc(r->a, r->found_room * sizeof *r->found);
    r->ids = mem_alloc(r->a, r->room * sizeof *r->ids);
    r->values = mem_alloc(r->a, r->room * sizeof *r->values);
    if (r->found == NULL || r->ids == NULL || r->values == NULL) {
        size_t bytes = r->found_room * sizeof *r->found + r->room * (sizeof *r->ids + sizeof *r->values);
        return mem_fail(err, bytes, "the results of a search");
    }
    return GREBE_OK;
}

void graph_rank_release(struct graph_rank *r)
{
    if (r->a != NULL) {
        mem_free(r->a, r->found, r->found_room * sizeof *r->found);
        mem_free(r->a, r->ids, r->room * sizeof *r->ids);
        mem_free(r->a, r->values, r->room * sizeof *r->values);
    }
    *r = (struct graph_rank){ 0 };
}

void graph_distances(const struct graph *g, const struct graph_walk *w, const uint32_t *ids, size_t n, float *values)
{
    const struct index_store *s = &g->store;
    if (g->options.has_no_rows) {
        float factor, offset;
        graph_codes_worth(&g->codes, w->query_wide, &factor, &offset);
        g->codes.kernels.gather(w->query_code, g->codes.rows, g->codes.stride, ids, n, g->codes.blocks, values);
        for (size_t i = 0; i < n; i++) {
            values[i] = values[i] * factor + offset;
        }
    } else {
        s->ops->gather(w->query_row, s->rows, s->stride, ids, n, s->dim, values);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = vector_metric_finish(s->metric, s->dim, values[i]);
    }
}

static inline bool is_nearer(struct topk_item x, struct topk_item y)
{
    return x.distance < y.distance || (x.distance == y.distance && x.id < y.id);
}

/* The nearest k of values and ids: a pool is nearly in order, so that each goes to its place in a few steps. */
static void rank_few(size_t n, size_t k, struct graph_rank *r)
{
    r->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct topk_item f = { isnan(r->values[i]) ? INFINITY : r->values[i], r->ids[i] };
        if (r->n == k) {
            if (!is_nearer(f, r->found[k - 1])) {
                continue;
            }
            r->n--;
        }
        size_t at = r->n++;
        for (; at > 0 && is_nearer(f, r->found[at - 1]); at--) {
            r->found[at] = r->found[at - 1];
        }
        r->found[at] = f;
    }
}

static void rank_many(size_t n, struct topk *t, const struct graph_rank *r)
{
    for (size_t i = 0; i < n; i++) {
        topk_push(t, r->values[i], r->ids[i]);
    }
}

bool graph_rank_pool(const struct graph_rank_job *j, const struct graph_walk *w, size_t rerank, size_t k,
                     struct graph_rank *r)
{
    const struct graph *g = j->g;
    size_t n = 0, n_met = 0;
    r->n = 0;
    if (!j->is_thin) {
        n = n_met = w->n_pool < rerank ? w->n_pool : rerank;
        memcpy(r->ids, w->pool_id, n * sizeof *r->ids);
        memcpy(r->values, w->pool_d, n * sizeof *r->values);
    } else {
        for (uint32_t i = 0; i < w->n_pool; i++) {
            if (!graph_is_allowed(j, w->pool_id[i])) {
                continue;
            }
            n_met++;
            if (n < rerank) {
                r->ids[n] = w->pool_id[i];
                r->values[n++] = w->pool_d[i];
            }
        }
    }
    size_t enough = k < j->n_allowed ? k : (size_t)j->n_allowed;
    if (j->is_thin) { /* the allowed rows may lie elsewhere: half of what was expected is too few */
        uint64_t expected = (uint64_t)w->ef * j->n_allowed / g->n / 2;
        enough = expected > enough && expected <= j->n_allowed ? (size_t)expected : enough;
    }
    if (n_met < enough) {
        return false;
    }
    if (g->codes.quant == GRAPH_QUANT_NONE) {
        for (size_t i = 0; i < n; i++) {
            r->values[i] = vector_metric_finish(g->store.metric, g->store.dim, r->values[i]);
        }
    } else {
        graph_distances(g, w, r->ids, n, r->values);
    }
    if (n <= FEW || k <= FEW / 4) {
        rank_few(n, k, r);
        return true;
    }
    struct topk t;
    size_t most = k < j->n_allowed ? k : (size_t)j->n_allowed;
    topk_init(&t, most, r->found, r->found_room);
    rank_many(n, &t, r);
    r->n = topk_finish(&t);
    return true;
}

/* Up to SCAN_PIECE allowed nodes from *at on. */
static size_t next_allowed(const struct graph_rank_job *j, uint64_t *at, uint32_t *ids)
{
    const struct graph *g = j->g;
    size_t n = 0;
    uint64_t i = *at;
    if (j->filter->words == NULL) {
        for (; i < g->n && n < SCAN_PIECE; i++) {
            ids[n] = (uint32_t)i;
            n += !graph_is_removed(g, (uint32_t)i);
        }
        *at = i;
        return n;
    }
    uint64_t end = j->filter->n_bits < g->n ? j->filter->n_bits : g->n;
    while (i < end && n < SCAN_PIECE) {
        uint64_t word = j->filter->words[i / 64] >> (i % 64);
        if (word == 0) {
            i = (i / 64 + 1) * 64;
            continue;
        }
        i += (uint64_t)__builtin_ctzll(word);
        if (i < end) {
            ids[n] = (uint32_t)i;
            n += !graph_is_removed(g, (uint32_t)i);
            i++;
        }
    }
    *at = i;
    return n;
}

void graph_rank_all(const struct graph_rank_job *j, const struct graph_walk *w, size_t k, struct graph_rank *r)
{
    struct topk t;
    uint64_t at = 0;
    size_t n;
    topk_init(&t, k < j->n_allowed ? k : (size_t)j->n_allowed, r->found, r->found_room);
    while ((n = next_allowed(j, &at, r->ids)) > 0) {
        graph_distances(j->g, w, r->ids, n, r->values);
        rank_many(n, &t, r);
    }
    r->n = topk_finish(&t);
}

void graph_rank_put(const struct graph_rank *r, size_t k, uint32_t *positions, float *distances)
{
    for (size_t i = 0; i < k; i++) {
        positions[i] = i < r->n ? r->found[i].id : UINT32_MAX;
        distances[i] = i < r->n ? r->found[i].distance : INFINITY;
    }
}
