/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_GRAPH_TOY_H
#define GREBE_TEST_GRAPH_TOY_H

/* Graphs of a few edges, and what is sampled of them against lists. */

#include "graph_case.h"

enum { NODES_MAX = 64, EDGES_MAX = 256, TYPES_MAX = 8 };

/* A graph of a few edges, given one after another. */
struct toy {
    struct graph_csc g;
    int64_t indptr[NODES_MAX + 1], indices[EDGES_MAX], offsets[TYPES_MAX + 1], original[EDGES_MAX];
    uint8_t types[EDGES_MAX];
    struct graph_attribute ids;
    struct { int64_t source, target, original; uint8_t type; } edges[EDGES_MAX]; /* global ids */
    int64_t n_edges;
};

/* n_types 0: a graph without types, of counts[0] nodes */
static inline void toy_begin(struct toy *t, size_t n_types, const int64_t *counts, const char *const *names, size_t n_relations,
                      const char *const *relations, const int32_t (*ends)[2])
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < (n_types == 0 ? 1 : n_types); i++) {
        t->offsets[i + 1] = t->offsets[i] + counts[i];
    }
    t->g = (struct graph_csc){ .ctx = ctx, .n_nodes = t->offsets[n_types == 0 ? 1 : n_types], .n_node_types = n_types,
                               .n_edge_types = n_relations, .node_types = names, .edge_types = relations, .edge_ends = ends,
                               .node_type_offset = t->offsets };
}

/* Edges of a relation by ids of their types; original: their ids in the edge file, NULL: 0, 1, … */
static inline void toy_edges(struct toy *t, size_t relation, const int64_t *sources, const int64_t *targets, int64_t n, const int64_t *original)
{
    bool is_typed = t->g.n_node_types > 0;
    int64_t from = is_typed ? t->offsets[t->g.edge_ends[relation][0]] : 0, to = is_typed ? t->offsets[t->g.edge_ends[relation][1]] : 0;
    for (int64_t i = 0; i < n; i++) {
        assert_true(t->n_edges < EDGES_MAX);
        t->edges[t->n_edges].source = from + sources[i];
        t->edges[t->n_edges].target = to + targets[i];
        t->edges[t->n_edges].original = original == NULL ? i : original[i];
        t->edges[t->n_edges++].type = (uint8_t)relation;
    }
}

/* The same by columns: the sources of columns[c] are sources[indptr[c]] … */
static inline void toy_columns(struct toy *t, size_t relation, const int64_t *columns, int64_t n, const int64_t *indptr, const int64_t *sources,
                        const int64_t *original)
{
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = indptr[c]; i < indptr[c + 1]; i++) {
            int64_t id = original == NULL ? i : original[i];
            toy_edges(t, relation, &sources[i], &columns[c], 1, &id);
        }
    }
}

static inline void toy_end(struct toy *t)
{
    int64_t at = 0;
    for (int64_t v = 0; v < t->g.n_nodes; v++) {
        for (int64_t i = 0; i < t->n_edges; i++) {
            if (t->edges[i].target == v) {
                t->indices[at] = t->edges[i].source;
                t->original[at] = t->edges[i].original;
                t->types[at++] = t->edges[i].type;
            }
        }
        t->indptr[v + 1] = at;
    }
    t->g.n_edges = t->n_edges;
    t->g.indptr = (struct graph_ids){ t->indptr, true };
    t->g.indices = (struct graph_ids){ t->indices, true };
    if (t->g.n_node_types > 0) {
        t->g.type_per_edge = tensor_1d(ARRAY_U8, t->types, t->n_edges);
    }
}

static inline void toy_use_original_ids(struct toy *t)
{
    t->ids = (struct graph_attribute){ .name = "_ORIGINAL_EDGE_ID", .values = tensor_1d(ARRAY_I64, t->original, t->n_edges) };
    t->g.edge_attributes = &t->ids;
    t->g.n_edge_attributes = 1;
}

/* A graph as its arrays stand. */
static inline void toy_arrays(struct toy *t, const int64_t *indptr, const int64_t *indices, const uint8_t *types)
{
    memcpy(t->indptr, indptr, (size_t)(t->g.n_nodes + 1) * sizeof *indptr);
    t->n_edges = indptr[t->g.n_nodes];
    memcpy(t->indices, indices, (size_t)t->n_edges * sizeof *indices);
    t->g.n_edges = t->n_edges;
    t->g.indptr = (struct graph_ids){ t->indptr, true };
    t->g.indices = (struct graph_ids){ t->indices, true };
    if (types != NULL) {
        memcpy(t->types, types, (size_t)t->n_edges);
        t->g.type_per_edge = tensor_1d(ARRAY_U8, t->types, t->n_edges);
    }
}

#define IDS(...) (const int64_t[]){ __VA_ARGS__ }, (int64_t)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define EDGES(b, layer, type, ...)                                                                                                \
    LIST("edges", (b)->layers[layer].relations[type].edges.v, (b)->layers[layer].relations[type].edges.n, __VA_ARGS__)
#define ROWS(b, layer, type, ...) LIST("rows", (b)->nodes[type].v, (b)->layers[layer].n_rows[type], __VA_ARGS__)
#define COLUMNS(b, layer, type, ...) LIST("columns", (b)->nodes[type].v, (b)->layers[layer].n_columns[type], __VA_ARGS__)

static inline void seeds(struct run *r, size_t type, const int64_t *ids, int64_t n)
{
    assert_ok(graph_batch_add(r->b, r->s, type, ids, NULL, n, false, NULL, &err));
}

static inline void sample_all(struct run *r, size_t n_layers, bool keeps_duplicates)
{
    static const int64_t all[] = { -1, -1, -1 };
    struct graph_hops hops = { .n_layers = n_layers, .hop = { .fanouts = all, .n_fanouts = 1 }, .keeps_duplicates = keeps_duplicates };
    assert_ok(graph_batch_sample(r->b, r->s, &hops, 1, &err));
}

/* Rows of a relation are those of its sources in the batch: ids of the sources of each edge. */
static inline void assert_sources(const struct run *r, size_t layer, size_t type, const int64_t *expected, int64_t n)
{
    struct graph_array found = source_ids(r->b, layer, type);
    assert_list("sources", found.v, found.n, expected, (size_t)n);
    free_ints(&found);
}

/* A relation of a batch: its indptr, ids of the sources, and edges in the graph unless edges is NULL. */
static inline void assert_relation(const struct run *r, size_t type, const int64_t *indptr, int64_t n_indptr, const int64_t *sources, int64_t n,
                            const int64_t *edges)
{
    const struct graph_relation *found = &r->b->layers[0].relations[type];
    assert_list("indptr", found->indptr.v, found->indptr.n, indptr, (size_t)n_indptr);
    assert_int_equal(found->edges.n, n);
    assert_sources(r, 0, type, sources, n);
    if (edges != NULL) {
        assert_list("edges", found->edges.v, n, edges, (size_t)n);
    }
}

/* Two types of nodes, each with edges of one type to the other. */
static const char *const h_nodes[] = { "n1", "n2" }, *const h_relations[] = { "n1:e1:n2", "n2:e2:n1" };
static const int32_t h_ends[][2] = { { 0, 1 }, { 1, 0 } };
static const int64_t h9_indptr[] = { 0, 2, 4, 6, 7, 9 }, h9_indices[] = { 2, 4, 2, 3, 0, 1, 1, 0, 1 };
static const uint8_t h9_types[] = { 1, 1, 1, 1, 0, 0, 0, 0, 0 };
static const int64_t h10_indptr[] = { 0, 2, 4, 6, 8, 10 }, h10_indices[] = { 2, 4, 2, 3, 0, 1, 1, 0, 0, 1 };
static const uint8_t h10_types[] = { 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 };

static inline void open_h(struct toy *t, const int64_t *indptr, const int64_t *indices, const uint8_t *types)
{
    toy_begin(t, 2, (const int64_t[]){ 2, 3 }, h_nodes, 2, h_relations, h_ends);
    toy_arrays(t, indptr, indices, types);
}

#endif
