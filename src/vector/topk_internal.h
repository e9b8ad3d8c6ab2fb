/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_TOPK_INTERNAL_H
#define GREBE_VECTOR_TOPK_INTERNAL_H

/* Variants of the search for distances below the limit. */

#include "vector/topk.h"

/**
 * The first i in [at, n) whose distance may enter (distance <= limit, or any when the limit is +inf), n: none.
 */
typedef size_t (*topk_next_fn)(const float *distances, size_t at, size_t n, float limit);
topk_next_fn topk_next_avx2(void); /* NULL: not built in */

#endif
