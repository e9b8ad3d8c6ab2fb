/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References change as git changes them: the file NAME.lock is made (only one can), the old value is looked at, the new
 * one is written and synced, and the rename of the lock file is the moment at which it counts. No reflog is written.
 */
#include "git/git_repo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "git/git_library.h"
#include "git/git_temp.h"

enum { LOCK_WAIT_MS = 100 }; /* core.filesRefLockTimeout of git, its default */

struct ref_lock {
    struct buf path;   /* of the reference */
    struct buf lock;   /* path of the lock file */
    struct buf folder; /* of both */
    int fd;            /* -1: not held */
};

static void lock_release(struct ref_lock *l)
{
    if (l->fd >= 0) {
        close(l->fd);
        unlink(buf_text(&l->lock));
        l->fd = -1;
    }
    buf_release(&l->path);
    buf_release(&l->lock);
    buf_release(&l->folder);
}

static grebe_status locked_by_other(const char *lock, grebe_error *err)
{
    grebe_status st = GREBE_FAIL(err, GREBE_ECONFLICT, "%s: somebody else holds the lock", lock);
    if (err != NULL) {
        err->flags |= GREBE_ERROR_RETRYABLE;
        err->sys = EEXIST; /* the lock file: tells it from a reference that moved */
    }
    return st;
}

/* Make the lock file; waits a little for one that is there. */
static grebe_status lock_take(struct repo *r, const char *ref, struct ref_lock *l, grebe_error *err)
{
    struct io_store *files = NULL;
    grebe_status st = GREBE_OK;
    const char *slash = strrchr(ref, '/');
    int waited_ms = 0, n_made = 0;
    GREBE_TRY(buf_printf(&l->path, err, "%s/%s", r->common, ref));
    GREBE_TRY(buf_printf(&l->lock, err, "%s/%s.lock", r->common, ref));
    GREBE_TRY(buf_printf(&l->folder, err, "%s/%.*s", r->common, (int)(slash - ref), ref));
    for (int step_ms = 1;; step_ms *= 2) {
        l->fd = open(buf_text(&l->lock), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (l->fd >= 0) {
            break;
        }
        if (errno == ENOENT && n_made++ < 8) { /* git takes folders away that have become empty: again and again */
            if (files == NULL) {
                GREBE_TRY(io_local_new(r->ctx, &files, err));
            }
            GREBE_TRY(io_make_folders(files, buf_text(&l->folder), true, err));
            continue;
        }
        if (errno != EEXIST) {
            st = GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot make the lock file",
                                buf_text(&l->lock));
            break;
        }
        if (waited_ms >= LOCK_WAIT_MS) {
            st = locked_by_other(buf_text(&l->lock), err);
            break;
        }
        struct timespec pause = { 0, step_ms * 1000000L };
        nanosleep(&pause, NULL);
        waited_ms += step_ms;
    }
out:
    io_store_free(files);
    return st;
}

/* The lock file gets its bytes and becomes the reference. */
static grebe_status lock_commit(struct ref_lock *l, const struct repo_oid *oid, grebe_error *err)
{
    char line[REPO_OID_HEX + 2];
    repo_oid_hex(oid, line);
    line[REPO_OID_HEX] = '\n';
    const char *path = buf_text(&l->path);
    if (write(l->fd, line, REPO_OID_HEX + 1) != REPO_OID_HEX + 1 || fsync(l->fd) != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot write", buf_text(&l->lock));
    }
    if (rename(buf_text(&l->lock), path) != 0) {
        int failed = errno;
        /* a folder of this name that git left empty may go */
        if (failed != EISDIR || rmdir(path) != 0 || rename(buf_text(&l->lock), path) != 0) {
            return GREBE_FAIL_SYS(err, failed == EISDIR ? GREBE_EEXISTS : status_from_errno(failed), failed,
                                  "%s: cannot give it its name", path);
        }
    }
    close(l->fd);
    l->fd = -1;
    if (repo_sync_folder(buf_text(&l->folder), err) != GREBE_OK) {
        return error_wrap(err, GREBE_EUNKNOWN_OUTCOME, "the reference was changed");
    }
    return GREBE_OK;
}

static grebe_status moved(const char *name, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECONFLICT, "collection \"%s\" was changed by somebody else", name);
}

grebe_status repo_ref_update(struct repo *r, const char *name, const struct repo_oid *old,
                            const struct repo_oid *commit, grebe_error *err)
{
    char ref[REPO_REF_MAX];
    struct ref_lock lock = { BUF_INIT(r->a), BUF_INIT(r->a), BUF_INIT(r->a), -1 };
    struct repo_oid now;
    bool is_there = false;
    grebe_status st = GREBE_OK;
    GREBE_TRY(repo_ref_name(name, ref, err));
    GREBE_TRY(lock_take(r, ref, &lock, err));
    GREBE_TRY(repo_ref_value(r, ref, &is_there, &now, err));
    if (old == NULL && is_there) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "collection \"%s\" exists already", name);
        goto out;
    }
    if (old != NULL && (!is_there || !repo_oid_equal(&now, old))) {
        st = moved(name, err);
        goto out;
    }
    if (old == NULL) {
        GREBE_TRY(repo_ref_check_free(r, ref, err));
    }
    st = lock_commit(&lock, commit, err);
out:
    lock_release(&lock);
    return st;
}

grebe_status repo_ref_delete(struct repo *r, const char *name, const struct repo_oid *old, grebe_error *err)
{
    char ref[REPO_REF_MAX];
    git_repository *git = NULL;
    git_reference *reference = NULL;
    grebe_status st = repo_ref_name(name, ref, err);
    if (st == GREBE_OK) {
        st = repo_git(r, &git, err); /* packed-refs is written anew under a lock of its own: libgit2 knows how */
    }
    if (st != GREBE_OK) {
        return st;
    }
    int code = r->api.reference_lookup(&reference, git, ref);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "no collection \"%s\" in %s", name, r->path);
    }
    if (code < 0) {
        return repo_git_fail(r, err, code, "%s", ref);
    }
    const git_oid *target = r->api.reference_target(reference);
    if (target == NULL || memcmp(target->id, old->bytes, sizeof old->bytes) != 0) {
        st = moved(name, err);
    } else {
        code = r->api.reference_delete(reference); /* compares again, under the lock */
        if (code == GIT_EMODIFIED) {
            st = moved(name, err);
        } else if (code < 0) {
            st = repo_git_fail(r, err, code, "%s", ref);
        }
    }
    r->api.reference_free(reference);
    return st;
}
