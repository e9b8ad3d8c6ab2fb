/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/distance_internal.h"

/* The definition of every kernel, in plain C. Eight sums side by side, so that any compiler can use vectors. */

enum { LANES = 8 };

static float add_lanes(const float s[LANES])
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

#define FLOAT_ONE(name, load, term)                                            \
    static float name##_one(const void *a, const void *b, uint32_t dim)        \
    {                                                                          \
        float s[LANES] = {0};                                                  \
        size_t i = 0;                                                          \
                                                                               \
        for (; i + LANES <= dim; i += LANES) {                                 \
            for (size_t j = 0; j < LANES; j++) {                               \
                const float x = load(a, i + j), y = load(b, i + j);            \
                                                                               \
                s[j] += (term);                                                \
            }                                                                  \
        }                                                                      \
        for (size_t j = 0; i + j < dim; j++) {                                 \
            const float x = load(a, i + j), y = load(b, i + j);                \
                                                                               \
            s[j] += (term);                                                    \
        }                                                                      \
        return add_lanes(s);                                                   \
    }

#define INT_ONE(name, type, term, sign)                                        \
    static float name##_one(const void *a, const void *b, uint32_t dim)        \
    {                                                                          \
        const type *p = a, *q = b;                                             \
        int32_t sum = 0;                                                       \
                                                                               \
        for (size_t i = 0; i < dim; i++) {                                     \
            const int32_t x = p[i], y = q[i];                                  \
                                                                               \
            sum += (term);                                                     \
        }                                                                      \
        return (float)(sign sum);                                              \
    }

#define FOUR(name, elem)                                                                              \
    static void name##_four(const void *query, const void *const rows[4], uint32_t dim, float out[4]) \
    {                                                                                                 \
        for (size_t r = 0; r < 4; r++) {                                                              \
            out[r] = name##_one(query, rows[r], dim);                                                 \
        }                                                                                             \
    }                                                                                                 \
    DISTANCE_FORMS(name, elem)

/* -x*y summed is the same, bit for bit, as the sum negated: rounding to nearest is symmetric. */
FLOAT_ONE(l2_f32, distance_load_f32, (x - y) * (x - y))
FLOAT_ONE(l2_f16, distance_load_f16, (x - y) * (x - y))
FLOAT_ONE(l2_bf16, distance_load_bf16, (x - y) * (x - y))
FLOAT_ONE(dot_f32, distance_load_f32, -(x * y))
FLOAT_ONE(dot_f16, distance_load_f16, -(x * y))
FLOAT_ONE(dot_bf16, distance_load_bf16, -(x * y))
INT_ONE(l2_i8, int8_t, (x - y) * (x - y), +)
INT_ONE(l2_u8, uint8_t, (x - y) * (x - y), +)
INT_ONE(dot_i8, int8_t, x * y, -)
INT_ONE(dot_u8, uint8_t, x * y, -)

static float hamming_one(const void *a, const void *b, uint32_t dim)
{
    const uint8_t *p = a, *q = b;
    const size_t bytes = vector_row_bytes(VECTOR_BIT, dim);
    uint32_t sum = 0;

    for (size_t i = 0; i < bytes; i++) {
        const unsigned mask = i + 1 == bytes ? distance_last_mask(dim) : 0xffu;

        sum += (uint32_t)__builtin_popcount((unsigned)(p[i] ^ q[i]) & mask);
    }
    return (float)sum;
}

static float jaccard_one(const void *a, const void *b, uint32_t dim)
{
    const uint8_t *p = a, *q = b;
    const size_t bytes = vector_row_bytes(VECTOR_BIT, dim);
    uint32_t both = 0, either = 0;

    for (size_t i = 0; i < bytes; i++) {
        const unsigned mask = i + 1 == bytes ? distance_last_mask(dim) : 0xffu;

        both += (uint32_t)__builtin_popcount((unsigned)(p[i] & q[i]) & mask);
        either += (uint32_t)__builtin_popcount((unsigned)(p[i] | q[i]) & mask);
    }
    return distance_of_bits(both, either);
}

FOUR(l2_f32, VECTOR_F32)
FOUR(l2_f16, VECTOR_F16)
FOUR(l2_bf16, VECTOR_BF16)
FOUR(l2_i8, VECTOR_I8)
FOUR(l2_u8, VECTOR_U8)
FOUR(dot_f32, VECTOR_F32)
FOUR(dot_f16, VECTOR_F16)
FOUR(dot_bf16, VECTOR_BF16)
FOUR(dot_i8, VECTOR_I8)
FOUR(dot_u8, VECTOR_U8)
FOUR(hamming, VECTOR_BIT)
FOUR(jaccard, VECTOR_BIT)

const struct vector_distance_ops *distance_ops_scalar(enum distance_kind kind, enum vector_elem elem)
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
