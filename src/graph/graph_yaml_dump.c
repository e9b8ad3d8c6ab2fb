/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_yaml.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"

/* Whether a text may stand without quotes (a part of what PyYAML allows, and nothing that it does not). */
static bool is_plain_enough(const char *s, size_t n)
{
    struct yaml_tree as_plain = { .type = YAML_TREE_SCALAR, .is_plain = true, .n = n, .text = s };
    if (n == 0 || strlen(s) != n || graph_yaml_scalar_of(&as_plain).kind != GRAPH_YAML_TEXT || s[0] == ' ' ||
        s[n - 1] == ' ' || strchr("-?:,[]{}#&*!|>'\"%@`=<", s[0]) != NULL || strncmp(s, "...", 3) == 0) {
        return false;
    }
    if (s[0] >= '0' && s[0] <= '9' && n >= 8 && s[4] == '-') { /* may be a date */
        return false;
    }
    if (strspn(s, "+-.0123456789_:") == n) { /* like a number or a time */
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool is_bad =
            c < 0x20 || c >= 0x7f || (c == ':' && (i + 1 == n || s[i + 1] == ' ')) || (c == '#' && s[i - 1] == ' ');
        if (is_bad) {
            return false;
        }
    }
    return true;
}

static grebe_status put_quoted(struct buf *dst, const char *s, size_t n, grebe_error *err)
{
    bool is_simple = true; /* for single quotes */
    for (size_t i = 0; i < n; i++) {
        is_simple = is_simple && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x7f;
    }
    grebe_status st = buf_put_byte(dst, is_simple ? '\'' : '"', err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        unsigned char c = (unsigned char)s[i];
        if (is_simple) {
            st = c == '\'' ? buf_put_text(dst, "''", err) : buf_put_byte(dst, c, err);
        } else if (c == '"' || c == '\\') {
            st = buf_printf(dst, err, "\\%c", c);
        } else if (c == '\n') {
            st = buf_put_text(dst, "\\n", err);
        } else {
            st = c < 0x20 || c == 0x7f ? buf_printf(dst, err, "\\x%02X", c) : buf_put_byte(dst, c, err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, is_simple ? '\'' : '"', err) : st;
}

static grebe_status put_text(struct buf *dst, const char *s, size_t n, grebe_error *err)
{
    return is_plain_enough(s, n) ? buf_put(dst, s, n, err) : put_quoted(dst, s, n, err);
}

static grebe_status put_scalar(struct buf *dst, const struct yaml_tree *t, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    struct graph_yaml_scalar x = graph_yaml_scalar_of(t);
    switch (x.kind) {
    case GRAPH_YAML_NULL: return buf_put_text(dst, "null", err);
    case GRAPH_YAML_BOOL: return buf_put_text(dst, x.boolean ? "true" : "false", err);
    case GRAPH_YAML_INT: return buf_put(dst, text, number_put_i64(text, x.integer), err);
    case GRAPH_YAML_FLOAT:
        if (isnan(x.real) || isinf(x.real)) {
            return buf_put_text(dst, isnan(x.real) ? ".nan" : x.real > 0 ? ".inf" : "-.inf", err);
        }
        size_t n = number_put_double(text, x.real, &number_style_python);
        if (memchr(text, '.', n) == NULL) { /* a float of YAML 1.1 has a point: 1.0e+16 */
            char *e = memchr(text, 'e', n);
            memmove(e + 2, e, n - (size_t)(e - text));
            memcpy(e, ".0", 2);
            n += 2;
        }
        return buf_put(dst, text, n, err);
    default: break;
    }
    /* what stood without quotes may do so again, dates too */
    return t->is_plain && strlen(t->text) == t->n && strpbrk(t->text, "\n") == NULL && t->n > 0
               ? buf_put(dst, t->text, t->n, err)
               : put_text(dst, t->text, t->n, err);
}

static grebe_status put_spaces(struct buf *dst, size_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = buf_put_byte(dst, ' ', err);
    }
    return st;
}

static int compare_keys(const struct yaml_tree *x, const struct yaml_tree *y)
{
    size_t n = x->n < y->n ? x->n : y->n;
    int order = memcmp(x->text, y->text, n);
    return order != 0 ? order : x->n < y->n ? -1 : x->n > y->n;
}

/* Readers look for the ':' of a plain key within 1,024 bytes; a longer one stands behind "?", with its value as an item. */
static bool is_long_key(const struct yaml_tree *key)
{
    enum { KEY_CHARACTERS_MAX = 122 }; /* PyYAML 6, Emitter.check_simple_key, with "!!str" */
    size_t n = 0;
    for (size_t i = 0; i < key->n; i++) {
        n += ((unsigned char)key->text[i] & 0xc0) != 0x80; /* the first byte of a character */
    }
    return n > KEY_CHARACTERS_MAX;
}

static grebe_status put_map(struct buf *dst, const struct yaml_tree *t, size_t indent, bool is_begun, grebe_error *err);

/* What follows "key:" or as an item "-" or the ':' of a long key; ends the line. */
static grebe_status put_value(struct buf *dst, const struct yaml_tree *v, size_t indent, bool is_item, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (v->type == YAML_TREE_SCALAR || v->n == 0) {
        GREBE_TRY(buf_put_byte(dst, ' ', err));
        GREBE_TRY(v->type == YAML_TREE_SCALAR ? put_scalar(dst, v, err)
                                              : buf_put_text(dst, v->type == YAML_TREE_LIST ? "[]" : "{}", err));
        return buf_put_byte(dst, '\n', err);
    }
    if (v->type == YAML_TREE_MAP) {
        GREBE_TRY(buf_put_byte(dst, is_item ? ' ' : '\n', err));
        return put_map(dst, v, indent + 2, is_item, err);
    }
    GREBE_TRY(buf_put_byte(dst, is_item ? ' ' : '\n', err));
    for (size_t i = 0; i < v->n; i++) {
        size_t at =
            is_item ? indent + 2 : indent; /* items of a key stand below the key, those of an item are moved in */
        GREBE_TRY(put_spaces(dst, i == 0 && is_item ? 0 : at, err));
        GREBE_TRY(buf_put_byte(dst, '-', err));
        GREBE_TRY(put_value(dst, v->items[i], at, true, err));
    }
out:
    return st;
}

/* Each key after the one that is next in order; maps are small. */
static grebe_status put_map(struct buf *dst, const struct yaml_tree *t, size_t indent, bool is_begun, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct yaml_pair *last = NULL;
    for (size_t n = 0; n < t->n; n++) {
        const struct yaml_pair *next = NULL;
        for (size_t i = 0; i < t->n; i++) {
            const struct yaml_pair *p = &t->pairs[i];
            if ((last == NULL || compare_keys(p->key, last->key) > 0) &&
                (next == NULL || compare_keys(p->key, next->key) < 0)) {
                next = p;
            }
        }
        GREBE_TRY(put_spaces(dst, n == 0 && is_begun ? 0 : indent, err));
        const bool is_long = is_long_key(next->key);
        GREBE_TRY(is_long ? buf_put_text(dst, "? ", err) : GREBE_OK);
        GREBE_TRY(put_scalar(dst, next->key, err));
        if (is_long) {
            GREBE_TRY(buf_put_byte(dst, '\n', err));
            GREBE_TRY(put_spaces(dst, indent, err));
        }
        GREBE_TRY(buf_put_byte(dst, ':', err));
        GREBE_TRY(put_value(dst, next->value, indent, is_long, err));
        last = next;
    }
out:
    return st;
}

grebe_status graph_yaml_dump(struct buf *dst, const struct yaml_tree *map, grebe_error *err)
{
    return map->n == 0 ? buf_put_text(dst, "{}\n", err) : put_map(dst, map, 0, false, err);
}
