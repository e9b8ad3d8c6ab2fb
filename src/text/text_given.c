/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_given.h"

#include <math.h>
#include <string.h>

#include "arrow/type_text.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/number.h"

/* ---- types ---- */

/* The format of the native type; NULL: there is none. */
static const char *native_format(const struct ArrowSchema *given, const struct arrow_type *t)
{
    switch (t->kind) {
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
    case ARROW_STRING_VIEW: return "u";
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW:
    case ARROW_FIXED_LIST: return "+l";
    case ARROW_NULL:
    case ARROW_BOOL:
    case ARROW_STRUCT:
    case ARROW_DURATION:
    case ARROW_DATE32:
    case ARROW_DATE64:
    case ARROW_TIME32:
    case ARROW_TIME64:
    case ARROW_TIMESTAMP:
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256: return given->format;
    default: return t->kind >= ARROW_INT8 && t->kind <= ARROW_FLOAT64 ? given->format : NULL;
    }
}

static grebe_status native(const grebe_allocator *a, const struct ArrowSchema *given, int depth,
                           struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;
    GREBE_TRY(arrow_type_of(given, &t, err));
    const char *format = given->dictionary != NULL ? NULL : native_format(given, &t);
    if (format == NULL || depth >= ARROW_DEPTH_MAX) {
        char name[80], type[128];
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                        "field \"%s\": expected a type that text can have, found %s",
                        error_quote(name, sizeof name, given->name, strlen(given->name)),
                        type_quote(type, sizeof type, given));
        goto out;
    }
    GREBE_TRY(schema_new(a, format, given->name, true, given->n_children, out, err));
    for (int64_t i = 0; i < given->n_children && st == GREBE_OK; i++) {
        st = native(a, given->children[i], depth + 1, out->children[i], err);
    }
out:
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status text_given_native(const grebe_allocator *a, const struct ArrowSchema *given,
                               struct ArrowSchema *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    return native(a, given, 0, out, err);
}

grebe_status text_given_possible(const grebe_allocator *a, const struct ArrowSchema *given,
                                 struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf fields = BUF_INIT(a);
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < given->n_children; i++) {
        struct ArrowSchema type;
        st = text_given_native(a, given->children[i], &type, err);
        schema_release(&type);
        if (st == GREBE_OK) {
            st = buf_put(&fields, &given->children[i], sizeof given->children[i], err);
        }
        if (st != GREBE_OK && st != GREBE_EUNSUPPORTED) {
            goto out;
        }
    }
    st = schema_struct(a, (const struct ArrowSchema *const *)(void *)fields.data,
                       fields.len / sizeof(struct ArrowSchema *), out, err);
out:
    buf_release(&fields);
    return st;
}

/* ---- values ---- */

static bool store_signed(const struct arrow_type *t, const char *s, size_t len, void *dst)
{
    int64_t v = 0;
    size_t plus = len > 1 && s[0] == '+' && s[1] != '-';
    if (!number_parse_i64(s + plus, len - plus, &v)) {
        return false;
    }
    unsigned bits = 8 * (unsigned)t->byte_width;
    int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
    if (v > most || v < -most - 1) {
        return false;
    }
    memcpy(dst, &v, (size_t)t->byte_width); /* little-endian: docs/format/text.md */
    return true;
}

static bool store_unsigned(const struct arrow_type *t, const char *s, size_t len, void *dst)
{
    uint64_t v = 0;
    size_t plus = len > 1 && s[0] == '+';
    if (!number_parse_u64(s + plus, len - plus, &v) ||
        v > UINT64_MAX >> (64 - 8 * (unsigned)t->byte_width)) {
        return false;
    }
    memcpy(dst, &v, (size_t)t->byte_width);
    return true;
}

static bool store_float(const struct arrow_type *t, const char *s, size_t len, void *dst)
{
    double d = 0;
    float f = 0;
    if (t->kind == ARROW_FLOAT64) {
        bool is_number = number_parse_double(s, len, &d);
        memcpy(dst, &d, sizeof d);
        return is_number && (isfinite(d) || memchr("0123456789.", s[len - 1], 11) == NULL);
    }
    bool is_number = number_parse_float(s, len, &f);
    bool is_in_range = isfinite(f) || (len > 0 && memchr("0123456789.", s[len - 1], 11) == NULL);
    if (t->kind == ARROW_FLOAT32) {
        memcpy(dst, &f, sizeof f);
        return is_number && is_in_range;
    }
    uint16_t half = half_from_float(f);
    memcpy(dst, &half, sizeof half);
    return is_number && is_in_range && (isinf(f) || !isinf(half_to_float(half)));
}

static const int64_t per_second[] = { 1, 1000, 1000000, 1000000000 };

/* Seconds and nanoseconds in a unit; false: not a whole number of it, or beyond int64. */
static bool in_unit(int64_t seconds, int32_t nanos, enum arrow_unit unit, int64_t *out)
{
    int64_t scale = per_second[unit], step = 1000000000 / scale;
    return nanos % step == 0 && checked_mul_i64(seconds, scale, out) &&
           checked_add_i64(*out, nanos / step, out);
}

static bool store_time(const struct arrow_type *t, const char *s, size_t len, void *dst)
{
    int32_t nanos = 0, clock = 0, days = 0;
    int64_t seconds = 0, v = 0;
    switch (t->kind) {
    case ARROW_DATE32:
        return text_to_date(s, len, &days) && (memcpy(dst, &days, sizeof days), true);
    case ARROW_DATE64:
        v = text_to_date(s, len, &days) ? days * INT64_C(86400000) : INT64_MIN;
        memcpy(dst, &v, sizeof v);
        return v != INT64_MIN;
    case ARROW_TIMESTAMP:
        if (!text_to_instant(s, len, t->timezone[0] != '\0', &seconds, &nanos) ||
            !in_unit(seconds, nanos, t->unit, &v)) {
            return false;
        }
        memcpy(dst, &v, sizeof v);
        return true;
    default:
        if (!text_to_clock(s, len, &clock, &nanos) || !in_unit(clock, nanos, t->unit, &v)) {
            return false;
        }
        memcpy(dst, &v, (size_t)t->byte_width); /* of a day: fits 32 bits in seconds and milliseconds */
        return true;
    }
}

/* limbs = limbs * 10 + digit, little-endian; 256 bits hold every precision that there is. */
static void push_digit(uint64_t limbs[4], unsigned digit)
{
    __extension__ typedef unsigned __int128 u128;
    u128 carry = digit;
    for (int i = 0; i < 4; i++) {
        carry += (u128)limbs[i] * 10;
        limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

/* Digits before the point and `scale` behind it, at most `precision` that count. */
static bool store_decimal(const struct arrow_type *t, const char *s, size_t len, void *dst)
{
    uint64_t limbs[4] = { 0 };
    size_t at = len > 0 && (s[0] == '-' || s[0] == '+'), begin = at;
    int32_t n_digits = 0, n_behind = 0;
    bool is_negative = len > 0 && s[0] == '-', has_point = false, has_digit = false;
    if (t->scale < 0) {
        return false;
    }
    for (; at < len; at++) {
        if (s[at] == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (s[at] < '0' || s[at] > '9') {
            return false;
        }
        has_digit = true;
        if (has_point && n_behind == t->scale) {
            if (s[at] != '0') {
                return false; /* finer than the type */
            }
            continue;
        }
        n_digits += n_digits > 0 || s[at] != '0';
        if (n_digits > t->precision) {
            return false;
        }
        push_digit(limbs, (unsigned)(s[at] - '0'));
        n_behind += has_point;
    }
    for (; n_behind < t->scale; n_behind++) {
        n_digits += n_digits > 0;
        if (n_digits > t->precision) {
            return false;
        }
        push_digit(limbs, 0);
    }
    for (int i = 0, carry = 1; is_negative && i < 4; i++) {
        limbs[i] = ~limbs[i] + (uint64_t)carry;
        carry = carry && limbs[i] == 0;
    }
    memcpy(dst, limbs, (size_t)t->byte_width);
    return has_digit && at > begin;
}

bool text_given_store(const struct arrow_type *t, const char *s, size_t len, void *dst)
{
    if (len == 0) {
        return false;
    }
    switch (t->kind) {
    case ARROW_INT8:
    case ARROW_INT16:
    case ARROW_INT32:
    case ARROW_INT64:
    case ARROW_DURATION: return store_signed(t, s, len, dst);
    case ARROW_UINT8:
    case ARROW_UINT16:
    case ARROW_UINT32:
    case ARROW_UINT64: return store_unsigned(t, s, len, dst);
    case ARROW_FLOAT16:
    case ARROW_FLOAT32:
    case ARROW_FLOAT64: return store_float(t, s, len, dst);
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256: return store_decimal(t, s, len, dst);
    default: return store_time(t, s, len, dst);
    }
}
