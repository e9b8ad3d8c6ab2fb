/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_repo.h"

#include <string.h>

#include "base/arena.h"
#include "gitvdb/vdb_git.h"

grebe_status vdb_merge_base(struct vdb_repo *r, const struct vdb_oid *a, const struct vdb_oid *b,
                            struct vdb_oid *out, grebe_error *err)
{
    git_oid x = vdb_git_oid(a), y = vdb_git_oid(b), base;
    int code = git_merge_base(&base, r->git, &x, &y);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "the two commits have no common ancestor");
    }
    if (code < 0) {
        return vdb_git_fail(err, code, "cannot find a common ancestor");
    }
    *out = vdb_oid_of_git(&base);
    return GREBE_OK;
}

grebe_status vdb_revision(struct vdb_repo *r, const char *text, bool *is_commit,
                          struct vdb_oid *commit, struct vdb_oid *root, grebe_error *err)
{
    char shown[100];
    git_object *object = NULL;
    grebe_status st = GREBE_OK;
    error_quote(shown, sizeof shown, text, strlen(text));
    int code = git_revparse_single(&object, r->git, text);
    if (code < 0) {
        return vdb_git_fail(err, code, "revision \"%s\"", shown);
    }
    struct vdb_oid oid = vdb_oid_of_git(git_object_id(object));
    *is_commit = git_object_type(object) == GIT_OBJECT_COMMIT;
    if (*is_commit) {
        struct arena ar = ARENA_INIT(r->a);
        struct vdb_commit read;
        *commit = oid;
        st = vdb_commit_read(r, &oid, &ar, &read, err);
        if (st == GREBE_OK) {
            *root = read.root;
        }
        arena_release(&ar);
    } else if (git_object_type(object) == GIT_OBJECT_TREE) {
        *root = oid;
    } else {
        st = GREBE_FAIL(err, GREBE_EINVAL, "revision \"%s\" is not a commit or tree", shown);
    }
    git_object_free(object);
    return st;
}
