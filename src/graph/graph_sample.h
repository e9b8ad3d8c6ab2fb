/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_SAMPLE_H
#define GREBE_GRAPH_GRAPH_SAMPLE_H

/* One hop: for each node of a list some of its in-edges. Node ids are global. */

#include "graph/graph_array.h"
#include "graph/graph_source.h"
#include "graph/graph_weights.h"

enum { GRAPH_FANOUT_ALL = -1 };

/** Edges that are old enough: time < that of the seed and, with a window, > that of the seed - window. */
struct graph_times {
    const int64_t *of_nodes; /* shape [n_nodes]: of the source; NULL: any */
    const int64_t *of_edges; /* shape [n_edges]; NULL: any */
    bool has_window;
    int64_t window;
};

/** How a hop picks. */
struct graph_sampling {
    const int64_t *fanouts; /* shape [n_fanouts]: at least 0, or GRAPH_FANOUT_ALL */
    size_t n_fanouts;       /* 1, or one for each type of edge */
    bool with_replacement;
    bool is_by_source;      /* layer-dependent (LABOR): a random number for each source, the smallest are taken */
    const struct graph_weights *weights; /* NULL: all alike */
    const struct graph_times *times;     /* NULL: none */
    uint64_t key;           /* of the random numbers; by_source: the seed */
    const struct graph_blend *blend; /* by_source: two seeds in the place of `key`; NULL: none */
};

/** Edges by the node they lead to: those of node i of the list from offsets[i] to offsets[i + 1]. */
struct graph_picks {
    struct graph_array offsets, edges; /* edges: positions in the CSC */
    struct graph_array working;
};

/** Numbers of neighbours that fit the graph. GREBE_EINVAL. */
grebe_status graph_sampling_check(const struct graph_csc *g, const struct graph_sampling *how, grebe_error *err);
/**
 * @param nodes   Shape [n], checked here; may repeat.
 * @param threads At most; what is picked does not depend on it.
 * @param picks   Filled; keeps its memory for the next call. graph_picks_release().
 * @return GREBE_OK; GREBE_EINVAL (fanouts, a node that is none); GREBE_ECORRUPT (indptr); GREBE_ENOMEM.
 */
grebe_status graph_sample(const struct graph_csc *g, const int64_t *nodes, const int64_t *node_times, int64_t n,
                          const struct graph_sampling *how, uint32_t threads, struct graph_picks *picks, grebe_error *err);
void graph_picks_release(const grebe_allocator *a, struct graph_picks *picks);

#endif
