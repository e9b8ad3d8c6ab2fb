/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_repo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "gitvdb/vdb_git.h"

enum { NAME_MAX_BYTES = 128 };

grebe_status vdb_name_check(const char *name, grebe_error *err)
{
    size_t n = strlen(name);
    char text[160];
    error_quote(text, sizeof text, name, n);
    if (n == 0 || n > NAME_MAX_BYTES) {
        return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": expected 1 to %d bytes, found %zu", text,
                          NAME_MAX_BYTES, n);
    }
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool is_good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '_' || c == '-';
        if (!is_good) {
            return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": expected letters, digits, '.', '_' and '-'", text);
        }
    }
    if (name[0] == '.' || name[n - 1] == '.' || strstr(name, "..") != NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": expected no '.' at either end and no \"..\"", text);
    }
    if (n >= 5 && strcmp(name + n - 5, ".lock") == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "collection name \"%s\": Git keeps names that end in \".lock\" for itself", text);
    }
    return GREBE_OK;
}

grebe_status vdb_ref_name(const char *name, char out[VDB_REF_MAX], grebe_error *err)
{
    grebe_status st = vdb_name_check(name, err);
    if (st == GREBE_OK) {
        memcpy(out, VDB_REFS, sizeof VDB_REFS);
        strcat(out, name);
    }
    return st;
}

/* ---- reading ---- */

static grebe_status read_oid(struct vdb_repo *r, const char *name, const char *ref, struct vdb_oid *out, grebe_error *err)
{
    git_oid id;
    int code = git_reference_name_to_id(&id, r->git, ref);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "no collection \"%s\" in %s", name, r->path);
    }
    if (code < 0) {
        return vdb_git_fail(err, code, "%s", ref);
    }
    *out = vdb_oid_of_git(&id);
    return GREBE_OK;
}

grebe_status vdb_ref_read(struct vdb_repo *r, const char *name, struct vdb_oid *commit,
                          struct vdb_oid *root, grebe_error *err)
{
    char ref[VDB_REF_MAX];
    struct vdb_commit read;
    grebe_status st = vdb_ref_name(name, ref, err);
    if (st == GREBE_OK) {
        st = read_oid(r, name, ref, commit, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct arena ar = ARENA_INIT(r->a);
    st = vdb_commit_read(r, commit, &ar, &read, err);
    if (st == GREBE_ENOTFOUND) { /* the reference is there: what it names must be */
        st = GREBE_ECORRUPT;
        if (err != NULL) {
            err->status = st;
        }
    }
    if (st == GREBE_OK) {
        *root = read.root;
    } else {
        st = error_wrap(err, st, "collection \"%s\"", name);
    }
    arena_release(&ar);
    return st;
}

static int compare_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

grebe_status vdb_ref_list(struct vdb_repo *r, struct arena *ar, const char *const **out, size_t *n,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    git_reference_iterator *it = NULL;
    struct buf names = BUF_INIT(r->a);
    *out = NULL;
    *n = 0;
    int code = git_reference_iterator_glob_new(&it, r->git, VDB_REFS "*");
    const char *ref = NULL;
    while (code == 0 && (code = git_reference_next_name(&ref, it)) == 0) {
        const char *name = ref + strlen(VDB_REFS);
        if (vdb_name_check(name, NULL) != GREBE_OK) {
            continue; /* somebody else's: it can be no collection */
        }
        const char *copy = arena_str(ar, name, strlen(name));
        if (copy == NULL) {
            st = mem_fail(err, strlen(name), "a name");
            goto out;
        }
        GREBE_TRY(buf_put(&names, &copy, sizeof copy, err));
    }
    if (code != GIT_ITEROVER) {
        st = vdb_git_fail(err, code, "%s: cannot list references", r->path);
        goto out;
    }
    *n = names.len / sizeof(char *);
    const char **list = arena_array(ar, *n == 0 ? 1 : *n, sizeof *list);
    if (list == NULL) {
        st = mem_fail(err, names.len, "names");
        goto out;
    }
    if (*n > 0) {
        memcpy(list, names.data, names.len);
        qsort(list, *n, sizeof *list, compare_text);
    }
    *out = list;
out:
    git_reference_iterator_free(it);
    buf_release(&names);
    return st;
}

/* ---- changing ---- */

static grebe_status moved(const char *name, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECONFLICT, "collection \"%s\" was changed by somebody else", name);
}

grebe_status vdb_ref_update(struct vdb_repo *r, const char *name, const struct vdb_oid *old,
                            const struct vdb_oid *commit, grebe_error *err)
{
    char ref[VDB_REF_MAX];
    grebe_status st = vdb_ref_name(name, ref, err);
    if (st != GREBE_OK) {
        return st;
    }
    static const struct vdb_oid none;
    git_oid expected = vdb_git_oid(old != NULL ? old : &none);
    git_oid id = vdb_git_oid(commit);
    git_reference *made = NULL;
    int code = git_reference_create_matching(&made, r->git, ref, &id, 1, &expected, NULL);
    git_reference_free(made);
    if (code == GIT_EMODIFIED || code == GIT_ENOTFOUND) {
        return old == NULL ? GREBE_FAIL(err, GREBE_EEXISTS, "collection \"%s\" exists already", name) : moved(name, err);
    }
    return code < 0 ? vdb_git_fail(err, code, "%s", ref) : GREBE_OK;
}

grebe_status vdb_ref_delete(struct vdb_repo *r, const char *name, const struct vdb_oid *old,
                            grebe_error *err)
{
    char ref[VDB_REF_MAX];
    grebe_status st = vdb_ref_name(name, ref, err);
    if (st != GREBE_OK) {
        return st;
    }
    git_reference *reference = NULL;
    int code = git_reference_lookup(&reference, r->git, ref);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "no collection \"%s\" in %s", name, r->path);
    }
    if (code < 0) {
        return vdb_git_fail(err, code, "%s", ref);
    }
    const git_oid *target = git_reference_target(reference);
    git_oid expected = vdb_git_oid(old);
    if (target == NULL || git_oid_cmp(target, &expected) != 0) {
        st = moved(name, err);
    } else {
        code = git_reference_delete(reference); /* compares again, under the lock */
        if (code == GIT_EMODIFIED) {
            st = moved(name, err);
        } else if (code < 0) {
            st = vdb_git_fail(err, code, "%s", ref);
        }
    }
    git_reference_free(reference);
    return st;
}
