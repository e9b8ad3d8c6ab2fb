/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/features.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/name_index.h"
#include "feature/feature_dtype.h"
#include "feature/feature_internal.h"

static const char EXTENSION_NAME[] = "ARROW:extension:name";
static const char EXTENSION_METADATA[] = "ARROW:extension:metadata";
/* "datasets.features.features.Array2DExtensionType" */
static const char ARRAY_PREFIX[] = "datasets.features.features.";
static const char ARRAY_SUFFIX[] = "ExtensionType";
static const char JSON_EXTENSION[] = "arrow.json";

/* ---- to Arrow ---- */

static grebe_status set_extension(const grebe_allocator *a, struct ArrowSchema *s, const char *name, const char *value,
                                  size_t value_len, grebe_error *err)
{
    struct key_value pairs[2] = { { EXTENSION_NAME, sizeof EXTENSION_NAME - 1, name, strlen(name) },
                                  { EXTENSION_METADATA, sizeof EXTENSION_METADATA - 1, value, value_len } };
    return schema_set_metadata(a, s, pairs, 2, err);
}

grebe_status feature_list_schema(const grebe_allocator *a, const char *format, const char *name, struct ArrowSchema *child,
                                 struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, format, name, true, 1, out, err);
    if (st == GREBE_OK) {
        st = schema_set_name(a, child, "item", err);
        if (st == GREBE_OK) {
            schema_move(out->children[0], child);
        } else {
            schema_release(out);
        }
    }
    return st;
}

static grebe_status struct_schema(const grebe_allocator *a, const struct feature *f, const char *name,
                                  struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, "+s", name, true, (int64_t)f->n_fields, out, err);
    for (size_t i = 0; st == GREBE_OK && i < f->n_fields; i++) {
        st = feature_schema(a, &f->fields[i], f->fields[i].name, out->children[i], err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* A struct of leaves; list: each is a list of them. */
static grebe_status leaves_schema(const grebe_allocator *a, const char *name, const char *const *names,
                                  const char *const *formats, size_t n, bool is_list, struct ArrowSchema *out,
                                  grebe_error *err)
{
    struct ArrowSchema item = { 0 };
    grebe_status st = schema_new(a, "+s", name, true, (int64_t)n, out, err);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        if (is_list) {
            st = schema_new(a, formats[i], "item", true, 0, &item, err);
            if (st == GREBE_OK) {
                st = feature_list_schema(a, "+l", names[i], &item, out->children[i], err);
            }
        } else {
            st = schema_new(a, formats[i], names[i], true, 0, out->children[i], err);
        }
    }
    schema_release(&item);
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

static grebe_status translation_schema(const grebe_allocator *a, const struct feature *f, const char *name,
                                       struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t bytes = (f->n_names + 1) * sizeof(char *);
    const char **names = mem_alloc(a, bytes), **formats = mem_alloc(a, bytes);
    if (names == NULL || formats == NULL) {
        st = mem_fail(err, bytes, "languages");
        goto out;
    }
    for (size_t i = 0; i < f->n_names; i++) { /* sorted: languages are few */
        size_t k = i;
        for (; k > 0 && strcmp(names[k - 1], f->names[i]) > 0; k--) {
            names[k] = names[k - 1];
        }
        names[k] = f->names[i];
        formats[i] = "u";
    }
    st = leaves_schema(a, name, names, formats, f->n_names, false, out, err);
out:
    mem_free(a, names, bytes);
    mem_free(a, formats, bytes);
    return st;
}

static grebe_status array_schema(const grebe_allocator *a, const struct feature *f, const char *name,
                                 struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema inner = { 0 }, outer = { 0 };
    struct buf meta = BUF_INIT(a), type = BUF_INIT(a);
    char format[DTYPE_FORMAT_MAX];
    const char *canonical = NULL;
    GREBE_TRY(dtype_format(f->dtype, format, &canonical, err));
    GREBE_TRY(schema_new(a, format, "item", true, 0, &inner, err));
    for (int i = 0; i < f->n_dims; i++) {
        GREBE_TRY(feature_list_schema(a, "+l", i + 1 < f->n_dims ? "item" : name, &inner, &outer, err));
        schema_move(&inner, &outer);
    }
    GREBE_TRY(buf_put_text(&meta, "[[", err));
    for (int i = 0; i < f->n_dims; i++) {
        GREBE_TRY(buf_put_text(&meta, i > 0 ? ", " : "", err));
        GREBE_TRY(f->shape[i] < 0 ? buf_put_text(&meta, "null", err) : buf_printf(&meta, err, "%" PRId64, f->shape[i]));
    }
    GREBE_TRY(buf_printf(&meta, err, "], \"%s\"]", f->dtype));
    GREBE_TRY(buf_printf(&type, err, "%s%s%s", ARRAY_PREFIX, f->type_name, ARRAY_SUFFIX));
    if (buf_text(&type) == NULL) {
        st = mem_fail(err, type.len, "a type's name");
        goto out;
    }
    GREBE_TRY(set_extension(a, &inner, buf_text(&type), (const char *)meta.data, meta.len, err));
    schema_move(out, &inner);
out:
    schema_release(&inner);
    schema_release(&outer);
    buf_release(&meta);
    buf_release(&type);
    return st;
}

static grebe_status list_schema(const grebe_allocator *a, const struct feature *f, const char *name, struct ArrowSchema *out,
                                grebe_error *err)
{
    struct ArrowSchema child = { 0 };
    char format[32] = "+l";
    if (f->kind == FEATURE_LARGE_LIST) {
        format[1] = 'L';
    } else if (f->length >= 0) {
        snprintf(format, sizeof format, "+w:%" PRId64, f->length);
    }
    grebe_status st = feature_schema(a, f->child, "item", &child, err);
    if (st == GREBE_OK) {
        st = feature_list_schema(a, format, name, &child, out, err);
    }
    schema_release(&child);
    return st;
}

/* Depth is bounded by FEATURE_DEPTH_MAX. */
grebe_status feature_schema(const grebe_allocator *a, const struct feature *f, const char *name, struct ArrowSchema *out,
                            grebe_error *err)
{
    static const char *const media[] = { "bytes", "path" }, *const media_formats[] = { "z", "u" };
    static const char *const variable[] = { "language", "translation" }, *const variable_formats[] = { "u", "u" };
    char format[DTYPE_FORMAT_MAX];
    const char *canonical = NULL;
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    switch (f->kind) {
    case FEATURE_VALUE:
        st = dtype_format(f->dtype, format, &canonical, err);
        return st == GREBE_OK ? schema_new(a, format, name, true, 0, out, err) : st;
    case FEATURE_CLASS_LABEL: return schema_new(a, "l", name, true, 0, out, err);
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST: return list_schema(a, f, name, out, err);
    case FEATURE_STRUCT: return struct_schema(a, f, name, out, err);
    case FEATURE_ARRAY: return array_schema(a, f, name, out, err);
    case FEATURE_MEDIA: return leaves_schema(a, name, media, media_formats, 2, false, out, err);
    case FEATURE_JSON:
        st = schema_new(a, "u", name, true, 0, out, err);
        if (st == GREBE_OK) {
            st = set_extension(a, out, JSON_EXTENSION, "", 0, err);
        }
        break;
    case FEATURE_TRANSLATION: return translation_schema(a, f, name, out, err);
    case FEATURE_TRANSLATION_VARIABLE: return leaves_schema(a, name, variable, variable_formats, 2, true, out, err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status features_to_schema(const grebe_allocator *a, const struct features *f, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = feature_schema(a, &f->top, "", out, err);
    if (st == GREBE_OK) {
        out->flags &= ~(int64_t)ARROW_FLAG_NULLABLE; /* rows are there */
    }
    return st;
}

grebe_status features_to_file_schema(const grebe_allocator *a, const struct features *f, const char *fingerprint,
                                     struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf value = BUF_INIT(a);
    struct ArrowSchema schema = { 0 };
    memset(out, 0, sizeof *out);
    GREBE_TRY(features_to_schema(a, f, &schema, err));
    GREBE_TRY(features_metadata(f, fingerprint, &value, err));
    struct key_value pair = { "huggingface", 11, (const char *)value.data, value.len };
    GREBE_TRY(schema_set_metadata(a, &schema, &pair, 1, err));
    schema_move(out, &schema);
out:
    buf_release(&value);
    schema_release(&schema);
    return st;
}

/* ---- from Arrow ---- */

static grebe_status no_memory(grebe_error *err) { return mem_fail(err, sizeof(struct feature), "features"); }

static grebe_status from_type(struct arena *ar, const struct ArrowSchema *s, const char *name, int depth,
                              struct feature *out, grebe_error *err);

static grebe_status child_from(struct arena *ar, const struct ArrowSchema *s, int depth, struct feature *out, grebe_error *err)
{
    struct feature *child = arena_alloc_zero(ar, sizeof *child);
    if (child == NULL) {
        return no_memory(err);
    }
    out->child = child;
    return from_type(ar, s, "", depth + 1, child, err);
}

static grebe_status fields_from(struct arena *ar, const struct ArrowSchema *s, int depth, struct feature *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct feature *fields = arena_array(ar, (size_t)s->n_children, sizeof *fields);
    if (fields == NULL) {
        return no_memory(err);
    }
    out->kind = FEATURE_STRUCT;
    out->type_name = "";
    out->fields = fields;
    for (int64_t i = 0; st == GREBE_OK && i < s->n_children; i++) {
        const char *name = s->children[i]->name != NULL ? s->children[i]->name : "";
        st = from_type(ar, s->children[i], name, depth + 1, &fields[i], err);
        out->n_fields += st == GREBE_OK;
    }
    return st;
}

static bool is_extension(const struct ArrowSchema *s, const char *name)
{
    struct key_value pair;
    return schema_metadata_find(s, EXTENSION_NAME, &pair) && pair.value_len == strlen(name) &&
           memcmp(pair.value, name, pair.value_len) == 0;
}

/* [[2, 3], "float32"] of an extension "…Array2DExtensionType"; *is_array false: it is none, or does not read as one. */
static grebe_status array_from(struct arena *ar, const struct ArrowSchema *s, struct feature *out, bool *is_array,
                               grebe_error *err)
{
    struct key_value name, value;
    size_t prefix = sizeof ARRAY_PREFIX - 1, suffix = sizeof ARRAY_SUFFIX - 1;
    const struct json_value *tree = NULL;
    *is_array = false;
    if (!schema_metadata_find(s, EXTENSION_NAME, &name) || !schema_metadata_find(s, EXTENSION_METADATA, &value) ||
        name.value_len != prefix + 7 + suffix || memcmp(name.value, ARRAY_PREFIX, prefix) != 0 ||
        memcmp(name.value + prefix + 7, ARRAY_SUFFIX, suffix) != 0) {
        return GREBE_OK;
    }
    grebe_status st = json_parse(ar, value.value, value.value_len, &tree, NULL);
    if (st == GREBE_ENOMEM) {
        return no_memory(err);
    }
    if (st != GREBE_OK || tree->type != JSON_ARRAY || tree->n != 2) {
        return GREBE_OK;
    }
    char type[8];
    memcpy(type, name.value + prefix, 7);
    type[7] = '\0';
    struct json_member members[3] = { { "shape", 5, tree->items[0] },
                                      { "dtype", 5, tree->items[1] },
                                      { "_type", 5, { .type = JSON_STRING, .n = 7, .text = type } } };
    struct json_value node = { .type = JSON_OBJECT, .n = 3, .members = members };
    struct feature read = { 0 };
    st = feature_read(ar, &node, out->name, &read, NULL);
    if (st == GREBE_ENOMEM) {
        return no_memory(err);
    }
    if (st == GREBE_OK && read.kind == FEATURE_ARRAY) {
        *out = read;
        *is_array = true;
    }
    return GREBE_OK;
}

static grebe_status from_type(struct arena *ar, const struct ArrowSchema *s, const char *name, int depth,
                              struct feature *out, grebe_error *err)
{
    struct arrow_type t;
    bool is_array = false;
    *out = (struct feature){ .length = -1 };
    out->name = arena_str(ar, name, strlen(name));
    if (out->name == NULL) {
        return no_memory(err);
    }
    if (depth > FEATURE_DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "more than %d levels of types", FEATURE_DEPTH_MAX);
    }
    grebe_status st = arrow_type_of(s, &t, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (t.is_dictionary) {
        return from_type(ar, s->dictionary, name, depth + 1, out, err);
    }
    if (is_extension(s, JSON_EXTENSION) && arrow_kind_is_text(t.kind)) {
        out->kind = FEATURE_JSON;
        out->type_name = "Json";
        return GREBE_OK;
    }
    st = array_from(ar, s, out, &is_array, err);
    if (st != GREBE_OK || is_array) {
        return st;
    }
    switch (t.kind) {
    case ARROW_STRUCT: return fields_from(ar, s, depth, out, err);
    case ARROW_RUN_END_ENCODED: return from_type(ar, s->children[1], name, depth + 1, out, err);
    case ARROW_FIXED_LIST:
        out->length = t.list_size;
        /* fall through */
    case ARROW_LIST:
    case ARROW_LIST_VIEW:
    case ARROW_MAP:
        out->kind = FEATURE_LIST;
        out->type_name = "List";
        return child_from(ar, s->children[0], depth, out, err);
    case ARROW_LARGE_LIST:
    case ARROW_LARGE_LIST_VIEW:
        out->kind = FEATURE_LARGE_LIST;
        out->type_name = "LargeList";
        return child_from(ar, s->children[0], depth, out, err);
    default: break;
    }
    out->kind = FEATURE_VALUE;
    out->type_name = "Value";
    st = dtype_of_type(ar, &t, &out->dtype, err);
    return st != GREBE_OK && depth == 1 ? error_wrap(err, st, "column \"%s\"", name) : st;
}

/* What stands in the schema's metadata; *out NULL: nothing that is JSON. */
static grebe_status metadata_features(const grebe_allocator *a, const struct ArrowSchema *schema, struct features **out,
                                      grebe_error *err)
{
    struct key_value pair;
    struct arena ar = ARENA_INIT(a);
    const struct json_value *tree = NULL;
    grebe_status st = GREBE_OK;
    *out = NULL;
    if (schema_metadata_find(schema, "huggingface", &pair)) {
        st = json_parse(&ar, pair.value, pair.value_len, &tree, err);
        const struct json_value *found = st == GREBE_OK ? json_get(json_get(tree, "info"), "features") : NULL;
        if (found != NULL && found->type == JSON_OBJECT) {
            st = features_from_tree(a, found, out, err);
            if (st != GREBE_OK) {
                st = error_wrap(err, st, "metadata \"huggingface\"");
            }
        } else if (st != GREBE_ENOMEM) {
            st = GREBE_OK;
        }
    }
    arena_release(&ar);
    return st;
}

/* Whether a field is of the type that the feature has. Names of list elements do not count, extensions do. */
static bool implies(const struct ArrowSchema *implied, const struct ArrowSchema *s)
{
    struct key_value x, y;
    struct arrow_type t, u;
    bool has_x = schema_metadata_find(implied, EXTENSION_NAME, &x), has_y = schema_metadata_find(s, EXTENSION_NAME, &y);
    if (has_x != has_y || (has_x && (x.value_len != y.value_len || memcmp(x.value, y.value, x.value_len) != 0)) ||
        strcmp(implied->format, s->format) != 0 || implied->n_children != s->n_children || s->dictionary != NULL ||
        ((implied->flags ^ s->flags) & ARROW_FLAG_NULLABLE) != 0) {
        return false;
    }
    if (has_x && schema_metadata_find(implied, EXTENSION_METADATA, &x) && schema_metadata_find(s, EXTENSION_METADATA, &y) &&
        (x.value_len != y.value_len || memcmp(x.value, y.value, x.value_len) != 0)) {
        return false;
    }
    bool is_struct = arrow_type_of(s, &t, NULL) == GREBE_OK && t.kind == ARROW_STRUCT &&
                     arrow_type_of(implied, &u, NULL) == GREBE_OK;
    for (int64_t i = 0; i < s->n_children; i++) {
        const struct ArrowSchema *c = implied->children[i], *d = s->children[i];
        if ((is_struct && strcmp(c->name, d->name != NULL ? d->name : "") != 0) || !implies(c, d)) {
            return false;
        }
    }
    return true;
}

/* The feature that the metadata has for a column, where it fits the column's type; else that of the type. */
static grebe_status column_from(struct arena *ar, const struct feature *f, const struct ArrowSchema *s, struct feature *out,
                                grebe_error *err)
{
    const char *name = s->name != NULL ? s->name : "";
    struct ArrowSchema implied = { 0 };
    bool fits = false;
    if (f != NULL) {
        grebe_status st = feature_schema(ar->a, f, name, &implied, err);
        if (st != GREBE_OK) {
            return st;
        }
        fits = implies(&implied, s);
        schema_release(&implied);
    }
    return fits ? feature_copy(ar, f, name, out, err) : from_type(ar, s, name, 1, out, err);
}

grebe_status features_from_schema(const grebe_allocator *a, const struct ArrowSchema *schema, bool with_metadata,
                                  struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct features *f = NULL, *told = NULL;
    struct name_index there = { 0 }, known = { 0 };
    *out = NULL;
    if (strcmp(schema->format, "+s") != 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "rows: expected a struct, found format \"%s\"", schema->format);
    }
    GREBE_TRY(features_new(a, &f, err));
    if (with_metadata) {
        GREBE_TRY(metadata_features(a, schema, &told, err));
    }
    struct feature *fields = arena_array(&f->arena, (size_t)schema->n_children, sizeof *fields);
    f->top.fields = fields;
    if (fields == NULL) {
        st = no_memory(err);
        goto out;
    }
    GREBE_TRY(name_index_new(a, (size_t)schema->n_children, &there, err));
    GREBE_TRY(name_index_new(a, told != NULL ? told->top.n_fields : 0, &known, err));
    for (size_t i = 0; told != NULL && i < told->top.n_fields; i++) {
        GREBE_TRY(name_index_add(&known, told->top.fields[i].name, i, NULL, err));
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        const char *name = schema->children[i]->name != NULL ? schema->children[i]->name : "";
        const size_t *at = name_index_find(&known, name);
        bool is_there = false;
        GREBE_TRY(name_index_add(&there, name, (size_t)i, &is_there, err));
        if (is_there) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "two columns have the name \"%s\"", name);
            goto out;
        }
        GREBE_TRY(column_from(&f->arena, at != NULL ? &told->top.fields[*at] : NULL, schema->children[i], &fields[i], err));
        f->top.n_fields++;
    }
    *out = f;
    f = NULL;
out:
    name_index_release(&there);
    name_index_release(&known);
    features_free(told);
    features_free(f);
    return st;
}
