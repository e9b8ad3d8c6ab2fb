/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/topk_internal.h"

#if defined(__AVX2__)

#include <immintrin.h>
#include <math.h>

static size_t next_below(const float *distances, size_t at, size_t n, float limit)
{
    const __m256 l = _mm256_set1_ps(limit);

    if (limit == INFINITY) {
        return at;
    }
    for (; at + 32 <= n; at += 32) {
        const __m256 a = _mm256_cmp_ps(_mm256_loadu_ps(distances + at), l, _CMP_LE_OQ);
        const __m256 b = _mm256_cmp_ps(_mm256_loadu_ps(distances + at + 8), l, _CMP_LE_OQ);
        const __m256 c = _mm256_cmp_ps(_mm256_loadu_ps(distances + at + 16), l, _CMP_LE_OQ);
        const __m256 d = _mm256_cmp_ps(_mm256_loadu_ps(distances + at + 24), l, _CMP_LE_OQ);
        const __m256 any = _mm256_or_ps(_mm256_or_ps(a, b), _mm256_or_ps(c, d));

        if (_mm256_movemask_ps(any) != 0) {
            const uint32_t mask = (uint32_t)_mm256_movemask_ps(a) | (uint32_t)_mm256_movemask_ps(b) << 8 |
                                  (uint32_t)_mm256_movemask_ps(c) << 16 | (uint32_t)_mm256_movemask_ps(d) << 24;

            return at + (size_t)__builtin_ctz(mask);
        }
    }
    while (at < n && !(distances[at] <= limit)) {
        at++;
    }
    return at;
}

topk_next_fn topk_next_avx2(void) { return next_below; }

#else

topk_next_fn topk_next_avx2(void) { return NULL; }

#endif
