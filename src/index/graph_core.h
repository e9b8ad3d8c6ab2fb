/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_CORE_H
#define GREBE_INDEX_GRAPH_CORE_H

/*
 * A flat graph over rows: what the kinds `hnsw` (walks over the rows themselves) and `graph` (walks over codes, then
 * ranks the best again by the rows) are made of.
 *
 * Invariants
 *  1. Node i has row i of the store, code i, and links [i * width, (i + 1) * width): ids below n, no doubles, not i,
 *     then ~0. Of a file that was not checked none of this holds: a walk notices links outside of the graph.
 *  2. Entries are nodes below n.
 */

#include <pthread.h>

#include "index/graph_codes.h"
#include "index/graph_entries.h"
#include "index/graph_walk.h"
#include "index/index_bits.h"

/** How a graph is built. */
struct graph_options {
    uint32_t degree, ef_construction, quant;
    uint32_t has_no_rows; /* choice rerank: f32, none */
    uint32_t seed;
    double alpha;
};

struct graph {
    grebe_context *ctx;
    const grebe_allocator *a;
    struct graph_options options;
    struct index_store store;
    struct graph_codes codes;
    const uint32_t *links;
    uint32_t *links_owned;
    size_t links_bytes; /* of links_owned */
    uint32_t width;     /* degree rounded up to 16 */
    uint32_t n;         /* nodes that have links */
    struct graph_entries entries;
    struct index_bits removed;
    graph_walk_fn run;
    pthread_mutex_t lock; /* guards the list of idle walks */
    struct graph_walk *idle;
    size_t n_idle, idle_room;
    const struct index_file *file; /* of what is mapped, borrowed; NULL: nothing is */
};

grebe_status graph_init(struct graph *g, grebe_context *ctx, const struct index_config *config,
                        const struct graph_options *options, grebe_error *err);
void graph_release(struct graph *g); /* idempotent */

struct graph_view graph_view_of(const struct graph *g);

/** Walks out of the idle ones, made anew when there are too few. Given back by graph_walks_give(). */
grebe_status graph_walks_take(struct graph *g, struct graph_walk *walks, size_t n, uint32_t ef, grebe_error *err);
void graph_walks_give(struct graph *g, struct graph_walk *walks, size_t n);

static inline bool graph_is_removed(const struct graph *g, uint32_t id)
{
    return index_bits_has(&g->removed, id);
}

#endif
