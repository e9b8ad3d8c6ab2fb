/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_eval.h"

#include <math.h>

#include "base/utf8.h"

void eval_take_validity(const struct eval *ev, const struct expr_node *node,
                        const struct expr_node *kid)
{
    struct vec *v = vec_of(ev, node);
    const struct vec *k = vec_of(ev, kid);
    if (k->valid == NULL) {
        return;
    }
    if (v->valid == NULL) {
        memcpy(v->valid_bytes, k->valid, (size_t)ev->n);
    } else {
        for (int64_t i = 0; i < ev->n; i++) {
            v->valid_bytes[i] &= k->valid[i];
        }
    }
    v->valid = v->valid_bytes;
}

/* No row may be read as valid where the domain is null. */
static bool all_null(const struct eval *ev, const struct expr_node *node)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        if (node->kids[i]->domain == D_NULL) {
            struct vec *v = vec_of(ev, node);
            memset(v->valid_bytes, 0, (size_t)ev->n);
            v->valid = v->valid_bytes;
            return true;
        }
    }
    return false;
}

static bool is_valid(const struct vec *v, int64_t i) { return v->valid == NULL || v->valid[i]; }

static void set_null(const struct eval *ev, struct vec *v, int64_t i)
{
    if (v->valid == NULL) {
        memset(v->valid_bytes, 1, (size_t)ev->n);
        v->valid = v->valid_bytes;
    }
    v->valid_bytes[i] = 0;
}

static grebe_status overflow(const struct eval *ev, const struct expr_node *node, int64_t i)
{
    return GREBE_FAIL(ev->err, GREBE_EINVAL,
                      "condition, column %zu: row %lld: the result does not fit 64 bits",
                      expr_column_of(ev->e, node->at), (long long)(ev->begin + i));
}

static double double_at(const struct vec *v, const struct expr_node *node, int64_t i)
{
    switch (node->domain) {
    case D_INT: return (double)((const int64_t *)v->data)[i];
    case D_UINT: return (double)((const uint64_t *)v->data)[i];
    case D_DECIMAL: return decimal_to_double(&((const struct decimal256 *)v->data)[i], node->scale);
    default: return ((const double *)v->data)[i];
    }
}

static void arith_doubles(const struct eval *ev, const struct expr_node *node)
{
    const struct vec *x = vec_of(ev, node->kids[0]);
    const struct vec *y = vec_of(ev, node->kids[1]);
    struct vec *v = vec_of(ev, node);
    double *dst = v->own;
    for (int64_t i = 0; i < ev->n; i++) {
        dst[i] = 0;
        if (!is_valid(v, i)) {
            continue;
        }
        double a = double_at(x, node->kids[0], i);
        double b = double_at(y, node->kids[1], i);
        switch (node->sub) {
        case '+': dst[i] = a + b; break;
        case '-': dst[i] = a - b; break;
        case '*': dst[i] = a * b; break;
        case '/': dst[i] = a / b; break;
        default: dst[i] = fmod(a, b); break;
        }
    }
}

/* x op y with an exact result in *out; false: it does not fit. A type-generic macro, as operands
 * are signed or not in any mixture. */
#define COMBINE(op, x, y, out)                                        \
    ((op) == '+'   ? __builtin_add_overflow((x), (y), (out))          \
     : (op) == '-' ? __builtin_sub_overflow((x), (y), (out))          \
                   : __builtin_mul_overflow((x), (y), (out)))

/* The remainder has the sign of x; magnitudes, so that no mixture of signs overflows. */
static bool remainder_of(uint64_t x, bool x_negative, uint64_t y, bool to_unsigned, void *out)
{
    uint64_t r = x % y;
    int64_t v = 0;
    if (to_unsigned) {
        memcpy(out, &r, sizeof r);
        return true;
    }
    if (r > INT64_MAX) {
        return false;
    }
    v = x_negative ? -(int64_t)r : (int64_t)r;
    memcpy(out, &v, sizeof v);
    return true;
}

static uint64_t magnitude(const struct vec *v, enum domain d, int64_t i, bool *is_negative)
{
    if (d == D_UINT) {
        *is_negative = false;
        return ((const uint64_t *)v->data)[i];
    }
    int64_t x = ((const int64_t *)v->data)[i];
    *is_negative = x < 0;
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static bool combine_row(const struct expr_node *node, const struct vec *x, const struct vec *y,
                        int64_t i, void *out)
{
    enum domain dx = node->kids[0]->domain;
    enum domain dy = node->kids[1]->domain;
    int64_t *to_signed = out;
    uint64_t *to_unsigned = out;
    bool is_unsigned = node->domain == D_UINT;
    int64_t xi = ((const int64_t *)x->data)[i];
    int64_t yi = ((const int64_t *)y->data)[i];
    uint64_t xu = (uint64_t)xi;
    uint64_t yu = (uint64_t)yi;
    int op = node->sub;
    if (is_unsigned) {
        return !COMBINE(op, xu, yu, to_unsigned);
    }
    if (dx == D_UINT) {
        return dy == D_UINT ? !COMBINE(op, xu, yu, to_signed) : !COMBINE(op, xu, yi, to_signed);
    }
    return dy == D_UINT ? !COMBINE(op, xi, yu, to_signed) : !COMBINE(op, xi, yi, to_signed);
}

static grebe_status arith_integers(const struct eval *ev, const struct expr_node *node)
{
    const struct vec *x = vec_of(ev, node->kids[0]);
    const struct vec *y = vec_of(ev, node->kids[1]);
    struct vec *v = vec_of(ev, node);
    char *dst = v->own;
    for (int64_t i = 0; i < ev->n; i++, dst += 8) {
        bool is_fit = true;
        memset(dst, 0, 8);
        if (!is_valid(v, i)) {
            continue;
        }
        if (node->sub == '%') {
            bool x_negative = false;
            bool y_negative = false;
            uint64_t a = magnitude(x, node->kids[0]->domain, i, &x_negative);
            uint64_t b = magnitude(y, node->kids[1]->domain, i, &y_negative);
            if (b == 0) {
                set_null(ev, v, i); /* as DuckDB and SQLite have it */
                continue;
            }
            is_fit = remainder_of(a, x_negative, b, node->domain == D_UINT, dst);
        } else {
            is_fit = combine_row(node, x, y, i, dst);
        }
        if (!is_fit) {
            return overflow(ev, node, i);
        }
    }
    return GREBE_OK;
}

/* -x, or |x| when only_negative */
static grebe_status negate(const struct eval *ev, const struct expr_node *node, bool only_negative)
{
    const struct expr_node *kid = node->kids[0];
    const struct vec *x = vec_of(ev, kid);
    struct vec *v = vec_of(ev, node);
    for (int64_t i = 0; i < ev->n; i++) {
        bool is_live = is_valid(v, i);
        if (node->domain == D_DOUBLE) {
            double d = double_at(x, kid, i);
            ((double *)v->own)[i] = only_negative ? fabs(d) : -d;
        } else if (node->domain == D_DECIMAL) {
            struct decimal256 d = ((const struct decimal256 *)x->data)[i];
            bool flip = !only_negative || decimal_is_negative(&d);
            ((struct decimal256 *)v->own)[i] = flip ? decimal_negate(d) : d;
        } else if (kid->domain == D_UINT) {
            uint64_t u = ((const uint64_t *)x->data)[i];
            ((uint64_t *)v->own)[i] = only_negative ? u : 0 - u;
            if (is_live && !only_negative && u > (uint64_t)INT64_MAX + 1) {
                return overflow(ev, node, i);
            }
        } else {
            int64_t n = ((const int64_t *)x->data)[i];
            bool flip = !only_negative || n < 0;
            ((int64_t *)v->own)[i] = flip ? (int64_t)(0 - (uint64_t)n) : n;
            if (is_live && flip && n == INT64_MIN) {
                return overflow(ev, node, i);
            }
        }
    }
    return GREBE_OK;
}

grebe_status eval_arith(struct eval *ev, const struct expr_node *node)
{
    vec_of(ev, node)->valid = NULL;
    if (all_null(ev, node)) {
        return GREBE_OK;
    }
    for (size_t i = 0; i < node->n_kids; i++) {
        eval_take_validity(ev, node, node->kids[i]);
    }
    if (node->op == OP_NEGATE) {
        return negate(ev, node, false);
    }
    if (node->domain == D_DOUBLE) {
        arith_doubles(ev, node);
        return GREBE_OK;
    }
    return arith_integers(ev, node);
}

/* ---- functions ---- */

static int64_t count_chars(struct arrow_bytes b)
{
    int64_t n = 0;
    for (int64_t i = 0; i < b.len; i++) {
        n += ((unsigned char)b.p[i] & 0xc0) != 0x80;
    }
    return n;
}

static void lengths(const struct eval *ev, const struct expr_node *node)
{
    const struct expr_node *kid = node->kids[0];
    const struct vec *x = vec_of(ev, kid);
    struct vec *v = vec_of(ev, node);
    int64_t *dst = v->own;
    if (kid->domain == D_OTHER) {
        memcpy(dst, x->data, (size_t)ev->n * sizeof *dst);
        return;
    }
    const struct arrow_bytes *src = x->data;
    for (int64_t i = 0; i < ev->n; i++) {
        dst[i] = !is_valid(v, i) ? 0 : kid->is_text ? count_chars(src[i]) : src[i].len;
    }
}

/* ASCII letters only: docs/format/expr.md. */
static grebe_status change_case(const struct eval *ev, const struct expr_node *node)
{
    const struct arrow_bytes *src = vec_of(ev, node->kids[0])->data;
    struct vec *v = vec_of(ev, node);
    struct arrow_bytes *dst = v->own;
    char first = node->sub == FN_LOWER ? 'A' : 'a';
    size_t total = 0;
    for (int64_t i = 0; i < ev->n; i++) {
        total += is_valid(v, i) ? (size_t)src[i].len : 0;
    }
    if (total > v->text_capacity) {
        char *text = mem_resize(ev->e->a, v->text, v->text_capacity, total);
        if (text == NULL) {
            return mem_fail(ev->err, total, "text");
        }
        v->text = text;
        v->text_capacity = total;
    }
    char *p = v->text;
    for (int64_t i = 0; i < ev->n; i++) {
        dst[i] = (struct arrow_bytes){ "", 0 };
        if (!is_valid(v, i) || src[i].len == 0) {
            continue;
        }
        dst[i] = (struct arrow_bytes){ p, src[i].len };
        for (int64_t k = 0; k < src[i].len; k++) {
            char c = src[i].p[k];
            *p++ = c >= first && c < first + 26 ? (char)(c ^ 0x20) : c;
        }
    }
    return GREBE_OK;
}

static void text_tests(const struct eval *ev, const struct expr_node *node)
{
    const struct vec *x = vec_of(ev, node->kids[0]);
    const struct vec *y = vec_of(ev, node->kids[1]);
    const struct arrow_bytes *text = x->data;
    const struct arrow_bytes *part = y->data;
    uint8_t *dst = vec_of(ev, node)->own;
    for (int64_t i = 0; i < ev->n; i++) {
        if (!is_valid(x, i) || !is_valid(y, i)) {
            dst[i] = TRI_NULL;
            continue;
        }
        struct arrow_bytes t = text[i];
        struct arrow_bytes p = part[i];
        bool is_true = false;
        if (node->sub == FN_CONTAINS) {
            is_true = bytes_contain(t, p);
        } else if (t.len >= p.len) {
            const char *from = node->sub == FN_STARTS_WITH ? t.p : t.p + (t.len - p.len);
            is_true = p.len == 0 || memcmp(from, p.p, (size_t)p.len) == 0;
        }
        dst[i] = is_true ? TRI_TRUE : TRI_FALSE;
    }
}

static void nan_tests(const struct eval *ev, const struct expr_node *node)
{
    const struct expr_node *kid = node->kids[0];
    const struct vec *x = vec_of(ev, kid);
    uint8_t *dst = vec_of(ev, node)->own;
    for (int64_t i = 0; i < ev->n; i++) {
        double d = kid->domain == D_DOUBLE && is_valid(x, i) ? ((const double *)x->data)[i] : 0;
        dst[i] = !is_valid(x, i) ? TRI_NULL : d != d ? TRI_TRUE : TRI_FALSE;
    }
}

grebe_status eval_call(struct eval *ev, const struct expr_node *node)
{
    struct vec *v = vec_of(ev, node);
    v->valid = NULL;
    if (all_null(ev, node)) {
        if (node->domain == D_BOOL) {
            memset(v->own, TRI_NULL, (size_t)ev->n);
            v->valid = NULL;
        }
        return GREBE_OK;
    }
    if (node->domain != D_BOOL) {
        eval_take_validity(ev, node, node->kids[0]);
    }
    switch ((enum expr_function)node->sub) {
    case FN_IS_NAN: nan_tests(ev, node); break;
    case FN_LENGTH: lengths(ev, node); break;
    case FN_LOWER:
    case FN_UPPER: return change_case(ev, node);
    case FN_ABS: return negate(ev, node, true);
    case FN_STARTS_WITH:
    case FN_ENDS_WITH:
    case FN_CONTAINS: text_tests(ev, node); break;
    }
    return GREBE_OK;
}
