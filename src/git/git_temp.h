/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_TEMP_H
#define GREBE_GIT_GIT_TEMP_H

/*
 * Files that get their name when they are finished, inside objects/pack of a repository. Other than io_create() of the room
 * of files they can be changed at their beginning, carry the names that `git prune` clears away (tmp_…), and are read-only as git's.
 */

#include "base/context_internal.h"

struct repo_temp {
    const grebe_allocator *a;
    int fd;     /* -1: closed */
    char *path; /* NULL: none, or it has its name */
    uint64_t len;
};
#define REPO_TEMP_INIT { NULL, -1, NULL, 0 }

/** folder/<prefix><random>. GREBE_OK; GREBE_EIO and what errno says; GREBE_ENOMEM. */
grebe_status repo_temp_create(grebe_context *ctx, const char *folder, const char *prefix, struct repo_temp *out,
                             grebe_error *err);
grebe_status repo_temp_write(struct repo_temp *t, const void *bytes, size_t len, grebe_error *err);
/** Replace bytes written before. */
grebe_status repo_temp_patch(struct repo_temp *t, uint64_t offset, const void *bytes, size_t len, grebe_error *err);
grebe_status repo_temp_read(struct repo_temp *t, uint64_t offset, void *dst, size_t len, grebe_error *err);
grebe_status repo_temp_sync(struct repo_temp *t, grebe_error *err);
/** Give it its name, replacing what has it; once more when somebody removed it meanwhile. The folder is not synced. */
grebe_status repo_temp_rename(struct repo_temp *t, const char *path, grebe_error *err);
/** Close, and remove a file that has no name yet. */
void repo_temp_release(struct repo_temp *t);

/** fsync of a folder. */
grebe_status repo_sync_folder(const char *path, grebe_error *err);

#endif
