/* SPDX-License-Identifier: Apache-2.0 */
/* The files that metadata.yaml names, by their headers. */
#include <stdio.h>
#include <string.h>

#include "base/context_internal.h"
#include "graph/graph_attribute_keys.h"
#include "graph/graph_edges_parquet.h"
#include "graph/graph_metadata_internal.h"

bool graph_type_is_integer(int type)
{
    return type == ARRAY_I8 || type == ARRAY_U8 || type == ARRAY_I16 || type == ARRAY_U16 || type == ARRAY_I32 ||
           type == ARRAY_U32 || type == ARRAY_I64 || type == ARRAY_U64;
}

grebe_status graph_file_open(struct graph_metadata *m, const struct graph_file *f, struct tensor *out, grebe_error *err)
{
    grebe_status st = tensor_open(m->ctx, f->real_path, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    bool is_npy = array_is_npy(out->region->data, out->region->len);
    if (is_npy != (f->format == GRAPH_NUMPY)) {
        tensor_release(out);
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: the format is said to be %s, the file is one of %s", f->path,
                          is_npy ? "torch" : "numpy", is_npy ? "numpy" : "torch");
    }
    if (!tensor_is_stored(out)) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: %llu values of which the file has but some, shown many times: save contiguous() of it",
                        f->path, (unsigned long long)out->n_values);
        tensor_release(out);
    }
    return st;
}

/* The header of a file; a failure becomes a problem at the path, but for lack of memory. *is_open says which. */
static grebe_status open_checked(struct graph_metadata *m, const struct graph_file *f, struct tensor *out,
                                 bool *is_open, grebe_error *err)
{
    grebe_error failed = GREBE_ERROR_INIT;
    *is_open = false;
    if (f->real_path == NULL) {
        return GREBE_OK; /* told already */
    }
    grebe_status st = graph_file_open(m, f, out, &failed);
    if (st == GREBE_OK) {
        *is_open = true;
        return GREBE_OK;
    }
    if (st == GREBE_ENOMEM) {
        return error_copy(err, st, &failed);
    }
    if (st == GREBE_ENOTFOUND) {
        char message[600];
        snprintf(message, sizeof message, "%.500s does not exist", f->path);
        return graph_problem_add_file(m, f, st, message, err);
    }
    return graph_problem_add_file(m, f, st, failed.message, err);
}

static void shape_text(const struct tensor *t, char *dst, size_t room)
{
    size_t len = (size_t)snprintf(dst, room, "(");
    for (unsigned i = 0; i < t->rank && len + 24 < room; i++) {
        len += (size_t)snprintf(dst + len, room - len, i == 0 ? "%llu" : ", %llu", (unsigned long long)t->shape[i]);
    }
    snprintf(dst + len, room - len, t->rank == 1 ? ",)" : ")");
}

/* ---- edges ---- */

static grebe_status check_csv(struct graph_metadata *m, const struct graph_file *f, grebe_error *err)
{
    grebe_error failed = GREBE_ERROR_INIT;
    struct io_store *store = NULL;
    struct io_info info;
    char message[600];
    grebe_status st = io_local_new(m->ctx, &store, err);
    if (st != GREBE_OK) {
        return st;
    }
    grebe_status found = io_stat(store, f->real_path, &info, &failed);
    if (found == GREBE_ENOTFOUND) {
        snprintf(message, sizeof message, "%.500s does not exist", f->path);
        st = graph_problem_add_file(m, f, found, message, err);
    } else if (found != GREBE_OK) {
        st = graph_problem_add_file(m, f, found, failed.message, err);
    } else if (info.kind != IO_FILE) {
        snprintf(message, sizeof message, "%.500s is no file", f->path);
        st = graph_problem_add_file(m, f, GREBE_EINVAL, message, err);
    }
    io_store_free(store);
    return st;
}

/* DGL reads csv and numpy alone; torch and Parquet are taken where the file is one, and else the format is what is
 * wrong. */
static grebe_status check_own_format(struct graph_metadata *m, const struct graph_file *f, const grebe_error *failed,
                                     grebe_error *err)
{
    char field[160];
    if (failed->status == GREBE_ENOTFOUND) {
        snprintf(field, sizeof field, "%.140s does not exist", f->path);
        return graph_problem_add_file(m, f, failed->status, field, err);
    }
    snprintf(field, sizeof field, "%s.format", f->field);
    return graph_problem_add(
        m, f->format_at, field, true, GREBE_ESCHEMA, err, "expected csv or numpy; the file is not %s: %s",
        f->format == GRAPH_TORCH ? "one of torch" : "a table of edges in Parquet", failed->message);
}

static grebe_status check_own(struct graph_metadata *m, struct graph_edge_spec *e, bool *is_right, grebe_error *err)
{
    grebe_error failed = GREBE_ERROR_INIT;
    struct tensor t = { 0 };
    struct graph_edge_rows *rows = NULL;
    grebe_status st = e->file.format == GRAPH_TORCH
                          ? graph_file_open(m, &e->file, &t, &failed)
                          : graph_edge_rows_open(m->ctx, e->file.real_path, e->file.path, &rows, &failed);
    *is_right = st == GREBE_OK;
    e->n_edges = rows != NULL ? graph_edge_rows_count(rows) : -1;
    tensor_release(&t);
    graph_edge_rows_close(rows);
    if (st == GREBE_ENOMEM) {
        return error_copy(err, st, &failed);
    }
    return st == GREBE_OK ? st : check_own_format(m, &e->file, &failed, err);
}

static grebe_status check_edges(struct graph_metadata *m, struct graph_edge_spec *e, grebe_error *err)
{
    struct tensor t;
    bool is_open = false;
    char message[700], shape[200];
    e->n_edges = -1;
    if (e->file.real_path == NULL) {
        return GREBE_OK;
    }
    if (e->file.format == GRAPH_CSV) {
        return check_csv(m, &e->file, err);
    }
    if (e->file.format == GRAPH_TORCH || e->file.format == GRAPH_PARQUET) {
        bool is_right = false;
        grebe_status own = check_own(m, e, &is_right, err);
        if (own != GREBE_OK || !is_right || e->file.format == GRAPH_PARQUET) {
            return own;
        }
    }
    grebe_status st = open_checked(m, &e->file, &t, &is_open, err);
    if (st != GREBE_OK || !is_open) {
        return st;
    }
    shape_text(&t, shape, sizeof shape);
    if (!graph_type_is_integer(t.type)) {
        snprintf(message, sizeof message, "%.400s: edges must be integers, found %s", e->file.path,
                 tensor_type_name(t.type));
        st = graph_problem_add_file(m, &e->file, GREBE_ESCHEMA, message, err);
    } else if (t.rank != 2 || t.shape[0] != 2) {
        snprintf(message, sizeof message, "%.400s: the shape is %s, (2, edges) is wanted%s", e->file.path, shape,
                 t.rank == 2 && t.shape[1] == 2 ? ": transpose it" : "");
        st = graph_problem_add_file(m, &e->file, GREBE_ESCHEMA, message, err);
    } else {
        e->n_edges = (int64_t)t.shape[1];
    }
    tensor_release(&t);
    return st;
}

/* ---- features and attributes ---- */

int64_t graph_feature_rows(const struct graph_metadata *m, const struct graph_feature_spec *f)
{
    if (f->domain == GRAPH_WHOLE || m->n_nodes == 0) {
        return -1;
    }
    if (f->domain == GRAPH_NODE) {
        size_t i = m->is_homogeneous ? 0 : f->type != NULL ? graph_node_type_find(m, f->type) : m->n_nodes;
        return i < m->n_nodes ? m->nodes[i].num : -1;
    }
    size_t i = m->is_homogeneous ? 0 : f->type != NULL ? graph_edge_type_find(m, f->type) : m->n_edges;
    return i < m->n_edges ? m->edges[i].n_edges : -1;
}

static grebe_status check_row_count(struct graph_metadata *m, const struct graph_feature_spec *f, grebe_error *err)
{
    char message[600];
    int64_t wanted = graph_feature_rows(m, f);
    if (wanted < 0 || f->n_rows < 0 || f->n_rows == wanted) {
        return GREBE_OK;
    }
    snprintf(message, sizeof message, "%.300s: %lld rows, the graph has %lld %s%s%.100s", f->file.path,
             (long long)f->n_rows, (long long)wanted, f->domain == GRAPH_NODE ? "nodes" : "edges",
             f->type != NULL ? " of type " : "", f->type != NULL ? f->type : "");
    return graph_problem_add_file(m, &f->file, GREBE_ESCHEMA, message, err);
}

grebe_status graph_metadata_check_rows(struct graph_metadata *m, size_t edge, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (const struct graph_feature_spec *f = m->edges[edge].features; f != NULL && st == GREBE_OK; f = f->next_of_edge) {
        st = check_row_count(m, f, err);
    }
    return st;
}

/* What attributes of one name have in common. */
static bool is_same_row(const struct tensor *x, const struct tensor *y)
{
    return x->type == y->type && x->rank == y->rank &&
           (x->rank < 2 || memcmp(x->shape + 1, y->shape + 1, (x->rank - 1) * sizeof x->shape[0]) == 0);
}

/* rows: headers of those that are the first of their name. */
static grebe_status check_attribute(struct graph_metadata *m, struct graph_attribute_keys *keys, size_t i, const struct tensor **rows,
                                    const struct tensor *t, grebe_error *err)
{
    const struct graph_feature_spec *f = &m->attributes[i];
    char message[600];
    if (t->type == ARRAY_U16 || t->type == ARRAY_U32 || t->type == ARRAY_U64) {
        snprintf(message, sizeof message,
                 "%.300s: attributes of the graph may not be %s, which torch files have no storage for", f->file.path,
                 tensor_type_name(t->type));
        return graph_problem_add_file(m, &f->file, GREBE_EUNSUPPORTED, message, err);
    }
    grebe_status st = GREBE_OK;
    size_t first = i;
    GREBE_TRY(f->name == NULL ? GREBE_OK : graph_attribute_keys_find_name(keys, f->domain, f->name, &first, err));
    if (first == i) { /* what those of the same name are compared with */
        struct tensor *shape = arena_alloc(&m->arena, sizeof *shape);
        GREBE_TRY(shape != NULL ? GREBE_OK : mem_fail(err, sizeof *shape, m->shown));
        *shape = *t;
        shape->region = NULL;
        shape->data = NULL;
        rows[i] = shape;
    } else if (rows[first] != NULL && !is_same_row(rows[first], t)) {
        snprintf(message, sizeof message, "%.300s: type or shape differs from that of %.200s, which has the same name", f->file.path,
                 m->attributes[first].file.path);
        st = graph_problem_add_file(m, &f->file, GREBE_ESCHEMA, message, err);
    }
out:
    return st;
}

/* In a typed graph an attribute stands in one array for all types. */
static grebe_status check_coverage(struct graph_metadata *m, struct graph_attribute_keys *keys, size_t i, grebe_error *err)
{
    const struct graph_feature_spec *f = &m->attributes[i];
    grebe_status st = GREBE_OK;
    size_t place = i;
    if (m->is_homogeneous || f->name == NULL || f->domain == GRAPH_WHOLE) {
        return GREBE_OK;
    }
    GREBE_TRY(graph_attribute_keys_find_name(keys, f->domain, f->name, &place, err));
    size_t n = place < i ? 0 : f->domain == GRAPH_NODE ? m->n_nodes : m->n_edges; /* the first one tells */
    for (size_t t = 0; t < n; t++) {
        const char *type = f->domain == GRAPH_NODE ? m->nodes[t].type : m->edges[t].type;
        if (type == NULL) {
            continue;
        }
        GREBE_TRY(graph_attribute_keys_find(keys, f->domain, type, f->name, &place, err));
        if (place == SIZE_MAX) {
            GREBE_TRY(graph_problem_add(m, f->item, f->file.field, true, GREBE_ESCHEMA, err, "attribute %s is missing for %s type %s",
                                        f->name, f->domain == GRAPH_NODE ? "node" : "edge", type));
        }
    }
out:
    return st;
}

static grebe_status check_feature(struct graph_metadata *m, struct graph_feature_spec *f, bool allow_row_mismatch,
                                  struct tensor *t, bool *is_open, grebe_error *err)
{
    char message[600];
    f->n_rows = -1;
    grebe_status st = open_checked(m, &f->file, t, is_open, err);
    if (st != GREBE_OK || !*is_open) {
        return st;
    }
    if (t->rank == 0) {
        snprintf(message, sizeof message, "%.400s: a single number, rows are wanted", f->file.path);
        st = graph_problem_add_file(m, &f->file, GREBE_ESCHEMA, message, err);
    } else {
        f->n_rows = (int64_t)t->shape[0];
        st = allow_row_mismatch ? GREBE_OK : check_row_count(m, f, err);
    }
    return st;
}

/* ---- sets ---- */

static grebe_status check_set(struct graph_metadata *m, const struct graph_set_spec *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    char message[600];
    const struct graph_set_item *first = NULL;
    uint64_t n_first = 0;
    for (size_t i = 0; i < s->n_items && st == GREBE_OK; i++) {
        const struct graph_set_item *x = &s->items[i];
        struct tensor t;
        bool is_open = false;
        st = open_checked(m, &x->file, &t, &is_open, err);
        if (st != GREBE_OK || !is_open) {
            continue;
        }
        if (t.rank == 0) {
            snprintf(message, sizeof message, "%.400s: a single number, items are wanted", x->file.path);
            st = graph_problem_add_file(m, &x->file, GREBE_ESCHEMA, message, err);
        } else if (graph_set_is_seeds(x->name) && !graph_type_is_integer(t.type)) {
            snprintf(message, sizeof message, "%.400s: seeds must be integers, found %s", x->file.path,
                     tensor_type_name(t.type));
            st = graph_problem_add_file(m, &x->file, GREBE_ESCHEMA, message, err);
        } else if (first == NULL) {
            first = x;
            n_first = t.shape[0];
        } else if (t.shape[0] != n_first) {
            snprintf(message, sizeof message, "%.150s has %llu items, %.150s has %llu",
                     first->name != NULL ? first->name : first->file.path, (unsigned long long)n_first,
                     x->name != NULL ? x->name : x->file.path, (unsigned long long)t.shape[0]);
            st = graph_problem_add_file(m, &x->file, GREBE_ESCHEMA, message, err);
        }
        st = st == GREBE_OK ? graph_set_check_seeds(m, s, x, &t, err) : st;
        tensor_release(&t);
    }
    return st;
}

grebe_status graph_metadata_check_files(struct graph_metadata *m, bool allow_row_mismatch, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_attribute_keys keys = { 0 };
    const struct tensor **rows = arena_array(&m->arena, m->n_attributes, sizeof *rows);
    if (rows == NULL) {
        return mem_fail(err, m->n_attributes * sizeof *rows, m->shown);
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        GREBE_TRY(check_edges(m, &m->edges[i], err));
    }
    GREBE_TRY(graph_attribute_keys_new(m->ctx->a, m->n_attributes, &keys, err));
    for (size_t i = 0; i < m->n_attributes; i++) {
        size_t first;
        GREBE_TRY(graph_attribute_keys_add(&keys, &m->attributes[i], i, &first, err));
    }
    for (size_t i = 0; i < m->n_attributes + m->n_features; i++) {
        bool is_attribute = i < m->n_attributes, is_open = false;
        struct graph_feature_spec *f = is_attribute ? &m->attributes[i] : &m->features[i - m->n_attributes];
        struct tensor t = { 0 };
        st = check_feature(m, f, allow_row_mismatch && !is_attribute, &t, &is_open, err);
        if (st == GREBE_OK && is_open && is_attribute) {
            st = check_attribute(m, &keys, i, rows, &t, err);
        }
        tensor_release(&t);
        if (st == GREBE_OK && is_attribute) {
            st = check_coverage(m, &keys, i, err);
        }
        GREBE_TRY(st);
    }
    for (size_t i = 0; i < m->n_tasks; i++) {
        for (size_t kind = 0; kind < GRAPH_SETS; kind++) {
            for (size_t k = 0; k < m->tasks[i].n_sets[kind]; k++) {
                GREBE_TRY(check_set(m, &m->tasks[i].sets[kind][k], err));
            }
        }
    }
out:
    graph_attribute_keys_release(&keys);
    return st;
}
