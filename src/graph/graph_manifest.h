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

/** All files that are read, each once, as they were before that. */
struct graph_inputs {
    const char *data;        /* folder of the data set */
    const char *const *files; /* relative to it, or absolute; shape [n] */
    size_t n;
    struct io_identity *before; /* shape [n] */
};

/** Look at the files before they are read: `before` is written, in the arena. */
grebe_status graph_inputs_look(struct graph_inputs *x, struct io_store *store, struct arena *arena, grebe_error *err);

/** @return GREBE_OK; GREBE_ECORRUPT (an input has changed since graph_inputs_look()); as writing. */
grebe_status graph_manifest_write(const struct graph_outputs *outputs, const grebe_graph_options *options,
                                  const struct graph_inputs *inputs, uint64_t graph_bytes, grebe_error *err);

/** Whether there is one that Grebe wrote; one that cannot be read is none. @return GREBE_OK; GREBE_ENOMEM. */
grebe_status graph_manifest_is_there(struct io_store *store, const char *made, bool *out, grebe_error *err);

/**
 * Whether attributes of edges stand as in the files, those of one type after those of another, and not with their edges: by an option
 * of the manifest, and where there is none, since DGL leaves them so.
 *
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EIO; GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status graph_manifest_attribute_order(struct io_store *store, const char *made, bool *is_of_files, grebe_error *err);

/**
 * Whether what is there was made of what is there now.
 *
 * @param made   Folder `preprocessed`. @param data Folder of the data set.
 * @param reason Why not, or why: a sentence. Shape [room].
 */
grebe_status graph_manifest_compare(struct io_store *store, const struct call *call, const char *made, const char *data,
                                    const grebe_graph_options *options, bool *is_current, char *reason, size_t room,
                                    grebe_error *err);

#endif
