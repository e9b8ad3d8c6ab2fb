/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_internal.h"

#include "base/checked.h"
#include "base/utf8.h"

struct check {
    bool is_deep;
    grebe_error *err;
};

static grebe_status check_node(const struct check *c, const struct ArrowSchema *schema,
                               const struct ArrowArray *array, int depth);

static grebe_status check_counts(const struct check *c, const struct ArrowSchema *schema,
                                 const struct arrow_type *t, const struct ArrowArray *array)
{
    int64_t expected = arrow_buffer_count(t->kind);
    bool is_more_allowed = arrow_kind_is_view(t->kind);
    if (array->n_buffers < expected || (array->n_buffers > expected && !is_more_allowed) ||
        (array->n_buffers > 0 && array->buffers == NULL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "expected %lld buffers, found %lld",
                          (long long)expected, (long long)array->n_buffers);
    }
    if (array->n_children != schema->n_children ||
        (array->n_children > 0 && array->children == NULL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "expected %lld children, found %lld",
                          (long long)schema->n_children, (long long)array->n_children);
    }
    int64_t end = 0;
    if (array->length < 0 || array->offset < 0 || array->null_count < -1 ||
        array->null_count > array->length ||
        !checked_add_i64(array->offset, array->length, &end) || end > INT64_MAX - 1) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                          "length %lld, offset %lld, null count %lld make no sense",
                          (long long)array->length, (long long)array->offset,
                          (long long)array->null_count);
    }
    if ((schema->dictionary != NULL) != (array->dictionary != NULL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "dictionary: expected %s, found %s",
                          schema->dictionary != NULL ? "one" : "none",
                          array->dictionary != NULL ? "one" : "none");
    }
    if (arrow_kind_is_union(t->kind) ? array->null_count > 0
                                     : t->kind != ARROW_NULL && array->null_count > 0 &&
                                           (array->n_buffers == 0 || array->buffers[0] == NULL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "%lld nulls without a validity bitmap",
                          (long long)array->null_count);
    }
    return GREBE_OK;
}

/* Offsets of strings and lists; limit: length of the child, INT64_MAX for bytes. */
static grebe_status check_offsets(const struct check *c, const struct ArrowArray *array, int width,
                                  int64_t limit)
{
    const void *offsets = array->buffers[1];
    if (offsets == NULL) {
        return array->length == 0 ? GREBE_OK
                                  : GREBE_FAIL(c->err, GREBE_ECORRUPT, "no offsets buffer");
    }
    if (array->length == 0) {
        return GREBE_OK; /* old writers leave the only offset out */
    }
    int64_t begin = array->offset;
    int64_t first = load_offset(offsets, width, begin);
    int64_t last = load_offset(offsets, width, begin + array->length);
    if (first < 0 || last < first || last > limit) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "offsets run from %lld to %lld of %lld",
                          (long long)first, (long long)last, (long long)limit);
    }
    if (!c->is_deep) {
        return GREBE_OK;
    }
    int64_t previous = first;
    for (int64_t i = 1; i <= array->length; i++) {
        int64_t next = load_offset(offsets, width, begin + i);
        if (next < previous || next > last) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                              "row %lld: offset %lld follows %lld, the last is %lld",
                              (long long)(i - 1), (long long)next, (long long)previous,
                              (long long)last);
        }
        previous = next;
    }
    return GREBE_OK;
}

static grebe_status check_text_values(const struct check *c, const struct arrow_type *t,
                                      const struct ArrowArray *array)
{
    const uint8_t *validity = arrow_validity(array, t->kind);
    for (int64_t i = 0; i < array->length; i++) {
        if (validity != NULL && !bit_get(validity, array->offset + i)) {
            continue;
        }
        struct arrow_bytes b = arrow_bytes_at(array, t->kind, 0, i);
        size_t good = utf8_valid_prefix(b.p, (size_t)b.len);
        if (good < (size_t)b.len) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "row %lld: no UTF-8 at byte %zu of %lld",
                              (long long)i, good, (long long)b.len);
        }
    }
    return GREBE_OK;
}

static grebe_status check_bytes(const struct check *c, const struct arrow_type *t,
                                const struct ArrowArray *array)
{
    int width = arrow_offset_width(t->kind);
    grebe_status st = check_offsets(c, array, width, INT64_MAX);
    if (st != GREBE_OK || array->length == 0) {
        return st;
    }
    int64_t last = load_offset(array->buffers[1], width, array->offset + array->length);
    int64_t first = load_offset(array->buffers[1], width, array->offset);
    if (array->buffers[2] == NULL && last > first) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "no buffer of bytes, %lld expected",
                          (long long)(last - first));
    }
    if (c->is_deep && arrow_kind_is_text(t->kind)) {
        st = check_text_values(c, t, array);
    }
    return st;
}

static grebe_status check_views(const struct check *c, const struct arrow_type *t,
                                const struct ArrowArray *array)
{
    int64_t n_variadic = array->n_buffers - 3;
    const void *sizes = array->buffers[array->n_buffers - 1];
    if (array->length > 0 && (array->buffers[1] == NULL || (n_variadic > 0 && sizes == NULL))) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "views or buffer sizes are missing");
    }
    if (!c->is_deep) {
        return GREBE_OK;
    }
    const uint8_t *validity = arrow_validity(array, t->kind);
    for (int64_t i = 0; i < array->length; i++) {
        struct arrow_view v;
        memcpy(&v, (const char *)array->buffers[1] + (array->offset + i) * 16, sizeof v);
        if (validity != NULL && !bit_get(validity, array->offset + i)) {
            continue;
        }
        if (v.len >= 0 && v.len <= ARROW_VIEW_INLINE_MAX) {
            continue;
        }
        if (v.len < 0 || v.buffer_index < 0 || v.buffer_index >= n_variadic || v.offset < 0 ||
            (int64_t)v.offset + v.len > load_i64_at(sizes, v.buffer_index) ||
            array->buffers[2 + v.buffer_index] == NULL) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                              "row %lld: view of %d bytes at %d of buffer %d lies outside",
                              (long long)i, (int)v.len, (int)v.offset, (int)v.buffer_index);
        }
        if (memcmp((const char *)array->buffers[2 + v.buffer_index] + v.offset, &v.prefix, 4) !=
            0) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                              "row %lld: the prefix of a view differs from its bytes",
                              (long long)i);
        }
    }
    return arrow_kind_is_text(t->kind) ? check_text_values(c, t, array) : GREBE_OK;
}

static grebe_status check_list_views(const struct check *c, const struct arrow_type *t,
                                     const struct ArrowArray *array)
{
    int width = arrow_offset_width(t->kind);
    int64_t limit = array->children[0]->length;
    if (array->length > 0 && (array->buffers[1] == NULL || array->buffers[2] == NULL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "offsets or sizes are missing");
    }
    for (int64_t i = 0; c->is_deep && i < array->length; i++) {
        int64_t begin = load_offset(array->buffers[1], width, array->offset + i);
        int64_t n = load_offset(array->buffers[2], width, array->offset + i);
        if (begin < 0 || n < 0 || begin > limit || n > limit - begin) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                              "row %lld: %lld elements at %lld, there are %lld", (long long)i,
                              (long long)n, (long long)begin, (long long)limit);
        }
    }
    return GREBE_OK;
}

static grebe_status check_union(const struct check *c, const struct ArrowSchema *schema,
                                const struct arrow_type *t, const struct ArrowArray *array)
{
    int8_t ids[128];
    int8_t index[128];
    grebe_status st = arrow_union_ids(schema, ids, index, c->err);
    if (st != GREBE_OK || array->length == 0) {
        return st;
    }
    const int8_t *types = array->buffers[0];
    bool is_dense = t->kind == ARROW_DENSE_UNION;
    if (types == NULL || (is_dense && array->buffers[1] == NULL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "type ids or offsets of a union are missing");
    }
    for (int64_t i = 0; c->is_deep && i < array->length; i++) {
        int8_t id = types[array->offset + i];
        if (id < 0 || index[id] < 0) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "row %lld: no union member has type id %d",
                              (long long)i, id);
        }
        int32_t at = is_dense ? load_i32_at(array->buffers[1], array->offset + i) : 0;
        if (is_dense && (at < 0 || at >= array->children[index[id]]->length)) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "row %lld: union offset %d of %lld",
                              (long long)i, (int)at,
                              (long long)array->children[index[id]]->length);
        }
    }
    return GREBE_OK;
}

static grebe_status check_runs(const struct check *c, const struct ArrowSchema *schema,
                               const struct ArrowArray *array)
{
    struct arrow_type t;
    const struct ArrowArray *ends = array->children[0];
    grebe_status st = arrow_type_of(schema->children[0], &t, c->err);
    if (st != GREBE_OK || array->length == 0) {
        return st;
    }
    int64_t last = ends->length == 0 ? 0
                                     : arrow_load_int(ends->buffers[1], t.kind,
                                                      ends->offset + ends->length - 1);
    if (last < array->offset + array->length || array->children[1]->length < ends->length ||
        array_null_count(ends) != 0) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                          "%lld runs end at %lld, %lld rows and %lld values are there",
                          (long long)ends->length, (long long)last,
                          (long long)(array->offset + array->length),
                          (long long)array->children[1]->length);
    }
    int64_t previous = 0;
    for (int64_t i = 0; i < ends->length; i++) {
        int64_t end = arrow_load_int(ends->buffers[1], t.kind, ends->offset + i);
        if (end <= previous) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "run %lld ends at %lld, after %lld",
                              (long long)i, (long long)end, (long long)previous);
        }
        previous = end;
    }
    return GREBE_OK;
}

static grebe_status check_indices(const struct check *c, const struct arrow_type *t,
                                  const struct ArrowArray *array)
{
    const uint8_t *validity = arrow_validity(array, t->kind);
    for (int64_t i = 0; c->is_deep && i < array->length; i++) {
        if (validity != NULL && !bit_get(validity, array->offset + i)) {
            continue;
        }
        int64_t k = arrow_load_int(array->buffers[1], t->kind, array->offset + i);
        if (k < 0 || k >= array->dictionary->length) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "row %lld: index %lld of %lld values",
                              (long long)i, (long long)k, (long long)array->dictionary->length);
        }
    }
    return GREBE_OK;
}

/* Children are at least as long as the parent's rows need. */
static grebe_status check_child_lengths(const struct check *c, const struct arrow_type *t,
                                        const struct ArrowArray *array)
{
    int64_t need = array->offset + array->length;
    if (t->kind == ARROW_FIXED_LIST) {
        if (!checked_mul_i64(need, t->list_size, &need)) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "%lld lists of %d: too many elements",
                              (long long)array->length, (int)t->list_size);
        }
    } else if (t->kind != ARROW_STRUCT && t->kind != ARROW_SPARSE_UNION) {
        return GREBE_OK;
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->length < need) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT,
                              "child %lld has %lld values, at least %lld are needed", (long long)i,
                              (long long)array->children[i]->length, (long long)need);
        }
    }
    return GREBE_OK;
}

static grebe_status check_values(const struct check *c, const struct ArrowSchema *schema,
                                 const struct arrow_type *t, const struct ArrowArray *array)
{
    if (arrow_kind_is_bytes(t->kind)) {
        return check_bytes(c, t, array);
    }
    if (arrow_kind_is_view(t->kind)) {
        return check_views(c, t, array);
    }
    if (arrow_kind_is_list(t->kind)) {
        return check_offsets(c, array, arrow_offset_width(t->kind), array->children[0]->length);
    }
    if (arrow_kind_is_list_view(t->kind)) {
        return check_list_views(c, t, array);
    }
    if (arrow_kind_is_union(t->kind)) {
        return check_union(c, schema, t, array);
    }
    if (t->kind == ARROW_RUN_END_ENCODED) {
        return check_runs(c, schema, array);
    }
    if (array->n_buffers == 2 && array->buffers[1] == NULL && array->length > 0 &&
        (t->byte_width > 0 || t->kind == ARROW_BOOL)) {
        return GREBE_FAIL(c->err, GREBE_ECORRUPT, "no buffer of values for %lld rows",
                          (long long)array->length);
    }
    return t->is_dictionary ? check_indices(c, t, array) : GREBE_OK;
}

static grebe_status check_children(const struct check *c, const struct ArrowSchema *schema,
                                   const struct ArrowArray *array, int depth)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        if (child == NULL || child->release == NULL) {
            return GREBE_FAIL(c->err, GREBE_ECORRUPT, "child %lld is missing", (long long)i);
        }
        grebe_status st = check_node(c, schema->children[i], child, depth + 1);
        if (st != GREBE_OK) {
            char name[64];
            return error_wrap(c->err, st, "%s",
                              field_label(name, sizeof name, schema->children[i]));
        }
    }
    if (array->dictionary != NULL) {
        grebe_status st = check_node(c, schema->dictionary, array->dictionary, depth + 1);
        return error_wrap(c->err, st, "dictionary");
    }
    return GREBE_OK;
}

static grebe_status check_node(const struct check *c, const struct ArrowSchema *schema,
                               const struct ArrowArray *array, int depth)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;

    if (depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(c->err, GREBE_ELIMIT, "types are nested deeper than %d",
                          ARROW_DEPTH_MAX);
    }
    GREBE_TRY(arrow_type_of(schema, &t, c->err));
    GREBE_TRY(check_counts(c, schema, &t, array));
    GREBE_TRY(check_children(c, schema, array, depth));
    GREBE_TRY(check_child_lengths(c, &t, array));
    GREBE_TRY(check_values(c, schema, &t, array));
    if (c->is_deep && array->null_count > 0 && arrow_validity(array, t.kind) != NULL) {
        int64_t n = array->length -
                    bitmap_count(array->buffers[0], array->offset, array->length);
        if (n != array->null_count) {
            st = GREBE_FAIL(c->err, GREBE_ECORRUPT, "null count %lld, but %lld nulls",
                            (long long)array->null_count, (long long)n);
        }
    }
out:
    return st;
}

grebe_status array_check(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         bool is_deep, grebe_error *err)
{
    struct check c = { is_deep, err };
    if (array->release == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "an array was released before it was used");
    }
    return check_node(&c, schema, array, 0);
}
