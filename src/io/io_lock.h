/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IO_IO_LOCK_H
#define GREBE_IO_IO_LOCK_H

/*
 * One process at a time, and one of its threads: flock(2) on a file beside what is guarded, or on a folder. The kernel gives the lock back when
 * its holder dies, however that happens.
 */

#include "base/context_internal.h"

struct io_lock {
    int fd; /* -1: not held */
};
#define IO_LOCK_INIT { -1 }

/**
 * Wait for the lock.
 *
 * @param path The file; made if it is not there, and left there.
 * @return GREBE_OK; GREBE_ECANCELLED; GREBE_EIO.
 */
grebe_status io_lock_take(struct io_lock *lock, const char *path, const struct call *call, grebe_error *err);
/** The same on a folder, which is there. Where folders cannot be locked (some network file systems) none is taken. */
grebe_status io_lock_take_folder(struct io_lock *lock, const char *path, const struct call *call, grebe_error *err);
/** Take it if nobody has it. @param got Written. */
grebe_status io_lock_try(struct io_lock *lock, const char *path, bool *got, grebe_error *err);
void io_lock_drop(struct io_lock *lock); /* one that is not held is accepted */

#endif
