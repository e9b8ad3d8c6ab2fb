/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_IVF_SIGNS_H
#define GREBE_INDEX_IVF_SIGNS_H

/*
 * One bit a component (RaBitQ, Gao and Long, SIGMOD 2024): a random rotation makes all components alike, then a residual
 * p is stood in for by its signs s, scaled so that <p, p> is kept: p ~ s * |p|^2 / |p|_1. The product with a query is
 * unbiased over rotations, and sums of four components come from tables of 16 (ivf_kernels.h, signs).
 */

#include "base/alloc.h"
#include "index/ivf_kernels.h"

#include <stdbool.h>

enum { IVF_SIGNS_DIM_MAX = 8192 };

/** Rounds of random signs and Hadamard transforms: orthogonal, without a matrix. */
struct ivf_rotation;

/** Components after rotation: dim filled up to a multiple of 64. */
uint32_t ivf_rotation_dim(uint32_t dim);
grebe_status ivf_rotation_new(const grebe_allocator *a, uint32_t dim, uint64_t seed, struct ivf_rotation **out,
                              grebe_error *err);
void ivf_rotation_free(struct ivf_rotation *r); /* NULL accepted */
/** dst: shape [ivf_rotation_dim]. b: NULL, or subtracted first. */
void ivf_rotate(const struct ivf_rotation *r, const float *a, const float *b, float *dst);

/** As ivf_codes_put and ivf_codes_query. */
float ivf_signs_put(const struct ivf_rotation *r, bool is_l2, const float *row, const float *centroid, uint8_t *block,
                    uint32_t place);
void ivf_signs_query(const struct ivf_rotation *r, bool is_l2, const float *query, uint8_t *form, struct ivf_query *out);

#endif
