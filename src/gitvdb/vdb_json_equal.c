/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_json.h"

#include <string.h>

static bool is_same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static bool is_same_object(const struct vdb_value *a, const struct vdb_value *b)
{
    size_t i = 0;
    if (a->object.n != b->object.n) {
        return false;
    }
    for (; i < a->object.n; i++) { /* both sorted */
        const struct vdb_member *x = &a->object.members[i];
        const struct vdb_member *y = &b->object.members[i];
        if (!is_same_text(x->key, x->key_len, y->key, y->key_len) || !vdb_json_equal(&x->value, &y->value)) {
            return false;
        }
    }
    return true;
}

bool vdb_json_equal(const struct vdb_value *a, const struct vdb_value *b)
{
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case VDB_NULL: return true;
    case VDB_BOOL: return a->boolean == b->boolean;
    case VDB_UINT: return a->u == b->u;
    case VDB_INT: return a->i == b->i;
    case VDB_FLOAT:
    case VDB_FLOAT32: return a->f == b->f;
    case VDB_STRING:
    case VDB_RAW: return is_same_text(a->s.text, a->s.len, b->s.text, b->s.len);
    case VDB_OBJECT: return is_same_object(a, b);
    case VDB_ARRAY: break;
    }
    if (a->array.n != b->array.n) {
        return false;
    }
    for (size_t i = 0; i < a->array.n; i++) {
        if (!vdb_json_equal(&a->array.items[i], &b->array.items[i])) {
            return false;
        }
    }
    return true;
}

const char *vdb_json_type_name(enum vdb_json_type type)
{
    switch (type) {
    case VDB_NULL: return "null";
    case VDB_BOOL: return "true or false";
    case VDB_UINT: return "an integer";
    case VDB_INT: return "a negative integer";
    case VDB_FLOAT:
    case VDB_FLOAT32: return "a fractional number";
    case VDB_STRING: return "a string";
    case VDB_ARRAY: return "an array";
    case VDB_OBJECT:
    case VDB_RAW: break;
    }
    return "an object";
}

/* Length of the zero with the sign (4) or without (3) that stands at p; 0: another value. */
static size_t zero_len(const char *p, const char *end)
{
    size_t n = p < end && *p == '-' ? 4 : 3;
    bool is_zero = (size_t)(end - p) > n && memcmp(p + (n - 3), "0.0", 3) == 0;
    return is_zero && (p[n] == ',' || p[n] == '}' || p[n] == ']') ? n : 0;
}

/* Canonical texts of equal values differ in the signs of zeros only. */
static bool is_same_but_zeros(const char *x, const char *x_end, const char *y, const char *y_end)
{
    bool is_string = false;
    while (x < x_end && y < y_end) {
        if (*x == *y) {
            bool is_escape = is_string && *x == '\\';
            is_string ^= *x == '"';
            x++;
            y++;
            if (is_escape && x < x_end && y < y_end) {
                if (*x++ != *y++) {
                    return false;
                }
            }
            continue;
        }
        size_t n = is_string || (*x != '-' && *y != '-') ? 0 : zero_len(x, x_end);
        size_t m = n > 0 ? zero_len(y, y_end) : 0;
        if (m == 0) {
            return false;
        }
        x += n;
        y += m;
    }
    return x == x_end && y == y_end;
}

bool vdb_payload_equal(const char *x, size_t x_len, const char *y, size_t y_len)
{
    return is_same_text(x, x_len, y, y_len) || is_same_but_zeros(x, x + x_len, y, y + y_len);
}
