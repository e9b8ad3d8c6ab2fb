/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by position from what can only be read in order. */
#include "grebe/source_internal.h"

#include <stdlib.h>
#include <string.h>

struct wanted {
    int64_t row;
    size_t place;
};

static int by_row(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row)
                            : (a->place > b->place) - (a->place < b->place);
}

/* What a take collects: the wanted rows of each batch, and where they go. */
struct collection {
    const grebe_allocator *a;
    struct wanted *wanted;
    int64_t *rows, *order; /* shape [n] each */
    size_t n, n_found;
    struct buf parts; /* struct ArrowArray, one a batch with wanted rows */
};

static void collection_release(struct collection *c)
{
    for (size_t at = 0; at < c->parts.len; at += sizeof(struct ArrowArray)) {
        struct ArrowArray part;
        memcpy(&part, c->parts.data + at, sizeof part);
        array_release(&part);
    }
    buf_release(&c->parts);
    mem_free(c->a, c->wanted, c->n * sizeof *c->wanted);
    mem_free(c->a, c->rows, c->n * sizeof *c->rows);
    mem_free(c->a, c->order, c->n * sizeof *c->order);
}

static grebe_status collect(struct collection *c, struct ArrowArrayStream *rows,
                            const struct ArrowSchema *schema, grebe_error *err)
{
    int64_t at = 0;
    size_t next = 0;
    for (;;) {
        struct ArrowArray batch = { 0 }, part = { 0 };
        /* Nothing behind the last row asked for is read: a stream may go on for ever. */
        grebe_status st = next == c->n ? GREBE_END : stream_next(rows, &batch, err);
        if (st == GREBE_END) {
            c->n_found = next;
            return GREBE_OK;
        }
        if (st != GREBE_OK) {
            return st;
        }
        size_t n = 0;
        for (; next < c->n && c->wanted[next].row < at + batch.length; next++) {
            c->rows[n++] = c->wanted[next].row - at;
        }
        at += batch.length;
        if (n > 0) {
            st = array_gather(c->a, schema, &batch, c->rows, (int64_t)n, &part, err);
        }
        array_release(&batch);
        if (st == GREBE_OK && n > 0) {
            st = buf_put(&c->parts, &part, sizeof part, err);
        }
        if (st != GREBE_OK) {
            array_release(&part);
            return st;
        }
    }
}

/* The collected parts in the order asked for; missing rows are nulls. */
static grebe_status assemble(struct collection *c, const struct ArrowSchema *schema,
                             struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray all = { 0 };
    size_t n_parts = c->parts.len / sizeof(struct ArrowArray);
    const struct ArrowArray **parts = mem_alloc_zero(c->a, n_parts * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, n_parts * sizeof *parts, "batches");
    }
    for (size_t i = 0; i < n_parts; i++) {
        parts[i] = (const struct ArrowArray *)(void *)c->parts.data + i;
    }
    for (size_t i = 0; i < c->n; i++) {
        c->order[c->wanted[i].place] = i < c->n_found ? (int64_t)i : -1;
    }
    if (n_parts == 0) {
        st = array_nulls(c->a, schema, (int64_t)c->n, out, err);
        goto out;
    }
    GREBE_TRY(array_concat(c->a, schema, parts, n_parts, &all, err));
    st = array_gather(c->a, schema, &all, c->order, (int64_t)c->n, out, err);
out:
    array_release(&all);
    mem_free(c->a, parts, n_parts * sizeof *parts);
    return st;
}

grebe_status source_take_from_scan(struct grebe_source *source, const int64_t *row_ids, size_t n,
                                   const grebe_take_options *options, struct ArrowArray *out,
                                   struct ArrowSchema *out_schema, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = source->ctx->a;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    struct collection c = { .a = a, .n = n, .parts = BUF_INIT(a) };
    GREBE_CHECK_ARG(err, n == 0 || row_ids != NULL);
    if (options != NULL) {
        st = options_copy(&o, sizeof o, options, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    c.wanted = mem_alloc_zero(a, n * sizeof *c.wanted);
    c.rows = mem_alloc_zero(a, n * sizeof *c.rows);
    c.order = mem_alloc_zero(a, n * sizeof *c.order);
    if (c.wanted == NULL || c.rows == NULL || c.order == NULL) {
        st = mem_fail(err, n * sizeof *c.wanted, "row ids");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_negative = row_ids[i] < 0;
        if (is_negative && o.missing != GREBE_MISSING_NULL) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "rows[%zu]: expected an id of at least 0, found %lld", i,
                            (long long)row_ids[i]);
            goto out;
        }
        c.wanted[i] = (struct wanted){ is_negative ? INT64_MAX : row_ids[i], i };
    }
    qsort(c.wanted, n, sizeof *c.wanted, by_row);
    scan.columns = o.columns;
    scan.n_columns = o.n_columns;
    scan.with_row_id = o.with_row_id;
    scan.call = o.call;
    GREBE_TRY(grebe_source_scan(source, &scan, &rows, err));
    GREBE_TRY(stream_schema(&rows, &schema, err));
    GREBE_TRY(collect(&c, &rows, &schema, err));
    if (c.n_found < n && o.missing != GREBE_MISSING_NULL) {
        const struct wanted *w = &c.wanted[c.n_found];
        st = GREBE_FAIL(err, GREBE_EINVAL, "rows[%zu]: row id %lld: the stream ends before it",
                        w->place, (long long)w->row);
        goto out;
    }
    if (c.n_found < n) {
        for (int64_t i = 0; i < schema.n_children; i++) {
            schema.children[i]->flags |= ARROW_FLAG_NULLABLE;
        }
    }
    GREBE_TRY(assemble(&c, &schema, out, err));
    if (out_schema != NULL) {
        schema_move(out_schema, &schema);
    }
out:
    stream_release(&rows);
    schema_release(&schema);
    collection_release(&c);
    return st;
}
