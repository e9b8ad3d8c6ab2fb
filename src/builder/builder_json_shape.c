/* SPDX-License-Identifier: Apache-2.0 */
/* Types decided, and the shapes that rows are read with. */
#include <string.h>

#include "builder/builder_json_type.h"

enum { DEPTH_MAX = ARROW_DEPTH_MAX - 8 };

/* Marks in json_shape.format of places that are strings to the reader. */
static const char mark_time[] = "tss:", mark_json[] = "json";

static bool is_time(const struct json_shape *s) { return s->format == mark_time; }
static bool is_json(const struct json_shape *s) { return s->format == mark_json; }

static void set_number(struct json_shape *s, bool is_integer)
{
    s->form = JSON_FORM_VALUE;
    s->is_given = true; /* "-0" is an integer, "1e3" a float; nothing has to print back */
    s->type = is_integer ? TEXT_INT64 : TEXT_DOUBLE;
    s->given = (struct arrow_type){ .kind = is_integer ? ARROW_INT64 : ARROW_FLOAT64, .is_nullable = true, .byte_width = 8,
                                    .timezone = "" };
    s->format = is_integer ? "l" : "g";
    s->type_name = is_integer ? "int64" : "double";
}

static void set_text(struct json_shape *s, enum json_form form, const char *mark)
{
    s->form = form;
    s->type = 0;
    s->format = mark;
}

static const char *kind_name(unsigned seen)
{
    return (seen & (JSON_SAW_INT | JSON_SAW_FLOAT | JSON_SAW_SPECIAL)) != 0 ? "number"
           : (seen & JSON_SAW_BOOL) != 0                                    ? "boolean"
           : (seen & JSON_SAW_STRING) != 0                                  ? "string"
           : (seen & JSON_SAW_OBJECT) != 0                                  ? "object"
                                                                            : "array";
}

static bool is_text_feature(const struct feature *f)
{
    return f != NULL && f->kind == FEATURE_VALUE &&
           (strcmp(f->dtype, "string") == 0 || strcmp(f->dtype, "large_string") == 0);
}

static const struct feature *field_like(const struct feature *like, const char *name)
{
    for (size_t i = 0; like != NULL && like->kind == FEATURE_STRUCT && i < like->n_fields; i++) {
        if (strcmp(like->fields[i].name, name) == 0) {
            return &like->fields[i];
        }
    }
    return NULL;
}

/* Whether values of several kinds, or objects whose keys vary, are there. */
static bool is_varied(const struct json_kinds *t)
{
    const unsigned kinds = t->seen & ~(unsigned)JSON_SAW_NULL, numbers = JSON_SAW_INT | JSON_SAW_FLOAT | JSON_SAW_SPECIAL;
    return kinds == JSON_SAW_OBJECT ? t->is_json : (kinds & ~numbers) != 0 && (kinds & (kinds - 1)) != 0;
}

/* Fields in the order in which they come; but what becomes JSON stands in every object, and so behind those of the first.
 */
static grebe_status resolve_struct(struct json_resolve *r, const struct json_kinds *t, const struct feature *like,
                                   int depth, struct json_shape *shape, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    shape->form = JSON_FORM_STRUCT;
    for (int pass = 0; pass < 2; pass++) {
        size_t i = 0;
        for (const struct json_kinds_field *f = t->first; f != NULL && st == GREBE_OK; f = f->next, i++) {
            struct json_field *field = NULL;
            bool is_early = i < t->n_first || (r->is_mixed_json && is_varied(&f->type));
            if (is_early != (pass == 0)) {
                continue;
            }
            st = json_shape_field_of(r->ar, shape, f->name, f->len, NULL, &field, err);
            if (st == GREBE_OK) {
                st = json_kinds_resolve(r, &f->type, field_like(like, f->name), depth + 1, f->name, &field->shape, err);
            }
        }
    }
    return st;
}

/* Values of several kinds. */
static grebe_status resolve_mixed(const struct json_resolve *r, unsigned kinds, const struct feature *like,
                                  const char *name, struct json_shape *shape, grebe_error *err)
{
    if (is_text_feature(like)) { /* strings as they are, all else as it is written */
        set_text(shape, JSON_FORM_VALUE, "u");
        shape->is_given = true;
        shape->given = (struct arrow_type){ .kind = ARROW_STRING, .is_nullable = true, .timezone = "" };
        shape->type_name = "string";
        return GREBE_OK;
    }
    if (r->is_mixed_json) {
        set_text(shape, JSON_FORM_TEXT, mark_json);
        return GREBE_OK;
    }
    const unsigned numbers = JSON_SAW_INT | JSON_SAW_FLOAT | JSON_SAW_SPECIAL;
    unsigned first = (kinds & numbers) != 0 ? numbers : kinds & (~kinds + 1);
    char quoted[64];
    return GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%s\": expected values of one kind, found %s and %s",
                      error_quote(quoted, sizeof quoted, name, strlen(name)), kind_name(first), kind_name(kinds & ~first));
}

grebe_status json_kinds_resolve(struct json_resolve *r, const struct json_kinds *t, const struct feature *like, int depth,
                               const char *name, struct json_shape *shape, grebe_error *err)
{
    const unsigned kinds = t->seen & ~(unsigned)JSON_SAW_NULL;
    const unsigned numbers = JSON_SAW_INT | JSON_SAW_FLOAT | JSON_SAW_SPECIAL;
    const bool is_nested = kinds == JSON_SAW_OBJECT || kinds == JSON_SAW_ARRAY;
    grebe_status st = GREBE_OK;
    json_shape_init(shape);
    r->n_leaves++;
    r->has_special = r->has_special || (kinds & JSON_SAW_SPECIAL) != 0;
    if (like != NULL && like->kind == FEATURE_JSON) {
        set_text(shape, JSON_FORM_TEXT, mark_json);
    } else if (kinds == 0) {
        shape->form = JSON_FORM_NULL;
    } else if ((kinds & ~numbers) == 0) {
        set_number(shape, kinds == JSON_SAW_INT);
    } else if (kinds == JSON_SAW_BOOL) {
        shape->form = JSON_FORM_VALUE;
        shape->type = TEXT_BOOL;
    } else if (kinds == JSON_SAW_STRING) {
        set_text(shape, JSON_FORM_VALUE, !t->is_no_time ? mark_time : NULL);
        r->has_times = r->has_times || !t->is_no_time;
    } else if (is_nested && is_text_feature(like)) {
        set_text(shape, JSON_FORM_TEXT, NULL);
    } else if (is_nested && (depth >= DEPTH_MAX || (t->is_json && (r->is_mixed_json || t->n_fields == 0)))) {
        set_text(shape, JSON_FORM_TEXT, mark_json);
    } else if (kinds == JSON_SAW_OBJECT) {
        st = resolve_struct(r, t, like, depth, shape, err);
    } else if (kinds == JSON_SAW_ARRAY) {
        const bool is_list = like != NULL && (like->kind == FEATURE_LIST || like->kind == FEATURE_LARGE_LIST);
        shape->form = JSON_FORM_LIST;
        st = json_shape_need_item(r->ar, shape, err);
        st = st == GREBE_OK
                 ? json_kinds_resolve(r, t->item, is_list ? like->child : NULL, depth + 1, name, shape->item, err)
                 : st;
    } else {
        st = resolve_mixed(r, kinds, like, name, shape, err);
    }
    return st;
}

/* ---- features ---- */

static bool is_one_of(const char *dtype, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(dtype, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void shape_of_value(struct json_shape *shape, const char *dtype)
{
    static const char *const integers[] = { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", NULL };
    static const char *const floats[] = { "float16", "float32", "float64", NULL };
    if (strcmp(dtype, "null") == 0) {
        shape->form = JSON_FORM_NULL;
    } else if (strcmp(dtype, "bool") == 0) {
        shape->form = JSON_FORM_VALUE;
        shape->type = TEXT_BOOL;
    } else if (is_one_of(dtype, integers) || is_one_of(dtype, floats)) {
        set_number(shape, is_one_of(dtype, integers));
    } else {
        set_text(shape, JSON_FORM_VALUE, strcmp(dtype, "timestamp[s]") == 0 ? mark_time : NULL);
    }
}

static grebe_status shape_of_list(struct json_resolve *r, struct json_shape *shape, struct json_shape **item,
                                  grebe_error *err)
{
    shape->form = JSON_FORM_LIST;
    grebe_status st = json_shape_need_item(r->ar, shape, err);
    *item = shape->item;
    r->n_leaves++;
    return st;
}

grebe_status json_shape_of_feature(struct json_resolve *r, const struct feature *f, struct json_shape *shape,
                                   grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct json_field *field = NULL;
    json_shape_init(shape);
    r->n_leaves++;
    switch (f->kind) {
    case FEATURE_VALUE: shape_of_value(shape, f->dtype); break;
    case FEATURE_JSON: set_text(shape, JSON_FORM_TEXT, mark_json); break;
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST:
        GREBE_TRY(shape_of_list(r, shape, &shape, err));
        st = json_shape_of_feature(r, f->child, shape, err);
        break;
    case FEATURE_ARRAY:
        for (int i = 0; i < f->n_dims; i++) {
            GREBE_TRY(shape_of_list(r, shape, &shape, err));
        }
        shape_of_value(shape, f->dtype);
        break;
    case FEATURE_STRUCT:
        shape->form = JSON_FORM_STRUCT;
        for (size_t i = 0; i < f->n_fields; i++) {
            GREBE_TRY(json_shape_field_of(r->ar, shape, f->fields[i].name, strlen(f->fields[i].name), NULL, &field, err));
            GREBE_TRY(json_shape_of_feature(r, &f->fields[i], &field->shape, err));
        }
        break;
    default: set_text(shape, JSON_FORM_VALUE, NULL);
    }
    r->has_times = r->has_times || is_time(shape);
out:
    return st;
}

/* ---- rows ---- */

grebe_status json_rows_schema(const grebe_allocator *a, const struct json_shape *s, const char *name,
                              struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t k = 0;
    if (s->form == JSON_FORM_VALUE && is_time(s)) {
        return schema_new(a, "tss:", name, true, 0, out, err);
    }
    if (is_json(s)) {
        const struct key_value pair = { "ARROW:extension:name", 20, "arrow.json", 10 };
        GREBE_TRY(schema_new(a, "u", name, true, 0, out, err));
        st = schema_set_metadata(a, out, &pair, 1, err);
        goto out;
    }
    if (s->form == JSON_FORM_LIST) {
        GREBE_TRY(schema_new(a, "+l", name, true, 1, out, err));
        st = json_rows_schema(a, s->item, "item", out->children[0], err);
        goto out;
    }
    if (s->form != JSON_FORM_STRUCT) {
        return json_shape_schema(a, s, name, out, err);
    }
    GREBE_TRY(schema_new(a, "+s", name, true, (int64_t)s->n_fields, out, err));
    for (const struct json_field *f = s->first; f != NULL; f = f->next) {
        GREBE_TRY(json_rows_schema(a, &f->shape, f->name, out->children[k++], err));
    }
out:
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* One column of strings that are all points in time. GREBE_END: one is none. */
static grebe_status times_of(const grebe_allocator *a, struct ArrowArray *array, grebe_error *err)
{
    struct ArrowArray out = { 0 };
    void *data = NULL;
    const int64_t n = array->length;
    const int32_t *offsets = array->buffers[1];
    const char *chars = array->buffers[2];
    grebe_status st = GREBE_OK;
    GREBE_TRY(array_new(a, n, 2, 0, &out, err));
    GREBE_TRY(array_alloc_buffer(a, &out, 1, (size_t)n * sizeof(int64_t), &data, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t v = 0;
        if (!array_is_null(array, i) && !json_time(chars + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), &v)) {
            st = GREBE_END;
            goto out;
        }
        memcpy((char *)data + (size_t)i * sizeof v, &v, sizeof v);
    }
    out.null_count = array->null_count;
    if (array->buffers[0] != NULL) {
        array_set_buffer(&out, 0, array->buffers[0], region_keep(array_buffer_owner(array, 0)));
    }
    array_release(array);
    array_move(array, &out);
out:
    array_release(&out);
    return st;
}

grebe_status json_rows_times(const grebe_allocator *a, const struct json_shape *s, struct ArrowArray *array,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t k = 0;
    if (s->form == JSON_FORM_VALUE && is_time(s)) {
        st = times_of(a, array, err);
    } else if (s->form == JSON_FORM_LIST) {
        st = json_rows_times(a, s->item, array->children[0], err);
    } else if (s->form == JSON_FORM_STRUCT) {
        for (const struct json_field *f = s->first; f != NULL && st == GREBE_OK; f = f->next) {
            st = json_rows_times(a, &f->shape, array->children[k++], err);
        }
    }
    return st;
}
