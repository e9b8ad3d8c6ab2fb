/* SPDX-License-Identifier: Apache-2.0 */
/* A constant as the value that a column would hold: what filters of a file are asked for. */
#include "expr/expr_internal.h"

#include <string.h>

/* The whole number that v is; false: none, or beyond 64 bits. */
static bool as_int(const struct scalar *v, int64_t *out)
{
    switch (v->domain) {
    case D_INT: *out = v->i; return true;
    case D_UINT: *out = (int64_t)v->u; return v->u <= INT64_MAX;
    case D_DOUBLE:
        if (!(v->d >= -9223372036854775808.0 && v->d < 9223372036854775808.0)) {
            return false;
        }
        *out = (int64_t)v->d;
        return (double)*out == v->d;
    default: return false;
    }
}

static bool as_uint(const struct scalar *v, uint64_t *out)
{
    int64_t i = 0;
    if (v->domain == D_UINT) {
        *out = v->u;
        return true;
    }
    bool is_whole = as_int(v, &i) && i >= 0;
    *out = (uint64_t)i;
    return is_whole;
}

static bool as_double(const struct scalar *v, double *out)
{
    *out = v->domain == D_DOUBLE ? v->d : v->domain == D_INT ? (double)v->i : (double)v->u;
    bool is_exact = v->domain == D_DOUBLE ||
                    (v->domain == D_INT && v->i <= 1 << 24 && v->i >= -(1 << 24)) ||
                    (v->domain == D_UINT && v->u <= 1 << 24);
    return is_exact && *out == *out;
}

/* In units of the column; a unit divides the other or is divided by it. */
static bool as_time(const struct scalar *v, const struct time_type *t, int64_t *out)
{
    if (v->domain != D_TIME) {
        return false;
    }
    int64_t from = v->time.ns_per_unit, to = t->ns_per_unit;
    if (from >= to) {
        return from % to == 0 && !__builtin_mul_overflow(v->i, from / to, out);
    }
    int64_t by = to / from;
    *out = v->i / by;
    return to % from == 0 && v->i % by == 0;
}

static bool put_int(int64_t v, int32_t width, void *space)
{
    if (width < 8) {
        int64_t half = (int64_t)1 << (8 * width - 1);
        if (v < -half || v >= half) {
            return false;
        }
    }
    memcpy(space, &v, 8); /* little-endian: the low bytes come first */
    return true;
}

static bool put_double(double v, enum arrow_kind kind, void *space)
{
    if (kind == ARROW_FLOAT64) {
        memcpy(space, &v, 8);
        return true;
    }
    float f = (float)v;
    memcpy(space, &f, 4);
    return kind == ARROW_FLOAT32 && (double)f == v;
}

bool scalar_as_stored(const struct scalar *v, const struct expr_node *column, void *space,
                      const void **out, size_t *len)
{
    const struct arrow_type *t = &column->leaf_type;
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    *out = space;
    *len = (size_t)t->byte_width;
    switch (column->domain) {
    case D_INT: return as_int(v, &i) && put_int(i, t->byte_width, space);
    case D_TIME: return as_time(v, &column->time, &i) && put_int(i, t->byte_width, space);
    case D_UINT:
        if (!as_uint(v, &u) || (t->byte_width < 8 && u >> (8 * t->byte_width) != 0)) {
            return false;
        }
        memcpy(space, &u, 8);
        return true;
    case D_DOUBLE: return as_double(v, &d) && put_double(d, t->kind, space);
    case D_BYTES:
        *out = v->bytes.p;
        *len = (size_t)v->bytes.len;
        return v->domain == D_BYTES && v->bytes.p != NULL;
    default: return false;
    }
}
