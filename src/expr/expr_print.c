/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr_internal.h"

#include <string.h>

#include "arrow/type_text.h"

static grebe_status print_node(struct buf *dst, const struct expr_node *node, grebe_error *err);

static grebe_status put_quoted(struct buf *dst, char quote, const char *s, size_t len,
                               grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, (uint8_t)quote, err);
    for (size_t i = 0; i < len && st == GREBE_OK; i++) {
        if (s[i] == quote) {
            st = buf_put_byte(dst, (uint8_t)quote, err);
        }
        if (st == GREBE_OK) {
            st = buf_put_byte(dst, (uint8_t)s[i], err);
        }
    }
    return st != GREBE_OK ? st : buf_put_byte(dst, (uint8_t)quote, err);
}

static grebe_status print_literal(struct buf *dst, const struct expr_node *node, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    switch (node->literal) {
    case LIT_NULL: return buf_put_text(dst, "null", err);
    case LIT_BOOL: return buf_put_text(dst, node->boolean ? "true" : "false", err);
    case LIT_NUMBER: return buf_put(dst, node->text, node->len, err);
    case LIT_STRING: return put_quoted(dst, '\'', node->text, node->len, err);
    case LIT_TIMESTAMP:
    case LIT_DATE:
        st = buf_put_text(dst, node->literal == LIT_DATE ? "date " : "timestamp ", err);
        return st != GREBE_OK ? st : put_quoted(dst, '\'', node->text, node->len, err);
    case LIT_BLOB: break;
    }
    st = buf_put_text(dst, "x'", err);
    for (size_t i = 0; i < node->len && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, "%02x", (unsigned)(unsigned char)node->text[i]);
    }
    return st != GREBE_OK ? st : buf_put_byte(dst, '\'', err);
}

static bool is_plain_name(const char *name, size_t len)
{
    static const char *const words[] = { "and",    "or",   "not",  "in",    "is",   "like",
                                         "between", "escape", "null", "true", "false",
                                         "timestamp", "date", "x" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        bool is_same = strlen(words[i]) == len;
        for (size_t k = 0; k < len && is_same; k++) {
            char c = name[k];
            is_same = (c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c) == words[i][k];
        }
        if (is_same) {
            return false;
        }
    }
    return type_text_is_plain_name(name, len);
}

static grebe_status print_path(struct buf *dst, const struct expr_node *node, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < node->n_steps && st == GREBE_OK; i++) {
        const struct path_step *step = &node->steps[i];
        if (step->name == NULL) {
            st = buf_printf(dst, err, "[%lld]", (long long)step->index);
            continue;
        }
        if (i > 0) {
            st = buf_put_byte(dst, '.', err);
        }
        if (st == GREBE_OK) {
            st = is_plain_name(step->name, step->name_len)
                     ? buf_put(dst, step->name, step->name_len, err)
                     : put_quoted(dst, '"', step->name, step->name_len, err);
        }
    }
    return st;
}

/* "(a <between> b <between> c)" */
static grebe_status print_joined(struct buf *dst, const struct expr_node *node, const char *open,
                                 size_t begin, const char *between, const char *close,
                                 grebe_error *err)
{
    grebe_status st = buf_put_text(dst, open, err);
    for (size_t i = begin; i < node->n_kids && st == GREBE_OK; i++) {
        if (i > begin) {
            st = buf_put_text(dst, between, err);
        }
        if (st == GREBE_OK) {
            st = print_node(dst, node->kids[i], err);
        }
    }
    return st != GREBE_OK ? st : buf_put_text(dst, close, err);
}

static grebe_status print_node(struct buf *dst, const struct expr_node *node, grebe_error *err)
{
    static const char *const compares[] = { " = ", " <> ", " < ", " <= ", " > ", " >= " };
    char op[4] = { ' ', (char)node->sub, ' ', '\0' };
    grebe_status st = GREBE_OK;
    switch (node->op) {
    case OP_LITERAL: return print_literal(dst, node, err);
    case OP_COLUMN: return print_path(dst, node, err);
    case OP_AND: return print_joined(dst, node, "(", 0, " and ", ")", err);
    case OP_OR: return print_joined(dst, node, "(", 0, " or ", ")", err);
    case OP_NOT: return print_joined(dst, node, "(not ", 0, "", ")", err);
    case OP_COMPARE: return print_joined(dst, node, "(", 0, compares[node->sub], ")", err);
    case OP_IS_NULL: return print_joined(dst, node, "(", 0, "", " is null)", err);
    case OP_IS_TRUE: return print_joined(dst, node, "(", 0, "", " is true)", err);
    case OP_IS_FALSE: return print_joined(dst, node, "(", 0, "", " is false)", err);
    case OP_ARITH: return print_joined(dst, node, "(", 0, op, ")", err);
    case OP_NEGATE: return print_joined(dst, node, "(- ", 0, "", ")", err);
    case OP_CALL:
        st = buf_put_text(dst, expr_function_name((enum expr_function)node->sub), err);
        return st != GREBE_OK ? st : print_joined(dst, node, "(", 0, ", ", ")", err);
    case OP_IN:
        st = buf_put_byte(dst, '(', err);
        if (st == GREBE_OK) {
            st = print_node(dst, node->kids[0], err);
        }
        return st != GREBE_OK ? st : print_joined(dst, node, " in (", 1, ", ", "))", err);
    case OP_BETWEEN:
        st = buf_put_byte(dst, '(', err);
        if (st == GREBE_OK) {
            st = print_node(dst, node->kids[0], err);
        }
        return st != GREBE_OK ? st : print_joined(dst, node, " between ", 1, " and ", ")", err);
    case OP_LIKE:
        st = print_joined(dst, node, "(", 0, " like ", "", err);
        if (st == GREBE_OK && node->len == 1) {
            st = buf_put_text(dst, " escape ", err);
            if (st == GREBE_OK) {
                st = put_quoted(dst, '\'', node->text, 1, err);
            }
        }
        return st != GREBE_OK ? st : buf_put_byte(dst, ')', err);
    }
    return st;
}

grebe_status expr_print(const struct expr *e, struct buf *dst, grebe_error *err)
{
    return print_node(dst, e->root, err);
}

const char *expr_describe(char *dst, size_t dst_len, const struct expr_node *node)
{
    static const char *const domains[] = { "null",    "bool",   "integer",   "integer", "double",
                                           "decimal", "string", "timestamp", "value" };
    static const char *const times[] = { "date", "timestamp", "time", "duration" };
    if (node->op == OP_COLUMN && node->leaf != NULL) {
        return type_quote(dst, dst_len, node->leaf);
    }
    const char *text = node->domain == D_TIME                      ? times[node->time.kind]
                       : node->domain == D_BYTES && !node->is_text ? "binary"
                                                                   : domains[node->domain];
    return error_quote(dst, dst_len, text, strlen(text));
}
