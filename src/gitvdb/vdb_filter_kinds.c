/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_filter_reader.h"

#include <stdlib.h>

#include "base/error.h"
#include "gitvdb/vdb_json_text.h"

/* ---- operands ---- */

static bool copy_slice(struct vdb_filter_reader *r, const void *bytes, size_t len, struct vdb_slice *out)
{
    out->p = arena_str(&r->f->ar, bytes, len);
    out->len = len;
    return out->p != NULL || vdb_filter_no_memory(r, len);
}

/* As it stands in canonical text, without the quotes. */
static bool escape(struct vdb_filter_reader *r, const char *text, size_t len, struct vdb_slice *out)
{
    buf_clear(&r->scratch);
    grebe_status st = vdb_put_string(&r->scratch, text, len, r->err);
    if (st != GREBE_OK) {
        r->status = st;
        return false;
    }
    return copy_slice(r, r->scratch.data + 1, r->scratch.len - 2, out);
}

/* A string member; *out NULL: there is none. false: there is, and it is something else. */
static bool read_text(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                      const char *name, const struct vdb_value **out)
{
    *out = vdb_filter_member(v, name);
    if (*out != NULL && (*out)->type != VDB_STRING) {
        return vdb_filter_mismatch(r, at, name, "a string", *out);
    }
    return *out != NULL;
}

static bool read_path(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                      const char *name, struct vdb_condition *out)
{
    const struct vdb_value *text = NULL;
    const struct vdb_filter_place inner = { at, name, 0 };
    if (!read_text(r, v, at, name, &text)) {
        return false;
    }
    const char *p = text->s.text;
    const char *end = p + text->s.len;
    size_t n = 1;
    for (const char *q = p; q < end; q++) {
        n += *q == '.';
    }
    struct vdb_slice *path = arena_array(&r->f->ar, n, sizeof *path);
    if (path == NULL) {
        return vdb_filter_no_memory(r, n * sizeof *path);
    }
    for (size_t i = 0; i < n; i++) {
        const char *dot = memchr(p, '.', (size_t)(end - p));
        size_t len = (size_t)((dot != NULL ? dot : end) - p);
        if (len == 0) {
            return vdb_filter_refuse(r, &inner, "expected a path of names with '.' between, found an empty name");
        }
        if (!escape(r, p, len, &path[i])) {
            return false;
        }
        p += len + 1;
    }
    out->path = path;
    out->n_path = n;
    return true;
}

static bool read_scalar(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                        struct vdb_scalar *out)
{
    memset(out, 0, sizeof *out);
    switch (v->type) {
    case VDB_NULL: out->type = VDB_SCALAR_NULL; return true;
    case VDB_BOOL:
        out->type = VDB_SCALAR_BOOL;
        out->number = v->boolean;
        return true;
    case VDB_UINT:
    case VDB_INT:
    case VDB_FLOAT:
        out->type = VDB_SCALAR_NUMBER;
        out->number = v->type == VDB_UINT ? (double)v->u : v->type == VDB_INT ? (double)v->i : v->f;
        return true;
    case VDB_STRING: out->type = VDB_SCALAR_STRING; return escape(r, v->s.text, v->s.len, &out->text);
    default: return vdb_filter_refuse(r, at, "expected a string, a number, true, false or null");
    }
}

static int compare_scalars(const void *a, const void *b)
{
    return vdb_scalar_compare(a, b);
}

/* A list of scalars, sorted. */
static bool read_values(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                        const char *name, struct vdb_condition *out)
{
    const struct vdb_value *list = vdb_filter_member(v, name);
    const struct vdb_filter_place inner = { at, name, 0 };
    if (list == NULL || list->type != VDB_ARRAY) {
        return list != NULL && vdb_filter_mismatch(r, at, name, "an array", list);
    }
    if (vdb_filter_member(v, "key") == NULL) {
        return vdb_filter_mismatch(r, at, "key", "a string", NULL);
    }
    if (!read_path(r, v, at, "key", out)) {
        return false;
    }
    if (list->array.n == 0) {
        return vdb_filter_refuse(r, &inner, "expected at least one value");
    }
    struct vdb_scalar *values = arena_array(&r->f->ar, list->array.n, sizeof *values);
    if (values == NULL) {
        return vdb_filter_no_memory(r, list->array.n * sizeof *values);
    }
    for (size_t i = 0; i < list->array.n; i++) {
        const struct vdb_filter_place item = { &inner, NULL, i };
        if (!read_scalar(r, &list->array.items[i], &item, &values[i])) {
            return false;
        }
    }
    qsort(values, list->array.n, sizeof *values, compare_scalars);
    out->values = values;
    out->n_values = list->array.n;
    return true;
}

static bool read_one_value(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                           struct vdb_condition *out)
{
    struct vdb_scalar *value = arena_array(&r->f->ar, 1, sizeof *value);
    if (value == NULL) {
        return vdb_filter_no_memory(r, sizeof *value);
    }
    out->values = value;
    out->n_values = 1;
    return read_scalar(r, v, at, value);
}

/* ---- the kinds, in the order in which they are tried ---- */

static bool read_has_field(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                           struct vdb_condition *out)
{
    out->kind = VDB_HAS_FIELD;
    return read_path(r, v, at, "has_field", out);
}

static bool read_any(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                     struct vdb_condition *out)
{
    out->kind = VDB_FIELD_IN;
    return read_values(r, v, at, "any", out);
}

static bool read_none(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                      struct vdb_condition *out)
{
    out->kind = VDB_FIELD_NOT_IN;
    return read_values(r, v, at, "none", out);
}

static bool read_contains(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                          struct vdb_condition *out)
{
    const struct vdb_value *value = vdb_filter_member(v, "contains");
    const struct vdb_filter_place inner = { at, "contains", 0 };
    out->kind = VDB_FIELD_CONTAINS;
    if (value == NULL) {
        return false;
    }
    if (vdb_filter_member(v, "key") == NULL) {
        return vdb_filter_mismatch(r, at, "key", "a string", NULL);
    }
    return read_path(r, v, at, "key", out) && read_one_value(r, value, &inner, out);
}

static bool read_document_contains(struct vdb_filter_reader *r, const struct vdb_value *v,
                                   const struct vdb_filter_place *at, struct vdb_condition *out)
{
    const struct vdb_value *text = NULL;
    const struct vdb_filter_place inner = { at, "document_contains", 0 };
    out->kind = VDB_DOCUMENT_CONTAINS;
    if (!read_text(r, v, at, "document_contains", &text)) {
        return false;
    }
    if (text->s.len == 0) {
        return vdb_filter_refuse(r, &inner, "expected a text that is not empty");
    }
    return copy_slice(r, text->s.text, text->s.len, &out->text);
}

static bool read_document_regex(struct vdb_filter_reader *r, const struct vdb_value *v,
                                const struct vdb_filter_place *at, struct vdb_condition *out)
{
    const struct vdb_value *text = NULL;
    const struct vdb_filter_place inner = { at, "document_regex", 0 };
    char place[256];
    out->kind = VDB_DOCUMENT_REGEX;
    if (!read_text(r, v, at, "document_regex", &text)) {
        return false;
    }
    if (!copy_slice(r, text->s.text, text->s.len, &out->text)) {
        return false;
    }
    grebe_status st = vdb_regex_new(&r->f->ar, &out->text, &r->f->regexes, &out->regex, r->err);
    r->status = st == GREBE_OK ? st : error_wrap(r->err, st, "%s", vdb_filter_place_text(place, sizeof place, &inner));
    return st == GREBE_OK;
}

/* "match": null is none; what git-vdb takes for an array here is its first field. */
static bool read_match(struct vdb_filter_reader *r, const struct vdb_value *match, const struct vdb_filter_place *at,
                       struct vdb_condition *out)
{
    const struct vdb_filter_place inner = { at, "match", 0 };
    const struct vdb_filter_place value_at = { &inner, "value", 0 };
    const struct vdb_value *value = NULL;
    if (match == NULL || match->type == VDB_NULL) {
        return true;
    }
    if (match->type == VDB_OBJECT) {
        value = vdb_filter_member(match, "value");
    } else if (r->is_lenient && match->type == VDB_ARRAY && match->array.n == 1) {
        value = &match->array.items[0];
    } else {
        return vdb_filter_mismatch(r, at, "match", "an object with \"value\"", match);
    }
    if (value == NULL) {
        return vdb_filter_mismatch(r, &inner, "value", "a value", NULL);
    }
    return read_one_value(r, value, &value_at, out);
}

static bool read_range(struct vdb_filter_reader *r, const struct vdb_value *range, const struct vdb_filter_place *at,
                       struct vdb_condition *out)
{
    static const char *const names[VDB_BOUNDS] = { "gt", "gte", "lt", "lte" };
    const struct vdb_filter_place inner = { at, "range", 0 };
    if (range == NULL || range->type == VDB_NULL) {
        return true;
    }
    bool is_list = r->is_lenient && range->type == VDB_ARRAY && range->array.n == VDB_BOUNDS;
    if (range->type != VDB_OBJECT && !is_list) {
        return vdb_filter_mismatch(r, at, "range", "an object with gt, gte, lt or lte", range);
    }
    out->has_range = true;
    for (int i = 0; i < VDB_BOUNDS; i++) {
        const struct vdb_value *bound = is_list ? &range->array.items[i] : vdb_filter_member(range, names[i]);
        if (bound == NULL || bound->type == VDB_NULL) {
            continue;
        }
        if (bound->type != VDB_UINT && bound->type != VDB_INT && bound->type != VDB_FLOAT) {
            return vdb_filter_mismatch(r, &inner, names[i], "a number", bound);
        }
        out->has_bound[i] = true;
        out->bounds[i] = bound->type == VDB_UINT  ? (double)bound->u
                         : bound->type == VDB_INT ? (double)bound->i
                                                  : bound->f;
    }
    return true;
}

static bool read_field(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                       struct vdb_condition *out)
{
    const struct vdb_value *match = vdb_filter_member(v, "match");
    const struct vdb_value *range = vdb_filter_member(v, "range");
    const struct vdb_value *key = NULL;
    out->kind = VDB_FIELD;
    if (vdb_filter_member(v, "key") == NULL) {
        return match != NULL || range != NULL ? vdb_filter_mismatch(r, at, "key", "a string", NULL) : false;
    }
    if (!read_text(r, v, at, "key", &key) || !read_range(r, range, at, out) || !read_match(r, match, at, out) ||
        !read_path(r, v, at, "key", out)) {
        return false;
    }
    if (out->n_values == 0 && !out->has_range && (r->is_lenient || !r->has_mismatch)) {
        return vdb_filter_refuse(r, at, "expected match, range, any, none or contains beside key");
    }
    return out->n_values > 0 || out->has_range;
}

static int compare_ids(const void *a, const void *b)
{
    return vdb_id_compare(a, b);
}

static bool read_has_id(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                        struct vdb_condition *out)
{
    const struct vdb_value *list = vdb_filter_member(v, "has_id");
    const struct vdb_filter_place inner = { at, "has_id", 0 };
    out->kind = VDB_HAS_ID;
    if (list == NULL || list->type != VDB_ARRAY) {
        return list != NULL && vdb_filter_mismatch(r, at, "has_id", "an array", list);
    }
    struct vdb_id *ids = arena_array(&r->f->ar, list->array.n, sizeof *ids);
    if (ids == NULL) {
        return vdb_filter_no_memory(r, list->array.n * sizeof *ids);
    }
    for (size_t i = 0; i < list->array.n; i++) {
        const struct vdb_filter_place item = { &inner, NULL, i };
        struct vdb_slice text;
        if (vdb_id_from_json(&list->array.items[i], &ids[i], NULL) != GREBE_OK) {
            return vdb_filter_mismatch(r, &item, NULL, "a string or an integer that is not negative",
                                       &list->array.items[i]);
        }
        if (!ids[i].is_number) { /* the text of the filter goes */
            if (!copy_slice(r, ids[i].text, ids[i].len, &text)) {
                return false;
            }
            ids[i].text = text.p;
        }
    }
    if (list->array.n == 0) {
        return vdb_filter_refuse(r, &inner, "expected at least one id");
    }
    qsort(ids, list->array.n, sizeof *ids, compare_ids);
    out->ids = ids;
    out->n_ids = list->array.n;
    return true;
}

vdb_filter_read_fn *const vdb_filter_kinds[VDB_FILTER_KINDS] = {
    read_has_field,      read_any,   read_none,   read_contains, read_document_contains,
    read_document_regex, read_field, read_has_id,
};
