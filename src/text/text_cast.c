/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_cast.h"

#include <inttypes.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "arrow/type_text.h"
#include "base/utf8.h"
#include "text/text_given.h"
#include "text/text_value.h"

static bool is_binary(enum arrow_kind k)
{
    return k == ARROW_BINARY || k == ARROW_LARGE_BINARY || k == ARROW_BINARY_VIEW ||
           k == ARROW_FIXED_BINARY;
}

/* One value, of one width: what text_given_store makes. */
static bool is_plain(enum arrow_kind k)
{
    return (k >= ARROW_BOOL && k <= ARROW_FLOAT64) || (k >= ARROW_DATE32 && k <= ARROW_DURATION) ||
           (k >= ARROW_DECIMAL32 && k <= ARROW_DECIMAL256);
}

static bool knows(const struct arrow_type *f, const struct arrow_type *t)
{
    bool from_text = arrow_kind_is_text(f->kind), to_text = arrow_kind_is_text(t->kind);
    if (f->is_dictionary || t->is_dictionary) {
        return false;
    }
    return (from_text && (is_plain(t->kind) || is_binary(t->kind))) ||
           (to_text && (is_plain(f->kind) || is_binary(f->kind)));
}

bool text_cast_knows(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    struct arrow_type f, t;
    return arrow_type_of(from, &f, NULL) == GREBE_OK && arrow_type_of(to, &t, NULL) == GREBE_OK &&
           knows(&f, &t);
}

static grebe_status copy_validity(const grebe_allocator *a, const struct ArrowArray *array,
                                  struct ArrowArray *out, grebe_error *err)
{
    void *p = NULL;
    out->null_count = array_null_count(array);
    if (out->null_count == 0) {
        return GREBE_OK;
    }
    grebe_status st = array_alloc_buffer(a, out, 0, bitmap_bytes(array->length), &p, err);
    if (st == GREBE_OK) {
        memset(p, 0, bitmap_bytes(array->length));
        bitmap_copy(p, 0, array->buffers[0], array->offset, array->length);
    }
    return st;
}

/* ---- to bytes ---- */

/* Value i appended; bytes that are to be text must be UTF-8. */
static grebe_status put_bytes(struct buf *values, const struct text_column *column,
                              const struct arrow_type *f, bool to_text,
                              const struct ArrowArray *array, int64_t i, int64_t first_row,
                              grebe_error *err)
{
    bool is_null = false;
    if (is_plain(f->kind)) {
        return text_put_plain(values, column, array, i, &is_null, err);
    }
    struct arrow_bytes b = arrow_bytes_at(array, f->kind, f->byte_width, i);
    if (to_text && is_binary(f->kind) && !utf8_is_valid(b.p, (size_t)b.len)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "row %" PRId64 ": %lld bytes that are no UTF-8",
                          first_row + i, (long long)b.len);
    }
    return buf_put(values, b.p, (size_t)b.len, err);
}

/* Every value as bytes of a large string (or binary), offsets of 8 bytes. */
static grebe_status fill_bytes(const grebe_allocator *a, const struct ArrowSchema *from,
                               const struct arrow_type *f, bool to_text,
                               const struct ArrowArray *array, int64_t first_row,
                               struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_column column = { 0 };
    struct buf values = BUF_INIT(a);
    void *p = NULL;
    GREBE_TRY(text_column_init(a, from, &column, err));
    GREBE_TRY(array_new(a, array->length, 3, 0, out, err));
    GREBE_TRY(copy_validity(a, array, out, err));
    GREBE_TRY(array_alloc_buffer(a, out, 1, ((size_t)array->length + 1) * 8, &p, err));
    int64_t *offsets = p;
    offsets[0] = 0;
    for (int64_t i = 0; i < array->length; i++) {
        if (!array_is_null(array, i)) {
            GREBE_TRY(put_bytes(&values, &column, f, to_text, array, i, first_row, err));
        }
        offsets[i + 1] = (int64_t)values.len;
    }
    GREBE_TRY(array_alloc_buffer(a, out, 2, values.len, &p, err));
    if (values.len > 0) {
        memcpy(p, values.data, values.len);
    }
out:
    text_column_release(a, &column);
    buf_release(&values);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status to_bytes(const grebe_allocator *a, const struct ArrowSchema *from,
                             const struct ArrowSchema *to, const struct arrow_type *f,
                             const struct arrow_type *t, const struct ArrowArray *array,
                             int64_t first_row, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema large = { 0 };
    struct ArrowArray values = { 0 };
    bool to_text = arrow_kind_is_text(t->kind);
    GREBE_TRY(schema_new(a, to_text ? "U" : "Z", to->name, true, 0, &large, err));
    GREBE_TRY(fill_bytes(a, from, f, to_text, array, first_row, &values, err));
    st = array_widen(a, &large, to, &values, out, err);
out:
    array_release(&values);
    schema_release(&large);
    return st;
}

/* ---- from text ---- */

static grebe_status fill_values(const grebe_allocator *a, const struct ArrowSchema *to,
                                const struct arrow_type *f, const struct arrow_type *t,
                                const struct ArrowArray *array, int64_t first_row,
                                struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t n = array->length;
    bool is_bool = t->kind == ARROW_BOOL;
    size_t len = is_bool ? bitmap_bytes(n) : (size_t)n * (size_t)t->byte_width;
    void *values = NULL;
    GREBE_TRY(array_new(a, n, 2, 0, out, err));
    GREBE_TRY(copy_validity(a, array, out, err));
    GREBE_TRY(array_alloc_buffer(a, out, 1, len, &values, err));
    memset(values, 0, len);
    for (int64_t i = 0; i < n; i++) {
        bool is_true = false;
        if (array_is_null(array, i)) {
            continue;
        }
        struct arrow_bytes b = arrow_bytes_at(array, f->kind, f->byte_width, i);
        bool fits = is_bool ? text_to_bool(b.p, (size_t)b.len, &is_true)
                            : text_given_store(t, b.p, (size_t)b.len, false, (char *)values + i * t->byte_width);
        if (!fits) {
            char quoted[80], type[96];
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "row %" PRId64 ": \"%s\" is no %s", first_row + i,
                            error_quote(quoted, sizeof quoted, b.p, (size_t)b.len),
                            type_quote(type, sizeof type, to));
            goto out;
        }
        if (is_true) {
            bit_set(values, i);
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status from_text(const grebe_allocator *a, const struct ArrowSchema *to,
                              const struct arrow_type *f, const struct ArrowArray *array,
                              int64_t first_row, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema native = { 0 };
    struct ArrowArray values = { 0 };
    struct arrow_type t;
    GREBE_TRY(text_given_native(a, to, &native, err));
    GREBE_TRY(arrow_type_of(&native, &t, err));
    GREBE_TRY(fill_values(a, to, f, &t, array, first_row, &values, err));
    st = array_widen(a, &native, to, &values, out, err);
out:
    array_release(&values);
    schema_release(&native);
    return st;
}

grebe_status text_cast(const grebe_allocator *a, const struct ArrowSchema *from,
                       const struct ArrowSchema *to, const struct ArrowArray *array,
                       int64_t first_row, struct ArrowArray *out, grebe_error *err)
{
    struct arrow_type f, t;
    memset(out, 0, sizeof *out);
    grebe_status st = arrow_type_of(from, &f, err);
    if (st == GREBE_OK) {
        st = arrow_type_of(to, &t, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (!knows(&f, &t)) {
        char expected[96], found[96];
        return GREBE_FAIL(err, GREBE_ESCHEMA, "no cast from %s to %s",
                          type_quote(found, sizeof found, from),
                          type_quote(expected, sizeof expected, to));
    }
    return arrow_kind_is_text(f.kind) && is_plain(t.kind)
               ? from_text(a, to, &f, array, first_row, out, err)
               : to_bytes(a, from, to, &f, &t, array, first_row, out, err);
}
