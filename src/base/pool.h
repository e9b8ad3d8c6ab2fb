/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_POOL_H
#define GREBE_BASE_POOL_H

/*
 * Worker threads. Two forms of work: parallel_for (n equal pieces, the caller takes part) and
 * tasks (started early, waited for later). A waiter runs a task that no worker has begun, so
 * everything finishes with no worker at all and nesting cannot deadlock. Who has nothing to do but to
 * wait for a task may lend its thread to whatever is queued (task_wait_helping): `threads` - 1 workers and
 * the caller then make `threads`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "grebe/context.h"

struct pool;

/** @param out Owned, free with pool_free(). Threads are started when there is work for them. */
grebe_status pool_new(const grebe_allocator *a, struct pool **out, grebe_error *err);
/** Waits for running workers. No task may be pending. NULL accepted. */
void pool_free(struct pool *p);

/** One piece of work. Returns GREBE_OK, or a failure with err filled. */
typedef grebe_status (*pool_fn)(void *arg, size_t i, grebe_error *err);

/**
 * Call fn(arg, i) for every i in [0, n) on up to `threads` threads, the caller's included.
 * After a failure or a set cancel token no further piece is begun.
 *
 * @param p       NULL: everything runs on the caller's thread.
 * @param cancel  NULL: cannot be cancelled.
 * @return GREBE_OK; the failure of the lowest i that failed; GREBE_ECANCELLED.
 */
grebe_status parallel_for(struct pool *p, uint32_t threads, size_t n, pool_fn fn, void *arg,
                          const grebe_cancel *cancel, grebe_error *err);

enum task_state { TASK_IDLE = 0, TASK_QUEUED, TASK_RUNNING, TASK_DONE };

/** A task that is started now and waited for later. Zero-initialise; must not move meanwhile. */
struct task {
    grebe_status (*fn)(void *arg, grebe_error *err);
    void *arg;
    enum task_state state; /* guarded by the pool's lock */
    grebe_status status;
    grebe_error error;
    struct task *next, *prev;
    struct pool *pool;
};

/**
 * Queue the task; at most `threads` - 1 workers serve the queue.
 *
 * @param p NULL: it runs when it is waited for.
 */
void task_start(struct pool *p, uint32_t threads, struct task *t,
                grebe_status (*fn)(void *arg, grebe_error *err), void *arg);

/** Wait for a started task (running it here if nobody has begun it) and take its result. */
grebe_status task_wait(struct task *t, grebe_error *err);

/**
 * As task_wait, but while a worker runs the task, queued ones are run here, of whatever caller, the oldest first.
 * It may come back a task's time later than task_wait, so it is for who waits for a result that others queue
 * behind, such as a scan's next rows. The caller holds no lock.
 */
grebe_status task_wait_helping(struct task *t, grebe_error *err);

/** As task_wait, but a task that nobody has begun is dropped without running. */
void task_abandon(struct task *t);

#endif
