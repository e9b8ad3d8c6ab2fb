/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_TOPK_H
#define GREBE_GITVDB_VDB_TOPK_H

/* The best `limit` of many hits, and their final order. */

#include <stdatomic.h>
#include <string.h>

#include "gitvdb/vdb_search.h"

/** Unsigned numbers in the total order of floats: -0.0 stands below +0.0. */
static inline uint64_t vdb_score_key(double score)
{
    uint64_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

static inline double vdb_key_score(uint64_t key)
{
    const uint64_t bits = key >> 63 != 0 ? key & ~(UINT64_C(1) << 63) : ~key;
    double score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

/**
 * Hits that may be among the first `limit`: all whose key is at least that of the limit-th best so far, so ties stay until
 * ids decide. Several collectors share one floor, which lets each drop what another has outdone.
 */
struct vdb_topk {
    const grebe_allocator *a;
    size_t limit;
    struct vdb_hit *items;
    size_t n, capacity, prune_at;
    _Atomic uint64_t *floor; /* keys below it are of no use; borrowed */
};
void vdb_topk_init(struct vdb_topk *t, const grebe_allocator *a, size_t limit, _Atomic uint64_t *floor);
grebe_status vdb_topk_put(struct vdb_topk *t, const struct vdb_hit *hit, grebe_error *err);
/** Put all of `from`. */
grebe_status vdb_topk_merge(struct vdb_topk *t, const struct vdb_topk *from, grebe_error *err);
/** Drop what stands below the limit-th best or the common floor, which the limit-th best raises. */
void vdb_topk_prune(struct vdb_topk *t);
void vdb_topk_release(struct vdb_topk *t);

/**
 * The first `limit` in final order: score descending, id ascending. Loads ids of the shards in which hits stand.
 *
 * @param hits Owned as vdb_search() says.
 */
grebe_status vdb_topk_finish(struct vdb_topk *t, struct vdb_snapshot *s, const struct vdb_work *work,
                             struct vdb_hit **hits, size_t *n, grebe_error *err);

/** Load parts of the shards whose bits are set, on several threads. */
grebe_status vdb_load_shards(struct vdb_snapshot *s, const struct vdb_work *work, uint64_t shards, uint32_t parts,
                             grebe_error *err);

#endif
