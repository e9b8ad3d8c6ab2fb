/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_DATASET_H
#define GREBE_GRAPH_GRAPH_DATASET_H

/*
 * An opened, preprocessed data set: the graph, and the arrays of features and sets, each mapped when it is first asked
 * for. Immutable but for those, which a lock guards; may be used from many threads. All arrays are of one folder: when
 * it is preprocessed again, what was mapped stays as it is, and what was not is refused.
 */

#include <pthread.h>

#include "graph/graph_csc.h"
#include "graph/graph_metadata.h"
#include "grebe/graph.h"
#include "io/io.h"

/** A file that is opened when it is asked for. */
struct graph_lazy {
    const struct graph_file *file;
    bool is_bfloat16;
    bool is_open;
    struct tensor values; /* native byte order, packed */
    struct region *copy;  /* of values that were not */
};

struct grebe_graph {
    grebe_context *ctx;
    struct arena arena;
    struct graph_metadata *metadata;
    struct torch_file *torch;
    const char *path;       /* of the graph's file */
    const char *made_path;  /* of the metadata.yaml that was read */
    struct io_identity made; /* of that file when it was read: a folder that took its place holds another data set */
    struct graph_csc csc;   /* ctx NULL: there is no graph */
    uint64_t lengths[3];    /* of indptr, indices, node_type_offset */
    struct region **copies; /* of arrays of the graph that did not lie at a multiple of their width */
    size_t n_copies;
    pthread_mutex_t lock;
    struct graph_lazy *features; /* shape [n_features] of the metadata */
    struct graph_lazy ****sets;  /* [task][set][part][array] */
    char **feature_json, **task_json;
};

/** The graph, borrowed; NULL: the data set has none. */
const struct graph_csc *graph_dataset_csc(const struct grebe_graph *g);
/** Whether attributes of edges stand as in the files (graph_manifest.h), and not with their edges. Reads the manifest. */
grebe_status graph_dataset_attribute_order(const struct grebe_graph *g, bool *is_of_files, grebe_error *err);
/** Values of feature i, opened if need be. Borrowed from the data set. */
grebe_status graph_dataset_feature(const struct grebe_graph *g, size_t i, const struct tensor **out, grebe_error *err);
/** Feature by key; type NULL: none. n_features of the metadata: there is no such feature. */
size_t graph_dataset_find_feature(const struct grebe_graph *g, enum graph_domain domain, const char *type,
                                  const char *name);
/** Array i of a part of a set. */
grebe_status graph_dataset_set_array(const struct grebe_graph *g, size_t task, size_t set, size_t part, size_t i,
                                     const struct tensor **out, grebe_error *err);

/** Read the graph of a file into g->csc; memory in g->arena. */
grebe_status graph_csc_open(struct grebe_graph *g, const char *path, grebe_error *err);

#endif
