/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_SEARCH_H
#define GREBE_INDEX_GRAPH_SEARCH_H

/* Queries against a graph: walk, keep what the filter allows, rank the best by the rows themselves; or, where few rows
 * are allowed, measure all of those. */

#include "index/graph_core.h"

struct graph_search_options {
    uint32_t ef;       /* raised to k */
    uint32_t rerank;   /* how many of the walk's nodes are ranked by their rows; 0: max(1.5 k, k + 8) with codes of 8
                          bits, max(4k, 64) of 4 */
    uint32_t patience; /* 0: none */
};

grebe_status graph_search(struct graph *g, const struct vector_rows *queries, const struct index_search *s,
                          const struct graph_search_options *o, uint32_t *positions, float *distances,
                          grebe_error *err);
grebe_status graph_range(struct graph *g, const struct vector_rows *queries, float radius, const struct index_search *s,
                         const struct graph_search_options *o, struct index_ranges *out, grebe_error *err);

#endif
