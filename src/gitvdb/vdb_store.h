/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_STORE_H
#define GREBE_GITVDB_VDB_STORE_H

/*
 * The objects of a repository: packs and loose files of its own folder and of its alternates. Opened without looking at
 * anything; packs are listed when the first object is asked for, and again when one is not found (somebody may have
 * packed it meanwhile). Never writes, but for the times of files (vdb_store_touch). All calls are safe from several
 * threads.
 */

#include "gitvdb/vdb_repo.h"
#include "io/io.h"

struct vdb_store;

/** @param objects ".../objects". Copied. @param out Owned. */
grebe_status vdb_store_open(grebe_context *ctx, const char *objects, struct vdb_store **out, grebe_error *err);
void vdb_store_close(struct vdb_store *s); /* NULL accepted */
/** List the packs anew. */
grebe_status vdb_store_refresh(struct vdb_store *s, grebe_error *err);

/**
 * An object whose hash was checked.
 *
 * @param out Owned region; NULL: only type and size, and nothing is checked.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT (every copy there is); GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status vdb_store_read(struct vdb_store *s, const struct vdb_oid *oid, enum vdb_object *type, uint64_t *size,
                            struct region **out, grebe_error *err);
/** Whether an object is there, without looking for new packs. */
bool vdb_store_has(struct vdb_store *s, const struct vdb_oid *oid);
/**
 * The same, and the file that holds it becomes as young as a new one: `git prune` in another process takes old ones
 * away. Packs are touched once in a writing, which begins with vdb_store_begin().
 */
bool vdb_store_touch(struct vdb_store *s, const struct vdb_oid *oid);
void vdb_store_begin(struct vdb_store *s);

#endif
