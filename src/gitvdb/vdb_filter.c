/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gitvdb/vdb_filter_internal.h"
#include "gitvdb/vdb_scan.h"

struct vdb_filter_state {
    const grebe_allocator *a;
    struct arena ar;
    struct buf document; /* one with its escapes read */
    struct vdb_regex_state *regex;
};

/* What is matched at the moment. */
struct point {
    struct vdb_filter_state *s;
    const struct vdb_id *id;
    const char *payload, *end;
    grebe_error *err;
};

bool vdb_filter_needs_payload(const struct vdb_filter *f)
{
    return f->needs_payload;
}

grebe_status vdb_filter_state_new(const struct vdb_filter *f, struct vdb_filter_state **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct vdb_filter_state *s = mem_alloc_zero(f->a, sizeof *s);
    *out = NULL;
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a filter");
    }
    s->a = f->a;
    s->ar = ARENA_INIT(f->a);
    s->document = BUF_INIT(f->a);
    if (f->regexes != NULL) {
        GREBE_TRY(vdb_regex_state_new(&s->ar, &s->regex, err));
    }
    *out = s;
    s = NULL;
out:
    vdb_filter_state_free(s);
    return st;
}

void vdb_filter_state_free(struct vdb_filter_state *s)
{
    if (s != NULL) {
        vdb_regex_state_free(s->regex);
        buf_release(&s->document);
        arena_release(&s->ar);
        mem_free(s->a, s, sizeof *s);
    }
}

/* ---- conditions ---- */

static int compare_scalars(const void *a, const void *b)
{
    return vdb_scalar_compare(a, b);
}

static bool is_among(const struct vdb_condition *c, const struct vdb_scalar *v)
{
    enum { FEW = 8 };
    if (c->n_values > FEW) {
        return bsearch(v, c->values, c->n_values, sizeof *v, compare_scalars) != NULL;
    }
    size_t i = 0;
    while (i < c->n_values && vdb_scalar_compare(v, &c->values[i]) != 0) {
        i++;
    }
    return i < c->n_values;
}

static bool is_in_range(const struct vdb_condition *c, const struct vdb_scalar *v)
{
    return v->type == VDB_SCALAR_NUMBER && (!c->has_bound[VDB_GT] || v->number > c->bounds[VDB_GT]) &&
           (!c->has_bound[VDB_GTE] || v->number >= c->bounds[VDB_GTE]) &&
           (!c->has_bound[VDB_LT] || v->number < c->bounds[VDB_LT]) &&
           (!c->has_bound[VDB_LTE] || v->number <= c->bounds[VDB_LTE]);
}

/* Whether the array at p has an equal element. */
static grebe_status match_contains(const struct point *pt, const struct vdb_condition *c, const char *p, bool *out)
{
    *out = false;
    if (*p != '[' || (pt->end - p >= 2 && p[1] == ']')) {
        return GREBE_OK;
    }
    for (p++;; p++) {
        struct vdb_scalar v;
        grebe_status st = vdb_scalar_at(p, pt->end, &v, pt->err);
        if (st != GREBE_OK) {
            return st;
        }
        *out = is_among(c, &v);
        if (*out) {
            return GREBE_OK;
        }
        p = vdb_skip_canonical(p, pt->end);
        if (p == NULL || p == pt->end || (*p != ',' && *p != ']')) {
            return vdb_payload_fail(pt->err);
        }
        if (*p == ']') {
            return GREBE_OK;
        }
    }
}

static grebe_status match_field(const struct point *pt, const struct vdb_condition *c, bool *out)
{
    const char *p = NULL;
    struct vdb_scalar v;
    grebe_status st = vdb_find_path(pt->payload, pt->end, c->path, c->n_path, &p, pt->err);
    *out = p != NULL;
    if (st != GREBE_OK || p == NULL || c->kind == VDB_HAS_FIELD) {
        return st;
    }
    if (c->kind == VDB_FIELD_CONTAINS) {
        return match_contains(pt, c, p, out);
    }
    st = vdb_scalar_at(p, pt->end, &v, pt->err);
    if (c->kind == VDB_FIELD_NOT_IN) {
        *out = !is_among(c, &v);
    } else {
        *out = (c->n_values == 0 || is_among(c, &v)) && (!c->has_range || is_in_range(c, &v));
    }
    return st;
}

/* ---- documents ---- */

/* The string between quotes, escapes read. */
static grebe_status decode(const struct point *pt, const struct vdb_slice *raw, struct vdb_slice *out)
{
    struct buf *dst = &pt->s->document;
    const char *end = raw->p + raw->len;
    bool has_high = false;
    *out = *raw;
    if (raw->len == 0 || memchr(raw->p, '\\', raw->len) == NULL) {
        return GREBE_OK;
    }
    buf_clear(dst);
    for (const char *p = raw->p; p < end;) {
        char bytes[4];
        size_t n = 0;
        struct vdb_fault fault;
        const char *run = p;
        p = vdb_scan_plain(p, end, &has_high);
        grebe_status st = buf_put(dst, run, (size_t)(p - run), pt->err);
        if (st == GREBE_OK && p < end) {
            p = vdb_scan_escape(p, end, bytes, &n, &fault);
            st = p != NULL ? buf_put(dst, bytes, n, pt->err) : vdb_payload_fail(pt->err);
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    out->p = (const char *)dst->data;
    out->len = dst->len;
    return GREBE_OK;
}

static bool has_substring(const struct vdb_slice *text, const struct vdb_slice *what)
{
    if (what->len == 0 || what->len > text->len) {
        return what->len == 0;
    }
    const char *last = text->p + (text->len - what->len);
    for (const char *p = text->p; p <= last; p++) {
        p = memchr(p, *what->p, (size_t)(last - p) + 1);
        if (p == NULL) {
            return false;
        }
        if (memcmp(p, what->p, what->len) == 0) {
            return true;
        }
    }
    return false;
}

static grebe_status match_document(const struct point *pt, const struct vdb_condition *c, bool *out)
{
    static const struct vdb_slice key = { "document", 8 };
    const char *p = NULL;
    struct vdb_scalar v;
    struct vdb_slice text;
    grebe_status st = vdb_find_path(pt->payload, pt->end, &key, 1, &p, pt->err);
    *out = false;
    if (st != GREBE_OK || p == NULL || *p != '"') {
        return st;
    }
    GREBE_TRY(vdb_scalar_at(p, pt->end, &v, pt->err));
    GREBE_TRY(decode(pt, &v.text, &text));
    if (c->kind == VDB_DOCUMENT_REGEX) {
        return vdb_regex_matches(c->regex, pt->s->regex, &text, out, pt->err);
    }
    *out = has_substring(&text, &c->text);
out:
    return st;
}

/* ---- the tree ---- */

static int compare_ids(const void *a, const void *b)
{
    return vdb_id_compare(a, b);
}

static grebe_status match_group(const struct point *pt, const struct vdb_group *g, bool *out);

static grebe_status match_condition(const struct point *pt, const struct vdb_condition *c, bool *out)
{
    switch (c->kind) {
    case VDB_HAS_ID: *out = bsearch(pt->id, c->ids, c->n_ids, sizeof *c->ids, compare_ids) != NULL; return GREBE_OK;
    case VDB_NESTED: return match_group(pt, &c->nested, out);
    case VDB_DOCUMENT_CONTAINS:
    case VDB_DOCUMENT_REGEX: return match_document(pt, c, out);
    default: return match_field(pt, c, out);
    }
}

/* Whether any condition of a clause gives `wanted`. */
static grebe_status match_any(const struct point *pt, const struct vdb_group *g, int clause, bool wanted, bool *out)
{
    *out = false;
    for (size_t i = 0; i < g->n[clause] && !*out; i++) {
        bool found = false;
        grebe_status st = match_condition(pt, &g->conditions[clause][i], &found);
        if (st != GREBE_OK) {
            return st;
        }
        *out = found == wanted;
    }
    return GREBE_OK;
}

static grebe_status match_group(const struct point *pt, const struct vdb_group *g, bool *out)
{
    grebe_status st = GREBE_OK;
    bool is_any = false;
    *out = false;
    GREBE_TRY(match_any(pt, g, VDB_MUST, false, &is_any));
    if (is_any) {
        goto out;
    }
    GREBE_TRY(match_any(pt, g, VDB_MUST_NOT, true, &is_any));
    if (is_any) {
        goto out;
    }
    GREBE_TRY(match_any(pt, g, VDB_SHOULD, true, &is_any));
    *out = is_any || g->n[VDB_SHOULD] == 0;
out:
    return st;
}

grebe_status vdb_filter_matches(const struct vdb_filter *f, struct vdb_filter_state *s, const struct vdb_id *id,
                                const char *payload, size_t len, bool *out, grebe_error *err)
{
    const struct point pt = { s, id, payload, len > 0 ? payload + len : payload, err };
    return match_group(&pt, &f->root, out);
}

void vdb_filter_free(struct vdb_filter *f)
{
    if (f != NULL) {
        const grebe_allocator *a = f->a;
        vdb_regex_free_all(f->regexes);
        arena_release(&f->ar);
        mem_free(a, f, sizeof *f);
    }
}
