/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_internal.h"

#include <string.h>

#include "base/calendar.h"
#include "base/half.h"
#include "base/number.h"

/* ---- times ---- */

struct cursor {
    const char *p, *end;
};

/* Exactly n digits. */
static bool take_digits(struct cursor *c, int n, int64_t *out)
{
    int64_t v = 0;
    for (int i = 0; i < n; i++) {
        if (c->p == c->end || *c->p < '0' || *c->p > '9') {
            return false;
        }
        v = v * 10 + (*c->p++ - '0');
    }
    *out = v;
    return true;
}

static bool take_char(struct cursor *c, char ch)
{
    if (c->p < c->end && *c->p == ch) {
        c->p++;
        return true;
    }
    return false;
}

static bool take_date(struct cursor *c, int64_t *days)
{
    static const int lengths[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t y = 0;
    int64_t m = 0;
    int64_t d = 0;
    bool is_negative = take_char(c, '-');
    if (!take_digits(c, 4, &y)) {
        return false;
    }
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9') { /* years beyond 9999 */
        y = y * 10 + (*c->p++ - '0');
        if (y > 999999) {
            return false;
        }
    }
    if (!take_char(c, '-') || !take_digits(c, 2, &m) || !take_char(c, '-') ||
        !take_digits(c, 2, &d)) {
        return false;
    }
    y = is_negative ? -y : y;
    bool is_leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (m < 1 || m > 12 || d < 1 || d > lengths[m - 1] || (m == 2 && d == 29 && !is_leap)) {
        return false;
    }
    *days = calendar_days(y, (int)m, (int)d);
    return true;
}

/* HH:MM[:SS[.fraction]]; nanoseconds and how many digits the fraction has (at most 9). */
static bool take_clock(struct cursor *c, int64_t *seconds, int64_t *ns, int *digits)
{
    int64_t h = 0;
    int64_t m = 0;
    int64_t s = 0;
    *ns = 0;
    *digits = 0;
    if (!take_digits(c, 2, &h) || !take_char(c, ':') || !take_digits(c, 2, &m)) {
        return false;
    }
    if (take_char(c, ':')) {
        if (!take_digits(c, 2, &s)) {
            return false;
        }
        if (take_char(c, '.') || take_char(c, ',')) {
            int64_t scale = 100000000;
            const char *begin = c->p;
            for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++, scale /= 10) {
                if (scale == 0 && *c->p != '0') {
                    return false; /* finer than a nanosecond */
                }
                *ns += (*c->p - '0') * scale;
                *digits = *c->p != '0' ? (int)(c->p - begin) + 1 : *digits;
            }
            if (c->p == begin) {
                return false;
            }
        }
    }
    *seconds = h * 3600 + m * 60 + s;
    return h <= 23 && m <= 59 && s <= 59;
}

static bool take_zone(struct cursor *c, int64_t *offset_seconds)
{
    int64_t h = 0;
    int64_t m = 0;
    *offset_seconds = 0;
    while (take_char(c, ' ')) {
    }
    if (c->p == c->end || take_char(c, 'Z') || take_char(c, 'z')) {
        return c->p == c->end;
    }
    if (c->end - c->p == 3 && memcmp(c->p, "UTC", 3) == 0) {
        c->p += 3;
        return true;
    }
    int64_t sign = *c->p == '-' ? -1 : *c->p == '+' ? 1 : 0;
    c->p++;
    if (sign == 0 || !take_digits(c, 2, &h)) {
        return false;
    }
    if (c->p < c->end) {
        take_char(c, ':');
        if (!take_digits(c, 2, &m)) {
            return false;
        }
    }
    *offset_seconds = sign * (h * 3600 + m * 60);
    return h <= 23 && m <= 59 && c->p == c->end;
}

/* The coarsest unit that holds the fraction. */
static void set_time(struct scalar *out, enum time_kind kind, int64_t seconds, int64_t ns,
                     int digits, bool *is_ok)
{
    int64_t ns_per_unit = digits == 0   ? 1000000000
                          : digits <= 3 ? 1000000
                          : digits <= 6 ? 1000
                                        : 1;
    memset(out, 0, sizeof *out);
    out->domain = D_TIME;
    out->time = (struct time_type){ kind, ZONE_ANY, ns_per_unit };
    int64_t v = 0;
    *is_ok = !__builtin_mul_overflow(seconds, 1000000000 / ns_per_unit, &v) &&
             !__builtin_add_overflow(v, ns / ns_per_unit, &out->i);
}

bool expr_parse_date(const char *s, size_t len, struct scalar *out)
{
    struct cursor c = { s, s + len };
    int64_t days = 0;
    if (!take_date(&c, &days) || c.p != c.end) {
        return false;
    }
    memset(out, 0, sizeof *out);
    out->domain = D_TIME;
    out->i = days;
    out->time = (struct time_type){ TIME_DATE, ZONE_ANY, INT64_C(86400000000000) };
    return true;
}

bool expr_parse_timestamp(const char *s, size_t len, struct scalar *out)
{
    struct cursor c = { s, s + len };
    int64_t days = 0;
    int64_t seconds = 0;
    int64_t ns = 0;
    int64_t offset = 0;
    int digits = 0;
    bool is_ok = false;
    if (!take_date(&c, &days)) {
        return false;
    }
    if (c.p < c.end) {
        if ((!take_char(&c, ' ') && !take_char(&c, 'T')) ||
            !take_clock(&c, &seconds, &ns, &digits) || !take_zone(&c, &offset)) {
            return false;
        }
    }
    set_time(out, TIME_STAMP, days * 86400 + seconds - offset, ns, digits, &is_ok);
    return is_ok;
}

bool expr_parse_time_of_day(const char *s, size_t len, struct scalar *out)
{
    struct cursor c = { s, s + len };
    int64_t seconds = 0;
    int64_t ns = 0;
    int digits = 0;
    bool is_ok = false;
    if (!take_clock(&c, &seconds, &ns, &digits) || c.p != c.end) {
        return false;
    }
    set_time(out, TIME_OF_DAY, seconds, ns, digits, &is_ok);
    return is_ok;
}

/* ---- literals ---- */

static grebe_status no_time(const struct expr *e, const struct expr_node *node, const char *what,
                            grebe_error *err)
{
    char text[64];
    return GREBE_FAIL(err, GREBE_EINVAL, "condition, column %zu: '%s' is no %s",
                      expr_column_of(e, node->at),
                      error_quote(text, sizeof text, node->text, node->len), what);
}

static void set_domain(struct expr_node *node)
{
    node->domain = node->value.domain;
    node->time = node->value.time;
    node->scale = node->value.scale;
}

static bool is_integer_text(const struct expr_node *node)
{
    return memchr(node->text, '.', node->len) == NULL &&
           memchr(node->text, 'e', node->len) == NULL && memchr(node->text, 'E', node->len) == NULL;
}

static void bind_number(struct expr_node *node)
{
    struct scalar *v = &node->value;
    v->domain = D_DOUBLE;
    if (is_integer_text(node)) {
        if (number_parse_i64(node->text, node->len, &v->i)) {
            v->domain = D_INT;
        } else if (number_parse_u64(node->text, node->len, &v->u)) {
            v->domain = D_UINT;
        } else if (decimal_parse(node->text, node->len, &v->decimal, &v->scale)) {
            v->domain = D_DECIMAL; /* larger than any integer column, but exactly */
        }
    }
    number_parse_double(node->text, node->len, &v->d);
}

grebe_status expr_bind_literal(struct expr *e, struct expr_node *node, grebe_error *err)
{
    struct scalar *v = &node->value;
    memset(v, 0, sizeof *v);
    switch (node->literal) {
    case LIT_NULL:
        v->domain = D_NULL;
        v->is_null = true;
        break;
    case LIT_BOOL:
        v->domain = D_BOOL;
        v->boolean = node->boolean;
        break;
    case LIT_NUMBER: bind_number(node); break;
    case LIT_STRING:
    case LIT_BLOB:
        v->domain = D_BYTES;
        v->bytes = (struct arrow_bytes){ node->text, (int64_t)node->len };
        node->is_text = node->literal == LIT_STRING;
        break;
    case LIT_TIMESTAMP:
        if (!expr_parse_timestamp(node->text, node->len, v)) {
            return no_time(e, node, "timestamp", err);
        }
        break;
    case LIT_DATE:
        if (!expr_parse_date(node->text, node->len, v)) {
            return no_time(e, node, "date", err);
        }
        break;
    }
    set_domain(node);
    return GREBE_OK;
}

/* A number with a fraction or exponent, or beyond 64 bits, against what it meets. */
static void adapt_number(struct expr_node *node, const struct expr_node *other)
{
    enum { EXACT_DIGITS = 15 };
    struct scalar *v = &node->value;
    if (other->domain == D_DECIMAL) {
        if (decimal_parse(node->text, node->len, &v->decimal, &v->scale)) {
            v->domain = D_DECIMAL;
        }
    } else if (other->domain == D_DOUBLE) {
        if (v->domain == D_INT && v->i >= -(INT64_C(1) << 53) && v->i <= INT64_C(1) << 53) {
            v->domain = D_DOUBLE;
        } else if (v->domain == D_DOUBLE && other->op == OP_COLUMN) {
            /* A fraction means the nearest value that the column can hold. */
            enum arrow_kind kind = other->leaf_type.kind;
            float f = 0;
            if (kind == ARROW_FLOAT32 || kind == ARROW_FLOAT16) {
                number_parse_float(node->text, node->len, &f);
                if (kind == ARROW_FLOAT16) {
                    f = half_to_float(half_from_float(f));
                }
                v->d = f - f == 0 ? (double)f : v->d; /* not infinite */
            }
        }
    } else if (other->domain == D_UINT && v->domain == D_INT && v->i >= 0) {
        v->domain = D_UINT;
        v->u = (uint64_t)v->i;
    } else if ((other->domain == D_INT || other->domain == D_UINT) && v->domain == D_DOUBLE &&
               node->len > EXACT_DIGITS &&
               decimal_parse(node->text, node->len, &v->decimal, &v->scale)) {
        v->domain = D_DECIMAL;
    }
}

/* A string against a time. */
static grebe_status adapt_string(struct expr *e, struct expr_node *node,
                                 const struct expr_node *other, grebe_error *err)
{
    struct scalar v;
    bool is_time = false;
    const char *what = "date";
    switch (other->time.kind) {
    case TIME_DATE:
        is_time = expr_parse_date(node->text, node->len, &v) ||
                  expr_parse_timestamp(node->text, node->len, &v);
        break;
    case TIME_STAMP:
        what = "timestamp";
        is_time = expr_parse_timestamp(node->text, node->len, &v);
        break;
    case TIME_OF_DAY:
        what = "time of day";
        is_time = expr_parse_time_of_day(node->text, node->len, &v);
        break;
    case TIME_DURATION: return GREBE_OK; /* refused as a comparison of types */
    }
    if (!is_time) {
        return no_time(e, node, what, err);
    }
    node->value = v;
    return GREBE_OK;
}

/* The other's unit where that changes nothing, so that plain integers are compared. */
static void adapt_unit(struct scalar *v, const struct time_type *other)
{
    int64_t from = v->time.ns_per_unit;
    int64_t to = other->ns_per_unit;
    int64_t converted = 0;
    if (from >= to ? !__builtin_mul_overflow(v->i, from / to, &converted)
                   : v->i % (to / from) == 0) {
        v->i = from >= to ? converted : v->i / (to / from);
        v->time.ns_per_unit = to;
    }
}

grebe_status expr_adapt_literal(struct expr *e, struct expr_node **node,
                                const struct expr_node *other, grebe_error *err)
{
    if ((*node)->op != OP_LITERAL) {
        return GREBE_OK;
    }
    struct expr_node *copy = arena_alloc(&e->arena, sizeof *copy);
    if (copy == NULL) {
        return mem_fail(err, sizeof *copy, "a condition");
    }
    *copy = **node;
    *node = copy;
    grebe_status st = GREBE_OK;
    if (copy->literal == LIT_NUMBER) {
        adapt_number(copy, other);
    } else if (copy->literal == LIT_STRING && other->domain == D_TIME) {
        st = adapt_string(e, copy, other, err);
    }
    if (st == GREBE_OK && copy->value.domain == D_TIME && other->domain == D_TIME) {
        adapt_unit(&copy->value, &other->time);
    }
    set_domain(copy);
    return st;
}
