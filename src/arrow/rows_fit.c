/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/rows_fit.h"

#include <inttypes.h>

#include "arrow/type_text.h"

/* The schema as if it were nullable like `to`: whether nulls fit is seen in the data. */
static struct ArrowSchema with_nullability(const struct ArrowSchema *from,
                                           const struct ArrowSchema *to)
{
    struct ArrowSchema view = *from; /* shallow: never released */
    view.name = to->name;
    view.flags = (from->flags & ~(int64_t)ARROW_FLAG_NULLABLE) |
                 (to->flags & ARROW_FLAG_NULLABLE);
    return view;
}

static grebe_status fail_type(const struct ArrowSchema *from, const struct ArrowSchema *to,
                              grebe_error *err)
{
    char expected[128];
    char found[128];
    type_quote(expected, sizeof expected, to);
    type_quote(found, sizeof found, from);
    return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": expected %s, found %s", to->name,
                      expected, found);
}

static grebe_status fit_column(struct fit *f, const struct name_index *from_names, int64_t i,
                               grebe_error *err)
{
    const struct ArrowSchema *to = f->to->children[i];
    int source = -1;
    grebe_status st = schema_find_maybe(f->from, from_names, to->name, &source, err);
    if (st == GREBE_ENOTFOUND) {
        f->source[i] = -1;
        if ((to->flags & ARROW_FLAG_NULLABLE) != 0) {
            return GREBE_OK;
        }
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column \"%.64s\": expected it (it is not nullable), found none",
                          to->name);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct ArrowSchema from = with_nullability(f->from->children[source], to);
    f->source[i] = source;
    f->widens[i] = !schema_equal(&from, to, SCHEMA_EQUAL_IGNORE_NULLABLE |
                                                SCHEMA_EQUAL_IGNORE_METADATA |
                                                SCHEMA_EQUAL_IGNORE_CHILD_NAMES);
    if (f->widens[i] && schema_widens(&from, to, NULL) != GREBE_OK) {
        return fail_type(f->from->children[source], to, err);
    }
    return GREBE_OK;
}

grebe_status fit_new(const grebe_allocator *a, const struct ArrowSchema *from,
                     const struct ArrowSchema *to, struct fit *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = (size_t)to->n_children;
    struct name_index from_names = { 0 }, to_names = { 0 };
    *out = (struct fit){ .a = a, .from = from, .to = to };
    out->source = mem_alloc_zero(a, n * sizeof *out->source);
    out->widens = mem_alloc_zero(a, n * sizeof *out->widens);
    if (out->source == NULL || out->widens == NULL) {
        st = mem_fail(err, n * sizeof *out->source, "columns");
    }
    if (st == GREBE_OK) {
        st = schema_index(a, from, &from_names, err);
    }
    if (st == GREBE_OK) {
        st = schema_index(a, to, &to_names, err);
    }
    for (int64_t i = 0; i < to->n_children && st == GREBE_OK; i++) {
        st = fit_column(out, &from_names, i, err);
    }
    for (int64_t i = 0; i < from->n_children && st == GREBE_OK; i++) {
        int found = 0;
        if (schema_find_maybe(to, &to_names, from->children[i]->name, &found, NULL) != GREBE_OK) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": the table has none of this name",
                            from->children[i]->name);
        }
    }
    name_index_release(&from_names);
    name_index_release(&to_names);
    if (st != GREBE_OK) {
        fit_release(out);
    }
    return st;
}

void fit_release(struct fit *f)
{
    if (f->a == NULL) {
        return;
    }
    size_t n = (size_t)f->to->n_children;
    mem_free(f->a, f->source, n * sizeof *f->source);
    mem_free(f->a, f->widens, n * sizeof *f->widens);
    *f = (struct fit){ 0 };
}

/* Offset 0 and children of exactly its length: what the rest of the library expects of rows. */
static grebe_status normalize(const grebe_allocator *a, struct ArrowArray *batch, grebe_error *err)
{
    if (batch->n_buffers > 0 && batch->buffers[0] != NULL && array_null_count(batch) > 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "batch: expected no null rows, found %" PRId64,
                          array_null_count(batch));
    }
    bool is_normal = batch->offset == 0;
    for (int64_t i = 0; i < batch->n_children; i++) {
        is_normal = is_normal && batch->children[i]->length == batch->length;
    }
    if (is_normal) {
        return GREBE_OK;
    }
    int64_t length = batch->length;
    struct array_shared *shared = NULL;
    grebe_status st = array_share(a, batch, &shared, err);
    if (st == GREBE_OK) {
        st = array_slice(shared, 0, length, batch, err);
    }
    array_shared_drop(shared);
    return st;
}

static grebe_status fit_values(const struct fit *f, int64_t i, struct ArrowArray *batch,
                               struct ArrowArray *out, grebe_error *err)
{
    const struct ArrowSchema *to = f->to->children[i];
    if (f->source[i] < 0) {
        return array_nulls(f->a, to, batch->length, out, err);
    }
    struct ArrowArray *values = batch->children[f->source[i]];
    if ((to->flags & ARROW_FLAG_NULLABLE) == 0 && array_null_count(values) > 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column \"%.64s\": expected no nulls (it is not nullable), found %" PRId64,
                          to->name, array_null_count(values));
    }
    if (!f->widens[i]) {
        array_move(out, values);
        return GREBE_OK;
    }
    struct ArrowSchema from = with_nullability(f->from->children[f->source[i]], to);
    grebe_status st = array_check(&from, values, true, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "column \"%.64s\"", to->name);
    }
    return array_widen(f->a, &from, to, values, out, err);
}

grebe_status fit_batch(const struct fit *f, struct ArrowArray *batch, struct ArrowArray *out,
                       grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = (size_t)f->to->n_children;
    out->release = NULL;
    struct ArrowArray *columns = mem_alloc_zero(f->a, n * sizeof *columns);
    if (columns == NULL) {
        st = mem_fail(err, n * sizeof *columns, "a batch");
        goto out;
    }
    GREBE_TRY(array_check(f->from, batch, false, err));
    GREBE_TRY(normalize(f->a, batch, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(fit_values(f, (int64_t)i, batch, &columns[i], err));
    }
    st = array_struct(f->a, batch->length, columns, n, out, err);
out:
    for (size_t i = 0; columns != NULL && i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(f->a, columns, n * sizeof *columns);
    array_release(batch);
    return st;
}
