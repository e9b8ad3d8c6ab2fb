/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_CSC_GATHER_H
#define GREBE_GRAPH_CSC_GATHER_H

/*
 * The edges of a range as records, each among those of its piece, in the order of the files. Where the records of a
 * piece go is known from the counts.
 */

#include "graph/csc_build.h"

/** Takes records of a range that is one list, in order: these need not be kept. False: it stops. */
typedef bool (*csc_list_fn)(void *arg, const unsigned char *records, size_t n);

/** What one thread works with. */
struct csc_gather {
    const struct csc_build *b;
    struct csc_bounds range;
    struct region *records; /* by piece; NULL: not had yet */
    struct region *stages;  /* records on their way to each piece: shape [pieces, stage_records] */
    size_t stage_records;   /* a power of two */
    size_t *counts;         /* of records of each piece; shape [pieces of the largest range] */
    uint64_t sum;           /* of all places that were taken */
    uint32_t *picked;       /* of the chunk; shape [CSC_CHUNK_EDGES] */
    size_t *places;         /* in the range */
    unsigned char *batch;   /* records, as they come */
    size_t batch_edges;
    csc_list_fn list; /* set by who opened it */
    void *list_arg;
};

static inline bool csc_is_list(const struct csc_bounds *range) { return range->node_end - range->node_begin == 1; }

/** @param out csc_gather_close(), after a failure too. */
grebe_status csc_gather_open(const struct csc_build *b, struct csc_gather *out, grebe_error *err);
void csc_gather_close(struct csc_gather *g);

/** Room for the records of a range; one list needs none. */
grebe_status csc_gather_begin(struct csc_gather *g, const struct csc_bounds *range, grebe_error *err);
/** The edges of a block of file `type` that are of the range. False: the file holds what cannot be. @param row Of the
 * block's first edge. */
bool csc_gather_block(struct csc_gather *g, size_t type, const struct graph_edge_view *v, int64_t row);
/** False: these are not as many as were counted. */
bool csc_gather_end(struct csc_gather *g);

#endif
