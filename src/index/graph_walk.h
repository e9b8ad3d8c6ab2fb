/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_WALK_H
#define GREBE_INDEX_GRAPH_WALK_H

/*
 * Beam search in a graph. A pool of the nearest nodes seen so far, sorted; the nearest one that is not expanded yet is
 * expanded: its neighbours that were not seen are measured and enter the pool. It ends when the first `ef` of the pool
 * are expanded, or with `patience` when the nearest `watch` did not change for so many expansions. The pool may keep
 * more than `ef`: what is ranked by better distances afterwards.
 *
 * A step has two halves (gather: read the links, mark, prefetch codes; measure: distances, pool, choose, prefetch
 * links), so that several walks on one thread hide each other's waiting for memory.
 */

#include "base/alloc.h"
#include "vector/distance.h"

enum {
    GRAPH_WIDTH_MAX = 256, /* links of a node, and starting points of a walk */
    GRAPH_WALK_LANES = 8,  /* walks that are run together at most */
    GRAPH_SEEN_MAX = 16384 /* beyond so many visited nodes the whole bit set is cleared */
};
#define GRAPH_EXPANDED ((uint32_t)1 << 31)

/** What a walk reads. Borrowed. */
struct graph_view {
    const uint32_t *links; /* shape [n][width]: ids, then ~0 */
    uint32_t width;        /* a multiple of 16 */
    uint32_t n;
    const unsigned char *rows; /* of the codes, or of the store */
    size_t stride;
    uint32_t blocks, row_lines; /* row_lines: cache lines that are fetched ahead of a row */
    vector_gather_fn gather;
};

/** The memory of one walk, kept from query to query. Owned; graph_walk_release(). */
struct graph_walk {
    const grebe_allocator *a;
    uint64_t *visited; /* one bit a node */
    size_t n_words;
    uint32_t *seen; /* visited nodes, to clear their bits; those to be measured next stand at its end */
    uint32_t n_seen, n_new;
    bool is_seen_cut; /* `seen` began again from its start: all bits have to be cleared */
    float *pool_d;    /* ascending, then +inf up to a multiple of 8 beyond `keep` */
    uint32_t *pool_id;
    uint32_t n_pool, keep, ef, keep_room, cursor; /* at most `keep` in the pool, `ef` of them expanded */
    float *new_d;
    const void *query;
    uint32_t current; /* the node whose links are read next; ~0: none */
    uint32_t watch, patience, n_expanded, n_at_change;
    bool is_corrupt;                       /* a link pointed outside of the graph */
    unsigned char *query_row, *query_code; /* room for a query in its two forms */
    float *query_wide;
    size_t query_row_bytes, query_code_bytes, query_wide_n;
};

/**
 * Room for walks of a graph of n nodes.
 * @param row_bytes, code_bytes, dim  Of the query's forms (0: not needed).
 */
grebe_status graph_walk_reserve(struct graph_walk *w, const grebe_allocator *a, uint32_t n, uint32_t keep,
                                size_t row_bytes, size_t code_bytes, uint32_t dim, grebe_error *err);
void graph_walk_release(struct graph_walk *w); /* idempotent */

/** Begin a walk at some nodes (at most GRAPH_WIDTH_MAX, all below n; doubles are dropped). keep: what was reserved at
 *  most; raised to ef. */
void graph_walk_begin(struct graph_walk *w, const struct graph_view *g, const void *query, uint32_t ef, uint32_t keep,
                      const uint32_t *starts, uint32_t n_starts);

/** Run begun walks to their ends; at most GRAPH_WALK_LANES. The result is the pool; ids without GRAPH_EXPANDED. */
typedef void (*graph_walk_fn)(const struct graph_view *g, struct graph_walk *const *walks, size_t n);
graph_walk_fn graph_walk_of(enum cpu_simd level); /* NULL: the machine cannot run it */
graph_walk_fn graph_walk_avx2(void);

#endif
