/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_ROWS_H
#define GREBE_GRAPH_GRAPH_ROWS_H

/* Rows of an array by id: features of nodes and edges, columns of item sets. */

#include "graph/graph_csc.h"

/** Bytes of a row; 0: the array has rows of nothing. */
size_t graph_row_bytes(const struct tensor *t);

/**
 * Rows in the order of the ids, which may repeat, into the caller's memory.
 *
 * @param t       At least one dimension; any layout and byte order.
 * @param ids     Shape [n].
 * @param by_page Read in the order of the file: for a mapped file that is not in memory.
 * @param dst     Shape [n][row bytes], native byte order.
 * @return GREBE_OK; GREBE_EINVAL names the first id that is none; GREBE_ENOMEM.
 */
grebe_status graph_rows_gather(grebe_context *ctx, const struct tensor *t, const int64_t *ids, int64_t n, bool by_page,
                               uint32_t threads, void *dst, grebe_error *err);

/**
 * A bounded store of rows that were read, in front of an array on a disk: what is read again stays, by SIEVE (Zhang et al. 2024).
 * Not for several threads.
 */
struct graph_row_cache;
struct graph_row_counts {
    uint64_t hits, misses, evictions;
};
/** @param bytes At most; at least one row is kept. */
grebe_status graph_row_cache_new(grebe_context *ctx, const struct tensor *t, uint64_t bytes, struct graph_row_cache **out, grebe_error *err);
void graph_row_cache_free(struct graph_row_cache *c); /* NULL accepted */
/** As graph_rows_gather(); an id that repeats within a call is read once or twice, never wrong. */
grebe_status graph_row_cache_gather(struct graph_row_cache *c, const int64_t *ids, int64_t n, uint32_t threads, void *dst,
                                    grebe_error *err);
struct graph_row_counts graph_row_cache_counts(const struct graph_row_cache *c);

#endif
