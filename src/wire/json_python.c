/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json_python.h"

#include <string.h>

#include "base/utf8.h"

static uint32_t code_point(const unsigned char *s, size_t n)
{
    switch (n) {
    case 1: return s[0];
    case 2: return (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
    case 3: return (uint32_t)(s[0] & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
    default:
        return (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3f) << 12 | (uint32_t)(s[2] & 0x3f) << 6 |
               (s[3] & 0x3f);
    }
}

static grebe_status put_char(struct buf *dst, uint32_t c, grebe_error *err)
{
    switch (c) {
    case '"': return buf_put(dst, "\\\"", 2, err);
    case '\\': return buf_put(dst, "\\\\", 2, err);
    case '\n': return buf_put(dst, "\\n", 2, err);
    case '\r': return buf_put(dst, "\\r", 2, err);
    case '\t': return buf_put(dst, "\\t", 2, err);
    case '\f': return buf_put(dst, "\\f", 2, err);
    case '\b': return buf_put(dst, "\\b", 2, err);
    default: break;
    }
    if (c >= 0x20 && c < 0x7f) {
        return buf_put_byte(dst, (uint8_t)c, err);
    }
    if (c < 0x10000) {
        return buf_printf(dst, err, "\\u%04x", (unsigned)c);
    }
    c -= 0x10000;
    return buf_printf(dst, err, "\\u%04x\\u%04x", (unsigned)(0xd800 + (c >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
}

grebe_status json_python_string(struct buf *dst, const char *s, size_t len, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '"', err);
    for (size_t i = 0; st == GREBE_OK && i < len;) {
        size_t n = utf8_char_len(s + i, len - i);
        /* 0x7f is ASCII, and Python leaves it as it is */
        if (n == 1 && s[i] == 0x7f) {
            st = buf_put_byte(dst, 0x7f, err);
        } else {
            st = put_char(dst, n == 0 ? 0xfffd : code_point((const unsigned char *)s + i, n), err);
        }
        i += n == 0 ? 1 : n;
    }
    return st == GREBE_OK ? buf_put_byte(dst, '"', err) : st;
}

static grebe_status new_line(struct buf *dst, int indent, int depth, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '\n', err);
    for (int i = 0; st == GREBE_OK && i < indent * depth; i++) {
        st = buf_put_byte(dst, ' ', err);
    }
    return st;
}

grebe_status json_python_open(struct buf *dst, char bracket, grebe_error *err)
{
    return buf_put_byte(dst, (uint8_t)bracket, err);
}

grebe_status json_python_next(struct buf *dst, size_t i, int indent, int depth, grebe_error *err)
{
    grebe_status st = i > 0 ? buf_put_byte(dst, ',', err) : GREBE_OK;
    if (st == GREBE_OK && indent >= 0) {
        st = new_line(dst, indent, depth + 1, err);
    } else if (st == GREBE_OK && i > 0) {
        st = buf_put_byte(dst, ' ', err);
    }
    return st;
}

grebe_status json_python_close(struct buf *dst, char bracket, size_t n, int indent, int depth, grebe_error *err)
{
    grebe_status st = n > 0 && indent >= 0 ? new_line(dst, indent, depth, err) : GREBE_OK;
    return st == GREBE_OK ? buf_put_byte(dst, (uint8_t)bracket, err) : st;
}

grebe_status json_python_key(struct buf *dst, const char *key, size_t i, int indent, int depth, grebe_error *err)
{
    grebe_status st = json_python_next(dst, i, indent, depth, err);
    if (st == GREBE_OK) {
        st = json_python_string(dst, key, strlen(key), err);
    }
    return st == GREBE_OK ? buf_put(dst, ": ", 2, err) : st;
}

/* Depth is bounded by JSON_DEPTH_MAX. */
grebe_status json_python_value(struct buf *dst, const struct json_value *v, int indent, int depth, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    switch (v->type) {
    case JSON_NULL: return buf_put_text(dst, "null", err);
    case JSON_BOOL: return buf_put_text(dst, v->boolean ? "true" : "false", err);
    case JSON_NUMBER: return buf_put(dst, v->text, v->n, err);
    case JSON_STRING: return json_python_string(dst, v->text, v->n, err);
    case JSON_ARRAY:
        GREBE_TRY(json_python_open(dst, '[', err));
        for (size_t i = 0; i < v->n; i++) {
            GREBE_TRY(json_python_next(dst, i, indent, depth, err));
            GREBE_TRY(json_python_value(dst, &v->items[i], indent, depth + 1, err));
        }
        return json_python_close(dst, ']', v->n, indent, depth, err);
    case JSON_OBJECT:
        GREBE_TRY(json_python_open(dst, '{', err));
        for (size_t i = 0; i < v->n; i++) {
            GREBE_TRY(json_python_next(dst, i, indent, depth, err));
            GREBE_TRY(json_python_string(dst, v->members[i].key, v->members[i].key_len, err));
            GREBE_TRY(buf_put(dst, ": ", 2, err));
            GREBE_TRY(json_python_value(dst, &v->members[i].value, indent, depth + 1, err));
        }
        return json_python_close(dst, '}', v->n, indent, depth, err);
    }
out:
    return st;
}

static bool copy_into(struct arena *ar, struct json_value *to, const struct json_value *v)
{
    *to = *v;
    if (v->type == JSON_STRING || v->type == JSON_NUMBER) {
        to->text = arena_str(ar, v->text, v->n);
        return to->text != NULL;
    }
    if (v->type == JSON_ARRAY) {
        struct json_value *items = arena_array(ar, v->n, sizeof *items);
        to->items = items;
        for (size_t i = 0; items != NULL && i < v->n; i++) {
            if (!copy_into(ar, &items[i], &v->items[i])) {
                return false;
            }
        }
        return items != NULL;
    }
    if (v->type == JSON_OBJECT) {
        struct json_member *members = arena_array(ar, v->n, sizeof *members);
        to->members = members;
        for (size_t i = 0; members != NULL && i < v->n; i++) {
            members[i].key = arena_str(ar, v->members[i].key, v->members[i].key_len);
            members[i].key_len = v->members[i].key_len;
            if (members[i].key == NULL || !copy_into(ar, &members[i].value, &v->members[i].value)) {
                return false;
            }
        }
        return members != NULL;
    }
    return true;
}

const struct json_value *json_value_copy(struct arena *ar, const struct json_value *v)
{
    struct json_value *out = arena_alloc(ar, sizeof *out);
    return out != NULL && copy_into(ar, out, v) ? out : NULL;
}
