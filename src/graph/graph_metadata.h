/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_METADATA_H
#define GREBE_GRAPH_GRAPH_METADATA_H

/*
 * metadata.yaml of a graph data set: what the user wrote (a section "graph") and what preprocessing makes of it (a
 * section "graph_topology"). Everything that is wrong is gathered with its place, so that one run tells all.
 */

#include "array/tensor.h"
#include "base/name_chain.h"
#include "base/name_index.h"
#include "graph/graph_yaml.h"

enum graph_format { GRAPH_NUMPY, GRAPH_TORCH, GRAPH_CSV, GRAPH_PARQUET };
enum graph_domain { GRAPH_NODE, GRAPH_EDGE, GRAPH_WHOLE };

/** One thing that is wrong, or looks so. */
struct graph_problem {
    const struct graph_problem *next; /* NULL: the last */
    bool is_error;
    grebe_status status;   /* what the call fails with */
    const char *file;      /* as messages name it */
    uint64_t line, column; /* 0: not known */
    const char *field;     /* "graph.edges[0].path"; "": none */
    const char *message;
};

/** A file that the metadata names. */
struct graph_file {
    const char *path;      /* as written */
    const char *real_path; /* from the folder of the data set */
    enum graph_format format;
    bool is_in_memory;
    const struct yaml_tree *path_at, *format_at; /* places */
    const char *field;                           /* "feature_data[2]" */
};

struct graph_node_spec {
    const char *type; /* NULL: the graph has no types */
    int64_t num;
    const struct yaml_tree *at;
    bool is_twice; /* another entry has its name */
};

struct graph_feature_spec;

struct graph_edge_spec {
    const char *type;
    size_t source, destination; /* of `nodes` */
    struct graph_file file;
    int64_t n_edges; /* -1: not known before the file was read */
    const struct yaml_tree *at;
    const struct graph_feature_spec *features; /* attributes and features of this type, by next_of_edge; NULL: none */
};

/** An item of feature_data: rows of nodes or edges. */
struct graph_feature_spec {
    enum graph_domain domain;
    const char *type; /* NULL: none */
    const char *name;
    struct graph_file file;
    const struct yaml_tree *item;
    const struct yaml_tree *extra; /* map: keys with a meaning for the user alone */
    bool is_bfloat16;              /* kept as 16 bits, which npy has no name for */
    int64_t n_rows;                /* -1: not known */
    const struct graph_feature_spec *next_of_edge;
};

struct graph_set_item {
    const char *name; /* NULL: none */
    struct graph_file file;
    const struct yaml_tree *item;
    bool is_bfloat16;
};

struct graph_set_spec {
    const char *type; /* NULL: none */
    struct graph_set_item *items;
    size_t n_items;
    const struct yaml_tree *at;
};

enum { GRAPH_SETS = 3 };
extern const char *const graph_set_names[GRAPH_SETS]; /* "train_set", "validation_set", "test_set" */

struct graph_task_spec {
    struct graph_set_spec *sets[GRAPH_SETS];
    size_t n_sets[GRAPH_SETS];
    const struct yaml_tree *item;
    const struct yaml_tree *extra; /* map: everything but the sets */
};

struct graph_metadata {
    grebe_context *ctx;
    struct arena arena;
    const char *path, *folder; /* of the file; of the data set */
    const char *made_in; /* preprocessed: the folder that "preprocessed/" stands for, whatever its name; else NULL */
    const char *shown;   /* the file as messages name it */
    const struct yaml_tree *root;
    size_t text_bytes; /* of the file: what is allocated at once for it is at most four times that, or ARENA_BLOCK_MAX */
    const char *dataset_name; /* NULL: none */
    bool is_homogeneous;
    struct graph_node_spec *nodes;
    struct graph_edge_spec *edges;
    struct name_chain node_names; /* of types, to entries of nodes: the first of each name */
    struct name_index edge_names; /* of types, to entries of edges: the first of each name */
    struct graph_feature_spec *attributes; /* graph.feature_data */
    struct graph_feature_spec *features;
    struct graph_task_spec *tasks;
    size_t n_nodes, n_edges, n_attributes, n_features, n_tasks;
    /* of preprocessed ones */
    const char *topology; /* path of the graph; NULL: none */
    bool has_edge_ids;
    const struct graph_problem *problems, **last_problem; /* in the order in which they were found */
    const struct graph_problem *const *untold;            /* where those begin that the caller was not told of */
    size_t n_errors;
    bool is_strict; /* what else is a warning is an error */
};

enum { GRAPH_METADATA_BYTES_MAX = 64 << 20 }; /* of a file */

enum graph_dialect { GRAPH_RAW, GRAPH_PREPROCESSED };

/**
 * Read a metadata file. Whatever is wrong in it is in `problems` of what is given back, GREBE_OK all the same.
 *
 * @param folder Where relative paths begin.
 * @param out    Owned, graph_metadata_free().
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EIO; GREBE_ENOMEM; GREBE_ELIMIT.
 */
grebe_status graph_metadata_read(grebe_context *ctx, const char *path, const char *folder, enum graph_dialect dialect,
                                 bool is_strict, struct graph_metadata **out, grebe_error *err);
void graph_metadata_free(struct graph_metadata *m); /* NULL accepted */

/** Add a problem. `at` NULL: no place. GREBE_ENOMEM alone fails. */
grebe_status graph_problem_add(struct graph_metadata *m, const struct yaml_tree *at, const char *field, bool is_error,
                               grebe_status status, grebe_error *err, const char *fmt, ...) GREBE_PRINTF(7, 8);
/** The same about a data file, whose message names the place in it. */
grebe_status graph_problem_add_file(struct graph_metadata *m, const struct graph_file *f, grebe_status status,
                                    const char *message, grebe_error *err);
/** Whether an error about the file was added. */
bool graph_file_is_told(const struct graph_metadata *m, const struct graph_file *f);
/** The first error as a failure, with the number of others; GREBE_OK: there is none. */
grebe_status graph_problems_status(const struct graph_metadata *m, grebe_error *err);

/** Node type by name; n_nodes: none. */
size_t graph_node_type_find(const struct graph_metadata *m, const char *type);
size_t graph_edge_type_find(const struct graph_metadata *m, const char *type);
/** Bytes of a part of an edge type with its NUL: a name of a node type is no longer. */
enum { GRAPH_TYPE_ROOM = 1024 };
/** Part 0, 1 or 2 of "src:rel:dst", NUL-terminated; false: there are not three, or the room is too small. */
bool graph_edge_type_part(const char *type, unsigned part, char *dst, size_t room);

/**
 * Look at the headers of all files (existence, types, shapes, numbers of rows), not at their values.
 *
 * @param allow_row_mismatch Features may have other numbers of rows.
 */
grebe_status graph_metadata_check_files(struct graph_metadata *m, bool allow_row_mismatch, grebe_error *err);
/** Rows that a feature must have; -1: any, or not known yet. */
int64_t graph_feature_rows(const struct graph_metadata *m, const struct graph_feature_spec *f);
/** Compare the number of rows of the features of an edge type whose number of edges is known only now. */
grebe_status graph_metadata_check_rows(struct graph_metadata *m, size_t edge, grebe_error *err);
/** The first feature of edges; NULL: there is none. */
const struct graph_feature_spec *graph_edge_feature(const struct graph_metadata *m);
/** What metadata.yaml calls `name`: in the folder of the data set, or where it says that it is. Appended to dst. */
grebe_status graph_path_join(struct buf *dst, const char *folder, const char *name, grebe_error *err);
/** A path of the metadata as one that opens. In the arena. */
grebe_status graph_metadata_path(struct graph_metadata *m, const char *path, const char **out, grebe_error *err);
/** Open the array of a file that must be of the format that the metadata says. */
grebe_status graph_file_open(struct graph_metadata *m, const struct graph_file *f, struct tensor *out,
                             grebe_error *err);
bool graph_type_is_integer(int type);

#endif
