/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_SOURCE_GRAPH_H
#define GREBE_GREBE_SOURCE_GRAPH_H

/*
 * Parts of a preprocessed graph (features: of any) as sources of rows: "FOLDER#PART", where PART is
 *   node:TYPE:NAME, edge:TYPE:NAME, graph:NAME  a feature (node:NAME in a graph without types); rows by id
 *   edges:TYPE (edges)         source, target, edge (position where edge ids were not kept), attributes; in the order of the edge file where that is kept
 *   nodes:TYPE (nodes)         node, attributes
 *   set:TASK:train:TYPE        the arrays of a set (train, validation, test) of a task by number
 */

#include "source/source.h"

/** What follows the folder of a graph and '#' in uri; NULL: there is none. */
const char *source_graph_part(struct io_store *store, const char *uri);
/** Whether the folder is one of a graph (metadata.yaml). */
bool source_is_graph(struct io_store *store, const char *path);

/**
 * uri as a path that graph_part_format opens, appended with a NUL: '/' and '%' of PART stand as %2F and %25, for types may be called ".." or
 * "a//b", which are no folders.
 */
grebe_status source_graph_path(struct io_store *store, const char *uri, struct buf *dst, grebe_error *err);

/** Opens such a path, and names the parts for "FOLDER". No file is of it. */
extern const struct file_format graph_part_format;

#endif
