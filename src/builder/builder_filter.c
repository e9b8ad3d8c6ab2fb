/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_filter.h"

#include <string.h>

#include "base/error.h"

static grebe_status put_quoted(struct buf *dst, const char *text, size_t len, char quote, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, (uint8_t)quote, err);
    for (size_t i = 0; i < len && st == GREBE_OK; i++) {
        st = buf_put_byte(dst, (uint8_t)text[i], err);
        if (st == GREBE_OK && text[i] == quote) {
            st = buf_put_byte(dst, (uint8_t)quote, err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, (uint8_t)quote, err) : st;
}

static grebe_status put_value(struct buf *dst, const struct json_value *v, grebe_error *err)
{
    switch (v->type) {
    case JSON_NULL: return buf_put_text(dst, "null", err);
    case JSON_BOOL: return buf_put_text(dst, v->boolean ? "true" : "false", err);
    case JSON_NUMBER: return buf_put(dst, v->text, v->n, err);
    case JSON_STRING: return put_quoted(dst, v->text, v->n, '\'', err);
    default: return GREBE_FAIL(err, GREBE_EINVAL, "filters: expected a value, found %s", json_type_name(v->type));
    }
}

/* The values of a list that are not null: (1, 2). *n of them; *has_null: one is. */
static grebe_status put_values(struct buf *dst, const struct json_value *v, size_t *n, bool *has_null, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *n = 0;
    *has_null = false;
    for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
        if (v->items[i].type == JSON_NULL) {
            *has_null = true;
            continue;
        }
        st = buf_put_text(dst, (*n)++ == 0 ? "(" : ", ", err);
        st = st == GREBE_OK ? put_value(dst, &v->items[i], err) : st;
    }
    return st == GREBE_OK && *n > 0 ? buf_put_text(dst, ")", err) : st;
}

/* As pyarrow has it: null is in a list when null is among its values, and else not in it. */
static grebe_status put_in(struct buf *dst, const struct json_value *column, const struct json_value *list, bool is_not,
                           grebe_error *err)
{
    struct buf name = BUF_INIT(dst->a), values = BUF_INIT(dst->a);
    const char *not = is_not ? "not " : "";
    size_t n = 0;
    bool has_null = false;
    grebe_status st = GREBE_OK;
    if (list->type != JSON_ARRAY) {
        return GREBE_FAIL(err, GREBE_EINVAL, "filters: expected a list of values, found %s", json_type_name(list->type));
    }
    GREBE_TRY(put_quoted(&name, column->text, column->n, '"', err));
    GREBE_TRY(put_values(&values, list, &n, &has_null, err));
    GREBE_TRY(buf_put_byte(&name, 0, err));
    GREBE_TRY(buf_put_byte(&values, 0, err));
    const char *c = (const char *)name.data, *v = (const char *)values.data;
    if (n == 0) {
        st = has_null ? buf_printf(dst, err, "%s is %snull", c, not) : buf_put_text(dst, is_not ? "true" : "false", err);
    } else if (has_null == is_not) {
        st = buf_printf(dst, err, "%s %sin %s", c, not, v);
    } else {
        st = buf_printf(dst, err, "(%s is null or %s %sin %s)", c, c, not, v);
    }
out:
    buf_release(&name);
    buf_release(&values);
    return st;
}

static bool is_triple(const struct json_value *v)
{
    return v->type == JSON_ARRAY && v->n == 3 && v->items[0].type == JSON_STRING && v->items[1].type == JSON_STRING;
}

static grebe_status put_triple(struct buf *dst, const struct json_value *t, grebe_error *err)
{
    static const char *const ops[] = { "=", "==", "!=", "<", ">", "<=", ">=", "in", "not in", NULL };
    grebe_status st = GREBE_OK;
    size_t op = 0;
    if (!is_triple(t)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "filters: expected [column, operator, value], found %s",
                          json_type_name(t->type));
    }
    while (ops[op] != NULL && strcmp(ops[op], t->items[1].text) != 0) {
        op++;
    }
    if (ops[op] == NULL) {
        char quoted[32];
        return GREBE_FAIL(err, GREBE_EINVAL, "filters: expected one of ==, !=, <, >, <=, >=, in, not in, found \"%s\"",
                          error_quote(quoted, sizeof quoted, t->items[1].text, t->items[1].n));
    }
    if (op >= 7) {
        return put_in(dst, &t->items[0], &t->items[2], op == 8, err);
    }
    GREBE_TRY(put_quoted(dst, t->items[0].text, t->items[0].n, '"', err));
    GREBE_TRY(buf_printf(dst, err, " %s ", ops[op]));
    st = put_value(dst, &t->items[2], err);
out:
    return st;
}

static grebe_status put_all(struct buf *dst, const struct json_value *list, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (list->type != JSON_ARRAY || list->n == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "filters: expected a list that is not empty, found %s",
                          json_type_name(list->type));
    }
    for (size_t i = 0; i < list->n && st == GREBE_OK; i++) {
        st = i > 0 ? buf_put_text(dst, " and ", err) : GREBE_OK;
        st = st == GREBE_OK ? put_triple(dst, &list->items[i], err) : st;
    }
    return st;
}

grebe_status builder_filter_text(const struct json_value *filters, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (filters->type != JSON_ARRAY || filters->n == 0 || is_triple(&filters->items[0])) {
        return put_all(dst, filters, err);
    }
    for (size_t i = 0; i < filters->n && st == GREBE_OK; i++) {
        st = buf_put_text(dst, i == 0 ? "(" : " or (", err);
        st = st == GREBE_OK ? put_all(dst, &filters->items[i], err) : st;
        st = st == GREBE_OK ? buf_put_text(dst, ")", err) : st;
    }
    return st;
}
