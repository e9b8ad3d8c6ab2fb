/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/features.h"

#include <string.h>

#include "base/name_index.h"
#include "base/number.h"
#include "feature/feature_dtype.h"
#include "feature/feature_internal.h"
#include "wire/json_python.h"

/* Where a node stands, for messages. */
struct place {
    const struct place *parent;
    const char *name;
};

struct reader {
    struct arena *ar;
    grebe_error *err;
};

/* "a.feature.b" */
static const char *place_text(const struct place *p, char *dst, size_t dst_len)
{
    const char *parts[FEATURE_DEPTH_MAX + 2];
    size_t n = 0, at = 0;
    for (; p != NULL && n < sizeof parts / sizeof *parts; p = p->parent) {
        parts[n++] = p->name;
    }
    dst[0] = '\0';
    while (n > 0 && at + 12 < dst_len) {
        n--;
        if (at > 0) {
            dst[at++] = '.';
        }
        error_quote(dst + at, dst_len - at, parts[n], strlen(parts[n]));
        at += strlen(dst + at);
    }
    return dst;
}

#define FAIL_AT(r, p, ...) fail_at((r), (p), GREBE_FAIL((r)->err, GREBE_EINVAL, __VA_ARGS__))
static grebe_status fail_at(struct reader *r, const struct place *p, grebe_status st)
{
    char where[160];
    return p != NULL ? error_wrap(r->err, st, "%s", place_text(p, where, sizeof where)) : st;
}

static grebe_status no_memory(struct reader *r) { return mem_fail(r->err, sizeof(struct feature), "features"); }

static const struct feature_member MEMBERS_IMAGE[] = { { "mode", "null" }, { "decode", "true" }, { "id", "null" }, { NULL, NULL } };
static const struct feature_member MEMBERS_AUDIO[] = { { "sampling_rate", "null" }, { "decode", "true" },
                                                       { "num_channels", "null" }, { "stream_index", "null" },
                                                       { "id", "null" },           { NULL, NULL } };
static const struct feature_member MEMBERS_VIDEO[] = { { "decode", "true" },           { "stream_index", "null" },
                                                       { "dimension_order", "\"NCHW\"" }, { "num_ffmpeg_threads", "1" },
                                                       { "device", "\"cpu\"" },        { "seek_mode", "\"exact\"" },
                                                       { "id", "null" },               { NULL, NULL } };
static const struct feature_member MEMBERS_SEQUENCE[] = { { "format", "\"fasta\"" }, { "decode", "true" }, { "id", "null" },
                                                          { NULL, NULL } };
static const struct feature_member MEMBERS_STRUCTURE[] = { { "format", "\"pdb\"" }, { "decode", "true" }, { "id", "null" },
                                                           { NULL, NULL } };
static const struct feature_member MEMBERS_DECODE[] = { { "decode", "true" }, { "id", "null" }, { NULL, NULL } };
static const struct feature_member MEMBERS_ID[] = { { "id", "null" }, { NULL, NULL } };

static const struct known_type {
    const char *name;
    enum feature_kind kind;
    const struct feature_member *members;
    int n_dims;
} KNOWN[] = {
    { "Value", FEATURE_VALUE, MEMBERS_ID, 0 },
    { "ClassLabel", FEATURE_CLASS_LABEL, MEMBERS_ID, 0 },
    { "List", FEATURE_LIST, MEMBERS_ID, 0 },
    { "Sequence", FEATURE_LIST, MEMBERS_ID, 0 },
    { "LargeList", FEATURE_LARGE_LIST, MEMBERS_ID, 0 },
    { "Array2D", FEATURE_ARRAY, MEMBERS_ID, 2 },
    { "Array3D", FEATURE_ARRAY, MEMBERS_ID, 3 },
    { "Array4D", FEATURE_ARRAY, MEMBERS_ID, 4 },
    { "Array5D", FEATURE_ARRAY, MEMBERS_ID, 5 },
    { "Image", FEATURE_MEDIA, MEMBERS_IMAGE, 0 },
    { "Audio", FEATURE_MEDIA, MEMBERS_AUDIO, 0 },
    { "Video", FEATURE_MEDIA, MEMBERS_VIDEO, 0 },
    { "Pdf", FEATURE_MEDIA, MEMBERS_DECODE, 0 },
    { "Nifti", FEATURE_MEDIA, MEMBERS_DECODE, 0 },
    { "Mesh", FEATURE_MEDIA, MEMBERS_DECODE, 0 },
    { "BioSequence", FEATURE_MEDIA, MEMBERS_SEQUENCE, 0 },
    { "BioStructure", FEATURE_MEDIA, MEMBERS_STRUCTURE, 0 },
    { "Json", FEATURE_JSON, MEMBERS_DECODE, 0 },
    { "Translation", FEATURE_TRANSLATION, MEMBERS_ID, 0 },
    { "TranslationVariableLanguages", FEATURE_TRANSLATION_VARIABLE, MEMBERS_ID, 0 },
};

static const struct known_type *known_type(const char *name)
{
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        if (strcmp(KNOWN[i].name, name) == 0) {
            return &KNOWN[i];
        }
    }
    return NULL;
}

const struct feature_member *feature_members(const char *type_name)
{
    const struct known_type *t = known_type(type_name);
    return t != NULL ? t->members : NULL;
}

static grebe_status read_node(struct reader *r, const struct place *p, const struct json_value *v, const char *name,
                              int depth, struct feature *out);

/* ---- parts ---- */

static grebe_status read_fields(struct reader *r, const struct place *p, const struct json_value *v, int depth,
                                struct feature *out)
{
    grebe_status st = GREBE_OK;
    struct name_index seen = { 0 };
    struct feature *fields = arena_array(r->ar, v->n, sizeof *fields);
    if (fields == NULL) {
        return no_memory(r);
    }
    out->kind = FEATURE_STRUCT;
    out->type_name = "";
    out->fields = fields;
    GREBE_TRY(name_index_new(r->ar->a, v->n, &seen, r->err));
    for (size_t i = 0; i < v->n; i++) {
        const struct json_member *m = &v->members[i];
        struct place at = { p, m->key };
        bool is_there = false;
        if (strlen(m->key) != m->key_len) {
            st = FAIL_AT(r, p, "a name holds a NUL");
            goto out;
        }
        GREBE_TRY(name_index_add(&seen, m->key, i, &is_there, r->err));
        if (is_there) {
            st = FAIL_AT(r, &at, "the name stands there twice");
            goto out;
        }
        GREBE_TRY(read_node(r, &at, &m->value, m->key, depth + 1, &fields[i]));
        out->n_fields++;
    }
out:
    name_index_release(&seen);
    return st;
}

static grebe_status read_child(struct reader *r, const struct place *p, const struct json_value *v, int depth,
                               struct feature *out)
{
    struct feature *child = arena_alloc_zero(r->ar, sizeof *child);
    if (child == NULL) {
        return no_memory(r);
    }
    out->child = child;
    struct place at = { p, "feature" };
    return read_node(r, &at, v, "", depth + 1, child);
}

/* A text, or a number as it is written: READMEs leave quotes out. */
static const char *name_of(const struct json_value *v)
{
    bool is_text = (v->type == JSON_STRING && strlen(v->text) == v->n) || v->type == JSON_NUMBER;
    return is_text                  ? v->text
           : v->type == JSON_BOOL ? (v->boolean ? "True" : "False")
                                  : NULL;
}

static grebe_status read_names(struct reader *r, const struct place *p, const struct json_value *v, bool is_unique,
                               struct feature *out)
{
    grebe_status st = GREBE_OK;
    struct name_index seen = { 0 };
    const char **names = arena_array(r->ar, v->n, sizeof *names);
    if (names == NULL) {
        return no_memory(r);
    }
    GREBE_TRY(name_index_new(r->ar->a, v->n, &seen, r->err));
    for (size_t i = 0; i < v->n; i++) {
        const char *name = name_of(&v->items[i]);
        bool is_there = false;
        if (name == NULL) {
            st = FAIL_AT(r, p, "expected names that are texts, found %s", json_type_name(v->items[i].type));
            goto out;
        }
        names[i] = arena_str(r->ar, name, strlen(name));
        if (names[i] == NULL) {
            st = no_memory(r);
            goto out;
        }
        GREBE_TRY(name_index_add(&seen, names[i], i, &is_there, r->err));
        if (is_there && is_unique) {
            char quoted[64];
            st = FAIL_AT(r, p, "the name \"%s\" stands there twice",
                         error_quote(quoted, sizeof quoted, names[i], strlen(names[i])));
            goto out;
        }
    }
    out->names = names;
    out->n_names = v->n;
out:
    name_index_release(&seen);
    return st;
}

static bool is_absent(const struct json_value *v) { return v == NULL || v->type == JSON_NULL; }

static grebe_status read_label(struct reader *r, const struct place *p, const struct json_value *v, struct feature *out)
{
    const struct json_value *names = json_get(v, "names"), *count = json_get(v, "num_classes");
    int64_t n = 0;
    bool is_counted = !is_absent(count);
    if (is_counted && (!json_i64(count, &n) || n < 0 || n > INT32_MAX)) {
        return FAIL_AT(r, p, "num_classes: expected a count");
    }
    if (!is_absent(names)) {
        if (names->type != JSON_ARRAY) {
            return FAIL_AT(r, p, "names: expected a list, found %s", json_type_name(names->type));
        }
        grebe_status st = read_names(r, p, names, true, out);
        if (st == GREBE_OK && is_counted && (size_t)n != out->n_names) {
            st = FAIL_AT(r, p, "num_classes is %lld, but there are %zu names", (long long)n, out->n_names);
        }
        return st;
    }
    if (!is_counted) {
        return FAIL_AT(r, p, "ClassLabel without names or num_classes");
    }
    if (n > 1 << 20) {
        return FAIL_AT(r, p, "num_classes: %lld is more than 2^20", (long long)n);
    }
    const char **made = arena_array(r->ar, (size_t)n, sizeof *made);
    if (made == NULL) {
        return no_memory(r);
    }
    for (int64_t i = 0; i < n; i++) {
        char text[NUMBER_TEXT_MAX];
        made[i] = arena_str(r->ar, text, number_put_i64(text, i));
        if (made[i] == NULL) {
            return no_memory(r);
        }
    }
    out->names = made;
    out->n_names = (size_t)n;
    return GREBE_OK;
}

static int compare_names(const char *x, const char *y) { return strcmp(x, y); }

static void sort_names(const char **names, size_t n)
{
    for (size_t i = 1; i < n; i++) { /* languages are few */
        const char *x = names[i];
        size_t k = i;
        for (; k > 0 && compare_names(names[k - 1], x) > 0; k--) {
            names[k] = names[k - 1];
        }
        names[k] = x;
    }
}

static grebe_status read_languages(struct reader *r, const struct place *p, const struct json_value *v, struct feature *out)
{
    const struct json_value *languages = json_get(v, "languages");
    bool is_variable = out->kind == FEATURE_TRANSLATION_VARIABLE;
    if (is_absent(languages)) {
        return is_variable ? GREBE_OK : FAIL_AT(r, p, "Translation without languages");
    }
    if (languages->type != JSON_ARRAY || languages->n > 10000) {
        return FAIL_AT(r, p, "languages: expected a list of at most 10000");
    }
    grebe_status st = read_names(r, p, languages, !is_variable, out);
    if (st != GREBE_OK || !is_variable || out->n_names == 0) {
        return st;
    }
    const char **sorted = arena_array(r->ar, out->n_names, sizeof *sorted);
    if (sorted == NULL) {
        return no_memory(r);
    }
    memcpy(sorted, out->names, out->n_names * sizeof *sorted);
    sort_names(sorted, out->n_names);
    size_t n = 1;
    for (size_t i = 1; i < out->n_names; i++) {
        if (strcmp(sorted[i], sorted[n - 1]) != 0) {
            sorted[n++] = sorted[i];
        }
    }
    out->names = sorted;
    out->n_names = n;
    return GREBE_OK;
}

static grebe_status read_dtype(struct reader *r, const struct place *p, const struct json_value *v, struct feature *out)
{
    const struct json_value *dtype = json_get(v, "dtype");
    char format[DTYPE_FORMAT_MAX];
    const char *canonical = NULL;
    if (dtype == NULL || dtype->type != JSON_STRING) {
        return FAIL_AT(r, p, "%s without dtype", out->type_name);
    }
    grebe_status st = dtype_format(dtype->text, format, &canonical, r->err);
    if (st != GREBE_OK) {
        return fail_at(r, p, st);
    }
    if (canonical == NULL) {
        canonical = arena_str(r->ar, dtype->text, strlen(dtype->text));
    }
    out->dtype = canonical;
    return canonical != NULL ? GREBE_OK : no_memory(r);
}

static grebe_status read_shape(struct reader *r, const struct place *p, const struct json_value *v, struct feature *out)
{
    const struct json_value *shape = json_get(v, "shape");
    if (shape == NULL || shape->type != JSON_ARRAY || shape->n != (size_t)out->n_dims) {
        return FAIL_AT(r, p, "shape: expected a list of %d", out->n_dims);
    }
    for (size_t i = 0; i < shape->n; i++) {
        bool is_open = shape->items[i].type == JSON_NULL && i == 0;
        out->shape[i] = -1;
        if (!is_open && (!json_i64(&shape->items[i], &out->shape[i]) || out->shape[i] < 0 || out->shape[i] > INT32_MAX)) {
            return FAIL_AT(r, p, "shape: dimension %zu: expected a size%s", i, i == 0 ? " or null" : "");
        }
    }
    return read_dtype(r, p, v, out);
}

static grebe_status read_length(struct reader *r, const struct place *p, const struct json_value *v, struct feature *out)
{
    const struct json_value *length = json_get(v, "length");
    if (is_absent(length)) {
        return GREBE_OK;
    }
    if (!json_i64(length, &out->length) || out->length < -1 || out->length > INT32_MAX) {
        return FAIL_AT(r, p, "length: expected a size or -1");
    }
    return GREBE_OK;
}

/* "Sequence" of a struct was a struct of lists. */
static grebe_status turn_inside_out(struct reader *r, struct feature *out)
{
    const struct feature *inner = out->child;
    struct feature *fields = arena_array(r->ar, inner->n_fields, sizeof *fields);
    if (fields == NULL) {
        return no_memory(r);
    }
    for (size_t i = 0; i < inner->n_fields; i++) {
        struct feature *element = arena_alloc(r->ar, sizeof *element);
        if (element == NULL) {
            return no_memory(r);
        }
        *element = inner->fields[i];
        element->name = "";
        fields[i] = (struct feature){ .kind = FEATURE_LIST, .type_name = "List", .name = inner->fields[i].name,
                                      .length = out->length, .child = element };
    }
    *out = (struct feature){ .kind = FEATURE_STRUCT, .type_name = "", .name = out->name, .length = -1, .fields = fields,
                             .n_fields = inner->n_fields };
    return GREBE_OK;
}

/* A value as one line of JSON equals the text. */
static grebe_status is_default(struct reader *r, const struct json_value *v, const char *text, bool *out)
{
    struct buf b = BUF_INIT(r->ar->a);
    grebe_status st = json_python_value(&b, v, -1, 0, r->err);
    *out = st == GREBE_OK && b.len == strlen(text) && memcmp(b.data, text, b.len) == 0;
    buf_release(&b);
    return st;
}

/* The members that have no field of their own and are not as if left out, in the order in which they are written. */
static grebe_status read_members(struct reader *r, const struct known_type *t, const struct json_value *v, struct feature *out)
{
    struct json_member members[8];
    size_t n = 0;
    for (const struct feature_member *m = t->members; m->name != NULL; m++) {
        const struct json_value *value = json_get(v, m->name);
        bool is_left_out = value == NULL;
        if (strcmp(m->name, "decode") == 0) {
            out->is_undecoded = value != NULL && value->type == JSON_BOOL && !value->boolean;
            continue;
        }
        if (value != NULL) {
            grebe_status st = is_default(r, value, m->absent, &is_left_out);
            if (st != GREBE_OK) {
                return st;
            }
        }
        if (!is_left_out) {
            members[n].key = m->name;
            members[n].key_len = strlen(m->name);
            members[n++].value = *value;
        }
    }
    if (n == 0) {
        return GREBE_OK;
    }
    struct json_value all = { .type = JSON_OBJECT, .n = n, .members = members };
    out->more = json_value_copy(r->ar, &all);
    return out->more != NULL ? GREBE_OK : no_memory(r);
}

static grebe_status read_typed(struct reader *r, const struct place *p, const struct json_value *v, const char *type,
                               int depth, struct feature *out)
{
    const struct known_type *t = known_type(type);
    if (t == NULL) {
        char quoted[64];
        return FAIL_AT(r, p, "unknown _type \"%s\"", error_quote(quoted, sizeof quoted, type, strlen(type)));
    }
    grebe_status st = GREBE_OK;
    bool is_sequence = strcmp(type, "Sequence") == 0;
    out->kind = t->kind;
    out->type_name = is_sequence ? "List" : t->name;
    out->n_dims = t->n_dims;
    GREBE_TRY(read_members(r, t, v, out));
    switch (t->kind) {
    case FEATURE_VALUE: return read_dtype(r, p, v, out);
    case FEATURE_CLASS_LABEL: return read_label(r, p, v, out);
    case FEATURE_ARRAY: return read_shape(r, p, v, out);
    case FEATURE_TRANSLATION:
    case FEATURE_TRANSLATION_VARIABLE: return read_languages(r, p, v, out);
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST: {
        const struct json_value *inner = json_get(v, "feature");
        if (inner == NULL) {
            return FAIL_AT(r, p, "%s without feature", out->type_name);
        }
        GREBE_TRY(read_child(r, p, inner, depth, out));
        if (t->kind == FEATURE_LIST) {
            GREBE_TRY(read_length(r, p, v, out));
        }
        return is_sequence && out->child->kind == FEATURE_STRUCT ? turn_inside_out(r, out) : GREBE_OK;
    }
    default: break;
    }
out:
    return st;
}

static grebe_status read_node(struct reader *r, const struct place *p, const struct json_value *v, const char *name,
                              int depth, struct feature *out)
{
    *out = (struct feature){ .length = -1 };
    out->name = arena_str(r->ar, name, strlen(name));
    if (out->name == NULL) {
        return no_memory(r);
    }
    if (depth > FEATURE_DEPTH_MAX) {
        return FAIL_AT(r, p, "more than %d levels", FEATURE_DEPTH_MAX);
    }
    if (v->type == JSON_ARRAY && v->n == 1) {
        out->kind = FEATURE_LIST;
        out->type_name = "List";
        return read_child(r, p, v->items, depth, out);
    }
    if (v->type != JSON_OBJECT) {
        return FAIL_AT(r, p, "expected an object, found %s", json_type_name(v->type));
    }
    const struct json_value *type = json_get(v, "_type");
    return type != NULL && type->type == JSON_STRING ? read_typed(r, p, v, type->text, depth, out)
                                                     : read_fields(r, p, v, depth, out);
}

grebe_status feature_read(struct arena *ar, const struct json_value *v, const char *name, struct feature *out, grebe_error *err)
{
    struct reader r = { ar, err };
    return read_node(&r, NULL, v, name, 0, out);
}

grebe_status features_from_tree(const grebe_allocator *a, const struct json_value *tree, struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct features *f = NULL;
    *out = NULL;
    if (tree->type != JSON_OBJECT) {
        return GREBE_FAIL(err, GREBE_EINVAL, "features: expected an object of columns, found %s", json_type_name(tree->type));
    }
    GREBE_TRY(features_new(a, &f, err));
    struct reader r = { &f->arena, err };
    GREBE_TRY(read_fields(&r, NULL, tree, 0, &f->top));
    *out = f;
    f = NULL;
out:
    features_free(f);
    return st;
}

grebe_status features_from_json(const grebe_allocator *a, const char *text, size_t len, struct features **out, grebe_error *err)
{
    struct arena ar = ARENA_INIT(a);
    const struct json_value *tree = NULL;
    *out = NULL;
    grebe_status st = json_parse(&ar, text, len, &tree, err);
    if (st == GREBE_OK) {
        st = features_from_tree(a, tree, out, err);
    }
    arena_release(&ar);
    return st;
}
