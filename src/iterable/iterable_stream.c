/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of an iterator as an Arrow stream. */
#include "grebe/iterable.h"

#include <string.h>

#include "arrow/arrow_stream.h"
#include "arrow/rows_fit.h"
#include "base/checked.h"
#include "iterable/iterable_internal.h"

struct iterator_stream {
    const grebe_allocator *a;
    grebe_iterator *iter;
    int64_t batch_rows, left; /* -1: all */
    struct ArrowSchema schema;
    struct ArrowArray first; /* read for its schema; released: given out */
};

static grebe_status read_next(struct iterator_stream *s, struct ArrowArray *out, struct ArrowSchema *schema,
                              grebe_error *err)
{
    int64_t n = s->batch_rows > 0 ? s->batch_rows : READ_ROWS;
    if (s->left == 0) {
        return GREBE_END;
    }
    if (s->left > 0) {
        n = min_i64(n, s->left);
    }
    grebe_status st = grebe_iterator_next(s->iter, s->left < 0 && s->batch_rows == 0 ? 0 : n, out, schema, err);
    if (st == GREBE_OK && out->release == NULL) {
        return GREBE_END;
    }
    if (st == GREBE_OK && s->left > 0) {
        s->left -= out->length;
    }
    return st;
}

static grebe_status give_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct iterator_stream *s = self;
    return schema_copy(s->a, &s->schema, out, err);
}

static grebe_status give_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct iterator_stream *s = self;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray rows = { 0 };
    struct fit fit = { 0 };
    if (s->first.release != NULL) {
        array_move(out, &s->first);
        return GREBE_OK;
    }
    grebe_status st = read_next(s, &rows, &schema, err);
    GREBE_TRY(st);
    if (schema_equal(&schema, &s->schema, SCHEMA_EQUAL_IGNORE_METADATA)) {
        array_move(out, &rows);
        goto out;
    }
    GREBE_TRY(fit_new(s->a, &schema, &s->schema, &fit, err));
    st = fit_batch(&fit, &rows, out, err);
out:
    fit_release(&fit);
    array_release(&rows);
    schema_release(&schema);
    return st;
}

static void free_stream(void *self)
{
    struct iterator_stream *s = self;
    array_release(&s->first);
    schema_release(&s->schema);
    mem_free(s->a, s, sizeof *s);
}

static const struct stream_ops iterator_stream_ops = { give_schema, give_next, free_stream };

grebe_status grebe_iterator_scan(grebe_iterator *iter, int64_t batch_rows, int64_t max_rows,
                                 struct ArrowArrayStream *out, grebe_error *err)
{
    const grebe_allocator *a = iterator_context(iter)->a;
    struct iterator_stream *s = mem_alloc_zero(a, sizeof *s);
    memset(out, 0, sizeof *out);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a stream");
    }
    s->a = a;
    s->iter = iter;
    s->batch_rows = batch_rows;
    s->left = max_rows < 0 ? -1 : max_rows;
    grebe_status st = read_next(s, &s->first, &s->schema, err);
    if (st == GREBE_END) { /* no rows: the columns as far as they are known */
        st = iterator_schema(iter, &s->schema, err);
    }
    if (st == GREBE_OK) {
        st = stream_export(a, &iterator_stream_ops, s, out, err);
    }
    if (st != GREBE_OK) {
        free_stream(s);
    }
    return st;
}
