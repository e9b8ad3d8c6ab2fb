/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_sample.h"

#include <stdatomic.h>
#include <string.h>

#include "graph/graph_pick.h"
#include "graph/graph_random.h"
#include "graph/graph_types.h"

enum { BLOCK_NODES = 512, AHEAD = 24, PREFETCH_EDGES = 128 };

/*
 * One call, in two rounds of blocks: where the edges of each node are and how many it may give at most, then which it gives. Each node
 * has room for the most; what is not used is squeezed out at the end.
 */
struct sampling {
    const struct graph_csc *g;
    const struct graph_sampling *how;
    const int64_t *nodes, *node_times;
    int64_t n;
    bool is_by_type;
    int64_t *offsets; /* of each node: from its block's, then from the first of all */
    int64_t *begins;  /* first edge and number of edges of each node */
    int64_t *counts;  /* picked, of each node */
    int64_t *blocks;  /* most of each block, then where it begins */
    int64_t *edges;
    atomic_bool is_short; /* a node gave less than the most */
};

/* Edges from `at` that have its type, at most up to `end`. */
static int64_t run_end(const struct graph_csc *g, int64_t at, int64_t end)
{
    int64_t type = graph_edge_type_at(g, at), step = 1, low = at;
    while (low + step < end && graph_edge_type_at(g, low + step) == type) {
        low += step;
        step *= 2;
    }
    int64_t high = low + step < end ? low + step : end; /* low has the type, high has not */
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph_edge_type_at(g, middle) == type) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static grebe_status most_of_node(const struct sampling *s, int64_t begin, int64_t end, int64_t *most, grebe_error *err)
{
    if (!s->is_by_type) {
        *most = graph_pick_most(s->how, end - begin, s->how->fanouts[0]);
        return GREBE_OK;
    }
    *most = 0;
    while (begin < end) {
        int64_t type = graph_edge_type_at(s->g, begin), next = run_end(s->g, begin, end);
        if (type < 0 || (size_t)type >= s->how->n_fanouts) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "edge %lld of the graph has type %lld of %zu", (long long)begin, (long long)type,
                              s->how->n_fanouts);
        }
        if (__builtin_add_overflow(*most, graph_pick_most(s->how, next - begin, s->how->fanouts[type]), most)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "too many neighbours are asked for");
        }
        begin = next;
    }
    return GREBE_OK;
}

static grebe_status node_fail(const struct sampling *s, int64_t i, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_EINVAL, "node %lld is not one of the graph's %lld", (long long)s->nodes[i], (long long)s->g->n_nodes);
}

/* Where the edges of a block's nodes are, and how many of them are picked at most. */
static grebe_status find_columns(void *arg, size_t block, grebe_error *err)
{
    struct sampling *s = arg;
    const struct graph_csc *g = s->g;
    int64_t first = (int64_t)block * BLOCK_NODES, end_node = min_i64(first + BLOCK_NODES, s->n), total = 0;
    for (int64_t i = first; i < end_node; i++) {
        int64_t later = i + AHEAD < s->n ? s->nodes[i + AHEAD] : 0, node = s->nodes[i], most = 0;
        if ((uint64_t)later < (uint64_t)g->n_nodes) {
            __builtin_prefetch((const char *)g->indptr.data + (size_t)later * (g->indptr.is_wide ? 8 : 4));
        }
        if ((uint64_t)node >= (uint64_t)g->n_nodes) {
            return node_fail(s, i, err);
        }
        int64_t begin = graph_id(&g->indptr, node), end = graph_id(&g->indptr, node + 1);
        if (begin < 0 || begin > end || end > g->n_edges) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "edges of node %lld: from %lld to %lld of %lld", (long long)node, (long long)begin,
                              (long long)end, (long long)g->n_edges);
        }
        grebe_status st = most_of_node(s, begin, end, &most, err);
        if (st != GREBE_OK) {
            return st;
        }
        s->begins[2 * i] = begin;
        s->begins[2 * i + 1] = end - begin;
        s->offsets[i] = total;
        if (__builtin_add_overflow(total, most, &total)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "too many neighbours are asked for");
        }
    }
    s->blocks[block] = total;
    return GREBE_OK;
}

/* Where the edges of each block begin, and how many there are at most. */
static grebe_status place_blocks(const struct sampling *s, size_t n_blocks, int64_t *total, grebe_error *err)
{
    *total = 0;
    for (size_t i = 0; i < n_blocks; i++) {
        int64_t most = s->blocks[i];
        s->blocks[i] = *total;
        if (__builtin_add_overflow(*total, most, total)) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "too many neighbours are asked for");
        }
    }
    return GREBE_OK;
}

static grebe_status pick_node(const struct sampling *s, struct graph_picker *p, int64_t i, grebe_error *err)
{
    int64_t begin = s->begins[2 * i], end = begin + s->begins[2 * i + 1], n;
    int64_t *out = s->edges + s->offsets[i];
    struct graph_run run = { begin, end - begin, s->how->fanouts[0], s->node_times == NULL ? 0 : s->node_times[i],
                             graph_draw(s->how->key, (uint64_t)i) };
    if (!s->is_by_type) {
        return graph_pick(p, &run, out, &s->counts[i], err);
    }
    uint64_t key = run.key;
    s->counts[i] = 0;
    while (begin < end) {
        int64_t type = graph_edge_type_at(s->g, begin), next = run_end(s->g, begin, end);
        run.begin = begin;
        run.n = next - begin;
        run.fanout = s->how->fanouts[type];
        run.key = graph_draw(key, (uint64_t)type);
        grebe_status st = graph_pick(p, &run, out + s->counts[i], &n, err);
        if (st != GREBE_OK) {
            return st;
        }
        s->counts[i] += n;
        begin = next;
    }
    return GREBE_OK;
}

/* The values that ranking looks at, of a node some steps ahead. */
static void prefetch_column(const struct sampling *s, int64_t i)
{
    size_t begin = (size_t)s->begins[2 * i], n = min_size((size_t)s->begins[2 * i + 1], PREFETCH_EDGES);
    if (s->how->weights != NULL) {
        size_t width = graph_weights_width(s->how->weights);
        graph_prefetch((const char *)s->how->weights->values + begin * width, n * width);
    }
    if (s->how->is_by_source || s->how->times != NULL) {
        size_t width = s->g->indices.is_wide ? 8 : 4;
        graph_prefetch((const char *)s->g->indices.data + begin * width, n * width);
    }
}

static grebe_status pick_block(void *arg, size_t block, grebe_error *err)
{
    struct sampling *s = arg;
    struct graph_picker p = { .g = s->g, .how = s->how };
    int64_t begin = (int64_t)block * BLOCK_NODES, end = min_i64(begin + BLOCK_NODES, s->n), picked = 0, most = 0;
    bool looks = s->how->weights != NULL || s->how->is_by_source || s->how->times != NULL;
    grebe_status st = GREBE_OK;
    for (int64_t i = begin; i < end && st == GREBE_OK; i++) {
        if (looks && i + 6 < end) {
            prefetch_column(s, i + 6);
        }
        s->offsets[i] += s->blocks[block];
        st = pick_node(s, &p, i, err);
        picked += s->counts[i];
    }
    most = s->blocks[block + 1] - s->blocks[block];
    if (picked != most) {
        atomic_store_explicit(&s->is_short, true, memory_order_relaxed);
    }
    graph_picker_release(&p);
    return st;
}

/* Counts become offsets; edges move to the front where nodes gave less than the most. */
static void squeeze(struct graph_picks *picks, const int64_t *counts, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = picks->offsets.v[i];
        if (begin != at && counts[i] > 0) {
            memmove(picks->edges.v + at, picks->edges.v + begin, (size_t)counts[i] * sizeof(int64_t));
        }
        picks->offsets.v[i] = at;
        at += counts[i];
    }
    picks->offsets.v[n] = at;
    picks->edges.n = at;
}

grebe_status graph_sampling_check(const struct graph_csc *g, const struct graph_sampling *how, grebe_error *err)
{
    if (how->n_fanouts != 1 && how->n_fanouts != graph_n_edge_types(g)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%zu fanouts: expected 1, or one for each of the %zu types of edges", how->n_fanouts,
                          graph_n_edge_types(g));
    }
    for (size_t i = 0; i < how->n_fanouts; i++) {
        if (how->fanouts[i] < GRAPH_FANOUT_ALL) {
            return GREBE_FAIL(err, GREBE_EINVAL, "fanout %lld: expected -1 (all) or a number of neighbours", (long long)how->fanouts[i]);
        }
    }
    return GREBE_OK;
}

grebe_status graph_sample(const struct graph_csc *g, const int64_t *nodes, const int64_t *node_times, int64_t n,
                          const struct graph_sampling *how, uint32_t threads, struct graph_picks *picks, grebe_error *err)
{
    const grebe_allocator *a = g->ctx->a;
    struct pool *pool = threads > 1 ? g->ctx->pool : NULL;
    size_t n_blocks = (size_t)((n + BLOCK_NODES - 1) / BLOCK_NODES);
    int64_t total = 0;
    grebe_status st;
    GREBE_TRY(graph_sampling_check(g, how, err));
    if (how->times != NULL && node_times == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "sampling by time needs a time for each seed");
    }
    struct sampling s = { .g = g, .how = how, .nodes = nodes, .node_times = node_times, .n = n,
                          .is_by_type = how->n_fanouts > 1 };
    atomic_init(&s.is_short, false);
    GREBE_TRY(graph_array_room(a, &picks->offsets, n + 1, err));
    GREBE_TRY(graph_array_room(a, &picks->working, 3 * n + (int64_t)n_blocks + 1, err));
    s.offsets = picks->offsets.v;
    s.begins = picks->working.v;
    s.counts = s.begins + 2 * n;
    s.blocks = s.counts + n;
    GREBE_TRY(parallel_for(pool, threads, n_blocks, find_columns, &s, NULL, err));
    GREBE_TRY(place_blocks(&s, n_blocks, &total, err));
    s.blocks[n_blocks] = total;
    GREBE_TRY(graph_array_room(a, &picks->edges, total, err));
    s.edges = picks->edges.v;
    GREBE_TRY(parallel_for(pool, threads, n_blocks, pick_block, &s, NULL, err));
    picks->offsets.v[n] = total;
    picks->offsets.n = n + 1;
    picks->edges.n = total;
    if (atomic_load_explicit(&s.is_short, memory_order_relaxed)) {
        squeeze(picks, s.counts, n);
    }
out:
    return st;
}

void graph_picks_release(const grebe_allocator *a, struct graph_picks *picks)
{
    graph_array_release(a, &picks->offsets);
    graph_array_release(a, &picks->edges);
    graph_array_release(a, &picks->working);
}
