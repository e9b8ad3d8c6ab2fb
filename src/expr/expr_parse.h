/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_PARSE_H
#define GREBE_EXPR_EXPR_PARSE_H

/*
 * Recursive descent, SQL's precedence: or < and < not < is, comparison, in, between, like <
 * + - < * / % < unary minus < path. Nesting of parentheses, calls, `not` and signs is counted in
 * `nesting`; chains of operators make the tree deeper and are held by the depth of the nodes.
 *
 * All functions return GREBE_OK; GREBE_EINVAL with the column of what is wrong; GREBE_ELIMIT
 * (nested deeper than EXPR_DEPTH_MAX); GREBE_ENOMEM.
 */

#include "expr/expr_lex.h"

struct expr_parser {
    struct expr *e;
    size_t pos;
    struct token t; /* the next token */
    int nesting;
    grebe_error *err;
};

/** Kids of a node while their number is not known; the owner releases items. */
struct expr_kids {
    struct buf items; /* struct expr_node * */
};

/* ---- what stands in the text, with the next token in ps->t before and after ---- */

/** A condition: what joins predicates by and, or, not. */
grebe_status parser_or(struct expr_parser *ps, struct expr_node **out);

/** A value: sums, products, signs, and what they are made of. */
grebe_status parser_additive(struct expr_parser *ps, struct expr_node **out);

/* ---- tokens ---- */

grebe_status parser_advance(struct expr_parser *ps);
bool parser_is_op(const struct expr_parser *ps, int op);
/** Step over the operator; GREBE_EINVAL saying what was expected when it is not next. */
grebe_status parser_expect_op(struct expr_parser *ps, int op, const char *expected);
/** Take the word if it is next. */
grebe_status parser_take_word(struct expr_parser *ps, const char *word, bool *taken);

/* ---- nodes, in the arena of the condition ---- */

grebe_status parser_make1(const struct expr_parser *ps, enum expr_op op, int sub, size_t at,
                          struct expr_node *kid, struct expr_node **out);
grebe_status parser_make2(const struct expr_parser *ps, enum expr_op op, int sub, size_t at,
                          struct expr_node *left, struct expr_node *right, struct expr_node **out);
grebe_status parser_make_n(const struct expr_parser *ps, enum expr_op op, size_t at,
                           const struct expr_kids *k, struct expr_node **out);
/** Count the depth of a node once its kids are in; the make functions do it themselves. */
grebe_status parser_finish(const struct expr_parser *ps, struct expr_node *node);
grebe_status parser_push_kid(struct expr_parser *ps, struct expr_kids *k, struct expr_node *node);

/* The failures: GREBE_ENOMEM, GREBE_ELIMIT. */
grebe_status parser_no_memory(const struct expr_parser *ps);
grebe_status parser_too_deep(const struct expr_parser *ps);

#endif
