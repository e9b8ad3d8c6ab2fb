/* SPDX-License-Identifier: Apache-2.0 */
/* map and filter: functions of the caller, and conditions. */
#include "iterable/iterable_internal.h"

#include <string.h>

#include "base/checked.h"
#include "expr/expr.h"
#include "iterable/iterable_merge.h"

/* ---- what is kept of the options ---- */

struct function_step {
    struct batch_step base;
    struct arena arena;
    grebe_map_fn map;
    grebe_filter_fn filter;
    void *fn_ctx;
    void (*free)(void *fn_ctx);
    const char **inputs, **removed; /* shape [n_inputs], [n_removed] */
    size_t n_inputs, n_removed;
    bool has_inputs, is_rows_fixed;
    struct features *features; /* of the result; NULL: from the types */
    char *where;
};

static void function_free(struct held *h)
{
    struct function_step *f = (struct function_step *)h;
    const grebe_allocator *a = f->arena.a;
    if (f->free != NULL) {
        f->free(f->fn_ctx);
    }
    features_free(f->features);
    arena_release(&f->arena);
    mem_free(a, f, sizeof *f);
}

static grebe_status copy_names(struct arena *ar, const char *const *names, size_t n, const char ***out,
                               grebe_error *err)
{
    *out = arena_array(ar, n, sizeof **out);
    for (size_t i = 0; i < n && *out != NULL; i++) {
        (*out)[i] = arena_str(ar, names[i], strlen(names[i]));
        if ((*out)[i] == NULL) {
            *out = NULL;
        }
    }
    return *out != NULL ? GREBE_OK : mem_fail(err, n * sizeof **out, "names of columns");
}

static grebe_status function_describe(const struct batch_step *self, struct buf *dst, grebe_error *err)
{
    const struct function_step *f = (const struct function_step *)self;
    grebe_status st = buf_printf(dst, err, " %s", f->where != NULL ? f->where : "");
    for (size_t i = 0; i < f->n_inputs && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, " <%s", f->inputs[i]);
    }
    for (size_t i = 0; i < f->n_removed && st == GREBE_OK; i++) {
        st = buf_printf(dst, err, " -%s", f->removed[i]);
    }
    return st;
}

/* free: called on failure, too. */
static grebe_status function_new(const grebe_allocator *a, const char *name, void *fn_ctx, void (*free)(void *),
                                 const grebe_map_options *map, bool is_by_row, struct function_step **out,
                                 grebe_error *err)
{
    grebe_map_options o = GREBE_MAP_OPTIONS_INIT;
    struct function_step *f = mem_alloc_zero(a, sizeof *f);
    if (f == NULL) {
        if (free != NULL) {
            free(fn_ctx);
        }
        return mem_fail(err, sizeof *f, "a function");
    }
    grebe_status st = GREBE_OK;
    atomic_init(&f->base.held.refs, 1);
    f->base.held.free = function_free;
    f->base.name = name;
    f->base.describe = function_describe;
    f->base.is_by_row = is_by_row;
    f->arena = ARENA_INIT(a);
    f->fn_ctx = fn_ctx;
    f->free = free;
    GREBE_TRY(options_copy(&o, sizeof o, map, err));
    f->base.batch_rows = o.batch_rows == 0 ? READ_ROWS : o.batch_rows < 0 ? -1 : o.batch_rows;
    f->base.is_last_dropped = o.drop_last_batch && o.batch_rows >= 0;
    f->is_rows_fixed = o.is_rows_fixed;
    f->has_inputs = o.input_columns != NULL;
    f->n_inputs = f->has_inputs ? o.n_input_columns : 0;
    f->n_removed = o.n_remove_columns;
    GREBE_TRY(copy_names(&f->arena, o.input_columns, f->n_inputs, &f->inputs, err));
    GREBE_TRY(copy_names(&f->arena, o.remove_columns, f->n_removed, &f->removed, err));
    if (o.features != NULL) {
        GREBE_TRY(features_from_json(a, o.features, strlen(o.features), &f->features, err));
    }
    *out = f;
    f = NULL;
out:
    if (f != NULL) {
        held_drop(&f->base.held);
    }
    return st;
}

/* ---- calling ---- */

/* The columns that the function gets, as a struct array; schema: NULL when all. */
static grebe_status make_input(const struct function_step *f, grebe_context *ctx, const struct rows *in,
                               struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    if (!f->has_inputs) {
        return rows_array(in, out, err);
    }
    struct buf views = BUF_INIT(ctx->a), columns = BUF_INIT(ctx->a);
    struct ArrowArray one = { 0 };
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < f->n_inputs; i++) {
        int at = 0;
        GREBE_TRY(schema_find(&in->type->schema, f->inputs[i], &at, err));
        GREBE_TRY(buf_put(&columns, &at, sizeof at, err));
        GREBE_TRY(array_view(in->data, array_shared_get(in->data)->children[at], in->begin, in->n, &one, err));
        GREBE_TRY(buf_put(&views, &one, sizeof one, err));
        memset(&one, 0, sizeof one);
    }
    GREBE_TRY(
        schema_project(ctx->a, &in->type->schema, (const int *)(const void *)columns.data, f->n_inputs, schema, err));
    GREBE_TRY(array_struct(ctx->a, in->n, (struct ArrowArray *)(void *)views.data, f->n_inputs, out, err));
    buf_clear(&views);
out:
    array_release(&one);
    for (size_t i = 0; i < views.len / sizeof one; i++) {
        array_release(&((struct ArrowArray *)(void *)views.data)[i]);
    }
    buf_release(&views);
    buf_release(&columns);
    return st;
}

/* The function's output as rows of the stream. */
static grebe_status take_output(const struct function_step *f, grebe_context *ctx, const struct rows *in,
                                grebe_map_output *output, int64_t first, struct rows *out, grebe_error *err)
{
    struct ArrowArray imported = { 0 }, all = { 0 };
    struct ArrowSchema schema = { 0 };
    struct rows_type *type = NULL;
    struct rows merged = { 0 };
    grebe_status st = GREBE_OK;
    if (output->kind == GREBE_MAP_NOTHING) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "rows %lld to %lld: the function gave nothing", (long long)first,
                          (long long)(first + in->n - 1));
    }
    GREBE_TRY(array_import_rows(ctx->a, &output->schema, &output->rows, &imported, err));
    if (f->is_rows_fixed && imported.length != in->n) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "rows %lld to %lld: the function gave %lld rows", (long long)first,
                        (long long)(first + in->n - 1), (long long)imported.length);
        goto out;
    }
    if (output->kind == GREBE_MAP_REPLACE) {
        GREBE_TRY(schema_copy(ctx->a, &output->schema, &schema, err));
        GREBE_TRY(rows_type_new(ctx->a, &schema, &type, err));
        GREBE_TRY(rows_of(ctx->a, type, &imported, &merged, err));
    } else {
        GREBE_TRY(rows_merge(ctx->a, in, f->removed, f->n_removed, &output->schema, &imported, &merged, err));
    }
    if (f->features == NULL) {
        rows_move(out, &merged);
        goto out;
    }
    struct feature_cast_options o = { .is_missing_null = true, .is_extra_dropped = true, .first_row = first };
    rows_type_drop(type);
    type = NULL;
    GREBE_TRY(rows_array(&merged, &imported, err));
    GREBE_TRY(features_cast(ctx->a, f->features, &merged.type->schema, &imported, &o, &all, err));
    GREBE_TRY(features_to_schema(ctx->a, f->features, &schema, err));
    GREBE_TRY(rows_type_new(ctx->a, &schema, &type, err));
    st = rows_of(ctx->a, type, &all, out, err);
out:
    array_release(&imported);
    array_release(&all);
    schema_release(&schema);
    rows_type_drop(type);
    rows_release(&merged);
    return st;
}

static grebe_status map_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                            struct rows *out, grebe_error *err)
{
    struct function_step *f = (struct function_step *)self;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray rows = { 0 };
    grebe_map_output output = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(make_input(f, ctx, in, &schema, &rows, err));
    grebe_map_input input = { f->has_inputs ? &schema : &in->type->schema, &rows, first, 0 };
    GREBE_TRY(f->map(f->fn_ctx, &input, &output, err));
    st = take_output(f, ctx, in, &output, first, out, err);
out:
    array_release(&output.rows);
    schema_release(&output.schema);
    array_release(&rows);
    schema_release(&schema);
    return st;
}

/* Rows whose bit is set. */
static grebe_status keep_rows(grebe_context *ctx, const struct rows *in, const uint8_t *bits, struct rows *out,
                              grebe_error *err)
{
    struct ArrowArray rows = { 0 }, kept = { 0 };
    grebe_status st = GREBE_OK;
    int64_t n = bitmap_count(bits, 0, in->n);
    memset(out, 0, sizeof *out);
    if (n == in->n && n > 0) {
        *out = rows_view(in, 0, n);
    }
    if (n == in->n || n == 0) {
        return GREBE_OK;
    }
    GREBE_TRY(rows_array(in, &rows, err));
    GREBE_TRY(array_filter(ctx->a, &in->type->schema, &rows, bits, &kept, err));
    st = rows_of(ctx->a, in->type, &kept, out, err);
out:
    array_release(&rows);
    return st;
}

static grebe_status filter_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                               struct rows *out, grebe_error *err)
{
    struct function_step *f = (struct function_step *)self;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray rows = { 0 };
    size_t n = (size_t)in->n, n_bits = bitmap_bytes(in->n);
    uint8_t *keep = mem_alloc_zero(ctx->a, n + n_bits);
    if (keep == NULL) {
        return mem_fail(err, n, "rows to keep");
    }
    uint8_t *bits = keep + n;
    grebe_status st = GREBE_OK;
    GREBE_TRY(make_input(f, ctx, in, &schema, &rows, err));
    grebe_map_input input = { f->has_inputs ? &schema : &in->type->schema, &rows, first, 0 };
    GREBE_TRY(f->filter(f->fn_ctx, &input, keep, err));
    for (size_t i = 0; i < n; i++) {
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | (unsigned)(keep[i] != 0) << (i & 7));
    }
    st = keep_rows(ctx, in, bits, out, err);
out:
    mem_free(ctx->a, keep, n + n_bits);
    array_release(&rows);
    schema_release(&schema);
    return st;
}

static grebe_status where_run(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                              struct rows *out, grebe_error *err)
{
    struct function_step *f = (struct function_step *)self;
    struct expr *e = NULL;
    struct ArrowArray rows = { 0 };
    size_t n_bits = bitmap_bytes(in->n);
    uint8_t *bits = mem_alloc(ctx->a, n_bits);
    (void)first;
    if (bits == NULL) {
        return mem_fail(err, n_bits, "rows to keep");
    }
    grebe_status st = GREBE_OK;
    GREBE_TRY(expr_parse(ctx->a, f->where, &e, err));
    GREBE_TRY(expr_bind(e, &in->type->schema, err));
    GREBE_TRY(rows_array(in, &rows, err));
    GREBE_TRY(expr_eval_rows(e, &rows, bits, NULL, err));
    st = keep_rows(ctx, in, bits, out, err);
out:
    mem_free(ctx->a, bits, n_bits);
    expr_free(e);
    array_release(&rows);
    return st;
}

/* ---- the public calls ---- */

static grebe_status copy_features(const grebe_iterable *it, struct features **out, grebe_error *err)
{
    *out = NULL;
    return it->features == NULL
               ? GREBE_OK
               : features_from_json(it->ctx->a, it->features_json, strlen(it->features_json), out, err);
}

/* step moved in; features, too. */
static grebe_status behind(const grebe_iterable *it, struct batch_step *step, struct features *features, bool is_typed,
                           grebe_iterable **out, grebe_error *err)
{
    struct node *root = NULL;
    grebe_status st = apply_new(it->root, step, iterable_is_typed(it), &root, err);
    if (st != GREBE_OK) {
        features_free(features);
        return st;
    }
    return iterable_new(it->ctx, it, root, features, is_typed, out, err);
}

/* Every named column must be there, where columns are known. */
static grebe_status check_names(const grebe_iterable *it, const char *const *names, size_t n, grebe_error *err)
{
    for (size_t i = 0; i < n && it->features != NULL; i++) {
        if (features_find(it->features, names[i]) == NULL) {
            return GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there", names[i]);
        }
    }
    return GREBE_OK;
}

grebe_status grebe_iterable_map(const grebe_iterable *it, grebe_map_fn fn, void *fn_ctx, void (*free)(void *),
                                const grebe_map_options *map, bool is_by_row, grebe_iterable **out, grebe_error *err)
{
    struct function_step *f = NULL;
    struct features *features = NULL;
    *out = NULL;
    grebe_status st = function_new(it->ctx->a, "map", fn_ctx, free, map, is_by_row, &f, err);
    if (st != GREBE_OK) {
        return st;
    }
    f->map = fn;
    f->base.run = map_run;
    GREBE_TRY(check_names(it, f->inputs, f->n_inputs, err));
    GREBE_TRY(check_names(it, f->removed, f->n_removed, err));
    if (f->features != NULL) {
        GREBE_TRY(features_from_json(it->ctx->a, map->features, strlen(map->features), &features, err));
    }
    return behind(it, &f->base, features, features != NULL, out, err);
out:
    held_drop(&f->base.held);
    return st;
}

grebe_status grebe_iterable_filter_fn(const grebe_iterable *it, grebe_filter_fn fn, void *fn_ctx, void (*free)(void *),
                                      const grebe_map_options *map, bool is_by_row, grebe_iterable **out,
                                      grebe_error *err)
{
    struct function_step *f = NULL;
    struct features *features = NULL;
    *out = NULL;
    grebe_status st = function_new(it->ctx->a, "filter", fn_ctx, free, map, is_by_row, &f, err);
    if (st != GREBE_OK) {
        return st;
    }
    f->filter = fn;
    f->base.run = filter_run;
    GREBE_TRY(check_names(it, f->inputs, f->n_inputs, err));
    GREBE_TRY(copy_features(it, &features, err));
    return behind(it, &f->base, features, it->is_typed, out, err);
out:
    held_drop(&f->base.held);
    return st;
}

grebe_status grebe_iterable_filter(const grebe_iterable *it, const char *where, grebe_iterable **out, grebe_error *err)
{
    struct function_step *f = NULL;
    struct features *features = NULL;
    struct expr *e = NULL;
    struct ArrowSchema schema = { 0 };
    *out = NULL;
    grebe_status st = function_new(it->ctx->a, "where", NULL, NULL, NULL, false, &f, err);
    if (st != GREBE_OK) {
        return st;
    }
    f->base.run = where_run;
    f->base.batch_rows = 0;
    f->where = arena_str(&f->arena, where, strlen(where));
    st = f->where == NULL ? mem_fail(err, strlen(where), "a condition") : expr_parse(it->ctx->a, where, &e, err);
    if (st == GREBE_OK && it->features != NULL) {
        st = features_to_schema(it->ctx->a, it->features, &schema, err);
        if (st == GREBE_OK) {
            st = expr_bind(e, &schema, err);
        }
    }
    if (st == GREBE_OK) {
        st = copy_features(it, &features, err);
    }
    expr_free(e);
    schema_release(&schema);
    if (st != GREBE_OK) {
        held_drop(&f->base.held);
        return st;
    }
    return behind(it, &f->base, features, it->is_typed, out, err);
}
