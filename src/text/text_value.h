/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_VALUE_H
#define GREBE_TEXT_TEXT_VALUE_H

/* Single values of Arrow arrays as text. */

#include "arrow/arrow_array.h"

/** A column made ready for printing: types are read once, not per value. */
struct text_column {
    const struct ArrowSchema *schema;
    struct arrow_type type;
    struct arrow_type value_type;    /* of the dictionary, when type.is_dictionary */
    bool is_uuid;                    /* 16 bytes that print as xxxxxxxx-xxxx-… */
    struct text_column *children;    /* shape [n_children] */
    size_t n_children;
};

/** @param out Owned; text_column_release(). Keeps pointers into schema. */
grebe_status text_column_init(const grebe_allocator *a, const struct ArrowSchema *schema,
                              struct text_column *out, grebe_error *err);
void text_column_release(const grebe_allocator *a, struct text_column *c);

/**
 * Append value i as JSON: null, true, 1, 1.0, "text", [..], {..}; binary as base64 (arrow.uuid with
 * dashes); NaN and
 * infinities as the strings "NaN", "Infinity", "-Infinity"; times as RFC 3339 strings.
 */
grebe_status text_put_json(struct buf *dst, const struct text_column *c,
                           const struct ArrowArray *array, int64_t i, grebe_error *err);

/**
 * Append value i for people and for CSV: strings as they are, binary as hexadecimal digits,
 * NaN, inf, -inf; lists and structs as JSON. A null appends nothing and gives *is_null.
 */
grebe_status text_put_plain(struct buf *dst, const struct text_column *c,
                            const struct ArrowArray *array, int64_t i, bool *is_null,
                            grebe_error *err);

/* ---- text_time.c, text_decimal.c: without a NUL; dst has TEXT_TIME_MAX / TEXT_DECIMAL_MAX bytes ---- */
enum { TEXT_TIME_MAX = 64, TEXT_DECIMAL_MAX = 400 };
/** "2026-11-29"; any int64 of days works. */
size_t text_date(char *dst, int64_t days);
/** "2026-11-29T12:00:00.000001Z"; is_utc adds the Z. */
size_t text_timestamp(char *dst, int64_t value, enum arrow_unit unit, bool is_utc);
/** "12:00:00.000001" */
size_t text_time_of_day(char *dst, int64_t value, enum arrow_unit unit);
/** Two's complement little-endian of 4, 8, 16 or 32 bytes with `scale` digits behind the point. */
size_t text_decimal(char *dst, const void *bytes, size_t width, int32_t scale);

#endif
