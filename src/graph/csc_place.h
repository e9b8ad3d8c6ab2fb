/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_CSC_PLACE_H
#define GREBE_GRAPH_CSC_PLACE_H

/* Records of a piece to its arrays. */

#include "graph/csc_build.h"

/** @param records Shape [n, record_bytes]. @param values Of each field that has bytes: shape [2^piece_shift, made]. */
void csc_place(const struct csc_build *b, const unsigned char *records, size_t n, unsigned char *const *values);

#endif
