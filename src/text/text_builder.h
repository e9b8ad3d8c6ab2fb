/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_BUILDER_H
#define GREBE_TEXT_TEXT_BUILDER_H

/*
 * One array being filled, value after value. Invariants:
 * 1. n values are there; buffers have room for `capacity` of them and stay where they are until
 *    more is reserved.
 * 2. No null so far: there is no bitmap. Bits behind n are 0.
 */

#include <string.h>

#include "arrow/arrow_array.h"

enum text_builder_kind {
    TEXT_BUILDER_NULLS,  /* null type: only counted */
    TEXT_BUILDER_BITS,   /* bool */
    TEXT_BUILDER_FIXED,  /* `width` bytes each */
    TEXT_BUILDER_TEXT,   /* 32-bit offsets and bytes */
    TEXT_BUILDER_LIST,   /* 32-bit offsets; the items are another builder's */
    TEXT_BUILDER_STRUCT, /* validity alone */
};

struct text_builder {
    const grebe_allocator *a;
    enum text_builder_kind kind;
    size_t width;
    size_t n, n_nulls, capacity;
    struct region *validity, *values; /* NULL: not yet needed */
    uint8_t *bits;                    /* of validity */
    unsigned char *data;              /* of values */
    struct region *text;
    char *chars; /* of text */
    size_t text_len, text_capacity;
};

/** Bytes that may be written behind the text that was asked for: short texts are copied so. */
enum { TEXT_BUILDER_SLACK = 32 };

void text_builder_init(struct text_builder *b, const grebe_allocator *a,
                       enum text_builder_kind kind, size_t width);
void text_builder_release(struct text_builder *b);

/** Room for `extra` more values. */
grebe_status text_builder_grow(struct text_builder *b, size_t extra, grebe_error *err);
static inline grebe_status text_builder_reserve(struct text_builder *b, size_t extra,
                                                grebe_error *err)
{
    return b->capacity - b->n >= extra ? GREBE_OK : text_builder_grow(b, extra, err);
}

/** Room for `extra` more bytes of text, and the slack. */
grebe_status text_builder_grow_text(struct text_builder *b, size_t extra, grebe_error *err);
static inline grebe_status text_builder_reserve_text(struct text_builder *b, size_t extra,
                                                     grebe_error *err)
{
    bool is_there = b->chars != NULL && b->text_capacity - b->text_len >= extra;
    return is_there ? GREBE_OK : text_builder_grow_text(b, extra, err);
}

/** The bitmap that the first null needs. */
grebe_status text_builder_need_bits(struct text_builder *b, grebe_error *err);

/** n nulls; room is made. */
grebe_status text_builder_put_nulls(struct text_builder *b, size_t n, grebe_error *err);

/** Value n stands in the buffers: count it. */
static inline void text_builder_took(struct text_builder *b)
{
    if (b->bits != NULL) {
        b->bits[b->n >> 3] |= (uint8_t)(1u << (b->n & 7));
    }
    b->n++;
}

/** Text that ends the value which begins at text_len; reserved before. */
static inline void text_builder_end_text(struct text_builder *b, size_t len)
{
    b->text_len += len;
    ((int32_t *)(void *)b->data)[b->n + 1] = (int32_t)b->text_len;
    text_builder_took(b);
}

/** One text, or the bytes of one value; room is made. */
static inline grebe_status text_builder_put_text(struct text_builder *b, const void *text, size_t len, grebe_error *err)
{
    grebe_status st = text_builder_reserve(b, 1, err);
    st = st == GREBE_OK ? text_builder_reserve_text(b, len, err) : st;
    if (st == GREBE_OK) {
        if (len > 0) {
            memcpy(b->chars + b->text_len, text, len);
        }
        text_builder_end_text(b, len);
    }
    return st;
}

/** The array; its children are for the caller to fill. The builder is empty then. */
grebe_status text_builder_finish(struct text_builder *b, int64_t n_children,
                                 struct ArrowArray *out, grebe_error *err);

#endif
