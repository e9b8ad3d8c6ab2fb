/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_CONVERT_H
#define GREBE_GRAPH_GRAPH_CONVERT_H

/*
 * Features and sets of a data set as npy files whose values begin at 4096, under names of our own choosing below the
 * output folder: a file of the data set is never written to, and two files that would get one name get two.
 */

#include "graph/graph_metadata.h"

enum graph_conversion {
    GRAPH_AS_IS,
    GRAPH_AS_ROWS, /* one dimension becomes a column */
    GRAPH_AS_INT32 /* ids in the type that the graph has */
};

struct graph_output {
    const char *real_path; /* source */
    enum graph_conversion conversion;
    const char *name; /* below the folder */
    bool is_bfloat16; /* 16 bits that npy has no name for */
    uint64_t n_bytes; /* of the file */
};

struct graph_outputs {
    struct graph_metadata *m;
    struct io_store *store;
    const char *folder; /* where they are written */
    bool is_durable;
    struct call call;
    struct io_writer **pending; /* files that are whole, and get their names by graph_outputs_publish(); shape [n_pending] */
    size_t n_pending;
    struct graph_output *items; /* in the arena of m */
    size_t n, capacity;
};

/** Convert a file, if that was not done already. *out is valid until the next one. */
grebe_status graph_convert(struct graph_outputs *o, const struct graph_file *f, enum graph_conversion conversion,
                           struct graph_output *out, grebe_error *err);

/** A file that is whole: named now, or by graph_outputs_publish(). *w is moved in, but for a failure. */
grebe_status graph_outputs_add(struct graph_outputs *o, struct io_writer **w, grebe_error *err);
/**
 * Give the files their names. What is to be durable was on its way to the disk since it was written, so that this waits
 * less the later it comes.
 */
grebe_status graph_outputs_publish(struct graph_outputs *o, grebe_error *err);
/** Files that have no names yet are removed. Idempotent. */
void graph_outputs_release(struct graph_outputs *o);

#endif
