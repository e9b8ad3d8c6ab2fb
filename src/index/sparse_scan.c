/* SPDX-License-Identifier: Apache-2.0 */
#include "index/sparse_scan.h"

static void add(int16_t *sums, const uint16_t *rows, const uint8_t *codes, size_t n, int32_t weight, bool is_signed)
{
    int32_t size = weight < 0 ? -weight : weight;
    for (size_t i = 0; i < n; i++) {
        int32_t part = is_signed ? (weight * (int8_t)codes[i]) >> 8 : (size * codes[i]) >> 8;
        part = !is_signed && weight < 0 ? -part : part;
        sums[rows[i]] = (int16_t)(sums[rows[i]] + part);
    }
}

static size_t above(const int16_t *sums, size_t from, size_t n, int16_t limit, uint32_t *out, size_t room, size_t *next)
{
    size_t found = 0;
    for (; from < n && found < room; from++) {
        out[found] = (uint32_t)from;
        found += sums[from] > limit;
    }
    *next = from;
    return found;
}

static const struct sparse_kernels scalar = { add, above };

const struct sparse_kernels *sparse_kernels_of(enum cpu_simd level)
{
    if (!cpu_simd_has(level)) {
        return NULL;
    }
    return level == CPU_SCALAR ? &scalar : sparse_kernels_avx2();
}

const struct sparse_kernels *sparse_kernels(void)
{
    const struct sparse_kernels *best = cpu_simd_level() >= CPU_AVX2 ? sparse_kernels_avx2() : NULL;
    return best != NULL ? best : &scalar;
}
