/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_builder.h"

#include <assert.h>

#include "base/checked.h"

void text_builder_init(struct text_builder *b, const grebe_allocator *a,
                       enum text_builder_kind kind, size_t width)
{
    memset(b, 0, sizeof *b);
    b->a = a;
    b->kind = kind;
    b->width = width;
}

void text_builder_release(struct text_builder *b)
{
    region_drop(b->validity);
    region_drop(b->values);
    region_drop(b->text);
    b->validity = b->values = b->text = NULL;
    b->bits = b->data = NULL;
    b->chars = NULL;
    b->n = b->n_nulls = b->capacity = b->text_len = b->text_capacity = 0;
}

/* Bytes of the values buffer for n values; SIZE_MAX when they do not fit. */
static size_t value_bytes(const struct text_builder *b, size_t n)
{
    size_t bytes = 0;
    switch (b->kind) {
    case TEXT_BUILDER_BITS: return n / 8 + (n % 8 != 0);
    case TEXT_BUILDER_FIXED: return checked_mul_size(n, b->width, &bytes) ? bytes : SIZE_MAX;
    case TEXT_BUILDER_TEXT:
    case TEXT_BUILDER_LIST:
        return n < SIZE_MAX / 8 ? (n + 1) * sizeof(int32_t) : SIZE_MAX;
    default: return 0;
    }
}

/* A larger region with the first `used` bytes of the old one, the rest zero where asked. */
static grebe_status move_to(const grebe_allocator *a, struct region **r, size_t used, size_t bytes,
                            bool is_zeroed, grebe_error *err)
{
    struct region *larger = NULL;
    grebe_status st = region_new(a, bytes, &larger, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (used > 0) {
        memcpy(larger->data, (*r)->data, used);
    }
    if (is_zeroed) {
        memset(larger->data + used, 0, bytes - used);
    }
    region_drop(*r);
    *r = larger;
    return GREBE_OK;
}

grebe_status text_builder_grow(struct text_builder *b, size_t extra, grebe_error *err)
{
    size_t wanted = 0;
    if (!checked_add_size(b->n, extra, &wanted) || wanted > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d values in a batch, found more",
                          INT32_MAX);
    }
    size_t capacity = max_size(max_size(wanted, 2 * b->capacity), 64);
    bool is_first = b->values == NULL, has_values = value_bytes(b, 1) > 0;
    bool is_offsets = b->kind == TEXT_BUILDER_TEXT || b->kind == TEXT_BUILDER_LIST;
    size_t used = is_first ? 0 : value_bytes(b, b->n);
    grebe_status st = GREBE_OK;
    if (value_bytes(b, capacity) == SIZE_MAX) {
        return mem_fail(err, SIZE_MAX, "values");
    }
    if (has_values) {
        st = move_to(b->a, &b->values, used, value_bytes(b, capacity),
                     b->kind == TEXT_BUILDER_BITS, err);
        if (st != GREBE_OK) {
            return st;
        }
        b->data = b->values->data;
        if (is_offsets && is_first) {
            memset(b->data, 0, sizeof(int32_t));
        }
    }
    if (b->validity != NULL) {
        st = move_to(b->a, &b->validity, bitmap_bytes((int64_t)b->n),
                     bitmap_bytes((int64_t)capacity), true, err);
        if (st != GREBE_OK) {
            return st;
        }
        b->bits = b->validity->data;
    }
    b->capacity = capacity;
    return GREBE_OK;
}

grebe_status text_builder_grow_text(struct text_builder *b, size_t extra, grebe_error *err)
{
    size_t wanted = b->text_len + extra;
    if (wanted > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected texts of 2 GiB at most in a batch");
    }
    size_t capacity = max_size(max_size(wanted, 2 * b->text_capacity), 256);
    grebe_status st =
        move_to(b->a, &b->text, b->text_len, capacity + TEXT_BUILDER_SLACK, false, err);
    if (st == GREBE_OK) {
        b->chars = (char *)b->text->data;
        b->text_capacity = capacity;
    }
    return st;
}

grebe_status text_builder_need_bits(struct text_builder *b, grebe_error *err)
{
    if (b->bits != NULL) {
        return GREBE_OK;
    }
    size_t bytes = bitmap_bytes((int64_t)b->capacity);
    grebe_status st = region_new(b->a, bytes, &b->validity, err);
    if (st == GREBE_OK) {
        b->bits = b->validity->data;
        memset(b->bits, 0, bytes);
        bitmap_fill(b->bits, 0, (int64_t)b->n, true);
    }
    return st;
}

grebe_status text_builder_put_nulls(struct text_builder *b, size_t n, grebe_error *err)
{
    grebe_status st = text_builder_reserve(b, n, err);
    if (st == GREBE_OK && b->kind != TEXT_BUILDER_NULLS) {
        st = text_builder_need_bits(b, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (b->kind == TEXT_BUILDER_FIXED) {
        memset(b->data + b->n * b->width, 0, n * b->width);
    } else if (b->kind == TEXT_BUILDER_TEXT || b->kind == TEXT_BUILDER_LIST) {
        int32_t *offsets = (int32_t *)(void *)b->data;
        for (size_t i = 0; i < n; i++) {
            offsets[b->n + i + 1] = offsets[b->n];
        }
    }
    b->n += n;
    b->n_nulls += n;
    return GREBE_OK;
}

/* The buffer moves into the array; its length is what is used. */
static void give(struct ArrowArray *out, int64_t i, struct region **r, size_t used)
{
    if (*r != NULL) {
        (*r)->len = used; /* nobody shares it yet */
        array_set_buffer(out, i, (*r)->data, *r);
        *r = NULL;
    }
}

grebe_status text_builder_finish(struct text_builder *b, int64_t n_children,
                                 struct ArrowArray *out, grebe_error *err)
{
    static const int64_t n_buffers[] = { 0, 2, 2, 3, 2, 1 };
    grebe_status st = GREBE_OK;
    if (b->kind == TEXT_BUILDER_TEXT && b->text == NULL) {
        GREBE_TRY(text_builder_grow_text(b, 0, err));
    }
    if (b->capacity == 0) {
        GREBE_TRY(text_builder_grow(b, 1, err));
    }
    GREBE_TRY(array_new(b->a, (int64_t)b->n, n_buffers[b->kind], n_children, out, err));
    out->null_count = (int64_t)b->n_nulls;
    if (b->kind != TEXT_BUILDER_NULLS) {
        give(out, 0, &b->validity, bitmap_bytes((int64_t)b->n));
    }
    if (n_buffers[b->kind] > 1) {
        give(out, 1, &b->values, value_bytes(b, b->n));
    }
    if (b->kind == TEXT_BUILDER_TEXT) {
        give(out, 2, &b->text, b->text_len);
    }
    text_builder_release(b);
out:
    return st;
}
