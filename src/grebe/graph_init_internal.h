/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_GRAPH_INIT_INTERNAL_H
#define GREBE_GREBE_GRAPH_INIT_INTERNAL_H

#include "base/context_internal.h"
#include "grebe/graph_files.h"
#include "grebe/graph_tree.h"
#include "io/io.h"

enum { GRAPH_INIT_COLUMNS_MAX = 16 };

struct graph_init_nodes {
    const char *name; /* NULL: the graph has no types */
    int64_t num;
    bool is_given;
};

struct graph_initing {
    grebe_context *ctx;
    struct io_store *store;
    const char *dir;
    grebe_graph_init_options options;
    struct call call;
    struct arena ar;
    struct graph_init_nodes *nodes; /* in the order in which they are named */
    size_t n_nodes;
    const char **edge_paths, **edge_formats; /* as the metadata has them */
    const char **set_paths, **set_formats;
};

/** "numpy" or "torch", and the path as the metadata names it, of a file of rows. GREBE_EINVAL: it is neither. */
grebe_status graph_init_array(struct graph_initing *k, const char *path, const char **format, const char **shown, grebe_error *err);
/** DIR/FOLDER/i.npy with its folder. @param shown FOLDER/i.npy. Both are in the arena. */
grebe_status graph_init_place(struct graph_initing *k, const char *folder, size_t i, const char **path, const char **shown,
                              grebe_error *err);

/**
 * Columns of integers of a source as a npy file of int64, of shape (columns, rows), or (rows, columns) if is_by_row.
 *
 * @param columns Shape [n], at least 1, at most GRAPH_INIT_COLUMNS_MAX.
 * @param path That the file gets. An old one is replaced.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_ESCHEMA (no integers, a null); what reading gives.
 */
grebe_status graph_init_columns(struct graph_initing *k, const char *uri, const char *const *columns, size_t n, bool is_by_row,
                                const char *path, grebe_error *err);

/** Files of sets found, columns copied. */
grebe_status graph_init_place_sets(struct graph_initing *k, grebe_error *err);
/** The task, as the metadata has it; NULL: there is no memory. */
const struct yaml_tree *graph_init_task(struct graph_initing *k);

#endif
