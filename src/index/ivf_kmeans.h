/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_IVF_KMEANS_H
#define GREBE_INDEX_IVF_KMEANS_H

/*
 * Centroids by k-means in squared L2, the same bits for any number of threads: each row is assigned by itself, sums
 * go through the rows of a centroid in their order.
 */

#include "base/context_internal.h"
#include "vector/tile.h"

struct kmeans_options {
    uint32_t k, iterations;
    uint64_t seed;
    const struct call *call;
};

/**
 * @param rows      float32, shape [n][dim], packed; n >= k >= 1.
 * @param centroids shape [k][dim].
 */
grebe_status kmeans_train(grebe_context *ctx, const float *rows, size_t n, uint32_t dim,
                          const struct kmeans_options *options, float *centroids, grebe_error *err);

/** Nearest centroid of each row, equal distances by lower one. lists: shape [n]. */
grebe_status kmeans_assign(grebe_context *ctx, const struct tile_rows *centroids, const float *rows, size_t n,
                           const struct call *call, uint32_t *lists, grebe_error *err);

/** Rows by list: rows of list l are order[begin[l]] … order[begin[l + 1]), ascending. begin: shape [n_lists + 1]. */
void kmeans_group(const uint32_t *lists, size_t n, uint32_t n_lists, size_t *begin, uint32_t *order);

#endif
