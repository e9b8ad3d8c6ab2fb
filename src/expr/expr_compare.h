/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_COMPARE_H
#define GREBE_EXPR_EXPR_COMPARE_H

/* Comparison of two vectors of 8-byte values: the inner loop of most conditions. */

#include "expr/expr_internal.h"

/** dst[i] = TRI_TRUE where a[i] op b[i], else TRI_FALSE. Shapes [n]. */
struct compare_kernels {
    void (*i64)(enum compare_op op, const int64_t *a, const int64_t *b, size_t n, uint8_t *dst);
    void (*u64)(enum compare_op op, const uint64_t *a, const uint64_t *b, size_t n, uint8_t *dst);
    void (*f64)(enum compare_op op, const double *a, const double *b, size_t n, uint8_t *dst);
};

/** The variant for this machine. Threads: safe. */
const struct compare_kernels *compare_kernels(void);

/** NULL: not in this build. */
const struct compare_kernels *compare_kernels_avx2(void);
const struct compare_kernels *compare_kernels_scalar(void);

/* The loops, compiled once per variant with its own instructions. */

#define COMPARE_LOOP(op)                                           \
    for (size_t i = 0; i < n; i++) {                               \
        dst[i] = (uint8_t)((a[i] op b[i]) ? TRI_TRUE : TRI_FALSE); \
    }                                                              \
    break

#define COMPARE_FUNCTION(name, type)                                                     \
    static void name(enum compare_op op, const type *a, const type *b, size_t n, uint8_t *dst) \
    {                                                                                    \
        switch (op) {                                                                    \
        case CMP_EQ: COMPARE_LOOP(==);                                                   \
        case CMP_NE: COMPARE_LOOP(!=);                                                   \
        case CMP_LT: COMPARE_LOOP(<);                                                    \
        case CMP_LE: COMPARE_LOOP(<=);                                                   \
        case CMP_GT: COMPARE_LOOP(>);                                                    \
        case CMP_GE: COMPARE_LOOP(>=);                                                   \
        }                                                                                \
    }

#endif
