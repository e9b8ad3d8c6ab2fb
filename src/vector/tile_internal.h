/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_TILE_INTERNAL_H
#define GREBE_VECTOR_TILE_INTERNAL_H

/* Register tiles: some queries against some panels, and which values lie within the limits. */

#include <stdbool.h>

#include "vector/tile.h"

enum { TILE_QUERIES = 6 };

/**
 * n queries (1 … TILE_QUERIES) against one panel.
 *
 * @param norms   shape [TILE_PANEL]; NULL: -dot.
 * @param values  shape [n][TILE_PANEL]; written for queries with a hit.
 * @param masks   shape [n]: bit r: the value of row r is not above the query's limit (NaN is not above).
 * @return Whether there is a hit.
 */
typedef bool (*tile_panel_fn)(const float *panel, const float *norms, uint32_t dim, const float *const *queries,
                              size_t n, const float *limits, float *values, uint16_t *masks);
/** One query against n panels one behind the other. values: shape [n][TILE_PANEL]. */
typedef void (*tile_values_fn)(const float *panels, const float *norms, uint32_t dim, const float *query, size_t n,
                               float *values);

struct tile_kernels {
    tile_panel_fn panel;
    tile_values_fn values;
};

extern const struct tile_kernels tile_kernels_scalar;
/* NULL: not built in. */
const struct tile_kernels *tile_kernels_avx2(void);
/** The variant of a level; NULL: the machine cannot run it. */
const struct tile_kernels *tile_kernels_of(int level);

#endif
