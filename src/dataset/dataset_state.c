/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_state.h"

#include <stdlib.h>
#include <string.h>

#include "wire/json_python.h"

grebe_status saved_name_check(const char *name, size_t len, grebe_error *err)
{
    char quoted[80];
    if (len == 0 || strlen(name) != len || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "\"%s\": expected the name of a file of this folder",
                          error_quote(quoted, sizeof quoted, name, len));
    }
    return GREBE_OK;
}

/* ---- state.json ---- */

static grebe_status text_or_null(const struct json_value *v, const char *key, const char **out, grebe_error *err)
{
    const struct json_value *text = json_get(v, key);
    *out = NULL;
    if (text == NULL || text->type == JSON_NULL) {
        return GREBE_OK;
    }
    if (text->type != JSON_STRING || strlen(text->text) != text->n) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a text, found %s", key, json_type_name(text->type));
    }
    *out = text->text;
    return GREBE_OK;
}

/* Texts of an array, or, with key, of that member of each item. */
static grebe_status texts_of(struct arena *ar, const struct json_value *v, const char *name, const char *key,
                             const char *const **out, size_t *n, grebe_error *err)
{
    if (v->type != JSON_ARRAY) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected an array, found %s", name, json_type_name(v->type));
    }
    const char **texts = arena_array(ar, v->n + 1, sizeof *texts);
    if (texts == NULL) {
        return mem_fail(err, v->n * sizeof *texts, name);
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct json_value *text = key != NULL ? json_get(&v->items[i], key) : &v->items[i];
        if (text == NULL || text->type != JSON_STRING || strlen(text->text) != text->n) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: item %zu is no text", name, i);
        }
        texts[i] = text->text;
    }
    *out = texts;
    *n = v->n;
    return GREBE_OK;
}

static grebe_status read_files(const struct json_value *v, struct saved_state *out, grebe_error *err)
{
    const struct json_value *files = json_get(v, "_data_files"), *indices = json_get(v, "_indices_data_files");
    const char *old = NULL;
    grebe_status st = text_or_null(v, "_indices_files", &old, NULL);
    if (st != GREBE_OK ||
        (indices != NULL && indices->type != JSON_NULL && !(indices->type == JSON_ARRAY && indices->n == 0))) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                          "indices in files of their own, as old versions saved them: save it again with a newer one");
    }
    if (files == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "no _data_files");
    }
    st = texts_of(&out->arena, files, "_data_files", "filename", &out->files, &out->n_files, err);
    for (size_t i = 0; i < out->n_files && st == GREBE_OK; i++) {
        st = saved_name_check(out->files[i], strlen(out->files[i]), err);
    }
    return st;
}

static grebe_status read_format(const struct json_value *v, struct saved_state *out, grebe_error *err)
{
    const struct json_value *columns = json_get(v, "_format_columns"), *kwargs = json_get(v, "_format_kwargs");
    const struct json_value *all = json_get(v, "_output_all_columns");
    grebe_status st = text_or_null(v, "_format_type", &out->format.type, err);
    if (st == GREBE_OK && columns != NULL && columns->type != JSON_NULL) {
        st = texts_of(&out->arena, columns, "_format_columns", NULL, &out->format.columns, &out->format.n_columns, err);
    }
    out->format.output_all_columns = all != NULL && all->type == JSON_BOOL && all->boolean;
    if (st != GREBE_OK || kwargs == NULL || kwargs->type == JSON_NULL) {
        return st;
    }
    if (kwargs->type != JSON_OBJECT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "_format_kwargs: expected an object, found %s",
                          json_type_name(kwargs->type));
    }
    struct buf text = BUF_INIT(out->arena.a);
    st = json_python_value(&text, kwargs, -1, 0, err);
    if (st == GREBE_OK) {
        out->format.kwargs = arena_str(&out->arena, (const char *)text.data, text.len);
        st = out->format.kwargs == NULL ? mem_fail(err, text.len, "format arguments") : GREBE_OK;
    }
    buf_release(&text);
    return st;
}

grebe_status saved_state_read(const grebe_allocator *a, const char *text, size_t len, struct saved_state *out,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *v = NULL;
    memset(out, 0, sizeof *out);
    out->arena = ARENA_INIT(a);
    GREBE_TRY(json_parse(&out->arena, text, len, &v, err));
    if (v->type != JSON_OBJECT) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected an object, found %s", json_type_name(v->type));
        goto out;
    }
    GREBE_TRY(read_files(v, out, err));
    GREBE_TRY(text_or_null(v, "_fingerprint", &out->fingerprint, err));
    GREBE_TRY(text_or_null(v, "_split", &out->split, err));
    GREBE_TRY(read_format(v, out, err));
out:
    if (st != GREBE_OK) {
        saved_state_release(out);
    }
    return st;
}

void saved_state_release(struct saved_state *s)
{
    arena_release(&s->arena);
    memset(s, 0, sizeof *s);
}

static grebe_status put_text(struct buf *dst, const char *text, grebe_error *err)
{
    return text != NULL ? json_python_string(dst, text, strlen(text), err) : buf_put_text(dst, "null", err);
}

static grebe_status put_files(const struct saved_state *s, struct buf *dst, grebe_error *err)
{
    grebe_status st = json_python_open(dst, '[', err);
    for (size_t i = 0; i < s->n_files && st == GREBE_OK; i++) {
        st = json_python_next(dst, i, 2, 1, err);
        st = st == GREBE_OK ? json_python_open(dst, '{', err) : st;
        st = st == GREBE_OK ? json_python_key(dst, "filename", 0, 2, 2, err) : st;
        st = st == GREBE_OK ? put_text(dst, s->files[i], err) : st;
        st = st == GREBE_OK ? json_python_close(dst, '}', 1, 2, 2, err) : st;
    }
    return st == GREBE_OK ? json_python_close(dst, ']', s->n_files, 2, 1, err) : st;
}

static grebe_status put_columns(const grebe_dataset_format *f, struct buf *dst, grebe_error *err)
{
    if (f->columns == NULL) {
        return buf_put_text(dst, "null", err);
    }
    grebe_status st = json_python_open(dst, '[', err);
    for (size_t i = 0; i < f->n_columns && st == GREBE_OK; i++) {
        st = json_python_next(dst, i, 2, 1, err);
        st = st == GREBE_OK ? put_text(dst, f->columns[i], err) : st;
    }
    return st == GREBE_OK ? json_python_close(dst, ']', f->n_columns, 2, 1, err) : st;
}

static int by_key(const void *x, const void *y)
{
    return strcmp(((const struct json_member *)x)->key, ((const struct json_member *)y)->key);
}

/* Members in ascending order at all levels. */
static grebe_status sort_members(struct arena *ar, const struct json_value *v, struct json_value *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = *v;
    if (v->type == JSON_OBJECT) {
        struct json_member *m = arena_array(ar, v->n + 1, sizeof *m);
        if (m == NULL) {
            return mem_fail(err, v->n * sizeof *m, "members");
        }
        for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
            m[i] = v->members[i];
            st = sort_members(ar, &v->members[i].value, &m[i].value, err);
        }
        qsort(m, v->n, sizeof *m, by_key);
        out->members = m;
    } else if (v->type == JSON_ARRAY) {
        struct json_value *items = arena_array(ar, v->n + 1, sizeof *items);
        if (items == NULL) {
            return mem_fail(err, v->n * sizeof *items, "items");
        }
        for (size_t i = 0; i < v->n && st == GREBE_OK; i++) {
            st = sort_members(ar, &v->items[i], &items[i], err);
        }
        out->items = items;
    }
    return st;
}

static grebe_status put_kwargs(const grebe_allocator *a, const char *kwargs, struct buf *dst, grebe_error *err)
{
    struct arena ar = ARENA_INIT(a);
    const struct json_value *v = NULL;
    struct json_value sorted;
    grebe_status st = json_parse(&ar, kwargs, strlen(kwargs), &v, err);
    if (st == GREBE_OK && v->type != JSON_OBJECT) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "format arguments: expected an object, found %s", json_type_name(v->type));
    }
    st = st == GREBE_OK ? sort_members(&ar, v, &sorted, err) : st;
    st = st == GREBE_OK ? json_python_value(dst, &sorted, 2, 1, err) : st;
    arena_release(&ar);
    return st == GREBE_ECORRUPT ? GREBE_EINVAL : st;
}

grebe_status saved_state_write(const struct saved_state *s, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset_format *f = &s->format;
    GREBE_TRY(json_python_open(dst, '{', err));
    GREBE_TRY(json_python_key(dst, "_data_files", 0, 2, 0, err));
    GREBE_TRY(put_files(s, dst, err));
    GREBE_TRY(json_python_key(dst, "_fingerprint", 1, 2, 0, err));
    GREBE_TRY(put_text(dst, s->fingerprint, err));
    GREBE_TRY(json_python_key(dst, "_format_columns", 2, 2, 0, err));
    GREBE_TRY(put_columns(f, dst, err));
    GREBE_TRY(json_python_key(dst, "_format_kwargs", 3, 2, 0, err));
    GREBE_TRY(put_kwargs(dst->a, f->kwargs != NULL ? f->kwargs : "{}", dst, err));
    GREBE_TRY(json_python_key(dst, "_format_type", 4, 2, 0, err));
    GREBE_TRY(put_text(dst, f->type, err));
    GREBE_TRY(json_python_key(dst, "_output_all_columns", 5, 2, 0, err));
    GREBE_TRY(buf_put_text(dst, f->output_all_columns ? "true" : "false", err));
    GREBE_TRY(json_python_key(dst, "_split", 6, 2, 0, err));
    GREBE_TRY(put_text(dst, s->split, err));
    GREBE_TRY(json_python_close(dst, '}', 7, 2, 0, err));
out:
    return st;
}

/* ---- dataset_info.json ---- */

grebe_status saved_info_read(const grebe_allocator *a, const char *text, size_t len, struct saved_info *out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena ar = ARENA_INIT(a);
    struct buf rest = BUF_INIT(a);
    const struct json_value *v = NULL;
    memset(out, 0, sizeof *out);
    GREBE_TRY(json_parse(&ar, text, len, &v, err));
    if (v->type != JSON_OBJECT) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected an object, found %s", json_type_name(v->type));
        goto out;
    }
    const struct json_value *features = json_get(v, "features");
    if (features != NULL && features->type != JSON_NULL) {
        GREBE_TRY(features_from_tree(a, features, &out->features, err));
    }
    struct json_member *kept = arena_array(&ar, v->n + 1, sizeof *kept);
    if (kept == NULL) {
        st = mem_fail(err, v->n * sizeof *kept, "members");
        goto out;
    }
    struct json_value others = *v;
    others.n = 0;
    others.members = kept;
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(v->members[i].key, "features") != 0) {
            kept[others.n++] = v->members[i];
        }
    }
    GREBE_TRY(json_python_value(&rest, &others, -1, 0, err));
    out->info_json = str_copy_len(a, (const char *)rest.data, rest.len);
    st = out->info_json == NULL ? mem_fail(err, rest.len, "information") : GREBE_OK;
out:
    arena_release(&ar);
    buf_release(&rest);
    if (st != GREBE_OK) {
        saved_info_release(a, out);
    }
    return st;
}

void saved_info_release(const grebe_allocator *a, struct saved_info *s)
{
    features_free(s->features);
    str_free(a, s->info_json);
    memset(s, 0, sizeof *s);
}

/* Members that are always there. */
static const char *const always[] = { "citation", "description", "homepage", "license" };
enum { N_ALWAYS = 4 };

grebe_status saved_info_write(const grebe_allocator *a, const struct features *f, const char *info_json,
                              struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct arena ar = ARENA_INIT(a);
    const struct json_value *v = NULL;
    size_t n = 0;
    GREBE_TRY(json_parse(&ar, info_json, strlen(info_json), &v, err));
    struct json_member *all = arena_array(&ar, v->n + N_ALWAYS + 1, sizeof *all);
    if (all == NULL) {
        st = mem_fail(err, v->n * sizeof *all, "members");
        goto out;
    }
    for (size_t i = 0; v->type == JSON_OBJECT && i < v->n; i++) {
        if (v->members[i].value.type != JSON_NULL && strcmp(v->members[i].key, "features") != 0) {
            all[n++] = v->members[i];
        }
    }
    for (size_t i = 0; i < N_ALWAYS; i++) {
        const struct json_value *known = json_get(v, always[i]);
        if (known == NULL || known->type == JSON_NULL) {
            all[n].key = always[i];
            all[n++].value = (struct json_value){ .type = JSON_STRING, .text = "" };
        }
    }
    all[n++].key = "features"; /* its value is written from the features themselves */
    qsort(all, n, sizeof *all, by_key);
    GREBE_TRY(json_python_open(dst, '{', err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(json_python_key(dst, all[i].key, i, 2, 0, err));
        if (strcmp(all[i].key, "features") == 0) {
            GREBE_TRY(features_to_json(f, 2, 1, dst, err));
        } else {
            GREBE_TRY(json_python_value(dst, &all[i].value, 2, 1, err));
        }
    }
    GREBE_TRY(json_python_close(dst, '}', n, 2, 0, err));
out:
    arena_release(&ar);
    return st;
}

/* ---- dataset_dict.json ---- */

grebe_status saved_splits_read(struct arena *ar, const char *text, size_t len, const char *const **names, size_t *n,
                               grebe_error *err)
{
    const struct json_value *v = NULL, *splits = NULL;
    grebe_status st = json_parse(ar, text, len, &v, err);
    if (st == GREBE_OK) {
        st = json_expect(v, "splits", JSON_ARRAY, &splits, err);
    }
    if (st == GREBE_OK) {
        st = texts_of(ar, splits, "splits", NULL, names, n, err);
    }
    for (size_t i = 0; st == GREBE_OK && i < *n; i++) {
        st = saved_name_check((*names)[i], strlen((*names)[i]), err);
    }
    return st;
}

grebe_status saved_splits_write(const char *const *names, size_t n, struct buf *dst, grebe_error *err)
{
    grebe_status st = buf_put_text(dst, "{\"splits\": ", err);
    st = st == GREBE_OK ? json_python_open(dst, '[', err) : st;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = json_python_next(dst, i, -1, 0, err);
        st = st == GREBE_OK ? put_text(dst, names[i], err) : st;
    }
    st = st == GREBE_OK ? json_python_close(dst, ']', n, -1, 0, err) : st;
    return st == GREBE_OK ? buf_put_text(dst, "}", err) : st;
}
