/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_DECIMAL_H
#define GREBE_EXPR_EXPR_DECIMAL_H

/* 256-bit integers with a scale: value * 10^-scale. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Two's complement, least significant limb first. */
struct decimal256 {
    uint64_t limbs[4];
};

struct decimal256 decimal_from_i64(int64_t v);
struct decimal256 decimal_from_u64(uint64_t v);
/** width: 4, 8, 16 or 32 bytes, little-endian two's complement. */
struct decimal256 decimal_load(const void *p, int32_t width);
struct decimal256 decimal_negate(struct decimal256 v);
static inline bool decimal_is_negative(const struct decimal256 *v) { return v->limbs[3] >> 63; }
bool decimal_is_zero(const struct decimal256 *v);

/** -1, 0, 1: exact for any scales. */
int decimal_compare(struct decimal256 x, int32_t x_scale, struct decimal256 y, int32_t y_scale);

/** Digits with point and exponent as an exact decimal; false: more than 76 digits, or no number. */
bool decimal_parse(const char *s, size_t len, struct decimal256 *out, int32_t *scale);

/**
 * v as a number with another scale. @return false: digits behind the new point would be lost
 * (*is_range false), or it does not fit 255 bits (*is_range true).
 */
bool decimal_rescale(struct decimal256 v, int32_t from_scale, int32_t to_scale,
                     struct decimal256 *out, bool *is_range);
/** Whether |v| < 10^precision. */
bool decimal_fits(const struct decimal256 *v, int32_t precision);
/** width: 4, 8, 16 or 32 bytes, little-endian two's complement; false: it does not fit. */
bool decimal_store(const struct decimal256 *v, void *p, int32_t width);
/** v at the scale that the finite double is nearest to, ties away from zero; false: more than 76 digits. */
bool decimal_from_double(double d, int32_t scale, struct decimal256 *out);

/** The nearest double. */
double decimal_to_double(const struct decimal256 *v, int32_t scale);

#endif
