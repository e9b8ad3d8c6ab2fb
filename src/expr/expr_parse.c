/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_parse.h"

#include <string.h>

#include "base/utf8.h"

grebe_status parser_no_memory(const struct expr_parser *ps)
{
    return mem_fail(ps->err, sizeof(struct expr_node), "a condition");
}

grebe_status parser_advance(struct expr_parser *ps)
{
    bool is_operator = ps->t.kind == TOKEN_OP;
    bool is_after_name = ps->t.kind == TOKEN_NAME || ps->t.kind == TOKEN_QUOTED ||
                         (is_operator && ps->t.op == ']');
    return expr_lex(ps->e, &ps->pos, is_after_name, &ps->t, ps->err);
}

bool parser_is_op(const struct expr_parser *ps, int op)
{
    return ps->t.kind == TOKEN_OP && ps->t.op == op;
}

grebe_status parser_expect_op(struct expr_parser *ps, int op, const char *expected)
{
    return parser_is_op(ps, op) ? parser_advance(ps)
                                : expr_syntax(ps->e, &ps->t, expected, ps->err);
}

grebe_status parser_take_word(struct expr_parser *ps, const char *word, bool *taken)
{
    *taken = token_is_word(&ps->t, word);
    return *taken ? parser_advance(ps) : GREBE_OK;
}

grebe_status parser_too_deep(const struct expr_parser *ps)
{
    return GREBE_FAIL(ps->err, GREBE_ELIMIT, "condition, column %zu: nested deeper than %d",
                      expr_column_of(ps->e, ps->t.at), EXPR_DEPTH_MAX);
}

struct expr_node *expr_node_new(struct expr *e, enum expr_op op, size_t at, size_t n_kids)
{
    struct expr_node *node = arena_alloc_zero(&e->arena, sizeof *node);
    struct expr_node **kids = arena_array(&e->arena, n_kids, sizeof *kids);
    if (node == NULL || kids == NULL) {
        return NULL;
    }
    node->op = op;
    node->at = at;
    node->kids = kids;
    node->n_kids = n_kids;
    node->depth = 1;
    return node;
}

grebe_status parser_finish(const struct expr_parser *ps, struct expr_node *node)
{
    for (size_t i = 0; i < node->n_kids; i++) {
        if (node->kids[i]->depth >= node->depth) {
            node->depth = node->kids[i]->depth + 1;
        }
    }
    return node->depth > EXPR_DEPTH_MAX ? parser_too_deep(ps) : GREBE_OK;
}

grebe_status parser_make1(const struct expr_parser *ps, enum expr_op op, int sub, size_t at,
                          struct expr_node *kid, struct expr_node **out)
{
    struct expr_node *node = expr_node_new(ps->e, op, at, 1);
    if (node == NULL) {
        return parser_no_memory(ps);
    }
    node->sub = sub;
    node->kids[0] = kid;
    *out = node;
    return parser_finish(ps, node);
}

grebe_status parser_make2(const struct expr_parser *ps, enum expr_op op, int sub, size_t at,
                          struct expr_node *left, struct expr_node *right, struct expr_node **out)
{
    struct expr_node *node = expr_node_new(ps->e, op, at, 2);
    if (node == NULL) {
        return parser_no_memory(ps);
    }
    node->sub = sub;
    node->kids[0] = left;
    node->kids[1] = right;
    *out = node;
    return parser_finish(ps, node);
}

grebe_status parser_push_kid(struct expr_parser *ps, struct expr_kids *k, struct expr_node *node)
{
    return buf_put(&k->items, &node, sizeof node, ps->err);
}

grebe_status parser_make_n(const struct expr_parser *ps, enum expr_op op, size_t at,
                           const struct expr_kids *k, struct expr_node **out)
{
    size_t n = k->items.len / sizeof(struct expr_node *);
    struct expr_node *node = expr_node_new(ps->e, op, at, n);
    if (node == NULL) {
        return parser_no_memory(ps);
    }
    memcpy(node->kids, k->items.data, k->items.len);
    *out = node;
    return parser_finish(ps, node);
}

/* ---- the whole ---- */

grebe_status expr_parse(const grebe_allocator *a, const char *text, struct expr **out,
                        grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t len = strlen(text);
    struct expr_parser ps = { 0 };

    *out = NULL;
    if (len > EXPR_TEXT_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "condition of %zu bytes: at most %d", len,
                          EXPR_TEXT_MAX);
    }
    if (!utf8_is_valid(text, len)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "condition: no UTF-8 at byte %zu",
                          utf8_valid_prefix(text, len));
    }
    struct expr *e = mem_alloc_zero(a, sizeof *e);
    if (e == NULL) {
        return mem_fail(err, sizeof *e, "a condition");
    }
    e->a = a;
    e->arena = ARENA_INIT(a);
    e->text = arena_str(&e->arena, text, len);
    ps.e = e;
    ps.err = err;
    if (e->text == NULL) {
        st = parser_no_memory(&ps);
        goto out;
    }
    GREBE_TRY(parser_advance(&ps));
    GREBE_TRY(parser_or(&ps, &e->root));
    if (ps.t.kind != TOKEN_END) {
        st = expr_syntax(e, &ps.t, "and, or, or the end", err);
        goto out;
    }
    *out = e;
    e = NULL;
out:
    expr_free(e);
    return st;
}

void expr_free(struct expr *e)
{
    if (e != NULL) {
        const grebe_allocator *a = e->a;
        schema_release(&e->schema);
        arena_release(&e->arena);
        mem_free(a, e, sizeof *e);
    }
}
