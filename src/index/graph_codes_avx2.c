/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_codes.h"

#if defined(__AVX2__)

#include <immintrin.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum kind { SQ8_DOT, SQ8_L2, SQ4_DOT, SQ4_L2 };

ALWAYS_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Products of one block, as 32-bit sums. No sum of two 16-bit products overflows: 2 * 127 * 127 = 32258. */
ALWAYS_INLINE __m256i block(enum kind kind, const unsigned char *query, const unsigned char *row, size_t b, size_t n)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i r = load(row + b * 32);
    if (kind == SQ8_DOT) {
        const __m256i magnitude = load(query + b * 32);
        const __m256i signs = load(query + (n + b) * 32);
        return _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(r, signs)), ones);
    }
    if (kind == SQ8_L2) {
        const __m256i d = _mm256_abs_epi8(_mm256_sub_epi8(load(query + b * 32), r));
        return _mm256_madd_epi16(_mm256_maddubs_epi16(d, d), ones);
    }
    const __m256i q0 = load(query + 2 * b * 32), q1 = load(query + 2 * b * 32 + 32);
    if (kind == SQ4_DOT) {
        const __m256i nibble = _mm256_set1_epi8(15);
        const __m256i low = _mm256_and_si256(r, nibble);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi16(r, 4), nibble);
        /* 4 * 15 * 127 fits 16 bits */
        return _mm256_madd_epi16(_mm256_add_epi16(_mm256_maddubs_epi16(low, q0), _mm256_maddubs_epi16(high, q1)), ones);
    }
    const __m256i eights = _mm256_set1_epi8(0x78);
    const __m256i low = _mm256_and_si256(_mm256_slli_epi16(r, 3), eights);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(r, 1), eights);
    const __m256i d0 = _mm256_sub_epi8(_mm256_max_epu8(low, q0), _mm256_min_epu8(low, q0));
    const __m256i d1 = _mm256_sub_epi8(_mm256_max_epu8(high, q1), _mm256_min_epu8(high, q1));
    return _mm256_add_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(d0, d0), ones),
                            _mm256_madd_epi16(_mm256_maddubs_epi16(d1, d1), ones));
}

ALWAYS_INLINE void four(enum kind kind, const unsigned char *query, const unsigned char *const rows[4], size_t n,
                        float *out)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t i = 0; i < n; i++) {
        a = _mm256_add_epi32(a, block(kind, query, rows[0], i, n));
        b = _mm256_add_epi32(b, block(kind, query, rows[1], i, n));
        c = _mm256_add_epi32(c, block(kind, query, rows[2], i, n));
        d = _mm256_add_epi32(d, block(kind, query, rows[3], i, n));
    }
    const __m256i t = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1));
    if (kind == SQ8_DOT || kind == SQ4_DOT) {
        s = _mm_sub_epi32(_mm_setzero_si128(), s);
    }
    _mm_storeu_ps(out, _mm_cvtepi32_ps(s));
}

/* Rows at ids[i], or without ids at i. */
ALWAYS_INLINE void rows_of(enum kind kind, const unsigned char *query, const unsigned char *rows, size_t stride,
                           const uint32_t *ids, size_t n, size_t blocks, float *out)
{
    const unsigned char *r[4];
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t j = 0; j < 4; j++) {
            r[j] = rows + (ids == NULL ? i + j : (size_t)ids[i + j]) * stride;
        }
        four(kind, query, r, blocks, out + i);
    }
    if (i < n) {
        float rest[4];
        for (size_t j = 0; j < 4; j++) {
            size_t at = i + j < n ? i + j : n - 1;
            r[j] = rows + (ids == NULL ? at : (size_t)ids[at]) * stride;
        }
        four(kind, query, r, blocks, rest);
        for (size_t j = 0; i + j < n; j++) {
            out[i + j] = rest[j];
        }
    }
}

/* The lengths of 32 to 128 components have loops of their own: nothing is left but loads and arithmetic. */
#define FORMS(name, kind)                                                                                              \
    static void gather_##name(const void *query, const void *rows, size_t stride, const uint32_t *ids, size_t n,       \
                              uint32_t blocks, float *out)                                                             \
    {                                                                                                                  \
        switch (blocks) {                                                                                              \
        case 1: rows_of(kind, query, rows, 32, ids, n, 1, out); return;                                                \
        case 2: rows_of(kind, query, rows, 64, ids, n, 2, out); return;                                                \
        case 3: rows_of(kind, query, rows, 96, ids, n, 3, out); return;                                                \
        case 4: rows_of(kind, query, rows, 128, ids, n, 4, out); return;                                               \
        default: rows_of(kind, query, rows, stride, ids, n, blocks, out); return;                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void many_##name(const void *query, const void *rows, size_t stride, size_t n, uint32_t blocks, float *out) \
    {                                                                                                                  \
        switch (blocks) {                                                                                              \
        case 1: rows_of(kind, query, rows, 32, NULL, n, 1, out); return;                                               \
        case 2: rows_of(kind, query, rows, 64, NULL, n, 2, out); return;                                               \
        case 4: rows_of(kind, query, rows, 128, NULL, n, 4, out); return;                                              \
        default: rows_of(kind, query, rows, stride, NULL, n, blocks, out); return;                                     \
        }                                                                                                              \
    }

FORMS(sq8_dot, SQ8_DOT)
FORMS(sq8_l2, SQ8_L2)
FORMS(sq4_dot, SQ4_DOT)
FORMS(sq4_l2, SQ4_L2)

bool graph_code_kernels_avx2(enum graph_quant quant, bool is_l2, struct graph_code_kernels *out)
{
    if (quant == GRAPH_QUANT_SQ8) {
        *out = is_l2 ? (struct graph_code_kernels){ gather_sq8_l2, many_sq8_l2 }
                     : (struct graph_code_kernels){ gather_sq8_dot, many_sq8_dot };
    } else {
        *out = is_l2 ? (struct graph_code_kernels){ gather_sq4_l2, many_sq4_l2 }
                     : (struct graph_code_kernels){ gather_sq4_dot, many_sq4_dot };
    }
    return true;
}

#else

bool graph_code_kernels_avx2(enum graph_quant quant, bool is_l2, struct graph_code_kernels *out)
{
    (void)quant;
    (void)is_l2;
    (void)out;
    return false;
}

#endif
