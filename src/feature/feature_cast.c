/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/features.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrow/array_cast.h"
#include "arrow/arrow_internal.h"
#include "arrow/type_text.h"
#include "base/name_index.h"
#include "feature/feature_cast_internal.h"
#include "feature/feature_dtype.h"
#include "text/text_cast.h"

/* ---- what is the same ---- */

static bool is_leaf_format(const char *dtype, const struct ArrowSchema *s)
{
    char format[DTYPE_FORMAT_MAX];
    const char *canonical = NULL;
    return dtype_format(dtype, format, &canonical, NULL) == GREBE_OK && strcmp(format, s->format) == 0;
}

static bool is_media_storage(const struct ArrowSchema *s)
{
    return strcmp(s->format, "+s") == 0 && s->n_children == 2 && strcmp(s->children[0]->name, "bytes") == 0 &&
           strcmp(s->children[0]->format, "z") == 0 && strcmp(s->children[1]->name, "path") == 0 &&
           strcmp(s->children[1]->format, "u") == 0 && s->children[0]->dictionary == NULL &&
           s->children[1]->dictionary == NULL;
}

static bool is_json_extension(const struct ArrowSchema *s)
{
    struct key_value pair;
    return schema_metadata_find(s, "ARROW:extension:name", &pair) && pair.value_len == 10 &&
           memcmp(pair.value, "arrow.json", 10) == 0;
}

/* Whether values of the type need neither change nor check. */
static bool is_storage(const struct feature *f, const struct ArrowSchema *s)
{
    char format[32];
    if (s->dictionary != NULL) {
        return false;
    }
    switch (f->kind) {
    case FEATURE_VALUE: return is_leaf_format(f->dtype, s);
    case FEATURE_MEDIA: return is_media_storage(s);
    case FEATURE_JSON: return strcmp(s->format, "u") == 0 && is_json_extension(s);
    case FEATURE_LARGE_LIST: return strcmp(s->format, "+L") == 0 && is_storage(f->child, s->children[0]);
    case FEATURE_LIST:
        snprintf(format, sizeof format, f->length >= 0 ? "+w:%" PRId64 : "+l", f->length);
        return strcmp(s->format, format) == 0 && is_storage(f->child, s->children[0]);
    case FEATURE_ARRAY:
        for (int i = 0; i < f->n_dims; i++) {
            if (strcmp(s->format, "+l") != 0) {
                return false;
            }
            s = s->children[0];
        }
        return s->dictionary == NULL && is_leaf_format(f->dtype, s);
    case FEATURE_STRUCT:
        if (strcmp(s->format, "+s") != 0 || s->n_children != (int64_t)f->n_fields) {
            return false;
        }
        for (size_t i = 0; i < f->n_fields; i++) {
            const struct ArrowSchema *child = s->children[i];
            if (strcmp(f->fields[i].name, child->name != NULL ? child->name : "") != 0 || !is_storage(&f->fields[i], child)) {
                return false;
            }
        }
        return true;
    default: return false; /* labels are looked at; translations are rare */
    }
}

grebe_status cast_same(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                       struct ArrowArray *out)
{
    return c->shared != NULL ? array_view(c->shared, array, 0, array->length, out, c->err)
                             : array_concat(c->a, s, &array, 1, out, c->err);
}

grebe_status cast_refused(const struct caster *c, const struct feature *f, const struct ArrowSchema *s)
{
    char expected[160], found[160];
    struct ArrowSchema to = { 0 };
    bool is_plain = f->kind == FEATURE_VALUE;
    if (!is_plain && feature_schema(c->a, f, "", &to, NULL) == GREBE_OK) {
        type_quote(expected, sizeof expected, &to);
    } else {
        snprintf(expected, sizeof expected, "%s", is_plain ? f->dtype : f->type_name);
    }
    schema_release(&to);
    return GREBE_FAIL(c->err, GREBE_ESCHEMA, "cannot cast %s to %s", type_quote(found, sizeof found, s), expected);
}

grebe_status cast_validity(const struct caster *c, const struct ArrowArray *array, struct ArrowArray *out)
{
    void *p = NULL;
    out->null_count = array_null_count(array);
    if (out->null_count == 0) {
        return GREBE_OK;
    }
    grebe_status st = array_alloc_buffer(c->a, out, 0, bitmap_bytes(array->length), &p, c->err);
    if (st == GREBE_OK) {
        memset(p, 0, bitmap_bytes(array->length));
        bitmap_copy(p, 0, array->buffers[0], array->offset, array->length);
    }
    return st;
}

grebe_status cast_hide_nulls(const struct caster *c, const struct ArrowSchema *s, const struct ArrowArray *array,
                             const struct ArrowArray *rows, struct ArrowArray *out)
{
    size_t bytes = (size_t)(rows->length + 1) * sizeof(int64_t);
    int64_t *at = mem_alloc(c->a, bytes);
    if (at == NULL) {
        return mem_fail(c->err, bytes, "rows");
    }
    for (int64_t i = 0; i < rows->length; i++) {
        at[i] = array_is_null(array, i) ? -1 : i;
    }
    grebe_status st = array_gather(c->a, s, rows, at, rows->length, out, c->err);
    mem_free(c->a, at, bytes);
    return st;
}

grebe_status cast_owned(const struct caster *c, const struct feature *f, const struct ArrowSchema *s, struct ArrowArray *array,
                        struct ArrowArray *out)
{
    struct array_shared *shared = NULL;
    grebe_status st = array_share(c->a, array, &shared, c->err);
    if (st != GREBE_OK) {
        array_release(array);
        return st;
    }
    struct caster inner = { c->a, shared, c->o, c->err };
    st = cast_node(&inner, f, s, array_shared_get(shared), out);
    array_shared_drop(shared);
    return st;
}

/* ---- leaves ---- */

static bool is_primitive(enum arrow_kind k)
{
    return (k >= ARROW_BOOL && k <= ARROW_FLOAT64) || (k >= ARROW_DATE32 && k <= ARROW_DURATION) ||
           (k >= ARROW_DECIMAL32 && k <= ARROW_DECIMAL256);
}

static grebe_status no_cast(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s)
{
    char expected[96], found[96];
    return GREBE_FAIL(c->err, GREBE_ESCHEMA, "cannot cast %s to %s", type_quote(found, sizeof found, s),
                      type_quote(expected, sizeof expected, to));
}

grebe_status cast_value(const struct caster *c, const struct ArrowSchema *to, const struct ArrowSchema *s,
                        const struct ArrowArray *array, struct ArrowArray *out)
{
    struct arrow_type f, t;
    bool is_known = true;
    grebe_status st = arrow_type_of(s, &f, c->err);
    if (st == GREBE_OK) {
        st = arrow_type_of(to, &t, c->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (strcmp(s->format, to->format) == 0) {
        return cast_same(c, s, array, out);
    }
    if (t.kind == ARROW_NULL) {
        bool is_all_null = array_null_count(array) == array->length;
        return is_all_null ? array_nulls(c->a, to, array->length, out, c->err) : no_cast(c, to, s);
    }
    if (arrow_kind_is_text(t.kind) && is_primitive(f.kind)) {
        return c->o->is_trial ? no_cast(c, to, s) : cast_to_text(c, to, s, array, out);
    }
    bool is_bytes = arrow_kind_is_bytes(f.kind) || arrow_kind_is_view(f.kind);
    if (is_bytes && is_primitive(t.kind)) {
        st = cast_from_text(c, to, s, array, &is_known, out);
        if (is_known) {
            return st;
        }
    }
    if (schema_widens(s, to, NULL) == GREBE_OK) {
        return array_widen(c->a, s, to, array, out, c->err);
    }
    if (array_cast_knows(s, to)) {
        return array_cast(c->a, s, to, array, c->o->first_row, out, c->err);
    }
    if (text_cast_knows(s, to)) {
        return text_cast(c->a, s, to, array, c->o->first_row, out, c->err);
    }
    return no_cast(c, to, s);
}

/* ---- any node ---- */

/* Dictionaries, runs and list views as their values, then cast. */
static grebe_status cast_plain(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                               const struct ArrowArray *array, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema plain = { 0 };
    struct ArrowArray values = { 0 };
    GREBE_TRY(schema_copy_plain(c->a, s, &plain, c->err));
    plain.flags |= ARROW_FLAG_NULLABLE;
    GREBE_TRY(array_widen(c->a, s, &plain, array, &values, c->err));
    st = cast_owned(c, f, &plain, &values, out);
out:
    schema_release(&plain);
    return st;
}

/* ArrayND is lists of lists of its dtype. */
static grebe_status cast_array(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                               const struct ArrowArray *array, struct ArrowArray *out)
{
    struct feature levels[6];
    levels[f->n_dims] = (struct feature){ .kind = FEATURE_VALUE, .type_name = "Value", .name = "", .dtype = f->dtype,
                                          .length = -1 };
    for (int i = 0; i < f->n_dims; i++) {
        levels[i] = (struct feature){ .kind = FEATURE_LIST, .type_name = "List", .name = "", .length = -1,
                                      .child = &levels[i + 1] };
    }
    return cast_node(c, &levels[0], s, array, out);
}

static grebe_status cast_to_schema(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                                   const struct ArrowArray *array, struct ArrowArray *out)
{
    struct ArrowSchema to = { 0 };
    grebe_status st = feature_schema(c->a, f, "", &to, c->err);
    if (st == GREBE_OK && f->kind == FEATURE_VALUE) {
        st = cast_value(c, &to, s, array, out);
    } else if (st == GREBE_OK) {
        st = schema_widens(s, &to, NULL) == GREBE_OK ? array_widen(c->a, s, &to, array, out, c->err) : cast_refused(c, f, s);
    }
    schema_release(&to);
    return st;
}

grebe_status cast_nulls(const struct caster *c, const struct feature *f, int64_t n, struct ArrowArray *out)
{
    struct ArrowSchema to = { 0 };
    grebe_status st = feature_schema(c->a, f, "", &to, c->err);
    if (st == GREBE_OK) {
        st = array_nulls(c->a, &to, n, out, c->err);
    }
    schema_release(&to);
    return st;
}

static bool is_plain_node(const struct arrow_type *t)
{
    return !t->is_dictionary && t->kind != ARROW_RUN_END_ENCODED && !arrow_kind_is_list_view(t->kind);
}

/* Depth is bounded by FEATURE_DEPTH_MAX. */
grebe_status cast_node(const struct caster *c, const struct feature *f, const struct ArrowSchema *s,
                       const struct ArrowArray *array, struct ArrowArray *out)
{
    struct arrow_type t;
    memset(out, 0, sizeof *out);
    if (is_storage(f, s)) {
        return cast_same(c, s, array, out);
    }
    grebe_status st = arrow_type_of(s, &t, c->err);
    if (st != GREBE_OK) {
        return st;
    }
    if (!is_plain_node(&t)) {
        return cast_plain(c, f, s, array, out);
    }
    if (t.kind == ARROW_NULL) {
        return cast_nulls(c, f, array->length, out);
    }
    switch (f->kind) {
    case FEATURE_VALUE: return cast_to_schema(c, f, s, array, out);
    case FEATURE_CLASS_LABEL: return cast_label(c, f, s, array, out);
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST: return cast_list(c, f, s, array, out);
    case FEATURE_STRUCT: return cast_struct(c, f, s, array, out);
    case FEATURE_ARRAY: return cast_array(c, f, s, array, out);
    case FEATURE_MEDIA: return cast_media(c, f, s, array, out);
    case FEATURE_JSON: return cast_json(c, f, s, array, out);
    case FEATURE_TRANSLATION:
    case FEATURE_TRANSLATION_VARIABLE: return cast_to_schema(c, f, s, array, out);
    }
    return GREBE_OK;
}

grebe_status feature_cast(const grebe_allocator *a, const struct feature *f, const struct ArrowSchema *schema,
                          const struct ArrowArray *array, const struct feature_cast_options *o, struct ArrowArray *out,
                          grebe_error *err)
{
    static const struct feature_cast_options defaults;
    struct caster c = { a, NULL, o != NULL ? o : &defaults, err };
    grebe_status st = cast_node(&c, f, schema, array, out);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* ---- rows ---- */

/* Names of columns, at most a message's worth. */
static const char *column_names(const struct ArrowSchema *s, char *dst, size_t dst_len)
{
    size_t at = 0;
    dst[0] = '\0';
    for (int64_t i = 0; i < s->n_children && at + 16 < dst_len; i++) {
        at += (size_t)snprintf(dst + at, dst_len - at, "%s", i > 0 ? ", " : "");
        error_quote(dst + at, dst_len - at, s->children[i]->name, strlen(s->children[i]->name));
        at += strlen(dst + at);
    }
    return dst;
}

static grebe_status check_extra(const struct features *f, const struct ArrowSchema *schema, const struct name_index *there,
                                const struct feature_cast_options *o, grebe_error *err)
{
    size_t n_found = 0;
    for (size_t i = 0; i < f->top.n_fields; i++) {
        n_found += name_index_find(there, f->top.fields[i].name) != NULL;
    }
    if (o->is_extra_dropped || n_found == (size_t)schema->n_children) {
        return GREBE_OK;
    }
    char names[240];
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (features_find(f, schema->children[i]->name) == NULL) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%s\" is not expected; found columns %s",
                              schema->children[i]->name, column_names(schema, names, sizeof names));
        }
    }
    return GREBE_FAIL(err, GREBE_ESCHEMA, "two columns have one name; found columns %s",
                      column_names(schema, names, sizeof names));
}

static grebe_status cast_columns(const struct caster *c, const struct features *f, const struct ArrowSchema *schema,
                                 const struct name_index *there, struct ArrowArray *out)
{
    grebe_status st = GREBE_OK;
    const struct ArrowArray *rows = array_shared_get(c->shared);
    GREBE_TRY(array_new(c->a, rows->length, 1, (int64_t)f->top.n_fields, out, c->err));
    for (size_t i = 0; i < f->top.n_fields; i++) {
        const struct feature *column = &f->top.fields[i];
        const size_t *at = name_index_find(there, column->name);
        if (at != NULL) {
            struct ArrowArray node = *rows->children[*at];
            node.length = rows->length;
            node.offset += rows->offset;
            node.null_count = rows->offset == 0 && rows->length == rows->children[*at]->length ? node.null_count : -1;
            st = cast_node(c, column, schema->children[*at], &node, out->children[i]);
        } else if (c->o->is_missing_null) {
            st = cast_nulls(c, column, rows->length, out->children[i]);
        } else {
            char names[240];
            st = GREBE_FAIL(c->err, GREBE_ESCHEMA, "column \"%s\" is missing; found columns %s", column->name,
                            column_names(schema, names, sizeof names));
            goto out;
        }
        if (st != GREBE_OK) {
            error_wrap(c->err, st, "column \"%s\"", column->name);
            goto out;
        }
    }
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

/* Whether rows are of the features as they stand. */
static bool are_same_rows(const struct features *f, const struct ArrowSchema *schema, const struct ArrowArray *rows)
{
    return rows->offset == 0 && is_storage(&f->top, schema);
}

grebe_status features_cast(const grebe_allocator *a, const struct features *f, const struct ArrowSchema *schema,
                           struct ArrowArray *rows, const struct feature_cast_options *o, struct ArrowArray *out,
                           grebe_error *err)
{
    static const struct feature_cast_options defaults;
    grebe_status st = GREBE_OK;
    struct array_shared *shared = NULL;
    struct name_index there = { 0 };
    memset(out, 0, sizeof *out);
    if (are_same_rows(f, schema, rows)) {
        array_move(out, rows);
        return GREBE_OK;
    }
    GREBE_TRY(name_index_new(a, (size_t)schema->n_children, &there, err));
    for (int64_t i = 0; i < schema->n_children; i++) {
        GREBE_TRY(name_index_add(&there, schema->children[i]->name, (size_t)i, NULL, err));
    }
    struct caster c = { a, NULL, o != NULL ? o : &defaults, err };
    GREBE_TRY(check_extra(f, schema, &there, c.o, err));
    GREBE_TRY(array_share(a, rows, &shared, err));
    c.shared = shared;
    st = cast_columns(&c, f, schema, &there, out);
out:
    array_shared_drop(shared);
    name_index_release(&there);
    if (rows->release != NULL) {
        array_release(rows);
    }
    return st;
}
