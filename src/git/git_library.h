/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_LIBRARY_H
#define GREBE_GIT_GIT_LIBRARY_H

/* A repository from the inside, and what the files on libgit2 share. Only files about repositories include this. */

#include <pthread.h>
#include <string.h>

#include "base/context_internal.h"
#include "git/git_api.h"
#include "git/git_repo.h"
#include "git/git_store.h"

struct repo {
    grebe_context *ctx;
    const grebe_allocator *a;
    char *path;     /* as the caller wrote it */
    bool is_bare;
    char *git_dir;  /* with HEAD; absolute */
    char *common;   /* with objects and references: another one than git_dir only in a worktree */
    char *objects;  /* common/objects */
    struct repo_store *store;
    pthread_mutex_t mutex; /* of what follows, until it is set */
    bool is_git_started;
    git_repository *git; /* NULL: not needed yet */
    struct git_api api; /* set when is_git_started */
};

/** The repository in libgit2, opened at the first call. Borrowed from r. */
grebe_status repo_git(struct repo *r, git_repository **out, grebe_error *err);
/** Look for packs that came since. */
grebe_status repo_refresh(struct repo *r, grebe_error *err);

/** A failed call of libgit2 as a status, its message behind the one given here. */
grebe_status repo_git_fail(const struct repo *r, grebe_error *err, int code, const char *fmt, ...) GREBE_PRINTF(4, 5);

struct repo *repo_pack_repo(const struct repo_pack *p);

static inline git_oid repo_oid_to_git(const struct repo_oid *oid)
{
    git_oid id = { { 0 } };
    memcpy(id.id, oid->bytes, sizeof id.id);
    return id;
}

static inline struct repo_oid repo_oid_of_git(const git_oid *id)
{
    struct repo_oid oid;
    memcpy(oid.bytes, id->id, sizeof oid.bytes);
    return oid;
}

/** Content of the ".keep" file of a pack whose reference is not there yet. */
#define REPO_KEEP_TEXT "grebe: until the reference is written\n"

#define REPO_REFS "refs/git-vdb/collections/"
#define REPO_REMOTE_REFS "refs/git-vdb/remotes/"
enum { REPO_REF_MAX = 192 };
/** "refs/git-vdb/collections/NAME"; GREBE_EINVAL as repo_name_check(). */
grebe_status repo_ref_name(const char *name, char out[REPO_REF_MAX], grebe_error *err);
/** What a reference holds, loose or packed. *is_there false: it does not exist. */
grebe_status repo_ref_value(struct repo *r, const char *ref, bool *is_there, struct repo_oid *out, grebe_error *err);
/** GREBE_EEXISTS: packed references lie below this name, which can be no file then. */
grebe_status repo_ref_check_free(struct repo *r, const char *ref, grebe_error *err);
/** The text of packed-refs; NULL: none. @param out Owned. */
grebe_status repo_ref_packed(struct repo *r, struct region **out, grebe_error *err);

#endif
