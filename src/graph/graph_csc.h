/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_CSC_H
#define GREBE_GRAPH_GRAPH_CSC_H

/*
 * A graph for sampling: for each destination the list of its in-neighbours (CSC). Node ids are global, over all types
 * one after
 * another; edges of a destination stand in order of their types. Arrays are views of a mapped file or of memory.
 */

#include "array/tensor.h"

/** An array of integers of one of two widths. */
struct graph_ids {
    const void *data;
    bool is_wide; /* int64, else int32 */
};
static inline int64_t graph_id(const struct graph_ids *x, int64_t i)
{
    return x->is_wide ? ((const int64_t *)x->data)[i] : ((const int32_t *)x->data)[i];
}

struct graph_attribute {
    const char *name;
    struct tensor values; /* first dimension: nodes, or edges in the order of the CSC */
};

/** The edge attribute that keeps the number that each edge had in the file of its type. */
#define GRAPH_EDGE_IDS "_ORIGINAL_EDGE_ID"

/** Immutable; shared by reference. */
struct graph_csc {
    grebe_context *ctx;
    int64_t n_nodes, n_edges;
    struct graph_ids indptr;  /* shape [n_nodes + 1] */
    struct graph_ids indices; /* shape [n_edges]: sources */
    /* heterogeneous graphs; else n_node_types 0 */
    size_t n_node_types, n_edge_types;
    const char *const *node_types;          /* by id */
    const int64_t *node_type_offset;        /* shape [n_node_types + 1] */
    const char *const *edge_types;          /* "src:rel:dst", by id */
    const int32_t (*edge_ends)[2];          /* ids of the node types: source, destination */
    struct tensor type_per_edge;            /* u8, i16, i32 or i64, shape [n_edges]; rank 0: homogeneous */
    struct graph_attribute *node_attributes, *edge_attributes;
    size_t n_node_attributes, n_edge_attributes;
};

/** Edge attribute by name; NULL: none. */
const struct graph_attribute *graph_edge_attribute(const struct graph_csc *g, const char *name);
/** Values of GRAPH_EDGE_IDS: i32 or i64, packed, shape [n_edges]. NULL: they were not kept. */
const struct tensor *graph_edge_ids(const struct graph_csc *g);

#endif
