/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are no points as rows: one for each element of the list that a result is about, or one for the whole result. */
#include "gitvdb/vdb_rows_any.h"

#include <stdio.h>
#include <string.h>

#include "arrow/arrow_stream.h"

/* What is in a column. */
enum cell_kind { CELL_NONE, CELL_BOOL, CELL_UINT, CELL_INT, CELL_FLOAT, CELL_TEXT, CELL_JSON };

struct column {
    const char *name;
    size_t name_len;
    enum cell_kind kind;
};

struct rows {
    const grebe_allocator *a;
    struct arena ar;
    const struct vdb_value *items; /* shape [n]; objects */
    size_t n;
    struct column *columns;
    size_t n_columns;
};

/* ---- which rows ---- */

/* The lists that results are about, and the column that tells that there is none of them. */
static const struct {
    const char *name, *first;
} lists[] = { { "collections", "name" }, { "history", "commit" }, { "reports", "name" }, { "problems", NULL },
              { "conflicts", "id" } };

static const char *const changes[] = { "added", "removed", "changed" };

static const struct vdb_value *get(const struct vdb_value *v, const char *key) { return vdb_json_get(v, key, strlen(key)); }

static grebe_status one_column(struct rows *r, const char *name, enum cell_kind kind, grebe_error *err)
{
    r->columns = arena_array(&r->ar, 2, sizeof *r->columns);
    if (r->columns == NULL) {
        return mem_fail(err, sizeof *r->columns, "columns");
    }
    r->columns[r->n_columns++] = (struct column){ name, strlen(name), kind };
    return GREBE_OK;
}

/* Ids of a comparison with what happened to them. */
static grebe_status rows_of_changes(struct rows *r, const struct vdb_value *v, grebe_error *err)
{
    size_t n = 0;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        n += get(v, changes[k])->array.n;
    }
    struct vdb_value *items = arena_array(&r->ar, n, sizeof *items);
    if (items == NULL) {
        return mem_fail(err, n * sizeof *items, "rows");
    }
    r->items = items;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        const struct vdb_value *ids = get(v, changes[k]);
        for (size_t i = 0; i < ids->array.n; i++) {
            struct vdb_object_maker o;
            vdb_object_begin(&o, &r->ar, 2);
            vdb_object_add(&o, "id", ids->array.items[i]);
            vdb_object_add(&o, "change", vdb_text(changes[k]));
            grebe_status st = vdb_object_end(&o, &items[r->n++], err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    grebe_status st = n != 0 ? GREBE_OK : one_column(r, "id", CELL_TEXT, err);
    if (st == GREBE_OK && n == 0) {
        r->columns[r->n_columns++] = (struct column){ "change", 6, CELL_TEXT };
    }
    return st;
}

/* Texts of a list as rows of one column. */
static grebe_status rows_of_texts(struct rows *r, const char *column, grebe_error *err)
{
    struct vdb_value *items = arena_array(&r->ar, r->n, sizeof *items);
    if (items == NULL) {
        return mem_fail(err, r->n * sizeof *items, "rows");
    }
    for (size_t i = 0; i < r->n; i++) {
        struct vdb_object_maker o;
        vdb_object_begin(&o, &r->ar, 1);
        vdb_object_add(&o, column, r->items[i]);
        grebe_status st = vdb_object_end(&o, &items[i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    r->items = items;
    return GREBE_OK;
}

static grebe_status choose_rows(struct rows *r, const grebe_vdb_result *result, grebe_error *err)
{
    const struct vdb_value *v = &result->value;
    r->items = v;
    r->n = 1;
    if (result->is_one_row || v->type != VDB_OBJECT) {
        return GREBE_OK;
    }
    if (get(v, "added") != NULL) {
        r->n = 0;
        return rows_of_changes(r, v, err);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct vdb_value *list = get(v, lists[i].name);
        if (list != NULL && list->type == VDB_ARRAY && (list->array.n != 0 || lists[i].first != NULL)) {
            r->items = list->array.items;
            r->n = list->array.n;
            return r->n == 0                            ? one_column(r, lists[i].first, CELL_TEXT, err)
                   : r->items[0].type != VDB_OBJECT ? rows_of_texts(r, "problem", err)
                                                    : GREBE_OK;
        }
    }
    return GREBE_OK;
}

/* ---- which columns ---- */

static enum cell_kind kind_of(const struct vdb_value *v)
{
    switch (v->type) {
    case VDB_NULL: return CELL_NONE;
    case VDB_BOOL: return CELL_BOOL;
    case VDB_UINT: return CELL_UINT;
    case VDB_INT: return CELL_INT;
    case VDB_FLOAT:
    case VDB_FLOAT32: return CELL_FLOAT;
    case VDB_STRING: return CELL_TEXT;
    default: return CELL_JSON;
    }
}

/* Members of all rows, in the order in which they first occur. A member of several kinds is JSON. */
static grebe_status choose_columns(struct rows *r, grebe_error *err)
{
    size_t most = 0;
    for (size_t i = 0; i < r->n; i++) {
        most += r->items[i].type == VDB_OBJECT ? r->items[i].object.n : 0;
    }
    if (r->n == 0) {
        return GREBE_OK; /* they are given */
    }
    r->columns = arena_array(&r->ar, most, sizeof *r->columns);
    if (r->columns == NULL) {
        return mem_fail(err, most * sizeof *r->columns, "columns");
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct vdb_value *row = &r->items[i];
        for (size_t m = 0; row->type == VDB_OBJECT && m < row->object.n; m++) {
            const struct vdb_member *member = &row->object.members[m];
            size_t c = 0;
            while (c < r->n_columns && (r->columns[c].name_len != member->key_len ||
                                        memcmp(r->columns[c].name, member->key, member->key_len) != 0)) {
                c++;
            }
            if (c == r->n_columns) {
                r->columns[r->n_columns++] = (struct column){ member->key, member->key_len, CELL_NONE };
            }
            enum cell_kind kind = kind_of(&member->value), *so_far = &r->columns[c].kind;
            *so_far = *so_far == CELL_NONE || *so_far == kind ? kind : kind == CELL_NONE ? *so_far : CELL_JSON;
        }
    }
    return GREBE_OK;
}

/* ---- cells ---- */

static const struct vdb_value *cell(const struct rows *r, const struct column *c, size_t row)
{
    const struct vdb_value *v = vdb_json_get(&r->items[row], c->name, c->name_len);
    return v == NULL || v->type == VDB_NULL ? NULL : v;
}

/* Which cells are there. */
static grebe_status mark_nulls(const struct rows *r, const struct column *c, struct ArrowArray *out, grebe_error *err)
{
    void *bits;
    size_t n_bytes = r->n / 8 + 1;
    grebe_status st = array_alloc_buffer(r->a, out, 0, n_bytes, &bits, err);
    if (st == GREBE_OK) {
        memset(bits, 0, n_bytes);
        for (size_t i = 0; i < r->n; i++) {
            bool is_there = cell(r, c, i) != NULL;
            ((unsigned char *)bits)[i / 8] |= (unsigned char)(is_there << (i % 8));
            out->null_count += !is_there;
        }
    }
    return st;
}

static grebe_status text_cells(const struct rows *r, const struct column *c, struct ArrowArray *out, grebe_error *err)
{
    struct buf text = BUF_INIT(r->a);
    void *offsets, *bytes;
    grebe_status st;
    GREBE_TRY(array_new(r->a, (int64_t)r->n, 3, 0, out, err));
    GREBE_TRY(mark_nulls(r, c, out, err));
    GREBE_TRY(array_alloc_buffer(r->a, out, 1, (r->n + 1) * sizeof(int64_t), &offsets, err));
    int64_t *ends = offsets;
    ends[0] = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct vdb_value *v = cell(r, c, i);
        if (v != NULL) {
            GREBE_TRY(c->kind == CELL_TEXT ? buf_put(&text, v->s.text, v->s.len, err) : vdb_json_put(&text, v, err));
        }
        ends[i + 1] = (int64_t)text.len;
    }
    GREBE_TRY(array_alloc_buffer(r->a, out, 2, text.len, &bytes, err));
    if (text.len != 0) {
        memcpy(bytes, text.data, text.len);
    }
out:
    buf_release(&text);
    return st;
}

static grebe_status plain_cells(const struct rows *r, const struct column *c, struct ArrowArray *out, grebe_error *err)
{
    void *data;
    size_t len = c->kind == CELL_BOOL ? r->n / 8 + 1 : r->n * 8;
    grebe_status st;
    GREBE_TRY(array_new(r->a, (int64_t)r->n, 2, 0, out, err));
    GREBE_TRY(mark_nulls(r, c, out, err));
    GREBE_TRY(array_alloc_buffer(r->a, out, 1, len, &data, err));
    memset(data, 0, len);
    for (size_t i = 0; i < r->n; i++) {
        const struct vdb_value *v = cell(r, c, i);
        if (v != NULL && c->kind == CELL_BOOL) {
            ((unsigned char *)data)[i / 8] |= (unsigned char)(v->boolean << (i % 8));
        } else if (v != NULL) { /* u, i and f lie in the same place */
            memcpy((unsigned char *)data + i * 8, &v->u, 8);
        }
    }
out:
    return st;
}

static grebe_status make_field(const struct rows *r, const struct column *c, struct ArrowSchema *out, grebe_error *err)
{
    static const char *const formats[] = { "U", "b", "L", "l", "g", "U", "U" };
    char name[64];
    snprintf(name, sizeof name, "%.*s", c->name_len < sizeof name ? (int)c->name_len : (int)sizeof name - 1, c->name);
    bool is_id = strcmp(name, "id") == 0;
    grebe_status st = schema_new(r->a, formats[c->kind], name, true, 0, out, err);
    if (st == GREBE_OK && c->kind == CELL_JSON) {
        struct key_value pair = { is_id ? "grebe.id" : "ARROW:extension:name", is_id ? 8 : 20, is_id ? "json" : "arrow.json",
                                  is_id ? 4 : 10 };
        st = schema_set_metadata(r->a, out, &pair, 1, err);
    }
    return st;
}

static grebe_status make_rows(struct rows *r, struct ArrowArray *out, struct ArrowSchema *out_schema, grebe_error *err)
{
    size_t n = r->n_columns;
    struct ArrowArray *columns = mem_alloc_zero(r->a, (n + 1) * sizeof *columns);
    struct ArrowSchema *fields = mem_alloc_zero(r->a, (n + 1) * sizeof *fields);
    const struct ArrowSchema **list = arena_array(&r->ar, n + 1, sizeof *list);
    grebe_status st = GREBE_OK;
    if (columns == NULL || fields == NULL || list == NULL) {
        st = mem_fail(err, n * sizeof *columns, "columns");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const struct column *c = &r->columns[i];
        bool is_text = c->kind == CELL_NONE || c->kind == CELL_TEXT || c->kind == CELL_JSON;
        list[i] = &fields[i];
        GREBE_TRY(make_field(r, c, &fields[i], err));
        GREBE_TRY(is_text ? text_cells(r, c, &columns[i], err) : plain_cells(r, c, &columns[i], err));
    }
    GREBE_TRY(schema_struct(r->a, list, n, out_schema, err));
    GREBE_TRY(array_struct(r->a, (int64_t)r->n, columns, n, out, err));
out:
    for (size_t i = 0; i < n && columns != NULL; i++) {
        array_release(&columns[i]);
    }
    for (size_t i = 0; i < n && fields != NULL; i++) {
        schema_release(&fields[i]);
    }
    mem_free(r->a, columns, (n + 1) * sizeof *columns);
    mem_free(r->a, fields, (n + 1) * sizeof *fields);
    if (st != GREBE_OK) {
        schema_release(out_schema);
    }
    return st;
}

grebe_status vdb_rows_of_any(const grebe_vdb_result *result, struct ArrowArray *out, struct ArrowSchema *out_schema,
                             grebe_error *err)
{
    struct rows r = { .a = result->a, .ar = ARENA_INIT(result->a) };
    grebe_status st;
    GREBE_TRY(choose_rows(&r, result, err));
    GREBE_TRY(choose_columns(&r, err));
    GREBE_TRY(make_rows(&r, out, out_schema, err));
out:
    arena_release(&r.ar);
    return st;
}
