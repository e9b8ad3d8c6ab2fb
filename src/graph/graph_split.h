/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_SPLIT_H
#define GREBE_GRAPH_GRAPH_SPLIT_H

/* What was picked for the columns of all types, by type of edge. */

#include "graph/graph_batch.h"

/**
 * indptr and edges of each relation of the layer, in the order of `s->picks`; those are gone afterwards.
 *
 * @param layer n_columns are there.
 * @return GREBE_OK; GREBE_ECORRUPT (the first edge whose type does not lead to its column); GREBE_ENOMEM.
 */
grebe_status graph_split_types(struct graph_scratch *s, struct graph_layer *layer, uint32_t threads, grebe_error *err);

#endif
