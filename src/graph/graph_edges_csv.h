/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_EDGES_CSV_H
#define GREBE_GRAPH_GRAPH_EDGES_CSV_H

/*
 * Two integers a line. What other readers let pass in silence (a third column, a missing number, a fraction) is an
 * error with its line: an edge that is not the one meant is worse than none.
 */

#include "graph/graph_edges.h"

/** Where the line that begins at `at` ends: behind "\n", "\r\n" or "\r". */
size_t graph_csv_line_end(const unsigned char *s, size_t len, size_t at);
grebe_status graph_csv_read(const struct graph_edges *e, size_t block, int64_t *sources, int64_t *destinations,
                            size_t *n, grebe_error *err);

#endif
