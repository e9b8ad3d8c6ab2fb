/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_GIT_H
#define GREBE_GITVDB_VDB_GIT_H

/* What the files on libgit2 share; no other file of the room includes this. */

#include <git2.h>
#include <string.h>

#include "base/context_internal.h"
#include "gitvdb/vdb_repo.h"

struct vdb_repo {
    grebe_context *ctx;
    const grebe_allocator *a;
    char *path; /* as the caller wrote it */
    bool is_bare;
    git_repository *git;
    git_odb *odb;
    char *objects; /* ".../objects" */
};

/** A failed call of libgit2 as a status, its message behind the one given here. */
grebe_status vdb_git_fail(grebe_error *err, int code, const char *fmt, ...) GREBE_PRINTF(3, 4);

/** Look for packs that came since. */
grebe_status vdb_repo_refresh(struct vdb_repo *r, grebe_error *err);

struct vdb_repo *vdb_pack_repo(const struct vdb_pack *p);

static inline git_oid vdb_git_oid(const struct vdb_oid *oid)
{
    git_oid id;
    memcpy(id.id, oid->bytes, sizeof id.id);
    return id;
}

static inline struct vdb_oid vdb_oid_of_git(const git_oid *id)
{
    struct vdb_oid oid;
    memcpy(oid.bytes, id->id, sizeof oid.bytes);
    return oid;
}

/** "refs/git-vdb/collections/NAME" of a name that passed vdb_name_check(). */
enum { VDB_REF_MAX = 192 };
grebe_status vdb_ref_name(const char *name, char out[VDB_REF_MAX], grebe_error *err);
#define VDB_REFS "refs/git-vdb/collections/"
#define VDB_REMOTE_REFS "refs/git-vdb/remotes/"

#endif
