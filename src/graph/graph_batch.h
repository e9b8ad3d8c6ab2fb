/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_BATCH_H
#define GREBE_GRAPH_GRAPH_BATCH_H

/*
 * A sampled batch: nodes by type, and layers of edges between their rows. The nodes that a layer leads to are the first
 * rows of those that it comes from, so that one list of nodes serves all layers.
 */

#include "graph/graph_map.h"
#include "graph/graph_merge.h"
#include "graph/graph_sample.h"

/** Sampled edges of one type, by destination. */
struct graph_relation {
    struct graph_array indptr;  /* shape [columns + 1] */
    struct graph_array indices; /* rows of the source type */
    struct graph_array edges;   /* of the original edge list of this type; without such ids positions in the CSC */
};

struct graph_layer {
    struct graph_relation *relations; /* by type of edge */
    int64_t *n_rows, *n_columns;      /* by type of node: rows [0, n) of the batch's nodes */
};

/** Keeps its memory from one batch to the next. */
struct graph_batch {
    const struct graph_csc *g;
    size_t n_node_types, n_edge_types; /* 1 in a graph without types */
    struct graph_array *nodes;         /* by type: ids, counted from 0 in each type once graph_batch_finish() has run */
    struct graph_array *times;         /* by type; empty without times */
    int64_t *n_seeds;                  /* by type: the first rows */
    struct graph_layer *layers;        /* 0: the outermost, sampled last */
    size_t n_layers, layer_capacity;
};

/** Working memory of sampling; one for each thread that samples batches. */
struct graph_scratch {
    const struct graph_csc *g;
    struct graph_map *map;
    struct graph_merge merge;
    struct graph_picks picks;
    struct graph_array columns, column_times, cursors;
    struct graph_array types; /* uint32, of each pick */
};

/** How the layers of a batch are sampled. */
struct graph_hops {
    size_t n_layers;
    struct graph_sampling hop;     /* fanouts: shape [n_layers][n_fanouts], outermost first */
    bool keeps_duplicates;         /* a node has a row for each time that it was reached */
    bool layer_dependency;         /* by source: all hops have the same numbers */
    uint64_t batch_dependency;     /* by source: hop.key is the number of a batch, and so many in succession blend two seeds; 0, 1: none */
};

grebe_status graph_batch_new(const struct graph_csc *g, struct graph_batch **out, grebe_error *err);
void graph_batch_free(struct graph_batch *b); /* NULL accepted */
grebe_status graph_scratch_new(const struct graph_csc *g, struct graph_scratch **out, grebe_error *err);
void graph_scratch_free(struct graph_scratch *s); /* NULL accepted */

/** An empty batch. */
void graph_batch_begin(struct graph_batch *b, struct graph_scratch *s);
/**
 * More seeds of one type.
 *
 * @param ids       Shape [n], counted from 0 in the type; checked.
 * @param times     Shape [n]; NULL: none. For all seeds of a type, or for none.
 * @param is_unique A seed that is there already gets no other row.
 * @param rows      Written: the row of each, shape [n]; NULL: not wanted.
 */
grebe_status graph_batch_add(struct graph_batch *b, struct graph_scratch *s, size_t type, const int64_t *ids, const int64_t *times,
                             int64_t n, bool is_unique, int64_t *rows, grebe_error *err);
/** All layers, from the seeds outwards. */
grebe_status graph_batch_sample(struct graph_batch *b, struct graph_scratch *s, const struct graph_hops *hops, uint32_t threads,
                                grebe_error *err);
/** Node ids by type. Nothing can be sampled or left out afterwards. */
void graph_batch_finish(struct graph_batch *b);
int64_t graph_batch_n_edges(const struct graph_batch *b);

/** Pairs of nodes (global ids) whose edges of one type are left out; type SIZE_MAX: of any. */
struct graph_pairs {
    size_t type;
    const int64_t *sources, *targets; /* shape [n] */
    int64_t n;
};
/** Leave edges out of every layer; rows stay. Between sampling and finish. */
grebe_status graph_batch_exclude(struct graph_batch *b, const struct graph_pairs *pairs, size_t n_pairs, grebe_error *err);

#endif
