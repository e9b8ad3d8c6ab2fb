/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/array_select.h"

#include <assert.h>

#include "base/checked.h"

size_t select_range_count(const struct select *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->n_sels; k++) {
        n += s->sels[k].n;
    }
    return n;
}

grebe_status child_select_new(const struct select *parent, size_t ranges_capacity,
                              struct child_select *out)
{
    memset(out, 0, sizeof *out);
    out->s = *parent;
    out->s.depth++;
    out->s.n_rows = 0;
    out->sels = mem_alloc_zero(parent->a, parent->n_sels * sizeof *out->sels + 1);
    if (out->sels == NULL) {
        return mem_fail(parent->err, parent->n_sels * sizeof *out->sels, "selections");
    }
    out->s.sels = out->sels;
    if (ranges_capacity > 0) {
        size_t len = 0;
        if (!checked_mul_size(ranges_capacity, sizeof *out->ranges, &len)) {
            return GREBE_FAIL(parent->err, GREBE_ELIMIT, "%zu ranges do not fit in memory",
                              ranges_capacity);
        }
        out->ranges = mem_alloc(parent->a, len);
        if (out->ranges == NULL) {
            return mem_fail(parent->err, len, "ranges");
        }
        out->ranges_capacity = ranges_capacity;
    }
    return GREBE_OK;
}

void child_select_put(struct child_select *c, size_t *n_in_selection, int64_t begin, int64_t len)
{
    if (len == 0) {
        return;
    }
    c->s.n_rows += len;
    if (*n_in_selection > 0) {
        struct row_range *last = &c->ranges[c->n_ranges - 1];
        if (begin < 0 ? last->begin < 0 : last->begin >= 0 && last->begin + last->len == begin) {
            last->len += len;
            return;
        }
    }
    assert(c->n_ranges < c->ranges_capacity);
    c->ranges[c->n_ranges++] = (struct row_range){ begin, len };
    ++*n_in_selection;
}

void child_select_release(struct child_select *c)
{
    mem_free(c->s.a, c->ranges, c->ranges_capacity * sizeof *c->ranges);
    mem_free(c->s.a, c->sels, c->s.n_sels * sizeof *c->sels + 1);
    c->ranges = NULL;
    c->sels = NULL;
}

/* ---- validity ---- */

static void rows_validity(const struct selection *s, const uint8_t *bits, bool fill, uint8_t *dst,
                          int64_t at)
{
    int64_t offset = s->src->offset + s->base;
    for (size_t i = 0; i < s->n; i++, at++) {
        int64_t row = s->rows[i];
        bool is_valid = row < 0 ? fill : bits == NULL || bit_get(bits, offset + row);
        dst[at >> 3] = (uint8_t)(dst[at >> 3] | (unsigned)is_valid << (at & 7));
    }
}

grebe_status select_validity(const struct select *s, struct ArrowArray *out)
{
    bool is_needed = false;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const struct ArrowArray *src = sel->src;
        is_needed = is_needed || (sel->has_fill && !s->is_fill_valid) ||
                    (src->null_count != 0 && src->buffers[0] != NULL);
    }
    out->null_count = 0;
    if (!is_needed || s->n_rows == 0) {
        return GREBE_OK;
    }
    void *p = NULL;
    size_t len = bitmap_bytes(s->n_rows);
    grebe_status st = array_alloc_buffer(s->a, out, 0, len, &p, s->err);
    if (st != GREBE_OK) {
        return st;
    }
    uint8_t *dst = p;
    memset(dst, 0, len);
    int64_t at = 0;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const uint8_t *bits = sel->src->null_count != 0 ? sel->src->buffers[0] : NULL;
        if (sel->rows != NULL) {
            rows_validity(sel, bits, s->is_fill_valid, dst, at);
            at += (int64_t)sel->n;
            continue;
        }
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            if (r.begin < 0) {
                bitmap_fill(dst, at, r.len, s->is_fill_valid);
            } else if (bits == NULL) {
                bitmap_fill(dst, at, r.len, true);
            } else {
                bitmap_copy(dst, at, bits, sel->src->offset + r.begin, r.len);
            }
            at += r.len;
        }
    }
    out->null_count = s->n_rows - bitmap_count(dst, 0, s->n_rows);
    if (out->null_count == 0) {
        array_set_buffer(out, 0, NULL, NULL);
    }
    return GREBE_OK;
}

/* ---- values of fixed width ---- */

#define GATHER(type)                                             \
    do {                                                         \
        for (size_t i = 0; i < n; i++) {                         \
            type v = 0;                                          \
            if (!has_fill || rows[i] >= 0) {                     \
                memcpy(&v, src + rows[i] * (int64_t)sizeof v, sizeof v); \
            }                                                    \
            memcpy(dst + i * sizeof v, &v, sizeof v);            \
        }                                                        \
    } while (0)

static void gather_rows(const char *src, const int64_t *rows, size_t n, size_t width,
                        bool has_fill, char *dst)
{
    switch (width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    default:
        for (size_t i = 0; i < n; i++, dst += width) {
            if (rows[i] < 0) {
                memset(dst, 0, width);
            } else {
                memcpy(dst, src + (size_t)rows[i] * width, width);
            }
        }
    }
}

grebe_status select_fixed(const struct select *s, int64_t i, size_t width, struct ArrowArray *out)
{
    size_t len = 0;
    if (!checked_mul_size((size_t)s->n_rows, width, &len)) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld values of %zu bytes do not fit in memory",
                          (long long)s->n_rows, width);
    }
    void *p = NULL;
    grebe_status st = array_alloc_buffer(s->a, out, i, len, &p, s->err);
    char *dst = p;
    for (size_t k = 0; k < s->n_sels && st == GREBE_OK && len > 0; k++) {
        const struct selection *sel = &s->sels[k];
        const char *src = sel->src->buffers[i];
        if (sel->n == 0) {
            continue;
        }
        if (src != NULL) {
            src += (size_t)sel->src->offset * width;
        }
        if (sel->rows != NULL) {
            gather_rows(src != NULL ? src + (size_t)sel->base * width : src, sel->rows, sel->n,
                        width, sel->has_fill, dst);
            dst += sel->n * width;
            continue;
        }
        for (size_t r = 0; r < sel->n; r++) {
            struct row_range range = selection_range(sel, r);
            size_t n_bytes = (size_t)range.len * width;
            if (range.begin < 0) {
                memset(dst, 0, n_bytes);
            } else if (n_bytes > 0) {
                memcpy(dst, src + (size_t)range.begin * width, n_bytes);
            }
            dst += n_bytes;
        }
    }
    return st;
}

static grebe_status select_bool(const struct select *s, struct ArrowArray *out)
{
    void *p = NULL;
    size_t len = bitmap_bytes(s->n_rows);
    grebe_status st = array_alloc_buffer(s->a, out, 1, len, &p, s->err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(p, 0, len);
    int64_t at = 0;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const uint8_t *bits = sel->src->buffers[1];
        if (sel->rows != NULL) {
            rows_validity(sel, bits, false, p, at);
            at += (int64_t)sel->n;
            continue;
        }
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            if (r.begin >= 0) {
                bitmap_copy(p, at, bits, sel->src->offset + r.begin, r.len);
            }
            at += r.len;
        }
    }
    return GREBE_OK;
}

/* ---- dispatch ---- */

static grebe_status select_values(const struct select *s, const struct ArrowSchema *schema,
                                  const struct arrow_type *t, struct ArrowArray *out)
{
    if (t->is_dictionary) {
        return select_dictionary(s, schema, t, out);
    }
    switch (t->kind) {
    case ARROW_BOOL: return select_bool(s, out);
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_BINARY: return select_bytes(s, t, out);
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_MAP: return select_list(s, schema, t, out);
    case ARROW_LIST_VIEW:
    case ARROW_LARGE_LIST_VIEW: return select_list_view(s, schema, t, out);
    case ARROW_FIXED_LIST: return select_fixed_list(s, schema, t, out);
    case ARROW_STRUCT: return select_struct(s, schema, out);
    default: return select_fixed(s, 1, (size_t)t->byte_width, out);
    }
}

grebe_status select_node(const struct select *s, const struct ArrowSchema *schema,
                         struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;

    memset(out, 0, sizeof *out);
    if (s->depth > ARROW_DEPTH_MAX) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "types are nested deeper than %d",
                          ARROW_DEPTH_MAX);
    }
    GREBE_TRY(arrow_type_of(schema, &t, s->err));
    if (arrow_kind_is_view(t.kind)) {
        GREBE_TRY(select_views(s, &t, out));
        goto out;
    }
    GREBE_TRY(array_new(s->a, s->n_rows, arrow_buffer_count(t.kind), schema->n_children, out, s->err));
    if (t.kind == ARROW_NULL) {
        out->null_count = s->n_rows;
    } else if (arrow_kind_is_union(t.kind)) {
        GREBE_TRY(select_union(s, schema, &t, out));
    } else if (t.kind == ARROW_RUN_END_ENCODED) {
        GREBE_TRY(select_runs(s, schema, out));
    } else {
        GREBE_TRY(select_validity(s, out));
        GREBE_TRY(select_values(s, schema, &t, out));
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}
