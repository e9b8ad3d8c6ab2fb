/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_ivf.h"

#include <math.h>

/* Largest f with f * f <= n. */
static uint64_t root_of(uint64_t n)
{
    uint64_t f = (uint64_t)sqrt((double)n);

    while (f > 0 && f > n / f) {
        f--;
    }
    while ((f + 1) <= n / (f + 1)) {
        f++;
    }
    return f;
}

uint32_t vdb_centroid_count(uint64_t n)
{
    if (n == 0) {
        return 0;
    }
    const uint64_t f = root_of(n);
    uint64_t r = n - f * f <= f ? f : f + 1; /* the nearest whole number to the square root */
    uint64_t lower = 1;

    r = r > VDB_CENTROIDS_MAX ? VDB_CENTROIDS_MAX : r;
    while (lower * 2 <= r) {
        lower *= 2;
    }
    const uint64_t upper = lower * 2 > VDB_CENTROIDS_MAX ? VDB_CENTROIDS_MAX : lower * 2;
    return (uint32_t)(r - lower < upper - r ? lower : upper);
}

double vdb_norm2(const float *a, uint32_t dim)
{
    double sum = 0.0;

    for (uint32_t d = 0; d < dim; d++) {
        sum += (double)a[d] * (double)a[d];
    }
    return sum;
}

double vdb_cosine(const float *a, const float *b, uint32_t dim)
{
    double dot = 0.0, na = 0.0, nb = 0.0;

    for (uint32_t d = 0; d < dim; d++) {
        const double x = (double)a[d], y = (double)b[d];
        dot += x * y;
        na += x * x;
        nb += y * y;
    }
    return na == 0.0 || nb == 0.0 ? 0.0 : dot / (sqrt(na) * sqrt(nb));
}
