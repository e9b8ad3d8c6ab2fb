/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_EXPR_EXPR_LEX_H
#define GREBE_EXPR_EXPR_LEX_H

/* Words of the filter language. */

#include "expr/expr_internal.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,   /* a word: keyword or column */
    TOKEN_QUOTED, /* "name" */
    TOKEN_STRING, /* 'text' */
    TOKEN_BLOB,   /* x'00ff' */
    TOKEN_NUMBER,
    TOKEN_OP      /* op: the characters, at most two, as op[0] | op[1] << 8 */
};

struct token {
    enum token_kind kind;
    size_t at, end; /* in the text */
    const char *text; /* decoded, in the arena; numbers and names as written */
    size_t len;
    int op;
};

#define OP2(a, b) ((a) | (b) << 8)

/** The token at *pos, which moves behind it. */
grebe_status expr_lex(struct expr *e, size_t *pos, bool is_after_name, struct token *out,
                      grebe_error *err);

/** Whether the token is this word, in any case. */
bool token_is_word(const struct token *t, const char *word);

/** EINVAL: "column n: expected …, found …". */
grebe_status expr_syntax(const struct expr *e, const struct token *t, const char *expected,
                         grebe_error *err);

#endif
