/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_TYPE_H
#define GREBE_TEXT_TEXT_TYPE_H

/*
 * Which types a piece of text is a value of, and the value. A type fits when its value says
 * all that the text said: "007", "+5" and 2^53 + 1 as a double do not (docs/format/text.md).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A set of types; the values of a column fit the intersection. 0: only a string. */
enum text_type {
    TEXT_BOOL = 1,
    TEXT_INT64 = 2,
    TEXT_UINT64 = 4,
    TEXT_DOUBLE = 8,
    TEXT_DATE = 16,      /* date32 */
    TEXT_TIMESTAMP = 32, /* microseconds, no zone */
    TEXT_TIMESTAMP_UTC = 64,
    TEXT_ANY = 127,
    TEXT_GIVEN = 128 /* never inferred: a type that the caller gave (text_given.h) */
};

/** All types that the text fits. */
unsigned text_types_of(const char *s, size_t len);

/** The narrowest of a set: one bit, or 0 for string. */
unsigned text_type_narrowest(unsigned types);

/** Arrow format string of one bit (0: "u"). */
const char *text_type_format(unsigned type);
/** Its name for messages: "int64", … */
const char *text_type_name(unsigned type);

/* ---- text_number.c ---- */

/** No zeros in front, no plus, not "-0": an integer of this form prints back to the text. */
bool text_is_canonical(const char *s, size_t len);
/** A number in decimal without a plus, and without zeros in front; whether it is an integer. */
bool text_is_decimal(const char *s, size_t len, bool *is_integer, bool *has_exponent);
/** inf, Infinity with or without minus, NaN, nan. */
bool text_is_special(const char *s, size_t len);

/** How many digits text begins with. */
size_t text_digits(const char *s, size_t len);

/* The number that text begins with, whatever follows: its length, 0 when it is not of the form -?digits with a
 * value in range, or -?digits(.digits)? of at most 19 digits with no zeros in front. */
size_t text_take_i64(const char *s, size_t len, int64_t *out);
size_t text_take_double(const char *s, size_t len, double *out);

/* Each gives false when the text does not fit the type. */
bool text_to_bool(const char *s, size_t len, bool *out);
bool text_to_i64(const char *s, size_t len, int64_t *out);
bool text_to_u64(const char *s, size_t len, uint64_t *out);
bool text_to_double(const char *s, size_t len, double *out);
bool text_to_date(const char *s, size_t len, int32_t *out);
/** Microseconds; a text with a zone fits only is_utc. */
bool text_to_timestamp(const char *s, size_t len, bool is_utc, int64_t *out);
/** Since the epoch; nothing finer than a nanosecond. */
bool text_to_instant(const char *s, size_t len, bool is_utc, int64_t *seconds, int32_t *nanos);
/** Of the day: "12:00", "12:00:00.5". */
bool text_to_clock(const char *s, size_t len, int32_t *seconds, int32_t *nanos);

#endif
