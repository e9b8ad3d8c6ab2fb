/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "dataset/transform.h"

/* The columns of a data set as another one has them: numbers, names, schema. */
struct view {
    const grebe_allocator *a;
    size_t n, capacity;
    int *columns;
    int *steps;
    const char **names, **as;
};

static grebe_status view_new(const grebe_allocator *a, size_t n, struct view *v, grebe_error *err)
{
    *v = (struct view){ a,
                        0,
                        n,
                        mem_alloc_zero(a, n * sizeof(int)),
                        mem_alloc_zero(a, n * sizeof(int)),
                        mem_alloc_zero(a, n * sizeof(char *)),
                        mem_alloc_zero(a, n * sizeof(char *)) };
    return v->columns == NULL || v->steps == NULL || v->names == NULL || v->as == NULL
               ? mem_fail(err, n * sizeof(char *), "columns")
               : GREBE_OK;
}

static void view_release(struct view *v)
{
    mem_free(v->a, v->columns, v->capacity * sizeof(int));
    mem_free(v->a, v->steps, v->capacity * sizeof(int));
    mem_free(v->a, v->names, v->capacity * sizeof(char *));
    mem_free(v->a, v->as, v->capacity * sizeof(char *));
}

static void view_put(struct view *v, const grebe_dataset *ds, int column, const char *as)
{
    v->columns[v->n] = column;
    v->names[v->n] = ds->columns[column];
    v->as[v->n++] = as;
}

static grebe_status apply(struct transform *t, const struct view *v, const grebe_dataset_format *format,
                          grebe_dataset **out, grebe_error *err)
{
    struct derived d = { .format = format };
    struct ArrowSchema schema = { 0 };
    const grebe_dataset *ds = t->ds;
    grebe_status st = features_project(ds->ctx->a, ds->features, v->names, v->as, v->n, &d.features, err);
    st = st == GREBE_OK ? features_to_schema(ds->ctx->a, d.features, &schema, err) : st;
    st = st == GREBE_OK ? dataset_table_project(ds->table, v->columns, &schema, &d.table, err) : st;
    if (st == GREBE_OK) {
        st = dataset_derive(ds, &d, t->fingerprint, out, err);
    }
    dataset_table_drop(d.table);
    features_free(d.features);
    schema_release(&schema);
    return st;
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status check_names(const grebe_dataset *ds, const char *const *names, size_t n, grebe_error *err)
{
    int column = 0;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = dataset_find_columns(ds, &names[i], 1, &column, err);
    }
    return st;
}

grebe_status grebe_dataset_remove_columns(const grebe_dataset *ds, const char *const *columns, size_t n,
                                          const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && (columns != NULL || n == 0) && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct view v = { .a = ds->ctx->a };
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "remove_columns", err));
    GREBE_TRY(check_names(ds, columns, n, err));
    GREBE_TRY(fingerprint_arg_texts(&t.f, "column_names", columns, n, err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(view_new(ds->ctx->a, ds->features->top.n_fields, &v, err));
    for (size_t i = 0; i < ds->features->top.n_fields; i++) {
        if (!is_among(ds->columns[i], columns, n)) {
            view_put(&v, ds, (int)i, ds->columns[i]);
        }
    }
    GREBE_TRY(apply(&t, &v, NULL, out, err));
out:
    view_release(&v);
    transform_end(&t);
    return st;
}

grebe_status grebe_dataset_select_columns(const grebe_dataset *ds, const char *const *columns, size_t n,
                                          const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && (columns != NULL || n == 0) && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct view v = { .a = ds->ctx->a };
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "select_columns", err));
    GREBE_TRY(check_names(ds, columns, n, err));
    GREBE_TRY(fingerprint_arg_texts(&t.f, "column_names", columns, n, err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(view_new(ds->ctx->a, n, &v, err));
    for (size_t i = 0; i < n; i++) {
        if (is_among(columns[i], columns, i)) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": asked for twice", columns[i]);
            goto out;
        }
        view_put(&v, ds, dataset_find_column(ds, columns[i]), columns[i]);
    }
    GREBE_TRY(apply(&t, &v, NULL, out, err));
out:
    view_release(&v);
    transform_end(&t);
    return st;
}

/* ---- renaming ---- */

static const char *renamed(const char *name, const grebe_column_rename *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i].from, name) == 0) {
            return names[i].to;
        }
    }
    return name;
}

static grebe_status check_renames(const grebe_dataset *ds, const grebe_column_rename *names, size_t n,
                                  const struct view *v, grebe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int column = 0;
        grebe_status st = dataset_find_columns(ds, &names[i].from, 1, &column, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (names[i].to == NULL || names[i].to[0] == '\0') {
            return GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": expected a name that is not empty", names[i].from);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i].from, names[k].from) == 0) {
                return GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": renamed twice", names[i].from);
            }
        }
    }
    for (size_t i = 0; i < v->n; i++) {
        if (is_among(v->as[i], v->as, i)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": two columns would have this name", v->as[i]);
        }
    }
    return GREBE_OK;
}

static grebe_status absorb_renames(struct transform *t, const grebe_column_rename *names, size_t n, grebe_error *err)
{
    struct json_member *m = mem_alloc_zero(t->ds->ctx->a, n * sizeof *m);
    if (m == NULL) {
        return mem_fail(err, n * sizeof *m, "names");
    }
    for (size_t i = 0; i < n; i++) {
        m[i].key = names[i].from;
        m[i].key_len = strlen(names[i].from);
        m[i].value = (struct json_value){ .type = JSON_STRING, .n = strlen(names[i].to), .text = names[i].to };
    }
    struct json_value mapping = { .type = JSON_OBJECT, .n = n, .members = m };
    grebe_status st = fingerprint_text(&t->f, "column_mapping", err);
    st = st == GREBE_OK ? fingerprint_value(&t->f, &mapping, err) : st;
    mem_free(t->ds->ctx->a, m, n * sizeof *m);
    return st == GREBE_OK ? transform_arg_name(t, err) : st;
}

grebe_status grebe_dataset_rename_columns(const grebe_dataset *ds, const grebe_column_rename *names, size_t n,
                                          const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && (names != NULL || n == 0) && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct view v = { .a = ds->ctx->a };
    grebe_dataset_format format = ds->format;
    const char **formatted = NULL;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "rename_columns", err));
    GREBE_TRY(view_new(ds->ctx->a, ds->features->top.n_fields, &v, err));
    for (size_t i = 0; i < ds->features->top.n_fields; i++) {
        view_put(&v, ds, (int)i, renamed(ds->columns[i], names, n));
    }
    GREBE_TRY(check_renames(ds, names, n, &v, err));
    GREBE_TRY(absorb_renames(&t, names, n, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    if (format.columns != NULL) {
        formatted = mem_alloc(ds->ctx->a, format.n_columns * sizeof *formatted);
        if (formatted == NULL) {
            st = mem_fail(err, format.n_columns * sizeof *formatted, "columns");
            goto out;
        }
        for (size_t i = 0; i < format.n_columns; i++) {
            formatted[i] = renamed(format.columns[i], names, n);
        }
        format.columns = formatted;
    }
    GREBE_TRY(apply(&t, &v, &format, out, err));
out:
    mem_free(ds->ctx->a, formatted, formatted != NULL ? format.n_columns * sizeof *formatted : 0);
    view_release(&v);
    transform_end(&t);
    return st;
}

/* ---- one column more ---- */

/* A stream of one column as a data set of its own, the column under its name. */
static grebe_status read_added(const grebe_dataset *ds, const char *name, struct ArrowArrayStream *rows,
                               const char *feature, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf json = BUF_INIT(ds->ctx->a);
    struct ArrowSchema schema = { 0 };
    grebe_dataset *one = NULL;
    GREBE_TRY(stream_schema(rows, &schema, err));
    if (schema.n_children != 1) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": expected a stream of one column, found %lld", name,
                        (long long)schema.n_children);
        goto out;
    }
    const char *old = schema.children[0]->name;
    if (feature != NULL) {
        GREBE_TRY(buf_put_byte(&json, '{', err));
        GREBE_TRY(json_put_string(&json, old, strlen(old), err));
        GREBE_TRY(buf_printf(&json, err, ": %s}", feature));
    }
    GREBE_TRY(grebe_dataset_of_rows(ds->ctx, rows, feature != NULL ? buf_text(&json) : NULL, &one, err));
    if (strcmp(old, name) == 0) {
        *out = one;
        one = NULL;
    } else {
        grebe_column_rename rename = { one->columns[0], name };
        GREBE_TRY(grebe_dataset_rename_columns(one, &rename, 1, NULL, out, err));
    }
out:
    grebe_dataset_free(one);
    schema_release(&schema);
    buf_release(&json);
    return st;
}

grebe_status dataset_join(const grebe_dataset *const *sets, size_t n, const char *fingerprint, grebe_dataset **out,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset *first = sets[0];
    const grebe_allocator *a = first->ctx->a;
    struct derived d = { .are_rows_new = true, .indices = dataset_indices_keep(n == 1 ? first->indices : NULL) };
    struct ArrowSchema schema = { 0 };
    const struct dataset_table **tables = mem_alloc(a, n * sizeof *tables);
    *out = NULL;
    if (tables == NULL) {
        st = mem_fail(err, n * sizeof *tables, "tables");
        goto out;
    }
    GREBE_TRY(dataset_copy_features(first, &d.features, err));
    for (size_t i = 0; i < n; i++) {
        tables[i] = sets[i]->table;
        if (i > 0) {
            struct features *merged = NULL;
            GREBE_TRY(features_merge(a, d.features, sets[i]->features, &merged, err));
            features_free(d.features);
            d.features = merged;
        }
    }
    GREBE_TRY(features_to_schema(a, d.features, &schema, err));
    GREBE_TRY(dataset_table_join(first->ctx, tables, n, &schema, &d.table, err));
    GREBE_TRY(dataset_derive(first, &d, fingerprint, out, err));
out:
    dataset_indices_drop(d.indices);
    dataset_table_drop(d.table);
    features_free(d.features);
    schema_release(&schema);
    mem_free(a, (void *)(uintptr_t)tables, n * sizeof *tables);
    return st;
}

grebe_status grebe_dataset_add_column(const grebe_dataset *ds, const char *name, struct ArrowArrayStream *rows,
                                      const char *feature, const grebe_transform_options *options, grebe_dataset **out,
                                      grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, rows != NULL);
    struct transform t = { 0 };
    grebe_dataset *one = NULL, *flat = NULL;
    if (ds == NULL || name == NULL || name[0] == '\0' || out == NULL) {
        stream_release(rows);
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "grebe_dataset_add_column: expected a data set, a name and a place for the result");
    }
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "add_column", err));
    if (dataset_find_column(ds, name) >= 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": it is there already", name);
        goto out;
    }
    GREBE_TRY(read_added(ds, name, rows, feature, &one, err));
    if (one->n_rows != ds->n_rows) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": %lld rows, the data set has %lld", name,
                        (long long)one->n_rows, (long long)ds->n_rows);
        goto out;
    }
    /* the values are no plain argument: their own fingerprint stands for them, and for the name and the type */
    GREBE_TRY(fingerprint_arg_text(&t.f, "column", one->fingerprint, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(grebe_dataset_flatten_indices(ds, NULL, &flat, err));
    const grebe_dataset *both[2] = { flat, one };
    GREBE_TRY(dataset_join(both, 2, t.fingerprint, out, err));
out:
    stream_release(rows);
    grebe_dataset_free(one);
    grebe_dataset_free(flat);
    transform_end(&t);
    return st;
}
