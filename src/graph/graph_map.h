/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_MAP_H
#define GREBE_GRAPH_GRAPH_MAP_H

/*
 * Which row of a batch a node has. Up to GRAPH_MAP_DENSE_MAX nodes: four bytes for each, which forget by counting on; beyond, a
 * hash table.
 */

#include "graph/graph_array.h"

#define GRAPH_MAP_DENSE_MAX INT64_C(50000000)

struct graph_map;

/** @param dense_max At most so many nodes get an array; GRAPH_MAP_DENSE_MAX but in tests. */
grebe_status graph_map_new(const grebe_allocator *a, int64_t n_nodes, int64_t dense_max, struct graph_map **out, grebe_error *err);
void graph_map_free(struct graph_map *map); /* NULL accepted */
/** Forget every row. */
void graph_map_begin(struct graph_map *map);

/**
 * The row of each node; one that has none is added to `rows` and gets its place there.
 *
 * @param nodes    Shape [n], of the graph.
 * @param rows     Nodes by row; those of one type of nodes.
 * @param position Written, shape [n]; may be `nodes` itself.
 * @return GREBE_OK; GREBE_ELIMIT (2^31 rows); GREBE_ENOMEM.
 */
grebe_status graph_map_rows(struct graph_map *map, const int64_t *nodes, int64_t n, struct graph_array *rows, int64_t *position,
                            grebe_error *err);
/** All of `rows` are rows already; one that is there twice keeps its first. */
grebe_status graph_map_keep(struct graph_map *map, const struct graph_array *rows, grebe_error *err);

/*
 * Many threads, each with nodes of its own (graph_merge): a node that has no row gets a code, by which it is known until it has
 * one. Only in an array, so that a node is a number of 32 bits.
 */

/** Whether the map is an array and has numbers for `n_rows` rows and `n` codes. */
bool graph_map_can_mark(const struct graph_map *map, int64_t n_rows, int64_t n);
/** Before marks with codes from n_rows to n_rows + n. */
void graph_map_begin_marks(struct graph_map *map, int64_t n_rows, int64_t n);
void graph_map_prefetch(const struct graph_map *map, const uint32_t *nodes, int64_t n);
/**
 * In the place of each node comes its row or code; one that has none gets first_code + i.
 *
 * @param nodes Shape [n].
 * @return How many had none.
 */
int64_t graph_map_mark(struct graph_map *map, uint32_t *nodes, int64_t n, int64_t first_code);
/** Rows in the place of codes: nodes[i] has row first_row + i. */
void graph_map_put(struct graph_map *map, const int64_t *nodes, int64_t n, int64_t first_row);

#endif
