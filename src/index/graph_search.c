/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_search.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "index/graph_rank.h"
#include "index/index_exact.h"

enum {
    LANES = 4,         /* walks that run together on one thread */
    QUERIES_PIECE = 32 /* that one thread takes at a time */
};

/* What is the same for all queries of a call. */
struct job {
    struct graph *g;
    const struct vector_rows *queries;
    const struct index_search *s;
    struct graph_search_options o; /* with every default filled in */
    struct graph_rank_job rank;
    uint32_t keep; /* of a walk: what is expanded, or ranked again, whichever is more */
    uint32_t *positions;
    float *distances;
};

static grebe_status finish_query(const struct job *j, struct graph_walk *w, uint64_t i, struct graph_rank *r,
                                 grebe_error *err)
{
    const size_t k = j->s->k;
    if (w->is_corrupt) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: a link leads out of the graph of %u nodes",
                          j->g->file == NULL ? "a graph" : index_file_path(j->g->file), j->g->n);
    }
    if (!graph_rank_pool(&j->rank, w, j->o.rerank, k, r)) {
        graph_rank_all(&j->rank, w, k, r);
    }
    graph_rank_put(r, k, j->positions + i * k, j->distances + i * k);
    return GREBE_OK;
}

static grebe_status search_piece(void *arg, size_t piece, grebe_error *err)
{
    const struct job *j = arg;
    struct graph *g = j->g;
    struct graph_view view = graph_view_of(g);
    struct graph_walk walks[LANES] = { 0 }, *lanes[LANES];
    struct graph_rank r = { 0 };
    uint32_t starts[GRAPH_STARTS];
    uint64_t i = piece * QUERIES_PIECE;
    uint64_t end = i + QUERIES_PIECE < j->queries->n ? i + QUERIES_PIECE : j->queries->n;
    uint32_t n_lanes = end - i < LANES ? (uint32_t)(end - i) : LANES;
    grebe_status st = graph_walks_take(g, walks, n_lanes, j->rank.is_scan ? 1 : j->keep, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(graph_rank_init(&r, &j->rank, j->keep, j->s->k, err));
    for (; i < end; i += n_lanes) {
        uint32_t n = end - i < n_lanes ? (uint32_t)(end - i) : n_lanes;
        GREBE_TRY(call_check(&j->s->call, err));
        for (uint32_t l = 0; l < n; l++) {
            struct graph_walk *w = lanes[l] = &walks[l];
            GREBE_TRY(index_store_query(&g->store, j->queries, i + l, w->query_row, err));
            const void *q = graph_codes_query(&g->codes, g->store.elem, w->query_row, w->query_wide, w->query_code);
            if (!j->rank.is_scan) {
                w->watch = (uint32_t)j->s->k;
                w->patience = j->o.patience;
                graph_walk_begin(w, &view, q, j->o.ef, j->keep, starts,
                                 graph_entries_nearest(&g->entries, &g->codes, q, starts));
            }
        }
        if (!j->rank.is_scan) {
            g->run(&view, lanes, n);
        }
        for (uint32_t l = 0; l < n; l++) {
            if (j->rank.is_scan) {
                graph_rank_all(&j->rank, &walks[l], j->s->k, &r);
                graph_rank_put(&r, j->s->k, j->positions + (i + l) * j->s->k, j->distances + (i + l) * j->s->k);
            } else {
                GREBE_TRY(finish_query(j, &walks[l], i + l, &r, err));
            }
        }
    }
out:
    graph_rank_release(&r);
    graph_walks_give(g, walks, n_lanes);
    return st;
}

grebe_status graph_search(struct graph *g, const struct vector_rows *queries, const struct index_search *s,
                          const struct graph_search_options *o, uint32_t *positions, float *distances, grebe_error *err)
{
    struct job j = { .g = g, .queries = queries, .s = s, .o = *o, .positions = positions, .distances = distances };
    if (s->k == 0 || queries->n == 0) {
        return GREBE_OK;
    }
    graph_rank_plan(g, &s->filter, s->k, queries->n, &j.o.ef, &j.o.rerank, &j.rank);
    if (j.rank.is_scan && g->store.n == g->n) { /* an index without its rows scans codes below */
        return index_exact_search(g->ctx, &g->store, &g->removed, queries, s, positions, distances, err);
    }
    j.keep = j.o.ef;
    if (g->codes.quant != GRAPH_QUANT_NONE && !j.rank.is_scan && j.o.rerank > j.o.ef) {
        j.keep = j.o.rerank < g->n ? j.o.rerank : g->n;
        j.keep = j.keep < j.o.ef ? j.o.ef : j.keep;
    }
    if (j.rank.n_allowed == 0) {
        for (size_t i = 0; i < queries->n * s->k; i++) {
            positions[i] = UINT32_MAX;
            distances[i] = INFINITY;
        }
        return GREBE_OK;
    }
    size_t pieces = (size_t)((queries->n + QUERIES_PIECE - 1) / QUERIES_PIECE);
    return parallel_for(g->ctx->pool, s->call.threads, pieces, search_piece, &j, s->call.cancel, err);
}
