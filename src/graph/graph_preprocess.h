/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_PREPROCESS_H
#define GREBE_GRAPH_GRAPH_PREPROCESS_H

/* Parts of preprocessing: the graph's file, and the metadata of what was made. */

#include "graph/csc_build.h"
#include "graph/graph_convert.h"
#include "grebe/graph.h"
#include "io/io.h"

/** Options with every default filled in. */
grebe_status graph_options_resolve(const grebe_graph_options *options, grebe_graph_options *out, grebe_error *err);
/** Tell the problems that were not told yet. */
void graph_problems_tell(struct graph_metadata *m, const grebe_graph_options *options);

/** Compare the seeds and negatives of all sets with the numbers of nodes; the first of a file that is no node is a problem of it. */
grebe_status graph_seeds_check(struct graph_metadata *m, const struct call *call, grebe_error *err);

/** fused_csc_sampling_graph.pt in the folder of the outputs, to be published with them. @param n_bytes Written. */
grebe_status graph_file_write(struct graph_outputs *o, const char *path, struct csc_build *b, uint64_t *n_bytes,
                              grebe_error *err);

/** Features and sets, and metadata.yaml that names them. */
grebe_status graph_items_write(struct graph_outputs *o, const grebe_graph_options *options, bool ids_are_narrow,
                               grebe_error *err);

#endif
