/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is true or false: comparisons, is, in, between, like, and what joins them. */
#include "expr/expr_parse.h"

static bool compare_of_token(const struct expr_parser *ps, enum compare_op *out)
{
    static const struct {
        int op;
        enum compare_op compare;
    } ops[] = {
        { '=', CMP_EQ },           { OP2('=', '='), CMP_EQ }, { OP2('<', '>'), CMP_NE },
        { OP2('!', '='), CMP_NE }, { '<', CMP_LT },           { OP2('<', '='), CMP_LE },
        { '>', CMP_GT },           { OP2('>', '='), CMP_GE },
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (parser_is_op(ps, ops[i].op)) {
            *out = ops[i].compare;
            return true;
        }
    }
    return false;
}

static grebe_status parse_in(struct expr_parser *ps, struct expr_node *left, size_t at,
                             struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct expr_kids k = { BUF_INIT(ps->e->a) };
    GREBE_TRY(parser_push_kid(ps, &k, left));
    GREBE_TRY(parser_expect_op(ps, '(', "'(' and a list"));
    do {
        struct expr_node *item = NULL;
        if (k.items.len > sizeof item) {
            GREBE_TRY(parser_advance(ps));
        }
        GREBE_TRY(parser_additive(ps, &item));
        GREBE_TRY(parser_push_kid(ps, &k, item));
    } while (parser_is_op(ps, ','));
    GREBE_TRY(parser_expect_op(ps, ')', "',' or ')'"));
    GREBE_TRY(parser_make_n(ps, OP_IN, at, &k, out));
out:
    buf_release(&k.items);
    return st;
}

static grebe_status parse_between(struct expr_parser *ps, struct expr_node *left, size_t at,
                                  struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct expr_node *low = NULL;
    struct expr_node *high = NULL;
    bool taken = false;
    GREBE_TRY(parser_additive(ps, &low));
    GREBE_TRY(parser_take_word(ps, "and", &taken));
    if (!taken) {
        st = expr_syntax(ps->e, &ps->t, "and", ps->err);
        goto out;
    }
    GREBE_TRY(parser_additive(ps, &high));
    struct expr_node *node = expr_node_new(ps->e, OP_BETWEEN, at, 3);
    if (node == NULL) {
        st = parser_no_memory(ps);
        goto out;
    }
    node->kids[0] = left;
    node->kids[1] = low;
    node->kids[2] = high;
    *out = node;
    GREBE_TRY(parser_finish(ps, node));
out:
    return st;
}

static grebe_status parse_like(struct expr_parser *ps, struct expr_node *left, size_t at,
                               struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct expr_node *pattern = NULL;
    bool has_escape = false;
    GREBE_TRY(parser_additive(ps, &pattern));
    GREBE_TRY(parser_make2(ps, OP_LIKE, 0, at, left, pattern, out));
    GREBE_TRY(parser_take_word(ps, "escape", &has_escape));
    if (has_escape) {
        if (ps->t.kind != TOKEN_STRING || ps->t.len != 1 || (unsigned char)ps->t.text[0] >= 0x80) {
            st = expr_syntax(ps->e, &ps->t, "a string of one ASCII character", ps->err);
            goto out;
        }
        (*out)->text = ps->t.text;
        (*out)->len = 1;
        GREBE_TRY(parser_advance(ps));
    }
out:
    return st;
}

static grebe_status parse_is(struct expr_parser *ps, size_t at, struct expr_node **out)
{
    static const struct {
        const char *word;
        enum expr_op op;
    } kinds[] = { { "null", OP_IS_NULL }, { "true", OP_IS_TRUE }, { "false", OP_IS_FALSE } };
    bool is_not = false;
    grebe_status st = parser_take_word(ps, "not", &is_not);
    for (size_t i = 0; st == GREBE_OK && i < 3; i++) {
        bool taken = false;
        st = parser_take_word(ps, kinds[i].word, &taken);
        if (st == GREBE_OK && taken) {
            st = parser_make1(ps, kinds[i].op, 0, at, *out, out);
            return st == GREBE_OK && is_not ? parser_make1(ps, OP_NOT, 0, at, *out, out) : st;
        }
    }
    return st != GREBE_OK ? st : expr_syntax(ps->e, &ps->t, "null, true or false", ps->err);
}

/* [not] in, between, like behind an operand */
static grebe_status parse_word_predicate(struct expr_parser *ps, size_t at, bool *is_found,
                                         struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    bool is_not = false;
    bool taken = false;
    *is_found = true;
    GREBE_TRY(parser_take_word(ps, "not", &is_not));
    GREBE_TRY(parser_take_word(ps, "in", &taken));
    if (taken) {
        GREBE_TRY(parse_in(ps, *out, at, out));
        goto negate;
    }
    GREBE_TRY(parser_take_word(ps, "between", &taken));
    if (taken) {
        GREBE_TRY(parse_between(ps, *out, at, out));
        goto negate;
    }
    GREBE_TRY(parser_take_word(ps, "like", &taken));
    if (taken) {
        GREBE_TRY(parse_like(ps, *out, at, out));
        goto negate;
    }
    *is_found = false;
    if (is_not) {
        st = expr_syntax(ps->e, &ps->t, "in, between or like", ps->err);
    }
    goto out;
negate:
    if (is_not) {
        GREBE_TRY(parser_make1(ps, OP_NOT, 0, at, *out, out));
    }
out:
    return st;
}

static grebe_status parse_predicate(struct expr_parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t at = ps->t.at;
    enum compare_op compare;
    bool is_word = false;
    bool taken = false;

    GREBE_TRY(parser_additive(ps, out));
    if (compare_of_token(ps, &compare)) {
        struct token op = ps->t;
        struct expr_node *right = NULL;
        GREBE_TRY(parser_advance(ps));
        GREBE_TRY(parser_additive(ps, &right));
        GREBE_TRY(parser_make2(ps, OP_COMPARE, (int)compare, op.at, *out, right, out));
        if (compare_of_token(ps, &compare)) {
            st = expr_syntax(ps->e, &ps->t, "and, or, or the end (comparisons do not chain)",
                             ps->err);
            goto out;
        }
    } else {
        GREBE_TRY(parse_word_predicate(ps, at, &is_word, out));
    }
    GREBE_TRY(parser_take_word(ps, "is", &taken));
    while (taken) {
        GREBE_TRY(parse_is(ps, at, out));
        GREBE_TRY(parser_take_word(ps, "is", &taken));
    }
out:
    return st;
}

static grebe_status parse_not(struct expr_parser *ps, struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    size_t at = ps->t.at;
    bool is_not = false;
    GREBE_TRY(parser_take_word(ps, "not", &is_not));
    if (!is_not) {
        return parse_predicate(ps, out);
    }
    if (++ps->nesting > EXPR_DEPTH_MAX) {
        return parser_too_deep(ps);
    }
    GREBE_TRY(parse_not(ps, out));
    ps->nesting--;
    GREBE_TRY(parser_make1(ps, OP_NOT, 0, at, *out, out));
out:
    return st;
}

static grebe_status parse_chain(struct expr_parser *ps, enum expr_op op, const char *word,
                                grebe_status (*part)(struct expr_parser *, struct expr_node **),
                                struct expr_node **out)
{
    grebe_status st = GREBE_OK;
    struct expr_kids k = { BUF_INIT(ps->e->a) };
    size_t at = ps->t.at;
    bool more = false;
    do {
        GREBE_TRY(part(ps, out));
        GREBE_TRY(parser_push_kid(ps, &k, *out));
        GREBE_TRY(parser_take_word(ps, word, &more));
    } while (more);
    if (k.items.len > sizeof(struct expr_node *)) {
        GREBE_TRY(parser_make_n(ps, op, at, &k, out));
    }
out:
    buf_release(&k.items);
    return st;
}

static grebe_status parse_and(struct expr_parser *ps, struct expr_node **out)
{
    return parse_chain(ps, OP_AND, "and", parse_not, out);
}

grebe_status parser_or(struct expr_parser *ps, struct expr_node **out)
{
    return parse_chain(ps, OP_OR, "or", parse_and, out);
}
