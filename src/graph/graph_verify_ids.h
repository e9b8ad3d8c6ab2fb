/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_VERIFY_IDS_H
#define GREBE_GRAPH_GRAPH_VERIFY_IDS_H

/* Ids of what was preprocessed: those of edges are a permutation of each type's, those of sets are nodes. */

#include "graph/graph_metadata.h"

struct grebe_graph;

/**
 * Whether each edge has another row of the file of its type.
 *
 * @param edges   Shape [types of edges]: how many there are; of a graph without types not looked at.
 * @param message Written when not: the first edge that has none.
 * @return GREBE_OK; GREBE_ECANCELLED; GREBE_ENOMEM. Memory: a bit for each edge.
 */
grebe_status graph_verify_edge_ids(const struct grebe_graph *graph, const int64_t *edges, const struct call *call, bool *is_right,
                                   char *message, size_t room, grebe_error *err);
/**
 * Problems of sets whose ids are no nodes of the graph.
 *
 * @param told Its problems and arena are filled; graph_metadata_view_release().
 */
grebe_status graph_verify_seeds(const struct grebe_graph *graph, const struct call *call, struct graph_metadata *told, grebe_error *err);
void graph_metadata_view_release(struct graph_metadata *view);

#endif
