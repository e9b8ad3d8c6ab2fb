/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/distance_internal.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <immintrin.h>

/* Eight or sixteen components a step; the rest of a row is a load that ends with the row, or a copy of a short row,
 * with everything counted before masked off: no kernel reads beyond a row. */

static const int32_t lane_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const uint8_t byte_masks[64] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static inline __m256i load256(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* ------------------------------------------------------------------------------------------------ float rows */

static inline __m256 load8_f32(const unsigned char *p)
{
    __m256 v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline __m256 load8_f16(const unsigned char *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline __m256 widen_bf16(__m128i v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

static inline __m256 load8_bf16(const unsigned char *p)
{
    return widen_bf16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* The last n < 8 of `dim` components. */
static inline __m256 tail8_f32(const unsigned char *row, size_t at, size_t n)
{
    return _mm256_maskload_ps((const float *)(const void *)(row + at * 4), load256(lane_masks + 8 - n));
}

static inline __m128i tail8_half(const unsigned char *row, size_t at, size_t n)
{
    __m128i v = _mm_setzero_si128();

    if (at >= 8) {
        v = _mm_loadu_si128((const __m128i *)(const void *)(row + (at + n - 8) * 2));
        return _mm_and_si128(v, _mm_loadu_si128((const __m128i *)(const void *)(byte_masks + 16 + 2 * n)));
    }
    memcpy(&v, row + at * 2, n * 2);
    return v;
}

static inline __m256 tail8_f16(const unsigned char *row, size_t at, size_t n)
{
    return _mm256_cvtph_ps(tail8_half(row, at, n));
}

static inline __m256 tail8_bf16(const unsigned char *row, size_t at, size_t n)
{
    return widen_bf16(tail8_half(row, at, n));
}

static inline __m256 step_l2(__m256 acc, __m256 a, __m256 b)
{
    const __m256 d = _mm256_sub_ps(a, b);

    return _mm256_fmadd_ps(d, d, acc);
}

static inline __m256 step_dot(__m256 acc, __m256 a, __m256 b)
{
    return _mm256_fnmadd_ps(a, b, acc);
}

/* The order of add4 and add1 is the same: pairs, pairs of pairs, halves. */
static inline void add4(__m256 a, __m256 b, __m256 c, __m256 d, float out[4])
{
    const __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));

    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1)));
}

static inline float add1(__m256 a)
{
    const __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(a, a), _mm256_hadd_ps(a, a));

    return _mm_cvtss_f32(_mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1)));
}

#define FLOAT_KERNELS(name, elem, type, width, step)                                                     \
    static float name##_one(const void *query, const void *row, uint32_t dim)                            \
    {                                                                                                    \
        const unsigned char *q = query, *a = row;                                                        \
        __m256 a0 = _mm256_setzero_ps(), a1 = a0;                                                        \
        size_t i = 0;                                                                                    \
                                                                                                         \
        for (; i + 16 <= dim; i += 16) {                                                                 \
            a0 = step(a0, load8_##type(q + i * (width)), load8_##type(a + i * (width)));                 \
            a1 = step(a1, load8_##type(q + i * (width) + 8 * (width)),                                   \
                      load8_##type(a + i * (width) + 8 * (width)));                                      \
        }                                                                                                \
        if (i + 8 <= dim) {                                                                              \
            a0 = step(a0, load8_##type(q + i * (width)), load8_##type(a + i * (width)));                 \
            i += 8;                                                                                      \
        }                                                                                                \
        if (i < dim) {                                                                                   \
            a1 = step(a1, tail8_##type(q, i, dim - i), tail8_##type(a, i, dim - i));                     \
        }                                                                                                \
        return add1(_mm256_add_ps(a0, a1));                                                              \
    }                                                                                                    \
                                                                                                         \
    static void name##_four(const void *query, const void *const rows[4], uint32_t dim, float out[4])    \
    {                                                                                                    \
        const unsigned char *q = query, *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];          \
        __m256 a0 = _mm256_setzero_ps(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;  \
        size_t i = 0;                                                                                    \
                                                                                                         \
        for (; i + 16 <= dim; i += 16) {                                                                 \
            const size_t at = i * (width), up = at + 8 * (width);                                        \
            const __m256 x = load8_##type(q + at), y = load8_##type(q + up);                             \
                                                                                                         \
            a0 = step(a0, x, load8_##type(a + at));                                                      \
            b0 = step(b0, x, load8_##type(b + at));                                                      \
            c0 = step(c0, x, load8_##type(c + at));                                                      \
            d0 = step(d0, x, load8_##type(d + at));                                                      \
            a1 = step(a1, y, load8_##type(a + up));                                                      \
            b1 = step(b1, y, load8_##type(b + up));                                                      \
            c1 = step(c1, y, load8_##type(c + up));                                                      \
            d1 = step(d1, y, load8_##type(d + up));                                                      \
        }                                                                                                \
        if (i + 8 <= dim) {                                                                              \
            const size_t at = i * (width);                                                               \
            const __m256 x = load8_##type(q + at);                                                       \
                                                                                                         \
            a0 = step(a0, x, load8_##type(a + at));                                                      \
            b0 = step(b0, x, load8_##type(b + at));                                                      \
            c0 = step(c0, x, load8_##type(c + at));                                                      \
            d0 = step(d0, x, load8_##type(d + at));                                                      \
            i += 8;                                                                                      \
        }                                                                                                \
        if (i < dim) {                                                                                   \
            const size_t n = dim - i;                                                                    \
            const __m256 x = tail8_##type(q, i, n);                                                      \
                                                                                                         \
            a1 = step(a1, x, tail8_##type(a, i, n));                                                     \
            b1 = step(b1, x, tail8_##type(b, i, n));                                                     \
            c1 = step(c1, x, tail8_##type(c, i, n));                                                     \
            d1 = step(d1, x, tail8_##type(d, i, n));                                                     \
        }                                                                                                \
        add4(_mm256_add_ps(a0, a1), _mm256_add_ps(b0, b1), _mm256_add_ps(c0, c1), _mm256_add_ps(d0, d1), \
             out);                                                                                       \
    }                                                                                                    \
    DISTANCE_FORMS(name, elem)

FLOAT_KERNELS(l2_f32, VECTOR_F32, f32, 4, step_l2)
FLOAT_KERNELS(l2_f16, VECTOR_F16, f16, 2, step_l2)
FLOAT_KERNELS(l2_bf16, VECTOR_BF16, bf16, 2, step_l2)
FLOAT_KERNELS(dot_f32, VECTOR_F32, f32, 4, step_dot)
FLOAT_KERNELS(dot_f16, VECTOR_F16, f16, 2, step_dot)
FLOAT_KERNELS(dot_bf16, VECTOR_BF16, bf16, 2, step_dot)

/* ---------------------------------------------------------------------------------------------- integer rows */

/* The last n < 32 of the bytes of a row, others zero: the same places for query and row. */
static inline __m256i tail32(const unsigned char *row, size_t at, size_t n)
{
    unsigned char copy[32] = {0};

    if (at >= 32) {
        return _mm256_and_si256(load256(row + at + n - 32), load256(byte_masks + n));
    }
    memcpy(copy, row + at, n);
    return load256(copy);
}

/* Squares of differences below 256 in magnitude: two products of 255^2 fit a lane of 32 bits. */
static inline __m256i add_squares(__m256i acc, __m256i difference)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i low = _mm256_unpacklo_epi8(difference, zero), high = _mm256_unpackhi_epi8(difference, zero);

    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(low, low));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(high, high));
}

static inline __m256i int_l2_i8(__m256i acc, __m256i a, __m256i b)
{
    return add_squares(acc, _mm256_sub_epi8(_mm256_max_epi8(a, b), _mm256_min_epi8(a, b)));
}

static inline __m256i int_l2_u8(__m256i acc, __m256i a, __m256i b)
{
    return add_squares(acc, _mm256_sub_epi8(_mm256_max_epu8(a, b), _mm256_min_epu8(a, b)));
}

static inline __m256i int_dot_i8(__m256i acc, __m256i a, __m256i b)
{
    const __m256i a0 = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(a));
    const __m256i a1 = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(a, 1));
    const __m256i b0 = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(b));
    const __m256i b1 = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(b, 1));

    acc = _mm256_sub_epi32(acc, _mm256_madd_epi16(a0, b0));
    return _mm256_sub_epi32(acc, _mm256_madd_epi16(a1, b1));
}

static inline __m256i int_dot_u8(__m256i acc, __m256i a, __m256i b)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi8(a, zero), _mm256_unpacklo_epi8(b, zero));
    const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi8(a, zero), _mm256_unpackhi_epi8(b, zero));

    return _mm256_sub_epi32(_mm256_sub_epi32(acc, low), high);
}

static inline void int_add4(__m256i a, __m256i b, __m256i c, __m256i d, float out[4])
{
    const __m256i t = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    const __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1));

    _mm_storeu_ps(out, _mm_cvtepi32_ps(sum));
}

#define INT_KERNELS(name, elem, step)                                                                 \
    static void name##_four(const void *query, const void *const rows[4], uint32_t dim, float out[4]) \
    {                                                                                                 \
        const unsigned char *q = query, *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];       \
        __m256i sa = _mm256_setzero_si256(), sb = sa, sc = sa, sd = sa;                               \
        size_t i = 0;                                                                                 \
                                                                                                      \
        for (; i + 32 <= dim; i += 32) {                                                              \
            const __m256i x = load256(q + i);                                                         \
                                                                                                      \
            sa = step(sa, x, load256(a + i));                                                         \
            sb = step(sb, x, load256(b + i));                                                         \
            sc = step(sc, x, load256(c + i));                                                         \
            sd = step(sd, x, load256(d + i));                                                         \
        }                                                                                             \
        if (i < dim) {                                                                                \
            const size_t n = dim - i;                                                                 \
            const __m256i x = tail32(q, i, n);                                                        \
                                                                                                      \
            sa = step(sa, x, tail32(a, i, n));                                                        \
            sb = step(sb, x, tail32(b, i, n));                                                        \
            sc = step(sc, x, tail32(c, i, n));                                                        \
            sd = step(sd, x, tail32(d, i, n));                                                        \
        }                                                                                             \
        int_add4(sa, sb, sc, sd, out);                                                                \
    }                                                                                                 \
                                                                                                      \
    static float name##_one(const void *query, const void *row, uint32_t dim)                         \
    {                                                                                                 \
        const unsigned char *q = query, *a = row;                                                     \
        __m256i s = _mm256_setzero_si256();                                                           \
        float out[4];                                                                                 \
        size_t i = 0;                                                                                 \
                                                                                                      \
        for (; i + 32 <= dim; i += 32) {                                                              \
            s = step(s, load256(q + i), load256(a + i));                                              \
        }                                                                                             \
        if (i < dim) {                                                                                \
            s = step(s, tail32(q, i, dim - i), tail32(a, i, dim - i));                                \
        }                                                                                             \
        int_add4(s, s, s, s, out);                                                                    \
        return out[0];                                                                                \
    }                                                                                                 \
    DISTANCE_FORMS(name, elem)

INT_KERNELS(l2_i8, VECTOR_I8, int_l2_i8)
INT_KERNELS(l2_u8, VECTOR_U8, int_l2_u8)
INT_KERNELS(dot_i8, VECTOR_I8, int_dot_i8)
INT_KERNELS(dot_u8, VECTOR_U8, int_dot_u8)

/* ------------------------------------------------------------------------------------------------------ bits */

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* The words of a row from `at`, the last of them cut to the bits that count. */
static inline uint64_t tail64(const unsigned char *row, size_t at, size_t bytes, uint32_t dim)
{
    uint64_t v = 0;
    unsigned char last = (unsigned char)(row[bytes - 1] & distance_last_mask(dim));

    memcpy(&v, row + at, bytes - at);
    memcpy((unsigned char *)&v + (bytes - at - 1), &last, 1);
    return v;
}

static float hamming_one(const void *query, const void *row, uint32_t dim)
{
    const unsigned char *q = query, *a = row;
    const size_t bytes = vector_row_bytes(VECTOR_BIT, dim), whole = dim / 64 * 8;
    uint64_t sum = 0;

    for (size_t i = 0; i < whole; i += 8) {
        sum += (uint64_t)_mm_popcnt_u64(load64(q + i) ^ load64(a + i));
    }
    if (whole < bytes) {
        sum += (uint64_t)_mm_popcnt_u64(tail64(q, whole, bytes, dim) ^ tail64(a, whole, bytes, dim));
    }
    return (float)sum;
}

static float jaccard_one(const void *query, const void *row, uint32_t dim)
{
    const unsigned char *q = query, *a = row;
    const size_t bytes = vector_row_bytes(VECTOR_BIT, dim), whole = dim / 64 * 8;
    uint64_t both = 0, either = 0;

    for (size_t i = 0; i < whole; i += 8) {
        both += (uint64_t)_mm_popcnt_u64(load64(q + i) & load64(a + i));
        either += (uint64_t)_mm_popcnt_u64(load64(q + i) | load64(a + i));
    }
    if (whole < bytes) {
        const uint64_t x = tail64(q, whole, bytes, dim), y = tail64(a, whole, bytes, dim);

        both += (uint64_t)_mm_popcnt_u64(x & y);
        either += (uint64_t)_mm_popcnt_u64(x | y);
    }
    return distance_of_bits(both, either);
}

#define BIT_FOUR(name)                                                                                \
    static void name##_four(const void *query, const void *const rows[4], uint32_t dim, float out[4]) \
    {                                                                                                 \
        for (size_t r = 0; r < 4; r++) {                                                              \
            out[r] = name##_one(query, rows[r], dim);                                                 \
        }                                                                                             \
    }                                                                                                 \
    DISTANCE_FORMS(name, VECTOR_BIT)

BIT_FOUR(hamming)
BIT_FOUR(jaccard)

/* ---------------------------------------------------------------------------------------------------- tables */

static void half_to_f32(const void *src, size_t n, float *dst)
{
    const unsigned char *p = src;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(dst + i, load8_f16(p + i * 2));
    }
    distance_half_to_f32_scalar(p + i * 2, n - i, dst + i);
}

distance_half_fn distance_half_to_f32_avx2(void) { return half_to_f32; }

const struct vector_distance_ops *distance_ops_avx2(enum distance_kind kind, enum vector_elem elem)
{
    static const struct vector_distance_ops *const l2[] = {&l2_f32_ops, &l2_f16_ops, &l2_bf16_ops, &l2_i8_ops,
                                                           &l2_u8_ops};
    static const struct vector_distance_ops *const dot[] = {&dot_f32_ops, &dot_f16_ops, &dot_bf16_ops, &dot_i8_ops,
                                                            &dot_u8_ops};

    if (elem == VECTOR_BIT) {
        return kind == DISTANCE_HAMMING ? &hamming_ops : kind == DISTANCE_JACCARD ? &jaccard_ops : NULL;
    }
    if ((int)elem < 0 || elem > VECTOR_U8 || kind > DISTANCE_DOT) {
        return NULL;
    }
    return kind == DISTANCE_L2 ? l2[elem] : dot[elem];
}

#else

distance_half_fn distance_half_to_f32_avx2(void) { return NULL; }

const struct vector_distance_ops *distance_ops_avx2(enum distance_kind kind, enum vector_elem elem)
{
    (void)kind;
    (void)elem;
    return NULL;
}

#endif
