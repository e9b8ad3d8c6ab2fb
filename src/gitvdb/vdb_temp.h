/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_TEMP_H
#define GREBE_GITVDB_VDB_TEMP_H

/*
 * Files that get their name when they are finished, inside objects/pack of a repository. Other than io_create() of the room
 * of files they can be changed at their beginning, carry the names that `git prune` clears away (tmp_…), and are read-only as git's.
 */

#include "base/context_internal.h"

struct vdb_temp {
    const grebe_allocator *a;
    int fd;     /* -1: closed */
    char *path; /* NULL: none, or it has its name */
    uint64_t len;
};
#define VDB_TEMP_INIT { NULL, -1, NULL, 0 }

/** folder/<prefix><random>. GREBE_OK; GREBE_EIO and what errno says; GREBE_ENOMEM. */
grebe_status vdb_temp_create(grebe_context *ctx, const char *folder, const char *prefix, struct vdb_temp *out,
                             grebe_error *err);
grebe_status vdb_temp_write(struct vdb_temp *t, const void *bytes, size_t len, grebe_error *err);
/** Replace bytes written before. */
grebe_status vdb_temp_patch(struct vdb_temp *t, uint64_t offset, const void *bytes, size_t len, grebe_error *err);
grebe_status vdb_temp_read(struct vdb_temp *t, uint64_t offset, void *dst, size_t len, grebe_error *err);
grebe_status vdb_temp_sync(struct vdb_temp *t, grebe_error *err);
/** Give it its name, replacing what has it; once more when somebody removed it meanwhile. The folder is not synced. */
grebe_status vdb_temp_rename(struct vdb_temp *t, const char *path, grebe_error *err);
/** Close, and remove a file that has no name yet. */
void vdb_temp_release(struct vdb_temp *t);

/** fsync of a folder. */
grebe_status vdb_sync_folder(const char *path, grebe_error *err);

#endif
