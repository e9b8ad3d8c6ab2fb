/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_compare.h"

#if defined(__AVX2__)

COMPARE_FUNCTION(compare_i64, int64_t)
COMPARE_FUNCTION(compare_u64, uint64_t)
COMPARE_FUNCTION(compare_f64, double)

const struct compare_kernels *compare_kernels_avx2(void)
{
    static const struct compare_kernels avx2 = { compare_i64, compare_u64, compare_f64 };
    return &avx2;
}
#else
const struct compare_kernels *compare_kernels_avx2(void) { return NULL; }
#endif
