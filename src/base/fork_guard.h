/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_FORK_GUARD_H
#define GREBE_BASE_FORK_GUARD_H

/*
 * Which process a shared structure belongs to. After fork() the child holds a copy of locks that
 * nobody will release; the first thread there that comes by makes them new, the others wait
 * until it has done so.
 */

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

/** The owner; minus the owner while one of its threads makes things new. */
typedef _Atomic(pid_t) fork_guard;

/** true: the caller must reset what is guarded, then call fork_guard_end(). false: all is well. */
static inline bool fork_guard_begin(fork_guard *owner)
{
    const pid_t now = getpid();
    for (;;) {
        pid_t seen = atomic_load(owner);
        if (seen == now) {
            return false;
        }
        if (seen == -now) {
            sched_yield();
        } else if (atomic_compare_exchange_strong(owner, &seen, -now)) {
            return true;
        }
    }
}

static inline void fork_guard_end(fork_guard *owner) { atomic_store(owner, getpid()); }

#endif
