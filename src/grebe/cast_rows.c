/* SPDX-License-Identifier: Apache-2.0 */
/* A stream whose columns have other types. */
#include <string.h>

#include "arrow/array_cast.h"
#include "arrow/arrow_stream.h"
#include "arrow/type_text.h"
#include "base/context_internal.h"
#include "grebe/arrow.h"
#include "text/text_cast.h"

struct cast_stream {
    const grebe_allocator *a;
    struct ArrowArrayStream input;
    struct ArrowSchema from, plain, to; /* plain: from, without dictionaries and runs */
    bool *is_cast; /* shape [columns] */
    int64_t n_rows; /* so far */
};

static void cast_free(void *self)
{
    struct cast_stream *s = self;
    stream_release(&s->input);
    mem_free(s->a, s->is_cast, (size_t)s->from.n_children * sizeof *s->is_cast);
    schema_release(&s->from);
    schema_release(&s->plain);
    schema_release(&s->to);
    mem_free(s->a, s, sizeof *s);
}

static grebe_status cast_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct cast_stream *s = self;
    return schema_copy(s->a, &s->to, out, err);
}

static bool knows(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    return schema_widens(from, to, NULL) == GREBE_OK || array_cast_knows(from, to) ||
           text_cast_knows(from, to);
}

/* The cheapest change that does it. */
static grebe_status cast_values(const struct cast_stream *s, const struct ArrowSchema *from,
                                const struct ArrowSchema *to, const struct ArrowArray *array,
                                struct ArrowArray *out, grebe_error *err)
{
    if (schema_widens(from, to, NULL) == GREBE_OK) {
        return array_widen(s->a, from, to, array, out, err);
    }
    return array_cast_knows(from, to) ? array_cast(s->a, from, to, array, s->n_rows, out, err)
                                      : text_cast(s->a, from, to, array, s->n_rows, out, err);
}

static grebe_status cast_column(const struct cast_stream *s, int64_t i, const struct ArrowArray *array,
                                struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct ArrowSchema *from = s->from.children[i], *to = s->to.children[i];
    const struct ArrowSchema *plain = s->plain.children[i];
    struct ArrowArray values = { 0 };
    GREBE_TRY(array_check(from, array, true, err)); /* anybody's stream */
    if (knows(from, to)) {
        st = cast_values(s, from, to, array, out, err);
    } else { /* a dictionary, or runs: the values are cast */
        GREBE_TRY(array_widen(s->a, from, plain, array, &values, err));
        st = cast_values(s, plain, to, &values, out, err);
    }
out:
    array_release(&values);
    return error_wrap(err, st, "column \"%.64s\"", to->name);
}

static grebe_status cast_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct cast_stream *s = self;
    grebe_status st = GREBE_OK;
    struct ArrowArray batch = { 0 };
    size_t n = (size_t)s->from.n_children;
    struct ArrowArray *columns = mem_alloc_zero(s->a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    st = stream_next(&s->input, &batch, err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        if (s->is_cast[i]) {
            st = cast_column(s, (int64_t)i, batch.children[i], &columns[i], err);
        } else {
            array_move(&columns[i], batch.children[i]);
        }
    }
    if (st == GREBE_OK) {
        st = array_struct(s->a, batch.length, columns, n, out, err);
        s->n_rows += batch.length;
    }
    for (size_t i = 0; i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(s->a, columns, n * sizeof *columns);
    array_release(&batch);
    return st;
}

static const struct stream_ops cast_ops = { cast_schema, cast_next, cast_free };

static grebe_status check_pair(const struct cast_stream *s, int at, grebe_error *err)
{
    const struct ArrowSchema *from = s->from.children[at], *to = s->to.children[at];
    if (knows(from, to) || knows(s->plain.children[at], to)) {
        return GREBE_OK;
    }
    char found[128], expected[128];
    return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": no cast from %s to %s", from->name,
                      type_quote(found, sizeof found, from),
                      type_quote(expected, sizeof expected, to));
}

static grebe_status plan(struct cast_stream *s, const grebe_column_cast *casts, size_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n_columns = (size_t)s->from.n_children;
    GREBE_TRY(schema_copy(s->a, &s->from, &s->to, err));
    GREBE_TRY(schema_copy_plain(s->a, &s->from, &s->plain, err));
    s->is_cast = mem_alloc_zero(s->a, n_columns * sizeof *s->is_cast);
    if (s->is_cast == NULL) {
        GREBE_TRY(mem_fail(err, n_columns, "columns"));
    }
    for (size_t i = 0; i < n; i++) {
        int at = 0;
        GREBE_TRY(schema_find(&s->from, casts[i].column, &at, err));
        const struct ArrowSchema *from = s->from.children[at];
        struct ArrowSchema to = { 0 };
        st = type_parse(s->a, casts[i].type, from->name, (from->flags & ARROW_FLAG_NULLABLE) != 0, &to,
                        err);
        if (st != GREBE_OK) {
            return error_wrap(err, st, "column \"%.64s\"", from->name);
        }
        schema_release(s->to.children[at]);
        schema_move(s->to.children[at], &to);
        GREBE_TRY(check_pair(s, at, err));
        s->is_cast[at] = true;
    }
out:
    return st;
}

grebe_status grebe_rows_cast(grebe_context *ctx, struct ArrowArrayStream *rows,
                             const grebe_column_cast *casts, size_t n_casts,
                             struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, ctx != NULL && rows != NULL && rows->release != NULL && out != NULL);
    GREBE_CHECK_ARG(err, n_casts == 0 || casts != NULL);
    memset(out, 0, sizeof *out);
    struct cast_stream *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a cast");
    }
    s->a = ctx->a;
    GREBE_TRY(stream_schema(rows, &s->from, err));
    GREBE_TRY(plan(s, casts, n_casts, err));
    GREBE_TRY(stream_export(ctx->a, &cast_ops, s, out, err));
    stream_move(&s->input, rows);
    s = NULL;
out:
    if (s != NULL) {
        cast_free(s);
    }
    return st;
}
