/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_SPARSE_DOT_H
#define GREBE_VECTOR_SPARSE_DOT_H

/* Products of sparse rows, and MaxSim of several vectors with several. */

#include "vector/vector_types.h"

/**
 * Sum over common terms, ascending, in float64. Terms ascend; of terms that come twice in a row the first of one
 * pairs with the first of the other, and so on, as VSAG does.
 */
double vector_sparse_dot(const uint32_t *a_terms, const float *a_values, size_t a_n, const uint32_t *b_terms,
                         const float *b_values, size_t b_n);

/**
 * MaxSim as a distance: sum over the query's vectors of the smallest distance to a vector of the document, in
 * float64: IP 1 - dot, L2SQ the square, EUCLIDEAN the root, COSINE 1 - cos.
 *
 * @return +inf for a document without vectors; 0 for a query without vectors.
 */
double vector_maxsim(enum vector_metric metric, const float *query, size_t query_n, const float *document,
                     size_t document_n, uint32_t dim);

#endif
