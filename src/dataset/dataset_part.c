/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_part.h"

#include <string.h>

#include "base/checked.h"

const struct ArrowSchema *part_schema(const struct table_part *p)
{
    return p->file != NULL ? &p->file->schema : &p->schema;
}

static grebe_status part_new(grebe_context *ctx, int64_t n_columns, struct table_part **out, grebe_error *err)
{
    size_t n = (size_t)n_columns;
    struct table_part *p = mem_alloc_zero(ctx->a, sizeof *p);
    *out = NULL;
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a part of a table");
    }
    p->views = mem_alloc_zero(ctx->a, n * sizeof *p->views);
    if (p->views == NULL) {
        mem_free(ctx->a, p, sizeof *p);
        return mem_fail(err, n * sizeof *p->views, "views");
    }
    atomic_init(&p->refs, 1);
    p->ctx = ctx;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return GREBE_OK;
}

grebe_status part_of_file(grebe_context *ctx, struct rows_file *file, struct table_part **out, grebe_error *err)
{
    grebe_status st = part_new(ctx, file->schema.n_children, out, err);
    if (st == GREBE_OK) {
        (*out)->file = file;
        (*out)->n_batches = file->n_batches;
        (*out)->batch_begin = file->batch_begin;
    }
    return st;
}

grebe_status part_of_batches(grebe_context *ctx, const struct ArrowSchema *schema, struct ArrowArray *batches, size_t n,
                             struct table_part **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ctx->a;
    struct table_part *p = NULL;
    size_t n_used = 0;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        n_used += batches[i].length > 0;
    }
    GREBE_TRY(part_new(ctx, schema->n_children, &p, err));
    GREBE_TRY(schema_copy(a, schema, &p->schema, err));
    p->batches = mem_alloc_zero(a, n_used * sizeof(void *));
    p->own_begin = mem_alloc_zero(a, (n_used + 1) * sizeof *p->own_begin);
    p->batch_begin = p->own_begin;
    p->n_batches = p->batches != NULL && p->own_begin != NULL ? n_used : 0;
    if (p->batches == NULL || p->own_begin == NULL) {
        st = mem_fail(err, n_used * sizeof *p->own_begin, "batches");
        goto out;
    }
    for (size_t i = 0, k = 0; i < n; i++) {
        if (batches[i].length == 0) {
            continue;
        }
        if (!checked_add_i64(p->own_begin[k], batches[i].length, &p->own_begin[k + 1])) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "more rows than can be counted");
            goto out;
        }
        GREBE_TRY(array_share(a, &batches[i], &p->batches[k], err));
        k++;
    }
    for (size_t i = 0; i < n; i++) {
        array_release(&batches[i]);
    }
    *out = p;
    p = NULL;
out:
    if (p != NULL) { /* what was shared already goes back to the caller */
        for (size_t i = 0, k = 0; i < n && k < p->n_batches && p->batches[k] != NULL; i++) {
            if (batches[i].release == NULL) {
                array_shared_take_back(p->batches[k], &batches[i]);
                p->batches[k++] = NULL;
            }
        }
        part_drop(p);
    }
    return st;
}

struct table_part *part_keep(struct table_part *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void part_drop(struct table_part *p)
{
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    const grebe_allocator *a = p->ctx->a;
    const struct ArrowSchema *schema = part_schema(p);
    size_t n = schema->release != NULL ? (size_t)schema->n_children : 0;
    for (size_t i = 0; i < n; i++) {
        mem_free(a, atomic_load(&p->views[i]), p->n_batches * sizeof(struct column_view));
    }
    mem_free(a, p->views, n * sizeof *p->views);
    for (size_t i = 0; p->batches != NULL && i < p->n_batches; i++) {
        array_shared_drop(p->batches[i]);
    }
    if (p->file == NULL) {
        mem_free(a, p->batches, p->n_batches * sizeof(void *));
        mem_free(a, p->own_begin, (p->n_batches + 1) * sizeof *p->own_begin);
    }
    schema_release(&p->schema);
    rows_file_drop(p->file);
    pthread_mutex_destroy(&p->lock);
    mem_free(a, p, sizeof *p);
}

size_t part_batch_of(const struct table_part *p, int64_t row)
{
    const int64_t *begin = p->batch_begin;
    size_t n = p->n_batches;
    /* Batches are mostly of one size: the guess is right, or next to it. */
    size_t i = (size_t)((double)row * (double)n / (double)begin[n]);
    i = i < n ? i : n - 1;
    if (row >= begin[i] && row < begin[i + 1]) {
        return i;
    }
    if (i + 1 < n && row >= begin[i + 1] && row < begin[i + 2]) {
        return i + 1;
    }
    if (i > 0 && row >= begin[i - 1] && row < begin[i]) {
        return i - 1;
    }
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (begin[middle] <= row) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* ---- columns of batches ---- */

void source_copy(struct table_source *dst, const struct table_source *src)
{
    *dst = *src;
    if (dst->part != NULL) {
        part_keep(dst->part);
    }
}

/* The batch's column as it is in the part. shared: keeps it. */
static grebe_status open_column(const struct table_source *s, size_t batch, struct array_shared **shared,
                                const struct ArrowArray **node, grebe_error *err)
{
    struct table_part *p = s->part;
    if (p->file == NULL) {
        *shared = array_shared_keep(p->batches[batch]);
        *node = array_shared_get(*shared)->children[s->column];
        return GREBE_OK;
    }
    struct ArrowArray rows;
    int column = s->column;
    grebe_status st = rows_file_batch(p->file, batch, &column, 1, &rows, err);
    if (st == GREBE_OK) {
        st = array_share(p->ctx->a, &rows, shared, err);
        if (st != GREBE_OK) {
            array_release(&rows);
            return st;
        }
        *node = array_shared_get(*shared)->children[0];
    }
    return st;
}

/* Rows that are null in a struct above are null in what came out of it. */
static grebe_status mask_with(const grebe_allocator *a, const struct ArrowArray *above, int64_t begin,
                              struct ArrowArray *array, grebe_error *err)
{
    int64_t n = array->length;
    if (above->null_count == 0 || above->buffers[0] == NULL || array->n_buffers == 0) {
        return GREBE_OK;
    }
    struct region *bits = NULL;
    /* The bitmap of an array is seen at the array's own offset. */
    grebe_status st = region_new(a, bitmap_bytes(array->offset + n), &bits, err);
    if (st != GREBE_OK) {
        return st;
    }
    const uint8_t *own = array->null_count != 0 ? array->buffers[0] : NULL;
    const uint8_t *upper = above->buffers[0];
    memset(bits->data, 0, bits->len);
    int64_t n_valid = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is_valid = bit_get(upper, above->offset + begin + i) && (own == NULL || bit_get(own, array->offset + i));
        if (is_valid) {
            bit_set(bits->data, array->offset + i);
            n_valid++;
        }
    }
    array_set_buffer(array, 0, bits->data, bits);
    array->null_count = n - n_valid;
    return GREBE_OK;
}

/* A node of which the children's slots are counted from the struct's offset. */
static grebe_status step_down(const grebe_allocator *a, const struct ArrowSchema *schema, struct ArrowArray *array,
                              int step, grebe_error *err)
{
    struct array_shared *shared = NULL;
    struct ArrowArray child;
    (void)schema;
    grebe_status st = array_share(a, array, &shared, err);
    if (st != GREBE_OK) {
        return st;
    }
    const struct ArrowArray *above = array_shared_get(shared);
    st = array_view(shared, above->children[step], above->offset, above->length, &child, err);
    if (st == GREBE_OK) {
        struct ArrowArray own = { 0 };
        if (above->null_count != 0 && above->buffers[0] != NULL) {
            /* a copy, whose bitmap may be set */
            const struct ArrowArray *one = &child;
            st = array_concat(a, schema->children[step], &one, 1, &own, err);
            array_release(&child);
            if (st == GREBE_OK) {
                st = mask_with(a, above, 0, &own, err);
                array_move(&child, &own);
            }
        }
    }
    if (st == GREBE_OK) {
        array_move(array, &child);
    } else {
        array_release(&child);
    }
    array_shared_drop(shared);
    return st;
}

/* Rows of a view that was not checked as a whole; releases them when they are bad. */
static grebe_status check_raw(const struct table_source *s, const struct column_view *view, int64_t begin,
                              struct ArrowArray *array, grebe_error *err)
{
    int width = 0;
    const struct ArrowSchema *schema = part_schema(s->part)->children[s->column];
    enum column_layout layout = column_layout_of(schema, &width);
    grebe_status st = view_checks_offsets(view, layout == LAYOUT_BYTES32 ? 4 : 8, begin, array->length)
                          ? array_check(schema, array, true, err)
                          : view_bad_offsets(err, begin);
    if (st != GREBE_OK) {
        array_release(array);
        return error_wrap(err, st, "%s", s->part->file->path);
    }
    return st;
}

grebe_status source_read(const struct table_source *s, size_t batch, int64_t begin, int64_t n, struct ArrowArray *out,
                         grebe_error *err)
{
    const struct column_view *view = NULL;
    struct array_shared *shared = NULL;
    const struct ArrowArray *node = NULL;
    const grebe_allocator *a = s->part->ctx->a;
    memset(out, 0, sizeof *out);
    bool is_raw = false;
    grebe_status st = s->part->file != NULL ? source_view(s, batch, n, &view, &is_raw, err) : GREBE_OK;
    if (st == GREBE_OK && view != NULL) { /* straight from the map */
        int n_buffers = view->buffers[2] != NULL ? 3 : 2;
        struct region *bytes = rows_file_bytes(s->part->file);
        st = array_new(a, n, n_buffers, 0, out, err);
        for (int i = 0; st == GREBE_OK && i < n_buffers; i++) {
            if (view->buffers[i] != NULL && (i > 0 || view->null_count != 0)) {
                array_set_buffer(out, i, view->buffers[i], region_keep(bytes));
            }
        }
        if (st == GREBE_OK) {
            out->offset = view->offset + begin;
            out->null_count = view->null_count == 0 ? 0 : n - bitmap_count(view->buffers[0], out->offset, n);
        }
        return st == GREBE_OK && is_raw ? check_raw(s, view, begin, out, err) : st;
    }
    if (st == GREBE_OK) {
        st = open_column(s, batch, &shared, &node, err);
    }
    if (st == GREBE_OK) {
        st = array_view(shared, node, begin, n, out, err);
    }
    array_shared_drop(shared);
    const struct ArrowSchema *schema = part_schema(s->part)->children[s->column];
    for (int i = 0; i < s->n_steps && st == GREBE_OK; i++) {
        st = step_down(a, schema, out, s->steps[i], err);
        schema = schema->children[s->steps[i]];
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* ---- views ---- */

enum column_layout column_layout_of(const struct ArrowSchema *schema, int *width)
{
    struct arrow_type t;
    *width = 0;
    if (arrow_type_of(schema, &t, NULL) != GREBE_OK || t.is_dictionary) {
        return LAYOUT_NESTED;
    }
    switch (t.kind) {
    case ARROW_BOOL: return LAYOUT_BOOL;
    case ARROW_STRING:
    case ARROW_BINARY: return LAYOUT_BYTES32;
    case ARROW_LARGE_STRING:
    case ARROW_LARGE_BINARY: return LAYOUT_BYTES64;
    default: break;
    }
    if (t.kind == ARROW_NULL || t.byte_width <= 0 || arrow_kind_is_view(t.kind) || schema->n_children > 0) {
        return LAYOUT_NESTED;
    }
    *width = t.byte_width;
    return LAYOUT_FIXED;
}

static bool lies_in(const struct region *bytes, const void *p)
{
    return (uintptr_t)p >= (uintptr_t)bytes->data && (uintptr_t)p < (uintptr_t)bytes->data + bytes->len;
}

/* Buffers of the column as it lies in the part; *is_good false: it has no view. width: of offsets, 0: none. */
static void set_view(const struct table_source *s, const struct ArrowArray *node, int width, struct column_view *v,
                     bool *is_good)
{
    for (int64_t i = 0; *is_good && i < node->n_buffers; i++) {
        const void *p = i == 0 && node->null_count == 0 ? NULL : node->buffers[i];
        *is_good = p == NULL ? i == 0 : s->part->file == NULL || lies_in(rows_file_bytes(s->part->file), p);
        v->buffers[i] = p;
    }
    if (*is_good) {
        v->offset = node->offset;
        v->null_count = v->buffers[0] != NULL ? array_null_count(node) : 0;
        v->n_bytes = width > 0 && node->length > 0 ? load_offset(v->buffers[1], width, v->offset + node->length) : 0;
    }
}

/* A first look at a column of texts that are not checked yet. *is_good: the view is raw now. */
static grebe_status fill_raw(const struct table_source *s, size_t batch, int width, struct column_view *v, bool *is_good,
                             grebe_error *err)
{
    struct ArrowArray rows;
    bool is_checked = false;
    *is_good = false;
    grebe_status st = rows_file_look(s->part->file, batch, s->column, &rows, &is_checked, err);
    if (st != GREBE_OK) {
        return st;
    }
    const struct ArrowArray *node = rows.children[0];
    if (!is_checked && node->length > 0 && node->n_buffers == 3) {
        *is_good = true;
        set_view(s, node, width, v, is_good);
        /* the number of nulls is believed when it is right; else the whole check says what is wrong */
        *is_good = *is_good && (v->null_count == 0 || v->null_count == node->length - bitmap_count(v->buffers[0], v->offset,
                                                                                                   node->length));
    }
    array_release(&rows);
    return GREBE_OK;
}

/* Looks at the column once, or a second time at what is raw; the lock is held. */
static grebe_status fill_view(const struct table_source *s, size_t batch, bool is_few, struct column_view *v, grebe_error *err)
{
    struct array_shared *shared = NULL;
    const struct ArrowArray *node = NULL;
    int value_width = 0;
    const struct ArrowSchema *schema = part_schema(s->part)->children[s->column];
    enum column_layout layout = column_layout_of(schema, &value_width);
    int width = layout == LAYOUT_BYTES32 ? 4 : layout == LAYOUT_BYTES64 ? 8 : 0;
    bool is_good = layout != LAYOUT_NESTED, is_raw = false;
    grebe_status st = GREBE_OK;
    int state = atomic_load_explicit(&v->state, memory_order_relaxed);
    if (state == VIEW_UNKNOWN && is_few && width > 0 && s->part->file != NULL) {
        st = fill_raw(s, batch, width, v, &is_raw, err);
        if (st != GREBE_OK || is_raw) {
            atomic_store_explicit(&v->state, is_raw ? VIEW_RAW : VIEW_UNKNOWN, memory_order_release);
            return st;
        }
    }
    st = is_good ? open_column(s, batch, &shared, &node, err) : GREBE_OK;
    if (st != GREBE_OK) {
        return st;
    }
    if (is_good && state != VIEW_RAW) { /* of a raw view others read the buffers now: they stay what they are */
        set_view(s, node, width, v, &is_good);
    }
    array_shared_drop(shared);
    atomic_store_explicit(&v->state, is_good ? VIEW_READY : VIEW_NONE, memory_order_release);
    return GREBE_OK;
}

static grebe_status make_views(struct table_part *p, int32_t column, struct column_view **out, grebe_error *err)
{
    *out = atomic_load_explicit(&p->views[column], memory_order_relaxed);
    if (*out == NULL) {
        *out = mem_alloc_zero(p->ctx->a, p->n_batches * sizeof **out);
        if (*out == NULL) {
            return mem_fail(err, p->n_batches * sizeof **out, "views");
        }
        atomic_store_explicit(&p->views[column], *out, memory_order_release);
    }
    return GREBE_OK;
}

/* Whether n more rows of a batch are so few that they are checked alone. */
static bool are_few(const struct table_part *p, size_t batch, int64_t n, struct column_view *v)
{
    int64_t all = p->batch_begin[batch + 1] - p->batch_begin[batch];
    int64_t before = v != NULL ? atomic_fetch_add_explicit(&v->n_looked_at, n, memory_order_relaxed) : 0;
    return n <= all / 8 && before <= all;
}

grebe_status source_view(const struct table_source *s, size_t batch, int64_t n_rows, const struct column_view **out,
                         bool *is_raw, grebe_error *err)
{
    struct table_part *p = s->part;
    *out = NULL;
    if (s->n_steps > 0) {
        return GREBE_OK;
    }
    struct column_view *views = atomic_load_explicit(&p->views[s->column], memory_order_acquire);
    int state = views != NULL ? atomic_load_explicit(&views[batch].state, memory_order_acquire) : VIEW_UNKNOWN;
    if (state == VIEW_UNKNOWN || state == VIEW_RAW) {
        bool is_few = are_few(p, batch, n_rows, views != NULL ? &views[batch] : NULL);
        if (state == VIEW_RAW && is_few) {
            *is_raw = true;
            *out = &views[batch];
            return GREBE_OK;
        }
        pthread_mutex_lock(&p->lock);
        grebe_status st = make_views(p, s->column, &views, err);
        state = st == GREBE_OK ? atomic_load_explicit(&views[batch].state, memory_order_relaxed) : state;
        if (st == GREBE_OK && (state == VIEW_UNKNOWN || (state == VIEW_RAW && !is_few))) {
            st = fill_view(s, batch, is_few, &views[batch], err);
        }
        pthread_mutex_unlock(&p->lock);
        if (st != GREBE_OK) {
            return st;
        }
        state = atomic_load_explicit(&views[batch].state, memory_order_acquire);
    }
    *is_raw = *is_raw || state == VIEW_RAW;
    *out = state == VIEW_READY || state == VIEW_RAW ? &views[batch] : NULL;
    return GREBE_OK;
}

bool view_checks_offsets(const struct column_view *v, int width, int64_t row, int64_t n)
{
    int64_t before = load_offset(v->buffers[1], width, v->offset + row);
    bool is_good = before >= 0;
    for (int64_t i = 1; is_good && i <= n; i++) {
        int64_t next = load_offset(v->buffers[1], width, v->offset + row + i);
        is_good = next >= before;
        before = next;
    }
    return is_good && before <= v->n_bytes;
}

grebe_status view_bad_offsets(grebe_error *err, int64_t row)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "row %lld of a batch: its offsets make no sense", (long long)row);
}
