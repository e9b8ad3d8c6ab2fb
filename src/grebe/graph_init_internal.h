/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_GRAPH_INIT_INTERNAL_H
#define GREBE_GREBE_GRAPH_INIT_INTERNAL_H

#include "base/context_internal.h"
#include "grebe/graph_files.h"
#include "grebe/graph_tree.h"
#include "io/io.h"

enum { GRAPH_INIT_COLUMNS_MAX = 16, GRAPH_INIT_FOLDERS_MAX = 3 };

struct graph_init_nodes {
    const char *name; /* NULL: the graph has no types */
    int64_t num;
    bool is_given;
};

/* A file without its name. */
struct graph_init_draft {
    const char *path, *shown;
    struct io_writer *file;
    bool is_ours; /* it has its name, which no other file had */
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
    struct graph_init_draft *drafts; /* shape [n_drafts], room for each file of edges and each array of a set */
    size_t n_drafts;
    const char *folders[GRAPH_INIT_FOLDERS_MAX]; /* that were not there: DIR, edges/, sets/ */
    size_t n_folders;
};

/** "numpy" or "torch", and the path as the metadata names it, of a file of rows. GREBE_EINVAL: it is neither. */
grebe_status graph_init_array(struct graph_initing *k, const char *path, const char **format, const char **shown, grebe_error *err);

/* ---- graph_init_options.c ---- */

/** Whether options make sense by themselves: counts, names, nothing twice. GREBE_EINVAL: what is wrong with which. */
grebe_status graph_init_check(const grebe_graph_init_options *o, grebe_error *err);

/* ---- graph_init_drafts.c ---- */

/** DIR/NAME, in the arena. */
grebe_status graph_init_join(struct graph_initing *k, const char *name, const char **out, grebe_error *err);
/** Make a folder if it is not there. @param path Borrowed until graph_init_end(). */
grebe_status graph_init_folder(struct graph_initing *k, const char *path, grebe_error *err);
/**
 * A file that will be DIR/FOLDER/i.npy, to be written, and flushed when it has been.
 *
 * @param shown FOLDER/i.npy, in the arena.
 * @param out   Borrowed from k until graph_init_end().
 * @return GREBE_OK; GREBE_EEXISTS (the name is taken); GREBE_EINVAL (it may be replaced, but is given to be read).
 */
grebe_status graph_init_draft(struct graph_initing *k, const char *folder, size_t i, const char **shown, struct io_writer **out,
                              grebe_error *err);
/** Where the file of that name can be read until it has its name; NULL: it is none that is made. Borrowed. */
const char *graph_init_draft_of(const struct graph_initing *k, const char *shown);
/** All get their names, or fail as io_writer_publish() does. */
grebe_status graph_init_publish(struct graph_initing *k, grebe_error *err);
/** @param is_kept false: files and folders that are new are removed. Idempotent. */
void graph_init_end(struct graph_initing *k, bool is_kept);

/* ---- columns, sets ---- */

/**
 * Columns of integers of a source as a npy file of int64, of shape (columns, rows), or (rows, columns) if is_by_row.
 *
 * @param columns Shape [n], at least 1, at most GRAPH_INIT_COLUMNS_MAX.
 * @param w Written and flushed.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_ESCHEMA (no integers, a null); what reading gives.
 */
grebe_status graph_init_columns(struct graph_initing *k, const char *uri, const char *const *columns, size_t n, bool is_by_row,
                                struct io_writer *w, grebe_error *err);

/** Files of sets found, columns copied. */
grebe_status graph_init_place_sets(struct graph_initing *k, grebe_error *err);
/** The task, as the metadata has it; NULL: there is no memory. */
const struct yaml_tree *graph_init_task(struct graph_initing *k);

#endif
