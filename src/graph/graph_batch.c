/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_batch.h"

#include <string.h>

#include "graph/graph_types.h"

static void free_layer(struct graph_batch *b, struct graph_layer *l)
{
    const grebe_allocator *a = b->g->ctx->a;
    for (size_t i = 0; l->relations != NULL && i < b->n_edge_types; i++) {
        graph_array_release(a, &l->relations[i].indptr);
        graph_array_release(a, &l->relations[i].indices);
        graph_array_release(a, &l->relations[i].edges);
    }
    mem_free(a, l->relations, b->n_edge_types * sizeof *l->relations);
    mem_free(a, l->n_rows, b->n_node_types * sizeof *l->n_rows);
    mem_free(a, l->n_columns, b->n_node_types * sizeof *l->n_columns);
}

void graph_batch_free(struct graph_batch *b)
{
    if (b == NULL) {
        return;
    }
    const grebe_allocator *a = b->g->ctx->a;
    for (size_t i = 0; i < b->layer_capacity; i++) {
        free_layer(b, &b->layers[i]);
    }
    mem_free(a, b->layers, b->layer_capacity * sizeof *b->layers);
    for (size_t i = 0; i < b->n_node_types; i++) {
        if (b->nodes != NULL) {
            graph_array_release(a, &b->nodes[i]);
        }
        if (b->times != NULL) {
            graph_array_release(a, &b->times[i]);
        }
    }
    mem_free(a, b->nodes, b->n_node_types * sizeof *b->nodes);
    mem_free(a, b->times, b->n_node_types * sizeof *b->times);
    mem_free(a, b->n_seeds, b->n_node_types * sizeof *b->n_seeds);
    mem_free(a, b, sizeof *b);
}

grebe_status graph_batch_new(const struct graph_csc *g, struct graph_batch **out, grebe_error *err)
{
    const grebe_allocator *a = g->ctx->a;
    struct graph_batch *b = mem_alloc_zero(a, sizeof *b);
    *out = NULL;
    if (b == NULL) {
        return mem_fail(err, sizeof *b, "a batch");
    }
    b->g = g;
    b->n_node_types = graph_n_node_types(g);
    b->n_edge_types = graph_n_edge_types(g);
    b->nodes = mem_alloc_zero(a, b->n_node_types * sizeof *b->nodes);
    b->times = mem_alloc_zero(a, b->n_node_types * sizeof *b->times);
    b->n_seeds = mem_alloc_zero(a, b->n_node_types * sizeof *b->n_seeds);
    if (b->nodes == NULL || b->times == NULL || b->n_seeds == NULL) {
        grebe_status st = mem_fail(err, b->n_node_types * sizeof *b->nodes, "a batch");
        graph_batch_free(b);
        return st;
    }
    *out = b;
    return GREBE_OK;
}

grebe_status graph_scratch_new(const struct graph_csc *g, struct graph_scratch **out, grebe_error *err)
{
    struct graph_scratch *s = mem_alloc_zero(g->ctx->a, sizeof *s);
    grebe_status st = s == NULL ? mem_fail(err, sizeof *s, "working memory of sampling") : GREBE_OK;
    *out = NULL;
    if (st == GREBE_OK) {
        s->g = g;
        st = graph_map_new(g->ctx->a, g->n_nodes, GRAPH_MAP_DENSE_MAX, &s->map, err);
    }
    if (st != GREBE_OK) {
        graph_scratch_free(s);
        return st;
    }
    *out = s;
    return GREBE_OK;
}

void graph_scratch_free(struct graph_scratch *s)
{
    if (s != NULL) {
        const grebe_allocator *a = s->g->ctx->a;
        graph_map_free(s->map);
        graph_merge_release(a, &s->merge);
        graph_picks_release(a, &s->picks);
        graph_array_release(a, &s->columns);
        graph_array_release(a, &s->column_times);
        graph_array_release(a, &s->cursors);
        graph_array_release(a, &s->types);
        mem_free(a, s, sizeof *s);
    }
}

void graph_batch_begin(struct graph_batch *b, struct graph_scratch *s)
{
    for (size_t i = 0; i < b->n_node_types; i++) {
        b->nodes[i].n = 0;
        b->times[i].n = 0;
        b->n_seeds[i] = 0;
    }
    b->n_layers = 0;
    graph_map_begin(s->map);
}

static grebe_status seed_fail(const struct graph_csc *g, size_t type, int64_t id, grebe_error *err)
{
    if (g->n_node_types == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "node %lld is not one of the graph's %lld", (long long)id, (long long)g->n_nodes);
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "node %lld is not one of the %lld of type \"%s\"", (long long)id,
                      (long long)graph_type_count(g, type), g->node_types[type]);
}

grebe_status graph_batch_add(struct graph_batch *b, struct graph_scratch *s, size_t type, const int64_t *ids, const int64_t *times,
                             int64_t n, bool is_unique, int64_t *rows, grebe_error *err)
{
    const grebe_allocator *a = b->g->ctx->a;
    int64_t begin = graph_type_begin(b->g, type), count = graph_type_count(b->g, type);
    struct graph_array *nodes = &b->nodes[type];
    int64_t first = nodes->n;
    grebe_status st;
    if (n > 0 && (times != NULL ? b->times[type].n != first : b->times[type].n != 0)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "seeds of one type: expected times for all or for none of them");
    }
    GREBE_TRY(graph_array_room(a, nodes, first + n, err));
    for (int64_t i = 0; i < n; i++) {
        if ((uint64_t)ids[i] >= (uint64_t)count) {
            st = seed_fail(b->g, type, ids[i], err);
            goto out;
        }
    }
    if (is_unique) {
        GREBE_TRY(graph_array_room(a, &s->columns, n, err));
        for (int64_t i = 0; i < n; i++) {
            s->columns.v[i] = ids[i] + begin;
        }
        GREBE_TRY(graph_map_rows(s->map, s->columns.v, n, nodes, s->columns.v, err));
        if (rows != NULL && n > 0) {
            memcpy(rows, s->columns.v, (size_t)n * sizeof *rows);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            nodes->v[first + i] = ids[i] + begin;
            if (rows != NULL) {
                rows[i] = first + i;
            }
        }
        nodes->n = first + n;
    }
    if (times != NULL) {
        GREBE_TRY(graph_array_room(a, &b->times[type], first + n, err));
        if (n > 0) {
            memcpy(b->times[type].v + first, times, (size_t)n * sizeof *times);
        }
        b->times[type].n = first + n;
    }
    b->n_seeds[type] = nodes->n;
out:
    return st;
}

void graph_batch_finish(struct graph_batch *b)
{
    for (size_t i = 0; i < b->n_node_types; i++) {
        int64_t begin = graph_type_begin(b->g, i);
        for (int64_t j = 0; begin != 0 && j < b->nodes[i].n; j++) {
            b->nodes[i].v[j] -= begin;
        }
    }
}

int64_t graph_batch_n_edges(const struct graph_batch *b)
{
    int64_t n = 0;
    for (size_t i = 0; i < b->n_layers; i++) {
        for (size_t j = 0; j < b->n_edge_types; j++) {
            n += b->layers[i].relations[j].edges.n;
        }
    }
    return n;
}
