/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_CSC_COLUMNS_H
#define GREBE_GRAPH_CSC_COLUMNS_H

/* Attributes of edges that move with them, and those of nodes, which stay: one array for all types of each name. */

#include "graph/csc_build.h"

/** Open the files of all edge attributes of the graph. Their headers were checked. */
grebe_status csc_columns_open(struct csc_build *b, grebe_error *err);
void csc_columns_close(struct csc_build *b);

/**
 * The attribute of metadata entry `attribute` for all types of its domain, in order of type ids.
 *
 * @param out csc_column_close() with n_parts.
 */
grebe_status csc_column_open(struct csc_build *b, size_t attribute, struct csc_column *out, size_t *n_parts,
                             grebe_error *err);
void csc_column_close(struct csc_column *c, size_t n_parts);
/** Whether the attribute is the first of its name and domain: the one that stands for all. */
bool csc_attribute_is_first(const struct graph_metadata *m, size_t attribute);

#endif
