/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_DISTANCE_INTERNAL_H
#define GREBE_VECTOR_DISTANCE_INTERNAL_H

/* What the variants of the kernels share. A variant writes a `one` and a `four` for a kind and an element type;
 * DISTANCE_FORMS makes the three public forms of them, so that all give the same bits. */

#include <string.h>

#include "base/half.h"
#include "vector/distance.h"

enum distance_kind { DISTANCE_L2 = 0, DISTANCE_DOT, DISTANCE_HAMMING, DISTANCE_JACCARD };

/* NULL: no such kernel in the variant. */
const struct vector_distance_ops *distance_ops_scalar(enum distance_kind kind, enum vector_elem elem);
const struct vector_distance_ops *distance_ops_avx2(enum distance_kind kind, enum vector_elem elem);

typedef void (*distance_half_fn)(const void *src, size_t n, float *dst);
/** binary16 to float32, exact; of the machine's level. */
distance_half_fn distance_half_to_f32(void);
void distance_half_to_f32_scalar(const void *src, size_t n, float *dst);
distance_half_fn distance_half_to_f32_avx2(void); /* NULL: not built in */

static inline float distance_load_f32(const void *p, size_t i)
{
    float v;

    memcpy(&v, (const unsigned char *)p + i * sizeof v, sizeof v);
    return v;
}

static inline float distance_load_f16(const void *p, size_t i)
{
    uint16_t h;

    memcpy(&h, (const unsigned char *)p + i * sizeof h, sizeof h);
    return half_to_float(h);
}

static inline float distance_load_bf16(const void *p, size_t i)
{
    uint16_t h;
    uint32_t bits;
    float v;

    memcpy(&h, (const unsigned char *)p + i * sizeof h, sizeof h);
    bits = (uint32_t)h << 16;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/** Of the bits counted in both rows and in either: one division in float64, so all variants agree. */
static inline float distance_of_bits(uint64_t both, uint64_t either)
{
    return either == 0 ? 1.0f : (float)(1.0 - (double)both / (double)either);
}

/** Bits that count in the last byte of a row of `dim` bits. */
static inline uint8_t distance_last_mask(uint32_t dim)
{
    return (uint8_t)(0xff00u >> ((dim - 1) % 8 + 1));
}

/** Ask for the cache lines of a row ahead; long rows are left to the machine's own stream detection. */
static inline void distance_prefetch(const unsigned char *row, size_t bytes)
{
    const size_t end = bytes < 1024 ? bytes : 1024;

    for (size_t at = 0; at < end; at += 64) {
        __builtin_prefetch(row + at);
    }
}

enum { DISTANCE_AHEAD = 8 }; /* rows; ann_speed: 4 to 8 hide main memory */

#define DISTANCE_FORMS(name, elem)                                                                                   \
    static void name##_many(const void *query, const void *rows, size_t stride, size_t n, uint32_t dim, float *out) \
    {                                                                                                                \
        const unsigned char *row = rows;                                                                             \
        size_t i = 0;                                                                                                \
                                                                                                                     \
        for (; i + 4 <= n; i += 4, row += 4 * stride) {                                                              \
            const void *const four[4] = {row, row + stride, row + 2 * stride, row + 3 * stride};                     \
                                                                                                                     \
            name##_four(query, four, dim, out + i);                                                                  \
        }                                                                                                            \
        for (; i < n; i++, row += stride) {                                                                          \
            out[i] = name##_one(query, row, dim);                                                                    \
        }                                                                                                            \
    }                                                                                                                \
                                                                                                                     \
    static void name##_gather(const void *query, const void *rows, size_t stride, const uint32_t *ids, size_t n,     \
                              uint32_t dim, float *out)                                                              \
    {                                                                                                                \
        const unsigned char *base = rows;                                                                            \
        const size_t bytes = vector_row_bytes((elem), dim);                                                          \
        size_t i = 0;                                                                                                \
                                                                                                                     \
        for (size_t j = 0; j < n && j < DISTANCE_AHEAD; j++) {                                                       \
            distance_prefetch(base + ids[j] * stride, bytes);                                                        \
        }                                                                                                            \
        for (; i + 4 <= n; i += 4) {                                                                                 \
            const void *const four[4] = {base + ids[i] * stride, base + ids[i + 1] * stride,                         \
                                         base + ids[i + 2] * stride, base + ids[i + 3] * stride};                    \
                                                                                                                     \
            for (size_t j = i + DISTANCE_AHEAD; j < n && j < i + DISTANCE_AHEAD + 4; j++) {                          \
                distance_prefetch(base + ids[j] * stride, bytes);                                                    \
            }                                                                                                        \
            name##_four(query, four, dim, out + i);                                                                  \
        }                                                                                                            \
        for (; i < n; i++) {                                                                                         \
            out[i] = name##_one(query, base + ids[i] * stride, dim);                                                 \
        }                                                                                                            \
    }                                                                                                                \
                                                                                                                     \
    static const struct vector_distance_ops name##_ops = {name##_many, name##_gather, name##_four};

#endif
