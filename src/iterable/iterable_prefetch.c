/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows read ahead: while the caller works on a batch, a task of the pool reads the next ones. Each batch waits together
 * with the place of the child behind it, so the state never knows of what was read too early.
 */
#include "iterable/iterable_internal.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"

/* node: rows: batches ahead */

struct waiting {
    struct rows rows;
    struct place behind;
};

struct prefetch_reader {
    struct reader base;
    struct node *node;
    struct reader *kid; /* touched by the task alone while it runs */
    struct place at;    /* of the child, behind what was handed out */
    struct task task;
    bool is_running; /* the task was started and not waited for */
    int64_t want;    /* rows of a batch, for the task that runs */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by the lock */
    struct waiting *queue; /* ring of node->rows */
    int64_t first, n;
    bool is_begun;   /* the task runs, on another thread */
    bool is_stopped; /* the task shall end */
    bool is_done;    /* the task has ended: at the end, or it failed */
    grebe_status ended;
    grebe_error error;
};

/* One batch more; GREBE_END. */
static grebe_status read_one(struct prefetch_reader *p, struct waiting *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    grebe_status st = reader_next(p->kid, p->want, INT64_MAX, &out->rows, err);
    if (st == GREBE_OK) {
        st = reader_place(p->kid, &out->behind, err);
    }
    if (st != GREBE_OK) {
        rows_release(&out->rows);
    }
    return st;
}

/* Reads until the ring is full, the child at its end, or somebody says stop. */
static grebe_status read_ahead(void *arg, grebe_error *err)
{
    struct prefetch_reader *p = arg;
    (void)err;
    pthread_mutex_lock(&p->lock);
    p->is_begun = true;
    while (!p->is_stopped && p->n < p->node->rows && p->ended == GREBE_OK) {
        pthread_mutex_unlock(&p->lock);
        struct waiting one;
        grebe_error error = GREBE_ERROR_INIT;
        grebe_status st = read_one(p, &one, &error);
        pthread_mutex_lock(&p->lock);
        if (st == GREBE_OK) {
            p->queue[(p->first + p->n++) % p->node->rows] = one;
        } else {
            p->ended = st;
            p->error = error;
        }
        pthread_cond_broadcast(&p->changed);
    }
    p->is_done = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return GREBE_OK;
}

/* The task has ended afterwards. */
static void stop(struct prefetch_reader *p)
{
    if (p->is_running) {
        pthread_mutex_lock(&p->lock);
        p->is_stopped = true;
        pthread_mutex_unlock(&p->lock);
        task_abandon(&p->task);
        p->is_running = false;
    }
}

static void start(struct prefetch_reader *p, int64_t want)
{
    p->want = want;
    p->is_begun = p->is_stopped = p->is_done = false;
    p->is_running = true;
    memset(&p->task, 0, sizeof p->task);
    task_start(p->base.env.ctx->pool, p->base.env.call.threads, &p->task, read_ahead, p);
}

static void empty_queue(struct prefetch_reader *p)
{
    for (; p->n > 0; p->n--, p->first = (p->first + 1) % p->node->rows) {
        rows_release(&p->queue[p->first].rows);
        place_release(&p->queue[p->first].behind);
    }
    p->ended = GREBE_OK;
}

static grebe_status prefetch_produce(struct reader *r, int64_t want, struct rows *out, grebe_error *err)
{
    struct prefetch_reader *p = (struct prefetch_reader *)r;
    pthread_mutex_lock(&p->lock);
    bool is_idle = !p->is_running || p->is_done, is_needed = p->n <= p->node->rows / 2 && p->ended == GREBE_OK;
    int64_t waiting = p->n;
    pthread_mutex_unlock(&p->lock);
    if (is_idle && is_needed) {
        stop(p);
        start(p, want);
    }
    if (waiting == 0 && p->is_running) {
        /* nothing is there yet; a task that no thread has begun is run here */
        pthread_mutex_lock(&p->lock);
        while (p->n == 0 && !p->is_done && p->is_begun) {
            pthread_cond_wait(&p->changed, &p->lock);
        }
        bool is_there = p->n > 0;
        pthread_mutex_unlock(&p->lock);
        if (!is_there) {
            grebe_status st = task_wait(&p->task, err);
            p->is_running = false;
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    grebe_status st = GREBE_OK;
    pthread_mutex_lock(&p->lock);
    if (p->n > 0) {
        struct waiting *w = &p->queue[p->first];
        rows_move(out, &w->rows);
        place_release(&p->at);
        p->at = w->behind;
        w->behind = (struct place){ 0 };
        p->first = (p->first + 1) % p->node->rows;
        p->n--;
    } else {
        st = p->ended;
        if (err != NULL && st != GREBE_END) {
            *err = p->error;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return st;
}

static grebe_status prefetch_save(struct reader *r, struct mark **out, grebe_error *err)
{
    struct prefetch_reader *p = (struct prefetch_reader *)r;
    struct mark_builder b = MARK_BUILDER_INIT(r->env.ctx->a);
    grebe_status st = GREBE_OK;
    if (p->at.mark == NULL) {
        GREBE_TRY(reader_place(p->kid, &p->at, err)); /* nothing runs before the first batch */
    }
    GREBE_TRY(mark_put(&b, p->at.given, err));
    GREBE_TRY(mark_put_kid(&b, mark_keep(p->at.mark), err));
    st = mark_finish(&b, out, err);
out:
    mark_builder_release(&b);
    return st;
}

static grebe_status prefetch_load(struct reader *r, const struct mark *m, grebe_error *err)
{
    struct prefetch_reader *p = (struct prefetch_reader *)r;
    stop(p);
    empty_queue(p);
    place_release(&p->at);
    grebe_status st = m != NULL ? place_get(p->kid, m, 0, 0, err) : reader_load(p->kid, NULL, 0, err);
    return st != GREBE_OK ? st : reader_place(p->kid, &p->at, err);
}

static void prefetch_free(struct reader *r)
{
    struct prefetch_reader *p = (struct prefetch_reader *)r;
    stop(p);
    if (p->queue != NULL) {
        empty_queue(p);
    }
    mem_free(r->env.ctx->a, p->queue, (size_t)p->node->rows * sizeof *p->queue);
    place_release(&p->at);
    reader_free(p->kid);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    node_drop(p->node);
    reader_dealloc(r, sizeof *p);
}

static const struct reader_ops prefetch_reader_ops = { prefetch_produce, prefetch_save, prefetch_load, prefetch_free };

static grebe_status prefetch_open(const struct node *n, const struct reading *env, struct reader **out,
                                  grebe_error *err)
{
    grebe_status st = reader_alloc(sizeof(struct prefetch_reader), &prefetch_reader_ops, env, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct prefetch_reader *p = (struct prefetch_reader *)*out;
    p->node = node_keep((struct node *)(uintptr_t)n);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    size_t size = (size_t)n->rows * sizeof *p->queue;
    p->queue = mem_alloc_zero(env->ctx->a, size);
    st = p->queue == NULL ? mem_fail(err, size, "batches read ahead") : node_open(n->kids[0], env, &p->kid, err);
    if (st != GREBE_OK) {
        reader_free(*out);
        *out = NULL;
    }
    return st;
}

static const struct node_ops prefetch_ops = { .name = "prefetch", .open = prefetch_open };

grebe_status prefetch_new(struct node *kid, int64_t batches, struct node **out, grebe_error *err)
{
    grebe_status st = node_new(kid->ctx, &prefetch_ops, &kid, 1, out, err);
    if (st == GREBE_OK) {
        (*out)->rows = batches;
    }
    return st;
}
