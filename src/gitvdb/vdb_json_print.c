/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_json.h"

#include <string.h>

#include "base/error.h"
#include "gitvdb/vdb_json_text.h"

/* ---- indented ---- */

static grebe_status put_line_feed(struct buf *dst, size_t level, grebe_error *err)
{
    grebe_status st = buf_put_byte(dst, '\n', err);
    for (size_t i = 0; st == GREBE_OK && i < level; i++) {
        st = buf_put(dst, "  ", 2, err);
    }
    return st;
}

/* Behind the string whose opening quote is at p. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
}

/* Compact text indented: the places of commas, colons and brackets are all that counts. */
static grebe_status put_indented_text(struct buf *dst, const char *p, const char *end, size_t level, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (st == GREBE_OK && p < end) {
        const char *begin = p;
        switch (*p) {
        case '"':
            p = skip_string(p, end);
            st = buf_put(dst, begin, (size_t)(p - begin), err);
            break;
        case '{':
        case '[':
            p++;
            st = buf_put_byte(dst, (uint8_t)*begin, err);
            if (st == GREBE_OK && p < end && (*p == '}' || *p == ']')) {
                st = buf_put_byte(dst, (uint8_t)*p++, err);
            } else if (st == GREBE_OK) {
                st = put_line_feed(dst, ++level, err);
            }
            break;
        case '}':
        case ']':
            p++;
            level -= level > 0;
            st = put_line_feed(dst, level, err);
            st = st == GREBE_OK ? buf_put_byte(dst, (uint8_t)*begin, err) : st;
            break;
        case ',':
            p++;
            st = buf_put_byte(dst, ',', err);
            st = st == GREBE_OK ? put_line_feed(dst, level, err) : st;
            break;
        case ':':
            p++;
            st = buf_put(dst, ": ", 2, err);
            break;
        default:
            while (p < end && strchr("\"{}[],:", *p) == NULL) {
                p++;
            }
            p += p == begin; /* a NUL, which no JSON has */
            st = buf_put(dst, begin, (size_t)(p - begin), err);
        }
    }
    return st;
}

static grebe_status put_pretty(struct buf *dst, const struct vdb_value *v, size_t level, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_object = v->type == VDB_OBJECT;
    if (v->type == VDB_RAW) {
        return put_indented_text(dst, v->s.text, v->s.text + v->s.len, level, err);
    }
    if (!is_object && v->type != VDB_ARRAY) {
        return vdb_put_scalar(dst, v, false, err);
    }
    size_t n = is_object ? v->object.n : v->array.n;
    if (n == 0) {
        return buf_put(dst, is_object ? "{}" : "[]", 2, err);
    }
    GREBE_TRY(buf_put_byte(dst, is_object ? '{' : '[', err));
    for (size_t i = 0; i < n; i++) {
        const struct vdb_value *item = is_object ? &v->object.members[i].value : &v->array.items[i];
        if (i > 0) {
            GREBE_TRY(buf_put_byte(dst, ',', err));
        }
        GREBE_TRY(put_line_feed(dst, level + 1, err));
        if (is_object) {
            GREBE_TRY(vdb_put_string(dst, v->object.members[i].key, v->object.members[i].key_len, err));
            GREBE_TRY(buf_put(dst, ": ", 2, err));
        }
        GREBE_TRY(put_pretty(dst, item, level + 1, err));
    }
    GREBE_TRY(put_line_feed(dst, level, err));
    GREBE_TRY(buf_put_byte(dst, is_object ? '}' : ']', err));
out:
    return st;
}

/* ---- lines: keys sorted, floats as 64 bits ---- */

static int compare_keys(const struct vdb_member *a, const struct vdb_member *b)
{
    size_t n = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = n > 0 ? memcmp(a->key, b->key, n) : 0;
    return order != 0 ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

/* The member behind `last` in the order of keys; NULL: there is none. Objects of output have a handful; those that were
 * read are sorted, and the next is found at once. */
static const struct vdb_member *next_member(const struct vdb_value *v, const struct vdb_member *last)
{
    const struct vdb_member *members = v->object.members;
    const struct vdb_member *best = NULL;
    for (size_t i = 0; i < v->object.n; i++) {
        if ((last == NULL || compare_keys(&members[i], last) > 0) &&
            (best == NULL || compare_keys(&members[i], best) < 0)) {
            best = &members[i];
        }
    }
    return best;
}

static bool is_sorted(const struct vdb_value *v)
{
    size_t i = 1;
    while (i < v->object.n && compare_keys(&v->object.members[i - 1], &v->object.members[i]) < 0) {
        i++;
    }
    return i >= v->object.n;
}

static grebe_status put_sorted(struct buf *dst, const struct vdb_value *v, grebe_error *err);

static grebe_status put_sorted_object(struct buf *dst, const struct vdb_value *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_in_order = is_sorted(v);
    const struct vdb_member *m = NULL;
    GREBE_TRY(buf_put_byte(dst, '{', err));
    for (size_t i = 0; i < v->object.n; i++) {
        m = is_in_order ? &v->object.members[i] : next_member(v, m);
        if (m == NULL) { /* keys that stand twice are printed once */
            break;
        }
        if (i > 0) {
            GREBE_TRY(buf_put_byte(dst, ',', err));
        }
        GREBE_TRY(vdb_put_string(dst, m->key, m->key_len, err));
        GREBE_TRY(buf_put_byte(dst, ':', err));
        GREBE_TRY(put_sorted(dst, &m->value, err));
    }
    GREBE_TRY(buf_put_byte(dst, '}', err));
out:
    return st;
}

static grebe_status put_sorted(struct buf *dst, const struct vdb_value *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (v->type == VDB_OBJECT) {
        return put_sorted_object(dst, v, err);
    }
    if (v->type != VDB_ARRAY) {
        return vdb_put_scalar(dst, v, true, err);
    }
    GREBE_TRY(buf_put_byte(dst, '[', err));
    for (size_t i = 0; i < v->array.n; i++) {
        if (i > 0) {
            GREBE_TRY(buf_put_byte(dst, ',', err));
        }
        GREBE_TRY(put_sorted(dst, &v->array.items[i], err));
    }
    GREBE_TRY(buf_put_byte(dst, ']', err));
out:
    return st;
}

static grebe_status put_lines(struct buf *dst, const struct vdb_value *v, grebe_error *err)
{
    static const char *const lists[] = { "points", "collections", "history", "reports", "results" };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct vdb_value *list = vdb_json_get(v, lists[i], strlen(lists[i]));
        if (list != NULL && list->type == VDB_ARRAY) {
            for (size_t k = 0; k < list->array.n; k++) {
                GREBE_TRY(put_sorted(dst, &list->array.items[k], err));
                GREBE_TRY(buf_put_byte(dst, '\n', err));
            }
            goto out;
        }
    }
    GREBE_TRY(put_sorted(dst, v, err));
    GREBE_TRY(buf_put_byte(dst, '\n', err));
out:
    return st;
}

grebe_status vdb_json_print(struct buf *dst, const struct vdb_value *v, enum vdb_print form, grebe_error *err)
{
    if (form == VDB_PRINT_LINES) {
        return put_lines(dst, v, err);
    }
    grebe_status st = form == VDB_PRINT_PRETTY ? put_pretty(dst, v, 0, err) : vdb_json_put(dst, v, err);
    return st == GREBE_OK ? buf_put_byte(dst, '\n', err) : st;
}
