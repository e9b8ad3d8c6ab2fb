/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARROW_ARROW_INTERNAL_H
#define GREBE_ARROW_ARROW_INTERNAL_H

/* Loads of Arrow values (which need not be aligned), shared by the files of this room. */

#include <string.h>

#include "arrow/arrow_array.h"

static inline int32_t load_i32_at(const void *p, int64_t i)
{
    int32_t v;
    memcpy(&v, (const char *)p + i * 4, sizeof v);
    return v;
}

static inline int64_t load_i64_at(const void *p, int64_t i)
{
    int64_t v;
    memcpy(&v, (const char *)p + i * 8, sizeof v);
    return v;
}

/** Offset i of a buffer of 4- or 8-byte offsets. */
static inline int64_t load_offset(const void *offsets, int width, int64_t i)
{
    return width == 8 ? load_i64_at(offsets, i) : load_i32_at(offsets, i);
}

static inline void store_offset(void *offsets, int width, int64_t i, int64_t v)
{
    if (width == 8) {
        memcpy((char *)offsets + i * 8, &v, 8);
    } else {
        int32_t narrow = (int32_t)v;
        memcpy((char *)offsets + i * 4, &narrow, 4);
    }
}

/** A signed or unsigned integer of 1..8 bytes; uint64 above the range of int64 gives INT64_MAX. */
int64_t arrow_load_int(const void *values, enum arrow_kind kind, int64_t i);

/* A string or binary view: 16 bytes, "Variable-size Binary View Layout". */
struct arrow_view {
    int32_t len;
    int32_t prefix;       /* first bytes when len > 12 */
    int32_t buffer_index; /* into the variadic buffers, buffers[2...] */
    int32_t offset;
};

enum { ARROW_VIEW_INLINE_MAX = 12 };

/** Bytes of slot i (offset not added) of a string or binary of any layout. */
struct arrow_bytes {
    const char *p;
    int64_t len;
};
struct arrow_bytes arrow_bytes_at(const struct ArrowArray *array, enum arrow_kind kind,
                                  int32_t byte_width, int64_t i);

/** Index of the run that holds logical slot i (offset added already). */
int64_t arrow_run_of(const struct ArrowArray *ends, enum arrow_kind kind, int64_t i);

/** Validity bits when slot nullness is by bitmap; NULL when nothing is null or the type has none. */
static inline const uint8_t *arrow_validity(const struct ArrowArray *array, enum arrow_kind kind)
{
    if (kind == ARROW_NULL || kind == ARROW_RUN_END_ENCODED || arrow_kind_is_union(kind) ||
        array->null_count == 0 || array->n_buffers == 0) {
        return NULL;
    }
    return array->buffers[0];
}

/** Buffers of an array of the kind; views have as many more as there are blocks of bytes. */
static inline int64_t arrow_buffer_count(enum arrow_kind kind)
{
    switch (kind) {
    case ARROW_NULL:
    case ARROW_RUN_END_ENCODED: return 0;
    case ARROW_STRUCT:
    case ARROW_FIXED_LIST:
    case ARROW_SPARSE_UNION: return 1;
    default:
        return arrow_kind_is_bytes(kind) || arrow_kind_is_view(kind) ||
                       arrow_kind_is_list_view(kind)
                   ? 3
                   : 2;
    }
}

/** Write a name for messages: the field's, or its format when it has none. */
const char *field_label(char *dst, size_t dst_len, const struct ArrowSchema *schema);

#endif
