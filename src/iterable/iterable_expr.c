/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that are computed by expressions. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "expr/expr.h"
#include "iterable/iterable_merge.h"

struct expr_step {
    struct batch_step base;
    struct arena arena;
    const char **names, **exprs; /* shape [n] */
    size_t n;
};

static void expr_step_free(struct held *h)
{
    struct expr_step *e = (struct expr_step *)h;
    const grebe_allocator *a = e->arena.a;
    arena_release(&e->arena);
    mem_free(a, e, sizeof *e);
}

static grebe_status expr_step_describe(const struct batch_step *self, struct buf *dst, grebe_error *err)
{
    const struct expr_step *e = (const struct expr_step *)self;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < e->n && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, " %s=%s", e->names[i], e->exprs[i]);
    }
    return st;
}

/* Column i over rows of the schema: its type, and with rows its values. */
static grebe_status compute(const struct expr_step *e, const grebe_allocator *a, size_t i,
                            const struct ArrowSchema *schema, const struct ArrowArray *rows, struct ArrowSchema *type,
                            struct ArrowArray *out, grebe_error *err)
{
    struct expr *x = NULL;
    const struct ArrowArray **arrays = NULL;
    size_t n = 0;
    grebe_status st = GREBE_OK;
    GREBE_TRY(expr_parse(a, e->exprs[i], &x, err));
    GREBE_TRY(expr_bind_value(x, schema, err));
    GREBE_TRY(expr_value_type(x, e->names[i], type, err));
    if (rows != NULL) {
        const int *columns = expr_columns(x, &n);
        arrays = mem_alloc(a, n * sizeof *arrays);
        if (arrays == NULL) {
            st = mem_fail(err, n * sizeof *arrays, "columns");
            goto out;
        }
        for (size_t k = 0; k < n; k++) {
            arrays[k] = rows->children[columns[k]];
        }
        st = expr_eval_value(x, arrays, rows->length, out, err);
    }
out:
    mem_free(a, (void *)(uintptr_t)arrays, n * sizeof *arrays);
    expr_free(x);
    return st == GREBE_OK ? st : error_wrap(err, st, "column \"%.64s\"", e->names[i]);
}

/* All of them as a struct type, and with rows as a struct array. */
static grebe_status compute_all(const struct expr_step *e, const grebe_allocator *a, const struct ArrowSchema *schema,
                                const struct ArrowArray *rows, struct ArrowSchema *types, struct ArrowArray *out,
                                grebe_error *err)
{
    struct ArrowArray *columns = mem_alloc_zero(a, e->n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, e->n * sizeof *columns, "columns");
    }
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)e->n, types, err);
    for (size_t i = 0; i < e->n && st == GREBE_OK; i++) {
        st = compute(e, a, i, schema, rows, types->children[i], &columns[i], err);
    }
    if (st == GREBE_OK && rows != NULL) {
        st = array_struct(a, rows->length, columns, e->n, out, err);
    }
    for (size_t i = 0; i < e->n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, e->n * sizeof *columns);
    return st;
}

static grebe_status expr_step_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                                  struct rows *out, grebe_error *err)
{
    const struct expr_step *e = (const struct expr_step *)self;
    struct ArrowArray rows = { 0 }, computed = { 0 };
    struct ArrowSchema types = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(rows_array(in, &rows, err));
    st = compute_all(e, ctx->a, &in->type->schema, &rows, &types, &computed, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "rows %lld to %lld", (long long)first, (long long)(first + in->n - 1));
        goto out;
    }
    st = rows_merge(ctx->a, in, NULL, 0, &types, &computed, out, err);
out:
    array_release(&rows);
    array_release(&computed);
    schema_release(&types);
    return st;
}

static grebe_status expr_step_new(const grebe_allocator *a, const grebe_computed_column *columns, size_t n,
                                  struct expr_step **out, grebe_error *err)
{
    struct expr_step *e = mem_alloc_zero(a, sizeof *e);
    if (e == NULL) {
        return mem_fail(err, sizeof *e, "expressions");
    }
    atomic_init(&e->base.held.refs, 1);
    e->base.held.free = expr_step_free;
    e->base.name = "computed";
    e->base.run = expr_step_run;
    e->base.describe = expr_step_describe;
    e->arena = ARENA_INIT(a);
    e->n = n;
    e->names = arena_array(&e->arena, n, sizeof *e->names);
    e->exprs = arena_array(&e->arena, n, sizeof *e->exprs);
    grebe_status st =
        e->names == NULL || e->exprs == NULL ? mem_fail(err, n * sizeof *e->names, "expressions") : GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        e->names[i] = arena_str(&e->arena, columns[i].name, strlen(columns[i].name));
        e->exprs[i] = arena_str(&e->arena, columns[i].expr, strlen(columns[i].expr));
        if (e->names[i] == NULL || e->exprs[i] == NULL) {
            st = mem_fail(err, strlen(columns[i].expr), "expressions");
        }
        for (size_t k = 0; k < i && st == GREBE_OK; k++) {
            if (strcmp(e->names[i], e->names[k]) == 0) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": computed twice", e->names[i]);
            }
        }
    }
    if (st != GREBE_OK) {
        held_drop(&e->base.held);
        return st;
    }
    *out = e;
    return GREBE_OK;
}

/* Columns as known before, and those computed. */
static grebe_status computed_features(const grebe_iterable *it, const struct expr_step *e, struct features **out,
                                      grebe_error *err)
{
    const grebe_allocator *a = it->ctx->a;
    struct ArrowSchema schema = { 0 }, types = { 0 };
    struct features *computed = NULL;
    grebe_status st = GREBE_OK;
    GREBE_TRY(features_to_schema(a, it->features, &schema, err));
    GREBE_TRY(compute_all(e, a, &schema, NULL, &types, NULL, err));
    GREBE_TRY(features_from_schema(a, &types, false, &computed, err));
    st = features_merge(a, it->features, computed, out, err);
out:
    features_free(computed);
    schema_release(&schema);
    schema_release(&types);
    return st;
}

grebe_status grebe_iterable_map_expr(const grebe_iterable *it, const grebe_computed_column *columns, size_t n,
                                     grebe_iterable **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, it != NULL && columns != NULL && n > 0 && out != NULL);
    struct expr_step *e = NULL;
    struct features *features = NULL;
    struct node *root = NULL;
    *out = NULL;
    grebe_status st = expr_step_new(it->ctx->a, columns, n, &e, err);
    if (st == GREBE_OK && it->features != NULL) {
        st = computed_features(it, e, &features, err);
    }
    if (st != GREBE_OK) {
        held_drop(e != NULL ? &e->base.held : NULL);
        return st;
    }
    st = apply_new(it->root, &e->base, iterable_is_typed(it), &root, err);
    if (st != GREBE_OK) {
        features_free(features);
        return st;
    }
    return iterable_new(it->ctx, it, root, features, it->is_typed, out, err);
}
