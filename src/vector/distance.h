/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_DISTANCE_H
#define GREBE_VECTOR_DISTANCE_H

/*
 * Distances of one row to one or many rows, in several variants chosen at run time (base/cpu.h).
 *
 * Floats: products are added up in float32 in an order that differs between variants, so the last bits may differ
 * (relative error below dim * 2^-24); within one variant every form gives the same bits for the same two rows, so that
 * a result never depends on blocks or threads. Integers (i8, u8, bits) are exact and equal in all variants, up to
 * VECTOR_INT_DIM_MAX components. A NaN component gives NaN. No kernel reads beyond the `dim` components of a row.
 */

#include "base/cpu.h"
#include "vector/vector_types.h"

enum { VECTOR_INT_DIM_MAX = 33000 }; /* 255^2 * dim fits int32 */

/** out[i] of the query and row i. `rows` + i * stride; the query has the type of the rows. */
typedef void (*vector_many_fn)(const void *query, const void *rows, size_t stride, size_t n, uint32_t dim, float *out);
/** out[i] of the query and row ids[i]; prefetches ahead. */
typedef void (*vector_gather_fn)(const void *query, const void *rows, size_t stride, const uint32_t *ids, size_t n,
                                 uint32_t dim, float *out);
/** Four rows at once. */
typedef void (*vector_four_fn)(const void *query, const void *const rows[4], uint32_t dim, float out[4]);

struct vector_distance_ops {
    vector_many_fn many;
    vector_gather_fn gather;
    vector_four_fn four;
};

/**
 * Kernels of a metric over an element type; what they give stands in brackets at enum vector_metric. COSINE gives
 * the kernel of IP: rows are made unit length when they are stored (vector_normalise).
 *
 * @return Static; NULL: there is none (hamming and jaccard are for BIT alone, BIT has no others; F64 has none).
 */
const struct vector_distance_ops *vector_distance_ops(enum vector_metric metric, enum vector_elem elem);
/** The variant of a level, for tests; NULL: the machine cannot run it. */
const struct vector_distance_ops *vector_distance_ops_of(enum cpu_simd level, enum vector_metric metric,
                                                         enum vector_elem elem);

/**
 * dst = src / |src|; a zero row stays zero. The norm is summed in float64 and rounded once.
 * @return The norm; NaN or infinite when a component is (dst then is not to be used).
 */
float vector_normalise(const float *src, uint32_t dim, float *dst);

/** float64 arithmetic on the stored values, cast once: what ground truth and checks compare with. BIT too. */
double vector_distance_exact(enum vector_metric metric, enum vector_elem elem, const void *a, const void *b, uint32_t dim);

#endif
