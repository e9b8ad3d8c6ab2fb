/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_SNAPSHOT_H
#define GREBE_GITVDB_VDB_SNAPSHOT_H

/*
 * A root tree opened for reading. Nothing but meta.json and the trees on the way is read at once; parts of shards are loaded when
 * somebody asks, checked once, and stay. The bytes of a blob are its form in memory. A collection of format 1 is turned into the
 * same 64 shards when it is opened, so that reads know one layout only.
 *
 * Threads: parts of different shards may be loaded at the same time; what is loaded may be read by everybody.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "gitvdb/vdb_blob.h"
#include "gitvdb/vdb_ivf.h"

enum { VDB_PART_IDS = 1, VDB_PART_PAYLOADS = 2, VDB_PART_VECTORS = 4, VDB_PART_ALL = 7, VDB_PART_KINDS = 3 };

struct vdb_shard {
    pthread_mutex_t lock;                /* of loading */
    struct repo_oid oids[VDB_PART_KINDS]; /* ids, payloads, vectors; format 2 */
    struct region *regions[VDB_PART_KINDS];
    uint32_t loaded;                     /* VDB_PART_* */
    uint32_t n;                          /* rows; known when any part is loaded */
    bool exists;
    struct vdb_rows ids, payloads;
    struct vdb_matrix vectors;
};

struct vdb_snapshot {
    struct repo *repo; /* borrowed */
    const grebe_allocator *a;
    struct repo_oid root;
    struct vdb_meta meta;
    struct arena ar;
    struct repo_oid index_oid;            /* the tree "index" */
    struct vdb_shard shards[VDB_SHARDS];

    pthread_mutex_t lock;                /* of loading what follows */
    /* format 2, loaded by vdb_snapshot_codebook() and vdb_snapshot_posting() */
    struct repo_oid codebook_oid, sample_oid;
    bool has_sample; /* sample_oid is known */
    struct repo_oid *posting_oids;  /* shape [k]; NULL: not listed yet */
    struct region *codebook_region;
    struct vdb_matrix codebook;
    struct region **posting_regions; /* shape [k] */
    struct vdb_posting *postings;    /* shape [k] */

    /* What vdb_search() keeps for later searches; ended by vdb_coded_free() (vdb_codes.h). Both start as zero. */
    _Atomic(struct vdb_coded *) coded;
    atomic_uint n_searches;

    struct vdb_lsh_points *lsh; /* format 1: which point each hash is (vdb_lsh_load()); memory of ar */
};

/**
 * @param out Owned, close with vdb_snapshot_close().
 * @return GREBE_OK; GREBE_ECORRUPT with the path in the tree, expected and found; GREBE_EUNSUPPORTED (format version);
 *         GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status vdb_snapshot_open(struct repo *repo, const struct repo_oid *root,
                               const grebe_allocator *a, struct vdb_snapshot **out, grebe_error *err);
void vdb_snapshot_close(struct vdb_snapshot *s);

/** Load parts of one shard (nothing happens for those that are). A shard that does not exist has n 0. */
grebe_status vdb_snapshot_load(struct vdb_snapshot *s, uint32_t shard, uint32_t parts, grebe_error *err);
/** Load parts of all shards on several threads. */
grebe_status vdb_snapshot_load_all(struct vdb_snapshot *s, const struct vdb_work *work, uint32_t parts,
                                   grebe_error *err);

/** Codebook and the list of postings; format 2. */
grebe_status vdb_snapshot_codebook(struct vdb_snapshot *s, grebe_error *err);
/** Posting of centroid c < k, after vdb_snapshot_codebook(). */
grebe_status vdb_snapshot_posting(struct vdb_snapshot *s, uint32_t c, grebe_error *err);

#endif
