/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static grebe_status bind_node(struct expr *e, struct expr_node *node, grebe_error *err);

static grebe_status wrap(const struct expr *e, const struct expr_node *node, grebe_status st,
                         grebe_error *err)
{
    return st == GREBE_OK ? st
                          : error_wrap(err, st, "condition, column %zu", expr_column_of(e, node->at));
}

/* ---- columns ---- */

/* Index of the column that steps[0..n) name joined with dots; -1: none. */
static int find_joined(struct expr *e, const struct expr_node *node, size_t n)
{
    int found = -1;
    struct buf name = BUF_INIT(e->a);
    bool is_ok = true;
    for (size_t i = 0; i < n && is_ok; i++) {
        const struct path_step *step = &node->steps[i];
        is_ok = step->name != NULL &&
                (i == 0 || buf_put_byte(&name, '.', NULL) == GREBE_OK) &&
                buf_put(&name, step->name, step->name_len, NULL) == GREBE_OK;
    }
    if (is_ok && buf_text(&name) != NULL &&
        schema_find(&e->schema, buf_text(&name), &found, NULL) != GREBE_OK) {
        found = -1;
    }
    buf_release(&name);
    return found;
}

static grebe_status find_column(struct expr *e, struct expr_node *node, grebe_error *err)
{
    node->first_step = 1;
    grebe_status st = schema_find(&e->schema, node->steps[0].name, &node->column, err);
    if (st != GREBE_ENOTFOUND) {
        return wrap(e, node, st, err);
    }
    /* A column may have dots in its name. */
    for (size_t n = node->n_steps; n > 1; n--) {
        node->column = find_joined(e, node, n);
        if (node->column >= 0) {
            node->first_step = n;
            return GREBE_OK;
        }
    }
    return wrap(e, node, st, err);
}

/* What dictionaries and runs stand for. */
static const struct ArrowSchema *values_of(const struct ArrowSchema *field)
{
    for (int i = 0; i < ARROW_DEPTH_MAX; i++) {
        if (field->dictionary != NULL) {
            field = field->dictionary;
        } else if (strcmp(field->format, "+r") == 0) {
            field = field->children[1];
        } else {
            break;
        }
    }
    return field;
}

static bool is_list_kind(enum arrow_kind kind)
{
    return arrow_kind_is_list(kind) || arrow_kind_is_list_view(kind) || kind == ARROW_FIXED_LIST;
}

static grebe_status bind_step(struct expr *e, const struct expr_node *node, struct path_step *step,
                              const struct ArrowSchema **field, grebe_error *err)
{
    struct arrow_type t;
    grebe_status st = arrow_type_of(*field, &t, err);
    if (st != GREBE_OK) {
        return wrap(e, node, st, err);
    }
    if (step->name != NULL) {
        if (t.kind != ARROW_STRUCT) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "condition, column %zu: \"%.64s\": only a struct has fields",
                              expr_column_of(e, node->at), step->name);
        }
        st = schema_find(*field, step->name, &step->child, err);
        if (st != GREBE_OK) {
            return wrap(e, node, st, err);
        }
        *field = values_of((*field)->children[step->child]);
        return GREBE_OK;
    }
    if (!is_list_kind(t.kind)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "condition, column %zu: [%lld]: only a list has elements",
                          expr_column_of(e, node->at), (long long)step->index);
    }
    *field = values_of((*field)->children[0]);
    return GREBE_OK;
}

static void set_time_type(struct expr_node *node)
{
    static const int64_t ns_per_unit[] = { 1000000000, 1000000, 1000, 1 };
    const struct arrow_type *t = &node->leaf_type;
    node->domain = D_TIME;
    node->time.zone = ZONE_NONE;
    node->time.ns_per_unit = ns_per_unit[t->unit];
    switch (t->kind) {
    case ARROW_DATE32:
        node->time.kind = TIME_DATE;
        node->time.ns_per_unit = INT64_C(86400000000000);
        break;
    case ARROW_DATE64: node->time.kind = TIME_DATE; break;
    case ARROW_TIMESTAMP:
        node->time.kind = TIME_STAMP;
        node->time.zone = t->timezone[0] != '\0' ? ZONE_SOME : ZONE_NONE;
        break;
    case ARROW_DURATION: node->time.kind = TIME_DURATION; break;
    default: node->time.kind = TIME_OF_DAY; break;
    }
}

static void set_leaf_domain(struct expr_node *node)
{
    const struct arrow_type *t = &node->leaf_type;
    switch (t->kind) {
    case ARROW_NULL: node->domain = D_NULL; break;
    case ARROW_BOOL: node->domain = D_BOOL; break;
    case ARROW_UINT64: node->domain = D_UINT; break;
    case ARROW_INT8:
    case ARROW_INT16:
    case ARROW_INT32:
    case ARROW_INT64:
    case ARROW_UINT8:
    case ARROW_UINT16:
    case ARROW_UINT32: node->domain = D_INT; break;
    case ARROW_FLOAT16:
    case ARROW_FLOAT32:
    case ARROW_FLOAT64: node->domain = D_DOUBLE; break;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64:
    case ARROW_DECIMAL128:
    case ARROW_DECIMAL256:
        node->domain = D_DECIMAL;
        node->scale = t->scale;
        break;
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
    case ARROW_STRING_VIEW:
    case ARROW_BINARY:
    case ARROW_LARGE_BINARY:
    case ARROW_BINARY_VIEW:
    case ARROW_FIXED_BINARY:
        node->domain = D_BYTES;
        node->is_text = arrow_kind_is_text(t->kind);
        break;
    case ARROW_DATE32:
    case ARROW_DATE64:
    case ARROW_TIME32:
    case ARROW_TIME64:
    case ARROW_TIMESTAMP:
    case ARROW_DURATION: set_time_type(node); break;
    default: node->domain = D_OTHER; break;
    }
}

static grebe_status bind_column(struct expr *e, struct expr_node *node, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_TRY(find_column(e, node, err));
    const struct ArrowSchema *field = values_of(e->schema.children[node->column]);
    for (size_t i = node->first_step; i < node->n_steps; i++) {
        GREBE_TRY(bind_step(e, node, &node->steps[i], &field, err));
    }
    node->leaf = field;
    st = arrow_type_of(field, &node->leaf_type, err);
    if (st != GREBE_OK) {
        return wrap(e, node, st, err);
    }
    set_leaf_domain(node);
    e->positions[node->column] = 0; /* used; numbered when all are known */
out:
    return st;
}

/* ---- operators ---- */

static grebe_status mismatch(const struct expr *e, const struct expr_node *node,
                             const struct expr_node *x, const struct expr_node *y,
                             grebe_error *err)
{
    char left[96];
    char right[96];
    return GREBE_FAIL(err, GREBE_ESCHEMA, "condition, column %zu: %s does not compare with %s",
                      expr_column_of(e, node->at), expr_describe(left, sizeof left, x),
                      expr_describe(right, sizeof right, y));
}

static grebe_status expected(const struct expr *e, const struct expr_node *node, const char *what,
                             grebe_error *err)
{
    char found[96];
    return GREBE_FAIL(err, GREBE_ESCHEMA, "condition, column %zu: expected %s, found %s",
                      expr_column_of(e, node->at), what,
                      expr_describe(found, sizeof found, node));
}

static grebe_status bind_pair(struct expr *e, const struct expr_node *node, struct expr_node **x,
                              struct expr_node **y, grebe_error *err)
{
    grebe_status st = expr_adapt_literal(e, x, *y, err);
    if (st == GREBE_OK) {
        st = expr_adapt_literal(e, y, *x, err);
    }
    if (st == GREBE_OK && !expr_comparable(*x, *y)) {
        st = mismatch(e, node, *x, *y, err);
    }
    return st;
}

static int compare_ints(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x;
    int64_t b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static int compare_texts(const void *x, const void *y)
{
    return bytes_compare(*(const struct arrow_bytes *)x, *(const struct arrow_bytes *)y);
}

/* A list of plain literals of one domain as a sorted set. */
static grebe_status make_set(struct expr *e, struct expr_node *node, grebe_error *err)
{
    enum { WORTH_SORTING = 4 };
    enum domain domain = node->kids[0]->domain;
    if (node->n_kids - 1 < WORTH_SORTING || (domain != D_INT && domain != D_BYTES)) {
        return GREBE_OK;
    }
    struct value_set *set = arena_alloc_zero(&e->arena, sizeof *set);
    int64_t *ints = arena_array(&e->arena, node->n_kids, sizeof *ints);
    struct arrow_bytes *bytes = arena_array(&e->arena, node->n_kids, sizeof *bytes);
    if (set == NULL || ints == NULL || bytes == NULL) {
        return mem_fail(err, node->n_kids * sizeof *bytes, "a condition");
    }
    for (size_t i = 1; i < node->n_kids; i++) {
        const struct expr_node *item = node->kids[i];
        if (item->op != OP_LITERAL || (item->domain != D_NULL && item->domain != domain)) {
            return GREBE_OK;
        }
        set->has_null = set->has_null || item->domain == D_NULL;
        if (item->domain == domain) {
            ints[set->n] = item->value.i;
            bytes[set->n] = item->value.bytes;
            set->n++;
        }
    }
    if (domain == D_INT) {
        qsort(ints, set->n, sizeof *ints, compare_ints);
        set->ints = ints;
    } else {
        qsort(bytes, set->n, sizeof *bytes, compare_texts);
        set->bytes = bytes;
    }
    node->set = set;
    return GREBE_OK;
}

/* between and in: the first kid against each of the others. */
static grebe_status bind_list(struct expr *e, struct expr_node *node, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 1; i < node->n_kids && node->kids[0]->op == OP_LITERAL; i++) {
        if (node->kids[i]->op != OP_LITERAL) {
            GREBE_TRY(expr_adapt_literal(e, &node->kids[0], node->kids[i], err));
            break;
        }
    }
    for (size_t i = 1; i < node->n_kids; i++) {
        GREBE_TRY(expr_adapt_literal(e, &node->kids[i], node->kids[0], err));
        if (!expr_comparable(node->kids[0], node->kids[i])) {
            st = mismatch(e, node->kids[i], node->kids[0], node->kids[i], err);
            goto out;
        }
    }
    node->domain = D_BOOL;
    if (node->op == OP_IN) {
        GREBE_TRY(make_set(e, node, err));
    }
out:
    return st;
}

static bool is_number(const struct expr_node *node)
{
    return node->domain == D_NULL || (node->domain >= D_INT && node->domain <= D_DECIMAL);
}

/* A literal that is not negative counts as unsigned beside an unsigned operand. */
static void make_unsigned(struct expr_node *x, const struct expr_node *y)
{
    if (x->op == OP_LITERAL && x->domain == D_INT && y->domain == D_UINT && x->value.i >= 0) {
        x->value.domain = x->domain = D_UINT;
        x->value.u = (uint64_t)x->value.i;
    }
}

static grebe_status bind_arith(struct expr *e, struct expr_node *node, grebe_error *err)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        if (!is_number(node->kids[i])) {
            return expected(e, node->kids[i], "a number", err);
        }
    }
    if (node->op == OP_NEGATE) {
        enum domain d = node->kids[0]->domain;
        node->domain = d == D_NULL ? D_DOUBLE : d == D_UINT ? D_INT : d;
        node->scale = node->kids[0]->scale;
        return GREBE_OK;
    }
    make_unsigned(node->kids[0], node->kids[1]);
    make_unsigned(node->kids[1], node->kids[0]);
    enum domain x = node->kids[0]->domain;
    enum domain y = node->kids[1]->domain;
    bool are_integers = (x == D_INT || x == D_UINT) && (y == D_INT || y == D_UINT);
    if (!are_integers || node->sub == '/') {
        node->domain = D_DOUBLE;
    } else {
        node->domain = x == D_UINT && y == D_UINT && node->sub != '-' ? D_UINT : D_INT;
    }
    return GREBE_OK;
}

static grebe_status bind_call(struct expr *e, struct expr_node *node, grebe_error *err)
{
    struct expr_node *arg = node->kids[0];
    bool is_null = arg->domain == D_NULL;
    bool is_list = arg->op == OP_COLUMN && is_list_kind(arg->leaf_type.kind);
    switch ((enum expr_function)node->sub) {
    case FN_IS_NAN:
        node->domain = D_BOOL;
        return is_number(arg) ? GREBE_OK : expected(e, arg, "a number", err);
    case FN_ABS:
        node->domain = is_null ? D_DOUBLE : arg->domain;
        node->scale = arg->scale;
        return is_number(arg) ? GREBE_OK : expected(e, arg, "a number", err);
    case FN_LENGTH:
        node->domain = D_INT;
        return arg->domain == D_BYTES || is_null || is_list
                   ? GREBE_OK
                   : expected(e, arg, "a string, binary or list", err);
    case FN_LOWER:
    case FN_UPPER:
        node->domain = D_BYTES;
        node->is_text = true;
        return (arg->domain == D_BYTES && arg->is_text) || is_null
                   ? GREBE_OK
                   : expected(e, arg, "a string", err);
    case FN_STARTS_WITH:
    case FN_ENDS_WITH:
    case FN_CONTAINS: break;
    }
    node->domain = D_BOOL;
    for (size_t i = 0; i < 2; i++) {
        if (node->kids[i]->domain != D_BYTES && node->kids[i]->domain != D_NULL) {
            return expected(e, node->kids[i], "a string", err);
        }
    }
    return GREBE_OK;
}

static grebe_status bind_logic(struct expr *e, struct expr_node *node, grebe_error *err)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        if (node->kids[i]->domain != D_BOOL && node->kids[i]->domain != D_NULL) {
            return expected(e, node->kids[i], "a condition", err);
        }
    }
    node->domain = D_BOOL;
    return GREBE_OK;
}

static grebe_status bind_like(struct expr *e, struct expr_node *node, grebe_error *err)
{
    for (size_t i = 0; i < 2; i++) {
        if (node->kids[i]->domain != D_BYTES && node->kids[i]->domain != D_NULL) {
            return expected(e, node->kids[i], "a string", err);
        }
    }
    node->domain = D_BOOL;
    return GREBE_OK;
}

static grebe_status bind_node(struct expr *e, struct expr_node *node, grebe_error *err)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        grebe_status st = bind_node(e, node->kids[i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    switch (node->op) {
    case OP_LITERAL: return expr_bind_literal(e, node, err);
    case OP_COLUMN: return bind_column(e, node, err);
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_IS_TRUE:
    case OP_IS_FALSE: return bind_logic(e, node, err);
    case OP_COMPARE:
        node->domain = D_BOOL;
        return bind_pair(e, node, &node->kids[0], &node->kids[1], err);
    case OP_IS_NULL: node->domain = D_BOOL; return GREBE_OK;
    case OP_BETWEEN:
    case OP_IN: return bind_list(e, node, err);
    case OP_LIKE: return bind_like(e, node, err);
    case OP_ARITH:
    case OP_NEGATE: return bind_arith(e, node, err);
    case OP_CALL: return bind_call(e, node, err);
    }
    return GREBE_OK;
}

/* Slots last, when literals are what they stay. */
static void number_slots(struct expr *e, struct expr_node *node)
{
    node->slot = e->n_slots++;
    for (size_t i = 0; i < node->n_kids; i++) {
        number_slots(e, node->kids[i]);
    }
}

static grebe_status bind_root(struct expr *e, const struct ArrowSchema *schema, bool is_condition, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    char found[96];

    if (e->is_bound) {
        return GREBE_FAIL(err, GREBE_EINVAL, "a condition is bound once only");
    }
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "condition: expected rows of a struct type");
    }
    GREBE_TRY(schema_copy(e->a, schema, &e->schema, err));
    size_t n = (size_t)schema->n_children;
    e->positions = arena_array(&e->arena, n, sizeof *e->positions);
    e->columns = arena_array(&e->arena, n, sizeof *e->columns);
    if (e->positions == NULL || e->columns == NULL) {
        st = mem_fail(err, n * sizeof *e->columns, "a condition");
        goto out;
    }
    memset(e->positions, -1, n * sizeof *e->positions);
    GREBE_TRY(bind_node(e, e->root, err));
    if (is_condition && e->root->domain != D_BOOL && e->root->domain != D_NULL) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "condition: expected true or false, found %s",
                        expr_describe(found, sizeof found, e->root));
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        if (e->positions[i] == 0) {
            e->positions[i] = (int)e->n_columns;
            e->columns[e->n_columns++] = (int)i;
        }
    }
    number_slots(e, e->root);
    e->is_bound = true;
out:
    if (st != GREBE_OK) {
        schema_release(&e->schema);
    }
    return st;
}

grebe_status expr_bind(struct expr *e, const struct ArrowSchema *schema, grebe_error *err)
{
    return bind_root(e, schema, true, err);
}

grebe_status expr_bind_value(struct expr *e, const struct ArrowSchema *schema, grebe_error *err)
{
    return bind_root(e, schema, false, err);
}

const int *expr_columns(const struct expr *e, size_t *n)
{
    assert(e->is_bound);
    *n = e->n_columns;
    return e->columns;
}
