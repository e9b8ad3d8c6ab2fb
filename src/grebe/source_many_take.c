/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/source_many.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/rows_fit.h"

struct wanted_row {
    int64_t row;
    size_t place; /* in the caller's list */
};

struct many_take {
    struct source_many *m;
    struct ArrowSchema schema; /* columns wanted, of the union */
    struct wanted_row *wanted; /* by row, shape [n] */
    int64_t *local;            /* shape [n]: rows of a part */
    int64_t *order;            /* shape [n]: where in the parts' rows each place finds its own */
    size_t n;
    struct ArrowArray *taken; /* shape [m->n_parts], n_taken in use */
    size_t n_taken;
};

static int by_row(const void *x, const void *y)
{
    const struct wanted_row *a = x, *b = y;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row)
                            : (a->place > b->place) - (a->place < b->place);
}

static grebe_status sort_rows(struct many_take *t, const int64_t *row_ids,
                              const grebe_take_options *o, grebe_error *err)
{
    int64_t n_rows = source_many_rows(t->m);
    for (size_t i = 0; i < t->n; i++) {
        bool is_there = row_ids[i] >= 0 && row_ids[i] < n_rows;
        if (!is_there && o->missing != GREBE_MISSING_NULL) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "rows[%zu]: expected a row id in [0, %lld), found %lld", i,
                              (long long)n_rows, (long long)row_ids[i]);
        }
        t->wanted[i] = (struct wanted_row){ is_there ? row_ids[i] : INT64_MAX, i };
        t->order[i] = -1;
    }
    qsort(t->wanted, t->n, sizeof *t->wanted, by_row);
    return GREBE_OK;
}

static grebe_status choose_columns(struct many_take *t, const grebe_take_options *o,
                                   grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = t->m->ctx->a;
    if (o->columns == NULL) {
        return schema_copy(a, &t->m->schema, &t->schema, err);
    }
    int *columns = mem_alloc_zero(a, o->n_columns * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, o->n_columns * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < o->n_columns; i++) {
        GREBE_TRY(schema_find(&t->m->schema, o->columns[i], &columns[i], err));
        for (size_t j = 0; j < i; j++) {
            if (columns[j] == columns[i]) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" is asked for twice", o->columns[i]);
                goto out;
            }
        }
    }
    st = schema_project(a, &t->m->schema, columns, o->n_columns, &t->schema, err);
out:
    mem_free(a, columns, o->n_columns * sizeof *columns);
    return st;
}

/* Rows t->local[0..n) of one part, as rows of the union. */
static grebe_status take_part(struct many_take *t, const struct source_part *part, size_t n,
                              const grebe_call_options *call, struct ArrowArray *out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = t->m->ctx->a;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    struct ArrowSchema whole = { 0 }, schema = { 0 };
    struct ArrowArray rows = { 0 };
    struct ArrowArrayStream stream = { 0 };
    struct fit fit = { 0 };
    size_t n_all = (size_t)t->schema.n_children;
    int at = 0;
    grebe_source *source = part->source, *opened = NULL;
    const char **names = mem_alloc_zero(a, n_all * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n_all * sizeof *names, "names");
    }
    if (source == NULL) {
        GREBE_TRY(many_reopen(t->m, part, &opened, err));
        source = opened;
    }
    GREBE_TRY(grebe_source_schema(source, &whole, err));
    for (size_t i = 0; i < n_all; i++) {
        if (schema_find(&whole, t->schema.children[i]->name, &at, NULL) == GREBE_OK) {
            names[o.n_columns++] = t->schema.children[i]->name;
        }
    }
    o.columns = names;
    o.call = call;
    GREBE_TRY(grebe_source_take(source, t->local, n, &o, &rows, &schema, err));
    GREBE_TRY(stream_from_batches(a, &schema, &rows, 1, &stream, err));
    schema_release(&schema);
    GREBE_TRY(many_cast(t->m, &t->schema, &stream, err));
    GREBE_TRY(stream_schema(&stream, &schema, err));
    GREBE_TRY(stream_next(&stream, &rows, err));
    GREBE_TRY(fit_new(a, &schema, &t->schema, &fit, err));
    GREBE_TRY(fit_batch(&fit, &rows, out, err));
out:
    fit_release(&fit);
    stream_release(&stream);
    schema_release(&schema);
    schema_release(&whole);
    array_release(&rows);
    grebe_source_close(opened);
    mem_free(a, names, n_all * sizeof *names);
    return error_wrap(err, st, "%s", part->uri);
}

static grebe_status take_parts(struct many_take *t, const grebe_call_options *call,
                               grebe_error *err)
{
    int64_t begin = 0;
    size_t next = 0, n_rows = 0;
    for (size_t p = 0; p < t->m->n_parts; p++) {
        const struct source_part *part = &t->m->parts[p];
        int64_t end = begin + part->n_rows;
        size_t n = 0;
        for (; next < t->n && t->wanted[next].row < end; next++) {
            t->local[n++] = t->wanted[next].row - begin;
            t->order[t->wanted[next].place] = (int64_t)n_rows++;
        }
        begin = end;
        if (n == 0) {
            continue;
        }
        grebe_status st = take_part(t, part, n, call, &t->taken[t->n_taken], err);
        if (st != GREBE_OK) {
            return st;
        }
        t->n_taken++;
    }
    return GREBE_OK;
}

/* In the order asked for; places without a row are null. */
static grebe_status gather_all(struct many_take *t, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = t->m->ctx->a;
    struct ArrowArray all = { 0 };
    const struct ArrowArray **parts = mem_alloc_zero(a, t->n_taken * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, t->n_taken * sizeof *parts, "rows");
    }
    for (size_t i = 0; i < t->n_taken; i++) {
        parts[i] = &t->taken[i];
    }
    if (t->n_taken == 0) {
        st = array_nulls(a, &t->schema, (int64_t)t->n, out, err);
        goto out;
    }
    GREBE_TRY(array_concat(a, &t->schema, parts, t->n_taken, &all, err));
    st = array_gather(a, &t->schema, &all, t->order, (int64_t)t->n, out, err);
out:
    array_release(&all);
    mem_free(a, parts, t->n_taken * sizeof *parts);
    return st;
}

static void many_take_release(struct many_take *t)
{
    const grebe_allocator *a = t->m->ctx->a;
    for (size_t i = 0; i < t->n_taken; i++) {
        array_release(&t->taken[i]);
    }
    schema_release(&t->schema);
    mem_free(a, t->wanted, t->n * sizeof *t->wanted);
    mem_free(a, t->local, t->n * sizeof *t->local);
    mem_free(a, t->order, t->n * sizeof *t->order);
    mem_free(a, t->taken, t->m->n_parts * sizeof *t->taken);
}

grebe_status source_many_take(struct source_many *m, const int64_t *row_ids, size_t n,
                              const grebe_take_options *options, struct ArrowArray *out,
                              struct ArrowSchema *out_schema, grebe_error *err)
{
    const grebe_allocator *a = m->ctx->a;
    struct many_take t = { .m = m, .n = n };
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    t.wanted = mem_alloc_zero(a, n * sizeof *t.wanted);
    t.local = mem_alloc_zero(a, n * sizeof *t.local);
    t.order = mem_alloc_zero(a, n * sizeof *t.order);
    t.taken = mem_alloc_zero(a, m->n_parts * sizeof *t.taken);
    if (t.wanted == NULL || t.local == NULL || t.order == NULL || t.taken == NULL) {
        GREBE_TRY(mem_fail(err, n * sizeof *t.wanted, "row ids"));
    }
    GREBE_TRY(choose_columns(&t, &o, err));
    GREBE_TRY(sort_rows(&t, row_ids, &o, err));
    GREBE_TRY(take_parts(&t, o.call, err));
    for (int64_t i = 0; o.missing == GREBE_MISSING_NULL && i < t.schema.n_children; i++) {
        t.schema.children[i]->flags |= ARROW_FLAG_NULLABLE;
    }
    GREBE_TRY(gather_all(&t, out, err));
    if (out_schema != NULL) {
        schema_move(out_schema, &t.schema);
    }
out:
    many_take_release(&t);
    return st;
}
