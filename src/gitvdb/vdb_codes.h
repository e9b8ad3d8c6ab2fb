/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_CODES_H
#define GREBE_GITVDB_VDB_CODES_H

/*
 * A copy of all vectors in a byte a component, from which a search finds the rows that may be among the first: a quarter of the
 * memory to read. Each row knows how far it is from the vector it stands for. Made by the second search of a snapshot.
 */

#include "gitvdb/vdb_snapshot.h"

/** Row r of a shard stands for scale * codes, which is within error * |vector| of the vector. */
struct vdb_codes {
    int8_t *codes; /* shape [n, width], aligned to 64 */
    float *factor; /* shape [n]: scale / |vector|; 0 for a zero vector */
    float *error;  /* shape [n], rounded up */
    uint32_t n;
};

struct vdb_coded {
    const grebe_allocator *a;
    uint32_t dim;
    size_t width; /* dim padded with zeros to VDB_CODE_RUN */
    struct vdb_codes shards[VDB_SHARDS];
};

/** All vectors of the snapshot are loaded. @param out Owned, free with vdb_coded_free(). */
grebe_status vdb_coded_new(const struct vdb_snapshot *s, const struct vdb_work *work, struct vdb_coded **out,
                          grebe_error *err);
void vdb_coded_free(struct vdb_coded *coded); /* NULL accepted */

/** A query in the form that codes are multiplied with: it is within error * |vector| of step * codes. */
struct vdb_query_codes {
    int16_t *codes; /* shape [width]; memory of the caller's arena */
    float factor;   /* step / |vector| */
    float error;    /* rounded up */
};
/** @param root Length of the query, above 0. */
grebe_status vdb_query_codes_make(const struct vdb_coded *coded, struct arena *ar, const float *query, double root,
                                  struct vdb_query_codes *out, grebe_error *err);

#endif
