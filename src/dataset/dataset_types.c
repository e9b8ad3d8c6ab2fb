/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "arrow/arrow_internal.h"
#include "base/ascii.h"
#include "base/number.h"
#include "dataset/dataset_unique.h"
#include "dataset/row_key.h"
#include "dataset/row_set.h"
#include "dataset/transform.h"
#include "wire/json_python.h"

/* ---- cast ---- */

struct casting {
    const grebe_dataset *ds;
    const struct features *to;
};

static grebe_status cast_rows(void *arg, struct ArrowArray *rows, int64_t first_row, struct ArrowArray *out,
                              grebe_error *err)
{
    const struct casting *c = arg;
    struct feature_cast_options o = { .first_row = first_row };
    return features_cast(c->ds->ctx->a, c->to, &c->ds->schema, rows, &o, out, err);
}

/* Whether storage stays as it is, so that only the features change. */
static grebe_status is_same_storage(const grebe_dataset *ds, const struct features *to, const int *columns,
                                    struct ArrowSchema *schema, bool *is_same, grebe_error *err)
{
    grebe_status st = features_to_schema(ds->ctx->a, to, schema, err);
    *is_same = st == GREBE_OK;
    for (size_t i = 0; *is_same && i < to->top.n_fields; i++) {
        *is_same = schema_equal(schema->children[i], ds->schema.children[columns[i]],
                                SCHEMA_EQUAL_IGNORE_METADATA | SCHEMA_EQUAL_IGNORE_CHILD_NAMES);
    }
    return st;
}

grebe_status grebe_dataset_cast(const grebe_dataset *ds, const char *features, const grebe_transform_options *options,
                                grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && features != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct features *to = NULL;
    struct ArrowSchema schema = { 0 };
    struct derived d = { 0 };
    int *columns = NULL;
    size_t n = ds->features->top.n_fields;
    bool is_same = false;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "cast", err));
    GREBE_TRY(features_from_json(ds->ctx->a, features, strlen(features), &to, err));
    columns = mem_alloc(ds->ctx->a, (to->top.n_fields + 1) * sizeof *columns);
    if (columns == NULL) {
        st = mem_fail(err, n * sizeof *columns, "columns");
        goto out;
    }
    for (size_t i = 0; i < to->top.n_fields; i++) {
        GREBE_TRY(dataset_find_columns(ds, &to->top.fields[i].name, 1, &columns[i], err));
    }
    if (to->top.n_fields != n) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%zu features for %zu columns: expected one for each", to->top.n_fields, n);
        goto out;
    }
    GREBE_TRY(fingerprint_arg_json(&t.f, "features", features, err));
    GREBE_TRY(transform_arg_name(&t, err));
    GREBE_TRY(transform_arg_memory(&t, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(is_same_storage(ds, to, columns, &schema, &is_same, err));
    if (is_same) {
        GREBE_TRY(dataset_table_project(ds->table, columns, &schema, &d.table, err));
        d.features = to;
        to = NULL;
        st = dataset_derive(ds, &d, t.fingerprint, out, err);
        goto out;
    }
    struct casting c = { ds, to };
    GREBE_TRY(dataset_rewrite(&t, to, cast_rows, &c, out, err));
out:
    mem_free(ds->ctx->a, columns, columns != NULL ? (to != NULL ? to->top.n_fields + 1 : n + 1) * sizeof *columns : 0);
    features_free(to);
    schema_release(&schema);
    transform_end(&t);
    return st;
}

/* ---- one column becomes classes ---- */

struct class_name {
    char *text;
    size_t value; /* number of the distinct value */
};

/* New numbers for the values of a column, by their keys. */
struct classes {
    const grebe_dataset *ds;
    int column;
    struct row_set values;
    int64_t *ids; /* shape [values.n]; -1: null */
    const struct features *to;
};

static grebe_status encode_rows(void *arg, struct ArrowArray *rows, int64_t first_row, struct ArrowArray *out,
                                grebe_error *err)
{
    struct classes *c = arg;
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = c->ds->ctx->a;
    struct ArrowArray made = { 0 };
    struct buf key = BUF_INIT(a);
    void *ids = NULL, *bits = NULL;
    const struct ArrowArray *column = rows->children[c->column];
    int64_t n = rows->length;
    (void)first_row;
    GREBE_TRY(array_new(a, n, 2, 0, &made, err));
    GREBE_TRY(array_alloc_buffer(a, &made, 1, (size_t)n * 8, &ids, err));
    GREBE_TRY(array_alloc_buffer(a, &made, 0, bitmap_bytes(n), &bits, err));
    memset(bits, 0, bitmap_bytes(n));
    for (int64_t i = 0; i < n; i++) {
        size_t at = 0;
        bool is_new = false;
        buf_clear(&key);
        GREBE_TRY(row_key_put(c->ds->schema.children[c->column], column, i, &key, err));
        GREBE_TRY(row_set_put(&c->values, key.data, key.len, &at, &is_new, err));
        int64_t id = is_new ? -1 : c->ids[at]; /* new is impossible: all were seen */
        ((int64_t *)ids)[i] = id < 0 ? 0 : id;
        if (id >= 0) {
            bit_set(bits, i);
        } else {
            made.null_count++;
        }
    }
    array_release(rows->children[c->column]);
    array_move(rows->children[c->column], &made);
    array_move(out, rows);
out:
    array_release(&made);
    array_release(rows);
    buf_release(&key);
    return st;
}

/* The features of a data set with one column a ClassLabel. */
static grebe_status with_classes(const grebe_dataset *ds, int column, const char *const *names, size_t n,
                                 struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    struct buf json = BUF_INIT(a);
    struct features *one = NULL;
    GREBE_TRY(buf_put_byte(&json, '{', err));
    GREBE_TRY(json_python_string(&json, ds->columns[column], strlen(ds->columns[column]), err));
    GREBE_TRY(buf_put_text(&json, ": {\"names\": [", err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(json_python_next(&json, i, -1, 0, err));
        GREBE_TRY(json_python_string(&json, names[i], strlen(names[i]), err));
    }
    GREBE_TRY(buf_put_text(&json, "], \"_type\": \"ClassLabel\"}}", err));
    GREBE_TRY(features_from_json(a, (const char *)json.data, json.len, &one, err));
    GREBE_TRY(features_merge(a, ds->features, one, out, err));
out:
    features_free(one);
    buf_release(&json);
    return st;
}

/* A value as Python's str() spells it. NULL with GREBE_OK: null. */
static grebe_status spell(const grebe_allocator *a, const struct ArrowSchema *schema, const struct ArrowArray *array,
                          int64_t i, char **out, grebe_error *err)
{
    struct arrow_type t;
    char text[NUMBER_TEXT_MAX];
    size_t len = 0;
    *out = NULL;
    grebe_status st = arrow_type_of(schema, &t, err);
    if (st != GREBE_OK || t.kind == ARROW_NULL || array_is_null(array, i)) {
        return st;
    }
    const char *p = array->buffers[1];
    int64_t at = array->offset + i;
    if (arrow_kind_is_text(t.kind)) {
        struct arrow_bytes b = arrow_bytes_at(array, t.kind, t.byte_width, i);
        *out = str_copy_len(a, b.p, (size_t)b.len);
        return *out == NULL ? mem_fail(err, (size_t)b.len, "a class") : GREBE_OK;
    }
    struct buf digits = BUF_INIT(a);
    if (t.kind == ARROW_BOOL) {
        *out = str_copy(a, bit_get((const uint8_t *)p, at) ? "True" : "False");
    } else if (t.kind == ARROW_FLOAT32 || t.kind == ARROW_FLOAT64) {
        double d;
        float f;
        if (t.kind == ARROW_FLOAT64) {
            memcpy(&d, p + at * 8, 8);
        } else {
            memcpy(&f, p + at * 4, 4);
            d = (double)f;
        }
        len = number_put_double(text, d, &number_style_python);
        *out = str_copy_len(a, text, len);
    } else if (t.kind >= ARROW_INT8 && t.kind <= ARROW_UINT64) {
        st = t.kind == ARROW_UINT64
                 ? buf_printf(&digits, err, "%llu", (unsigned long long)((const uint64_t *)(const void *)p)[at])
                 : buf_printf(&digits, err, "%lld", (long long)arrow_load_int(p, t.kind, at));
        *out = st == GREBE_OK ? str_copy_len(a, (const char *)digits.data, digits.len) : NULL;
    } else {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "column \"%.64s\": cast it to string before it becomes classes",
                          schema->name);
    }
    buf_release(&digits);
    return st == GREBE_OK && *out == NULL ? mem_fail(err, len, "a class") : st;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(((const struct class_name *)x)->text, ((const struct class_name *)y)->text);
}

/* Keys of the distinct values in their order, so that the set knows them. */
static grebe_status learn(struct classes *c, const struct ArrowArray *values, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf key = BUF_INIT(c->ds->ctx->a);
    for (int64_t i = 0; i < values->length && st == GREBE_OK; i++) {
        size_t at = 0;
        bool is_new = false;
        buf_clear(&key);
        st = row_key_put(c->ds->schema.children[c->column], values, i, &key, err);
        st = st == GREBE_OK ? row_set_put(&c->values, key.data, key.len, &at, &is_new, err) : st;
    }
    buf_release(&key);
    return st;
}

/* Sorted names into *names, and each value's number; texts equal as texts are one class. */
static grebe_status number_classes(struct classes *c, const struct ArrowArray *values, bool include_nulls,
                                   struct class_name *sorted, const char **names, size_t *n, grebe_error *err)
{
    const grebe_allocator *a = c->ds->ctx->a;
    size_t m = 0;
    for (int64_t i = 0; i < values->length; i++) {
        char *text = NULL;
        grebe_status st = spell(a, c->ds->schema.children[c->column], values, i, &text, err);
        if (st == GREBE_OK && text == NULL && include_nulls) {
            text = str_copy(a, "None");
            st = text == NULL ? mem_fail(err, 5, "a class") : GREBE_OK;
        }
        if (st != GREBE_OK) {
            return st;
        }
        c->ids[i] = -1;
        if (text != NULL) {
            sorted[m++] = (struct class_name){ text, (size_t)i };
        }
    }
    qsort(sorted, m, sizeof *sorted, by_text);
    for (size_t i = 0; i < m; i++) {
        if (i == 0 || strcmp(sorted[i].text, sorted[i - 1].text) != 0) {
            names[(*n)++] = sorted[i].text;
        }
        c->ids[sorted[i].value] = (int64_t)*n - 1;
    }
    return GREBE_OK;
}

grebe_status grebe_dataset_class_encode_column(const grebe_dataset *ds, const char *column, bool include_nulls,
                                               const grebe_transform_options *options, grebe_dataset **out,
                                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && column != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    struct transform t;
    struct classes c = { .ds = ds };
    struct ArrowArray values = { 0 };
    struct class_name *sorted = NULL;
    const char **names = NULL;
    struct features *to = NULL;
    size_t n = 0, n_values = 0;
    *out = NULL;
    row_set_init(&c.values, a);
    GREBE_TRY(transform_begin(&t, ds, options, "class_encode_column", err));
    GREBE_TRY(dataset_find_columns(ds, &column, 1, &c.column, err));
    if (ds->features->top.fields[c.column].kind != FEATURE_VALUE) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": expected a Value, found %s", column,
                        ds->features->top.fields[c.column].type_name);
        goto out;
    }
    GREBE_TRY(fingerprint_arg_text(&t.f, "column", column, err));
    GREBE_TRY(transform_arg_name(&t, err));
    if (include_nulls) {
        GREBE_TRY(fingerprint_arg_bool(&t.f, "include_nulls", true, err));
    }
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(dataset_distinct(ds, c.column, &values, err));
    n_values = (size_t)values.length;
    c.ids = mem_alloc(a, n_values * sizeof *c.ids);
    sorted = mem_alloc_zero(a, n_values * sizeof *sorted);
    names = mem_alloc(a, n_values * sizeof *names);
    if (c.ids == NULL || sorted == NULL || names == NULL) {
        st = mem_fail(err, n_values * sizeof *sorted, "classes");
        goto out;
    }
    GREBE_TRY(learn(&c, &values, err));
    GREBE_TRY(number_classes(&c, &values, include_nulls, sorted, names, &n, err));
    GREBE_TRY(with_classes(ds, c.column, names, n, &to, err));
    GREBE_TRY(dataset_rewrite(&t, to, encode_rows, &c, out, err));
out:
    for (size_t i = 0; sorted != NULL && i < n_values; i++) {
        str_free(a, sorted[i].text);
    }
    mem_free(a, sorted, n_values * sizeof *sorted);
    mem_free(a, names, n_values * sizeof *names);
    mem_free(a, c.ids, n_values * sizeof *c.ids);
    array_release(&values);
    row_set_release(&c.values);
    features_free(to);
    transform_end(&t);
    return st;
}

/* ---- other numbers for the same classes ---- */

static bool is_equal_lower(const char *x, const char *y)
{
    while (*x != '\0' && ascii_lower(*x) == ascii_lower(*y)) {
        x++;
        y++;
    }
    return *x == '\0' && *y == '\0';
}

struct alignment {
    const grebe_dataset *ds;
    int column;
    int64_t *ids; /* shape [n]: new number of class i */
    size_t n;
};

static grebe_status align_rows(void *arg, struct ArrowArray *rows, int64_t first_row, struct ArrowArray *out,
                               grebe_error *err)
{
    const struct alignment *al = arg;
    const grebe_allocator *a = al->ds->ctx->a;
    struct ArrowArray made = { 0 };
    const struct ArrowArray *column = rows->children[al->column];
    const struct ArrowArray *one = column;
    /* a copy of its own: its numbers are changed in place */
    grebe_status st = array_concat(a, al->ds->schema.children[al->column], &one, 1, &made, err);
    for (int64_t i = 0; i < column->length && st == GREBE_OK; i++) {
        int64_t *v = (int64_t *)(uintptr_t)made.buffers[1] + made.offset + i;
        if (array_is_null(&made, i)) {
            continue;
        }
        if (*v < 0 || (uint64_t)*v >= al->n) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "row %lld: %lld is no class", (long long)(first_row + i), (long long)*v);
            break;
        }
        *v = al->ids[*v];
    }
    if (st == GREBE_OK) {
        array_release(rows->children[al->column]);
        array_move(rows->children[al->column], &made);
        array_move(out, rows);
    }
    array_release(&made);
    array_release(rows);
    return st;
}

/* names[i]: the label with the i-th smallest number. */
static grebe_status order_labels(const struct json_value *v, struct arena *ar, const char ***names, grebe_error *err)
{
    const char **out = arena_array(ar, v->n + 1, sizeof *out);
    bool *is_used = arena_array(ar, v->n + 1, sizeof *is_used);
    if (out == NULL || is_used == NULL) {
        return mem_fail(err, v->n * sizeof *out, "labels");
    }
    for (size_t i = 0; i < v->n; i++) {
        size_t best = v->n;
        int64_t least = 0, id = 0;
        for (size_t k = 0; k < v->n; k++) {
            if (is_used[k]) {
                continue;
            }
            if (!json_i64(&v->members[k].value, &id)) {
                return GREBE_FAIL(err, GREBE_EINVAL, "label \"%.64s\": expected a number", v->members[k].key);
            }
            if (best == v->n || id < least) {
                best = k;
                least = id;
            }
        }
        is_used[best] = true;
        out[i] = v->members[best].key;
    }
    *names = out;
    return GREBE_OK;
}

grebe_status grebe_dataset_align_labels(const grebe_dataset *ds, const char *column, const char *labels,
                                        const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    enum { LABELS_MAX = 1 << 14 };
    GREBE_CHECK_ARG(err, ds != NULL && column != NULL && labels != NULL && out != NULL);
    grebe_status st = GREBE_OK;
    struct transform t;
    struct alignment al = { .ds = ds };
    struct arena ar = ARENA_INIT(ds->ctx->a);
    const struct json_value *v = NULL;
    const char **names = NULL;
    struct features *to = NULL;
    *out = NULL;
    GREBE_TRY(transform_begin(&t, ds, options, "align_labels_with_mapping", err));
    GREBE_TRY(dataset_find_columns(ds, &column, 1, &al.column, err));
    const struct feature *f = &ds->features->top.fields[al.column];
    GREBE_TRY(json_parse(&ar, labels, strlen(labels), &v, err));
    if (f->kind != FEATURE_CLASS_LABEL || v->type != JSON_OBJECT || v->n > LABELS_MAX) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\": expected a ClassLabel, and an object of its labels",
                        column);
        goto out;
    }
    al.n = f->n_names;
    al.ids = arena_array(&ar, al.n + 1, sizeof *al.ids);
    if (al.ids == NULL) {
        st = mem_fail(err, al.n * sizeof *al.ids, "labels");
        goto out;
    }
    for (size_t i = 0; i < al.n; i++) {
        size_t k = 0;
        while (k < v->n && !is_equal_lower(v->members[k].key, f->names[i])) {
            k++;
        }
        if (k == v->n || !json_i64(&v->members[k].value, &al.ids[i]) || al.ids[i] < 0) {
            st =
                GREBE_FAIL(err, GREBE_EINVAL, "label \"%.64s\" of column \"%.64s\" has no number", f->names[i], column);
            goto out;
        }
    }
    GREBE_TRY(order_labels(v, &ar, &names, err));
    GREBE_TRY(fingerprint_arg_json(&t.f, "label2id", labels, err));
    GREBE_TRY(fingerprint_arg_text(&t.f, "label_column", column, err));
    GREBE_TRY(transform_seal(&t, NULL, err));
    GREBE_TRY(with_classes(ds, al.column, names, v->n, &to, err));
    GREBE_TRY(dataset_rewrite(&t, to, align_rows, &al, out, err));
out:
    features_free(to);
    arena_release(&ar);
    transform_end(&t);
    return st == GREBE_ECORRUPT && v == NULL ? GREBE_EINVAL : st;
}
