/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_BUILD_H
#define GREBE_GITVDB_VDB_BUILD_H

/*
 * From a set of points to a root tree. A vdb_built is the whole content of a collection in memory: the three blobs of each shard,
 * which of them changed since the root they came from, and the index. A change makes a new one that shares what did not change.
 */

#include "gitvdb/vdb_points.h"
#include "gitvdb/vdb_snapshot.h"

/** One shard, immutable once made, shared by reference counts. */
struct vdb_part {
    uint32_t refs;
    uint32_t n;
    const grebe_allocator *a;
    struct region *regions[VDB_PART_KINDS]; /* the blobs; borrowed parts of a snapshot hold a reference of their own */
    struct vdb_rows ids, payloads;
    struct vdb_matrix vectors;
    struct vdb_oid oids[VDB_PART_KINDS];
    bool has_oid;      /* oids are known and the objects stand in the repository or the pack */
    uint64_t *digests; /* shape [n]: the first 8 bytes of each id's digest, big-endian; NULL: not needed yet */
    uint16_t *nearest; /* shape [n]: centroid of each row; NULL: not assigned */
};

struct vdb_built {
    const grebe_allocator *a;
    struct vdb_meta meta;           /* vector_space is in ar */
    struct arena ar;
    uint64_t n;
    struct vdb_part *parts[VDB_SHARDS]; /* NULL: no rows */
    struct vdb_oid root;            /* of the tree that this was read from or written to */
    float *codebook;                /* shape [k, dim]; NULL: not trained */
    struct vdb_place *sample;       /* shape [m] in sample order; NULL */
    size_t m;
};

/** An empty collection. */
grebe_status vdb_built_new(const grebe_allocator *a, const struct vdb_config *config, uint32_t format,
                           struct vdb_built **out, grebe_error *err);
/** Everything of a snapshot. */
grebe_status vdb_built_from(struct vdb_snapshot *s, const struct vdb_work *work, struct vdb_built **out,
                            grebe_error *err);
void vdb_built_free(struct vdb_built *b);

/** Points to set (replace or insert) and ids to remove, in one step. */
struct vdb_change {
    const struct vdb_points *set;  /* no id twice; NULL: none */
    const struct vdb_place *gone;  /* rows of `from`, ascending; shape [n_gone] */
    size_t n_gone;
};
/**
 * The content after a change. Points that compare equal to what is stored (-0 equals 0) are no change.
 *
 * @param out        Owned; shares parts with `from`.
 * @param is_changed false: nothing differs, *out is NULL.
 */
grebe_status vdb_built_apply(const struct vdb_built *from, const struct vdb_work *work,
                             const struct vdb_change *change, struct vdb_built **out, bool *is_changed,
                             grebe_error *err);

/** Train and assign (format 2; as much as the change made necessary), then write all new objects. b->root is set. */
grebe_status vdb_built_write(struct vdb_built *b, const struct vdb_built *from, const struct vdb_work *work,
                             struct vdb_pack *p, grebe_error *err);

#endif
