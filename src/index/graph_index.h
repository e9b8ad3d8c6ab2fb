/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_INDEX_H
#define GREBE_INDEX_GRAPH_INDEX_H

/* What the kinds `hnsw` and `graph` share: all but their parameters. */

#include "index/graph_core.h"
#include "index/graph_search.h"
#include "index/index_params.h"

struct graph_index {
    struct index head;
    struct graph graph;
    const struct index_param *search_params; /* of graph_search_options */
    size_t n_search_params;
};

grebe_status graph_index_new(grebe_context *ctx, const struct index_config *config, const struct index_ops *ops,
                             const struct graph_options *options, const struct index_param *search_params,
                             size_t n_search_params, struct graph_index **out, grebe_error *err);
void graph_index_free(struct index *ix);
grebe_status graph_index_add(struct index *ix, const struct index_rows *rows, const struct call *call,
                             grebe_error *err);
grebe_status graph_index_remove(struct index *ix, uint32_t position, grebe_error *err);
grebe_status graph_index_search(struct index *ix, const struct index_rows *queries, const struct index_search *s,
                                uint32_t *positions, float *distances, grebe_error *err);
grebe_status graph_index_range(struct index *ix, const struct index_rows *queries, float radius,
                               const struct index_search *s, struct index_ranges *out, grebe_error *err);
void graph_index_info(const struct index *ix, struct index_info *out);
const struct index_bits *graph_index_removed(const struct index *ix);

/* Files (graph_file.c). */
grebe_status graph_index_save(struct index *ix, struct index_writer *w, grebe_error *err);
/** What a kind's `load` does; the file stays open as long as the index. */
grebe_status graph_index_load(grebe_context *ctx, const struct index_config *config, const struct index_ops *ops,
                              const struct index_param *search_params, size_t n_search_params,
                              struct index_file *file, struct index **out, grebe_error *err);

#endif
