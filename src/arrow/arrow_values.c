/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_internal.h"

#include <assert.h>

int64_t arrow_load_int(const void *values, enum arrow_kind kind, int64_t i)
{
    const unsigned char *p = values;
    switch (kind) {
    case ARROW_INT8: return ((const int8_t *)values)[i];
    case ARROW_UINT8: return p[i];
    case ARROW_INT16: {
        int16_t v;
        memcpy(&v, p + i * 2, sizeof v);
        return v;
    }
    case ARROW_UINT16: {
        uint16_t v;
        memcpy(&v, p + i * 2, sizeof v);
        return v;
    }
    case ARROW_UINT32: {
        uint32_t v;
        memcpy(&v, p + i * 4, sizeof v);
        return v;
    }
    case ARROW_UINT64: {
        uint64_t v;
        memcpy(&v, p + i * 8, sizeof v);
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    case ARROW_INT64: return load_i64_at(values, i);
    default: assert(kind == ARROW_INT32); return load_i32_at(values, i);
    }
}

struct arrow_bytes arrow_bytes_at(const struct ArrowArray *array, enum arrow_kind kind,
                                  int32_t byte_width, int64_t i)
{
    i += array->offset;
    if (kind == ARROW_FIXED_BINARY) {
        const char *p = array->buffers[1];
        return (struct arrow_bytes){ p != NULL ? p + i * byte_width : "", byte_width };
    }
    if (arrow_kind_is_view(kind)) {
        struct arrow_view v;
        const char *slot = (const char *)array->buffers[1] + i * (int64_t)sizeof v;
        memcpy(&v, slot, sizeof v);
        if (v.len <= ARROW_VIEW_INLINE_MAX) {
            return (struct arrow_bytes){ slot + 4, v.len };
        }
        return (struct arrow_bytes){ (const char *)array->buffers[2 + v.buffer_index] + v.offset,
                                     v.len };
    }
    int width = arrow_offset_width(kind);
    int64_t begin = load_offset(array->buffers[1], width, i);
    int64_t end = load_offset(array->buffers[1], width, i + 1);
    const char *p = array->buffers[2];
    return (struct arrow_bytes){ p != NULL ? p + begin : "", end - begin };
}

int64_t arrow_run_of(const struct ArrowArray *ends, enum arrow_kind kind, int64_t i)
{
    int64_t low = 0;
    int64_t high = ends->length;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (arrow_load_int(ends->buffers[1], kind, ends->offset + middle) <= i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool array_is_null(const struct ArrowArray *array, int64_t i)
{
    if (array->n_buffers == 0) {
        return array->n_children == 0;
    }
    const uint8_t *bits = array->buffers[0];
    return array->null_count != 0 && bits != NULL && !bit_get(bits, array->offset + i);
}

int64_t array_null_count(const struct ArrowArray *array)
{
    if (array->n_buffers == 0) {
        return array->n_children == 0 ? array->length : 0;
    }
    if (array->null_count >= 0) {
        return array->null_count;
    }
    const uint8_t *bits = array->buffers[0];
    return bits == NULL ? 0 : array->length - bitmap_count(bits, array->offset, array->length);
}

const char *field_label(char *dst, size_t dst_len, const struct ArrowSchema *schema)
{
    const char *name = schema->name;
    if (name == NULL || name[0] == '\0') {
        name = schema->format;
    }
    return error_quote(dst, dst_len, name, strlen(name));
}
