/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_CSC_DECODE_H
#define GREBE_GRAPH_CSC_DECODE_H

/*
 * Files of edges that are not plain arrays of the machine's integers (text, Parquet, other widths and byte orders)
 * are read once, checked, and kept in a temporary file that is removed with the build. It is mapped, so that the passes
 * see one kind of file, and takes no memory that the system could not have back.
 */

#include "graph/csc_build.h"

/** Decode what has to be, in waves of a block a thread. The files are open; edges_of of those that were decoded is written. */
grebe_status csc_decode(struct csc_build *b, grebe_error *err);

#endif
