/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_GRAPH_PARTS_H
#define GREBE_GREBE_GRAPH_PARTS_H

/* The parts of a graph that are rows (source_graph.h), and their values by row. */

#include "graph/graph_dataset.h"
#include "source/matrix_reader.h"

enum { GRAPH_PART_ROOM = 2048 }; /* of a name, with its NUL; longer ones are cut */

enum graph_part_kind { GRAPH_PART_FEATURE, GRAPH_PART_EDGES, GRAPH_PART_NODES, GRAPH_PART_SET };

struct graph_part {
    enum graph_part_kind kind;
    size_t i;           /* feature, type, or task */
    size_t set, member; /* of a task */
};

/** What the feature of a metadata file is called as a part. */
void graph_part_feature_name(const struct graph_feature_spec *f, char name[GRAPH_PART_ROOM]);
/** Whether `wanted` is that name; "node::x", where no type is, is "node:x". */
bool graph_part_is(const char *name, const char *wanted);
/** The k-th part and its name; false: beyond the last. */
bool graph_part_at(const grebe_graph *g, size_t k, struct graph_part *part, char name[GRAPH_PART_ROOM]);
/** GREBE_ENOTFOUND names what there is, and what may have been meant; GREBE_EINVAL: name is NULL. */
grebe_status graph_part_find(const grebe_graph *g, const char *path, const char *name, struct graph_part *out,
                             grebe_error *err);

/**
 * Columns and rows of a part. m->file is owned: m->close(). The graph is borrowed until then, or with `takes_graph` closed by
 * it (on success). Rows are read after m->prepare().
 *
 * @param call Of counting edges; NULL: that cannot be cancelled.
 * @return GREBE_OK; GREBE_ECORRUPT (edge ids); GREBE_ESCHEMA; GREBE_EUNSUPPORTED; GREBE_ELIMIT; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
grebe_status graph_part_matrix(grebe_graph *graph, bool takes_graph, const struct graph_part *part,
                               const struct call *call, struct matrix *m, grebe_error *err);
/** The tensor that a column of such a matrix has rows of, borrowed from the graph; NULL: it is made of ids. */
const struct tensor *graph_part_tensor(const struct matrix *m, size_t column);

#endif
