/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_GRAPH_INIT_INTERNAL_H
#define GREBE_GREBE_GRAPH_INIT_INTERNAL_H

#include "base/context_internal.h"
#include "grebe/graph_files.h"
#include "io/io.h"

/**
 * Two columns of a source as a npy file of shape (2, rows), int64.
 *
 * @param path That the file gets. An old one is replaced.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_ESCHEMA (no integers, a null); what reading gives.
 */
grebe_status graph_init_columns(grebe_context *ctx, struct io_store *store, const grebe_graph_edge_file *edges,
                                const grebe_call_options *call, const char *path, grebe_error *err);

#endif
