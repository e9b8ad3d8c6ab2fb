/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_internal.h"

#include <assert.h>

/* Two arrays of one type; rows are counted from offset 0 of each. */
struct pair {
    const struct ArrowSchema *schema;
    struct arrow_type t;
    const struct ArrowArray *x, *y;
};

static bool equal_rows(const struct ArrowSchema *schema, const struct ArrowArray *x,
                       int64_t x_begin, const struct ArrowArray *y, int64_t y_begin, int64_t n,
                       int depth);

/* Nullness by bitmap, by type, or by the value behind an index or a run. */
static bool is_null(const struct ArrowSchema *schema, const struct arrow_type *t,
                    const struct ArrowArray *array, int64_t i)
{
    if (t->kind == ARROW_NULL) {
        return true;
    }
    const uint8_t *bits = arrow_validity(array, t->kind);
    if (bits != NULL && !bit_get(bits, array->offset + i)) {
        return true;
    }
    if (t->is_dictionary) {
        int64_t k = arrow_load_int(array->buffers[1], t->kind, array->offset + i);
        struct arrow_type values;
        return arrow_type_of(schema->dictionary, &values, NULL) == GREBE_OK &&
               is_null(schema->dictionary, &values, array->dictionary, k);
    }
    return false;
}

static bool equal_lists(const struct pair *p, int64_t xi, int64_t yi, int depth)
{
    int64_t begin[2];
    int64_t len[2];
    const struct ArrowArray *both[2] = { p->x, p->y };
    const int64_t rows[2] = { xi + p->x->offset, yi + p->y->offset };
    int width = arrow_offset_width(p->t.kind);
    for (int i = 0; i < 2; i++) {
        if (p->t.kind == ARROW_FIXED_LIST) {
            begin[i] = rows[i] * p->t.list_size;
            len[i] = p->t.list_size;
            continue;
        }
        begin[i] = load_offset(both[i]->buffers[1], width, rows[i]);
        len[i] = arrow_kind_is_list_view(p->t.kind)
                     ? load_offset(both[i]->buffers[2], width, rows[i])
                     : load_offset(both[i]->buffers[1], width, rows[i] + 1) - begin[i];
    }
    return len[0] == len[1] && equal_rows(p->schema->children[0], p->x->children[0], begin[0],
                                          p->y->children[0], begin[1], len[0], depth + 1);
}

static bool equal_union(const struct pair *p, int64_t xi, int64_t yi, int depth)
{
    int8_t ids[128];
    int8_t index[128];
    xi += p->x->offset;
    yi += p->y->offset;
    int8_t id = ((const int8_t *)p->x->buffers[0])[xi];
    if (id != ((const int8_t *)p->y->buffers[0])[yi] ||
        arrow_union_ids(p->schema, ids, index, NULL) != GREBE_OK) {
        return false;
    }
    if (p->t.kind == ARROW_DENSE_UNION) {
        xi = load_i32_at(p->x->buffers[1], xi);
        yi = load_i32_at(p->y->buffers[1], yi);
    }
    int8_t k = index[id];
    return equal_rows(p->schema->children[k], p->x->children[k], xi, p->y->children[k], yi, 1,
                      depth + 1);
}

static bool equal_runs(const struct pair *p, int64_t xi, int64_t yi, int depth)
{
    struct arrow_type t;
    if (arrow_type_of(p->schema->children[0], &t, NULL) != GREBE_OK) {
        return false;
    }
    int64_t x_run = arrow_run_of(p->x->children[0], t.kind, p->x->offset + xi);
    int64_t y_run = arrow_run_of(p->y->children[0], t.kind, p->y->offset + yi);
    return equal_rows(p->schema->children[1], p->x->children[1], x_run, p->y->children[1], y_run,
                      1, depth + 1);
}

/* Both rows are valid. */
static bool equal_value(const struct pair *p, int64_t xi, int64_t yi, int depth)
{
    const struct arrow_type *t = &p->t;
    if (t->is_dictionary) {
        int64_t x = arrow_load_int(p->x->buffers[1], t->kind, p->x->offset + xi);
        int64_t y = arrow_load_int(p->y->buffers[1], t->kind, p->y->offset + yi);
        return equal_rows(p->schema->dictionary, p->x->dictionary, x, p->y->dictionary, y, 1,
                          depth + 1);
    }
    if (t->kind == ARROW_BOOL) {
        return bit_get(p->x->buffers[1], p->x->offset + xi) ==
               bit_get(p->y->buffers[1], p->y->offset + yi);
    }
    if (arrow_kind_is_bytes(t->kind) || arrow_kind_is_view(t->kind)) {
        struct arrow_bytes x = arrow_bytes_at(p->x, t->kind, 0, xi);
        struct arrow_bytes y = arrow_bytes_at(p->y, t->kind, 0, yi);
        return x.len == y.len && memcmp(x.p, y.p, (size_t)x.len) == 0;
    }
    if (arrow_kind_is_list(t->kind) || arrow_kind_is_list_view(t->kind) ||
        t->kind == ARROW_FIXED_LIST) {
        return equal_lists(p, xi, yi, depth);
    }
    if (arrow_kind_is_union(t->kind)) {
        return equal_union(p, xi, yi, depth);
    }
    if (t->kind == ARROW_RUN_END_ENCODED) {
        return equal_runs(p, xi, yi, depth);
    }
    if (t->kind == ARROW_STRUCT) {
        for (int64_t i = 0; i < p->schema->n_children; i++) {
            if (!equal_rows(p->schema->children[i], p->x->children[i], p->x->offset + xi,
                            p->y->children[i], p->y->offset + yi, 1, depth + 1)) {
                return false;
            }
        }
        return true;
    }
    size_t width = (size_t)t->byte_width;
    const char *x = p->x->buffers[1];
    const char *y = p->y->buffers[1];
    return width == 0 || memcmp(x + (size_t)(p->x->offset + xi) * width,
                                y + (size_t)(p->y->offset + yi) * width, width) == 0;
}

static bool equal_rows(const struct ArrowSchema *schema, const struct ArrowArray *x,
                       int64_t x_begin, const struct ArrowArray *y, int64_t y_begin, int64_t n,
                       int depth)
{
    struct pair p = { schema, { 0 }, x, y };
    if (depth > ARROW_DEPTH_MAX || arrow_type_of(schema, &p.t, NULL) != GREBE_OK) {
        return false;
    }
    bool has_bits = arrow_validity(x, p.t.kind) != NULL || arrow_validity(y, p.t.kind) != NULL;
    if (!has_bits && !p.t.is_dictionary && p.t.byte_width > 0 && n > 0) {
        size_t width = (size_t)p.t.byte_width;
        return memcmp((const char *)x->buffers[1] + (size_t)(x->offset + x_begin) * width,
                      (const char *)y->buffers[1] + (size_t)(y->offset + y_begin) * width,
                      (size_t)n * width) == 0;
    }
    if (!has_bits && p.t.kind == ARROW_STRUCT) {
        for (int64_t i = 0; i < schema->n_children; i++) {
            if (!equal_rows(schema->children[i], x->children[i], x->offset + x_begin,
                            y->children[i], y->offset + y_begin, n, depth + 1)) {
                return false;
            }
        }
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        bool x_null = is_null(schema, &p.t, x, x_begin + i);
        if (x_null != is_null(schema, &p.t, y, y_begin + i) ||
            (!x_null && !equal_value(&p, x_begin + i, y_begin + i, depth))) {
            return false;
        }
    }
    return true;
}

bool array_equal(const struct ArrowSchema *schema, const struct ArrowArray *x,
                 const struct ArrowArray *y)
{
    return x->length == y->length && equal_rows(schema, x, 0, y, 0, x->length, 0);
}
