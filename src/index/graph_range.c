/* SPDX-License-Identifier: Apache-2.0 */
/* All rows within a radius: walks with ever wider pools, until the far end of the pool lies outside. */
#include "index/graph_search.h"

#include <math.h>
#include <string.h>

#include "index/graph_rank.h"

enum { EF_FIRST = 128, EF_FACTOR = 4 };

/* Results of one query, nearest first. Owned. */
struct range_one {
    struct topk_item *found;
    size_t n;
};

struct range_job {
    struct graph *g;
    const struct vector_rows *queries;
    float radius;
    const struct index_search *s;
    uint32_t ef_first;
    struct range_one *results; /* shape [queries] */
};

static grebe_status keep_within(const struct range_job *j, const struct graph_rank *r, struct range_one *out,
                                grebe_error *err)
{
    size_t n = 0;
    while (n < r->n && r->found[n].distance <= j->radius) {
        n++;
    }
    if (n == 0) {
        return GREBE_OK;
    }
    out->found = mem_alloc(j->g->a, n * sizeof *out->found);
    if (out->found == NULL) {
        return mem_fail(err, n * sizeof *out->found, "the results of a search");
    }
    memcpy(out->found, r->found, n * sizeof *out->found);
    out->n = n;
    return GREBE_OK;
}

/* One attempt. *is_done: nothing within the radius is thought to be missing. */
static grebe_status try_ef(const struct range_job *j, struct graph_walk *w, uint32_t ef, struct range_one *out,
                           bool *is_done, grebe_error *err)
{
    struct graph *g = j->g;
    struct graph_rank_job rank;
    struct graph_rank r = { 0 };
    uint32_t starts[GRAPH_STARTS], rerank = 0;
    grebe_status st = GREBE_OK;
    graph_rank_plan(g, &j->s->filter, ef, 1, &ef, &rerank, &rank);
    *is_done = true;
    if (rank.n_allowed == 0) {
        return GREBE_OK;
    }
    GREBE_TRY(graph_rank_init(&r, &rank, ef, rank.is_scan ? (size_t)rank.n_allowed : ef, err));
    if (rank.is_scan) {
        graph_rank_all(&rank, w, (size_t)rank.n_allowed, &r);
        st = keep_within(j, &r, out, err);
        goto out;
    }
    GREBE_TRY(graph_walk_reserve(w, g->a, g->n, ef, g->store.stride, g->codes.query_bytes, g->store.dim, err));
    struct graph_view view = graph_view_of(g);
    struct graph_walk *lanes[1] = { w };
    const void *q = g->codes.quant == GRAPH_QUANT_NONE ? (const void *)w->query_row : w->query_code;
    w->watch = 0;
    w->patience = 0;
    graph_walk_begin(w, &view, q, ef, 0, starts, graph_entries_nearest(&g->entries, &g->codes, q, starts));
    g->run(&view, lanes, 1);
    if (w->is_corrupt) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: a link leads out of the graph of %u nodes",
                        g->file == NULL ? "a graph" : index_file_path(g->file), g->n);
        goto out;
    }
    bool is_ranked = graph_rank_pool(&rank, w, w->n_pool, w->n_pool, &r);
    /* the far quarter of the pool has to lie outside */
    *is_done = is_ranked && r.n > 0 && r.found[r.n - 1 - r.n / 4].distance > j->radius;
    if (*is_done) {
        st = keep_within(j, &r, out, err);
    }
out:
    graph_rank_release(&r);
    return st;
}

static grebe_status range_query(void *arg, size_t i, grebe_error *err)
{
    const struct range_job *j = arg;
    struct graph *g = j->g;
    struct graph_walk w = { 0 };
    bool is_done = false;
    grebe_status st = graph_walks_take(g, &w, 1, 1, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(index_store_query(&g->store, j->queries, i, w.query_row, err));
    graph_codes_query(&g->codes, g->store.elem, w.query_row, w.query_wide, w.query_code);
    for (uint32_t ef = j->ef_first; !is_done; ef = ef < INDEX_ROWS_MAX / EF_FACTOR ? ef * EF_FACTOR : INDEX_ROWS_MAX) {
        GREBE_TRY(call_check(&j->s->call, err));
        GREBE_TRY(try_ef(j, &w, ef, &j->results[i], &is_done, err));
    }
out:
    graph_walks_give(g, &w, 1);
    return st;
}

static grebe_status join_results(const struct range_job *j, struct index_ranges *out, grebe_error *err)
{
    size_t n = (size_t)j->queries->n, total = 0;
    for (size_t i = 0; i < n; i++) {
        total += j->results[i].n;
    }
    out->a = j->g->a;
    out->n = n;
    out->total = out->capacity = total;
    out->offsets = mem_alloc_zero(out->a, (n + 1) * sizeof *out->offsets);
    out->positions = mem_alloc(out->a, total * sizeof *out->positions);
    out->distances = mem_alloc(out->a, total * sizeof *out->distances);
    if (out->offsets == NULL || out->positions == NULL || out->distances == NULL) {
        return mem_fail(err, total * (sizeof *out->positions + sizeof *out->distances), "the results of a search");
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < j->results[i].n; k++, at++) {
            out->positions[at] = j->results[i].found[k].id;
            out->distances[at] = j->results[i].found[k].distance;
        }
        out->offsets[i + 1] = (int64_t)at;
    }
    return GREBE_OK;
}

grebe_status graph_range(struct graph *g, const struct vector_rows *queries, float radius, const struct index_search *s,
                         const struct graph_search_options *o, struct index_ranges *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct range_job j = { .g = g, .queries = queries, .radius = radius, .s = s };
    size_t n = (size_t)queries->n;
    *out = (struct index_ranges){ 0 };
    j.ef_first = o->ef > EF_FIRST ? o->ef : EF_FIRST;
    j.results = mem_alloc_zero(g->ctx->a, n * sizeof *j.results);
    if (j.results == NULL) {
        return mem_fail(err, n * sizeof *j.results, "the results of a search");
    }
    GREBE_TRY(parallel_for(g->ctx->pool, s->call.threads, n, range_query, &j, s->call.cancel, err));
    GREBE_TRY(join_results(&j, out, err));
out:
    for (size_t i = 0; i < n; i++) {
        mem_free(g->ctx->a, j.results[i].found, j.results[i].n * sizeof *j.results[i].found);
    }
    mem_free(g->ctx->a, j.results, n * sizeof *j.results);
    if (st != GREBE_OK) {
        index_ranges_release(out);
    }
    return st;
}
