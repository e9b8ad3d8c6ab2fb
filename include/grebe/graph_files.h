/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_FILES_H
#define GREBE_GRAPH_FILES_H

/* Ways into and out of data sets of graphs: metadata for files that are there, and plain files of what was preprocessed. */

#include "grebe/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- in ---- */

/** A file of edges. Everything is borrowed. */
typedef struct grebe_graph_edge_file {
    const char *type;    /**< "source:relation:destination"; NULL: the graph has no types */
    const char *path;    /**< csv of two numbers a line, npy of shape (2, edges), Parquet of two columns; with columns any source */
    const char *source, *target; /**< columns of integers; NULL, NULL: the file is taken as it is */
} grebe_graph_edge_file;

/** Nodes of a type. */
typedef struct grebe_graph_node_count {
    const char *type;    /**< NULL: the graph has no types */
    int64_t num;
} grebe_graph_node_count;

/** A file of rows of nodes or edges. */
typedef struct grebe_graph_feature_file {
    const char *domain;  /**< "node" or "edge" */
    const char *type;    /**< NULL: the graph has no types */
    const char *name;
    const char *path;    /**< npy or torch */
    bool is_attribute;   /**< goes with the graph (weights, times) instead of into the features */
} grebe_graph_feature_file;

/** An array of a set of the task. Everything is borrowed. */
typedef struct grebe_graph_set_file {
    grebe_graph_set set;
    const char *type;    /**< of nodes, or of the ends of pairs "source:relation:destination"; NULL: the graph has no types */
    const char *name;    /**< "seeds" (ids, shape [items] or [items][ends]), "labels", "timestamp", … */
    const char *path;    /**< npy or torch; with columns any source */
    const char *const *columns; /**< shape [n_columns]; NULL: the file is taken as it is */
    size_t n_columns;    /**< several, of integers, make rows of so many ids */
} grebe_graph_set_file;

/** What the metadata says about the task. Everything is borrowed. */
typedef struct grebe_graph_task_key {
    const char *key;     /**< "name", "num_classes", … */
    const char *value;   /**< an integer stands as one, all else as text */
} grebe_graph_task_key;

/** Fields beyond struct_size take their defaults. Everything is borrowed. */
typedef struct grebe_graph_init_options {
    uint32_t struct_size;
    const char *name;    /**< of the data set; NULL: the folder's */
    const grebe_graph_edge_file *edges;
    size_t n_edges;      /**< at least 1 */
    const grebe_graph_node_count *nodes; /**< types that are not here have as many nodes as edges and features tell */
    size_t n_nodes;
    const grebe_graph_feature_file *features;
    size_t n_features;
    const grebe_graph_set_file *sets; /**< of one task */
    size_t n_sets;
    const grebe_graph_task_key *task_keys;
    size_t n_task_keys;  /**< 0 without sets */
    bool is_replaced;    /**< metadata.yaml and the copies of columns replace files that have their names */
    const grebe_call_options *call;
} grebe_graph_init_options;
#define GREBE_GRAPH_INIT_OPTIONS_INIT                                        \
    {                                                                        \
        sizeof(grebe_graph_init_options), NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, false, NULL \
    }

/**
 * Write the metadata.yaml of files. All edges and seeds are read: for the numbers of nodes, and so that what grebe_graph_check() would
 * find is found here. Columns of a table are copied to edges/ and sets/ as npy (edges/2.npy: of the third file of edges); other files stay
 * where they are. Files get their names when all has been read and found right; whatever fails before leaves nothing behind.
 *
 * @param dir     Folder of the data set; made if it is not there. Borrowed.
 * @param options Borrowed.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EEXISTS (metadata.yaml, the name of a copy); GREBE_EINVAL (also: a copy would replace a file that is given);
 *         GREBE_ENOTFOUND (file, column); GREBE_ESCHEMA (types, numbers of rows); GREBE_ECORRUPT (edges, seeds, with file and line or row); GREBE_EUNSUPPORTED; GREBE_EIO; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_init(grebe_context *ctx, const char *dir, const grebe_graph_init_options *options,
                                                        grebe_error *err);

/* ---- out ---- */

/** Fields beyond struct_size take their defaults. Everything is borrowed. */
typedef struct grebe_graph_export_options {
    uint32_t struct_size;
    /**
     * NULL or "npy": a data set that can be preprocessed again, by DGL too: metadata.yaml and npy files. Else tables of that
     * format ("parquet", "csv", "jsonl", "arrow", …): edges/, nodes/ (where they have attributes), features/ and sets/.
     */
    const char *file_format;
    bool is_durable; /**< synced to disk before the folder gets its name */
    const grebe_call_options *call;
} grebe_graph_export_options;
#define GREBE_GRAPH_EXPORT_OPTIONS_INIT                         \
    {                                                           \
        sizeof(grebe_graph_export_options), NULL, false, NULL   \
    }

/**
 * Write what a preprocessed data set holds as plain files: edges in the order of their file where that was kept (else as the
 * graph has them), attributes, features, sets. bfloat16 becomes float32. Equal data sets give equal files.
 *
 * @param path    As for grebe_graph_open(). Borrowed.
 * @param dest    Folder that appears whole; there must be nothing, or an empty folder. Borrowed.
 * @param options Borrowed; NULL: defaults.
 * @param err     Details on failure; may be NULL.
 * @return As grebe_graph_open(); GREBE_EEXISTS (dest); GREBE_EUNSUPPORTED (file_format); GREBE_ECORRUPT; GREBE_EIO;
 *         GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_export(grebe_context *ctx, const char *path, const char *dest,
                                                          const grebe_graph_export_options *options, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
