/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/distance.h"

#include <math.h>

#include "vector/distance_internal.h"

static bool kind_of(enum vector_metric metric, enum distance_kind *kind)
{
    switch (metric) {
    case VECTOR_EUCLIDEAN:
    case VECTOR_L2SQ:
        *kind = DISTANCE_L2;
        return true;
    case VECTOR_IP:
    case VECTOR_COSINE:
        *kind = DISTANCE_DOT;
        return true;
    case VECTOR_HAMMING:
        *kind = DISTANCE_HAMMING;
        return true;
    case VECTOR_JACCARD:
        *kind = DISTANCE_JACCARD;
        return true;
    }
    return false;
}

const struct vector_distance_ops *vector_distance_ops_of(enum cpu_simd level, enum vector_metric metric,
                                                         enum vector_elem elem)
{
    enum distance_kind kind;

    if (!cpu_simd_has(level) || !kind_of(metric, &kind)) {
        return NULL;
    }
    switch (level) {
    case CPU_SCALAR:
        return distance_ops_scalar(kind, elem);
    case CPU_AVX2:
    case CPU_AVX512: /* its own kernels would stand here */
        return distance_ops_avx2(kind, elem);
    }
    return NULL;
}

const struct vector_distance_ops *vector_distance_ops(enum vector_metric metric, enum vector_elem elem)
{
    const struct vector_distance_ops *ops = vector_distance_ops_of(cpu_simd_level(), metric, elem);

    return ops != NULL ? ops : vector_distance_ops_of(CPU_SCALAR, metric, elem);
}

float vector_normalise(const float *src, uint32_t dim, float *dst)
{
    double sum = 0;
    double norm;

    for (uint32_t i = 0; i < dim; i++) {
        sum += (double)src[i] * (double)src[i];
    }
    norm = sqrt(sum);
    for (uint32_t i = 0; i < dim; i++) {
        dst[i] = norm > 0 ? (float)((double)src[i] / norm) : src[i] * 0.0f;
    }
    return (float)norm;
}

distance_half_fn distance_half_to_f32(void)
{
    distance_half_fn fn = cpu_simd_level() >= CPU_AVX2 ? distance_half_to_f32_avx2() : NULL;

    return fn != NULL ? fn : distance_half_to_f32_scalar;
}

void distance_half_to_f32_scalar(const void *src, size_t n, float *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = distance_load_f16(src, i);
    }
}
