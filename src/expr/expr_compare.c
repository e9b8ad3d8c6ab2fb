/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_compare.h"

#include "base/cpu.h"

COMPARE_FUNCTION(compare_i64, int64_t)
COMPARE_FUNCTION(compare_u64, uint64_t)
COMPARE_FUNCTION(compare_f64, double)

const struct compare_kernels *compare_kernels_scalar(void)
{
    static const struct compare_kernels scalar = { compare_i64, compare_u64, compare_f64 };
    return &scalar;
}

const struct compare_kernels *compare_kernels(void)
{
    const struct compare_kernels *k = cpu_simd_level() >= CPU_AVX2 ? compare_kernels_avx2() : NULL;
    return k != NULL ? k : compare_kernels_scalar();
}
