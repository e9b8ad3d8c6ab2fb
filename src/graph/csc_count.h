/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_CSC_COUNT_H
#define GREBE_GRAPH_CSC_COUNT_H

/* The first pass: how many edges each node receives, and so where its list begins. */

#include "graph/csc_build.h"

/** Every destination is checked and counted; `ends`, all zeros before, becomes indptr. The files are plain or decoded. */
grebe_status csc_count(struct csc_build *b, grebe_error *err);

/** A pass found what cannot be: GREBE_ECORRUPT, about the first file and edge that is wrong, whoever found it first. */
grebe_status csc_explain(const struct csc_build *b, grebe_error *err);

/** Memory that the passes may use beside 8 bytes a node: the limit, or what is of use when there is none. */
uint64_t csc_budget(const struct csc_build *b, uint64_t wanted);

#endif
