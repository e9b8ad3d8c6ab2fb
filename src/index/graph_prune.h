/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_PRUNE_H
#define GREBE_INDEX_GRAPH_PRUNE_H

/* Which neighbours a node keeps: of those in one direction only the nearest (relative neighbourhood graph; Vamana's
 * alpha keeps some more). */

#include "index/index_store.h"

struct graph_candidate {
    float d; /* prune distance, below */
    uint32_t id;
};

/** Distances for pruning, of what the store's kernel gives: not negative where the metric has a zero. */
static inline float graph_prune_distance(enum vector_metric metric, float value)
{
    return metric == VECTOR_COSINE ? 1.0f + value : value;
}

/** By distance, then id. */
void graph_candidates_sort(struct graph_candidate *c, size_t n);

/**
 * @param c     Sorted, without doubles; shape [n].
 * @param out   Ids that are kept, nearest first; shape [keep].
 * @param fill  Then add the nearest of those dropped until there are `fill` at least.
 * @return How many.
 */
size_t graph_prune(const struct index_store *s, float alpha, const struct graph_candidate *c, size_t n, size_t keep,
                   size_t fill, uint32_t *out);

#endif
