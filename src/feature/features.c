/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/features.h"

#include <string.h>

#include "base/name_index.h"
#include "feature/feature_internal.h"
#include "wire/json_python.h"

grebe_status features_new(const grebe_allocator *a, struct features **out, grebe_error *err)
{
    *out = mem_alloc_zero(a, sizeof **out);
    if (*out == NULL) {
        return mem_fail(err, sizeof **out, "features");
    }
    (*out)->arena = ARENA_INIT(a);
    (*out)->top = (struct feature){ .kind = FEATURE_STRUCT, .type_name = "", .name = "", .length = -1 };
    return GREBE_OK;
}

void features_free(struct features *f)
{
    if (f != NULL) {
        const grebe_allocator *a = f->arena.a;
        arena_release(&f->arena);
        mem_free(a, f, sizeof *f);
    }
}

const struct feature *feature_field(const struct feature *f, const char *name)
{
    for (size_t i = 0; i < f->n_fields; i++) {
        if (strcmp(f->fields[i].name, name) == 0) {
            return &f->fields[i];
        }
    }
    return NULL;
}

const struct feature *features_find(const struct features *f, const char *name) { return feature_field(&f->top, name); }

/* ---- equality ---- */

static bool json_equal(const struct json_value *x, const struct json_value *y)
{
    if (x->type != y->type || x->n != y->n) {
        return false;
    }
    switch (x->type) {
    case JSON_NULL: return true;
    case JSON_BOOL: return x->boolean == y->boolean;
    case JSON_NUMBER:
    case JSON_STRING: return memcmp(x->text, y->text, x->n) == 0;
    case JSON_ARRAY:
        for (size_t i = 0; i < x->n; i++) {
            if (!json_equal(&x->items[i], &y->items[i])) {
                return false;
            }
        }
        return true;
    case JSON_OBJECT:
        for (size_t i = 0; i < x->n; i++) {
            if (strcmp(x->members[i].key, y->members[i].key) != 0 ||
                !json_equal(&x->members[i].value, &y->members[i].value)) {
                return false;
            }
        }
        return true;
    }
    return true;
}

static bool more_equal(const struct feature *x, const struct feature *y)
{
    if (x->more == NULL || y->more == NULL) {
        return x->more == y->more;
    }
    return json_equal(x->more, y->more);
}

static bool texts_equal(const char *const *x, const char *const *y, size_t n)
{
    size_t i = 0;
    while (i < n && strcmp(x[i], y[i]) == 0) {
        i++;
    }
    return i == n;
}

static bool optional_equal(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* Depth is that of a tree that was read: bounded. */
bool feature_equal(const struct feature *x, const struct feature *y)
{
    if (x->kind != y->kind || strcmp(x->type_name, y->type_name) != 0 || !optional_equal(x->dtype, y->dtype) ||
        x->length != y->length || x->n_fields != y->n_fields || x->n_names != y->n_names ||
        !texts_equal(x->names, y->names, x->n_names) || x->n_dims != y->n_dims ||
        memcmp(x->shape, y->shape, sizeof x->shape) != 0 || x->is_undecoded != y->is_undecoded || !more_equal(x, y)) {
        return false;
    }
    if (x->child != NULL && !feature_equal(x->child, y->child)) {
        return false;
    }
    for (size_t i = 0; i < x->n_fields; i++) {
        if (strcmp(x->fields[i].name, y->fields[i].name) != 0 || !feature_equal(&x->fields[i], &y->fields[i])) {
            return false;
        }
    }
    return true;
}

/* ---- copies ---- */

static grebe_status copy_names(struct arena *ar, const struct feature *f, struct feature *out, grebe_error *err)
{
    const char **names = arena_array(ar, f->n_names, sizeof *names);
    if (names == NULL) {
        return mem_fail(err, f->n_names * sizeof *names, "names");
    }
    for (size_t i = 0; i < f->n_names; i++) {
        names[i] = arena_str(ar, f->names[i], strlen(f->names[i]));
        if (names[i] == NULL) {
            return mem_fail(err, strlen(f->names[i]), "names");
        }
    }
    out->names = names;
    return GREBE_OK;
}

static grebe_status copy_text(struct arena *ar, const char *text, const char **out, grebe_error *err)
{
    *out = text == NULL ? NULL : arena_str(ar, text, strlen(text));
    return text == NULL || *out != NULL ? GREBE_OK : mem_fail(err, strlen(text), "features");
}

grebe_status feature_copy(struct arena *ar, const struct feature *f, const char *name, struct feature *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = *f;
    GREBE_TRY(copy_text(ar, name, &out->name, err));
    GREBE_TRY(copy_text(ar, f->type_name, &out->type_name, err));
    GREBE_TRY(copy_text(ar, f->dtype, &out->dtype, err));
    if (f->n_names > 0) {
        GREBE_TRY(copy_names(ar, f, out, err));
    }
    if (f->more != NULL) {
        out->more = json_value_copy(ar, f->more);
        if (out->more == NULL) {
            return mem_fail(err, sizeof *out->more, "features");
        }
    }
    if (f->child != NULL) {
        struct feature *child = arena_alloc(ar, sizeof *child);
        if (child == NULL) {
            return mem_fail(err, sizeof *child, "features");
        }
        GREBE_TRY(feature_copy(ar, f->child, f->child->name, child, err));
        out->child = child;
    }
    if (f->n_fields > 0) {
        struct feature *fields = arena_array(ar, f->n_fields, sizeof *fields);
        if (fields == NULL) {
            return mem_fail(err, f->n_fields * sizeof *fields, "features");
        }
        for (size_t i = 0; i < f->n_fields; i++) {
            GREBE_TRY(feature_copy(ar, &f->fields[i], f->fields[i].name, &fields[i], err));
        }
        out->fields = fields;
    }
out:
    return st;
}

/* New features with room for n columns, of which none is there yet. */
static grebe_status with_room(const grebe_allocator *a, size_t n, struct features **out, struct feature **fields,
                              grebe_error *err)
{
    grebe_status st = features_new(a, out, err);
    if (st == GREBE_OK) {
        *fields = arena_array(&(*out)->arena, n, sizeof **fields);
        (*out)->top.fields = *fields;
        if (*fields == NULL) {
            st = mem_fail(err, n * sizeof **fields, "features");
        }
    }
    return st;
}

static grebe_status index_fields(const grebe_allocator *a, const struct features *f, struct name_index *out, grebe_error *err)
{
    grebe_status st = name_index_new(a, f->top.n_fields, out, err);
    for (size_t i = 0; st == GREBE_OK && i < f->top.n_fields; i++) {
        st = name_index_add(out, f->top.fields[i].name, i, NULL, err);
    }
    return st;
}

grebe_status features_project(const grebe_allocator *a, const struct features *f, const char *const *names,
                              const char *const *as, size_t n, struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct features *made = NULL;
    struct name_index there = { 0 };
    struct feature *fields = NULL;
    *out = NULL;
    GREBE_TRY(index_fields(a, f, &there, err));
    GREBE_TRY(with_room(a, n, &made, &fields, err));
    for (size_t i = 0; i < n; i++) {
        const size_t *at = name_index_find(&there, names[i]);
        if (at == NULL) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND, "no column \"%s\"", names[i]);
            goto out;
        }
        GREBE_TRY(feature_copy(&made->arena, &f->top.fields[*at], as != NULL ? as[i] : names[i], &fields[i], err));
        made->top.n_fields++;
    }
    *out = made;
    made = NULL;
out:
    name_index_release(&there);
    features_free(made);
    return st;
}

grebe_status features_copy(const grebe_allocator *a, const struct features *f, struct features **out, grebe_error *err)
{
    struct feature *fields = NULL;
    grebe_status st = with_room(a, f->top.n_fields, out, &fields, err);
    for (size_t i = 0; st == GREBE_OK && i < f->top.n_fields; i++) {
        st = feature_copy(&(*out)->arena, &f->top.fields[i], f->top.fields[i].name, &fields[i], err);
        (*out)->top.n_fields++;
    }
    if (st != GREBE_OK) {
        features_free(*out);
        *out = NULL;
    }
    return st;
}

grebe_status features_merge(const grebe_allocator *a, const struct features *f, const struct features *more,
                            struct features **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct features *made = NULL;
    struct feature *fields = NULL;
    struct name_index old_names = { 0 }, new_names = { 0 };
    *out = NULL;
    GREBE_TRY(index_fields(a, f, &old_names, err));
    GREBE_TRY(index_fields(a, more, &new_names, err));
    GREBE_TRY(with_room(a, f->top.n_fields + more->top.n_fields, &made, &fields, err));
    for (size_t i = 0; i < f->top.n_fields; i++) {
        const struct feature *old = &f->top.fields[i];
        const size_t *at = name_index_find(&new_names, old->name);
        GREBE_TRY(feature_copy(&made->arena, at != NULL ? &more->top.fields[*at] : old, old->name,
                               &fields[made->top.n_fields++], err));
    }
    for (size_t i = 0; i < more->top.n_fields; i++) {
        const struct feature *add = &more->top.fields[i];
        if (name_index_find(&old_names, add->name) == NULL) {
            GREBE_TRY(feature_copy(&made->arena, add, add->name, &fields[made->top.n_fields++], err));
        }
    }
    *out = made;
    made = NULL;
out:
    name_index_release(&old_names);
    name_index_release(&new_names);
    features_free(made);
    return st;
}

/* ---- rows of a batch ---- */

static int64_t writer_rows(const struct feature *f)
{
    int64_t rows = 1000;
    if (f->kind == FEATURE_MEDIA) {
        bool is_small = strcmp(f->type_name, "Image") == 0 || strcmp(f->type_name, "Audio") == 0;
        return strcmp(f->type_name, "Video") == 0 ? 10 : is_small ? 100 : 1000;
    }
    if (f->kind == FEATURE_VALUE && strcmp(f->dtype, "binary") == 0) {
        return 100;
    }
    if (f->child != NULL) {
        rows = writer_rows(f->child);
    }
    for (size_t i = 0; i < f->n_fields; i++) {
        int64_t n = writer_rows(&f->fields[i]);
        rows = n < rows ? n : rows;
    }
    return rows;
}

int64_t features_writer_rows(const struct features *f) { return writer_rows(&f->top); }
