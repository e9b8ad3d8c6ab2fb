/* SPDX-License-Identifier: Apache-2.0 */
/* fused_csc_sampling_graph.pt of a graph that is being built. */
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "graph/csc_columns.h"
#include "graph/graph_preprocess.h"
#include "graph/graph_torch.h"

enum {
    CHUNK_VALUES = 1 << 16,
    INDPTR = 1,
    INDICES = 2,
    OFFSETS = 3,
    TYPES = 4 /* numbers of tensors; 0: the version */
};

/* A tensor that is made piece by piece. */
struct patched {
    size_t number; /* in the file */
    size_t field;  /* of csc_build.fields */
};

struct writing {
    struct csc_build *b;
    struct io_writer *file;
    struct graph_torch_state state;
    struct graph_torch_writer *torch;
    uint32_t *crcs; /* of each piece of each tensor: shape [pieces, n_patched] */
    struct patched *patched;
    size_t n_patched;
    unsigned char *offsets;
    struct csc_column *node_columns;
    size_t n_node_columns;
};

static struct graph_torch_tensor tensor_of(int type, uint64_t n)
{
    return (
        struct graph_torch_tensor){ .type = type, .rank = 1, .shape = { n }, .n_bytes = n * tensor_type_bytes(type) };
}

/* ---- tensors that are made while they are written ---- */

static grebe_status put_ends(void *arg, struct graph_torch_writer *w, grebe_error *err)
{
    struct csc_build *b = arg;
    grebe_status st = GREBE_OK;
    size_t width = tensor_type_bytes(b->indptr_type);
    unsigned char *bytes = mem_alloc(b->m->ctx->a, CHUNK_VALUES * 8);
    if (bytes == NULL) {
        return mem_fail(err, CHUNK_VALUES * 8, b->m->shown);
    }
    for (int64_t i = 0; i <= b->n_nodes && st == GREBE_OK; i += CHUNK_VALUES) {
        int64_t n = min_i64(CHUNK_VALUES, b->n_nodes + 1 - i);
        csc_put_ends(b, i, n, bytes);
        st = call_check(&b->options.call, err);
        st = st != GREBE_OK ? st : graph_torch_put(w, bytes, (size_t)n * width, err);
    }
    mem_free(b->m->ctx->a, bytes, CHUNK_VALUES * 8);
    return st;
}

struct parts {
    const struct csc_column *column;
    size_t n;
    const struct call *call;
};

/* Parts one after another. */
static grebe_status put_parts(void *arg, struct graph_torch_writer *w, grebe_error *err)
{
    const struct parts *p = arg;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < p->n && st == GREBE_OK; i++) {
        const struct tensor *t = &p->column->parts[i];
        uint64_t bytes = t->n_values * tensor_type_bytes(t->type);
        for (uint64_t at = 0; at < bytes && st == GREBE_OK; at += 1 << 20) {
            st = call_check(p->call, err);
            st = st == GREBE_OK ? graph_torch_put(w, t->data + at, (size_t)min_u64(1 << 20, bytes - at), err) : st;
        }
    }
    return st;
}

static grebe_status column_entry(struct writing *w, const struct csc_column *c, size_t n_parts, bool is_made_here,
                                 struct graph_torch_entry *out, grebe_error *err)
{
    struct arena *ar = &w->b->m->arena;
    *out = (struct graph_torch_entry){ .name = c->name };
    struct graph_torch_tensor *t = &out->tensor;
    t->type = c->type;
    t->rank = c->rank;
    memcpy(t->shape, c->shape, sizeof t->shape);
    if (!checked_mul_u64(c->shape[0], c->width, &t->n_bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "attribute %s: more bytes than a file can have", c->name);
    }
    if (is_made_here) {
        struct parts *p = arena_alloc(ar, sizeof *p);
        if (p == NULL) {
            return mem_fail(err, sizeof *p, c->name);
        }
        *p = (struct parts){ c, n_parts, &w->b->options.call };
        t->fn = put_parts;
        t->arg = p;
    }
    return GREBE_OK;
}

/* ---- what the file says ---- */

static grebe_status describe_types(struct writing *w, grebe_error *err)
{
    struct csc_build *b = w->b;
    struct graph_metadata *m = b->m;
    struct graph_torch_state *s = &w->state;
    const char **nodes = arena_array(&m->arena, m->n_nodes, sizeof *nodes),
               **edges = arena_array(&m->arena, m->n_edges, sizeof *edges);
    size_t width = tensor_type_bytes(b->indices_type);
    w->offsets = arena_array(&m->arena, m->n_nodes + 1, 8);
    if (nodes == NULL || edges == NULL || w->offsets == NULL) {
        return mem_fail(err, m->n_nodes * sizeof *nodes, m->shown);
    }
    for (size_t i = 0; i < m->n_nodes; i++) {
        nodes[i] = m->nodes[b->node_order[i]].type;
    }
    for (size_t i = 0; i < m->n_edges; i++) {
        edges[i] = m->edges[b->edge_order[i]].type;
    }
    for (size_t i = 0; i <= m->n_nodes; i++) {
        if (width == 4) {
            store_le32(w->offsets + i * 4, (uint32_t)b->node_offset[i]);
        } else {
            store_le64(w->offsets + i * 8, (uint64_t)b->node_offset[i]);
        }
    }
    s->node_types = nodes;
    s->edge_types = edges;
    s->n_node_types = m->n_nodes;
    s->n_edge_types = m->n_edges;
    s->tensors[2] = (struct graph_torch_entry){ "node_type_offset", tensor_of(b->indices_type, m->n_nodes + 1) };
    s->tensors[2].tensor.data = w->offsets;
    s->tensors[3] = (struct graph_torch_entry){ "type_per_edge", tensor_of(b->type_type, (uint64_t)b->n_edges) };
    s->n_tensors = 4;
    return GREBE_OK;
}

static grebe_status describe(struct writing *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct csc_build *b = w->b;
    struct graph_metadata *m = b->m;
    struct graph_torch_state *s = &w->state;
    s->tensors[0] = (struct graph_torch_entry){ "indptr", tensor_of(b->indptr_type, (uint64_t)b->n_nodes + 1) };
    s->tensors[0].tensor.fn = put_ends;
    s->tensors[0].tensor.arg = b;
    s->tensors[1] = (struct graph_torch_entry){ "indices", tensor_of(b->indices_type, (uint64_t)b->n_edges) };
    s->n_tensors = 2;
    if (!m->is_homogeneous) {
        GREBE_TRY(describe_types(w, err));
    }
    s->node_attributes = arena_array(&m->arena, m->n_attributes, sizeof *s->node_attributes);
    s->edge_attributes = arena_array(&m->arena, m->n_attributes + 1, sizeof *s->edge_attributes);
    w->node_columns = arena_array(&m->arena, m->n_attributes, sizeof *w->node_columns);
    if (s->node_attributes == NULL || s->edge_attributes == NULL || w->node_columns == NULL) {
        return mem_fail(err, m->n_attributes * sizeof *s->node_attributes, m->shown);
    }
    for (size_t i = 0; i < m->n_attributes; i++) {
        size_t n_parts = 0;
        if (m->attributes[i].domain != GRAPH_NODE || !csc_attribute_is_first(m, i)) {
            continue;
        }
        struct csc_column *c = &w->node_columns[w->n_node_columns];
        st = csc_column_open(b, i, c, &n_parts, err);
        if (st != GREBE_OK) {
            csc_column_close(c, n_parts);
            return st;
        }
        w->n_node_columns++;
        GREBE_TRY(column_entry(w, c, n_parts, true, &s->node_attributes[s->n_node_attributes++], err));
    }
    if (b->options.has_edge_ids) {
        s->edge_attributes[s->n_edge_attributes++] =
            (struct graph_torch_entry){ GRAPH_EDGE_IDS, tensor_of(b->indptr_type, (uint64_t)b->n_edges) };
    }
    for (size_t i = 0; i < b->n_columns; i++) {
        GREBE_TRY(column_entry(w, &b->columns[i], m->n_edges, b->n_moved == 0,
                               &s->edge_attributes[s->n_edge_attributes++], err));
    }
out:
    return st;
}

/* ---- edges ---- */

static void add_patched(struct writing *w, size_t number, size_t field)
{
    w->patched[w->n_patched++] = (struct patched){ number, field };
}

static grebe_status list_patched(struct writing *w, grebe_error *err)
{
    const struct csc_build *b = w->b;
    const struct graph_torch_state *s = &w->state;
    struct arena *ar = &b->m->arena;
    size_t number = 1 + s->n_tensors + s->n_node_types + s->n_edge_types + s->n_node_attributes, all = 0;
    w->patched = arena_array(ar, b->n_fields, sizeof *w->patched);
    if (w->patched == NULL) {
        return mem_fail(err, b->n_fields * sizeof *w->patched, b->m->shown);
    }
    add_patched(w, INDICES, CSC_INDICES);
    if (b->type_type >= 0) {
        add_patched(w, TYPES, CSC_TYPES);
    }
    if (b->options.has_edge_ids) {
        add_patched(w, number++, CSC_EDGE_IDS);
    }
    for (size_t i = 0; i < b->n_moved; i++) {
        add_patched(w, number++, CSC_COLUMNS + i);
    }
    w->crcs = checked_mul_size(w->n_patched, b->n_pieces, &all) ? arena_array(ar, all, sizeof *w->crcs) : NULL;
    return w->crcs != NULL ? GREBE_OK : mem_fail(err, all * sizeof *w->crcs, b->m->shown);
}

static grebe_status put_piece(void *arg, const struct csc_piece *piece, grebe_error *err)
{
    struct writing *w = arg;
    for (size_t i = 0; i < w->n_patched; i++) {
        const struct patched *p = &w->patched[i];
        size_t width = w->b->fields[p->field].made;
        grebe_status st = graph_torch_patch(w->torch, p->number, (uint64_t)piece->edge_begin * width,
                                            piece->values[p->field], piece->n * width,
                                            &w->crcs[piece->index * w->n_patched + i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static void join_pieces(struct writing *w)
{
    const struct csc_build *b = w->b;
    for (size_t k = 0; k < b->n_ranges; k++) {
        const struct csc_bounds *r = &b->ranges[k];
        size_t piece = r->piece_begin;
        for (int64_t at = r->edge_begin; at < r->edge_end; at += csc_piece_edges(b, r, at), piece++) {
            for (size_t i = 0; i < w->n_patched; i++) {
                const struct patched *p = &w->patched[i];
                graph_torch_join(w->torch, p->number, w->crcs[piece * w->n_patched + i],
                                 (uint64_t)csc_piece_edges(b, r, at) * b->fields[p->field].made);
            }
        }
    }
}

grebe_status graph_file_write(struct graph_outputs *o, const char *path, struct csc_build *b, uint64_t *n_bytes,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct writing w = { .b = b };
    GREBE_TRY(io_create(o->store, path, o->is_durable, &w.file, err));
    GREBE_TRY(describe(&w, err));
    GREBE_TRY(csc_plan(b, err));
    GREBE_TRY(list_patched(&w, err));
    GREBE_TRY(graph_torch_begin(b->m->ctx, w.file, &w.state, &w.torch, err));
    GREBE_TRY(csc_build_pieces(b, put_piece, &w, err));
    join_pieces(&w);
    GREBE_TRY(graph_torch_finish(w.torch, err));
    *n_bytes = w.file->n_written;
    GREBE_TRY(graph_outputs_add(o, &w.file, err));
out:
    graph_torch_free(w.torch);
    io_writer_free(w.file);
    for (size_t i = 0; i < w.n_node_columns; i++) {
        csc_column_close(&w.node_columns[i], b->m->n_nodes);
    }
    return st;
}
