/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_lex.h"

#include <string.h>

#include "base/utf8.h"

size_t expr_column_of(const struct expr *e, size_t at)
{
    size_t column = 1;
    for (size_t i = 0; i < at; i++) {
        column += ((unsigned char)e->text[i] & 0xc0) != 0x80;
    }
    return column;
}

grebe_status expr_syntax(const struct expr *e, const struct token *t, const char *expected,
                         grebe_error *err)
{
    char found[64];
    if (t->kind == TOKEN_END) {
        return GREBE_FAIL(err, GREBE_EINVAL, "condition, column %zu: expected %s, found the end",
                          expr_column_of(e, t->at), expected);
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "condition, column %zu: expected %s, found %s",
                      expr_column_of(e, t->at), expected,
                      error_quote(found, sizeof found, e->text + t->at, t->end - t->at));
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

bool token_is_word(const struct token *t, const char *word)
{
    if (t->kind != TOKEN_NAME || t->len != strlen(word)) {
        return false;
    }
    for (size_t i = 0; i < t->len; i++) {
        char c = t->text[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c) != word[i]) {
            return false;
        }
    }
    return true;
}

static grebe_status bad(const struct expr *e, size_t at, const char *what, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_EINVAL, "condition, column %zu: %s", expr_column_of(e, at), what);
}

/* 'text' or "name": the quote is doubled inside. */
static grebe_status lex_quoted(struct expr *e, char quote, size_t *pos, struct token *out,
                               grebe_error *err)
{
    const char *s = e->text;
    size_t begin = *pos + 1;
    size_t end = begin;
    while (s[end] != '\0' && (s[end] != quote || s[end + 1] == quote)) {
        end += s[end] == quote ? 2 : 1;
    }
    if (s[end] == '\0') {
        return bad(e, *pos, quote == '\'' ? "a string without its closing '"
                                          : "a name without its closing \"", err);
    }
    char *text = arena_alloc(&e->arena, end - begin + 1);
    if (text == NULL) {
        return mem_fail(err, end - begin + 1, "a condition");
    }
    size_t n = 0;
    for (size_t p = begin; p < end; p++) {
        p += s[p] == quote; /* doubled */
        text[n++] = s[p];
    }
    text[n] = '\0';
    out->kind = quote == '\'' ? TOKEN_STRING : TOKEN_QUOTED;
    out->text = text;
    out->len = n;
    if (quote == '"' && n == 0) {
        return bad(e, *pos, "an empty name", err);
    }
    *pos = end + 1;
    return GREBE_OK;
}

static int hex_value(char c)
{
    return is_digit(c) ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                            : -1;
}

static grebe_status lex_blob(struct expr *e, size_t *pos, struct token *out, grebe_error *err)
{
    size_t at = *pos;
    ++*pos;
    grebe_status st = lex_quoted(e, '\'', pos, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    char *bytes = (char *)(uintptr_t)out->text;
    for (size_t i = 0; i + 1 < out->len; i += 2) {
        int high = hex_value(out->text[i]);
        int low = hex_value(out->text[i + 1]);
        if (high < 0 || low < 0) {
            return bad(e, at, "x'…' holds something else than hexadecimal digits", err);
        }
        bytes[i / 2] = (char)(high << 4 | low);
    }
    if (out->len % 2 != 0) {
        return bad(e, at, "x'…' holds an odd number of digits", err);
    }
    out->len /= 2;
    out->kind = TOKEN_BLOB;
    return GREBE_OK;
}

static grebe_status lex_number(struct expr *e, size_t *pos, struct token *out, grebe_error *err)
{
    const char *s = e->text;
    size_t p = *pos;
    while (is_digit(s[p])) {
        p++;
    }
    if (s[p] == '.') {
        p++;
        while (is_digit(s[p])) {
            p++;
        }
    }
    if ((s[p] | 0x20) == 'e' &&
        (is_digit(s[p + 1]) || ((s[p + 1] == '-' || s[p + 1] == '+') && is_digit(s[p + 2])))) {
        p += 2;
        while (is_digit(s[p])) {
            p++;
        }
    }
    if (is_name_char(s[p])) {
        return bad(e, *pos, "a number runs into a word (quote names that begin with a digit)", err);
    }
    out->kind = TOKEN_NUMBER;
    out->text = s + *pos;
    out->len = p - *pos;
    *pos = p;
    return GREBE_OK;
}

static grebe_status lex_operator(struct expr *e, size_t *pos, struct token *out, grebe_error *err)
{
    static const char pairs[][3] = { "==", "<>", "!=", "<=", ">=", "||" };
    const char *s = e->text + *pos;
    out->kind = TOKEN_OP;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (s[0] == pairs[i][0] && s[1] == pairs[i][1]) {
            out->op = OP2(s[0], s[1]);
            *pos += 2;
            return GREBE_OK;
        }
    }
    if (strchr("=<>+-*/%(),.[]", s[0]) == NULL) {
        size_t n = utf8_char_len(s, strlen(s));
        char text[16];
        return GREBE_FAIL(err, GREBE_EINVAL, "condition, column %zu: '%s' has no meaning here",
                          expr_column_of(e, *pos),
                          error_quote(text, sizeof text, s, n > 0 ? n : 1));
    }
    out->op = s[0];
    ++*pos;
    return GREBE_OK;
}

grebe_status expr_lex(struct expr *e, size_t *pos, bool is_after_name, struct token *out,
                      grebe_error *err)
{
    const char *s = e->text;
    grebe_status st = GREBE_OK;
    while (s[*pos] == ' ' || s[*pos] == '\t' || s[*pos] == '\n' || s[*pos] == '\r') {
        ++*pos;
    }
    memset(out, 0, sizeof *out);
    out->at = *pos;
    char c = s[*pos];
    if (c == '\0') {
        out->kind = TOKEN_END;
    } else if (c == '\'' || c == '"') {
        st = lex_quoted(e, c, pos, out, err);
    } else if ((c == 'x' || c == 'X') && s[*pos + 1] == '\'') {
        st = lex_blob(e, pos, out, err);
    } else if (is_digit(c) || (c == '.' && !is_after_name && is_digit(s[*pos + 1]))) {
        st = lex_number(e, pos, out, err);
    } else if (is_name_char(c)) {
        out->kind = TOKEN_NAME;
        out->text = s + *pos;
        while (is_name_char(s[*pos])) {
            ++*pos;
        }
        out->len = *pos - out->at;
    } else {
        st = lex_operator(e, pos, out, err);
    }
    out->end = *pos;
    return st;
}
