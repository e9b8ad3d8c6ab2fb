/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_internal.h"

#include <assert.h>

#include "base/half.h"

/*
 * Each condition gets the set of outcomes that the rows of a chunk may have. The set may be too
 * large, never too small: what is unknown is possible.
 */
struct outcomes {
    bool can_true, can_false, can_null;
};

static const struct outcomes anything = { true, true, true };

/* Bounds of a column, read. */
struct interval {
    bool is_known; /* the column has bounds at all */
    bool has_low, has_high;
    struct scalar low, high; /* every value that is no null and no NaN lies between */
    bool can_null, only_null;
    bool can_nan;
};

struct prune {
    const struct expr *e;
    expr_bounds_fn bounds;
    expr_contains_fn contains; /* NULL: bounds alone */
    void *arg;
    grebe_error *err;
};

/* A bound as a value of the column; false: of another length than it should have, or NaN. */
static bool read_bound(const struct expr_node *column, const void *p, size_t len,
                       struct scalar *out)
{
    const struct arrow_type *t = &column->leaf_type;
    memset(out, 0, sizeof *out);
    out->domain = column->domain;
    out->time = column->time;
    out->scale = column->scale;
    if (column->domain == D_BYTES) {
        out->bytes = (struct arrow_bytes){ len > 0 ? p : "", (int64_t)len };
        return true;
    }
    size_t width = t->kind == ARROW_BOOL ? 1 : (size_t)t->byte_width;
    if (p == NULL || len != width) {
        return false;
    }
    float f = 0;
    uint16_t h = 0;
    switch (column->domain) {
    case D_BOOL: out->boolean = *(const unsigned char *)p != 0; return true;
    case D_UINT: memcpy(&out->u, p, 8); return true;
    case D_DECIMAL: out->decimal = decimal_load(p, t->byte_width); return true;
    case D_INT: out->i = arrow_load_int(p, t->kind, 0); return true;
    case D_TIME: out->i = width == 4 ? load_i32_at(p, 0) : load_i64_at(p, 0); return true;
    case D_DOUBLE:
        if (t->kind == ARROW_FLOAT64) {
            memcpy(&out->d, p, 8);
        } else if (t->kind == ARROW_FLOAT32) {
            memcpy(&f, p, 4);
            out->d = (double)f;
        } else {
            memcpy(&h, p, 2);
            out->d = (double)half_to_float(h);
        }
        return out->d == out->d;
    default: return false;
    }
}

/* Only whole top-level columns have bounds. */
static grebe_status interval_of(const struct prune *pr, const struct expr_node *node,
                                struct interval *out)
{
    struct column_bounds b;
    memset(out, 0, sizeof *out);
    out->can_null = out->can_nan = true;
    if (node->op != OP_COLUMN || node->first_step != node->n_steps || node->domain == D_OTHER) {
        return GREBE_OK;
    }
    memset(&b, 0, sizeof b);
    grebe_status st = pr->bounds(pr->arg, (size_t)pr->e->positions[node->column], &b, pr->err);
    if (st != GREBE_OK) {
        return st;
    }
    /* A null inside a dictionary or a run is no null of the column's bitmap. */
    const struct ArrowSchema *field = pr->e->schema.children[node->column];
    bool is_plain = field == node->leaf;
    out->is_known = true;
    out->has_low = b.has_min && read_bound(node, b.min, b.min_len, &out->low);
    out->has_high = b.has_max && read_bound(node, b.max, b.max_len, &out->high);
    if (is_plain && b.has_null_count) {
        out->can_null = b.null_count != 0;
        out->only_null = b.n_values > 0 && b.null_count >= b.n_values;
    }
    out->can_nan = node->domain == D_DOUBLE && !(b.has_nan_count && b.nan_count == 0);
    return GREBE_OK;
}

static struct outcomes outcome_not(struct outcomes x)
{
    return (struct outcomes){ x.can_false, x.can_true, x.can_null };
}

/* Column op constant over the values of the interval. */
static struct outcomes compare_interval(const struct interval *v, enum compare_op op,
                                        const struct scalar *c)
{
    struct outcomes r = { false, false, v->can_null || v->only_null };
    if (v->only_null) {
        return r;
    }
    if (op == CMP_NE) {
        struct outcomes eq = compare_interval(v, CMP_EQ, c);
        return outcome_not(eq); /* NaN too: not equal is true where equal is false */
    }
    bool is_c_nan = c->domain == D_DOUBLE && c->d != c->d;
    if (v->can_nan || is_c_nan) {
        r.can_false = true;
    }
    if (is_c_nan) {
        return r;
    }
    int low = v->has_low ? scalar_compare(&v->low, c) : -1;   /* low against c */
    int high = v->has_high ? scalar_compare(&v->high, c) : 1; /* high against c */
    if (low == SCALAR_UNORDERED || high == SCALAR_UNORDERED) {
        return (struct outcomes){ true, true, r.can_null };
    }
    switch (op) {
    case CMP_LT:
        r.can_true = low < 0;
        r.can_false = r.can_false || high >= 0;
        break;
    case CMP_LE:
        r.can_true = low <= 0;
        r.can_false = r.can_false || high > 0;
        break;
    case CMP_GT:
        r.can_true = high > 0;
        r.can_false = r.can_false || low <= 0;
        break;
    case CMP_GE:
        r.can_true = high >= 0;
        r.can_false = r.can_false || low < 0;
        break;
    default:
        r.can_true = low <= 0 && high >= 0;
        r.can_false = r.can_false || low != 0 || high != 0;
        break;
    }
    return r;
}

static enum compare_op mirrored(enum compare_op op)
{
    switch (op) {
    case CMP_LT: return CMP_GT;
    case CMP_LE: return CMP_GE;
    case CMP_GT: return CMP_LT;
    case CMP_GE: return CMP_LE;
    default: return op;
    }
}

/* Whether the column may hold the constant, as filters of the file tell. */
static grebe_status ask_contains(const struct prune *pr, const struct expr_node *column,
                                 const struct scalar *c, bool *may)
{
    unsigned char space[8];
    const void *value = NULL;
    size_t len = 0;
    *may = true;
    bool is_plain = pr->e->schema.children[column->column] == column->leaf;
    if (pr->contains == NULL || !is_plain || !scalar_as_stored(c, column, space, &value, &len)) {
        return GREBE_OK;
    }
    return pr->contains(pr->arg, (size_t)pr->e->positions[column->column], value, len, may, pr->err);
}

static grebe_status prune_compare(const struct prune *pr, const struct expr_node *x,
                                  const struct expr_node *y, enum compare_op op,
                                  struct outcomes *out)
{
    struct interval v;
    *out = anything;
    if (x->op == OP_LITERAL) {
        const struct expr_node *swap = x;
        x = y;
        y = swap;
        op = mirrored(op);
    }
    if (y->op != OP_LITERAL) {
        return GREBE_OK;
    }
    if (y->domain == D_NULL || x->domain == D_NULL) {
        *out = (struct outcomes){ false, false, true };
        return GREBE_OK;
    }
    grebe_status st = interval_of(pr, x, &v);
    if (st == GREBE_OK && v.is_known) {
        *out = compare_interval(&v, op, &y->value);
        bool may = true;
        if ((op == CMP_EQ && out->can_true) || (op == CMP_NE && out->can_false)) {
            st = ask_contains(pr, x, &y->value, &may);
        }
        out->can_true = out->can_true && (may || op != CMP_EQ);
        out->can_false = out->can_false && (may || op != CMP_NE);
    }
    return st;
}

static struct outcomes outcome_and(struct outcomes x, struct outcomes y)
{
    return (struct outcomes){ x.can_true && y.can_true, x.can_false || y.can_false,
                              x.can_null || y.can_null };
}

static struct outcomes outcome_or(struct outcomes x, struct outcomes y)
{
    return outcome_not(outcome_and(outcome_not(x), outcome_not(y)));
}

static grebe_status prune_list(const struct prune *pr, const struct expr_node *node,
                               struct outcomes *out)
{
    bool is_in = node->op == OP_IN;
    *out = (struct outcomes){ !is_in, is_in, false };
    for (size_t k = 1; k < node->n_kids; k++) {
        struct outcomes one;
        enum compare_op op = is_in ? CMP_EQ : k == 1 ? CMP_GE : CMP_LE;
        grebe_status st = prune_compare(pr, node->kids[0], node->kids[k], op, &one);
        if (st != GREBE_OK) {
            return st;
        }
        *out = k == 1 ? one : is_in ? outcome_or(*out, one) : outcome_and(*out, one);
    }
    return GREBE_OK;
}

/* Text that begins with `prefix`; `rest_matters`: more is asked than the prefix. */
static grebe_status prune_prefix(const struct prune *pr, const struct expr_node *column,
                                 struct arrow_bytes prefix, bool rest_matters,
                                 struct outcomes *out)
{
    struct interval v;
    *out = anything;
    grebe_status st = interval_of(pr, column, &v);
    if (st != GREBE_OK || !v.is_known) {
        return st;
    }
    if (v.only_null) {
        *out = (struct outcomes){ false, false, true };
        return GREBE_OK;
    }
    out->can_null = v.can_null;
    bool low_fits = false;
    bool high_fits = false;
    if (v.has_low) {
        struct arrow_bytes head = v.low.bytes;
        head.len = head.len > prefix.len ? prefix.len : head.len;
        int c = bytes_compare(head, prefix);
        out->can_true = out->can_true && c <= 0;
        low_fits = c == 0;
    }
    if (v.has_high) {
        struct arrow_bytes head = v.high.bytes;
        head.len = head.len > prefix.len ? prefix.len : head.len;
        out->can_true = out->can_true && bytes_compare(v.high.bytes, prefix) >= 0;
        high_fits = bytes_compare(head, prefix) == 0;
    }
    out->can_false = rest_matters || !low_fits || !high_fits;
    return GREBE_OK;
}

static grebe_status prune_like(const struct prune *pr, const struct expr_node *node,
                               struct outcomes *out)
{
    const struct expr_node *pattern = node->kids[1];
    *out = anything;
    if (node->kids[0]->domain == D_NULL || pattern->domain == D_NULL) {
        *out = (struct outcomes){ false, false, true };
        return GREBE_OK;
    }
    if (pattern->op != OP_LITERAL) {
        return GREBE_OK;
    }
    struct arrow_bytes prefix = { pattern->text, 0 };
    int escape = node->len == 1 ? (unsigned char)node->text[0] : -1;
    int64_t len = (int64_t)pattern->len;
    while (prefix.len < len && pattern->text[prefix.len] != '%' &&
           pattern->text[prefix.len] != '_' &&
           (unsigned char)pattern->text[prefix.len] != escape) {
        prefix.len++;
    }
    bool only_prefix = prefix.len == len - 1 && pattern->text[prefix.len] == '%' &&
                       escape != '%';
    return prune_prefix(pr, node->kids[0], prefix, !only_prefix, out);
}

static grebe_status prune_call(const struct prune *pr, const struct expr_node *node,
                               struct outcomes *out)
{
    struct interval v;
    *out = anything;
    if (node->sub == FN_STARTS_WITH && node->kids[1]->op == OP_LITERAL &&
        node->kids[1]->domain == D_BYTES && node->kids[0]->domain == D_BYTES) {
        return prune_prefix(pr, node->kids[0], node->kids[1]->value.bytes, false, out);
    }
    if (node->sub == FN_IS_NAN) {
        grebe_status st = interval_of(pr, node->kids[0], &v);
        if (st == GREBE_OK && v.is_known) {
            *out = (struct outcomes){ v.can_nan && !v.only_null, !v.only_null, v.can_null };
        }
        return st;
    }
    return GREBE_OK;
}

/* A column of booleans as a condition. */
static grebe_status prune_flag(const struct prune *pr, const struct expr_node *node,
                               struct outcomes *out)
{
    struct interval v;
    *out = anything;
    if (node->domain == D_NULL) {
        *out = (struct outcomes){ false, false, true };
        return GREBE_OK;
    }
    grebe_status st = interval_of(pr, node, &v);
    if (st == GREBE_OK && v.is_known) {
        struct scalar is_true = { .domain = D_BOOL, .boolean = true };
        *out = compare_interval(&v, CMP_EQ, &is_true);
    }
    return st;
}

static grebe_status prune_is_null(const struct prune *pr, const struct expr_node *kid,
                                  struct outcomes *out)
{
    struct interval v;
    *out = (struct outcomes){ true, true, false };
    if (kid->op == OP_LITERAL || kid->domain == D_NULL) {
        bool is_null = kid->domain == D_NULL;
        *out = (struct outcomes){ is_null, !is_null, false };
        return GREBE_OK;
    }
    grebe_status st = interval_of(pr, kid, &v);
    if (st == GREBE_OK && v.is_known) {
        *out = (struct outcomes){ v.can_null, !v.only_null, false };
    }
    return st;
}

static grebe_status prune_node(const struct prune *pr, const struct expr_node *node,
                               struct outcomes *out);

static grebe_status prune_logic(const struct prune *pr, const struct expr_node *node,
                                struct outcomes *out)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        struct outcomes one;
        grebe_status st = prune_node(pr, node->kids[i], &one);
        if (st != GREBE_OK) {
            return st;
        }
        switch (node->op) {
        case OP_AND: *out = i == 0 ? one : outcome_and(*out, one); break;
        case OP_OR: *out = i == 0 ? one : outcome_or(*out, one); break;
        case OP_NOT: *out = outcome_not(one); break;
        case OP_IS_TRUE:
            *out = (struct outcomes){ one.can_true, one.can_false || one.can_null, false };
            break;
        default:
            *out = (struct outcomes){ one.can_false, one.can_true || one.can_null, false };
            break;
        }
    }
    return GREBE_OK;
}

static grebe_status prune_node(const struct prune *pr, const struct expr_node *node,
                               struct outcomes *out)
{
    *out = anything;
    switch (node->op) {
    case OP_LITERAL:
        *out = node->domain == D_BOOL
                   ? (struct outcomes){ node->value.boolean, !node->value.boolean, false }
                   : (struct outcomes){ false, false, true };
        return GREBE_OK;
    case OP_COLUMN: return prune_flag(pr, node, out);
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_IS_TRUE:
    case OP_IS_FALSE: return prune_logic(pr, node, out);
    case OP_IS_NULL: return prune_is_null(pr, node->kids[0], out);
    case OP_COMPARE:
        return prune_compare(pr, node->kids[0], node->kids[1], (enum compare_op)node->sub, out);
    case OP_BETWEEN:
    case OP_IN: return prune_list(pr, node, out);
    case OP_LIKE: return prune_like(pr, node, out);
    case OP_CALL: return prune_call(pr, node, out);
    default: return GREBE_OK;
    }
}

grebe_status expr_prune_values(const struct expr *e, expr_bounds_fn bounds,
                               expr_contains_fn contains, void *arg, enum expr_answer *out,
                               grebe_error *err)
{
    struct prune pr = { e, bounds, contains, arg, err };
    struct outcomes o;
    assert(e->is_bound);
    *out = EXPR_SOME;
    grebe_status st = prune_node(&pr, e->root, &o);
    if (st == GREBE_OK) {
        *out = !o.can_true                     ? EXPR_NONE
               : !o.can_false && !o.can_null ? EXPR_ALL
                                             : EXPR_SOME;
    }
    return st;
}

grebe_status expr_prune(const struct expr *e, expr_bounds_fn bounds, void *arg,
                        enum expr_answer *out, grebe_error *err)
{
    return expr_prune_values(e, bounds, NULL, arg, out, err);
}
