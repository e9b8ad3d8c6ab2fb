/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_filter.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "gitvdb/vdb_filter_reader.h"
#include "gitvdb/vdb_scan.h"

static bool read_group(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                       struct vdb_group *out);

/* ---- places and failures ---- */

static size_t put_place(char *dst, size_t size, const struct vdb_filter_place *at)
{
    if (at == NULL) {
        return 0;
    }
    size_t n = put_place(dst, size, at->up);
    int more = 0;
    if (n + 1 < size) {
        more = at->name != NULL ? snprintf(dst + n, size - n, n > 0 ? ".%s" : "%s", at->name)
                                : snprintf(dst + n, size - n, "[%zu]", at->index);
    }
    n += more > 0 ? (size_t)more : 0;
    return n < size ? n : size - 1;
}

const char *vdb_filter_place_text(char *dst, size_t size, const struct vdb_filter_place *at)
{
    if (put_place(dst, size, at) == 0) {
        snprintf(dst, size, "filter");
    }
    return dst;
}

bool vdb_filter_refuse(struct vdb_filter_reader *r, const struct vdb_filter_place *at, const char *why)
{
    char text[256];
    if (r->status == GREBE_OK) {
        r->status = GREBE_FAIL(r->err, GREBE_EINVAL, "%s: %s", vdb_filter_place_text(text, sizeof text, at), why);
    }
    return false;
}

bool vdb_filter_no_memory(struct vdb_filter_reader *r, size_t size)
{
    r->status = mem_fail(r->err, size, "a filter");
    return false;
}

bool vdb_filter_mismatch(struct vdb_filter_reader *r, const struct vdb_filter_place *at, const char *name,
                         const char *expected, const struct vdb_value *found)
{
    char text[256];
    const struct vdb_filter_place inner = { at, name, 0 };
    if (!r->has_mismatch) {
        r->has_mismatch = true;
        GREBE_FAIL(&r->mismatch, GREBE_EINVAL, "%s: expected %s, found %s",
                   vdb_filter_place_text(text, sizeof text, name != NULL ? &inner : at), expected,
                   found != NULL ? vdb_json_type_name(found->type) : "nothing");
    }
    return false;
}

/* ---- conditions ---- */

static bool is_group(const struct vdb_value *v)
{
    return vdb_filter_member(v, "must") != NULL || vdb_filter_member(v, "should") != NULL ||
           vdb_filter_member(v, "must_not") != NULL;
}

static bool refuse_mismatch(struct vdb_filter_reader *r)
{
    if (r->status == GREBE_OK) {
        r->status = GREBE_EINVAL;
        if (r->err != NULL) {
            *r->err = r->mismatch;
        }
    }
    return false;
}

static bool read_condition(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                           struct vdb_condition *out)
{
    r->has_mismatch = false;
    for (size_t i = 0; v->type == VDB_OBJECT && i < VDB_FILTER_KINDS; i++) {
        memset(out, 0, sizeof *out);
        if (vdb_filter_kinds[i](r, v, at, out)) {
            r->f->needs_payload |= out->kind != VDB_HAS_ID;
            return true;
        }
        if (r->status != GREBE_OK) {
            return false;
        }
    }
    memset(out, 0, sizeof *out);
    out->kind = VDB_NESTED;
    if (r->is_lenient && (v->type == VDB_OBJECT || v->type == VDB_ARRAY)) {
        return read_group(r, v, at, &out->nested);
    }
    if (r->has_mismatch) {
        return refuse_mismatch(r);
    }
    if (v->type != VDB_OBJECT) {
        vdb_filter_mismatch(r, at, NULL, "an object", v);
        return refuse_mismatch(r);
    }
    if (!is_group(v)) {
        return vdb_filter_refuse(
            r, at,
            "expected a condition (has_field, key with match, range, any, none or contains, document_contains, "
            "document_regex, has_id) or must, should, must_not");
    }
    return read_group(r, v, at, &out->nested);
}

/* ---- groups ---- */

static bool read_clause(struct vdb_filter_reader *r, const struct vdb_value *list, const struct vdb_filter_place *at,
                        int clause, struct vdb_group *out)
{
    if (list->type != VDB_ARRAY) {
        r->has_mismatch = false;
        vdb_filter_mismatch(r, at, NULL, "an array of conditions", list);
        return refuse_mismatch(r);
    }
    struct vdb_condition *c = arena_array(&r->f->ar, list->array.n, sizeof *c);
    if (c == NULL) {
        return vdb_filter_no_memory(r, list->array.n * sizeof *c);
    }
    for (size_t i = 0; i < list->array.n; i++) {
        const struct vdb_filter_place item = { at, NULL, i };
        if (!read_condition(r, &list->array.items[i], &item, &c[i])) {
            return false;
        }
    }
    out->conditions[clause] = c;
    out->n[clause] = list->array.n;
    return true;
}

static bool read_group(struct vdb_filter_reader *r, const struct vdb_value *v, const struct vdb_filter_place *at,
                       struct vdb_group *out)
{
    static const char *const names[VDB_CLAUSES] = { "must", "should", "must_not" };
    bool is_list = r->is_lenient && v->type == VDB_ARRAY && v->array.n <= VDB_CLAUSES;
    memset(out, 0, sizeof *out);
    if (v->type != VDB_OBJECT && !is_list) {
        r->has_mismatch = false;
        vdb_filter_mismatch(r, at, NULL, "an object with must, should or must_not", v);
        return refuse_mismatch(r);
    }
    for (int i = 0; i < VDB_CLAUSES; i++) {
        const struct vdb_filter_place inner = { at, names[i], 0 };
        const struct vdb_value *list = !is_list                 ? vdb_filter_member(v, names[i])
                                       : (size_t)i < v->array.n ? &v->array.items[i]
                                                                : NULL;
        if (list != NULL && !read_clause(r, list, &inner, i, out)) {
            return false;
        }
    }
    return true;
}

static bool read_root(struct vdb_filter_reader *r, const struct vdb_value *v)
{
    if (!r->is_lenient && v->type == VDB_OBJECT && v->object.n > 0 && !is_group(v)) {
        return vdb_filter_refuse(r, NULL, "expected must, should or must_not, each an array of conditions");
    }
    return read_group(r, v, NULL, &r->f->root);
}

grebe_status vdb_filter_parse(const grebe_allocator *a, const char *json, size_t len, bool is_lenient,
                              struct vdb_filter **out, grebe_error *err)
{
    struct arena ar = ARENA_INIT(a);
    const struct vdb_value *v = NULL;
    struct vdb_filter_reader r;
    memset(&r, 0, sizeof r);
    r.is_lenient = is_lenient;
    r.scratch = BUF_INIT(a);
    r.err = err;
    *out = NULL;
    grebe_status st = vdb_json_parse_unique(&ar, json, len, &v, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "filter");
        goto out;
    }
    r.f = mem_alloc_zero(a, sizeof *r.f);
    if (r.f == NULL) {
        st = mem_fail(err, sizeof *r.f, "a filter");
        goto out;
    }
    r.f->a = a;
    r.f->ar = ARENA_INIT(a);
    if (read_root(&r, v)) {
        *out = r.f;
        r.f = NULL;
    }
    st = r.status;
out:
    vdb_filter_free(r.f);
    buf_release(&r.scratch);
    arena_release(&ar);
    return st;
}
