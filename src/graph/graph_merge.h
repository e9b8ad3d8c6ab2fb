/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_MERGE_H
#define GREBE_GRAPH_GRAPH_MERGE_H

/* Rows for the sources of a hop on many threads: those that graph_map_rows() gives, in the same order. */

#include "base/pool.h"
#include "graph/graph_map.h"

enum { GRAPH_MERGE_BLOCK = 4096 };

/** Working memory; keeps it from one hop to the next: less than five bytes for each edge of the largest. */
struct graph_merge {
    struct graph_array entries; /* uint32, shape [edges]: of each block, by shard */
    struct graph_array runs;    /* of each block, see graph_merge.c */
};

/**
 * Whether many threads pay: each edge is dealt out and collected once more than by graph_map_rows(), which for few
 * threads is more than what one of them has to do alone.
 */
bool graph_merge_pays(const struct graph_map *map, const struct graph_array *rows, int64_t n, uint32_t threads);

/** Room for `n` edges. */
grebe_status graph_merge_begin(struct graph_merge *m, const grebe_allocator *a, int64_t n, grebe_error *err);
/**
 * The sources of one block of GRAPH_MERGE_BLOCK edges, of which the last may have fewer, are there. Every block once,
 * on any thread.
 */
void graph_merge_deal(struct graph_merge *m, size_t block, const int64_t *nodes, int64_t n);
/**
 * After all were dealt: the row of each; one that has none is added to `rows`.
 *
 * @param nodes   Shape [n]; rows come in the place of nodes.
 * @param is_last The map is not asked again before graph_map_begin().
 * @return GREBE_OK; GREBE_ENOMEM.
 */
grebe_status graph_merge_rows(struct graph_merge *m, const grebe_allocator *a, struct graph_map *map, int64_t *nodes, int64_t n,
                              bool is_last, uint32_t threads, struct pool *pool, struct graph_array *rows, grebe_error *err);
void graph_merge_release(const grebe_allocator *a, struct graph_merge *m);

#endif
