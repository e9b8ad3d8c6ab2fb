/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's file system: the one place of the library that makes system calls on files.
 * renameat2 and O_TMPFILE-like features need the GNU names.
 */
#define _GNU_SOURCE
#include "io/io.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"

enum { WRITE_BLOCK = 256 << 10, IO_CALL_MAX = 1 << 30, START_BYTES = 4 << 20 };

/* Wraps for times beyond the year 2262, which anybody may give to a file: it is compared only. */
static int64_t time_ns(const struct timespec *t)
{
    return (int64_t)((uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec);
}

static void fill_identity(const struct stat *st, struct io_identity *id)
{
    id->device = (uint64_t)st->st_dev;
    id->inode = (uint64_t)st->st_ino;
    id->size_bytes = (uint64_t)st->st_size;
    id->modified_ns = time_ns(&st->st_mtim);
    id->changed_ns = time_ns(&st->st_ctim);
}

/*
 * Never descriptor 0, 1 or 2: in a process that was started with a standard stream closed, whatever
 * is printed to that stream would be written into the file.
 */
static int open_beyond_standard(const char *path, int flags, mode_t mode)
{
    int fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int failed = errno;
    close(fd);
    errno = failed;
    return moved;
}

/* ---- reading ---- */

struct local_file {
    struct io_file file;
    int fd;
};

static grebe_status local_read_some(struct io_file *f, uint64_t offset, void *dst, size_t len,
                                    size_t *got, grebe_error *err)
{
    struct local_file *lf = (struct local_file *)f;
    for (;;) {
        ssize_t n = pread(lf->fd, dst, min_size(len, IO_CALL_MAX), (off_t)offset);
        if (n >= 0) {
            *got = (size_t)n;
            return GREBE_OK;
        }
        if (errno != EINTR) {
            return GREBE_FAIL_SYS(err, GREBE_EIO, errno, "%s: cannot read %zu bytes at %llu",
                                  f->path, len, (unsigned long long)offset);
        }
    }
}

static void unmap(struct region *r) { munmap(r->data, r->len); }

static grebe_status local_map(struct io_file *f, struct region **out, grebe_error *err)
{
    struct local_file *lf = (struct local_file *)f;
    *out = NULL;
    size_t len = (size_t)f->id.size_bytes;
    void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, lf->fd, 0);
    if (p == MAP_FAILED) {
        return GREBE_FAIL_SYS(err, errno == ENOMEM ? GREBE_ENOMEM : GREBE_EIO, errno,
                              "%s: cannot map %zu bytes", f->path, len);
    }
    grebe_status st = region_wrap(f->a, p, len, unmap, NULL, out, err);
    if (st != GREBE_OK) {
        munmap(p, len);
    } else {
        (*out)->is_file = true;
    }
    return st;
}

static void local_close(struct io_file *f)
{
    struct local_file *lf = (struct local_file *)f;
    if (lf->fd >= 0) {
        close(lf->fd);
    }
    str_free(f->a, f->path);
    mem_free(f->a, lf, sizeof *lf);
}

static const struct io_file_ops local_file_ops = { local_read_some, local_map, local_close };

static grebe_status local_open(struct io_store *s, const char *path, struct io_file **out,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct stat info;
    struct local_file *f = mem_alloc_zero(s->ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->file.ops = &local_file_ops;
    f->file.a = s->ctx->a;
    f->fd = -1;
    f->file.path = str_copy(s->ctx->a, path);
    if (f->file.path == NULL) {
        st = mem_fail(err, strlen(path), path);
        goto out;
    }
    /* O_NONBLOCK: opening a FIFO must not wait for a writer; regular files ignore it. */
    f->fd = open_beyond_standard(path, O_RDONLY | O_NONBLOCK, 0);
    if (f->fd < 0) {
        st = GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot open", path);
        goto out;
    }
    if (fstat(f->fd, &info) != 0) {
        st = GREBE_FAIL_SYS(err, GREBE_EIO, errno, "%s: cannot stat", path);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a file, found a %s", path,
                        S_ISDIR(info.st_mode) ? "folder" : "device or pipe");
        goto out;
    }
    fill_identity(&info, &f->file.id);
    *out = &f->file;
    f = NULL;
out:
    if (f != NULL) {
        local_close(&f->file);
    }
    return st;
}

/* ---- folders ---- */

static grebe_status local_stat(struct io_store *s, const char *path, struct io_info *out,
                               grebe_error *err)
{
    (void)s;
    struct stat st;
    if (stat(path, &st) != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s", path);
    }
    fill_identity(&st, &out->id);
    out->kind = S_ISREG(st.st_mode) ? IO_FILE : S_ISDIR(st.st_mode) ? IO_FOLDER : IO_OTHER;
    return GREBE_OK;
}

static grebe_status local_list(struct io_store *s, const char *path, io_list_fn fn, void *arg,
                               grebe_error *err)
{
    (void)s;
    grebe_status st = GREBE_OK;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot list", path);
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0) {
                st = GREBE_FAIL_SYS(err, GREBE_EIO, errno, "%s: cannot list", path);
            }
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        enum io_kind kind = entry->d_type == DT_REG   ? IO_FILE
                            : entry->d_type == DT_DIR ? IO_FOLDER
                                                      : IO_OTHER;
        struct stat info;
        if (entry->d_type == DT_UNKNOWN && /* a file system that does not tell */
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
            kind = S_ISREG(info.st_mode) ? IO_FILE : S_ISDIR(info.st_mode) ? IO_FOLDER : IO_OTHER;
        }
        st = fn(arg, entry->d_name, kind, err);
        if (st != GREBE_OK) {
            break;
        }
    }
    closedir(dir);
    return st;
}

static grebe_status sync_folder(const char *path, grebe_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return GREBE_FAIL_SYS(err, GREBE_EIO, errno, "%s: cannot open the folder to sync it",
                              path);
    }
    int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    /* Some file systems cannot sync folders and say so with EINVAL; there is nothing more to do. */
    if (failed != 0 && failed != EINVAL) {
        return GREBE_FAIL_SYS(err, GREBE_EIO, failed, "%s: cannot sync the folder", path);
    }
    return GREBE_OK;
}

/* The folder that holds path: "." or what stands before the last '/'. Appended with a NUL. */
static grebe_status parent_of(struct buf *dst, const char *path, grebe_error *err)
{
    size_t n = (size_t)(path_base_name(path) - path);
    grebe_status st = n == 0 ? buf_put_text(dst, ".", err) : buf_put(dst, path, n, err);
    if (st == GREBE_OK) {
        st = buf_put_byte(dst, '\0', err);
    }
    return st;
}

static grebe_status make_one(char *path, bool is_durable, grebe_error *err)
{
    if (mkdir(path, 0777) == 0) {
        if (!is_durable) {
            return GREBE_OK;
        }
        char *slash = strrchr(path, '/');
        const char *parent = slash == NULL ? "." : slash == path ? "/" : path;
        if (slash != NULL && slash != path) {
            *slash = '\0';
        }
        grebe_status st = sync_folder(parent, err);
        if (slash != NULL && slash != path) {
            *slash = '/';
        }
        return st;
    }
    int failed = errno;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return GREBE_OK;
    }
    grebe_status code = failed == EEXIST || failed == ENOTDIR ? GREBE_EEXISTS
                                                              : status_from_errno(failed);
    return GREBE_FAIL_SYS(err, code, failed, "%s: cannot make the folder", path);
}

static grebe_status local_make_folders(struct io_store *s, const char *path, bool is_durable,
                                       grebe_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return GREBE_OK;
    }
    char *copy = str_copy(s->ctx->a, path);
    if (copy == NULL) {
        return mem_fail(err, strlen(path), path);
    }
    grebe_status st = GREBE_OK;
    for (char *p = copy; st == GREBE_OK && *p != '\0'; p++) {
        if (*p == '/' && p != copy && p[-1] != '/') {
            *p = '\0';
            st = make_one(copy, is_durable, err);
            *p = '/';
        }
    }
    if (st == GREBE_OK && copy[0] != '\0') {
        st = make_one(copy, is_durable, err);
    }
    str_free(s->ctx->a, copy);
    return st;
}

static grebe_status local_remove(struct io_store *s, const char *path, grebe_error *err)
{
    (void)s;
    if (unlink(path) != 0 && (errno != EISDIR || rmdir(path) != 0)) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot remove", path);
    }
    return GREBE_OK;
}

/* ---- writing ---- */

struct local_writer {
    struct io_writer writer;
    int fd;
    char *temporary;
    unsigned char *block; /* small writes are gathered here */
    size_t n_block;
    uint64_t end, started; /* of what was handed to the system; up to where the disk was told of it */
};

/*
 * What will be synced at the end is sent to the disk while the rest is made: a wish, and no promise that it is there.
 * Safe from many threads.
 */
static void start_writing(const struct local_writer *w, uint64_t offset, uint64_t len)
{
#ifdef SYNC_FILE_RANGE_WRITE
    if (w->writer.is_durable) {
        (void)sync_file_range(w->fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE);
    }
#else
    (void)w, (void)offset, (void)len;
#endif
}

static grebe_status write_out(struct local_writer *w, const unsigned char *p, size_t len,
                              grebe_error *err)
{
    while (len > 0) {
        ssize_t n = write(w->fd, p, min_size(len, IO_CALL_MAX));
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot write",
                                  w->writer.path);
        }
        p += n;
        len -= (size_t)n;
        w->end += (uint64_t)n;
    }
    if (w->end - w->started >= START_BYTES) {
        start_writing(w, w->started, w->end - w->started);
        w->started = w->end;
    }
    return GREBE_OK;
}

static grebe_status flush_block(struct local_writer *w, grebe_error *err)
{
    if (w->n_block == 0) {
        return GREBE_OK;
    }
    grebe_status st = write_out(w, w->block, w->n_block, err);
    w->n_block = 0;
    return st;
}

static grebe_status local_write(struct io_writer *iw, const void *bytes, size_t len,
                                grebe_error *err)
{
    struct local_writer *w = (struct local_writer *)iw;
    if (w->n_block + len > WRITE_BLOCK) {
        grebe_status st = flush_block(w, err);
        if (st != GREBE_OK || len >= WRITE_BLOCK) {
            return st != GREBE_OK ? st : write_out(w, bytes, len, err);
        }
    }
    memcpy(w->block + w->n_block, bytes, len);
    w->n_block += len;
    return GREBE_OK;
}

/* from gets the name to unless that is taken. Returns 0 or an errno value. */
static int rename_if_absent(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    /* File systems without RENAME_NOREPLACE (NFS, some FUSE): a hard link is put-if-absent too. */
    if (link(from, to) != 0) {
        return errno;
    }
    unlink(from);
    return 0;
}

/*
 * What a failed rename or link really did. Over a network the answer can get lost after the
 * deed, and the call that is sent again finds the name taken: by us (open(2), "O_EXCL").
 *
 * @param made The file that was to get the name.
 * @return 0: it has the name; the errno value: it has not; -1: nobody can tell.
 */
static int outcome_of_naming(const struct stat *made, const char *to, int failed)
{
    static const int definite[] = { EACCES, EDQUOT,       EEXIST, EINVAL, EISDIR,  ELOOP,  EMLINK,
                                    ENOENT, ENAMETOOLONG, ENOMEM, ENOSPC, ENOTDIR, ENOTEMPTY,
                                    EPERM,  EROFS,        EXDEV,  EBUSY };
    struct stat there;
    if (failed == 0 || (stat(to, &there) == 0 && there.st_dev == made->st_dev &&
                        there.st_ino == made->st_ino)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof definite / sizeof definite[0]; i++) {
        if (failed == definite[i]) {
            return failed;
        }
    }
    return -1;
}

/* Renaming would put a file where a device, pipe or socket was, such as /dev/null. */
static grebe_status check_replaceable(const char *path, grebe_error *err)
{
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode) && !S_ISDIR(there.st_mode)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a file, found a device or pipe", path);
    }
    return GREBE_OK;
}

static grebe_status local_publish(struct io_writer *iw, bool is_replace, grebe_error *err)
{
    struct local_writer *w = (struct local_writer *)iw;
    grebe_status st = is_replace ? check_replaceable(iw->path, err) : GREBE_OK;
    st = st == GREBE_OK ? flush_block(w, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    if (iw->is_durable && fsync(w->fd) != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot sync", iw->path);
    }
    struct stat made;
    if (fstat(w->fd, &made) != 0) {
        return GREBE_FAIL_SYS(err, GREBE_EIO, errno, "%s: cannot stat", iw->path);
    }
    int closed = close(w->fd) != 0 ? errno : 0;
    w->fd = -1;
    if (closed != 0 && closed != EINTR) {
        return GREBE_FAIL_SYS(err, status_from_errno(closed), closed, "%s: cannot close",
                              iw->path);
    }
    int failed = 0;
    if (is_replace) {
        failed = rename(w->temporary, iw->path) != 0 ? errno : 0;
    } else {
        failed = rename_if_absent(w->temporary, iw->path);
    }
    int outcome = outcome_of_naming(&made, iw->path, failed);
    if (outcome < 0) {
        return GREBE_FAIL_SYS(err, GREBE_EUNKNOWN_OUTCOME, failed,
                              "%s: cannot tell whether the file got its name", iw->path);
    }
    if (outcome == EEXIST) {
        return GREBE_FAIL(err, GREBE_EEXISTS, "%s: exists already", iw->path);
    }
    if (outcome != 0) {
        return GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot name the file",
                              iw->path);
    }
    if (failed != 0) {
        unlink(w->temporary); /* the second name of the same file */
    }
    iw->is_published = true;
    if (!iw->is_durable) {
        return GREBE_OK;
    }
    struct buf parent = BUF_INIT(iw->a);
    st = parent_of(&parent, iw->path, err);
    if (st == GREBE_OK) {
        st = sync_folder((const char *)parent.data, err);
    }
    buf_release(&parent);
    if (st != GREBE_OK && err != NULL) {
        err->status = GREBE_EUNKNOWN_OUTCOME;
    }
    return st == GREBE_OK ? GREBE_OK
                          : error_wrap(err, GREBE_EUNKNOWN_OUTCOME, "%s: is named", iw->path);
}

static void local_writer_free(struct io_writer *iw)
{
    struct local_writer *w = (struct local_writer *)iw;
    if (w->fd >= 0) {
        close(w->fd);
    }
    if (!iw->is_published && w->temporary != NULL) {
        unlink(w->temporary);
    }
    str_free(iw->a, w->temporary);
    str_free(iw->a, iw->path);
    mem_free(iw->a, w->block, WRITE_BLOCK);
    mem_free(iw->a, w, sizeof *w);
}

static const struct io_writer_ops local_writer_ops = { local_write, local_publish,
                                                       local_writer_free };

const char *io_writer_local_path(const struct io_writer *w)
{
    return w->ops == &local_writer_ops ? ((const struct local_writer *)(const void *)w)->temporary : NULL;
}

grebe_status io_writer_flush(struct io_writer *iw, grebe_error *err)
{
    return iw->ops == &local_writer_ops ? flush_block((struct local_writer *)iw, err) : GREBE_OK;
}

grebe_status io_writer_patch(struct io_writer *iw, uint64_t offset, const void *bytes, size_t len, grebe_error *err)
{
    struct local_writer *w = (struct local_writer *)iw;
    if (iw->ops != &local_writer_ops) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: this store writes files from front to back alone", iw->path);
    }
    if (!range_fits_u64(offset, len, iw->n_written)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place below %llu, found %llu", iw->path,
                          (unsigned long long)iw->n_written, (unsigned long long)(offset + len));
    }
    /* What was left out lies before what is gathered: then the writer is not changed, as many threads may be here. */
    grebe_status st = offset + len > w->end ? flush_block(w, err) : GREBE_OK;
    const unsigned char *p = bytes;
    const uint64_t begin = offset, all = len;
    while (st == GREBE_OK && len > 0) {
        ssize_t n = pwrite(w->fd, p, min_size(len, IO_CALL_MAX), (off_t)offset);
        if (n < 0 && errno != EINTR) {
            st = GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot write", iw->path);
        } else if (n > 0) {
            p += n;
            offset += (uint64_t)n;
            len -= (size_t)n;
        }
    }
    if (st == GREBE_OK && all >= START_BYTES / 4) {
        start_writing(w, begin, all);
    }
    return st;
}

grebe_status io_writer_skip(struct io_writer *iw, uint64_t n, grebe_error *err)
{
    static const unsigned char zeros[4096];
    struct local_writer *w = (struct local_writer *)iw;
    if (iw->ops != &local_writer_ops) { /* no holes elsewhere */
        grebe_status st = GREBE_OK;
        for (uint64_t left = n; left > 0 && st == GREBE_OK; left -= min_u64(left, sizeof zeros)) {
            st = io_write(iw, zeros, (size_t)min_u64(left, sizeof zeros), err);
        }
        return st;
    }
    uint64_t end = 0;
    grebe_status st = flush_block(w, err);
    errno = 0;
    if (st == GREBE_OK && (!checked_add_u64(iw->n_written, n, &end) || end > (uint64_t)INT64_MAX ||
                           ftruncate(w->fd, (off_t)end) != 0 || lseek(w->fd, (off_t)end, SEEK_SET) < 0)) {
        st = GREBE_FAIL_SYS(err, errno != 0 ? status_from_errno(errno) : GREBE_ELIMIT, errno,
                            "%s: cannot make room for %llu bytes", iw->path, (unsigned long long)n);
    }
    if (st == GREBE_OK) {
        iw->n_written = w->end = w->started = end;
    }
    return st;
}

/* ".tmp-<pid>-<random>" beside the file: never a name that some reader would take for data. */
static grebe_status temporary_name(struct io_store *s, const char *path, char **out,
                                   grebe_error *err)
{
    struct buf b = BUF_INIT(s->ctx->a);
    unsigned char r[8];
    grebe_status st = context_random(s->ctx, r, sizeof r, err);
    if (st == GREBE_OK) {
        st = buf_put(&b, path, (size_t)(path_base_name(path) - path), err);
    }
    if (st == GREBE_OK) {
        st = buf_printf(&b, err, ".tmp-%ld-%02x%02x%02x%02x%02x%02x%02x%02x", (long)getpid(),
                        r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]);
    }
    if (st == GREBE_OK) {
        *out = str_copy_len(s->ctx->a, (const char *)b.data, b.len);
        if (*out == NULL) {
            st = mem_fail(err, b.len, "a name");
        }
    }
    buf_release(&b);
    return st;
}

static grebe_status local_create(struct io_store *s, const char *path, bool is_durable,
                                 struct io_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    struct local_writer *w = mem_alloc_zero(a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, path);
    }
    w->writer.ops = &local_writer_ops;
    w->writer.a = a;
    w->writer.is_durable = is_durable;
    w->fd = -1;
    w->writer.path = str_copy(a, path);
    w->block = mem_alloc(a, WRITE_BLOCK);
    if (w->writer.path == NULL || w->block == NULL) {
        st = mem_fail(err, WRITE_BLOCK, path);
        goto out;
    }
    GREBE_TRY(temporary_name(s, path, &w->temporary, err));
    w->fd = open_beyond_standard(w->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (w->fd < 0) {
        int failed = errno;
        str_free(a, w->temporary);
        w->temporary = NULL;
        st = GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "%s: cannot create", path);
        goto out;
    }
    *out = &w->writer;
    w = NULL;
out:
    if (w != NULL) {
        local_writer_free(&w->writer);
    }
    return st;
}

static void local_free(struct io_store *s) { mem_free(s->ctx->a, s, sizeof *s); }

static const struct io_store_ops local_store_ops = { local_open,   local_stat,   local_list,
                                                     local_make_folders, local_remove,
                                                     local_create, local_free };

grebe_status io_local_new(grebe_context *ctx, struct io_store **out, grebe_error *err)
{
    struct io_store *s = mem_alloc_zero(ctx->a, sizeof *s);
    *out = s;
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a store");
    }
    s->ops = &local_store_ops;
    s->ctx = ctx;
    s->cache_scope = &local_store_ops;
    return GREBE_OK;
}
