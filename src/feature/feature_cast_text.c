/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/feature_cast_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "arrow/type_text.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/half.h"
#include "base/number.h"
#include "text/text_cast.h"

/* ---- to text: the spelling of pyarrow ---- */

/* The shortest digits, an exponent outside 1e-6 … 1e10, no ".0". */
static const struct number_style NUMBERS = { -6, 10, true, false };

static size_t put_real(char *dst, double v, bool is_single)
{
    size_t n = is_single ? number_put_float(dst, (float)v, &NUMBERS) : number_put_double(dst, v, &NUMBERS);
    char *exponent = memchr(dst, 'e', n);
    char *end = exponent != NULL ? exponent : dst + n;
    if (isfinite(v) && end - dst > 2 && end[-1] == '0' && end[-2] == '.') {
        memmove(end - 2, end, (size_t)(dst + n - end));
        n -= 2;
    }
    return n;
}

static size_t put_date(char *dst, size_t dst_len, int64_t days)
{
    int64_t year;
    int month, day;
    calendar_date(days, &year, &month, &day);
    return (size_t)snprintf(dst, dst_len, "%04" PRId64 "-%02d-%02d", year, month, day);
}

static const int64_t UNITS[] = { 1, 1000, 1000000, 1000000000 };
static const int DIGITS[] = { 0, 3, 6, 9 };

/* A part of a day, 0 <= v < a day. */
static size_t put_clock(char *dst, size_t dst_len, int64_t v, enum arrow_unit unit)
{
    int64_t seconds = v / UNITS[unit], fraction = v % UNITS[unit];
    int n = snprintf(dst, dst_len, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    if (DIGITS[unit] > 0) {
        n += snprintf(dst + n, dst_len - (size_t)n, ".%0*" PRId64, DIGITS[unit], fraction);
    }
    return (size_t)n;
}

static size_t put_timestamp(char *dst, size_t dst_len, int64_t v, enum arrow_unit unit, bool is_utc)
{
    int64_t day = 86400 * UNITS[unit], days = v / day, rest = v % day;
    if (rest < 0) {
        rest += day;
        days--;
    }
    size_t n = put_date(dst, dst_len, days);
    dst[n++] = ' ';
    n += put_clock(dst + n, dst_len - n, rest, unit);
    if (is_utc) {
        dst[n++] = 'Z';
    }
    return n;
}

/* Value i as text; 0: another cast knows the type. */
static size_t put_value(char *dst, size_t dst_len, const struct arrow_type *f, const void *values, int64_t i)
{
    double wide;
    float single;
    uint16_t half;
    int64_t v = 0;
    const char *p = values;
    switch (f->kind) {
    case ARROW_FLOAT16:
        memcpy(&half, p + 2 * i, 2);
        return put_real(dst, (double)half_to_float(half), true);
    case ARROW_FLOAT32:
        memcpy(&single, p + 4 * i, 4);
        return put_real(dst, (double)single, true);
    case ARROW_FLOAT64:
        memcpy(&wide, p + 8 * i, 8);
        return put_real(dst, wide, false);
    case ARROW_TIMESTAMP: return put_timestamp(dst, dst_len, load_i64_at(values, i), f->unit, f->timezone[0] != '\0');
    case ARROW_TIME32:
    case ARROW_TIME64:
        v = f->byte_width == 4 ? load_i32_at(values, i) : load_i64_at(values, i);
        return v < 0 || v >= 86400 * UNITS[f->unit] ? number_put_i64(dst, v) : put_clock(dst, dst_len, v, f->unit);
    case ARROW_DATE64: return put_date(dst, dst_len, (int64_t)floor((double)load_i64_at(values, i) / 86400000.0));
    case ARROW_DURATION: return number_put_i64(dst, load_i64_at(values, i));
    default: return 0;
    }
}

static bool has_own_text(enum arrow_kind k)
{
    return (k >= ARROW_FLOAT16 && k <= ARROW_FLOAT64) || (k >= ARROW_DATE64 && k <= ARROW_DURATION);
}

grebe_status cast_to_text(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s,
                          const struct ArrowArray *array, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type f;
    struct ArrowSchema large = { 0 };
    struct ArrowArray values = { 0 };
    struct buf bytes = BUF_INIT(c->a);
    void *p = NULL;
    GREBE_TRY(arrow_type_of(s, &f, c->err));
    if (!has_own_text(f.kind)) {
        st = text_cast(c->a, s, to, array, c->o->first_row, out, c->err);
        goto out;
    }
    GREBE_TRY(schema_new(c->a, "U", "", true, 0, &large, c->err));
    GREBE_TRY(array_new(c->a, array->length, 3, 0, &values, c->err));
    GREBE_TRY(cast_validity(c, array, &values));
    GREBE_TRY(array_alloc_buffer(c->a, &values, 1, ((size_t)array->length + 1) * 8, &p, c->err));
    store_offset(p, 8, 0, 0);
    for (int64_t i = 0; i < array->length; i++) {
        char text[96];
        if (!array_is_null(array, i)) {
            GREBE_TRY(buf_put(&bytes, text, put_value(text, sizeof text, &f, array->buffers[1], array->offset + i), c->err));
        }
        store_offset(p, 8, i + 1, (int64_t)bytes.len);
    }
    GREBE_TRY(array_alloc_buffer(c->a, &values, 2, bytes.len, &p, c->err));
    if (bytes.len > 0) {
        memcpy(p, bytes.data, bytes.len);
    }
    st = array_widen(c->a, &large, to, &values, out, c->err);
out:
    array_release(&values);
    schema_release(&large);
    buf_release(&bytes);
    return st;
}

/* ---- from text ---- */

/* Digits, or hexadecimal ones behind 0x, with a minus: as pyarrow reads integers. */
static bool to_integer(const char *s, size_t len, bool is_signed, int64_t *out)
{
    uint64_t u = 0;
    if (len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && len <= 18) {
        for (size_t i = 2; i < len; i++) {
            char ch = ascii_lower(s[i]);
            bool is_letter = ch >= 'a' && ch <= 'f';
            unsigned digit = ch >= '0' && ch <= '9' ? (unsigned)(ch - '0') : is_letter ? (unsigned)(ch - 'a' + 10) : 16;
            if (digit == 16) {
                return false;
            }
            u = u << 4 | digit;
        }
        *out = (int64_t)u;
        return true;
    }
    if (is_signed) {
        return number_parse_i64(s, len, out);
    }
    if (!number_parse_u64(s, len, &u)) {
        return false;
    }
    *out = (int64_t)u;
    return true;
}

static bool is_in_range(enum arrow_kind k, int64_t v)
{
    switch (k) {
    case ARROW_INT8: return v >= INT8_MIN && v <= INT8_MAX;
    case ARROW_INT16: return v >= INT16_MIN && v <= INT16_MAX;
    case ARROW_INT32: return v >= INT32_MIN && v <= INT32_MAX;
    case ARROW_UINT8: return (uint64_t)v <= UINT8_MAX;
    case ARROW_UINT16: return (uint64_t)v <= UINT16_MAX;
    case ARROW_UINT32: return (uint64_t)v <= UINT32_MAX;
    default: return true;
    }
}

static bool store_text(const struct arrow_type *t, const char *s, size_t len, char *values, int64_t i)
{
    int64_t v = 0;
    double wide = 0;
    float single = 0;
    char *at = values + i * t->byte_width;
    switch (t->kind) {
    case ARROW_BOOL:
        if ((len == 4 && ascii_equal_n(s, "true", 4)) || (len == 1 && s[0] == '1')) {
            bit_set((uint8_t *)values, i);
            return true;
        }
        return (len == 5 && ascii_equal_n(s, "false", 5)) || (len == 1 && s[0] == '0');
    case ARROW_FLOAT16:
        if (!number_parse_float(s, len, &single)) {
            return false;
        }
        uint16_t half = half_from_float(single);
        memcpy(at, &half, 2);
        return true;
    case ARROW_FLOAT32:
        if (!number_parse_float(s, len, &single)) {
            return false;
        }
        memcpy(at, &single, 4);
        return true;
    case ARROW_FLOAT64:
        if (!number_parse_double(s, len, &wide)) {
            return false;
        }
        memcpy(at, &wide, 8);
        return true;
    default: break;
    }
    bool is_signed = t->kind >= ARROW_INT8 && t->kind <= ARROW_INT64;
    if (!to_integer(s, len, is_signed, &v) || !is_in_range(t->kind, v)) {
        return false;
    }
    memcpy(at, &v, (size_t)t->byte_width); /* little-endian: the low bytes are the value */
    return true;
}

grebe_status cast_from_text(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s,
                            const struct ArrowArray *array, bool *is_known, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type f, t;
    void *values = NULL;
    GREBE_TRY(arrow_type_of(s, &f, c->err));
    GREBE_TRY(arrow_type_of(to, &t, c->err));
    *is_known = t.kind >= ARROW_BOOL && t.kind <= ARROW_FLOAT64;
    if (!*is_known) {
        return GREBE_OK;
    }
    size_t len = t.kind == ARROW_BOOL ? bitmap_bytes(array->length) : (size_t)array->length * (size_t)t.byte_width;
    GREBE_TRY(array_new(c->a, array->length, 2, 0, out, c->err));
    GREBE_TRY(cast_validity(c, array, out));
    GREBE_TRY(array_alloc_buffer(c->a, out, 1, len, &values, c->err));
    memset(values, 0, len);
    for (int64_t i = 0; i < array->length; i++) {
        if (array_is_null(array, i)) {
            continue;
        }
        struct arrow_bytes b = arrow_bytes_at(array, f.kind, f.byte_width, i);
        if (!store_text(&t, b.p, (size_t)b.len, values, i)) {
            char quoted[80], type[96];
            st = GREBE_FAIL(c->err, GREBE_ESCHEMA, "row %" PRId64 ": \"%s\" is no %s", c->o->first_row + i,
                            error_quote(quoted, sizeof quoted, b.p, (size_t)b.len), type_quote(type, sizeof type, to));
            goto out;
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
