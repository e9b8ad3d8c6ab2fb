/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/row_key.h"

#include <math.h>
#include <string.h>

#include "arrow/arrow_internal.h"

static grebe_status put_float(const struct arrow_type *t, const char *p, struct buf *dst, grebe_error *err)
{
    if (t->kind == ARROW_FLOAT64 || t->kind == ARROW_FLOAT32) {
        double d;
        float f;
        if (t->kind == ARROW_FLOAT64) {
            memcpy(&d, p, sizeof d);
        } else {
            memcpy(&f, p, sizeof f);
            d = (double)f;
        }
        d = d != d ? (double)NAN : d + 0.0;
        return buf_put(dst, &d, sizeof d, err);
    }
    return buf_put(dst, p, (size_t)t->byte_width, err);
}

static grebe_status put_list(const struct ArrowSchema *schema, const struct arrow_type *t,
                             const struct ArrowArray *array, int64_t at, struct buf *dst, grebe_error *err)
{
    int width = arrow_offset_width(t->kind);
    int64_t begin = at * t->list_size, n = t->list_size;
    if (t->kind != ARROW_FIXED_LIST) {
        begin = load_offset(array->buffers[1], width, at);
        n = arrow_kind_is_list_view(t->kind) ? load_offset(array->buffers[2], width, at)
                                             : load_offset(array->buffers[1], width, at + 1) - begin;
    }
    grebe_status st = buf_put(dst, &n, sizeof n, err);
    for (int64_t i = 0; i < n && st == GREBE_OK; i++) {
        st = row_key_put(schema->children[0], array->children[0], begin + i, dst, err);
    }
    return st;
}

grebe_status row_key_put(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row, struct buf *dst,
                         grebe_error *err)
{
    struct arrow_type t;
    grebe_status st = arrow_type_of(schema, &t, err);
    bool is_null = st == GREBE_OK && (t.kind == ARROW_NULL || array_is_null(array, row));
    st = st == GREBE_OK ? buf_put_byte(dst, is_null ? 0 : 1, err) : st;
    if (st != GREBE_OK || is_null) {
        return st;
    }
    int64_t at = array->offset + row;
    if (arrow_kind_is_bytes(t.kind) || arrow_kind_is_view(t.kind)) {
        struct arrow_bytes b = arrow_bytes_at(array, t.kind, t.byte_width, row);
        st = buf_put(dst, &b.len, sizeof b.len, err);
        return st == GREBE_OK ? buf_put(dst, b.p, (size_t)b.len, err) : st;
    }
    switch (t.kind) {
    case ARROW_BOOL: return buf_put_byte(dst, bit_get(array->buffers[1], at), err);
    case ARROW_STRUCT:
        for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
            st = row_key_put(schema->children[i], array->children[i], at, dst, err);
        }
        return st;
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW:
    case ARROW_FIXED_LIST:
    case ARROW_MAP: return put_list(schema, &t, array, at, dst, err);
    default: break;
    }
    if (t.byte_width <= 0 || t.is_dictionary) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "column \"%.64s\": values of its type cannot be compared",
                          schema->name);
    }
    return put_float(&t, (const char *)array->buffers[1] + at * t.byte_width, dst, err);
}
