/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/array_cast.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "arrow/arrow_internal.h"
#include "arrow/type_text.h"
#include "base/checked.h"
#include "base/decimal.h"
#include "base/half.h"
#include "base/number.h"

static const double TWO_63 = 9223372036854775808.0, TWO_64 = 18446744073709551616.0;

enum number_form { NUMBER_INT, NUMBER_UINT, NUMBER_REAL, NUMBER_DECIMAL };

/* A value on its way. Bools and all times are NUMBER_INT. */
struct number {
    enum number_form form;
    int64_t i;
    uint64_t u; /* NUMBER_UINT: above INT64_MAX */
    double real;
    struct decimal256 decimal;
};

enum fault { FITS, OUT_OF_RANGE, LOSES_FRACTION, NOT_A_NUMBER };

/* ---- kinds ---- */

static bool is_integer(enum arrow_kind k) { return k >= ARROW_INT8 && k <= ARROW_UINT64; }
static bool is_real(enum arrow_kind k) { return k >= ARROW_FLOAT16 && k <= ARROW_FLOAT64; }
static bool is_decimal(enum arrow_kind k) { return k >= ARROW_DECIMAL32 && k <= ARROW_DECIMAL256; }
static bool is_number(enum arrow_kind k)
{
    return k == ARROW_BOOL || is_integer(k) || is_real(k) || is_decimal(k);
}
static bool is_date(enum arrow_kind k) { return k == ARROW_DATE32 || k == ARROW_DATE64; }
static bool is_time(enum arrow_kind k) { return k == ARROW_TIME32 || k == ARROW_TIME64; }
static bool is_temporal(enum arrow_kind k)
{
    return is_date(k) || is_time(k) || k == ARROW_TIMESTAMP || k == ARROW_DURATION;
}

static bool knows(const struct arrow_type *f, const struct arrow_type *t)
{
    enum arrow_kind a = f->kind, b = t->kind;
    if (f->is_dictionary || t->is_dictionary) {
        return false;
    }
    bool is_raw = (is_integer(a) && is_temporal(b)) || (is_temporal(a) && is_integer(b));
    bool is_same_clock = (is_time(a) && is_time(b)) || (a == ARROW_DURATION && b == ARROW_DURATION);
    bool is_calendar = (is_date(a) || a == ARROW_TIMESTAMP) &&
                       (is_date(b) || b == ARROW_TIMESTAMP || (a == ARROW_TIMESTAMP && is_time(b)));
    return (is_number(a) && is_number(b)) || is_raw || is_same_clock || is_calendar;
}

bool array_cast_knows(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    struct arrow_type f, t;
    return arrow_type_of(from, &f, NULL) == GREBE_OK && arrow_type_of(to, &t, NULL) == GREBE_OK &&
           knows(&f, &t);
}

/* ---- values ---- */

static struct number load(const struct arrow_type *t, const void *values, int64_t i)
{
    struct number n = { NUMBER_INT, 0, 0, 0, { { 0 } } };
    const char *p = values;
    uint16_t half;
    float single;
    switch (t->kind) {
    case ARROW_BOOL: n.i = bit_get(values, i); break;
    case ARROW_FLOAT16:
        memcpy(&half, p + 2 * i, 2);
        n.form = NUMBER_REAL;
        n.real = (double)half_to_float(half);
        break;
    case ARROW_FLOAT32:
        memcpy(&single, p + 4 * i, 4);
        n.form = NUMBER_REAL;
        n.real = (double)single;
        break;
    case ARROW_FLOAT64:
        n.form = NUMBER_REAL;
        memcpy(&n.real, p + 8 * i, 8);
        break;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256:
        n.form = NUMBER_DECIMAL;
        n.decimal = decimal_load(p + (int64_t)t->byte_width * i, t->byte_width);
        break;
    case ARROW_UINT64:
        memcpy(&n.u, p + 8 * i, 8);
        n.form = n.u > INT64_MAX ? NUMBER_UINT : NUMBER_INT;
        n.i = (int64_t)n.u;
        break;
    default:
        n.i = is_integer(t->kind)    ? arrow_load_int(values, t->kind, i)
              : t->byte_width == 4 ? load_i32_at(values, i)
                                   : load_i64_at(values, i);
        break;
    }
    return n;
}

static enum fault to_i64(const struct number *n, int32_t scale, int64_t *out, uint64_t *high)
{
    struct decimal256 whole;
    bool is_range = false;
    *high = 0;
    switch (n->form) {
    case NUMBER_INT: *out = n->i; return FITS;
    case NUMBER_UINT: *high = n->u; return FITS;
    case NUMBER_REAL:
        if (isnan(n->real)) {
            return NOT_A_NUMBER;
        }
        if (!(n->real >= -TWO_63 && n->real < TWO_64)) {
            return OUT_OF_RANGE;
        }
        if (n->real != trunc(n->real)) {
            return LOSES_FRACTION;
        }
        if (n->real >= TWO_63) {
            *high = (uint64_t)n->real;
        } else {
            *out = (int64_t)n->real;
        }
        return FITS;
    case NUMBER_DECIMAL: break;
    }
    if (!decimal_rescale(n->decimal, scale, 0, &whole, &is_range)) {
        return is_range ? OUT_OF_RANGE : LOSES_FRACTION;
    }
    if (decimal_store(&whole, out, 8)) {
        return FITS;
    }
    bool is_u64 = (whole.limbs[1] | whole.limbs[2] | whole.limbs[3]) == 0;
    *high = whole.limbs[0];
    return is_u64 ? FITS : OUT_OF_RANGE;
}

static enum fault store_integer(enum arrow_kind kind, int32_t width, int64_t v, uint64_t high, char *dst)
{
    if (high != 0) {
        if (kind != ARROW_UINT64) {
            return OUT_OF_RANGE;
        }
        memcpy(dst, &high, 8);
        return FITS;
    }
    int bits = 8 * width;
    bool is_unsigned = kind >= ARROW_UINT8 && kind <= ARROW_UINT64;
    bool fits = is_unsigned ? v >= 0 && (bits == 64 || v < INT64_C(1) << bits)
                            : bits == 64 || (v >= -(INT64_C(1) << (bits - 1)) &&
                                             v < INT64_C(1) << (bits - 1));
    memcpy(dst, &v, (size_t)width); /* little-endian hosts: the low bytes */
    return fits ? FITS : OUT_OF_RANGE;
}

static enum fault store_real(const struct arrow_type *f, const struct arrow_type *t,
                             const struct number *n, char *dst)
{
    double v = n->form == NUMBER_REAL      ? n->real
               : n->form == NUMBER_INT     ? (double)n->i
               : n->form == NUMBER_UINT    ? (double)n->u
                                           : decimal_to_double(&n->decimal, f->scale);
    double kept = v;
    if (t->kind == ARROW_FLOAT64) {
        memcpy(dst, &v, 8);
    } else if (t->kind == ARROW_FLOAT32) {
        float single = (float)v;
        memcpy(dst, &single, 4);
        kept = (double)single;
    } else {
        uint16_t half = half_from_float((float)v);
        memcpy(dst, &half, 2);
        kept = (double)half_to_float(half);
    }
    if (isfinite(v) && !isfinite(kept)) {
        return OUT_OF_RANGE;
    }
    bool is_exact = n->form == NUMBER_INT    ? kept < TWO_63 && (int64_t)kept == n->i
                    : n->form == NUMBER_UINT ? kept < TWO_64 && (uint64_t)kept == n->u
                                             : true;
    return is_exact ? FITS : OUT_OF_RANGE;
}

static enum fault store_decimal(const struct arrow_type *f, const struct arrow_type *t,
                                const struct number *n, char *dst)
{
    struct decimal256 v;
    bool is_range = false;
    if (n->form == NUMBER_REAL) {
        if (!isfinite(n->real)) {
            return NOT_A_NUMBER;
        }
        if (!decimal_from_double(n->real, t->scale, &v)) {
            return OUT_OF_RANGE;
        }
    } else {
        struct decimal256 from = n->form == NUMBER_INT    ? decimal_from_i64(n->i)
                                 : n->form == NUMBER_UINT ? decimal_from_u64(n->u)
                                                          : n->decimal;
        int32_t scale = n->form == NUMBER_DECIMAL ? f->scale : 0;
        if (!decimal_rescale(from, scale, t->scale, &v, &is_range)) {
            return is_range ? OUT_OF_RANGE : LOSES_FRACTION;
        }
    }
    return decimal_fits(&v, t->precision) && decimal_store(&v, dst, t->byte_width) ? FITS : OUT_OF_RANGE;
}

/* ---- times ---- */

static const int64_t DAY_S = 86400;

/* Units of the type in one day; DATE32 counts days. */
static int64_t units_per_day(const struct arrow_type *t)
{
    static const int64_t per_second[] = { 1, 1000, 1000000, 1000000000 };
    return t->kind == ARROW_DATE32   ? 1
           : t->kind == ARROW_DATE64 ? DAY_S * 1000
                                     : DAY_S * per_second[t->unit];
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static enum fault convert_time(const struct arrow_type *f, const struct arrow_type *t, int64_t *v)
{
    int64_t from = units_per_day(f), to = units_per_day(t);
    if (is_time(t->kind) && f->kind == ARROW_TIMESTAMP) {
        int64_t rest = *v % from;
        *v = rest < 0 ? rest + from : rest;
    }
    if (is_date(t->kind) && f->kind == ARROW_TIMESTAMP) {
        *v = floor_div(*v, from); /* the day it falls on */
        from = 1;
    }
    if (to >= from) {
        return checked_mul_i64(*v, to / from, v) ? FITS : OUT_OF_RANGE;
    }
    bool is_exact = *v % (from / to) == 0;
    *v /= from / to;
    return is_exact ? FITS : LOSES_FRACTION;
}

/* ---- arrays ---- */

static enum fault cast_one(const struct arrow_type *f, const struct arrow_type *t,
                           struct number *n, char *dst)
{
    int64_t v = 0;
    uint64_t high = 0;
    enum fault fault = FITS;
    if (is_real(t->kind)) {
        return store_real(f, t, n, dst);
    }
    if (is_decimal(t->kind)) {
        return store_decimal(f, t, n, dst);
    }
    if (is_temporal(f->kind) && is_temporal(t->kind)) {
        fault = convert_time(f, t, &n->i);
        v = n->i;
    } else {
        fault = to_i64(n, f->scale, &v, &high);
    }
    if (fault == FITS && is_time(t->kind) && (high != 0 || v < 0 || v >= units_per_day(t))) {
        fault = OUT_OF_RANGE; /* no time of a day */
    }
    return fault != FITS ? fault : store_integer(t->kind, t->byte_width, v, high, dst);
}

static bool to_bool(const struct number *n)
{
    return n->form == NUMBER_REAL      ? n->real != 0
           : n->form == NUMBER_DECIMAL ? !decimal_is_zero(&n->decimal)
           : n->form == NUMBER_UINT    ? true
                                       : n->i != 0;
}

static grebe_status fail_value(const struct arrow_type *f, const struct ArrowSchema *to,
                               const struct number *n, enum fault fault, int64_t row, grebe_error *err)
{
    static const char *const why[] = { "", "does not fit", "has a part that is lost in", "is no value of" };
    char value[NUMBER_TEXT_MAX], type[96];
    if (n->form == NUMBER_REAL || n->form == NUMBER_DECIMAL) {
        double v = n->form == NUMBER_REAL ? n->real : decimal_to_double(&n->decimal, f->scale);
        value[number_put_double(value, v, &number_style_json)] = '\0';
    } else if (n->form == NUMBER_UINT) {
        snprintf(value, sizeof value, "%" PRIu64, n->u);
    } else {
        snprintf(value, sizeof value, "%" PRId64, n->i);
    }
    return GREBE_FAIL(err, GREBE_ESCHEMA, "row %" PRId64 ": %s %s %s", row, value, why[fault],
                      type_quote(type, sizeof type, to));
}

static grebe_status begin(const grebe_allocator *a, const struct arrow_type *f,
                          const struct arrow_type *t, const struct ArrowArray *array,
                          struct ArrowArray *out, void **values, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t n = array->length;
    size_t len = t->kind == ARROW_BOOL ? bitmap_bytes(n) : (size_t)n * (size_t)t->byte_width;
    const uint8_t *bits = arrow_validity(array, f->kind);
    void *p = NULL;
    GREBE_TRY(array_new(a, n, 2, 0, out, err));
    GREBE_TRY(array_alloc_buffer(a, out, 1, len, values, err));
    memset(*values, 0, len);
    if (bits != NULL) {
        GREBE_TRY(array_alloc_buffer(a, out, 0, bitmap_bytes(n), &p, err));
        memset(p, 0, bitmap_bytes(n));
        bitmap_copy(p, 0, bits, array->offset, n);
        out->null_count = n - bitmap_count(p, 0, n);
    }
out:
    return st;
}

grebe_status array_cast(const grebe_allocator *a, const struct ArrowSchema *from,
                        const struct ArrowSchema *to, const struct ArrowArray *array,
                        int64_t first_row, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arrow_type f, t;
    void *values = NULL;
    memset(out, 0, sizeof *out);
    GREBE_TRY(arrow_type_of(from, &f, err));
    GREBE_TRY(arrow_type_of(to, &t, err));
    if (!knows(&f, &t)) {
        char expected[96], found[96];
        return GREBE_FAIL(err, GREBE_ESCHEMA, "no cast from %s to %s",
                          type_quote(found, sizeof found, from),
                          type_quote(expected, sizeof expected, to));
    }
    GREBE_TRY(begin(a, &f, &t, array, out, &values, err));
    for (int64_t i = 0; i < array->length; i++) {
        if (out->null_count != 0 && !bit_get(out->buffers[0], i)) {
            continue;
        }
        struct number n = load(&f, array->buffers[1], array->offset + i);
        if (t.kind == ARROW_BOOL) {
            if (to_bool(&n)) {
                bit_set(values, i);
            }
            continue;
        }
        struct number before = n;
        enum fault fault = cast_one(&f, &t, &n, (char *)values + i * t.byte_width);
        if (fault != FITS) {
            GREBE_TRY(fail_value(&f, to, &before, fault, first_row + i, err));
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
