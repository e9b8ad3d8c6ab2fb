/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "dataset/transform.h"
#include "expr/expr.h"
#include "wire/json_python.h"

/* Columns that are computed, and what each reads. */
struct computing {
    const grebe_dataset *ds;
    size_t n;
    struct expr **exprs;      /* shape [n] */
    struct ArrowSchema types; /* struct of n */
    int *places;              /* shape [n]: column of the result */
    const struct features *to;
};

static grebe_status compute(const struct computing *c, size_t i, const struct ArrowArray *rows, struct ArrowArray *out,
                            grebe_error *err)
{
    const grebe_allocator *a = c->ds->ctx->a;
    size_t n = 0;
    const int *columns = expr_columns(c->exprs[i], &n);
    const struct ArrowArray **arrays = mem_alloc(a, (n + 1) * sizeof *arrays);
    if (arrays == NULL) {
        return mem_fail(err, n * sizeof *arrays, "columns");
    }
    for (size_t k = 0; k < n; k++) {
        arrays[k] = rows->children[columns[k]];
    }
    grebe_status st = expr_eval_value(c->exprs[i], arrays, rows->length, out, err);
    mem_free(a, (void *)(uintptr_t)arrays, (n + 1) * sizeof *arrays);
    return st == GREBE_OK ? st : error_wrap(err, st, "column \"%.64s\"", c->types.children[i]->name);
}

/* All computed columns see the rows as they were. */
static grebe_status compute_rows(void *arg, struct ArrowArray *rows, int64_t first_row, struct ArrowArray *out,
                                 grebe_error *err)
{
    const struct computing *c = arg;
    const grebe_allocator *a = c->ds->ctx->a;
    grebe_status st = GREBE_OK;
    size_t n_all = c->to->top.n_fields;
    struct ArrowArray *all = mem_alloc_zero(a, n_all * sizeof *all);
    if (all == NULL) {
        array_release(rows);
        return mem_fail(err, n_all * sizeof *all, "columns");
    }
    for (size_t i = 0; i < c->n; i++) {
        st = compute(c, i, rows, &all[c->places[i]], err);
        if (st != GREBE_OK) {
            error_wrap(err, st, "rows %lld to %lld", (long long)first_row, (long long)(first_row + rows->length - 1));
            goto out;
        }
    }
    for (int64_t i = 0; i < rows->n_children; i++) {
        if (all[i].release == NULL) {
            array_move(&all[i], rows->children[i]);
        }
    }
    st = array_struct(a, rows->length, all, n_all, out, err);
out:
    for (size_t i = 0; i < n_all; i++) {
        array_release(&all[i]);
    }
    mem_free(a, all, n_all * sizeof *all);
    array_release(rows);
    return st;
}

static grebe_status prepare(struct computing *c, const grebe_computed_column *columns, grebe_error *err)
{
    const grebe_dataset *ds = c->ds;
    const grebe_allocator *a = ds->ctx->a;
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)c->n, &c->types, err);
    int next = (int)ds->features->top.n_fields;
    for (size_t i = 0; i < c->n && st == GREBE_OK; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(columns[i].name, columns[k].name) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": computed twice", columns[i].name);
            }
        }
        st = expr_parse(a, columns[i].expr, &c->exprs[i], err);
        st = st == GREBE_OK ? expr_bind_value(c->exprs[i], &ds->schema, err) : st;
        st = st == GREBE_OK ? expr_value_type(c->exprs[i], columns[i].name, c->types.children[i], err) : st;
        if (st != GREBE_OK) {
            return error_wrap(err, st, "column \"%.64s\"", columns[i].name);
        }
        int place = dataset_find_column(ds, columns[i].name);
        c->places[i] = place >= 0 ? place : next++;
    }
    return st;
}

static grebe_status absorb(struct transform *t, const grebe_computed_column *columns, size_t n, grebe_error *err)
{
    struct buf json = BUF_INIT(t->ds->ctx->a);
    grebe_status st = json_python_open(&json, '{', err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = json_python_key(&json, columns[i].name, i, -1, 0, err);
        st = st == GREBE_OK ? json_python_string(&json, columns[i].expr, strlen(columns[i].expr), err) : st;
    }
    st = st == GREBE_OK ? buf_put(&json, "}", 2, err) : st;
    st = st == GREBE_OK ? fingerprint_arg_json(&t->f, "expressions", (const char *)json.data, err) : st;
    buf_release(&json);
    return st == GREBE_OK ? transform_arg_name(t, err) : st;
}

grebe_status grebe_dataset_map_expr(const grebe_dataset *ds, const grebe_computed_column *columns, size_t n,
                                    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && columns != NULL && n > 0 && out != NULL);
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    struct transform t;
    struct features *computed = NULL, *to = NULL;
    struct computing c = { .ds = ds, .n = n };
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "map_expr", err));
    c.exprs = mem_alloc_zero(a, n * sizeof *c.exprs);
    c.places = mem_alloc_zero(a, n * sizeof *c.places);
    if (c.exprs == NULL || c.places == NULL) {
        st = mem_fail(err, n * sizeof *c.exprs, "expressions");
        goto out;
    }
    GREBE_TRY(prepare(&c, columns, err));
    GREBE_TRY(absorb(&t, columns, n, err));
    GREBE_TRY(transform_arg_memory(&t, err));
    GREBE_TRY(transform_arg_batch(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(features_from_schema(a, &c.types, false, &computed, err));
    GREBE_TRY(features_merge(a, ds->features, computed, &to, err));
    c.to = to;
    GREBE_TRY(dataset_rewrite(&t, to, compute_rows, &c, out, err));
out:
    for (size_t i = 0; c.exprs != NULL && i < n; i++) {
        expr_free(c.exprs[i]);
    }
    mem_free(a, c.exprs, n * sizeof *c.exprs);
    mem_free(a, c.places, n * sizeof *c.places);
    schema_release(&c.types);
    features_free(computed);
    features_free(to);
    transform_end(&t);
    return st;
}
