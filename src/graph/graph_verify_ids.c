/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_verify_ids.h"

#include <stdio.h>

#include "base/checked.h"
#include "graph/graph_dataset.h"
#include "graph/graph_preprocess.h"
#include "graph/graph_types.h"

enum { BLOCK_EDGES = 1 << 16 };

/* Rows of all types behind one another; a bit for each that an edge has. */
struct rows_seen {
    const struct graph_csc *g;
    const int64_t *edges;
    int64_t *begins; /* by type */
    uint64_t *bits;
};

/* Edge i; false: no edge may have its row, or another has. */
static bool see_edge(struct rows_seen *x, const struct tensor *ids, int64_t i, char *message, size_t room)
{
    const bool is_typed = x->g->n_edge_types > 0;
    const int64_t id = ids->type == ARRAY_I64 ? ((const int64_t *)(const void *)ids->data)[i] : ((const int32_t *)(const void *)ids->data)[i];
    const int64_t type = is_typed ? graph_edge_type_at(x->g, i) : 0;
    const int64_t bound = is_typed ? x->edges[type] : x->g->n_edges;
    if (id < 0 || id >= bound) {
        snprintf(message, room, "edge %lld: row %lld of its file, the bound is %lld", (long long)i, (long long)id, (long long)bound);
        return false;
    }
    const uint64_t at = (uint64_t)((is_typed ? x->begins[type] : 0) + id);
    if ((x->bits[at / 64] >> (at % 64) & 1) != 0) {
        snprintf(message, room, "edge %lld: row %lld of its file, which another edge has", (long long)i, (long long)id);
        return false;
    }
    x->bits[at / 64] |= UINT64_C(1) << (at % 64);
    return true;
}

grebe_status graph_verify_edge_ids(const struct grebe_graph *graph, const int64_t *edges, const struct call *call, bool *is_right,
                                   char *message, size_t room, grebe_error *err)
{
    const struct graph_csc *g = &graph->csc;
    const struct tensor *ids = graph_edge_ids(g);
    const grebe_allocator *a = graph->ctx->a;
    grebe_status st = GREBE_OK;
    *is_right = true;
    if (ids == NULL) {
        return GREBE_OK;
    }
    const size_t bytes = ((size_t)g->n_edges / 64 + 1) * 8, begin_bytes = (g->n_edge_types + 1) * sizeof(int64_t);
    struct rows_seen x = { g, edges, mem_alloc_zero(a, begin_bytes), mem_alloc_zero(a, bytes) };
    if (x.begins == NULL || x.bits == NULL) {
        st = mem_fail(err, bytes, "edge ids");
        goto out;
    }
    for (size_t t = 1; t < g->n_edge_types; t++) {
        x.begins[t] = x.begins[t - 1] + edges[t - 1];
    }
    for (int64_t i = 0; i < g->n_edges && *is_right; i++) {
        if (i % BLOCK_EDGES == 0) {
            GREBE_TRY(call_check(call, err));
        }
        *is_right = see_edge(&x, ids, i, message, room);
    }
out:
    mem_free(a, x.begins, begin_bytes);
    mem_free(a, x.bits, bytes);
    return st;
}

grebe_status graph_verify_seeds(const struct grebe_graph *graph, const struct call *call, struct graph_metadata *told, grebe_error *err)
{
    const struct graph_csc *g = &graph->csc;
    const struct graph_metadata *m = graph->metadata;
    *told = (struct graph_metadata){ .ctx = graph->ctx, .arena = ARENA_INIT(graph->ctx->a), .path = m->path, .folder = m->folder,
                                     .shown = m->shown, .is_homogeneous = g->n_node_types == 0, .tasks = m->tasks, .n_tasks = m->n_tasks };
    told->last_problem = &told->problems;
    told->n_nodes = g->n_node_types == 0 ? 1 : g->n_node_types;
    told->nodes = arena_array(&told->arena, told->n_nodes, sizeof *told->nodes);
    if (told->nodes == NULL) {
        return mem_fail(err, told->n_nodes * sizeof *told->nodes, m->shown);
    }
    for (size_t i = 0; i < told->n_nodes; i++) {
        told->nodes[i].type = g->n_node_types == 0 ? NULL : g->node_types[i];
        told->nodes[i].num = graph_type_count(g, i);
    }
    return graph_seeds_check(told, call, err);
}

void graph_metadata_view_release(struct graph_metadata *view) { arena_release(&view->arena); }
