/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/array_select.h"

#include <assert.h>

#include "base/checked.h"

static grebe_status offsets_buffer(const struct select *s, int64_t i, int64_t n, int width,
                                   struct ArrowArray *out, void **p)
{
    size_t len = 0;
    if (!checked_mul_size((size_t)n, (size_t)width, &len)) {
        return GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld offsets do not fit in memory",
                          (long long)n);
    }
    return array_alloc_buffer(s->a, out, i, len, p, s->err);
}

static grebe_status too_many_elements(const struct select *s, int64_t n)
{
    return GREBE_FAIL(s->err, GREBE_ELIMIT,
                      "%lld elements in one array of 32-bit offsets: at most 2147483647 fit "
                      "(large_list holds more)",
                      (long long)n);
}

/* Finish selection k of a child whose ranges begin at `first`. */
static void close_selection(struct child_select *c, size_t k, size_t first, size_t n)
{
    bool has_fill = false;
    for (size_t i = first; i < first + n && !has_fill; i++) {
        has_fill = c->ranges[i].begin < 0;
    }
    c->sels[k].ranges = n > 0 ? c->ranges + first : NULL;
    c->sels[k].n = n;
    c->sels[k].base = 0;
    c->sels[k].has_fill = has_fill;
}

grebe_status select_list(const struct select *s, const struct ArrowSchema *schema,
                         const struct arrow_type *t, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct child_select child;
    int width = arrow_offset_width(t->kind);
    int64_t at = 0;
    int64_t end = 0;
    void *offsets = NULL;

    GREBE_TRY(child_select_new(s, select_range_count(s), &child));
    child.s.is_fill_valid = false;
    GREBE_TRY(offsets_buffer(s, 1, s->n_rows + 1, width, out, &offsets));
    store_offset(offsets, width, at++, 0);
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const struct ArrowArray *src = sel->src;
        size_t first_range = child.n_ranges;
        size_t n = 0;
        child.sels[k].src = src->children[0];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            int64_t from = 0;
            if (r.begin >= 0 && r.len > 0) {
                from = load_offset(src->buffers[1], width, src->offset + r.begin);
                int64_t to = load_offset(src->buffers[1], width, src->offset + r.begin + r.len);
                if (to - from > (width == 4 ? INT32_MAX : INT64_MAX) - end) {
                    st = too_many_elements(s, end + to - from);
                    goto out;
                }
                child_select_put(&child, &n, from, to - from);
            }
            int64_t shift = end - from;
            for (int64_t row = 1; row <= r.len; row++) {
                if (r.begin >= 0) {
                    end = shift + load_offset(src->buffers[1], width,
                                              src->offset + r.begin + row);
                }
                store_offset(offsets, width, at++, end);
            }
        }
        close_selection(&child, k, first_range, n);
    }
    GREBE_TRY(select_node(&child.s, schema->children[0], out->children[0]));
out:
    child_select_release(&child);
    return st;
}

grebe_status select_list_view(const struct select *s, const struct ArrowSchema *schema,
                              const struct arrow_type *t, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct child_select child;
    int width = arrow_offset_width(t->kind);
    int64_t at = 0;
    int64_t end = 0;
    void *offsets = NULL;
    void *sizes = NULL;

    GREBE_TRY(child_select_new(s, (size_t)s->n_rows, &child));
    child.s.is_fill_valid = false;
    GREBE_TRY(offsets_buffer(s, 1, s->n_rows, width, out, &offsets));
    GREBE_TRY(offsets_buffer(s, 2, s->n_rows, width, out, &sizes));
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const struct ArrowArray *src = sel->src;
        const uint8_t *bits = src->null_count != 0 ? src->buffers[0] : NULL;
        size_t first_range = child.n_ranges;
        size_t n = 0;
        child.sels[k].src = src->children[0];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            for (int64_t row = 0; row < r.len; row++, at++) {
                int64_t from = 0;
                int64_t len = 0;
                int64_t slot = src->offset + r.begin + row;
                if (r.begin >= 0 && (bits == NULL || bit_get(bits, slot))) {
                    from = load_offset(src->buffers[1], width, slot);
                    len = load_offset(src->buffers[2], width, slot);
                }
                if (len > (width == 4 ? INT32_MAX : INT64_MAX) - end) {
                    st = too_many_elements(s, end);
                    goto out;
                }
                store_offset(offsets, width, at, end);
                store_offset(sizes, width, at, len);
                child_select_put(&child, &n, from, len);
                end += len;
            }
        }
        close_selection(&child, k, first_range, n);
    }
    GREBE_TRY(select_node(&child.s, schema->children[0], out->children[0]));
out:
    child_select_release(&child);
    return st;
}

grebe_status select_fixed_list(const struct select *s, const struct ArrowSchema *schema,
                               const struct arrow_type *t, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct child_select child;
    int64_t size = t->list_size;
    int64_t total = 0;

    GREBE_TRY(child_select_new(s, select_range_count(s), &child));
    child.s.is_fill_valid = true; /* elements of a null vector are zeros, so no bitmap is made */
    if (!checked_mul_i64(s->n_rows, size, &total)) {
        st = GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld lists of %lld elements: too many",
                        (long long)s->n_rows, (long long)size);
        goto out;
    }
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        size_t first_range = child.n_ranges;
        size_t n = 0;
        child.sels[k].src = sel->src->children[0];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            int64_t begin = r.begin < 0 ? -1 : (sel->src->offset + r.begin) * size;
            child_select_put(&child, &n, begin, r.len * size);
        }
        close_selection(&child, k, first_range, n);
    }
    assert(child.s.n_rows == total);
    GREBE_TRY(select_node(&child.s, schema->children[0], out->children[0]));
out:
    child_select_release(&child);
    return st;
}

/* Children that have the parent's rows: structs and sparse unions. */
grebe_status select_struct(const struct select *s, const struct ArrowSchema *schema,
                           struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct child_select child;

    GREBE_TRY(child_select_new(s, 0, &child));
    child.s.n_rows = s->n_rows;
    for (int64_t i = 0; i < schema->n_children; i++) {
        bool is_nullable = (schema->children[i]->flags & ARROW_FLAG_NULLABLE) != 0;
        child.s.is_fill_valid = s->is_fill_valid || !is_nullable;
        for (size_t k = 0; k < s->n_sels; k++) {
            child.sels[k] = s->sels[k];
            child.sels[k].src = s->sels[k].src->children[i];
            child.sels[k].base += s->sels[k].src->offset;
        }
        GREBE_TRY(select_node(&child.s, schema->children[i], out->children[i]));
    }
out:
    child_select_release(&child);
    return st;
}

/* The rows of member `id` of a dense union, and the offsets that its slots get. */
static void dense_member(const struct select *s, int8_t id, int64_t member, int32_t *offsets,
                         struct child_select *child, int8_t fill_id)
{
    int64_t at = 0;
    int64_t next = 0;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const int8_t *types = sel->src->buffers[0];
        size_t first_range = child->n_ranges;
        size_t n = 0;
        child->sels[k].src = sel->src->children[member];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            for (int64_t row = 0; row < r.len; row++, at++) {
                int64_t slot = sel->src->offset + r.begin + row;
                if ((r.begin < 0 ? fill_id : types[slot]) != id) {
                    continue;
                }
                int64_t from = r.begin < 0 ? -1 : load_i32_at(sel->src->buffers[1], slot);
                offsets[at] = (int32_t)next++;
                child_select_put(child, &n, from, 1);
            }
        }
        close_selection(child, k, first_range, n);
    }
}

static grebe_status select_type_ids(const struct select *s, int8_t fill_id,
                                    struct ArrowArray *out)
{
    grebe_status st = select_fixed(s, 0, 1, out);
    int8_t *types = st == GREBE_OK ? (int8_t *)(uintptr_t)out->buffers[0] : NULL;
    int64_t at = 0;
    for (size_t k = 0; k < s->n_sels && st == GREBE_OK && fill_id != 0; k++) {
        for (size_t i = 0; i < s->sels[k].n; i++) {
            struct row_range r = selection_range(&s->sels[k], i);
            if (r.begin < 0) {
                memset(types + at, fill_id, (size_t)r.len);
            }
            at += r.len;
        }
    }
    return st;
}

grebe_status select_union(const struct select *s, const struct ArrowSchema *schema,
                          const struct arrow_type *t, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct child_select child;
    int8_t ids[128];
    int8_t index[128];
    void *offsets = NULL;

    memset(&child, 0, sizeof child);
    child.s = *s;
    GREBE_TRY(arrow_union_ids(schema, ids, index, s->err));
    GREBE_TRY(select_type_ids(s, ids[0], out));
    out->null_count = 0;
    if (t->kind == ARROW_SPARSE_UNION) {
        GREBE_TRY(select_struct(s, schema, out));
        goto out;
    }
    if (s->n_rows > INT32_MAX) {
        st = too_many_elements(s, s->n_rows);
        goto out;
    }
    GREBE_TRY(offsets_buffer(s, 1, s->n_rows, 4, out, &offsets));
    for (int64_t i = 0; i < schema->n_children; i++) {
        child_select_release(&child);
        GREBE_TRY(child_select_new(s, (size_t)s->n_rows, &child));
        child.s.is_fill_valid = false;
        dense_member(s, ids[i], i, offsets, &child, ids[0]);
        GREBE_TRY(select_node(&child.s, schema->children[i], out->children[i]));
    }
out:
    child_select_release(&child);
    return st;
}

/* Runs of the output: neighbours from the same run of the same source become one. */
static int64_t walk_runs(const struct select *s, enum arrow_kind kind, struct child_select *child,
                         int64_t *ends)
{
    int64_t n_runs = 0;
    int64_t at = 0;
    for (size_t k = 0; k < s->n_sels; k++) {
        const struct selection *sel = &s->sels[k];
        const struct ArrowArray *src = sel->src;
        size_t first_range = child->n_ranges;
        size_t n = 0;
        int64_t last_run = -2;
        child->sels[k].src = src->children[1];
        for (size_t i = 0; i < sel->n; i++) {
            struct row_range r = selection_range(sel, i);
            int64_t left = r.len;
            int64_t slot = src->offset + r.begin;
            while (left > 0) {
                int64_t run = -1;
                int64_t len = left;
                if (r.begin >= 0) {
                    run = arrow_run_of(src->children[0], kind, slot);
                    int64_t end = arrow_load_int(src->children[0]->buffers[1], kind,
                                                 src->children[0]->offset + run);
                    len = min_i64(left, end - slot);
                }
                at += len;
                slot += len;
                left -= len;
                if (run == last_run) {
                    ends[n_runs - 1] = at;
                    continue;
                }
                ends[n_runs++] = at;
                child_select_put(child, &n, run, 1);
                last_run = run;
            }
        }
        close_selection(child, k, first_range, n);
    }
    return n_runs;
}

grebe_status select_runs(const struct select *s, const struct ArrowSchema *schema,
                         struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct arrow_type t;
    struct child_select child;
    int64_t *ends = NULL;
    size_t ends_len = 0;
    void *p = NULL;

    memset(&child, 0, sizeof child);
    child.s = *s;
    out->null_count = 0;
    GREBE_TRY(arrow_type_of(schema->children[0], &t, s->err));
    if (t.byte_width < 8 && s->n_rows >> (8 * t.byte_width - 1) != 0) {
        st = GREBE_FAIL(s->err, GREBE_ELIMIT, "%lld rows do not fit %d-byte run ends",
                        (long long)s->n_rows, (int)t.byte_width);
        goto out;
    }
    ends_len = (size_t)s->n_rows * sizeof *ends + 1;
    ends = mem_alloc(s->a, ends_len);
    if (ends == NULL) {
        st = mem_fail(s->err, ends_len, "run ends");
        goto out;
    }
    GREBE_TRY(child_select_new(s, (size_t)s->n_rows, &child));
    child.s.is_fill_valid = false;
    int64_t n_runs = walk_runs(s, t.kind, &child, ends);
    assert(child.s.n_rows == n_runs);
    GREBE_TRY(array_new(s->a, n_runs, 2, 0, out->children[0], s->err));
    GREBE_TRY(array_alloc_buffer(s->a, out->children[0], 1,
                                 (size_t)n_runs * (size_t)t.byte_width, &p, s->err));
    for (int64_t i = 0; i < n_runs; i++) {
        int16_t narrow = (int16_t)ends[i];
        if (t.byte_width == 2) {
            memcpy((char *)p + 2 * i, &narrow, 2);
        } else {
            store_offset(p, t.byte_width, i, ends[i]);
        }
    }
    GREBE_TRY(select_node(&child.s, schema->children[1], out->children[1]));
out:
    mem_free(s->a, ends, ends_len);
    child_select_release(&child);
    return st;
}
