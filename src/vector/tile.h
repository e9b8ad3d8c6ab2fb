/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_TILE_H
#define GREBE_VECTOR_TILE_H

/*
 * Many queries against many rows: a blocked matrix product whose results are compared with each query's running limit
 * while they are in registers; only hits leave. float32, dot products or squared L2 by |a|^2 - 2ab + |b|^2 is NOT
 * accurate enough for ground truth on its own: callers keep a margin and rank again (docs/internals/ann_flat.md).
 */

#include "base/alloc.h"
#include "vector/topk.h"
#include "vector/vector_types.h"

/** Rows packed into panels for the product. Owned; tile_rows_release(). */
struct tile_rows {
    const grebe_allocator *a;
    float *panels;
    float *norms; /* |row|^2, float32 rounded from float64 */
    size_t bytes;
    uint64_t n;
    uint32_t dim, panel; /* rows of a panel */
};

/** @param rows float32. */
grebe_status tile_rows_pack(const grebe_allocator *a, const struct vector_rows *rows, struct tile_rows *out,
                            grebe_error *err);
void tile_rows_release(struct tile_rows *t); /* idempotent */

/**
 * Push the rows [begin, end) into the selections of n queries: value = norms[row] * l2 - 2^l2 * dot (l2: 1 for
 * squared L2 without the query's own norm, 0 for -dot). ids are first_id + row.
 *
 * @param queries  float32, shape [n][dim], packed.
 * @param tops     shape [n].
 */
void tile_search(const struct tile_rows *rows, uint64_t begin, uint64_t end, uint32_t first_id, const float *queries,
                 size_t n, bool is_l2, struct topk *tops);

#endif
