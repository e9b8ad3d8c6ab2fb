/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Projection, filter, range and limit over any Arrow stream. The row id of a row is its position.
 */
#include "grebe/source_internal.h"

#include <string.h>

#include "base/checked.h"
#include "base/name_index.h"
#include "expr/expr.h"

struct selection {
    grebe_context *ctx;
    struct ArrowArrayStream input;
    struct ArrowSchema input_schema, schema;
    int *columns; /* of the input, shape [n_columns] */
    size_t n_columns;
    struct expr *where; /* NULL: all rows */
    bool with_row_id;
    int64_t at; /* rows read so far */
    int64_t row_begin, row_end, left;
    struct call call;
};

static void selection_free(void *self)
{
    struct selection *s = self;
    stream_release(&s->input);
    schema_release(&s->input_schema);
    schema_release(&s->schema);
    expr_free(s->where);
    mem_free(s->ctx->a, s->columns, s->n_columns * sizeof *s->columns);
    mem_free(s->ctx->a, s, sizeof *s);
}

static grebe_status selection_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct selection *s = self;
    return schema_copy(s->ctx->a, &s->schema, out, err);
}

/* Positions [first, first + n) as an int64 column. */
static grebe_status positions(const grebe_allocator *a, int64_t first, int64_t n,
                              struct ArrowArray *out, grebe_error *err)
{
    void *data = NULL;
    grebe_status st = array_new(a, n, 2, 0, out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(a, out, 1, (size_t)n * 8, &data, err);
    }
    if (st != GREBE_OK) {
        array_release(out);
        return st;
    }
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)data)[i] = first + i;
    }
    return GREBE_OK;
}

/* The columns asked for, of all rows of the batch. */
static grebe_status project(struct selection *s, struct ArrowArray *batch, struct ArrowArray *out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    size_t n = (size_t)s->schema.n_children, k = 0;
    int64_t length = batch->length;
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    if (s->with_row_id) {
        GREBE_TRY(positions(a, s->at, length, &columns[k++], err));
    }
    for (size_t i = 0; i < s->n_columns; i++) {
        /* Each child is a node of its own: it moves, and an asked-for column comes once. */
        array_move(&columns[k++], batch->children[s->columns[i]]);
    }
    st = array_struct(a, length, columns, n, out, err);
out:
    for (size_t i = 0; st != GREBE_OK && i < k; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

/* Bits of the rows to give: inside the range, true under the predicate, within the limit. */
static grebe_status choose(struct selection *s, const struct ArrowArray *batch, uint8_t *keep,
                           int64_t *n_kept, grebe_error *err)
{
    if (s->where != NULL) {
        grebe_status st = expr_eval_rows(s->where, batch, keep, NULL, err);
        if (st != GREBE_OK) {
            return st;
        }
    } else {
        memset(keep, 0, bitmap_bytes(batch->length));
        bitmap_fill(keep, 0, batch->length, true);
    }
    int64_t begin = min_i64(max_i64(s->row_begin - s->at, 0), batch->length);
    int64_t end = min_i64(max_i64(s->row_end - s->at, begin), batch->length);
    bitmap_fill(keep, 0, begin, false);
    bitmap_fill(keep, end, batch->length - end, false);
    *n_kept = bitmap_count(keep, 0, batch->length);
    if (s->left >= 0 && *n_kept > s->left) {
        int64_t n = 0;
        for (int64_t i = 0; i < batch->length; i++) {
            n += bit_get(keep, i);
            if (n > s->left) {
                bitmap_fill(keep, i, batch->length - i, false);
                break;
            }
        }
        *n_kept = s->left;
    }
    return GREBE_OK;
}

static grebe_status select_rows(struct selection *s, struct ArrowArray *batch,
                                struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    int64_t length = batch->length, n_kept = 0;
    size_t keep_bytes = bitmap_bytes(length) + 1;
    struct ArrowArray whole = { 0 };
    uint8_t *keep = mem_alloc_zero(a, keep_bytes);
    if (keep == NULL) {
        return mem_fail(err, keep_bytes, "a selection");
    }
    GREBE_TRY(choose(s, batch, keep, &n_kept, err));
    GREBE_TRY(project(s, batch, &whole, err));
    if (n_kept == length) {
        array_move(out, &whole);
    } else {
        GREBE_TRY(array_filter(a, &s->schema, &whole, keep, out, err));
    }
    if (s->left >= 0) {
        s->left -= n_kept;
    }
out:
    array_release(&whole);
    mem_free(a, keep, keep_bytes);
    return st;
}

static grebe_status selection_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct selection *s = self;
    for (;;) {
        struct ArrowArray batch = { 0 };
        if (s->left == 0 || s->at >= s->row_end) {
            return GREBE_END;
        }
        grebe_status st = call_check(&s->call, err);
        if (st == GREBE_OK) {
            st = stream_next(&s->input, &batch, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        int64_t length = batch.length;
        st = select_rows(s, &batch, out, err);
        array_release(&batch);
        s->at += length;
        if (st != GREBE_OK || out->length > 0) {
            return st;
        }
        array_release(out);
    }
}

static const struct stream_ops selection_ops = { selection_schema, selection_next, selection_free };

/* Schema of the output, and which columns of the input it takes. */
static grebe_status plan_columns(struct selection *s, const grebe_scan_options *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    struct ArrowSchema chosen = { 0 }, id = { 0 };
    struct name_index names = { 0 };
    size_t n_input = (size_t)s->input_schema.n_children;
    size_t n = o->columns != NULL ? o->n_columns : (size_t)s->input_schema.n_children;
    s->columns = mem_alloc_zero(a, n * sizeof *s->columns);
    bool *is_taken = mem_alloc_zero(a, n_input * sizeof *is_taken);
    if (s->columns == NULL || is_taken == NULL) {
        st = mem_fail(err, n * sizeof *s->columns, "columns");
        goto out;
    }
    s->n_columns = n;
    if (o->columns != NULL) {
        GREBE_TRY(schema_index(a, &s->input_schema, &names, err));
    }
    for (size_t i = 0; i < n; i++) {
        s->columns[i] = (int)i;
        const char *name = o->columns != NULL ? o->columns[i] : s->input_schema.children[i]->name;
        if (s->with_row_id && name != NULL && strcmp(name, ROW_ID_COLUMN) == 0) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" cannot be read with row ids",
                            ROW_ID_COLUMN);
            goto out;
        }
        if (o->columns == NULL) {
            continue;
        }
        GREBE_TRY(schema_find_indexed(&s->input_schema, &names, o->columns[i], &s->columns[i], err));
        if (is_taken[s->columns[i]]) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" is asked for twice", o->columns[i]);
            goto out;
        }
        is_taken[s->columns[i]] = true;
    }
    GREBE_TRY(schema_project(a, &s->input_schema, s->columns, n, &chosen, err));
    if (!s->with_row_id) {
        schema_move(&s->schema, &chosen);
        goto out;
    }
    GREBE_TRY(row_id_schema(a, false, &id, err));
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)n + 1, &s->schema, err));
    schema_move(s->schema.children[0], &id);
    for (size_t i = 0; i < n; i++) {
        schema_move(s->schema.children[i + 1], chosen.children[i]);
    }
out:
    name_index_release(&names);
    mem_free(a, is_taken, n_input * sizeof *is_taken);
    schema_release(&chosen);
    schema_release(&id);
    return st;
}

grebe_status select_stream(grebe_context *ctx, struct ArrowArrayStream *input,
                           const grebe_scan_options *options, struct ArrowArrayStream *out,
                           grebe_error *err)
{
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) {
        st = scan_options_check(&o, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct selection *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a selection");
    }
    s->ctx = ctx;
    s->row_begin = o.row_begin;
    s->row_end = o.row_end;
    s->left = o.limit;
    s->with_row_id = o.with_row_id;
    s->call = call_options_resolve(ctx, o.call);
    GREBE_TRY(stream_schema(input, &s->input_schema, err));
    GREBE_TRY(plan_columns(s, &o, err));
    if (o.where != NULL) {
        GREBE_TRY(expr_parse(ctx->a, o.where, &s->where, err));
        GREBE_TRY(expr_bind(s->where, &s->input_schema, err));
    }
    GREBE_TRY(stream_export(ctx->a, &selection_ops, s, out, err));
    stream_move(&s->input, input);
    s = NULL;
out:
    if (s != NULL) {
        selection_free(s);
    }
    return st;
}
