/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that stands for a value: literals, calls, paths, signs and arithmetic. */
#include "expr/expr_parse.h"

#include <string.h>

static grebe_status parse_unary(struct expr_parser *ps, struct expr_node **out);

static grebe_status literal(struct expr_parser *ps, enum literal_kind kind, const char *text,
                            size_t len, bool boolean, size_t at, struct expr_node **out)
{
    struct expr_node *node = expr_node_new(ps->e, OP_LITERAL, at, 0);
    if (node == NULL) {
        return parser_no_memory(ps);
    }
    node->literal = kind;
    node->text = text;
    node->len = len;
    node->boolean = boolean;
    *out = node;
    return GREBE_OK;
}

static const struct {
    const char *name;
    size_t n_args;
} functions[] = {
    [FN_IS_NAN] = { "is_nan", 1 },           [FN_LENGTH] = { "length", 1 },
    [FN_LOWER] = { "lower", 1 },             [FN_UPPER] = { "upper", 1 },
    [FN_ABS] = { "abs", 1 },                 [FN_STARTS_WITH] = { "starts_with", 2 },
    [FN_ENDS_WITH] = { "ends_with", 2 },     [FN_CONTAINS] = { "contains", 2 },
};

const char *expr_function_name(enum expr_function fn) { return functions[fn].name; }

/* name ( args ): the name is taken, '(' is next. */
static grebe_status parse_call(struct expr_parser *ps, const struct token *name,
                               struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t fn = 0;
    size_t n_functions = sizeof functions / sizeof functions[0];
    while (fn < n_functions && !token_is_word(name, functions[fn].name)) {
        fn++;
    }
    if (fn == n_functions) {
        return expr_syntax(ps->e, name,
                           "a function (is_nan, length, lower, upper, abs, starts_with, "
                           "ends_with, contains)",
                           ps->err);
    }
    struct expr_node *node = expr_node_new(ps->e, OP_CALL, name->at, functions[fn].n_args);
    if (node == NULL) {
        return parser_no_memory(ps);
    }
    node->sub = (int)fn;
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return parser_too_deep(ps);
    }
    GREBE_TRY(parser_advance(ps));
    for (size_t i = 0; i < node->n_kids; i++) {
        if (i > 0) {
            GREBE_TRY(parser_expect_op(ps, ',', "','"));
        }
        GREBE_TRY(parser_or(ps, &node->kids[i]));
    }
    GREBE_TRY(parser_expect_op(ps, ')', "')'"));
    ps->nesting--;
    *out = node;
    st = parser_finish(ps, node);
out:
    return st;
}

static grebe_status push_step(struct expr_parser *ps, struct buf *steps, const char *name,
                              size_t len, int64_t index)
{
    struct path_step step = { NULL, len, index, -1 };
    if (name != NULL) {
        step.name = arena_str(&ps->e->arena, name, len);
        if (step.name == NULL) {
            return parser_no_memory(ps);
        }
    }
    if (steps->len / sizeof step >= EXPR_DEPTH_MAX) {
        return parser_too_deep(ps);
    }
    return buf_put(steps, &step, sizeof step, ps->err);
}

static grebe_status parse_index(struct expr_parser *ps, struct buf *steps)
{
    grebe_status st = parser_advance(ps);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_negative = parser_is_op(ps, '-');
    if (is_negative) {
        st = parser_advance(ps);
    }
    int64_t index = 0;
    if (st == GREBE_OK && ps->t.kind != TOKEN_NUMBER) {
        return expr_syntax(ps->e, &ps->t, "an index", ps->err);
    }
    for (size_t i = 0; st == GREBE_OK && i < ps->t.len; i++) {
        char c = ps->t.text[i];
        if (c < '0' || c > '9' || index > INT32_MAX) {
            return expr_syntax(ps->e, &ps->t, "an index", ps->err);
        }
        index = index * 10 + (c - '0');
    }
    if (st == GREBE_OK) {
        st = push_step(ps, steps, NULL, 0, is_negative ? -index : index);
    }
    if (st == GREBE_OK) {
        st = parser_advance(ps);
    }
    return st == GREBE_OK ? parser_expect_op(ps, ']', "']'") : st;
}

/* name (.name | [index])*; the first name is taken. */
static grebe_status parse_path(struct expr_parser *ps, const struct token *name,
                               struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct buf steps = BUF_INIT(ps->e->a);
    struct expr_node *node = expr_node_new(ps->e, OP_COLUMN, name->at, 0);
    if (node == NULL) {
        return parser_no_memory(ps);
    }
    GREBE_TRY(push_step(ps, &steps, name->text, name->len, 0));
    while (parser_is_op(ps, '.') || parser_is_op(ps, '[')) {
        if (parser_is_op(ps, '[')) {
            GREBE_TRY(parse_index(ps, &steps));
            continue;
        }
        GREBE_TRY(parser_advance(ps));
        if (ps->t.kind != TOKEN_NAME && ps->t.kind != TOKEN_QUOTED) {
            st = expr_syntax(ps->e, &ps->t, "the name of a field", ps->err);
            goto out;
        }
        GREBE_TRY(push_step(ps, &steps, ps->t.text, ps->t.len, 0));
        GREBE_TRY(parser_advance(ps));
    }
    node->n_steps = steps.len / sizeof *node->steps;
    node->steps = arena_array(&ps->e->arena, node->n_steps, sizeof *node->steps);
    if (node->steps == NULL) {
        st = parser_no_memory(ps);
        goto out;
    }
    memcpy(node->steps, steps.data, steps.len);
    *out = node;
out:
    buf_release(&steps);
    return st;
}

static bool is_reserved(const struct token *t)
{
    static const char *const words[] = { "and", "or", "not", "in", "is", "like", "between",
                                         "escape", "null", "true", "false" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (token_is_word(t, words[i])) {
            return true;
        }
    }
    return false;
}

static grebe_status parse_word(struct expr_parser *ps, struct expr_node **out)
{
    struct token word = ps->t;
    if (token_is_word(&word, "null") || token_is_word(&word, "true") ||
        token_is_word(&word, "false")) {
        enum literal_kind kind = token_is_word(&word, "null") ? LIT_NULL : LIT_BOOL;
        grebe_status st = literal(ps, kind, "", 0, token_is_word(&word, "true"), word.at, out);
        return st == GREBE_OK ? parser_advance(ps) : st;
    }
    if (is_reserved(&word)) {
        return expr_syntax(ps->e, &word, "a value", ps->err);
    }
    grebe_status st = parser_advance(ps);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_stamp = token_is_word(&word, "timestamp");
    if ((is_stamp || token_is_word(&word, "date")) && ps->t.kind == TOKEN_STRING) {
        st = literal(ps, is_stamp ? LIT_TIMESTAMP : LIT_DATE, ps->t.text, ps->t.len, false, word.at,
                     out);
        return st == GREBE_OK ? parser_advance(ps) : st;
    }
    return parser_is_op(ps, '(') ? parse_call(ps, &word, out) : parse_path(ps, &word, out);
}

static grebe_status parse_primary(struct expr_parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct token t = ps->t;
    switch (t.kind) {
    case TOKEN_NAME: return parse_word(ps, out);
    case TOKEN_QUOTED:
        st = parser_advance(ps);
        return st == GREBE_OK ? parse_path(ps, &t, out) : st;
    case TOKEN_STRING:
    case TOKEN_BLOB:
    case TOKEN_NUMBER:
        st = literal(ps,
                     t.kind == TOKEN_STRING ? LIT_STRING
                     : t.kind == TOKEN_BLOB ? LIT_BLOB
                                            : LIT_NUMBER,
                     t.text, t.len, false, t.at, out);
        return st == GREBE_OK ? parser_advance(ps) : st;
    default: break;
    }
    if (!parser_is_op(ps, '(')) {
        return expr_syntax(ps->e, &t, "a value", ps->err);
    }
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return parser_too_deep(ps);
    }
    GREBE_TRY(parser_advance(ps));
    GREBE_TRY(parser_or(ps, out));
    GREBE_TRY(parser_expect_op(ps, ')', "')'"));
    ps->nesting--;
out:
    return st;
}

static grebe_status parse_unary(struct expr_parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t at = ps->t.at;
    bool is_minus = parser_is_op(ps, '-');
    if (!is_minus && !parser_is_op(ps, '+')) {
        return parse_primary(ps, out);
    }
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return parser_too_deep(ps);
    }
    GREBE_TRY(parser_advance(ps));
    GREBE_TRY(parse_unary(ps, out));
    ps->nesting--;
    if (is_minus && (*out)->op == OP_LITERAL && (*out)->literal == LIT_NUMBER) {
        /* Part of the number, so that -9223372036854775808 is one. */
        struct expr_node *number = *out;
        bool was_negative = number->text[0] == '-';
        char *text = arena_alloc(&ps->e->arena, number->len + 1);
        if (text == NULL) {
            return parser_no_memory(ps);
        }
        text[0] = '-';
        memcpy(text + !was_negative, number->text, number->len);
        number->text = was_negative ? number->text + 1 : text;
        number->len = was_negative ? number->len - 1 : number->len + 1;
        number->at = at;
    } else if (is_minus) {
        st = parser_make1(ps, OP_NEGATE, 0, at, *out, out);
    }
out:
    return st;
}

static grebe_status parse_product(struct expr_parser *ps, struct expr_node **out)
{
    grebe_status st = parse_unary(ps, out);
    while (st == GREBE_OK &&
           (parser_is_op(ps, '*') || parser_is_op(ps, '/') || parser_is_op(ps, '%'))) {
        struct token op = ps->t;
        struct expr_node *right = NULL;
        st = parser_advance(ps);
        if (st == GREBE_OK) {
            st = parse_unary(ps, &right);
        }
        if (st == GREBE_OK) {
            st = parser_make2(ps, OP_ARITH, op.op, op.at, *out, right, out);
        }
    }
    return st;
}

grebe_status parser_additive(struct expr_parser *ps, struct expr_node **out)
{
    grebe_status st = parse_product(ps, out);
    while (st == GREBE_OK && (parser_is_op(ps, '+') || parser_is_op(ps, '-'))) {
        struct token op = ps->t;
        struct expr_node *right = NULL;
        st = parser_advance(ps);
        if (st == GREBE_OK) {
            st = parse_product(ps, &right);
        }
        if (st == GREBE_OK) {
            st = parser_make2(ps, OP_ARITH, op.op, op.at, *out, right, out);
        }
    }
    if (st == GREBE_OK && parser_is_op(ps, OP2('|', '|'))) {
        return expr_syntax(ps->e, &ps->t, "no '||' (strings are not joined here)", ps->err);
    }
    return st;
}
