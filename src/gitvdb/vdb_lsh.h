/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_LSH_H
#define GREBE_GITVDB_VDB_LSH_H

/* Format 1: one tree for each point, tables of random-projection signatures whose leaves are the points' trees. */

#include "gitvdb/vdb_search.h"

/** All points of a format-1 root, turned into the 64 shards of format 2 in memory. Called by vdb_snapshot_open(). */
grebe_status vdb_lsh_load(struct vdb_snapshot *s, const struct repo_tree *points, grebe_error *err);

/** Signature of a vector for one table; bit b is 1 << b. */
struct vdb_lsh_planes; /* coefficients of all projections: tables x bits x dim */
grebe_status vdb_lsh_planes_new(const struct vdb_config *c, const grebe_allocator *a,
                                struct vdb_lsh_planes **out, grebe_error *err);
void vdb_lsh_planes_free(struct vdb_lsh_planes *p);
uint64_t vdb_lsh_signature(const struct vdb_lsh_planes *p, uint32_t table, const float *vector);

/** The buckets that a query looks into: Hamming distance 0, 1, …; for each all tables; for each all masks of so many bits, in
 *  lexicographic order of bit positions. Start from zeroes. */
struct vdb_lsh_probes {
    uint32_t n_tables, n_bits;
    uint32_t table;
    uint32_t n_set;          /* bits of the mask */
    uint8_t positions[64];   /* shape [n_set], ascending */
    bool is_begun;
};
/** false: there are no more. @param mask To be XORed with the signature of the table. */
bool vdb_lsh_probes_next(struct vdb_lsh_probes *p, uint32_t *table, uint64_t *mask);

/** Search through the tables; called by vdb_search(). */
grebe_status vdb_lsh_search(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                            struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err);

/** Rows of all shards as they are to be. */
struct vdb_built; /* vdb_build.h */
/** Write the trees of a format-1 collection: points and tables. @param root Written. */
grebe_status vdb_lsh_write(struct repo_pack *p, const struct vdb_built *points, struct repo_oid *root,
                           grebe_error *err);

/** `validate`: reads every point; full: also compares the tables. @param checked Written: bucket entries compared (0: basic). */
grebe_status vdb_lsh_validate(struct vdb_snapshot *s, bool is_full, uint64_t *checked, grebe_error *err);

#endif
