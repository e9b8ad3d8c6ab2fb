/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <string.h>

#include "git/git_library.h"

grebe_status repo_merge_base(struct repo *r, const struct repo_oid *a, const struct repo_oid *b, struct repo_oid *out,
                            grebe_error *err)
{
    git_oid x = repo_oid_to_git(a), y = repo_oid_to_git(b), base;
    git_repository *git = NULL;
    grebe_status st = repo_git(r, &git, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.merge_base(&base, git, &x, &y);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "the two commits have no common ancestor");
    }
    if (code < 0) {
        return repo_git_fail(r, err, code, "cannot find a common ancestor");
    }
    *out = repo_oid_of_git(&base);
    return GREBE_OK;
}

/* What a revision names. Full ids and references of collections need no libgit2. */
static grebe_status resolve(struct repo *r, const char *text, const char *shown, struct repo_oid *out,
                            grebe_error *err)
{
    git_repository *git = NULL;
    git_object *object = NULL;
    bool is_there = false;
    if (repo_oid_from_hex(text, strlen(text), out)) {
        return GREBE_OK;
    }
    if (strncmp(text, REPO_REFS, strlen(REPO_REFS)) == 0 && repo_name_check(text + strlen(REPO_REFS), NULL) == GREBE_OK &&
        repo_ref_value(r, text, &is_there, out, NULL) == GREBE_OK && is_there) {
        return GREBE_OK;
    }
    grebe_status st = repo_git(r, &git, err);
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.revparse_single(&object, git, text);
    if (code < 0) {
        return repo_git_fail(r, err, code, "revision \"%s\"", shown);
    }
    *out = repo_oid_of_git(r->api.object_id(object));
    r->api.object_free(object);
    return GREBE_OK;
}

grebe_status repo_revision(struct repo *r, const char *text, bool *is_commit, struct repo_oid *commit,
                          struct repo_oid *root, grebe_error *err)
{
    char shown[100];
    struct repo_oid oid;
    struct repo_commit read;
    enum repo_object type = REPO_BLOB;
    uint64_t size = 0;
    struct arena ar = ARENA_INIT(r->a);
    grebe_status st = GREBE_OK;
    error_quote(shown, sizeof shown, text, strlen(text));
    *is_commit = false;
    GREBE_TRY(resolve(r, text, shown, &oid, err));
    st = repo_object_stat(r, &oid, &type, &size, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "revision \"%s\"", shown);
        goto out;
    }
    if (type == REPO_COMMIT) {
        GREBE_TRY(repo_commit_read(r, &oid, &ar, &read, err));
        *is_commit = true;
        *commit = oid;
        *root = read.root;
    } else if (type == REPO_TREE) {
        *root = oid;
    } else {
        st = GREBE_FAIL(err, GREBE_EINVAL, "revision \"%s\" is not a commit or tree", shown);
    }
out:
    arena_release(&ar);
    return st;
}
