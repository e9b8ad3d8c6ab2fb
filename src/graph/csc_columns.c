/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/csc_columns.h"

#include <string.h>

#include "base/checked.h"

enum { PACK_BYTES = 4 << 20 };

bool csc_attribute_is_first(const struct graph_metadata *m, size_t attribute)
{
    const struct graph_feature_spec *f = &m->attributes[attribute];
    for (size_t i = 0; i < attribute; i++) {
        if (m->attributes[i].domain == f->domain && strcmp(m->attributes[i].name, f->name) == 0) {
            return false;
        }
    }
    return true;
}

/* The entries of the same name by type of nodes or edges, the first of each; NULL: none. */
static void find_parts(const struct graph_metadata *m, const struct graph_feature_spec *f, const struct graph_feature_spec **by_type)
{
    const bool is_node = f->domain == GRAPH_NODE;
    for (size_t i = m->n_attributes; i-- > 0;) {
        const struct graph_feature_spec *g = &m->attributes[i];
        if (g->domain != f->domain || strcmp(g->name, f->name) != 0) {
            continue;
        }
        size_t n = is_node ? m->n_nodes : m->n_edges;
        size_t type = g->type == NULL ? (m->is_homogeneous ? 0 : n) : is_node ? graph_node_type_find(m, g->type) : graph_edge_type_find(m, g->type);
        if (type < n) {
            by_type[type] = g;
        }
    }
}

/* Values one after another, little endian: of the file where they lie so, else a copy. */
static grebe_status pack(const struct csc_build *b, struct csc_column *c, size_t i, grebe_error *err)
{
    struct tensor *t = &c->parts[i];
    size_t bytes = 0;
    if (t->is_packed && !t->is_big_endian) {
        return GREBE_OK;
    }
    if (!checked_mul_size((size_t)t->n_values, tensor_type_bytes(t->type), &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "attribute %s: more bytes than memory can have", c->name);
    }
    const uint64_t rows = t->shape[0], row_bytes = rows > 0 ? bytes / rows : 0;
    const uint64_t some = row_bytes > 0 && row_bytes < PACK_BYTES ? PACK_BYTES / row_bytes : 1;
    grebe_status st = region_new(b->m->ctx->a, bytes, &c->copies[i], err);
    for (uint64_t k = 0; k < rows && st == GREBE_OK; k += some) {
        st = call_check(&b->options.call, err);
        st = st == GREBE_OK ? tensor_read(t, k, min_u64(some, rows - k), c->copies[i]->data + k * row_bytes, err) : st;
    }
    if (st == GREBE_OK) {
        t->data = c->copies[i]->data;
        t->is_packed = true;
        t->is_big_endian = false;
    }
    return st;
}

grebe_status csc_column_open(struct csc_build *b, size_t attribute, struct csc_column *out, size_t *n_parts,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct graph_metadata *m = b->m;
    const struct graph_feature_spec *f = &m->attributes[attribute];
    bool is_node = f->domain == GRAPH_NODE;
    size_t n = is_node ? m->n_nodes : m->n_edges;
    *out = (struct csc_column){ .name = f->name };
    *n_parts = 0;
    out->parts = arena_array(&m->arena, n, sizeof *out->parts);
    out->copies = arena_array(&m->arena, n, sizeof *out->copies);
    const struct graph_feature_spec **by_type = arena_array(&m->arena, n, sizeof *by_type);
    if (out->parts == NULL || out->copies == NULL || by_type == NULL) {
        return mem_fail(err, n * sizeof *out->parts, m->shown);
    }
    find_parts(m, f, by_type);
    for (size_t i = 0; i < n; i++) {
        const size_t place = is_node ? b->node_order[i] : b->edge_order[i];
        const char *type = is_node ? m->nodes[place].type : m->edges[place].type;
        int64_t rows = is_node ? m->nodes[b->node_order[i]].num : b->edges_of[i];
        const struct graph_feature_spec *g = by_type[place];
        struct tensor *t = &out->parts[i];
        if (g == NULL) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "attribute %s is missing for type %s", f->name,
                            type != NULL ? type : "(none)");
            goto out;
        }
        GREBE_TRY(graph_file_open(m, &g->file, t, err));
        *n_parts = i + 1;
        bool is_same = t->rank > 0 && t->shape[0] == (uint64_t)rows &&
                       (i == 0 || (t->type == out->type && t->rank == out->rank &&
                                   memcmp(t->shape + 1, out->shape + 1, (t->rank - 1) * sizeof t->shape[0]) == 0));
        if (!is_same) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "%s: %llu rows, the graph has %lld %s", g->file.path,
                            (unsigned long long)t->shape[0], (long long)rows, is_node ? "nodes" : "edges");
            goto out;
        }
        if (i == 0) {
            out->type = t->type;
            out->rank = t->rank;
            memcpy(out->shape, t->shape, sizeof out->shape);
            out->width = tensor_type_bytes(t->type);
            for (unsigned d = 1; d < t->rank; d++) { /* no overflow unless there are no rows: then nothing is moved */
                out->width *= (size_t)t->shape[d];
            }
        }
        GREBE_TRY(pack(b, out, i, err));
    }
    out->shape[0] = (uint64_t)(is_node ? b->n_nodes : b->n_edges);
out:
    return st;
}

void csc_column_close(struct csc_column *c, size_t n_parts)
{
    for (size_t i = 0; i < n_parts; i++) {
        tensor_release(&c->parts[i]);
        region_drop(c->copies[i]);
    }
    memset(c, 0, sizeof *c);
}

grebe_status csc_columns_open(struct csc_build *b, grebe_error *err)
{
    struct graph_metadata *m = b->m;
    b->columns = arena_array(&m->arena, m->n_attributes, sizeof *b->columns);
    if (b->columns == NULL) {
        return mem_fail(err, m->n_attributes * sizeof *b->columns, m->shown);
    }
    for (size_t i = 0; i < m->n_attributes; i++) {
        size_t n_parts = 0;
        if (m->attributes[i].domain != GRAPH_EDGE || !csc_attribute_is_first(m, i)) {
            continue;
        }
        grebe_status st = csc_column_open(b, i, &b->columns[b->n_columns], &n_parts, err);
        if (st != GREBE_OK) {
            csc_column_close(&b->columns[b->n_columns], n_parts);
            return st;
        }
        b->n_columns++;
    }
    b->n_moved = b->options.is_attribute_order_kept ? 0 : b->n_columns;
    return GREBE_OK;
}

void csc_columns_close(struct csc_build *b)
{
    for (size_t i = 0; i < b->n_columns; i++) {
        csc_column_close(&b->columns[i], b->m->n_edges);
    }
    b->n_columns = 0;
}
