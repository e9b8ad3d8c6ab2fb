/* SPDX-License-Identifier: Apache-2.0 */
#include "io/io_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whoever clears the folder may have removed the file between opening and locking it: then the lock guards nothing. */
static bool is_file_at(int fd, const char *path)
{
    struct stat mine, named;
    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* 1: held; 0: somebody else has it; -1: failed, errno is set. */
static int try_lock(struct io_lock *lock, const char *path, int how)
{
    int fd = open(path, how | O_CLOEXEC, 0666);
    if (fd < 0) {
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_file_at(fd, path)) {
        lock->fd = fd;
        return 1;
    }
    int failed = errno;
    close(fd);
    errno = failed;
    return failed == 0 || failed == EWOULDBLOCK || failed == EINTR || failed == ENOENT ? 0 : -1;
}

static grebe_status take(struct io_lock *lock, const char *path, int how, const struct call *call, grebe_error *err)
{
    long wait_ms = 2;
    lock->fd = -1;
    for (;;) {
        errno = 0;
        int got = try_lock(lock, path, how);
        const bool is_without = got < 0 && (how & O_DIRECTORY) != 0 && (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EBADF);
        if (got > 0 || is_without) {
            return GREBE_OK;
        }
        if (got < 0) {
            return GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot lock", path);
        }
        grebe_status st = call_check(call, err);
        if (st != GREBE_OK) {
            return st;
        }
        struct timespec pause = { 0, wait_ms * 1000000 };
        nanosleep(&pause, NULL);
        wait_ms = wait_ms < 50 ? wait_ms * 2 : 50;
    }
}

grebe_status io_lock_take(struct io_lock *lock, const char *path, const struct call *call, grebe_error *err)
{
    return take(lock, path, O_RDWR | O_CREAT, call, err);
}

grebe_status io_lock_take_folder(struct io_lock *lock, const char *path, const struct call *call, grebe_error *err)
{
    return take(lock, path, O_RDONLY | O_DIRECTORY, call, err);
}

grebe_status io_lock_try(struct io_lock *lock, const char *path, bool *got, grebe_error *err)
{
    lock->fd = -1;
    errno = 0;
    int is_mine = try_lock(lock, path, O_RDWR | O_CREAT);
    *got = is_mine > 0;
    return is_mine >= 0 ? GREBE_OK
                        : GREBE_FAIL_SYS(err, status_from_errno(errno), errno, "%s: cannot lock", path);
}

void io_lock_drop(struct io_lock *lock)
{
    if (lock->fd >= 0) {
        (void)flock(lock->fd, LOCK_UN); /* a forked child may have the file, too */
        close(lock->fd);
        lock->fd = -1;
    }
}
