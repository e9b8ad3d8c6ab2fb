/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_update.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

grebe_status vdb_expect_check(const char *expect_root, grebe_error *err)
{
    size_t len = expect_root == NULL ? 1 : strlen(expect_root);
    for (size_t i = 0; expect_root != NULL && i < len; i++) {
        if (!isxdigit((unsigned char)expect_root[i])) {
            len = 0;
        }
    }
    if (len == 0 || len > REPO_OID_HEX) {
        char quoted[64];
        return GREBE_FAIL(err, GREBE_EINVAL, "expected root: expected up to 40 hexadecimal digits, found \"%s\"",
                          error_quote(quoted, sizeof quoted, expect_root, strlen(expect_root)));
    }
    return GREBE_OK;
}

grebe_status vdb_expect_root(const char *expect_root, const struct repo_oid *root, grebe_error *err)
{
    char hex[REPO_OID_HEX + 1];
    repo_oid_hex(root, hex);
    if (expect_root != NULL && strcmp(expect_root, hex) != 0) {
        return GREBE_FAIL(err, GREBE_ECONFLICT, "stale collection root: expected %s, actual %s", expect_root, hex);
    }
    return GREBE_OK;
}

grebe_status vdb_back_off(grebe_vdb *vdb, const struct vdb_work *work, unsigned attempt, grebe_error *err)
{
    uint16_t chance = 0;
    grebe_status st = context_random(vdb->ctx, &chance, sizeof chance, err);
    if (st == GREBE_OK && work->cancel != NULL && grebe_cancel_is_set(work->cancel)) {
        st = GREBE_FAIL(err, GREBE_ECANCELLED, "cancelled");
    }
    if (st == GREBE_OK) {
        long most_us = attempt < 6 ? 1000L << attempt : 64000;
        long us = 200 + most_us * chance / UINT16_MAX;
        struct timespec wait = { 0, us * 1000 };
        nanosleep(&wait, NULL);
    }
    return st;
}

grebe_status vdb_step_write(struct vdb_step *step, struct vdb_built *from, struct vdb_built *to, grebe_error *err)
{
    if (to == NULL) {
        step->root = from->root;
        return GREBE_OK;
    }
    grebe_status st = vdb_built_write(to, from, &step->work, step->pack, false, err);
    step->root = to->root;
    return st;
}

grebe_status vdb_publish(grebe_vdb *vdb, const char *name, const struct repo_oid *old, const struct repo_oid *commit,
                         struct repo_pack *pack, grebe_error *err)
{
    struct repo_oid now, root;
    grebe_status st = repo_ref_read(vdb->repo, name, &now, &root, err);
    bool is_there = st == GREBE_OK;
    if (st != GREBE_OK && st != GREBE_ENOTFOUND) {
        return st;
    }
    if (is_there != (old != NULL) || (is_there && !repo_oid_equal(&now, old))) { /* leaves no pack that nobody needs */
        st = GREBE_FAIL(err, GREBE_ECONFLICT, "somebody else committed meanwhile");
    } else {
        st = repo_pack_publish(pack, err);
        st = st == GREBE_OK ? repo_ref_update(vdb->repo, name, old, commit, err) : st;
    }
    st = st == GREBE_EEXISTS ? GREBE_ECONFLICT : st; /* somebody else made it first */
    if (err != NULL && st == GREBE_ECONFLICT) {
        err->flags |= GREBE_ERROR_RETRYABLE;
        err->status = st;
    }
    return st;
}

bool vdb_may_retry(grebe_status st, const grebe_error *e, unsigned attempt)
{
    if (st != GREBE_ECONFLICT || (e->flags & GREBE_ERROR_RETRYABLE) == 0) {
        return false;
    }
    /* a lock that stays is somebody's who was killed: about a second is enough to tell */
    return attempt < (e->sys == EEXIST ? VDB_LOCK_ATTEMPTS : VDB_UPDATE_ATTEMPTS);
}

static grebe_status run_step(struct vdb_step *step, const char *expect_root, vdb_make_fn make, void *arg,
                             grebe_error *err)
{
    struct repo_oid root, commit;
    grebe_status st;
    GREBE_TRY(repo_ref_read(step->vdb->repo, step->name, &step->commit, &root, err));
    GREBE_TRY(vdb_view_open(step->vdb, &root, &step->view, err));
    GREBE_TRY(vdb_expect_root(expect_root, &root, err));
    GREBE_TRY(repo_pack_begin(step->vdb->repo, &step->pack, err));
    GREBE_TRY(make(arg, step, err));
    if (step->is_settled) {
        if (step->has_second_parent) {
            st = vdb_publish(step->vdb, step->name, &step->commit, &step->second_parent, step->pack, err);
        }
        goto out;
    }
    const struct repo_oid *parents[] = { &step->commit, &step->second_parent };
    GREBE_TRY(repo_commit_add(step->pack, &step->root, parents, step->has_second_parent ? 2 : 1, step->message, &commit,
                             err));
    GREBE_TRY(vdb_publish(step->vdb, step->name, &step->commit, &commit, step->pack, err));
out:
    repo_pack_free(step->pack);
    step->pack = NULL;
    vdb_view_drop(step->view);
    step->view = NULL;
    return st;
}

grebe_status vdb_update(grebe_vdb *vdb, const char *name, const char *expect_root, const grebe_call_options *call,
                        vdb_make_fn make, void *arg, grebe_vdb_result **out, grebe_error *err)
{
    struct vdb_step step;
    grebe_vdb_result *result = NULL;
    *out = NULL;
    grebe_status st = repo_name_check(name, err);
    st = st == GREBE_OK ? vdb_expect_check(expect_root, err) : st;
    st = st == GREBE_OK ? vdb_write_result_new(vdb, &result, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    for (unsigned attempt = 0;; attempt++) {
        grebe_error first = GREBE_ERROR_INIT;
        step = (struct vdb_step){ .vdb = vdb, .name = name, .work = vdb_work_of(vdb, call) };
        st = run_step(&step, expect_root, make, arg, &first);
        if (!vdb_may_retry(st, &first, attempt)) {
            if (st != GREBE_OK && err != NULL) {
                *err = first;
            }
            break;
        }
        st = vdb_back_off(vdb, &step.work, attempt, err);
        if (st != GREBE_OK) {
            break;
        }
    }
    if (st == GREBE_OK) {
        vdb_write_result_fill(result, &step.root, step.affected);
    } else {
        error_wrap(err, st, "collection %s", name);
    }
    return vdb_result_end(st, &result, out);
}
