/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_H
#define GREBE_GRAPH_H

/*
 * Graphs for training, in the layout of GraphBolt's OnDiskDataset: a folder with metadata.yaml, edges, features and sets of
 * items; what preprocessing makes of it; and the opened result, mapped and never written to (docs/format/graph.md).
 */

#include "grebe/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is wrong with a data set ---- */

/** One thing that is wrong with a data set, or looks so. All texts are borrowed for the call. */
typedef struct grebe_graph_problem {
    uint32_t struct_size;
    bool is_error;         /**< else a warning */
    grebe_status status;   /**< what a call that meets it fails with */
    const char *file;      /**< the metadata file */
    uint64_t line, column; /**< in it, from 1; 0: of no place */
    const char *field;     /**< "graph.edges[0].path"; "": none */
    const char *message;   /**< names the place in a data file, where there is one */
} grebe_graph_problem;

typedef void (*grebe_graph_problem_fn)(void *arg, const grebe_graph_problem *problem);

typedef enum grebe_graph_force {
    GREBE_GRAPH_IF_CHANGED = 0, /**< what was made is used while nothing that it was made of has changed */
    GREBE_GRAPH_ALWAYS = 1,     /**< is made anew */
    GREBE_GRAPH_NEVER = 2       /**< what was made is used if there is any */
} grebe_graph_force;

/** Which row of its file an edge was: what finds the features of sampled edges. */
typedef enum grebe_graph_edge_ids {
    GREBE_GRAPH_EDGE_IDS_KEPT = 0,
    GREBE_GRAPH_EDGE_IDS_DROPPED = 1,
    GREBE_GRAPH_EDGE_IDS_FOR_FEATURES = 2 /**< kept where an edge has features; where they were kept all the same, that is used */
} grebe_graph_edge_ids;

/** How a data set is checked and preprocessed. Fields beyond struct_size take their defaults. Everything is borrowed. */
typedef struct grebe_graph_options {
    uint32_t struct_size;
    /** Folder in which `preprocessed` is made; NULL: that of the data set. */
    const char *out;
    grebe_graph_edge_ids edge_ids;
    bool without_cast;      /**< keep the integer types of the files, instead of the smallest that hold the values */
    bool keep_attribute_order; /**< attributes of edges stay in the order of the files, where DGL leaves (and misreads) them */
    bool allow_row_mismatch;   /**< features may have other numbers of rows than there are nodes or edges */
    bool is_strict;         /**< warnings are errors */
    bool is_deep;           /**< check: read all edges, and the ids of all sets, too */
    bool csv_has_header;    /**< the first line of text files of edges is passed over */
    char csv_separator;     /**< 0: ','; no digit, sign, double quote or end of a line */
    grebe_graph_force force;
    bool is_durable;        /**< synced to disk before the name changes: a loss of power, too, leaves the old or the new */
    /** Called for each problem, warnings too; NULL: they are not told. */
    grebe_graph_problem_fn on_problem;
    void *problem_arg;
    const grebe_call_options *call;
} grebe_graph_options;

#define GREBE_GRAPH_OPTIONS_INIT                                                                                                  \
    {                                                                                                                             \
        sizeof(grebe_graph_options), 0, GREBE_GRAPH_EDGE_IDS_KEPT, false, false, false, false, false, false, 0, GREBE_GRAPH_IF_CHANGED, false, 0, 0, 0 \
    }

/**
 * Check metadata.yaml and the headers of all files that it names; all mistakes are told in one run.
 *
 * @param path     Folder of the data set. Borrowed.
 * @param options  Borrowed; NULL: defaults.
 * @param n_errors Written: errors found. May be NULL.
 * @return GREBE_OK, whatever was found; GREBE_ENOTFOUND (folder, metadata.yaml); GREBE_EINVAL; GREBE_EIO; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_check(grebe_context *ctx, const char *path, const grebe_graph_options *options,
                                                         size_t *n_errors, grebe_error *err);

/** What preprocessing came to. */
typedef struct grebe_graph_made {
    bool is_reused;    /**< nothing was written */
    char reason[256];  /**< why it was made, or why not */
} grebe_graph_made;

/**
 * Make `preprocessed` of a data set: the graph by destination, features and sets as npy files, and metadata that DGL reads too.
 * It appears whole under its name, or not at all. The files of the data set are read only.
 *
 * @param path    Folder of the data set. Borrowed.
 * @param options Borrowed; NULL: defaults.
 * @param made    Written; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ESCHEMA (metadata, types, shapes, numbers of rows); GREBE_ECORRUPT (edges, with file and line
 *         or row); GREBE_EUNSUPPORTED; GREBE_ELIMIT; GREBE_EIO; GREBE_ECANCELLED; GREBE_ENOMEM. On failure what was there stays.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_preprocess(grebe_context *ctx, const char *path, const grebe_graph_options *options,
                                                              grebe_graph_made *made, grebe_error *err);

/* ---- an opened data set ---- */

/** A preprocessed data set. Immutable; may be used from many threads. */
typedef struct grebe_graph grebe_graph;

/**
 * Open a preprocessed data set, ours or DGL's. Headers are read, values when they are looked at.
 *
 * @param path Folder of the data set (with `preprocessed` in it), or the folder `preprocessed` itself. Borrowed.
 * @param out  Owned, grebe_graph_close().
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ESCHEMA (metadata); GREBE_ECORRUPT; GREBE_EUNSUPPORTED; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_open(grebe_context *ctx, const char *path, grebe_graph **out, grebe_error *err);
/** @param graph NULL is accepted. */
GREBE_API void grebe_graph_close(grebe_graph *graph);

/** An array in a mapped file, row-major, native byte order. All pointers are borrowed from the graph. */
typedef struct grebe_graph_array {
    const char *type;      /**< "int32", "float32", "bfloat16", …; NULL: there is no such array */
    size_t type_bytes;
    uint32_t rank;
    const uint64_t *shape; /**< shape [rank] */
    const void *data;
} grebe_graph_array;

/** What the whole is. */
typedef struct grebe_graph_info {
    const char *name;      /**< of the data set; NULL: none */
    bool has_graph;
    int64_t n_nodes, n_edges;
    size_t n_node_types, n_edge_types; /**< 0: the graph has no types */
    size_t n_node_attributes, n_edge_attributes;
    size_t n_features, n_tasks;
    grebe_graph_array indptr, indices, node_type_offset, type_per_edge;
} grebe_graph_info;
/** @param out Written; what it points to is borrowed from the graph. */
GREBE_API void grebe_graph_get_info(const grebe_graph *graph, grebe_graph_info *out);

/** @return Name of a type by id, borrowed; NULL beyond the last. */
GREBE_API const char *grebe_graph_node_type(const grebe_graph *graph, size_t id);
/** @return "source:relation:destination", borrowed; NULL beyond the last. */
GREBE_API const char *grebe_graph_edge_type(const grebe_graph *graph, size_t id);
/** @return Nodes of a type; of a graph without types, for id 0, all; -1 beyond the last. */
GREBE_API int64_t grebe_graph_num_nodes(const grebe_graph *graph, size_t id);
/**
 * Edges of each type. Reads the types of all edges.
 *
 * @param call   Borrowed; NULL: defaults. Only its token to cancel is used.
 * @param counts Written. Shape [n_edge_types].
 * @param err    Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_num_edges(const grebe_graph *graph, const grebe_call_options *call, int64_t *counts,
                                                             grebe_error *err);
/** Attribute i of nodes (is_edge false) or edges. @return Its name, borrowed; NULL beyond the last. */
GREBE_API const char *grebe_graph_attribute(const grebe_graph *graph, bool is_edge, size_t i, grebe_graph_array *out);

/** A feature. Texts are borrowed from the graph. */
typedef struct grebe_graph_feature {
    const char *domain;   /**< "node", "edge", "graph" */
    const char *type;     /**< NULL: none */
    const char *name;
    bool is_in_memory;
    const char *metadata; /**< JSON: what else the metadata file says of it */
    const char *path;
} grebe_graph_feature;
/** @return GREBE_OK; GREBE_EINVAL (no such number); GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_get_feature(const grebe_graph *graph, size_t i, grebe_graph_feature *out, grebe_error *err);
/** Its values. @return GREBE_OK; GREBE_EINVAL; GREBE_ENOTFOUND; GREBE_ECORRUPT; GREBE_EUNSUPPORTED; GREBE_EIO; GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_feature_values(const grebe_graph *graph, size_t i, grebe_graph_array *out,
                                                                  grebe_error *err);

typedef enum grebe_graph_set { GREBE_GRAPH_TRAIN = 0, GREBE_GRAPH_VALIDATION = 1, GREBE_GRAPH_TEST = 2 } grebe_graph_set;

/** @return JSON of what a task says beside its sets, borrowed; NULL beyond the last, or when there is no memory. */
GREBE_API const char *grebe_graph_task_metadata(const grebe_graph *graph, size_t task);
/** @return Parts of a set, one a type; 0: there is no such set. */
GREBE_API size_t grebe_graph_set_parts(const grebe_graph *graph, size_t task, grebe_graph_set set);
/** Part i of a set. @param type Written: its type, NULL: none. @return Arrays in it; 0 beyond the last. */
GREBE_API size_t grebe_graph_set_part(const grebe_graph *graph, size_t task, grebe_graph_set set, size_t part, const char **type);
/** An array of a part. @param name Written: its name, NULL: none. @return as grebe_graph_feature_values(). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_set_values(const grebe_graph *graph, size_t task, grebe_graph_set set, size_t part,
                                                              size_t i, const char **name, grebe_graph_array *out, grebe_error *err);

/**
 * Verify an opened data set: lists ascend, ids are in range, types are sorted in each list, checksums, files of features and sets.
 *
 * @param options  Borrowed; on_problem is called with all that is found, on the caller's thread, in the same order for any number of
 *                 threads. NULL: nothing is told.
 * @param n_errors Written. May be NULL.
 * @return GREBE_OK, whatever was found; GREBE_EINVAL; GREBE_EIO; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_verify(const grebe_graph *graph, const grebe_graph_options *options, size_t *n_errors,
                                                          grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
