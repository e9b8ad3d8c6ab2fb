/* SPDX-License-Identifier: Apache-2.0 */
#include "index/sparse_scan.h"

#if defined(__AVX2__)

#include <immintrin.h>

static int16_t part_of(uint8_t code, int32_t weight, bool is_signed)
{
    int32_t size = weight < 0 ? -weight : weight;
    int32_t part = is_signed ? (weight * (int8_t)code) >> 8 : (size * code) >> 8;
    return (int16_t)(!is_signed && weight < 0 ? -part : part);
}

static inline void scatter16(int16_t *sums, const uint16_t *rows, __m256i parts)
{
    int16_t t[16];
    _mm256_storeu_si256((__m256i *)(void *)t, parts);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        sums[rows[i]] = (int16_t)(sums[rows[i]] + t[i]);
    }
}

static void add(int16_t *sums, const uint16_t *rows, const uint8_t *codes, size_t n, int32_t weight, bool is_signed)
{
    size_t i = 0;
    if (is_signed) {
        const __m256i w = _mm256_set1_epi16((int16_t)weight);
        for (; i + 16 <= n; i += 16) {
            __m256i c = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(codes + i)));
            scatter16(sums, rows + i, _mm256_mulhi_epi16(_mm256_slli_epi16(c, 8), w));
        }
    } else {
        const __m256i w = _mm256_set1_epi16((int16_t)(uint16_t)(weight < 0 ? -weight : weight));
        const __m256i sign = _mm256_set1_epi16(weight < 0 ? -1 : 0);
        for (; i + 16 <= n; i += 16) {
            __m256i c = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(codes + i)));
            __m256i part = _mm256_mulhi_epu16(_mm256_slli_epi16(c, 8), w);
            scatter16(sums, rows + i, _mm256_sub_epi16(_mm256_xor_si256(part, sign), sign));
        }
    }
    for (; i < n; i++) {
        sums[rows[i]] = (int16_t)(sums[rows[i]] + part_of(codes[i], weight, is_signed));
    }
}

static size_t above(const int16_t *sums, size_t from, size_t n, int16_t limit, uint32_t *out, size_t room, size_t *next)
{
    const __m256i l = _mm256_set1_epi16(limit);
    size_t found = 0;
    for (; from % 16 != 0 && from < n && found < room; from++) {
        out[found] = (uint32_t)from;
        found += sums[from] > limit;
    }
    while (from < n && found < room) {
        const __m256i *v = (const __m256i *)(const void *)(sums + from);
        if (from + 64 <= n) { /* most of them hold nothing */
            __m256i any = _mm256_max_epi16(_mm256_max_epi16(_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)),
                                           _mm256_max_epi16(_mm256_loadu_si256(v + 2), _mm256_loadu_si256(v + 3)));
            if (_mm256_movemask_epi8(_mm256_cmpgt_epi16(any, l)) == 0) {
                from += 64;
                continue;
            }
        }
        uint32_t mask = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi16(_mm256_loadu_si256(v), l)) & 0x55555555u;
        for (; mask != 0; mask &= mask - 1) {
            uint32_t at = (uint32_t)from + (uint32_t)__builtin_ctz(mask) / 2;
            out[found] = at;
            found += at < n;
        }
        from += 16;
    }
    *next = from < n ? from : n;
    return found;
}

static const struct sparse_kernels kernels = { add, above };

const struct sparse_kernels *sparse_kernels_avx2(void) { return &kernels; }

#else

const struct sparse_kernels *sparse_kernels_avx2(void) { return NULL; }

#endif
