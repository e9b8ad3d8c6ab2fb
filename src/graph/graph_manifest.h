/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_MANIFEST_H
#define GREBE_GRAPH_GRAPH_MANIFEST_H

/*
 * manifest.json beside preprocessed metadata: what it was made of, and how. Sizes and times of the inputs tell that
 * nothing has changed; where a time alone differs, the content decides.
 */

#include "graph/graph_convert.h"
#include "grebe/graph.h"
#include "io/io.h"

/** @param files All that were read, relative to the folder of the data set, or absolute. */
grebe_status graph_manifest_write(struct io_store *store, const char *folder, const char *data,
                                  const grebe_graph_options *options, const char *const *files, size_t n_files,
                                  const struct graph_outputs *outputs, uint64_t graph_bytes, grebe_error *err);

/**
 * Whether what is there was made of what is there now.
 *
 * @param made   Folder `preprocessed`. @param data Folder of the data set.
 * @param reason Why not, or why: a sentence. Shape [room].
 */
grebe_status graph_manifest_compare(struct io_store *store, grebe_context *ctx, const char *made, const char *data,
                                    const grebe_graph_options *options, bool *is_current, char *reason, size_t room,
                                    grebe_error *err);

#endif
