/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_BUILD_H
#define GREBE_INDEX_GRAPH_BUILD_H

/*
 * Insertion in batches. The nodes of a batch look for neighbours in the graph as it was before the batch, and among
 * each other exhaustively; then the links back are added, target by target. No step depends on the order in which
 * threads get to work, so that the graph is the same for any number of them, and nothing is locked.
 */

#include "index/graph_core.h"

/** Link the store's rows from g->n on; they have codes. On failure the graph is as it was. */
grebe_status graph_build(struct graph *g, const struct call *call, grebe_error *err);

#endif
