/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_DEGREES_H
#define GREBE_GRAPH_GRAPH_DEGREES_H

/* How many edges each type has, and how many nodes have each degree, for one type of edges. */

#include "graph/graph_csc.h"

/** Nodes by degree: those below GRAPH_DEGREES_DENSE are counted, the few others listed. */
enum { GRAPH_DEGREES_DENSE = 1 << 16 };

struct graph_histogram {
    int64_t n_nodes, sum;
    int64_t *dense;     /* shape [GRAPH_DEGREES_DENSE] */
    int64_t *high;      /* shape [n_high], ascending: degrees from GRAPH_DEGREES_DENSE */
    size_t n_high, n_room;
};

struct graph_degree_counts {
    int64_t n_edges, n_self_loops;
    struct graph_histogram in, out;
};

/** Edges of each type. @param counts Shape [n_edge_types], written. @return GREBE_OK; GREBE_ECANCELLED. */
grebe_status graph_edges_count(const struct graph_csc *g, const struct call *call, int64_t *counts, grebe_error *err);

/** @param out graph_degrees_release(), also after a failure. */
grebe_status graph_degrees_count(const struct graph_csc *g, size_t edge_type, const struct call *call,
                                 struct graph_degree_counts *out, grebe_error *err);
void graph_degrees_release(const grebe_allocator *a, struct graph_degree_counts *c); /* idempotent */

/** The first degree above `after` that a node has, and how many nodes have it; false: there is none. */
bool graph_histogram_next(const struct graph_histogram *h, int64_t after, int64_t *degree, int64_t *n_nodes);

#endif
