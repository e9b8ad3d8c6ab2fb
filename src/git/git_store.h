/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_STORE_H
#define GREBE_GIT_GIT_STORE_H

/*
 * The objects of a repository: packs and loose files of its own folder and of its alternates. Opened without looking at
 * anything; packs are listed when the first object is asked for, and again when one is not found (somebody may have
 * packed it meanwhile). Never writes, but for the times of files (repo_store_touch). All calls are safe from several
 * threads.
 */

#include "git/git_repo.h"
#include "io/io.h"

struct repo_store;

/** @param objects ".../objects". Copied. @param out Owned. */
grebe_status repo_store_open(grebe_context *ctx, const char *objects, struct repo_store **out, grebe_error *err);
void repo_store_close(struct repo_store *s); /* NULL accepted */
/** List the packs anew. */
grebe_status repo_store_refresh(struct repo_store *s, grebe_error *err);

/**
 * An object whose hash was checked.
 *
 * @param out Owned region; NULL: only type and size, and nothing is checked.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT (every copy there is); GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status repo_store_read(struct repo_store *s, const struct repo_oid *oid, enum repo_object *type, uint64_t *size,
                            struct region **out, grebe_error *err);
/** Whether an object is there, without looking for new packs. */
bool repo_store_has(struct repo_store *s, const struct repo_oid *oid);
/**
 * The same, and the file that holds it becomes as young as a new one: `git prune` in another process takes old ones
 * away. Packs are touched once in a writing, which begins with repo_store_begin().
 */
bool repo_store_touch(struct repo_store *s, const struct repo_oid *oid);
void repo_store_begin(struct repo_store *s);

/** A failure is that of an object: its id before the message. @return st. */
grebe_status repo_object_wrap(const struct repo_oid *oid, grebe_status st, grebe_error *err);

#endif
