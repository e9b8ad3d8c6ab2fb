/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/distance.h"

#include <math.h>

#include "vector/distance_internal.h"

/* Eight sums in a fixed order and no fused multiply-add: the same bits on every machine. */

enum { BLOCK = 64, LANES = 8 };

struct exact_sums {
    double l2[LANES], dot[LANES], aa[LANES], bb[LANES];
};

static double add_lanes(const double s[LANES])
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static void load_f64(enum vector_elem elem, const void *p, size_t at, size_t n, double dst[BLOCK])
{
    float f[BLOCK];

    if (elem == VECTOR_F64) {
        memcpy(dst, (const unsigned char *)p + at * sizeof *dst, n * sizeof *dst);
    } else {
        vector_to_f32(elem, (const unsigned char *)p + at * vector_row_bytes(elem, 1), n, f);
        for (size_t i = 0; i < n; i++) {
            dst[i] = (double)f[i];
        }
    }
    for (size_t i = n; i < BLOCK; i++) {
        dst[i] = 0;
    }
}

static double exact_bits(enum vector_metric metric, const uint8_t *a, const uint8_t *b, uint32_t dim)
{
    const size_t bytes = vector_row_bytes(VECTOR_BIT, dim);
    uint64_t both = 0, either = 0;

    for (size_t i = 0; i < bytes; i++) {
        const unsigned mask = i + 1 == bytes ? distance_last_mask(dim) : 0xffu;

        both += (uint64_t)__builtin_popcount((unsigned)(a[i] & b[i]) & mask);
        either += (uint64_t)__builtin_popcount((unsigned)(a[i] | b[i]) & mask);
    }
    if (metric == VECTOR_HAMMING) {
        return dim == 0 ? 0 : (double)(either - both) / (double)dim;
    }
    return either == 0 ? 1.0 : 1.0 - (double)both / (double)either;
}

static double exact_l2sq(enum vector_elem elem, const void *a, const void *b, uint32_t dim)
{
    double s[LANES] = {0};
    double x[BLOCK], y[BLOCK];

    for (size_t at = 0; at < dim; at += BLOCK) {
        const size_t n = dim - at < BLOCK ? dim - at : BLOCK;

        load_f64(elem, a, at, n, x);
        load_f64(elem, b, at, n, y);
        for (size_t i = 0; i < BLOCK; i += LANES) {
            for (size_t j = 0; j < LANES; j++) {
                s[j] += (x[i + j] - y[i + j]) * (x[i + j] - y[i + j]);
            }
        }
    }
    return add_lanes(s);
}

static double exact_dot(enum vector_elem elem, const void *a, const void *b, uint32_t dim, double *aa, double *bb)
{
    struct exact_sums s = {{0}, {0}, {0}, {0}};
    double x[BLOCK], y[BLOCK];

    for (size_t at = 0; at < dim; at += BLOCK) {
        const size_t n = dim - at < BLOCK ? dim - at : BLOCK;

        load_f64(elem, a, at, n, x);
        load_f64(elem, b, at, n, y);
        for (size_t i = 0; i < BLOCK; i += LANES) {
            for (size_t j = 0; j < LANES; j++) {
                s.dot[j] += x[i + j] * y[i + j];
                s.aa[j] += x[i + j] * x[i + j];
                s.bb[j] += y[i + j] * y[i + j];
            }
        }
    }
    *aa = add_lanes(s.aa);
    *bb = add_lanes(s.bb);
    return add_lanes(s.dot);
}

double vector_distance_exact(enum vector_metric metric, enum vector_elem elem, const void *a, const void *b, uint32_t dim)
{
    double aa = 0, bb = 0, dot;

    switch (metric) {
    case VECTOR_HAMMING:
    case VECTOR_JACCARD:
        return exact_bits(metric, a, b, dim);
    case VECTOR_EUCLIDEAN:
        return sqrt(exact_l2sq(elem, a, b, dim));
    case VECTOR_L2SQ:
        return exact_l2sq(elem, a, b, dim);
    case VECTOR_IP:
        return 1.0 - exact_dot(elem, a, b, dim, &aa, &bb);
    case VECTOR_COSINE:
        dot = exact_dot(elem, a, b, dim, &aa, &bb);
        return aa == 0 || bb == 0 ? 1.0 : 1.0 - dot / (sqrt(aa) * sqrt(bb));
    }
    return NAN;
}
