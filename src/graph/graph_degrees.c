/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_degrees.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "graph/graph_dataset.h"
#include "graph/graph_types.h"
#include "grebe/graph_stats.h"

enum { CHECK_EVERY = 1 << 16 /* columns between two looks at the cancel token */ };

/* ---- histograms ---- */

void graph_degrees_release(const grebe_allocator *a, struct graph_degree_counts *c)
{
    struct graph_histogram *both[] = { &c->in, &c->out };
    for (size_t i = 0; i < 2; i++) {
        mem_free(a, both[i]->dense, GRAPH_DEGREES_DENSE * sizeof *both[i]->dense);
        mem_free(a, both[i]->high, both[i]->n_room * sizeof *both[i]->high);
    }
    memset(c, 0, sizeof *c);
}

static int compare_i64(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static grebe_status histogram_of(const grebe_allocator *a, const int64_t *degrees, int64_t n, struct graph_histogram *out,
                                 grebe_error *err)
{
    size_t n_high = 0;
    out->n_nodes = n;
    out->dense = mem_alloc_zero(a, GRAPH_DEGREES_DENSE * sizeof *out->dense);
    if (out->dense == NULL) {
        return mem_fail(err, GRAPH_DEGREES_DENSE * sizeof *out->dense, "degrees");
    }
    for (int64_t i = 0; i < n; i++) {
        out->sum += degrees[i];
        if (degrees[i] < GRAPH_DEGREES_DENSE) {
            out->dense[degrees[i]]++;
        } else {
            n_high++;
        }
    }
    if (n_high == 0) {
        return GREBE_OK;
    }
    out->high = mem_alloc(a, n_high * sizeof *out->high);
    if (out->high == NULL) {
        return mem_fail(err, n_high * sizeof *out->high, "degrees");
    }
    out->n_room = n_high;
    for (int64_t i = 0; i < n; i++) {
        if (degrees[i] >= GRAPH_DEGREES_DENSE) {
            out->high[out->n_high++] = degrees[i];
        }
    }
    qsort(out->high, out->n_high, sizeof *out->high, compare_i64);
    return GREBE_OK;
}

bool graph_histogram_next(const struct graph_histogram *h, int64_t after, int64_t *degree, int64_t *n_nodes)
{
    for (int64_t d = after + 1; d < GRAPH_DEGREES_DENSE; d++) {
        if (h->dense[d] > 0) {
            *degree = d;
            *n_nodes = h->dense[d];
            return true;
        }
    }
    size_t low = 0, end = h->n_high;
    while (low < end) {
        size_t middle = low + (end - low) / 2;
        if (h->high[middle] > after) {
            end = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == h->n_high) {
        return false;
    }
    *degree = h->high[low];
    for (end = low; end < h->n_high && h->high[end] == *degree; end++) {
    }
    *n_nodes = (int64_t)(end - low);
    return true;
}

/* ---- edges ---- */

/* Edges that lead to a node: [*begin, *end), within the graph. */
static grebe_status list_of(const struct graph_csc *g, int64_t node, int64_t *begin, int64_t *end, grebe_error *err)
{
    *begin = graph_id(&g->indptr, node);
    *end = graph_id(&g->indptr, node + 1);
    if (*begin < 0 || *begin > *end || *end > g->n_edges) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "node %lld: its edges are [%lld, %lld) of %lld", (long long)node,
                          (long long)*begin, (long long)*end, (long long)g->n_edges);
    }
    return GREBE_OK;
}

static grebe_status bad_source(int64_t edge, int64_t source, int64_t begin, int64_t end, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "edge %lld: expected a source in [%lld, %lld), found %lld", (long long)edge,
                      (long long)begin, (long long)end, (long long)source);
}

grebe_status graph_edges_count(const struct graph_csc *g, const struct call *call, int64_t *counts, grebe_error *err)
{
    memset(counts, 0, g->n_edge_types * sizeof *counts);
    for (int64_t begin = 0; g->n_edge_types > 0 && begin < g->n_edges; begin += CHECK_EVERY) {
        const int64_t end = min_i64(begin + CHECK_EVERY, g->n_edges);
        const grebe_status st = call_check(call, err);
        if (st != GREBE_OK) {
            return st;
        }
        for (int64_t i = begin; i < end; i++) {
            const int64_t type = graph_edge_type_at(g, i);
            if (type >= 0 && (size_t)type < g->n_edge_types) {
                counts[type]++;
            }
        }
    }
    return GREBE_OK;
}

grebe_status graph_degrees_count(const struct graph_csc *g, size_t edge_type, const struct call *call,
                                 struct graph_degree_counts *out, grebe_error *err)
{
    const grebe_allocator *a = g->ctx->a;
    const size_t from = graph_edge_source_type(g, edge_type), to = graph_edge_target_type(g, edge_type);
    const int64_t from_begin = graph_type_begin(g, from), n_from = graph_type_count(g, from);
    const int64_t to_begin = graph_type_begin(g, to), n_to = graph_type_count(g, to);
    int64_t *in = NULL, *outgoing = NULL;
    size_t in_bytes = 0, out_bytes = 0;
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    if (!checked_mul_size((size_t)n_to, sizeof *in, &in_bytes) || !checked_mul_size((size_t)n_from, sizeof *in, &out_bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "degrees of %lld and %lld nodes", (long long)n_from, (long long)n_to);
    }
    in = mem_alloc_zero(a, in_bytes);
    outgoing = mem_alloc_zero(a, out_bytes);
    if ((in == NULL && in_bytes > 0) || (outgoing == NULL && out_bytes > 0)) {
        st = mem_fail(err, in_bytes + out_bytes, "degrees");
        goto out;
    }
    for (int64_t v = 0; v < n_to; v++) {
        int64_t begin, end;
        if (v % CHECK_EVERY == 0) {
            GREBE_TRY(call_check(call, err));
        }
        GREBE_TRY(list_of(g, to_begin + v, &begin, &end, err));
        for (int64_t e = begin; e < end; e++) {
            if ((size_t)graph_edge_type_at(g, e) != edge_type) {
                continue;
            }
            const int64_t u = graph_id(&g->indices, e) - from_begin;
            if (u < 0 || u >= n_from) {
                st = bad_source(e, u + from_begin, from_begin, from_begin + n_from, err);
                goto out;
            }
            in[v]++;
            outgoing[u]++;
            out->n_self_loops += u + from_begin == v + to_begin;
        }
        out->n_edges += in[v];
    }
    GREBE_TRY(histogram_of(a, in, n_to, &out->in, err));
    GREBE_TRY(histogram_of(a, outgoing, n_from, &out->out, err));
out:
    mem_free(a, in, in_bytes);
    mem_free(a, outgoing, out_bytes);
    return st;
}

/* ---- what callers see ---- */

/* The least degree that at least ceil(n * pct / 100) nodes do not exceed. */
static int64_t quantile(const struct graph_histogram *h, int64_t pct)
{
    const int64_t n = h->n_nodes, wanted = n / 100 * pct + (n % 100 * pct + 99) / 100;
    int64_t degree = -1, n_here = 0, n_seen = 0;
    while (n_seen < wanted && graph_histogram_next(h, degree, &degree, &n_here)) {
        n_seen += n_here;
    }
    return degree < 0 ? 0 : degree;
}

static void fill_degrees(const struct graph_histogram *h, grebe_graph_degrees *out)
{
    int64_t n_here = 0;
    memset(out, 0, sizeof *out);
    out->n_nodes = h->n_nodes;
    out->n_zero = h->dense[0];
    if (h->n_nodes > 0) {
        (void)graph_histogram_next(h, -1, &out->min, &n_here);
        out->p50 = quantile(h, 50);
        out->p90 = quantile(h, 90);
        out->p99 = quantile(h, 99);
        out->max = quantile(h, 100);
        out->mean = (double)h->sum / (double)h->n_nodes;
    }
}

grebe_status grebe_graph_get_edge_stats(const grebe_graph *graph, size_t edge_type, const grebe_call_options *call,
                                        grebe_graph_edge_stats *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, graph != NULL && out != NULL);
    const struct graph_csc *g = graph_dataset_csc(graph);
    struct graph_degree_counts counts;
    memset(out, 0, sizeof *out);
    if (g == NULL || edge_type >= graph_n_edge_types(g)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "type of edges %zu of %zu", edge_type, g == NULL ? 0 : graph_n_edge_types(g));
    }
    const struct call resolved = call_options_resolve(graph->ctx, call);
    grebe_status st = graph_degrees_count(g, edge_type, &resolved, &counts, err);
    if (st == GREBE_OK) {
        out->n_edges = counts.n_edges;
        out->n_self_loops = counts.n_self_loops;
        fill_degrees(&counts.in, &out->in);
        fill_degrees(&counts.out, &out->out);
    }
    graph_degrees_release(g->ctx->a, &counts);
    return st;
}

static void mark(unsigned char *bits, int64_t node) { bits[node / 8] |= (unsigned char)(1u << (node % 8)); }
static bool is_marked(const unsigned char *bits, int64_t node) { return (bits[node / 8] >> (node % 8) & 1) != 0; }

grebe_status grebe_graph_isolated_nodes(const grebe_graph *graph, const grebe_call_options *call, int64_t *counts,
                                        grebe_error *err)
{
    GREBE_CHECK_ARG(err, graph != NULL && counts != NULL);
    const struct graph_csc *g = graph_dataset_csc(graph);
    grebe_status st = GREBE_OK;
    if (g == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the data set has no graph");
    }
    const struct call resolved = call_options_resolve(graph->ctx, call);
    const size_t bytes = (size_t)g->n_nodes / 8 + 1;
    unsigned char *bits = mem_alloc_zero(g->ctx->a, bytes);
    if (bits == NULL) {
        return mem_fail(err, bytes, "nodes");
    }
    for (int64_t v = 0; v < g->n_nodes; v++) {
        int64_t begin, end;
        if (v % CHECK_EVERY == 0) {
            GREBE_TRY(call_check(&resolved, err));
        }
        GREBE_TRY(list_of(g, v, &begin, &end, err));
        if (begin < end) {
            mark(bits, v);
        }
        for (int64_t e = begin; e < end; e++) {
            const int64_t u = graph_id(&g->indices, e);
            if (u < 0 || u >= g->n_nodes) {
                st = bad_source(e, u, 0, g->n_nodes, err);
                goto out;
            }
            mark(bits, u);
        }
    }
    for (size_t t = 0; t < graph_n_node_types(g); t++) {
        const int64_t begin = graph_type_begin(g, t), n = graph_type_count(g, t);
        counts[t] = 0;
        for (int64_t v = 0; v < n; v++) {
            counts[t] += is_marked(bits, begin + v) ? 0 : 1;
        }
    }
out:
    mem_free(g->ctx->a, bits, bytes);
    return st;
}
