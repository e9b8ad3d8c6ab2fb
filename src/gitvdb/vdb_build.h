/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_BUILD_H
#define GREBE_GITVDB_VDB_BUILD_H

/*
 * From a set of points to a root tree. A vdb_built is the whole content of a collection: 64 parts (the three blobs of each shard) and
 * the index. A change makes a new one that shares the parts that did not change; parts that stand in the repository are read when
 * something needs them. One thread changes and writes; the work inside is spread over threads.
 */

#include "gitvdb/vdb_points.h"
#include "gitvdb/vdb_snapshot.h"

/** Rows of a part that stand unchanged in the one that was made from it. */
struct vdb_run {
    uint32_t old_row, new_row, n;
};

/** One shard, shared by reference counts. What is loaded is immutable. */
struct vdb_part {
    uint32_t refs;
    uint32_t shard;
    const grebe_allocator *a;
    uint32_t n;
    uint32_t loaded;                        /* VDB_PART_*; ids always */
    struct region *regions[VDB_PART_KINDS]; /* the blobs */
    struct vdb_rows ids, payloads;
    struct vdb_matrix vectors;
    struct repo_oid oids[VDB_PART_KINDS];
    bool has_oids;
    bool is_stored;    /* the blobs stand in the repository or the pack; false: pending (vdb_built_finish) */
    struct buf runs;   /* struct vdb_run, ascending: what vdb_built_apply() kept of the part before */
};

struct vdb_sample_point {
    unsigned char digest[VDB_DIGEST_BYTES];
    struct vdb_place at;
};

struct vdb_built {
    const grebe_allocator *a;
    struct vdb_snapshot *base;          /* borrowed: where parts are read from; NULL: all parts are in memory */
    struct vdb_meta meta;               /* vector_space is in ar */
    struct arena ar;
    uint64_t n;
    struct vdb_part *parts[VDB_SHARDS]; /* NULL: no rows */
    struct repo_oid root;

    /* format 2, after vdb_index_build() */
    uint32_t k;
    float *codebook;                    /* shape [k, dim]; NULL: not known yet */
    uint16_t *nearest[VDB_SHARDS];      /* centroid of each row; NULL: not assigned yet */
    struct vdb_sample_point *sample;    /* shape [m], in the order of the sample; NULL: not known yet */
    size_t m;
    struct buf sample_blob;             /* sample.bin while it is pending */
    struct repo_oid sample_oid;
};

/** An empty collection. @param out Owned, free with vdb_built_free(). */
grebe_status vdb_built_new(const grebe_allocator *a, const struct vdb_config *config, uint32_t format,
                           struct vdb_built **out, grebe_error *err);
/** A snapshot's content; ids are loaded, the rest when it is needed. @param s Borrowed; must outlive the result. */
grebe_status vdb_built_from(struct vdb_snapshot *s, const struct vdb_work *work, struct vdb_built **out,
                            grebe_error *err);
/** The same content again, sharing all parts: what a change starts from. */
grebe_status vdb_built_share(const struct vdb_built *b, struct vdb_built **out, grebe_error *err);
void vdb_built_free(struct vdb_built *b); /* NULL accepted */

/** Load parts (VDB_PART_*) of a shard that has rows. Different shards may be loaded at the same time. */
grebe_status vdb_built_load(const struct vdb_built *b, uint32_t shard, uint32_t parts, grebe_error *err);
grebe_status vdb_built_load_all(const struct vdb_built *b, const struct vdb_work *work, uint32_t parts,
                                grebe_error *err);

/* ---- vdb_part.c ---- */
grebe_status vdb_part_new(const grebe_allocator *a, uint32_t shard, struct vdb_part **out, grebe_error *err);
struct vdb_part *vdb_part_keep(struct vdb_part *p); /* NULL accepted */
void vdb_part_drop(struct vdb_part *p);             /* NULL accepted */
static inline const struct vdb_run *vdb_part_runs(const struct vdb_part *p, size_t *n)
{
    *n = p->runs.len / sizeof(struct vdb_run);
    return (const struct vdb_run *)(const void *)p->runs.data;
}
/** Take the blobs that the buffers hold (they are emptied) and open them. */
grebe_status vdb_part_take(struct vdb_part *p, uint32_t dim, struct buf blobs[VDB_PART_KINDS],
                           grebe_error *err);

/* ---- vdb_change.c ---- */

/** Points to set (replaced or inserted) and rows to remove, in one step. */
struct vdb_change {
    const struct vdb_points *set; /* NULL: none */
    const struct vdb_place *gone; /* rows of `from`, ascending by (shard, row), not in `set`; shape [n_gone] */
    size_t n_gone;
};
/**
 * The content after a change. A point that compares equal to what is stored (-0 equals 0) keeps its stored bits.
 *
 * @param out Owned; what did not change is shared with `from`. NULL when nothing differs.
 * @return GREBE_OK; GREBE_EINVAL (an id twice in set, a dimension, a component that is not finite); GREBE_ELIMIT (a shard's
 *         blob beyond 4 GiB); GREBE_ECORRUPT, GREBE_EIO (reading what is stored); GREBE_ENOMEM.
 */
grebe_status vdb_built_apply(const struct vdb_built *from, const struct vdb_work *work,
                             const struct vdb_change *change, struct vdb_built **out, grebe_error *err);

/* ---- vdb_index.c ---- */

/**
 * Sample, codebook and the nearest centroid of every row, as much as differs from `from`: when neither the sample nor the number of
 * centroids changed, only rows that changed are assigned.
 *
 * @param from NULL, or what b was made from.
 */
grebe_status vdb_index_build(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                             grebe_error *err);
/** sample.bin. Needs the sample and its vectors. */
grebe_status vdb_index_sample(const struct vdb_built *b, const struct vdb_work *work, struct buf *out,
                              grebe_error *err);
/** The blobs of all postings, one behind the other; end[c] is where posting c ends. @param end shape [k]. */
grebe_status vdb_index_postings(const struct vdb_built *b, struct buf *out, size_t *end, grebe_error *err);

/* ---- vdb_write.c ---- */

/**
 * Build the index and put all new objects into the pack; b->root is set.
 *
 * @param is_chain More versions follow in the same pack: blobs of shards stay pending, and those of `from` that b replaces are put
 *                 in as deltas against b's. vdb_built_finish() on the last version is then due.
 */
grebe_status vdb_built_write(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                             struct repo_pack *p, bool is_chain, grebe_error *err);
/** Bytes of the blobs of shards that are pending. */
uint64_t vdb_built_pending(const struct vdb_built *b);
/** Put in what is pending. @param is_small Vectors are compressed, by 8 %: they take 10 times as long to read. */
grebe_status vdb_built_finish(struct vdb_built *b, const struct vdb_work *work, struct repo_pack *p, bool is_small,
                              grebe_error *err);

#endif
