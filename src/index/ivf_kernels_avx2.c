/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_kernels.h"

#if defined(__AVX2__)

#include <immintrin.h>
#include <string.h>

static inline __m256i load256(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline __m256i broadcast4(const int8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

/* (base + bias) - scale * sum, step by step as the scalar variant. */
static inline uint32_t finish8(__m256i sums, const float *bias, __m256 scale, __m256 base, __m256 limit, __m256 *value)
{
    *value = _mm256_sub_ps(_mm256_add_ps(base, _mm256_loadu_ps(bias)),
                           _mm256_mul_ps(scale, _mm256_cvtepi32_ps(sums)));
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(*value, limit, _CMP_NGT_UQ));
}

static inline uint32_t finish(__m256i s0, __m256i s1, __m256i s2, __m256i s3, const float *bias,
                              const struct ivf_query *q, float base, float limit, float *values)
{
    const __m256 scale = _mm256_set1_ps(q->scale), b = _mm256_set1_ps(base), l = _mm256_set1_ps(limit);
    __m256 v0, v1, v2, v3;
    const uint32_t mask = finish8(s0, bias, scale, b, l, &v0) | finish8(s1, bias + 8, scale, b, l, &v1) << 8 |
                          finish8(s2, bias + 16, scale, b, l, &v2) << 16 |
                          finish8(s3, bias + 24, scale, b, l, &v3) << 24;

    if (mask != 0) {
        _mm256_storeu_ps(values, v0);
        _mm256_storeu_ps(values + 8, v1);
        _mm256_storeu_ps(values + 16, v2);
        _mm256_storeu_ps(values + 24, v3);
    }
    return mask;
}

/* 127 * 63 four times fits 16 bits: two steps of products are added before they are widened. */
#define BYTE_ROWS(g)                                                                                              \
    s##g = _mm256_add_epi32(                                                                                      \
        s##g, _mm256_madd_epi16(_mm256_add_epi16(_mm256_maddubs_epi16(load256(at + 32 * (g)), qa),                \
                                                 _mm256_maddubs_epi16(load256(at + 128 + 32 * (g)), qb)),         \
                                ones));

static uint32_t block_byte(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base, float limit,
                           float *values)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const int8_t *form = q->form;
    __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;

    for (uint32_t s = 0; s < q->steps; s++) {
        const uint8_t *at = codes + (size_t)s * 256;
        const __m256i qa = broadcast4(form + s * 8), qb = broadcast4(form + s * 8 + 4);

        BYTE_ROWS(0)
        BYTE_ROWS(1)
        BYTE_ROWS(2)
        BYTE_ROWS(3)
    }
    return finish(s0, s1, s2, s3, bias, q, base, limit, values);
}

/* 15 * 127 in sixteen products fits 16 bits: four steps of eight components. */
#define NIBBLE_ROWS(g)                                                                                        \
    {                                                                                                         \
        const __m256i v = load256(at + 32 * (g));                                                             \
        const __m256i low = _mm256_and_si256(v, fifteen);                                                     \
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), fifteen);                              \
                                                                                                              \
        t##g = _mm256_add_epi16(t##g, _mm256_add_epi16(_mm256_maddubs_epi16(low, qa),                         \
                                                       _mm256_maddubs_epi16(high, qb)));                      \
    }

static uint32_t block_nibble(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                             float limit, float *values)
{
    const __m256i ones = _mm256_set1_epi16(1), fifteen = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const int8_t *form = q->form;
    __m256i s0 = zero, s1 = zero, s2 = zero, s3 = zero;

    for (uint32_t s = 0; s < q->steps;) {
        const uint32_t stop = s + 4 < q->steps ? s + 4 : q->steps;
        __m256i t0 = zero, t1 = zero, t2 = zero, t3 = zero;

        for (; s < stop; s++) {
            const uint8_t *at = codes + (size_t)s * 128;
            const __m256i qa = broadcast4(form + s * 8), qb = broadcast4(form + s * 8 + 4);

            NIBBLE_ROWS(0)
            NIBBLE_ROWS(1)
            NIBBLE_ROWS(2)
            NIBBLE_ROWS(3)
        }
        s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(t0, ones));
        s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(t1, ones));
        s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(t2, ones));
        s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(t3, ones));
    }
    return finish(s0, s1, s2, s3, bias, q, base, limit, values);
}

/* Even rows gather in `all` together with 256 times the odd ones, odd rows alone in `odd` (faiss' way): up to 256 pairs
 * of entries of at most 127 fit 16 bits, then the sums are widened. */
static inline void table_sums(const uint8_t *codes, const struct ivf_query *q, __m256i sums[4])
{
    const __m256i fifteen = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const uint8_t *tables = q->form;
    __m256i s0 = zero, s1 = zero, s2 = zero, s3 = zero;

    for (uint32_t s = 0; s < q->steps;) {
        const uint32_t stop = s + 256 < q->steps ? s + 256 : q->steps;
        __m256i all = zero, odd = zero;

        for (; s < stop; s++) {
            const __m256i v = load256(codes + (size_t)s * 32);
            const void *first = tables + (size_t)s * 32, *second = tables + (size_t)s * 32 + 16;
            const __m256i ta = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)first));
            const __m256i tb = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)second));
            const __m256i a = _mm256_shuffle_epi8(ta, _mm256_and_si256(v, fifteen));
            const __m256i b = _mm256_shuffle_epi8(tb, _mm256_and_si256(_mm256_srli_epi16(v, 4), fifteen));
            const __m256i sum = _mm256_add_epi8(a, b);

            all = _mm256_add_epi16(all, sum);
            odd = _mm256_add_epi16(odd, _mm256_srli_epi16(sum, 8));
        }
        all = _mm256_sub_epi16(all, _mm256_slli_epi16(odd, 8));
        /* rows 0 2 … 14 | 16 … 30 and 1 3 … 15 | 17 … 31 to their order */
        const __m256i low = _mm256_unpacklo_epi16(all, odd), high = _mm256_unpackhi_epi16(all, odd);

        s0 = _mm256_add_epi32(s0, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(low)));
        s1 = _mm256_add_epi32(s1, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(high)));
        s2 = _mm256_add_epi32(s2, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(low, 1)));
        s3 = _mm256_add_epi32(s3, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(high, 1)));
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

static uint32_t block_table(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                            float limit, float *values)
{
    __m256i sums[4];

    table_sums(codes, q, sums);
    return finish(sums[0], sums[1], sums[2], sums[3], bias, q, base, limit, values);
}

static uint32_t block_signs(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                            float limit, float *values)
{
    const float *factors = (const float *)(const void *)(codes + (size_t)q->steps * IVF_BLOCK);
    const __m256 b = _mm256_set1_ps(base), l = _mm256_set1_ps(limit);
    const __m256 scale = _mm256_set1_ps(q->scale), offset = _mm256_set1_ps(q->offset);
    __m256i sums[4];
    uint32_t mask = 0;

    table_sums(codes, q, sums);
    for (uint32_t g = 0; g < 4; g++) {
        const __m256 dot = _mm256_add_ps(_mm256_mul_ps(scale, _mm256_cvtepi32_ps(sums[g])), offset);
        const __m256 value = _mm256_sub_ps(_mm256_add_ps(b, _mm256_loadu_ps(bias + 8 * g)),
                                           _mm256_mul_ps(_mm256_loadu_ps(factors + 8 * g), dot));

        mask |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(value, l, _CMP_NGT_UQ)) << (8 * g);
        _mm256_storeu_ps(values + 8 * g, value);
    }
    return mask;
}

static const struct ivf_kernels avx2 = {block_byte, block_nibble, block_table, block_signs};

const struct ivf_kernels *ivf_kernels_avx2(void) { return &avx2; }

#else

const struct ivf_kernels *ivf_kernels_avx2(void) { return NULL; }

#endif
