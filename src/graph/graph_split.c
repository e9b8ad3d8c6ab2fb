/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over blocks of columns of one type: types are read and counted (count), then edges go to their relations (split), each
 * block's behind those of the blocks before it. On one thread a type of nodes is one block.
 */
#include "graph/graph_split.h"

#include <string.h>

#include "graph/graph_types.h"

enum { AHEAD = 64, BLOCK_COLUMNS = 512, BLOCKS_OF_THREAD = 4, LINE = 64 / sizeof(int64_t) };

struct splitting {
    const struct graph_csc *g;
    struct graph_scratch *s;
    struct graph_layer *layer;
    uint32_t *types;      /* of each pick */
    int64_t block_columns;
    size_t n_blocks, stride; /* of s->cursors: by block and type of edge; no two blocks share a cache line */
};

struct block {
    size_t type;
    int64_t first;      /* column of all types with which the type begins */
    int64_t begin, end; /* columns of the type */
};

static size_t blocks_of(const struct splitting *x, size_t type)
{
    return (size_t)((x->layer->n_columns[type] + x->block_columns - 1) / x->block_columns);
}

static struct block find_block(const struct splitting *x, size_t i)
{
    struct block b = { 0 };
    while (i >= blocks_of(x, b.type)) {
        i -= blocks_of(x, b.type);
        b.first += x->layer->n_columns[b.type++];
    }
    b.begin = (int64_t)i * x->block_columns;
    b.end = min_i64(b.begin + x->block_columns, x->layer->n_columns[b.type]);
    return b;
}

static grebe_status count_block(void *arg, size_t i, grebe_error *err)
{
    const struct splitting *x = arg;
    const struct graph_csc *g = x->g;
    const struct graph_picks *picks = &x->s->picks;
    struct block b = find_block(x, i);
    int64_t begin = picks->offsets.v[b.first + b.begin], end = picks->offsets.v[b.first + b.end], *counts = x->s->cursors.v + i * x->stride;
    const char *data = (const char *)g->type_per_edge.data;
    size_t width = tensor_type_bytes(g->type_per_edge.type);
    memset(counts, 0, g->n_edge_types * sizeof *counts);
    for (int64_t k = begin; k < end; k++) {
        __builtin_prefetch(data + (size_t)picks->edges.v[k + AHEAD < end ? k + AHEAD : k] * width);
        int64_t edge = picks->edges.v[k], type = graph_edge_type_at(g, edge);
        if (type < 0 || (size_t)type >= g->n_edge_types || graph_edge_target_type(g, (size_t)type) != b.type) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "edge %lld of the graph has type %lld, which does not lead to \"%s\"",
                              (long long)edge, (long long)type, g->node_types[b.type]);
        }
        x->types[k] = (uint32_t)type;
        counts[type]++;
    }
    return GREBE_OK;
}

static grebe_status split_block(void *arg, size_t i, grebe_error *err)
{
    const struct splitting *x = arg;
    const struct graph_picks *picks = &x->s->picks;
    struct graph_relation *relations = x->layer->relations;
    struct block b = find_block(x, i);
    int64_t *cursors = x->s->cursors.v + i * x->stride;
    (void)err;
    for (int64_t c = b.begin; c < b.end; c++) {
        for (int64_t k = picks->offsets.v[b.first + c]; k < picks->offsets.v[b.first + c + 1]; k++) {
            uint32_t type = x->types[k];
            relations[type].edges.v[cursors[type]++] = picks->edges.v[k];
        }
        for (size_t r = 0; r < x->g->n_edge_types; r++) {
            if (graph_edge_target_type(x->g, r) == b.type) {
                relations[r].indptr.v[c + 1] = cursors[r];
            }
        }
    }
    return GREBE_OK;
}

/* Counts become the places where the edges of each block begin. */
static grebe_status place_relations(const struct splitting *x, grebe_error *err)
{
    const grebe_allocator *a = x->g->ctx->a;
    grebe_status st = GREBE_OK;
    for (size_t r = 0; r < x->g->n_edge_types; r++) {
        struct graph_relation *relation = &x->layer->relations[r];
        int64_t n = x->layer->n_columns[graph_edge_target_type(x->g, r)], n_edges = 0;
        for (size_t i = 0; i < x->n_blocks; i++) {
            int64_t *at = &x->s->cursors.v[i * x->stride + r], count = *at;
            *at = n_edges;
            n_edges += count;
        }
        GREBE_TRY(graph_array_room(a, &relation->indptr, n + 1, err));
        GREBE_TRY(graph_array_room(a, &relation->edges, n_edges, err));
        relation->indptr.n = n + 1;
        relation->indptr.v[0] = 0;
        relation->edges.n = n_edges;
    }
out:
    return st;
}

static void swap_arrays(struct graph_array *a, struct graph_array *b)
{
    struct graph_array t = *a;
    *a = *b;
    *b = t;
}

grebe_status graph_split_types(struct graph_scratch *s, struct graph_layer *layer, uint32_t threads, grebe_error *err)
{
    const struct graph_csc *g = s->g;
    const grebe_allocator *a = g->ctx->a;
    struct pool *pool = threads > 1 ? g->ctx->pool : NULL;
    grebe_status st = GREBE_OK;
    if (g->n_node_types == 0) {
        swap_arrays(&s->picks.offsets, &layer->relations[0].indptr);
        swap_arrays(&s->picks.edges, &layer->relations[0].edges);
        return GREBE_OK;
    }
    int64_t n_columns = s->picks.offsets.n - 1, n_wanted = threads > 1 ? (int64_t)threads * BLOCKS_OF_THREAD : 1;
    struct splitting x = { .g = g, .s = s, .layer = layer, .block_columns = max_i64(BLOCK_COLUMNS, n_columns / n_wanted + 1),
                           .stride = (g->n_edge_types + 2 * LINE - 1) / LINE * LINE };
    for (size_t t = 0; t < g->n_node_types; t++) {
        x.n_blocks += blocks_of(&x, t);
    }
    GREBE_TRY(graph_array_room(a, &s->types, s->picks.edges.n / 2 + 1, err));
    GREBE_TRY(graph_array_room(a, &s->cursors, (int64_t)(x.n_blocks * x.stride), err));
    x.types = (uint32_t *)s->types.v;
    GREBE_TRY(parallel_for(pool, threads, x.n_blocks, count_block, &x, NULL, err));
    GREBE_TRY(place_relations(&x, err));
    GREBE_TRY(parallel_for(pool, threads, x.n_blocks, split_block, &x, NULL, err));
out:
    return st;
}
