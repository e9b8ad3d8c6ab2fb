/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_REACH_H
#define GREBE_GITVDB_VDB_REACH_H

/* All objects that a root tree reaches, each once, with the bytes of their content. */

#include "git/git_repo.h"

struct vdb_reach {
    const grebe_allocator *a;
    struct buf objects; /* struct vdb_reached, in the order found; after vdb_reach_walk() sorted by id */
    uint32_t *slots;    /* of objects, number + 1; 0: free. Shape [n_slots] */
    size_t n_slots;
};

struct vdb_reached {
    struct repo_oid oid;
    uint64_t bytes;
};

/** @param out Owned: vdb_reach_release(). Cost: every tree is read, blobs are only asked for their size. */
grebe_status vdb_reach_walk(struct repo *r, const grebe_allocator *a, const struct repo_oid *root, struct vdb_reach *out,
                            grebe_error *err);
static inline size_t vdb_reach_count(const struct vdb_reach *r) { return r->objects.len / sizeof(struct vdb_reached); }
static inline const struct vdb_reached *vdb_reach_at(const struct vdb_reach *r, size_t i)
{
    return (const struct vdb_reached *)(const void *)r->objects.data + i;
}
void vdb_reach_release(struct vdb_reach *r);

#endif
