/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_RANK_H
#define GREBE_INDEX_GRAPH_RANK_H

/* From the pool of a walk, or from all rows that a filter allows, to the answer: distances by the rows themselves,
 * equal ones by lower position. */

#include "index/graph_core.h"
#include "vector/topk.h"

/** What the filter and the removed rows of a call make of its parameters. */
struct graph_rank_job {
    const struct graph *g;
    const struct index_filter *filter; /* words NULL: all */
    uint64_t n_allowed;                /* rows that may be found, removed ones perhaps counted with them */
    bool is_scan;                      /* measuring every allowed row is cheaper than a walk */
    bool is_thin;                      /* not everything is allowed: the pool is to be sifted */
};

/** Memory for one query at a time. Owned; graph_rank_release(). */
struct graph_rank {
    const grebe_allocator *a;
    struct topk_item *found; /* nearest first; ids are positions */
    uint32_t *ids;
    float *values;
    size_t room, found_room, n;
};

/**
 * Raise ef to k and to what is needed to meet enough allowed nodes, fill in the default of rerank, decide on a scan.
 */
void graph_rank_plan(const struct graph *g, const struct index_filter *filter, size_t k, uint64_t n_queries, uint32_t *ef,
                     uint32_t *rerank, struct graph_rank_job *out);
grebe_status graph_rank_init(struct graph_rank *r, const struct graph_rank_job *j, size_t ef, size_t k,
                             grebe_error *err);
void graph_rank_release(struct graph_rank *r); /* idempotent */

/**
 * Rank the best `rerank` allowed nodes of the pool into r->found.
 * @return false: the walk met too few allowed nodes; scan instead.
 */
bool graph_rank_pool(const struct graph_rank_job *j, const struct graph_walk *w, size_t rerank, size_t k,
                     struct graph_rank *r);
/** The k nearest of all allowed rows. */
void graph_rank_all(const struct graph_rank_job *j, const struct graph_walk *w, size_t k, struct graph_rank *r);
/** The first k, padded with UINT32_MAX and +inf. */
void graph_rank_put(const struct graph_rank *r, size_t k, uint32_t *positions, float *distances);

/** Distances as callers see them of n nodes. values is overwritten: shape [n]. */
void graph_distances(const struct graph *g, const struct graph_walk *w, const uint32_t *ids, size_t n, float *values);

static inline bool graph_is_allowed(const struct graph_rank_job *j, uint32_t id)
{
    if (graph_is_removed(j->g, id)) {
        return false;
    }
    if (j->filter->words == NULL) {
        return true;
    }
    return id < j->filter->n_bits && (j->filter->words[id / 64] >> (id % 64) & 1) != 0;
}

#endif
