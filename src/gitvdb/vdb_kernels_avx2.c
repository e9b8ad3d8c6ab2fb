/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>
#include <stdbool.h>

/* One run of scores into what is known of a point. NaN loses: the comparison is false, and min and max give their second
 * operand when one is NaN. */
static inline void keep(__m256 s, __m256i index, struct vdb_best *best)
{
    const __m256 first = _mm256_loadu_ps(best->first);
    const __m256 second = _mm256_loadu_ps(best->second);
    const __m256 kept = _mm256_loadu_ps((const float *)(const void *)best->index);
    const __m256 is_above = _mm256_cmp_ps(s, first, _CMP_GT_OQ);

    _mm256_storeu_ps(best->second, _mm256_max_ps(_mm256_min_ps(first, s), second));
    _mm256_storeu_ps(best->first, _mm256_max_ps(s, first));
    _mm256_storeu_ps((float *)(void *)best->index, _mm256_blendv_ps(kept, _mm256_castsi256_ps(index), is_above));
}

/* 6 points by 16 centroids: 12 sums, 2 runs of centroids and a component of a point fill the 16 registers. */
static void score_group(const float *const *rows, uint32_t dim, const float *panel, int32_t first,
                        struct vdb_best *best)
{
    const float *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3], *r4 = rows[4], *r5 = rows[5];
    __m256 a0 = _mm256_setzero_ps(), b0 = a0, a1 = a0, b1 = a0, a2 = a0, b2 = a0;
    __m256 a3 = a0, b3 = a0, a4 = a0, b4 = a0, a5 = a0, b5 = a0;

    for (size_t d = 0; d < dim; d++) {
        const __m256 ca = _mm256_load_ps(panel + d * VDB_PANEL);
        const __m256 cb = _mm256_load_ps(panel + d * VDB_PANEL + VDB_LANES);
        __m256 x = _mm256_broadcast_ss(r0 + d);
        a0 = _mm256_fmadd_ps(x, ca, a0);
        b0 = _mm256_fmadd_ps(x, cb, b0);
        x = _mm256_broadcast_ss(r1 + d);
        a1 = _mm256_fmadd_ps(x, ca, a1);
        b1 = _mm256_fmadd_ps(x, cb, b1);
        x = _mm256_broadcast_ss(r2 + d);
        a2 = _mm256_fmadd_ps(x, ca, a2);
        b2 = _mm256_fmadd_ps(x, cb, b2);
        x = _mm256_broadcast_ss(r3 + d);
        a3 = _mm256_fmadd_ps(x, ca, a3);
        b3 = _mm256_fmadd_ps(x, cb, b3);
        x = _mm256_broadcast_ss(r4 + d);
        a4 = _mm256_fmadd_ps(x, ca, a4);
        b4 = _mm256_fmadd_ps(x, cb, b4);
        x = _mm256_broadcast_ss(r5 + d);
        a5 = _mm256_fmadd_ps(x, ca, a5);
        b5 = _mm256_fmadd_ps(x, cb, b5);
    }
    const __m256i ia = _mm256_set1_epi32(first), ib = _mm256_set1_epi32(first + 1);
    keep(a0, ia, best);
    keep(b0, ib, best);
    keep(a1, ia, best + 1);
    keep(b1, ib, best + 1);
    keep(a2, ia, best + 2);
    keep(b2, ib, best + 2);
    keep(a3, ia, best + 3);
    keep(b3, ib, best + 3);
    keep(a4, ia, best + 4);
    keep(b4, ib, best + 4);
    keep(a5, ia, best + 5);
    keep(b5, ib, best + 5);
}

static inline float largest_lane(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

static void find_winners(const struct vdb_best *best, size_t n, struct vdb_winner *out)
{
    for (size_t i = 0; i < n; i++) {
        const __m256 first = _mm256_loadu_ps(best[i].first), second = _mm256_loadu_ps(best[i].second);
        const float most = largest_lane(first);
        const __m256 is_most = _mm256_cmp_ps(first, _mm256_set1_ps(most), _CMP_EQ_OQ);
        const unsigned lanes = (unsigned)_mm256_movemask_ps(is_most);
        const unsigned lane = lanes == 0 ? 0 : (unsigned)__builtin_ctz(lanes);
        /* of the lane with the best the second best counts, of the others the best */
        const float next = largest_lane(_mm256_blendv_ps(first, second, is_most));
        out[i].first = most;
        out[i].second = (lanes & (lanes - 1)) != 0 ? most : next;
        out[i].centroid = (uint32_t)best[i].index[lane] * VDB_LANES + lane;
    }
}

/* The sums of the lanes of four vectors. */
static inline __m128 add_lanes_4(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
}

/* All bits set in as many lanes as components remain behind the last whole run. */
static inline __m256i rest_of(uint32_t dim)
{
    static const int32_t ones[2 * VDB_LANES] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    return _mm256_loadu_si256((const __m256i *)(const void *)(ones + VDB_LANES - dim % VDB_LANES));
}

static inline __m256 square(const float *row, size_t d, bool is_whole, __m256i mask, __m256 sum)
{
    const __m256 x = is_whole ? _mm256_loadu_ps(row + d) : _mm256_maskload_ps(row + d, mask);
    return _mm256_fmadd_ps(x, x, sum);
}

static void norms2_of(const float *const *rows, size_t n, uint32_t dim, float *norms2)
{
    const __m256i mask = rest_of(dim);

    for (size_t i = 0; i < n; i += VDB_ROWS) {
        __m256 n0 = _mm256_setzero_ps(), n1 = n0, n2 = n0, n3 = n0;
        for (size_t d = 0; d < dim; d += VDB_LANES) {
            const bool is_whole = d + VDB_LANES <= dim;
            n0 = square(rows[i], d, is_whole, mask, n0);
            n1 = square(rows[i + 1], d, is_whole, mask, n1);
            n2 = square(rows[i + 2], d, is_whole, mask, n2);
            n3 = square(rows[i + 3], d, is_whole, mask, n3);
        }
        _mm_storeu_ps(norms2 + i, add_lanes_4(n0, n1, n2, n3));
    }
}

static void dots_f32(const float *const *rows, size_t n, const float *query, uint32_t dim, float *dots, float *norms2)
{
    const size_t whole = dim / VDB_LANES * VDB_LANES;
    const __m256i mask = rest_of(dim);

    for (size_t i = 0; i < n; i += VDB_ROWS) {
        const float *r0 = rows[i], *r1 = rows[i + 1], *r2 = rows[i + 2], *r3 = rows[i + 3];
        __m256 d0 = _mm256_setzero_ps(), d1 = d0, d2 = d0, d3 = d0, n0 = d0, n1 = d0, n2 = d0, n3 = d0;
        for (size_t d = 0; d < dim; d += VDB_LANES) {
            __m256 q, x0, x1, x2, x3;
            if (d < whole) {
                q = _mm256_loadu_ps(query + d);
                x0 = _mm256_loadu_ps(r0 + d);
                x1 = _mm256_loadu_ps(r1 + d);
                x2 = _mm256_loadu_ps(r2 + d);
                x3 = _mm256_loadu_ps(r3 + d);
            } else { /* the rest of a row, nothing behind it is read */
                q = _mm256_maskload_ps(query + d, mask);
                x0 = _mm256_maskload_ps(r0 + d, mask);
                x1 = _mm256_maskload_ps(r1 + d, mask);
                x2 = _mm256_maskload_ps(r2 + d, mask);
                x3 = _mm256_maskload_ps(r3 + d, mask);
            }
            d0 = _mm256_fmadd_ps(q, x0, d0);
            n0 = _mm256_fmadd_ps(x0, x0, n0);
            d1 = _mm256_fmadd_ps(q, x1, d1);
            n1 = _mm256_fmadd_ps(x1, x1, n1);
            d2 = _mm256_fmadd_ps(q, x2, d2);
            n2 = _mm256_fmadd_ps(x2, x2, n2);
            d3 = _mm256_fmadd_ps(q, x3, d3);
            n3 = _mm256_fmadd_ps(x3, x3, n3);
        }
        _mm_storeu_ps(dots + i, add_lanes_4(d0, d1, d2, d3));
        _mm_storeu_ps(norms2 + i, add_lanes_4(n0, n1, n2, n3));
    }
}

/* 16 codes of a row, widened, times 16 of the query, in pairs. */
static inline __m256i products(const int8_t *row, __m256i query)
{
    const __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)row);
    return _mm256_madd_epi16(_mm256_cvtepi8_epi16(codes), query);
}

static void dots_i8(const int8_t *const *rows, size_t n, const int16_t *query, size_t width, int32_t *dots)
{
    for (size_t i = 0; i < n; i += VDB_ROWS) {
        const int8_t *r0 = rows[i], *r1 = rows[i + 1], *r2 = rows[i + 2], *r3 = rows[i + 3];
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (size_t d = 0; d < width; d += VDB_CODE_RUN) {
            const __m256i q = _mm256_loadu_si256((const __m256i *)(const void *)(query + d));
            s0 = _mm256_add_epi32(s0, products(r0 + d, q));
            s1 = _mm256_add_epi32(s1, products(r1 + d, q));
            s2 = _mm256_add_epi32(s2, products(r2 + d, q));
            s3 = _mm256_add_epi32(s3, products(r3 + d, q));
        }
        const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(s0, s1), _mm256_hadd_epi32(s2, s3));
        _mm_storeu_si128((__m128i *)(void *)(dots + i),
                         _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1)));
    }
}

static float add_lanes(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline __m256 load_run(const float *row, size_t d, uint32_t dim, __m256i mask)
{
    return d + VDB_LANES <= dim ? _mm256_loadu_ps(row + d) : _mm256_maskload_ps(row + d, mask);
}

static void encode_i8(const float *row, uint32_t dim, int8_t *codes, struct vdb_encoded *out)
{
    const __m256i mask = rest_of(dim);
    const __m256 sign = _mm256_set1_ps(-0.0F);
    __m256 most = _mm256_setzero_ps(), sum = most, gaps = most;

    for (size_t d = 0; d < dim; d += VDB_LANES) {
        const __m256 x = load_run(row, d, dim, mask);
        most = _mm256_max_ps(most, _mm256_andnot_ps(sign, x));
        sum = _mm256_fmadd_ps(x, x, sum);
    }
    const float largest = largest_lane(most);
    *out = (struct vdb_encoded){ largest / VDB_CODE_MAX, add_lanes(sum), 0.0F };
    if (!vdb_norm2_is_safe(out->norm2)) {
        return;
    }
    const __m256 scale = _mm256_set1_ps(out->scale), inverse = _mm256_set1_ps(VDB_CODE_MAX / largest);
    size_t d = 0;
    for (; d < dim; d += VDB_LANES) {
        const __m256 x = load_run(row, d, dim, mask);
        const __m256i code = _mm256_cvtps_epi32(_mm256_mul_ps(x, inverse)); /* to the nearest */
        const __m256 gap = _mm256_fnmadd_ps(scale, _mm256_cvtepi32_ps(code), x);
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        gaps = _mm256_fmadd_ps(gap, gap, gaps);
        _mm_storel_epi64((__m128i *)(void *)(codes + d), _mm_packs_epi16(words, words));
    }
    for (; d % VDB_CODE_RUN != 0; d += VDB_LANES) {
        _mm_storel_epi64((__m128i *)(void *)(codes + d), _mm_setzero_si128());
    }
    out->gap2 = add_lanes(gaps);
}

static const struct vdb_kernels kernels = { score_group, find_winners, norms2_of, dots_f32, dots_i8, encode_i8 };

const struct vdb_kernels *vdb_kernels_avx2(void) { return &kernels; }

#else

const struct vdb_kernels *vdb_kernels_avx2(void) { return NULL; }

#endif
