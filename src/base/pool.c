/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *  1. Everything in struct pool is guarded by pool.lock, except `pid`.
 *  2. A task is in the queue exactly while its state is TASK_QUEUED.
 *  3. Workers leave only in pool_free(). In a forked child no worker exists: the first use
 *     there notices the other pid and starts from an empty pool (fork_child_reset).
 */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/context_internal.h"
#include "base/fork_guard.h"

enum { WORKERS_MAX = 256 };

struct pool {
    const grebe_allocator *a;
    fork_guard pid;
    pthread_mutex_t lock;
    pthread_cond_t work;     /* a task was queued, or the pool closes */
    pthread_cond_t finished; /* some task is done, or one was queued and no worker is idle */
    struct task *first, *last;
    pthread_t workers[WORKERS_MAX];
    uint32_t n_workers;
    uint32_t n_idle;
    uint32_t n_helpers; /* of the waiters for `finished`: those that would run a queued task */
    bool is_closing;
};

static void init_sync(struct pool *p)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finished, NULL);
}

grebe_status pool_new(const grebe_allocator *a, struct pool **out, grebe_error *err)
{
    struct pool *p = mem_alloc_zero(a, sizeof *p);
    *out = p;
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a thread pool");
    }
    p->a = a;
    atomic_init(&p->pid, getpid());
    init_sync(p);
    return GREBE_OK;
}

/* The child of a fork has one thread and a copy of a lock that nobody will release. */
static void fork_child_reset(struct pool *p)
{
    if (fork_guard_begin(&p->pid)) {
        init_sync(p);
        p->first = NULL;
        p->last = NULL;
        p->n_workers = 0;
        p->n_idle = 0;
        p->n_helpers = 0;
        p->is_closing = false;
        fork_guard_end(&p->pid);
    }
}

static void unlink_task(struct pool *p, struct task *t)
{
    assert(t->state == TASK_QUEUED);
    *(t->prev == NULL ? &p->first : &t->prev->next) = t->next;
    *(t->next == NULL ? &p->last : &t->next->prev) = t->prev;
    t->next = NULL;
    t->prev = NULL;
}

/* Called with the lock held and t out of the queue; holds the lock again on return. */
static void run_task(struct pool *p, struct task *t)
{
    t->state = TASK_RUNNING;
    pthread_mutex_unlock(&p->lock);
    grebe_status st = t->fn(t->arg, &t->error);
    pthread_mutex_lock(&p->lock);
    t->status = st;
    t->state = TASK_DONE;
    pthread_cond_broadcast(&p->finished);
}

static void *worker_main(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->first == NULL && !p->is_closing) {
            p->n_idle++;
            pthread_cond_wait(&p->work, &p->lock);
            p->n_idle--;
        }
        if (p->first == NULL) {
            break;
        }
        struct task *t = p->first;
        unlink_task(p, t);
        run_task(p, t);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* With the lock held. A thread that cannot be started is no failure: waiters do the work. */
static void start_workers(struct pool *p, uint32_t wanted)
{
    sigset_t all, old;
    if (wanted > WORKERS_MAX) {
        wanted = WORKERS_MAX;
    }
    if (p->n_workers >= wanted) {
        return;
    }
    /* Signals belong to the threads of the program, not to ours. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (p->n_workers < wanted) {
        if (pthread_create(&p->workers[p->n_workers], NULL, worker_main, p) != 0) {
            break;
        }
        p->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void pool_free(struct pool *p)
{
    if (p == NULL) {
        return;
    }
    fork_child_reset(p);
    pthread_mutex_lock(&p->lock);
    assert(p->first == NULL);
    p->is_closing = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->n_workers; i++) {
        pthread_join(p->workers[i], NULL);
    }
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->finished);
    pthread_mutex_destroy(&p->lock);
    mem_free(p->a, p, sizeof *p);
}

void task_start(struct pool *p, uint32_t threads, struct task *t,
                grebe_status (*fn)(void *arg, grebe_error *err), void *arg)
{
    memset(t, 0, sizeof *t);
    t->fn = fn;
    t->arg = arg;
    t->pool = p;
    t->state = TASK_QUEUED;
    if (p == NULL || threads <= 1) {
        t->pool = NULL;
        return;
    }
    fork_child_reset(p);
    pthread_mutex_lock(&p->lock);
    t->prev = p->last;
    *(p->last == NULL ? &p->first : &p->last->next) = t;
    p->last = t;
    if (p->n_idle > 0) {
        pthread_cond_signal(&p->work);
    } else {
        start_workers(p, threads - 1);
        if (p->n_helpers > 0) {
            pthread_cond_broadcast(&p->finished);
        }
    }
    pthread_mutex_unlock(&p->lock);
}

/* With the lock held: something may have happened, for the task or for the queue, on return. */
static void wait_or_help(struct pool *p, bool helps)
{
    struct task *other = p->first;
    if (helps && other != NULL) {
        unlink_task(p, other);
        run_task(p, other);
        return;
    }
    p->n_helpers += helps;
    pthread_cond_wait(&p->finished, &p->lock);
    p->n_helpers -= helps;
}

static void settle(struct task *t, bool run_if_queued, bool helps)
{
    struct pool *p = t->pool;
    if (p == NULL) {
        if (t->state == TASK_IDLE) {
            return;
        }
        if (t->state == TASK_QUEUED) {
            t->status = run_if_queued ? t->fn(t->arg, &t->error) : GREBE_ECANCELLED;
        }
        t->state = TASK_DONE;
        return;
    }
    pthread_mutex_lock(&p->lock);
    if (t->state == TASK_QUEUED) {
        unlink_task(p, t);
        if (run_if_queued) {
            run_task(p, t);
        } else {
            t->status = GREBE_ECANCELLED;
            t->state = TASK_DONE;
        }
    }
    while (t->state != TASK_DONE && t->state != TASK_IDLE) {
        wait_or_help(p, helps);
    }
    pthread_mutex_unlock(&p->lock);
}

static grebe_status take_result(struct task *t, grebe_error *err)
{
    assert(t->state != TASK_IDLE);
    t->state = TASK_IDLE;
    if (t->status != GREBE_OK && err != NULL) {
        *err = t->error;
    }
    return t->status;
}

grebe_status task_wait(struct task *t, grebe_error *err)
{
    settle(t, true, false); /* the state may only be looked at under the lock */
    return take_result(t, err);
}

grebe_status task_wait_helping(struct task *t, grebe_error *err)
{
    settle(t, true, true);
    return take_result(t, err);
}

void task_abandon(struct task *t)
{
    settle(t, false, false);
    t->state = TASK_IDLE;
}

/* ---- parallel_for ---- */

struct loop {
    pool_fn fn;
    void *arg;
    size_t n;
    atomic_size_t next;
    atomic_bool stop;
    const grebe_cancel *cancel;
};

struct loop_part {
    struct loop *loop;
    size_t failed_i; /* lowest i that failed in this part */
};

static grebe_status loop_run(void *arg, grebe_error *err)
{
    struct loop_part *part = arg;
    struct loop *l = part->loop;
    part->failed_i = SIZE_MAX;
    while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
        size_t i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->n) {
            break;
        }
        grebe_status st = GREBE_OK;
        if (l->cancel != NULL && grebe_cancel_is_set(l->cancel)) {
            st = GREBE_FAIL(err, GREBE_ECANCELLED, "cancelled");
        } else {
            st = l->fn(l->arg, i, err);
        }
        if (st != GREBE_OK) {
            part->failed_i = i;
            atomic_store_explicit(&l->stop, true, memory_order_relaxed);
            return st;
        }
    }
    return GREBE_OK;
}

enum { LOOP_PARTS_MAX = 64 };

grebe_status parallel_for(struct pool *p, uint32_t threads, size_t n, pool_fn fn, void *arg,
                          const grebe_cancel *cancel, grebe_error *err)
{
    struct loop l = { .fn = fn, .arg = arg, .n = n, .cancel = cancel };
    struct loop_part parts[LOOP_PARTS_MAX];
    struct task tasks[LOOP_PARTS_MAX];
    atomic_init(&l.next, 0);
    atomic_init(&l.stop, false);

    size_t n_parts = threads < n ? threads : n;
    if (p == NULL || n_parts < 1) {
        n_parts = 1;
    }
    if (n_parts > LOOP_PARTS_MAX) {
        n_parts = LOOP_PARTS_MAX;
    }
    parts[0] = (struct loop_part){ &l, SIZE_MAX };
    if (n_parts == 1) {
        return loop_run(&parts[0], err);
    }
    for (size_t i = 1; i < n_parts; i++) {
        parts[i] = (struct loop_part){ &l, SIZE_MAX };
        task_start(p, threads, &tasks[i], loop_run, &parts[i]);
    }
    grebe_status st = loop_run(&parts[0], err);
    size_t failed_i = parts[0].failed_i;
    for (size_t i = 1; i < n_parts; i++) {
        /* When all pieces are taken, a part that nobody began has nothing left to do. */
        grebe_error part_err = GREBE_ERROR_INIT;
        grebe_status part_st = task_wait(&tasks[i], &part_err);
        if (part_st != GREBE_OK && parts[i].failed_i < failed_i) {
            st = part_st;
            failed_i = parts[i].failed_i;
            if (err != NULL) {
                *err = part_err;
            }
        }
    }
    return st;
}
