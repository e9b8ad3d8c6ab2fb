/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_internal.h"

#include <string.h>

#include "base/utf8.h"

static bool is_number(enum domain d)
{
    return d == D_INT || d == D_UINT || d == D_DOUBLE || d == D_DECIMAL;
}

static bool is_calendar(const struct time_type *t)
{
    return t->kind == TIME_DATE || t->kind == TIME_STAMP;
}

bool expr_comparable(const struct expr_node *x, const struct expr_node *y)
{
    if (x->domain == D_NULL || y->domain == D_NULL) {
        return true;
    }
    if (is_number(x->domain) || is_number(y->domain)) {
        return is_number(x->domain) && is_number(y->domain);
    }
    if (x->domain != y->domain || x->domain == D_OTHER) {
        return false;
    }
    if (x->domain == D_BYTES) {
        /* text and bytes do not mix, but a string literal may stand for bytes */
        return x->is_text == y->is_text || (x->op == OP_LITERAL && x->is_text) ||
               (y->op == OP_LITERAL && y->is_text);
    }
    if (x->domain == D_TIME) {
        bool is_same_kind = x->time.kind == y->time.kind ||
                            (is_calendar(&x->time) && is_calendar(&y->time));
        bool both_stamps = x->time.kind == TIME_STAMP && y->time.kind == TIME_STAMP;
        return is_same_kind && (!both_stamps || x->time.zone == y->time.zone ||
                                x->time.zone == ZONE_ANY || y->time.zone == ZONE_ANY);
    }
    return true;
}

static int order_i64(int64_t x, int64_t y) { return x < y ? -1 : x > y; }
static int order_u64(uint64_t x, uint64_t y) { return x < y ? -1 : x > y; }

static int order_double(double x, double y)
{
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : SCALAR_UNORDERED;
}

/* Exactly: no integer is rounded to a double. */
static int order_i64_double(int64_t x, double y)
{
    if (y != y) {
        return SCALAR_UNORDERED;
    }
    if (y >= 9223372036854775808.0) {
        return -1;
    }
    if (y < -9223372036854775808.0) {
        return 1;
    }
    int64_t whole = (int64_t)y; /* towards zero */
    double rest = y - (double)whole;
    return x != whole ? order_i64(x, whole) : rest > 0 ? -1 : rest < 0;
}

static int order_u64_double(uint64_t x, double y)
{
    if (y != y) {
        return SCALAR_UNORDERED;
    }
    if (y >= 18446744073709551616.0) {
        return -1;
    }
    if (y < 0) {
        return 1;
    }
    uint64_t whole = (uint64_t)y;
    return x != whole ? order_u64(x, whole) : y > (double)whole ? -1 : 0;
}

static int reversed(int c) { return c == SCALAR_UNORDERED ? c : -c; }

/* v units of `factor` finer units against finer ones. */
static int order_scaled(int64_t coarse, int64_t factor, int64_t fine)
{
    int64_t v = 0;
    if (__builtin_mul_overflow(coarse, factor, &v)) {
        return coarse < 0 ? -1 : 1;
    }
    return order_i64(v, fine);
}

static int order_times(const struct scalar *x, const struct scalar *y)
{
    int64_t ux = x->time.ns_per_unit;
    int64_t uy = y->time.ns_per_unit;
    if (ux == uy) {
        return order_i64(x->i, y->i);
    }
    return ux > uy ? order_scaled(x->i, ux / uy, y->i) : -order_scaled(y->i, uy / ux, x->i);
}

int bytes_compare(struct arrow_bytes x, struct arrow_bytes y)
{
    size_t n = (size_t)(x.len < y.len ? x.len : y.len);
    int c = n > 0 ? memcmp(x.p, y.p, n) : 0;
    return c != 0 ? (c < 0 ? -1 : 1) : order_i64(x.len, y.len);
}

static struct decimal256 to_decimal(const struct scalar *v, int32_t *scale)
{
    *scale = v->domain == D_DECIMAL ? v->scale : 0;
    return v->domain == D_INT    ? decimal_from_i64(v->i)
           : v->domain == D_UINT ? decimal_from_u64(v->u)
                                 : v->decimal;
}

static int order_numbers(const struct scalar *x, const struct scalar *y)
{
    if (x->domain == D_DECIMAL || y->domain == D_DECIMAL) {
        if (x->domain == D_DOUBLE) {
            return order_double(x->d, decimal_to_double(&y->decimal, y->scale));
        }
        if (y->domain == D_DOUBLE) {
            return order_double(decimal_to_double(&x->decimal, x->scale), y->d);
        }
        int32_t x_scale = 0;
        int32_t y_scale = 0;
        struct decimal256 dx = to_decimal(x, &x_scale);
        struct decimal256 dy = to_decimal(y, &y_scale);
        return decimal_compare(dx, x_scale, dy, y_scale);
    }
    if (x->domain == D_DOUBLE) {
        return y->domain == D_DOUBLE ? order_double(x->d, y->d)
               : y->domain == D_INT  ? reversed(order_i64_double(y->i, x->d))
                                     : reversed(order_u64_double(y->u, x->d));
    }
    if (y->domain == D_DOUBLE) {
        return x->domain == D_INT ? order_i64_double(x->i, y->d) : order_u64_double(x->u, y->d);
    }
    if (x->domain == D_INT) {
        return y->domain == D_INT ? order_i64(x->i, y->i)
               : x->i < 0         ? -1
                                  : order_u64((uint64_t)x->i, y->u);
    }
    return y->domain == D_UINT ? order_u64(x->u, y->u)
           : y->i < 0          ? 1
                               : order_u64(x->u, (uint64_t)y->i);
}

int scalar_compare(const struct scalar *x, const struct scalar *y)
{
    switch (x->domain) {
    case D_BOOL: return x->boolean - y->boolean;
    case D_BYTES: return bytes_compare(x->bytes, y->bytes);
    case D_TIME: return order_times(x, y);
    default: return order_numbers(x, y);
    }
}

bool bytes_contain(struct arrow_bytes text, struct arrow_bytes part)
{
    const char *p = text.p;
    const char *end = text.p + text.len;
    if (part.len == 0) {
        return true;
    }
    while (end - p >= part.len) {
        p = memchr(p, part.p[0], (size_t)(end - p - part.len + 1));
        if (p == NULL) {
            return false;
        }
        if (memcmp(p, part.p, (size_t)part.len) == 0) {
            return true;
        }
        p++;
    }
    return false;
}

/* ---- like ---- */

static int64_t char_len(const char *p, int64_t len)
{
    size_t n = utf8_char_len(p, (size_t)len);
    return n > 0 ? (int64_t)n : 1;
}

/*
 * Greedy with one place to go back to: after a '%' the rest is tried at each character, and a
 * later '%' makes the earlier one final. At most |text| * |pattern| steps.
 */
bool expr_like(struct arrow_bytes text, struct arrow_bytes pattern, int escape)
{
    int64_t t = 0;
    int64_t p = 0;
    int64_t star_p = -1;
    int64_t star_t = 0;
    while (t < text.len) {
        bool is_match = false;
        if (p < pattern.len) {
            char c = pattern.p[p];
            if ((unsigned char)c == escape && p + 1 < pattern.len) {
                is_match = text.p[t] == pattern.p[p + 1];
                p += is_match ? 2 : 0;
                t += is_match;
            } else if (c == '%') {
                star_p = ++p;
                star_t = t;
                continue;
            } else if (c == '_') {
                is_match = true;
                p++;
                t += char_len(text.p + t, text.len - t);
            } else {
                is_match = c == text.p[t];
                p += is_match;
                t += is_match;
            }
        }
        if (!is_match) {
            if (star_p < 0) {
                return false;
            }
            star_t += char_len(text.p + star_t, text.len - star_t);
            t = star_t;
            p = star_p;
        }
    }
    while (p < pattern.len && pattern.p[p] == '%') {
        p++;
    }
    return p == pattern.len;
}
