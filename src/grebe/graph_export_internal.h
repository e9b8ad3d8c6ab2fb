/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_GRAPH_EXPORT_INTERNAL_H
#define GREBE_GREBE_GRAPH_EXPORT_INTERNAL_H

#include "graph/graph_dataset.h"
#include "grebe/graph_files.h"
#include "grebe/graph_parts.h"

/** One export under way. */
struct graph_exporting {
    grebe_context *ctx;
    struct io_store *store;
    grebe_graph *g;
    const char *source; /* path of the graph, as it was given */
    const char *folder; /* that files are made in; it gets its name later */
    grebe_graph_export_options options;
    struct call call;
    struct arena ar;
    const char **names; /* of files, that none gets twice */
    size_t n_names, capacity;
};

/**
 * A name below the folder that no file has yet: "GROUP/PART.ENDING", with ':' as "__" and what may not stand in a name as '_'.
 *
 * @param out In the arena.
 */
grebe_status graph_export_name(struct graph_exporting *e, const char *group, const char *part, const char *ending,
                               const char **out, grebe_error *err);
/** A file of the folder. @param out io_writer_free(). */
grebe_status graph_export_create(struct graph_exporting *e, const char *name, struct io_writer **out, grebe_error *err);

/** A data set that can be preprocessed again. */
grebe_status graph_export_dataset(struct graph_exporting *e, grebe_error *err);

#endif
