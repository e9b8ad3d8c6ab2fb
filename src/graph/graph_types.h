/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_TYPES_H
#define GREBE_GRAPH_GRAPH_TYPES_H

/* Types of nodes and edges in inner loops; a graph without types has one of each. */

#include "graph/graph_csc.h"

/** As it stands in the file: not always one of the graph's. The types are packed, little endian. */
static inline int64_t graph_edge_type_at(const struct graph_csc *g, int64_t edge)
{
    const void *data = g->type_per_edge.data;
    if (g->type_per_edge.rank == 0) {
        return 0;
    }
    switch (g->type_per_edge.type) {
    case ARRAY_U8:
        return ((const uint8_t *)data)[edge];
    case ARRAY_I16:
        return ((const int16_t *)data)[edge];
    case ARRAY_I32:
        return ((const int32_t *)data)[edge];
    default:
        return ((const int64_t *)data)[edge];
    }
}

static inline size_t graph_n_node_types(const struct graph_csc *g) { return g->n_node_types == 0 ? 1 : g->n_node_types; }
/** None, where nodes have types and there are no edges. */
static inline size_t graph_n_edge_types(const struct graph_csc *g) { return g->n_node_types == 0 ? 1 : g->n_edge_types; }
static inline int64_t graph_type_begin(const struct graph_csc *g, size_t type)
{
    return g->n_node_types == 0 ? 0 : g->node_type_offset[type];
}
static inline int64_t graph_type_count(const struct graph_csc *g, size_t type)
{
    return g->n_node_types == 0 ? g->n_nodes : g->node_type_offset[type + 1] - g->node_type_offset[type];
}
static inline size_t graph_edge_source_type(const struct graph_csc *g, size_t type)
{
    return g->n_node_types == 0 ? 0 : (size_t)g->edge_ends[type][0];
}
static inline size_t graph_edge_target_type(const struct graph_csc *g, size_t type)
{
    return g->n_node_types == 0 ? 0 : (size_t)g->edge_ends[type][1];
}

#endif
