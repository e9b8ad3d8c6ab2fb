/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_SOURCE_H
#define GREBE_GRAPH_GRAPH_SOURCE_H

/* Layer-dependent sampling: the number that a source has for all nodes of a hop, of one seed or of two, once or many times. */

#include <float.h>
#include <stdbool.h>

#include "graph/graph_random.h"
#include "graph/graph_smallest.h"

/**
 * Numbers of two seeds as one: with contribution 0 those of the first alone, with 1 those of the second, between them from one to the
 * other, so that batches in succession share most of their picks. Equal seeds give the numbers of one.
 */
struct graph_blend {
    uint64_t keys[2];
    float shares[2]; /* cosine and sine of contribution * pi / 2: normal numbers of both stay normal */
};

static inline bool graph_is_blended(const struct graph_blend *b) { return b->keys[0] != b->keys[1]; }

/** @param contribution In [0, 1]. */
struct graph_blend graph_blend_of(uint64_t key, uint64_t other, float contribution);

/** A number in [0, 1) for a stream: a source, or a source a further time. */
float graph_blend_number(const struct graph_blend *b, uint64_t stream);

/**
 * @param weight Of the edge, 1 where there are none.
 * @return Infinity where the weight is 0, negative or none, and there alone: however small a weight, its edge can be picked.
 */
static inline float graph_source_rank(float number, double weight, bool is_double)
{
    float rank = is_double ? (float)((double)number / weight) : number / (float)weight;
    return !(weight > 0.0) ? INFINITY : rank < INFINITY ? rank : FLT_MAX;
}

/** Float32 ranks, which are not below 0, as keys in their order, equal ones by position. */
static inline uint64_t graph_rank_key(float rank, int64_t i)
{
    uint32_t bits;
    memcpy(&bits, &rank, sizeof bits);
    return (uint64_t)bits << 32 | (uint64_t)i;
}

/** A source that runs several times against others. */
struct graph_runner {
    uint64_t source;
    double weight;
    bool is_double;
};

/**
 * With replacement: a source enters s->k times, with the ascending numbers that so many draws would have; all that are among the
 * smallest are added to s.
 *
 * @param i       Position of the source.
 * @param n_nodes Of the graph: time j of a source has the stream source + j * n_nodes.
 */
void graph_race(const struct graph_blend *b, const struct graph_runner *r, int64_t i, int64_t n_nodes, struct graph_smallest *s);

#endif
