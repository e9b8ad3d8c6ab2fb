/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_EDGES_PARQUET_H
#define GREBE_GRAPH_GRAPH_EDGES_PARQUET_H

/* Edges as a Parquet file of two columns of integers: sources, destinations. DGL does not read these; preprocessing
 * does. */

#include "graph/graph_edges.h"

struct graph_edge_rows;

/** GREBE_ESCHEMA: other columns than two of integers. @param out graph_edge_rows_close(). */
grebe_status graph_edge_rows_open(grebe_context *ctx, const char *path, const char *shown, struct graph_edge_rows **out,
                                  grebe_error *err);
void graph_edge_rows_close(struct graph_edge_rows *r); /* NULL accepted */
int64_t graph_edge_rows_count(const struct graph_edge_rows *r);
size_t graph_edge_rows_blocks(const struct graph_edge_rows *r);
/** A block of at most GRAPH_BLOCK_EDGES edges, not yet compared with any bound. @param begin Written: its first row. */
grebe_status graph_edge_rows_read(const struct graph_edge_rows *r, size_t block, int64_t *ends[2], size_t *n,
                                  uint64_t *begin, grebe_error *err);

#endif
