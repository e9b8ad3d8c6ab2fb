/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_STATS_H
#define GREBE_GRAPH_STATS_H

/* What a preprocessed graph is like: degrees by type of edges, isolated nodes, and a picture of the degrees. */

#include "grebe/graph.h"
#include "grebe/print.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Degrees of the nodes of one type. A quantile is the smallest degree that so many of the nodes do not exceed. */
typedef struct grebe_graph_degrees {
    int64_t n_nodes;
    int64_t n_zero; /**< nodes without an edge of this type on this side */
    int64_t min, p50, p90, p99, max; /**< 0 where there are no nodes */
    double mean;    /**< edges for each node; 0 where there are no nodes */
} grebe_graph_degrees;

/** Edges of one type. */
typedef struct grebe_graph_edge_stats {
    int64_t n_edges;
    int64_t n_self_loops;    /**< edges from a node to itself */
    grebe_graph_degrees in;  /**< of the destination type */
    grebe_graph_degrees out; /**< of the source type */
} grebe_graph_edge_stats;

/**
 * Count the degrees of one type of edges.
 *
 * @param graph     Borrowed.
 * @param edge_type Id of the type; 0 in a graph without types.
 * @param call      Its cancel token is looked at; NULL: none. Borrowed.
 * @param out       Written.
 * @return GREBE_OK; GREBE_EINVAL (no graph, no such type); GREBE_ECORRUPT names an edge; GREBE_ECANCELLED; GREBE_ENOMEM.
 *
 * Threads: safe on one graph from many threads.
 * Cost:    reads the edges that lead to the destination type once; memory of 8 bytes a node of both types.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_get_edge_stats(const grebe_graph *graph, size_t edge_type,
                                                                  const grebe_call_options *call, grebe_graph_edge_stats *out,
                                                                  grebe_error *err);

/**
 * Count the nodes of each type that no edge of any type begins or ends at.
 *
 * @param graph  Borrowed.
 * @param call   As for grebe_graph_get_edge_stats().
 * @param counts Written. Shape [n_node_types], [1] in a graph without types.
 * @return As grebe_graph_get_edge_stats().
 *
 * Cost: reads all edges once; memory of a bit for each node.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_isolated_nodes(const grebe_graph *graph, const grebe_call_options *call,
                                                                  int64_t *counts, grebe_error *err);

/** How degrees are drawn. Fields beyond struct_size take their defaults. Everything is borrowed. */
typedef struct grebe_graph_plot_options {
    uint32_t struct_size;
    const char *title; /**< NULL: the name of the data set */
    bool is_html;      /**< one page with values under the pointer; else SVG */
    const grebe_call_options *call;
} grebe_graph_plot_options;
#define GREBE_GRAPH_PLOT_OPTIONS_INIT                      \
    {                                                      \
        sizeof(grebe_graph_plot_options), NULL, false, NULL \
    }

/**
 * Draw on logarithmic axes how many nodes have at least a degree: a curve for the in- and one for the out-degrees of each
 * type of edges (of the six types with most edges). Equal graphs give equal bytes.
 *
 * @param graph   Borrowed.
 * @param options Borrowed; NULL: defaults.
 * @param write   Called with the picture on the caller's thread.
 * @return As grebe_graph_get_edge_stats(); GREBE_EINVAL (there is no edge to draw); GREBE_EIO (of write).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_plot_degrees(const grebe_graph *graph, const grebe_graph_plot_options *options,
                                                                grebe_write_fn write, void *write_ctx, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
