/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_internal.h"

#include <assert.h>

#include "base/checked.h"

/* A zeroed buffer of n values. */
static grebe_status zero_buffer(const grebe_allocator *a, struct ArrowArray *array, int64_t i,
                                int64_t n, size_t width, grebe_error *err)
{
    size_t len = 0;
    if (!checked_mul_size((size_t)n, width, &len)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%lld values of %zu bytes do not fit in memory",
                          (long long)n, width);
    }
    void *p = NULL;
    grebe_status st = array_alloc_buffer(a, array, i, len, &p, err);
    if (st == GREBE_OK) {
        memset(p, 0, len);
    }
    return st;
}

static grebe_status nulls(const grebe_allocator *a, const struct ArrowSchema *schema,
                          int64_t length, int depth, struct ArrowArray *out, grebe_error *err);

/* Buffers behind the validity, all zero. */
static grebe_status null_values(const grebe_allocator *a, const struct arrow_type *t,
                                struct ArrowArray *out, grebe_error *err)
{
    int64_t n = out->length;
    int width = arrow_offset_width(t->kind);
    if (t->kind == ARROW_BOOL) {
        return zero_buffer(a, out, 1, (n + 7) / 8, 1, err);
    }
    if (arrow_kind_is_view(t->kind)) {
        grebe_status st = zero_buffer(a, out, 1, n, sizeof(struct arrow_view), err);
        return st != GREBE_OK ? st : zero_buffer(a, out, 2, 0, 8, err);
    }
    if (arrow_kind_is_list_view(t->kind)) {
        grebe_status st = zero_buffer(a, out, 1, n, (size_t)width, err);
        return st != GREBE_OK ? st : zero_buffer(a, out, 2, n, (size_t)width, err);
    }
    if (width > 0) {
        grebe_status st = zero_buffer(a, out, 1, n + 1, (size_t)width, err);
        return st != GREBE_OK || !arrow_kind_is_bytes(t->kind) ? st
                                                               : zero_buffer(a, out, 2, 0, 1, err);
    }
    return zero_buffer(a, out, 1, n, (size_t)t->byte_width, err);
}

static grebe_status null_union(const grebe_allocator *a, const struct ArrowSchema *schema,
                               const struct arrow_type *t, int depth, struct ArrowArray *out,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int8_t ids[128];
    int8_t index[128];

    GREBE_TRY(arrow_union_ids(schema, ids, index, err));
    if (schema->n_children == 0 && out->length > 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "a union without members has no null");
    }
    GREBE_TRY(zero_buffer(a, out, 0, out->length, 1, err));
    memset((void *)(uintptr_t)out->buffers[0], ids[0], (size_t)out->length);
    if (t->kind == ARROW_DENSE_UNION) {
        GREBE_TRY(zero_buffer(a, out, 1, out->length, 4, err));
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        int64_t n = t->kind == ARROW_SPARSE_UNION ? out->length : i == 0 && out->length > 0;
        GREBE_TRY(nulls(a, schema->children[i], n, depth + 1, out->children[i], err));
    }
out:
    return st;
}

static grebe_status null_runs(const grebe_allocator *a, const struct ArrowSchema *schema,
                              int depth, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arrow_type ends;
    int64_t n_runs = out->length > 0;

    GREBE_TRY(arrow_type_of(schema->children[0], &ends, err));
    GREBE_TRY(array_new(a, n_runs, 2, 0, out->children[0], err));
    GREBE_TRY(zero_buffer(a, out->children[0], 1, n_runs, 8, err));
    if (ends.byte_width < 8 && out->length >> (8 * ends.byte_width - 1) != 0) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%lld rows do not fit %d-byte run ends",
                          (long long)out->length, (int)ends.byte_width);
    }
    if (n_runs > 0) {
        memcpy((void *)(uintptr_t)out->children[0]->buffers[1], &out->length, 8);
    }
    GREBE_TRY(nulls(a, schema->children[1], n_runs, depth + 1, out->children[1], err));
out:
    return st;
}

static grebe_status nulls(const grebe_allocator *a, const struct ArrowSchema *schema,
                          int64_t length, int depth, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;

    memset(out, 0, sizeof *out);
    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "types are nested deeper than %d", ARROW_DEPTH_MAX);
    }
    GREBE_TRY(arrow_type_of(schema, &t, err));
    GREBE_TRY(array_new(a, length, arrow_buffer_count(t.kind), schema->n_children, out, err));
    if (t.kind == ARROW_RUN_END_ENCODED) {
        GREBE_TRY(null_runs(a, schema, depth, out, err));
        goto out;
    }
    if (arrow_kind_is_union(t.kind)) {
        GREBE_TRY(null_union(a, schema, &t, depth, out, err));
        goto out;
    }
    out->null_count = length;
    if (out->n_buffers > 0) {
        GREBE_TRY(zero_buffer(a, out, 0, (int64_t)bitmap_bytes(length), 1, err));
    }
    if (out->n_buffers > 1) {
        GREBE_TRY(null_values(a, &t, out, err));
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        int64_t n = 0;
        if (t.kind == ARROW_STRUCT) {
            n = length;
        } else if (t.kind == ARROW_FIXED_LIST && !checked_mul_i64(length, t.list_size, &n)) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "%lld lists of %d elements: too many",
                            (long long)length, (int)t.list_size);
            goto out;
        }
        GREBE_TRY(nulls(a, schema->children[i], n, depth + 1, out->children[i], err));
    }
    if (schema->dictionary != NULL) {
        struct ArrowArray values;
        GREBE_TRY(nulls(a, schema->dictionary, 0, depth + 1, &values, err));
        st = array_set_dictionary(a, out, &values, err);
        if (st != GREBE_OK) {
            array_release(&values);
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

grebe_status array_nulls(const grebe_allocator *a, const struct ArrowSchema *schema,
                         int64_t length, struct ArrowArray *out, grebe_error *err)
{
    assert(length >= 0);
    return nulls(a, schema, length, 0, out, err);
}
