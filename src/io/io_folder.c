/* SPDX-License-Identifier: Apache-2.0 */
/* renameat2 needs the GNU names. */
#define _GNU_SOURCE
#include "io/io_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static grebe_status sync_parent(const grebe_allocator *a, const char *path, grebe_error *err)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash == NULL ? str_copy(a, ".") : str_copy_len(a, path, slash == path ? 1 : (size_t)(slash - path));
    if (parent == NULL) {
        return mem_fail(err, strlen(path), path);
    }
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    str_free(a, parent);
    return failed == 0
               ? GREBE_OK
               : GREBE_FAIL_SYS(err, GREBE_EUNKNOWN_OUTCOME, failed, "%s: is named, its folder cannot be synced", path);
}

grebe_status io_folder_publish(const char *made, const char *path, bool is_durable, bool *was_there, grebe_error *err)
{
    *was_there = false;
    int failed = renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
    if (failed == EEXIST || failed == ENOTEMPTY) {
        failed = renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_EXCHANGE) == 0 ? 0 : errno;
        *was_there = failed == 0;
    }
    if (failed == EINVAL || failed == ENOSYS) { /* a file system that knows neither */
        struct stat info;
        char aside[4096];
        failed = 0;
        if (stat(path, &info) == 0) {
            int n = snprintf(aside, sizeof aside, "%s.old", made);
            failed = n < 0 || (size_t)n >= sizeof aside ? ENAMETOOLONG : rename(path, aside) != 0 ? errno : 0;
            *was_there = failed == 0;
        }
        if (failed == 0 && rename(made, path) != 0) {
            failed = errno;
        }
        if (*was_there && rename(aside, failed == 0 ? made : path) != 0 && failed == 0) {
            failed = errno;
        }
    }
    if (failed != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot name the folder", path);
    }
    return is_durable ? sync_parent(mem_system(), path, err) : GREBE_OK;
}

grebe_status io_folder_publish_new(const char *made, const char *path, bool is_durable, grebe_error *err)
{
    if (rename(made, path) == 0) { /* of folders, POSIX replaces an empty one alone */
        return is_durable ? sync_parent(mem_system(), path, err) : GREBE_OK;
    }
    const int failed = errno;
    const bool is_taken = failed == EEXIST || failed == ENOTEMPTY || failed == ENOTDIR;
    return GREBE_FAIL_SYS(err, is_taken ? GREBE_EEXISTS : status_from_errno(failed), failed, "%s: %s", path,
                          is_taken ? "expected nothing or an empty folder: something came there meanwhile" : "cannot name the folder");
}

grebe_status io_folder_resolve(const char *path, struct buf *dst, grebe_error *err)
{
    char real[PATH_MAX];
    struct stat info;
    const char *found = realpath(path, real);
    const int failed = found == NULL ? errno : 0;
    if (failed == ENOENT && lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        return GREBE_FAIL(err, GREBE_EEXISTS, "%s: a link that leads to nothing", path);
    }
    if (failed != 0 && failed != ENOENT) {
        return GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot be found", path);
    }
    found = found != NULL ? found : path;
    return buf_put(dst, found, strlen(found) + 1, err);
}

struct removal {
    struct io_store *store;
    const char *path;
    int depth;
};

static grebe_status remove_tree(struct io_store *s, const char *path, int depth, grebe_error *err);

static grebe_status remove_entry(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    const struct removal *r = arg;
    struct buf path = BUF_INIT(r->store->ctx->a);
    grebe_status st = buf_printf(&path, err, "%s/%s", r->path, name);
    if (st == GREBE_OK) {
        const char *text = buf_text(&path);
        st = text == NULL        ? mem_fail(err, path.len, name)
             : kind == IO_FOLDER ? remove_tree(r->store, text, r->depth + 1, err)
                                 : io_remove(r->store, text, err);
    }
    buf_release(&path);
    return st;
}

static grebe_status remove_tree(struct io_store *s, const char *path, int depth, grebe_error *err)
{
    enum { DEPTH_MAX = 64 };
    struct removal r = { s, path, depth };
    if (depth > DEPTH_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: more than %d folders deep", path, DEPTH_MAX);
    }
    grebe_status st = io_list(s, path, remove_entry, &r, err);
    return st == GREBE_OK ? io_remove(s, path, err) : st;
}

grebe_status io_folder_remove(struct io_store *s, const char *path, grebe_error *err)
{
    struct stat info;
    if (lstat(path, &info) != 0) {
        return errno == ENOENT ? GREBE_OK
                               : GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot be removed", path);
    }
    if (!S_ISDIR(info.st_mode)) {
        return io_remove(s, path, err);
    }
    return remove_tree(s, path, 0, err);
}
