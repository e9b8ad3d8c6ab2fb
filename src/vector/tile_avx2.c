/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/tile_internal.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

/* 6 queries x 16 rows: twelve sums in registers, per component two loads of the panel and six broadcasts. */

#define INLINE static inline __attribute__((always_inline))

/* Sums in variables of their own: in arrays the compiler would store them at each step. `n` is a constant at each use,
 * so what stands behind a false condition is not there. */
#define QUERY_STEP(q)                                    \
    if (n > (q)) {                                       \
        const __m256 x = _mm256_broadcast_ss(p##q + d);  \
                                                         \
        low##q = _mm256_fmadd_ps(x, a, low##q);          \
        high##q = _mm256_fmadd_ps(x, b, high##q);        \
    }

INLINE void sums_of(const float *panel, uint32_t dim, const float *const *queries, const size_t n,
                    __m256 low[TILE_QUERIES], __m256 high[TILE_QUERIES])
{
    const float *p0 = queries[0], *p1 = queries[n > 1 ? 1 : 0], *p2 = queries[n > 2 ? 2 : 0];
    const float *p3 = queries[n > 3 ? 3 : 0], *p4 = queries[n > 4 ? 4 : 0], *p5 = queries[n > 5 ? 5 : 0];
    __m256 low0 = _mm256_setzero_ps(), low1 = low0, low2 = low0, low3 = low0, low4 = low0, low5 = low0;
    __m256 high0 = low0, high1 = low0, high2 = low0, high3 = low0, high4 = low0, high5 = low0;

    for (size_t d = 0; d < dim; d++) {
        const __m256 a = _mm256_loadu_ps(panel + d * TILE_PANEL), b = _mm256_loadu_ps(panel + d * TILE_PANEL + 8);

        QUERY_STEP(0)
        QUERY_STEP(1)
        QUERY_STEP(2)
        QUERY_STEP(3)
        QUERY_STEP(4)
        QUERY_STEP(5)
    }
    low[0] = low0, low[1] = low1, low[2] = low2, low[3] = low3, low[4] = low4, low[5] = low5;
    high[0] = high0, high[1] = high1, high[2] = high2, high[3] = high3, high[4] = high4, high[5] = high5;
}

INLINE __m256 value_of(__m256 dot, const float *norms)
{
    if (norms == NULL) {
        return _mm256_xor_ps(dot, _mm256_set1_ps(-0.0f));
    }
    return _mm256_fmadd_ps(dot, _mm256_set1_ps(-2.0f), _mm256_loadu_ps(norms));
}

INLINE bool panel_of(const float *panel, const float *norms, uint32_t dim, const float *const *queries, const size_t n,
                     const float *limits, float *values, uint16_t *masks)
{
    __m256 low[TILE_QUERIES], high[TILE_QUERIES];
    unsigned any = 0;

    sums_of(panel, dim, queries, n, low, high);
    for (size_t q = 0; q < n; q++) {
        const __m256 limit = _mm256_set1_ps(limits[q]);
        const __m256 a = value_of(low[q], norms), b = value_of(high[q], norms == NULL ? NULL : norms + 8);
        const unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, limit, _CMP_NGT_UQ)) |
                              (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(b, limit, _CMP_NGT_UQ)) << 8;

        masks[q] = (uint16_t)mask;
        any |= mask;
        if (mask != 0) {
            _mm256_storeu_ps(values + q * TILE_PANEL, a);
            _mm256_storeu_ps(values + q * TILE_PANEL + 8, b);
        }
    }
    return any != 0;
}

static bool panel_any(const float *panel, const float *norms, uint32_t dim, const float *const *queries, size_t n,
                      const float *limits, float *values, uint16_t *masks)
{
    switch (n) {
    case 6:
        return panel_of(panel, norms, dim, queries, 6, limits, values, masks);
    case 5:
        return panel_of(panel, norms, dim, queries, 5, limits, values, masks);
    case 4:
        return panel_of(panel, norms, dim, queries, 4, limits, values, masks);
    case 3:
        return panel_of(panel, norms, dim, queries, 3, limits, values, masks);
    case 2:
        return panel_of(panel, norms, dim, queries, 2, limits, values, masks);
    default:
        return panel_of(panel, norms, dim, queries, 1, limits, values, masks);
    }
}

#define PANEL_STEP(p)                                                             \
    if (n > (p)) {                                                                \
        low##p = _mm256_fmadd_ps(x, _mm256_loadu_ps(at##p + i), low##p);          \
        high##p = _mm256_fmadd_ps(x, _mm256_loadu_ps(at##p + i + 8), high##p);    \
    }

#define PANEL_STORE(p)                                                                                          \
    if (n > (p)) {                                                                                              \
        _mm256_storeu_ps(values + (p) * TILE_PANEL,                                                             \
                         value_of(low##p, norms == NULL ? NULL : norms + (p) * TILE_PANEL));                    \
        _mm256_storeu_ps(values + (p) * TILE_PANEL + 8,                                                         \
                         value_of(high##p, norms == NULL ? NULL : norms + (p) * TILE_PANEL + 8));               \
    }

/* One query against n panels: 2 n sums. */
INLINE void values_of(const float *panels, const float *norms, uint32_t dim, const float *query, const size_t n,
                      float *values)
{
    const size_t bytes = (size_t)dim * TILE_PANEL;
    const float *at0 = panels, *at1 = at0 + bytes, *at2 = at1 + bytes, *at3 = at2 + bytes;
    __m256 low0 = _mm256_setzero_ps(), low1 = low0, low2 = low0, low3 = low0;
    __m256 high0 = low0, high1 = low0, high2 = low0, high3 = low0;

    for (size_t d = 0; d < dim; d++) {
        const __m256 x = _mm256_broadcast_ss(query + d);
        const size_t i = d * TILE_PANEL;

        PANEL_STEP(0)
        PANEL_STEP(1)
        PANEL_STEP(2)
        PANEL_STEP(3)
    }
    PANEL_STORE(0)
    PANEL_STORE(1)
    PANEL_STORE(2)
    PANEL_STORE(3)
}

static void values_any(const float *panels, const float *norms, uint32_t dim, const float *query, size_t n,
                       float *values)
{
    size_t p = 0;

    for (; p + 4 <= n; p += 4) {
        values_of(panels + p * dim * TILE_PANEL, norms == NULL ? NULL : norms + p * TILE_PANEL, dim, query, 4,
                  values + p * TILE_PANEL);
    }
    panels += p * dim * TILE_PANEL;
    norms = norms == NULL ? NULL : norms + p * TILE_PANEL;
    values += p * TILE_PANEL;
    switch (n - p) {
    case 3:
        values_of(panels, norms, dim, query, 3, values);
        break;
    case 2:
        values_of(panels, norms, dim, query, 2, values);
        break;
    case 1:
        values_of(panels, norms, dim, query, 1, values);
        break;
    default:
        break;
    }
}

static const struct tile_kernels avx2 = {panel_any, values_any};

const struct tile_kernels *tile_kernels_avx2(void) { return &avx2; }

#else

const struct tile_kernels *tile_kernels_avx2(void) { return NULL; }

#endif
