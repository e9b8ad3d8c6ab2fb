/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_temp.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checked.h"

enum { CALL_MAX = 1 << 30, TRIES = 16 };

static grebe_status fail(const struct repo_temp *t, const char *what, int sys, grebe_error *err)
{
    return GREBE_FAIL_SYS(err, status_from_errno(sys), sys, "%s: cannot %s", t->path, what);
}

grebe_status repo_temp_create(grebe_context *ctx, const char *folder, const char *prefix, struct repo_temp *out,
                             grebe_error *err)
{
    *out = (struct repo_temp)REPO_TEMP_INIT;
    out->a = ctx->a;
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(ctx->a);
    int failed = 0;
    for (int i = 0; i < TRIES && out->fd < 0; i++) {
        uint64_t r = 0;
        GREBE_TRY(context_random(ctx, &r, sizeof r, err));
        buf_clear(&path);
        GREBE_TRY(buf_printf(&path, err, "%s/%s%016llx", folder, prefix, (unsigned long long)r));
        out->fd = open(buf_text(&path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
        failed = errno;
        if (out->fd < 0 && failed == ENOENT) { /* git removes folders that are empty */
            (void)mkdir(folder, 0777);
        } else if (out->fd < 0 && failed != EEXIST) {
            break;
        }
    }
    if (out->fd < 0) {
        st = GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot make a file", folder);
        goto out;
    }
    out->path = str_copy_len(ctx->a, (const char *)path.data, path.len);
    if (out->path == NULL) {
        st = mem_fail(err, path.len, "a path");
        close(out->fd);
        out->fd = -1;
        unlink(buf_text(&path));
    }
out:
    buf_release(&path);
    return st;
}

static grebe_status write_at(struct repo_temp *t, uint64_t offset, const unsigned char *p, size_t len, grebe_error *err)
{
    while (len > 0) {
        ssize_t n = pwrite(t->fd, p, min_size(len, CALL_MAX), (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return fail(t, "write", n < 0 ? errno : ENOSPC, err);
        }
        p += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return GREBE_OK;
}

grebe_status repo_temp_write(struct repo_temp *t, const void *bytes, size_t len, grebe_error *err)
{
    grebe_status st = write_at(t, t->len, bytes, len, err);
    t->len += len;
    return st;
}

grebe_status repo_temp_patch(struct repo_temp *t, uint64_t offset, const void *bytes, size_t len, grebe_error *err)
{
    assert(range_fits_u64(offset, len, t->len));
    return write_at(t, offset, bytes, len, err);
}

grebe_status repo_temp_read(struct repo_temp *t, uint64_t offset, void *dst, size_t len, grebe_error *err)
{
    unsigned char *p = dst;
    while (len > 0) {
        ssize_t n = pread(t->fd, p, min_size(len, CALL_MAX), (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return fail(t, "read", n < 0 ? errno : EIO, err);
        }
        p += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return GREBE_OK;
}

grebe_status repo_temp_sync(struct repo_temp *t, grebe_error *err)
{
    return fsync(t->fd) != 0 ? fail(t, "sync", errno, err) : GREBE_OK;
}

/* `git gc --prune=now` of somebody else took the name away: the bytes are still behind the descriptor. */
static grebe_status write_anew(struct repo_temp *t, grebe_error *err)
{
    unsigned char bytes[1 << 14];
    struct repo_temp again = { t->a, open(t->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444), t->path, 0 };
    grebe_status st = again.fd < 0 ? fail(t, "write it anew", errno, err) : GREBE_OK;
    while (st == GREBE_OK && again.len < t->len) {
        size_t n = (size_t)min_u64(sizeof bytes, t->len - again.len);
        st = repo_temp_read(t, again.len, bytes, n, err);
        st = st == GREBE_OK ? repo_temp_write(&again, bytes, n, err) : st;
    }
    st = st == GREBE_OK ? repo_temp_sync(&again, err) : st;
    if (again.fd >= 0) {
        close(t->fd);
        t->fd = again.fd;
    }
    return st;
}

grebe_status repo_temp_rename(struct repo_temp *t, const char *path, grebe_error *err)
{
    int failed = rename(t->path, path) == 0 ? 0 : errno;
    for (int i = 0; i < TRIES && failed == ENOENT; i++) {
        grebe_status st = write_anew(t, err);
        if (st != GREBE_OK) {
            return st;
        }
        failed = rename(t->path, path) == 0 ? 0 : errno;
    }
    if (failed != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot give it its name", path);
    }
    str_free(t->a, t->path);
    t->path = NULL;
    int fd = t->fd;
    t->fd = -1;
    if (close(fd) != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot close", path);
    }
    return GREBE_OK;
}

void repo_temp_release(struct repo_temp *t)
{
    if (t->fd >= 0) {
        close(t->fd);
        t->fd = -1;
    }
    if (t->path != NULL) {
        unlink(t->path);
        str_free(t->a, t->path);
        t->path = NULL;
    }
}

grebe_status repo_sync_folder(const char *path, grebe_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot open the folder to sync it", path);
    }
    int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    /* some file systems cannot sync folders and say so with EINVAL */
    if (failed != 0 && failed != EINVAL) {
        return GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot sync the folder", path);
    }
    return GREBE_OK;
}
