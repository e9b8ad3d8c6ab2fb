/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_repo.h"

#include <string.h>

#include "gitvdb/vdb_git.h"

grebe_status vdb_merge_base(struct vdb_repo *r, const struct vdb_oid *a, const struct vdb_oid *b, struct vdb_oid *out,
                            grebe_error *err)
{
    git_oid x = vdb_git_oid(a), y = vdb_git_oid(b), base;
    git_repository *git = NULL;
    grebe_status st = vdb_repo_git(r, &git, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.merge_base(&base, git, &x, &y);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "the two commits have no common ancestor");
    }
    if (code < 0) {
        return vdb_git_fail(r, err, code, "cannot find a common ancestor");
    }
    *out = vdb_oid_of_git(&base);
    return GREBE_OK;
}

/* What a revision names. Full ids and references of collections need no libgit2. */
static grebe_status resolve(struct vdb_repo *r, const char *text, const char *shown, struct vdb_oid *out,
                            grebe_error *err)
{
    git_repository *git = NULL;
    git_object *object = NULL;
    bool is_there = false;
    if (vdb_oid_from_hex(text, strlen(text), out)) {
        return GREBE_OK;
    }
    if (strncmp(text, VDB_REFS, strlen(VDB_REFS)) == 0 && vdb_name_check(text + strlen(VDB_REFS), NULL) == GREBE_OK &&
        vdb_ref_value(r, text, &is_there, out, NULL) == GREBE_OK && is_there) {
        return GREBE_OK;
    }
    grebe_status st = vdb_repo_git(r, &git, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.revparse_single(&object, git, text);
    if (code < 0) {
        return vdb_git_fail(r, err, code, "revision \"%s\"", shown);
    }
    *out = vdb_oid_of_git(r->api.object_id(object));
    r->api.object_free(object);
    return GREBE_OK;
}

grebe_status vdb_revision(struct vdb_repo *r, const char *text, bool *is_commit, struct vdb_oid *commit,
                          struct vdb_oid *root, grebe_error *err)
{
    char shown[100];
    struct vdb_oid oid;
    struct vdb_commit read;
    enum vdb_object type = VDB_BLOB;
    uint64_t size = 0;
    struct arena ar = ARENA_INIT(r->a);
    grebe_status st = GREBE_OK;
    error_quote(shown, sizeof shown, text, strlen(text));
    *is_commit = false;
    GREBE_TRY(resolve(r, text, shown, &oid, err));
    st = vdb_object_stat(r, &oid, &type, &size, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "revision \"%s\"", shown);
        goto out;
    }
    if (type == VDB_COMMIT) {
        GREBE_TRY(vdb_commit_read(r, &oid, &ar, &read, err));
        *is_commit = true;
        *commit = oid;
        *root = read.root;
    } else if (type == VDB_TREE) {
        *root = oid;
    } else {
        st = GREBE_FAIL(err, GREBE_EINVAL, "revision \"%s\" is not a commit or tree", shown);
    }
out:
    arena_release(&ar);
    return st;
}
