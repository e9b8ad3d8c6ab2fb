/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_SIEVE_H
#define GREBE_GITVDB_VDB_SIEVE_H

/*
 * The best rows among many that are named one after the other, without an f64 cosine for each. Every row gets a rough score that is
 * within a known distance of the true one. A row whose upper end lies below the `limit`-th best lower end cannot be
 * among the first; the others go on to a finer mesh: codes of a byte a component (where the snapshot has them), f32, f64.
 */

#include "gitvdb/vdb_codes.h"
#include "gitvdb/vdb_topk.h"

enum vdb_mesh { VDB_MESH_CODES, VDB_MESH_F32, VDB_MESH_EXACT };

/** One query; read by all threads. */
struct vdb_sieve {
    struct vdb_snapshot *s;
    const struct vdb_work *work;
    const float *query;
    double root;          /* length of the query */
    uint32_t dim;
    size_t limit;
    enum vdb_mesh mesh;   /* of the first pass */
    const struct vdb_coded *coded;
    struct vdb_query_codes codes;
    float *unit;          /* shape [dim]: the query with length 1 */
    float error_f32;
    _Atomic uint64_t floor; /* key of the limit-th best lower end so far */
};

/** @param ar Holds the forms of the query; outlives the sieve. */
grebe_status vdb_sieve_init(struct vdb_sieve *v, struct vdb_snapshot *s, const struct vdb_work *work,
                            const float *query, uint64_t limit, struct arena *ar, grebe_error *err);

/** A row that may be among the first, with the upper end of its score. */
struct vdb_survivor {
    struct vdb_place at;
    float upper;
};
enum { VDB_SIEVE_BLOCK = 64 };

/** Rows that one thread throws in. */
struct vdb_sieve_part {
    struct vdb_sieve *v;
    enum vdb_mesh mesh;
    struct vdb_topk lower; /* by lower ends */
    struct vdb_survivor *survivors;
    size_t n, capacity;
    struct vdb_place pending[VDB_SIEVE_BLOCK];
    size_t n_pending;
};
void vdb_sieve_part_init(struct vdb_sieve_part *p, struct vdb_sieve *v);
/** The row's vector is loaded. */
grebe_status vdb_sieve_put(struct vdb_sieve_part *p, struct vdb_place at, grebe_error *err);
/** All rows of a loaded shard. */
grebe_status vdb_sieve_put_shard(struct vdb_sieve_part *p, uint32_t shard, grebe_error *err);
/** No more rows. */
grebe_status vdb_sieve_flush(struct vdb_sieve_part *p, grebe_error *err);
void vdb_sieve_part_release(struct vdb_sieve_part *p);

/** The hits of all parts, as vdb_search() gives them. */
grebe_status vdb_sieve_finish(struct vdb_sieve *v, struct vdb_sieve_part *parts, size_t n_parts,
                              struct vdb_hit **hits, size_t *n, grebe_error *err);

#endif
