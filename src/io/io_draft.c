/* SPDX-License-Identifier: Apache-2.0 */
#include "io/io_draft.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/io_folder.h"

enum { DIGITS = 16 };
static const char mark[] = ".tmp-";

/* ---- locks ---- */

static bool is_folder_at(int fd, const char *path)
{
    struct stat mine, named;
    return fstat(fd, &mine) == 0 && lstat(path, &named) == 0 && mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* The folder, locked; -1: errno says why. EWOULDBLOCK: somebody has it, or had it and it is gone. */
static int lock_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    errno = 0;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_folder_at(fd, path)) {
        return fd;
    }
    const int failed = errno == 0 || errno == ENOENT || errno == EINTR ? EWOULDBLOCK : errno;
    close(fd);
    errno = failed;
    return -1;
}

static void unlock_folder(int fd)
{
    if (fd >= 0) {
        (void)flock(fd, LOCK_UN); /* a forked child may have the folder, too */
        close(fd);
    }
}

static void remove_folder(struct io_store *store, const char *folder)
{
    grebe_error err = GREBE_ERROR_INIT;
    if (io_folder_remove(store, folder, &err) != GREBE_OK) {
        context_log(store->ctx, GREBE_LOG_WARNING, "%s: cannot be removed", folder);
    }
}

/* ---- what killed processes have left ---- */

struct sweep {
    struct io_store *store;
    const char *path, *base; /* base: the last part of path */
};

static bool is_draft_of(const char *base, const char *name)
{
    const size_t len = strlen(base), n = len + sizeof mark - 1;
    bool is_ours = strncmp(name, base, len) == 0 && strncmp(name + len, mark, sizeof mark - 1) == 0 && strlen(name) == n + DIGITS;
    for (size_t i = 0; is_ours && i < DIGITS; i++) {
        is_ours = isxdigit((unsigned char)name[n + i]) != 0;
    }
    return is_ours;
}

static grebe_status sweep_entry(void *arg, const char *name, enum io_kind kind, grebe_error *err)
{
    const struct sweep *s = arg;
    struct buf left = BUF_INIT(s->store->ctx->a);
    if (kind != IO_FOLDER || !is_draft_of(s->base, name)) {
        return GREBE_OK;
    }
    grebe_status st = buf_put(&left, s->path, (size_t)(s->base - s->path), err);
    st = st == GREBE_OK ? buf_put_text(&left, name, err) : st;
    st = st == GREBE_OK && buf_text(&left) == NULL ? mem_fail(err, left.len, name) : st;
    if (st == GREBE_OK) {
        const int fd = lock_folder(buf_text(&left));
        if (fd >= 0) {
            remove_folder(s->store, buf_text(&left));
        }
        unlock_folder(fd);
    }
    buf_release(&left);
    return st;
}

/* ---- making one ---- */

/* The folder that path is in, made where it is missing, and without what was left in it. */
static grebe_status prepare_place(struct io_store *store, const char *path, grebe_error *err)
{
    const char *slash = strrchr(path, '/');
    struct sweep s = { store, path, slash != NULL ? slash + 1 : path };
    char *parent = slash == NULL ? str_copy(store->ctx->a, ".") : str_copy_len(store->ctx->a, path, slash == path ? 1 : (size_t)(slash - path));
    if (parent == NULL) {
        return mem_fail(err, strlen(path), path);
    }
    grebe_status st = io_make_folders(store, parent, false, err);
    if (st == GREBE_OK && io_list(store, parent, sweep_entry, &s, NULL) == GREBE_ENOMEM) { /* one that cannot be listed is not swept */
        st = mem_fail(err, strlen(path), parent);
    }
    str_free(store->ctx->a, parent);
    return st;
}

grebe_status io_draft_begin(struct io_store *store, const char *path, struct io_draft *out, grebe_error *err)
{
    const grebe_allocator *a = store->ctx->a;
    struct buf name = BUF_INIT(a);
    grebe_status st = GREBE_OK;
    *out = (struct io_draft){ store, NULL, -1 };
    GREBE_TRY(prepare_place(store, path, err));
    for (;;) {
        uint64_t random = 0;
        buf_clear(&name);
        GREBE_TRY(context_random(store->ctx, &random, sizeof random, err));
        GREBE_TRY(buf_printf(&name, err, "%s%s%016" PRIx64, path, mark, random));
        str_free(a, out->folder);
        out->folder = str_copy_len(a, (const char *)name.data, name.len);
        if (out->folder == NULL) {
            st = mem_fail(err, name.len, path);
            goto out;
        }
        GREBE_TRY(io_make_folders(store, out->folder, false, err));
        out->fd = lock_folder(out->folder);
        if (out->fd >= 0 || (errno != EWOULDBLOCK && errno != ENOENT)) {
            break; /* else a sweep was faster: it takes what is not locked yet */
        }
    }
out:
    buf_release(&name);
    return st;
}

grebe_status io_draft_publish(struct io_draft *d, const char *path, bool is_durable, grebe_error *err)
{
    bool was_there = false;
    grebe_status st = io_folder_publish(d->folder, path, is_durable, &was_there, err);
    if (was_there) {
        remove_folder(d->store, d->folder);
    }
    if (st == GREBE_OK || was_there) {
        str_free(d->store->ctx->a, d->folder);
        d->folder = NULL;
    }
    return st;
}

grebe_status io_draft_publish_new(struct io_draft *d, const char *path, bool is_durable, grebe_error *err)
{
    const grebe_status st = io_folder_publish_new(d->folder, path, is_durable, err);
    if (st == GREBE_OK || st == GREBE_EUNKNOWN_OUTCOME) { /* it has its name */
        str_free(d->store->ctx->a, d->folder);
        d->folder = NULL;
    }
    return st;
}

void io_draft_end(struct io_draft *d)
{
    if (d->folder != NULL) {
        remove_folder(d->store, d->folder);
        str_free(d->store->ctx->a, d->folder);
        d->folder = NULL;
    }
    unlock_folder(d->fd);
    d->fd = -1;
}
