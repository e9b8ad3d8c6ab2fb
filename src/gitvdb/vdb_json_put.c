/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_json.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "gitvdb/vdb_json_text.h"
#include "gitvdb/vdb_scan.h"

static const struct number_style double_style = { -5, 16, true, false };
static const struct number_style float_style = { -6, 13, true, false };

size_t vdb_put_double(char *dst, double v)
{
    return number_put_double(dst, v, &double_style);
}

/* Behind the bytes that stand for themselves. */
static size_t plain_run(const char *s, size_t len)
{
    size_t n = 0;
    while (n < len && s[n] != '"' && s[n] != '\\' && (unsigned char)s[n] >= 0x20) {
        n++;
    }
    return n;
}

static grebe_status put_escape(struct buf *dst, unsigned char c, grebe_error *err)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\', (char)c, '0', '0', 0, 0 };
    switch (c) {
    case '"':
    case '\\': break;
    case '\b': text[1] = 'b'; break;
    case '\f': text[1] = 'f'; break;
    case '\n': text[1] = 'n'; break;
    case '\r': text[1] = 'r'; break;
    case '\t': text[1] = 't'; break;
    default:
        text[1] = 'u';
        text[4] = hex[c >> 4];
        text[5] = hex[c & 15];
        return buf_put(dst, text, 6, err);
    }
    return buf_put(dst, text, 2, err);
}

grebe_status vdb_put_string(struct buf *dst, const char *s, size_t len, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '"', err);
    for (size_t i = 0; st == GREBE_OK && i < len;) {
        size_t n = plain_run(s + i, len - i);
        st = buf_put(dst, s + i, n, err);
        i += n;
        if (st == GREBE_OK && i < len) {
            st = put_escape(dst, (unsigned char)s[i++], err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, '"', err) : st;
}

grebe_status vdb_put_scalar(struct buf *dst, const struct vdb_value *v, bool is_wide, grebe_error *err)
{
    char text[NUMBER_TEXT_MAX];
    switch (v->type) {
    case VDB_NULL: return buf_put(dst, "null", 4, err);
    case VDB_BOOL: return buf_put_text(dst, v->boolean ? "true" : "false", err);
    case VDB_UINT: return buf_put(dst, text, number_put_u64(text, v->u), err);
    case VDB_INT: return buf_put(dst, text, number_put_i64(text, v->i), err);
    case VDB_FLOAT:
    case VDB_FLOAT32:
        if (!isfinite(v->f)) { /* nothing that is read or computed here; what JSON has for it */
            return buf_put(dst, "null", 4, err);
        }
        return v->type == VDB_FLOAT || is_wide
                   ? buf_put(dst, text, number_put_double(text, v->f, &double_style), err)
                   : buf_put(dst, text, number_put_float(text, (float)v->f, &float_style), err);
    case VDB_STRING: return vdb_put_string(dst, v->s.text, v->s.len, err);
    default: return buf_put(dst, v->s.text, v->s.len, err); /* VDB_RAW */
    }
}

static grebe_status put_array(struct buf *dst, const struct vdb_value *v, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '[', err);
    for (size_t i = 0; st == GREBE_OK && i < v->array.n; i++) {
        st = i > 0 ? buf_put_byte(dst, ',', err) : GREBE_OK;
        if (st == GREBE_OK) {
            st = vdb_json_put(dst, &v->array.items[i], err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, ']', err) : st;
}

static grebe_status put_object(struct buf *dst, const struct vdb_value *v, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '{', err);
    for (size_t i = 0; st == GREBE_OK && i < v->object.n; i++) {
        const struct vdb_member *m = &v->object.members[i];
        st = i > 0 ? buf_put_byte(dst, ',', err) : GREBE_OK;
        if (st == GREBE_OK) {
            st = vdb_put_string(dst, m->key, m->key_len, err);
        }
        if (st == GREBE_OK) {
            st = buf_put_byte(dst, ':', err);
        }
        if (st == GREBE_OK) {
            st = vdb_json_put(dst, &m->value, err);
        }
    }
    return st == GREBE_OK ? buf_put_byte(dst, '}', err) : st;
}

grebe_status vdb_json_put(struct buf *dst, const struct vdb_value *v, grebe_error *err)
{
    switch (v->type) {
    case VDB_ARRAY: return put_array(dst, v, err);
    case VDB_OBJECT: return put_object(dst, v, err);
    default: return vdb_put_scalar(dst, v, false, err);
    }
}
