/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_NUMBER_H
#define GREBE_BASE_NUMBER_H

/*
 * Numbers and text, exactly and without a locale. Floats print with the fewest digits that read
 * back to the same bits (Schubfach, Giulietti 2020) and are read correctly rounded (Lemire 2021,
 * with big integers where 19 digits do not decide).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Room for any number printed here, with a NUL. */
enum { NUMBER_TEXT_MAX = 40 };

/** How floats are laid out. exp10 is the exponent of the first digit. */
struct number_style {
    int exp10_min, exp10_max; /* outside [min, max): exponent form; -8 <= min, max <= 21 */
    bool has_plus;            /* "1e+16" against "1e16" */
    bool is_padded;           /* "1e-07" against "1e-7" */
};

/** As in JSON output: 1.0, 0.00001, 1e-6, 1e16. */
extern const struct number_style number_style_json;
/** As Python's repr: 1.0, 0.0001, 1e-05, 1e+16. */
extern const struct number_style number_style_python;

/* Each writes without a NUL and returns the length; dst has NUMBER_TEXT_MAX bytes. Infinities
 * and NaN come out as inf, -inf, nan. Finite floats always have a point or an exponent. */
size_t number_put_i64(char *dst, int64_t v);
size_t number_put_u64(char *dst, uint64_t v);
size_t number_put_double(char *dst, double v, const struct number_style *style);
size_t number_put_float(char *dst, float v, const struct number_style *style);
/** Rounded to `decimals` (at most 9) places behind the point; beyond 2^53 units of the last place as number_put_double(). */
size_t number_put_fixed(char *dst, double v, int decimals);

/* The whole text is an integer in range: -?[0-9]+ (unsigned: no sign). */
bool number_parse_i64(const char *s, size_t len, int64_t *out);
bool number_parse_u64(const char *s, size_t len, uint64_t *out);

/**
 * The whole text is a number: [+-]?(digits[.digits]?|.digits)([eE][+-]?digits)?, or inf, infinity,
 * nan in any case with a sign. Correctly rounded; beyond the range: infinity, below: zero.
 */
bool number_parse_double(const char *s, size_t len, double *out);
bool number_parse_float(const char *s, size_t len, float *out);
/** w * 10^exp10, correctly rounded; beyond the range: infinity, below: zero. */
double number_scale_double(uint64_t w, int exp10);

#endif
