/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_api.h"

#include <stdlib.h>
#include <string.h>

grebe_status vdb_result_new(const grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_result *r = mem_alloc_zero(vdb->a, sizeof *r);
    *out = r;
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a result");
    }
    r->a = vdb->a;
    r->ar = ARENA_INIT(vdb->a);
    return GREBE_OK;
}

void grebe_vdb_result_free(grebe_vdb_result *r)
{
    if (r != NULL) {
        vdb_view_drop(r->view);
        arena_release(&r->ar);
        mem_free(r->a, r, sizeof *r);
    }
}

grebe_status vdb_result_end(grebe_status st, grebe_vdb_result **result, grebe_vdb_result **out)
{
    if (st != GREBE_OK) {
        grebe_vdb_result_free(*result);
        *result = NULL;
    }
    *out = *result;
    return st;
}

const char *grebe_vdb_result_root(const grebe_vdb_result *r) { return r->root[0] == '\0' ? NULL : r->root; }

uint64_t grebe_vdb_result_count(const grebe_vdb_result *r) { return r->count; }

grebe_status grebe_vdb_result_print(const grebe_vdb_result *r, grebe_vdb_form form, grebe_write_fn write,
                                    void *write_ctx, grebe_error *err)
{
    struct buf text = BUF_INIT(r->a);
    GREBE_CHECK_ARG(err, form >= GREBE_VDB_JSON && form <= GREBE_VDB_JSONL);
    static const enum vdb_print forms[] = { VDB_PRINT_JSON, VDB_PRINT_PRETTY, VDB_PRINT_LINES };
    grebe_status st = vdb_json_print(&text, &r->value, forms[form], err);
    if (st == GREBE_OK && text.len != 0) {
        int sys = write(write_ctx, text.data, text.len);
        st = sys == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, GREBE_EIO, sys, "printing a result");
    }
    buf_release(&text);
    return st;
}

/* ---- values ---- */

void vdb_object_begin(struct vdb_object_maker *o, struct arena *ar, size_t capacity)
{
    o->ar = ar;
    o->n = 0;
    o->capacity = capacity;
    o->members = arena_array(ar, capacity, sizeof *o->members);
    o->is_failed = o->members == NULL;
}

void vdb_object_add(struct vdb_object_maker *o, const char *key, struct vdb_value value)
{
    if (!o->is_failed && o->n < o->capacity) {
        o->members[o->n++] = (struct vdb_member){ key, strlen(key), value };
    }
}

grebe_status vdb_object_end(struct vdb_object_maker *o, struct vdb_value *out, grebe_error *err)
{
    if (o->is_failed) {
        return mem_fail(err, o->capacity * sizeof *o->members, "a result");
    }
    *out = (struct vdb_value){ .type = VDB_OBJECT, .object = { o->members, o->n } };
    return GREBE_OK;
}

struct vdb_value vdb_text(const char *text)
{
    return (struct vdb_value){ .type = VDB_STRING, .s = { text, strlen(text) } };
}
struct vdb_value vdb_uint(uint64_t v) { return (struct vdb_value){ .type = VDB_UINT, .u = v }; }
struct vdb_value vdb_bool(bool v) { return (struct vdb_value){ .type = VDB_BOOL, .boolean = v }; }
struct vdb_value vdb_null(void) { return (struct vdb_value){ .type = VDB_NULL }; }
struct vdb_value vdb_list(const struct vdb_value *items, size_t n)
{
    return (struct vdb_value){ .type = VDB_ARRAY, .array = { items, n } };
}

struct vdb_value vdb_oid_value(struct vdb_object_maker *o, const struct repo_oid *oid)
{
    char *hex = arena_alloc(o->ar, REPO_OID_HEX + 1);
    if (hex == NULL) {
        o->is_failed = true;
        return vdb_null();
    }
    repo_oid_hex(oid, hex);
    return vdb_text(hex);
}

static int compare_members(const void *x, const void *y)
{
    const struct vdb_member *a = x, *b = y;
    size_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = memcmp(a->key, b->key, least);
    return order != 0 ? order : a->key_len < b->key_len ? -1 : a->key_len > b->key_len;
}

grebe_status vdb_value_sort(struct arena *ar, struct vdb_value *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (v->type == VDB_ARRAY) {
        struct vdb_value *items = arena_array(ar, v->array.n, sizeof *items);
        if (items == NULL) {
            return mem_fail(err, v->array.n * sizeof *items, "a result");
        }
        for (size_t i = 0; i < v->array.n && st == GREBE_OK; i++) {
            items[i] = v->array.items[i];
            st = vdb_value_sort(ar, &items[i], err);
        }
        v->array.items = items;
    } else if (v->type == VDB_OBJECT) {
        struct vdb_member *members = arena_array(ar, v->object.n, sizeof *members);
        if (members == NULL) {
            return mem_fail(err, v->object.n * sizeof *members, "a result");
        }
        for (size_t i = 0; i < v->object.n && st == GREBE_OK; i++) {
            members[i] = v->object.members[i];
            st = vdb_value_sort(ar, &members[i].value, err);
        }
        qsort(members, v->object.n, sizeof *members, compare_members);
        v->object.members = members;
    }
    return st;
}

/* ---- what several calls give ---- */

static grebe_status config_value(struct arena *ar, const struct vdb_config *c, struct vdb_value *out, grebe_error *err)
{
    struct vdb_object_maker index, config;
    struct vdb_value space = vdb_null();
    if (c->vector_space != NULL) {
        const char *own = arena_str(ar, c->vector_space, c->vector_space_len);
        if (own == NULL) {
            return mem_fail(err, c->vector_space_len, "a name");
        }
        space = (struct vdb_value){ .type = VDB_STRING, .s = { own, c->vector_space_len } };
    }
    vdb_object_begin(&index, ar, 6);
    vdb_object_add(&index, "tables", vdb_uint(c->tables));
    vdb_object_add(&index, "signature_bits", vdb_uint(c->signature_bits));
    vdb_object_add(&index, "projection_seed", vdb_uint(c->projection_seed));
    vdb_object_add(&index, "full_scan_threshold", vdb_uint(c->full_scan_threshold));
    vdb_object_add(&index, "default_probes", vdb_uint(c->default_probes));
    vdb_object_add(&index, "default_candidate_limit", vdb_uint(c->default_candidate_limit));
    struct vdb_value v;
    grebe_status st = vdb_object_end(&index, &v, err);
    if (st != GREBE_OK) {
        return st;
    }
    vdb_object_begin(&config, ar, 4);
    vdb_object_add(&config, "dimension", vdb_uint(c->dimension));
    vdb_object_add(&config, "distance", vdb_text("cosine"));
    vdb_object_add(&config, "vector_space", space);
    vdb_object_add(&config, "index", v);
    return vdb_object_end(&config, out, err);
}

grebe_status vdb_info_value(struct arena *ar, const char *name, const struct vdb_snapshot *s, bool is_read_only,
                            struct vdb_value *out, grebe_error *err)
{
    struct vdb_object_maker o;
    struct vdb_value config;
    char *own = arena_str(ar, name, strlen(name));
    if (own == NULL) {
        return mem_fail(err, strlen(name), "a name");
    }
    grebe_status st = config_value(ar, &s->meta.config, &config, err);
    if (st != GREBE_OK) {
        return st;
    }
    vdb_object_begin(&o, ar, 6);
    vdb_object_add(&o, "root", vdb_oid_value(&o, &s->root));
    vdb_object_add(&o, "name", vdb_text(own));
    vdb_object_add(&o, "format_version", vdb_uint(s->meta.format));
    vdb_object_add(&o, "point_count", vdb_uint(s->meta.point_count));
    vdb_object_add(&o, "config", config);
    vdb_object_add(&o, "read_only", vdb_bool(is_read_only));
    return vdb_object_end(&o, out, err);
}

grebe_status vdb_write_result_new(const grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    static const struct repo_oid none;
    grebe_vdb_result *r;
    struct vdb_object_maker o;
    grebe_status st = vdb_result_new(vdb, &r, err);
    if (st == GREBE_OK) {
        repo_oid_hex(&none, r->root); /* its length is that of any root */
        vdb_object_begin(&o, &r->ar, 2);
        vdb_object_add(&o, "root", vdb_text(r->root));
        vdb_object_add(&o, "affected_points", vdb_uint(0));
        st = vdb_object_end(&o, &r->value, err);
        r->written = o.members;
    }
    return vdb_result_end(st, &r, out);
}

void vdb_write_result_fill(grebe_vdb_result *r, const struct repo_oid *root, uint64_t affected)
{
    repo_oid_hex(root, r->root);
    r->count = affected;
    r->written[1].value = vdb_uint(affected);
}
