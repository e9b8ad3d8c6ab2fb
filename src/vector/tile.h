/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_TILE_H
#define GREBE_VECTOR_TILE_H

/*
 * Many queries against many rows: a blocked matrix product whose results are compared with each query's running limit
 * while they are in registers; only hits leave. float32, dot products or squared L2 by |a|^2 - 2ab + |b|^2 is NOT
 * accurate enough for ground truth on its own: callers keep a margin (tile_error) and rank again
 * (docs/internals/ann_flat.md).
 *
 * Rows are packed into panels of TILE_PANEL: component 0 of its rows, component 1 of its rows, …; the last panel is
 * filled up with zero rows. A panel takes TILE_PANEL * dim floats, so panels can also be made and kept elsewhere
 * (tile_pack_panel, tile_scan).
 */

#include "base/alloc.h"
#include "vector/topk.h"
#include "vector/vector_types.h"

enum { TILE_PANEL = 16 };

/** Rows packed into panels for the product. Owned; tile_rows_release(). */
struct tile_rows {
    const grebe_allocator *a;
    float *panels;
    float *norms;     /* |row|^2, float32 rounded from float64; shape [n filled up to panels] */
    float *scratch;   /* a panel of rows as float32, before it is packed */
    float norm_max;   /* the largest |row| */
    size_t bytes;     /* of panels */
    uint64_t n, capacity;
    uint32_t dim, panel; /* rows of a panel: TILE_PANEL */
};

/** Empty, with room for `capacity` rows. */
grebe_status tile_rows_init(const grebe_allocator *a, uint32_t dim, uint64_t capacity, struct tile_rows *out,
                            grebe_error *err);
/** init and fill. @param rows Any type but BIT; converted to float32. */
grebe_status tile_rows_pack(const grebe_allocator *a, const struct vector_rows *rows, struct tile_rows *out,
                            grebe_error *err);
void tile_rows_release(struct tile_rows *t); /* idempotent */
/**
 * Replace the content: row i is rows->data[positions[first + i]], or [first + i] when positions is NULL.
 * @param n At most the capacity.
 */
void tile_rows_fill(struct tile_rows *t, const struct vector_rows *rows, const uint32_t *positions, uint64_t first,
                    uint64_t n);
/** Pack up to TILE_PANEL float32 rows and give their norms (squared); zero rows fill up. norms: shape [TILE_PANEL]. */
void tile_pack_panel(const float *const *rows, size_t n, uint32_t dim, float *panel, float *norms);

/**
 * Push the rows [begin, end) into the selections of n queries: value = norms[row] - 2 * dot (is_l2: squared L2 without
 * the query's own norm), or -dot. ids are first_id + row.
 *
 * @param queries  float32, shape [n][dim], packed.
 * @param tops     shape [n].
 */
void tile_search(const struct tile_rows *rows, uint64_t begin, uint64_t end, uint32_t first_id, const float *queries,
                 size_t n, bool is_l2, struct topk *tops);

/**
 * The same over bare panels for queries that stand anywhere: rows [0, n_rows) of `panels`.
 *
 * @param norms    NULL: -dot.
 * @param queries  shape [n]: float32 rows.
 * @param tops     shape [n].
 */
void tile_scan(const float *panels, const float *norms, size_t n_rows, uint32_t dim, uint32_t first_id,
               const float *const *queries, size_t n, struct topk *const *tops);

/** Values of one query and all rows of bare panels. out: shape [n_rows filled up to TILE_PANEL]. */
void tile_values(const float *panels, const float *norms, size_t n_rows, uint32_t dim, const float *query, float *out);

/**
 * How far a value can be from the exact one for float32 rows: every rounding at its worst.
 * @param query_norm, row_norm |q| and the largest |row|.
 */
double tile_error(uint32_t dim, double query_norm, double row_norm, bool is_l2);

#endif
