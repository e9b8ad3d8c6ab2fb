/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants
 *  1. A block of at least BUFFER_POOL_BLOCK_MIN bytes has the size of its class, whatever was
 *     asked for; the class follows from the size asked for, so free finds it again.
 *  2. Idle blocks hang in a list per class; idle_bytes is the sum of their sizes.
 */
#include "base/buffer_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fork_guard.h"

/* Four classes per power of two, from 64 KiB to 4 GiB: at most 25 % of a block is unused. */
enum { CLASSES = 64, CLASS_MIN_LOG2 = 16 };

struct idle_block {
    struct idle_block *next;
};

struct buffer_pool {
    grebe_allocator a; /* ctx is this pool */
    const grebe_allocator *inner;
    pthread_mutex_t lock;
    fork_guard pid;
    atomic_bool is_held;
    size_t bytes_max, idle_bytes;
    struct idle_block *idle[CLASSES];
};

/* -1: not pooled. *block is the size of the class. */
static int class_of(size_t size, size_t *block)
{
    if (size < BUFFER_POOL_BLOCK_MIN) {
        return -1;
    }
    int log2 = 63 - __builtin_clzll((unsigned long long)size);
    size_t quarter = (size_t)1 << (log2 - 2);
    size_t steps = (size - ((size_t)1 << log2) + quarter - 1) / quarter;
    int c = (log2 - CLASS_MIN_LOG2) * 4 + (int)steps;
    *block = ((size_t)1 << log2) + steps * quarter;
    return c < CLASSES ? c : -1;
}

static size_t align_of_block(size_t block)
{
    return block >= BUFFER_POOL_HUGE ? (size_t)BUFFER_POOL_HUGE : (size_t)4096;
}

static void lock(struct buffer_pool *p)
{
    if (fork_guard_begin(&p->pid)) {
        pthread_mutex_init(&p->lock, NULL);
        if (atomic_load(&p->is_held)) {
            memset(p->idle, 0, sizeof p->idle);
            p->idle_bytes = 0;
        }
        fork_guard_end(&p->pid);
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->is_held, true);
}

static void unlock(struct buffer_pool *p)
{
    atomic_store(&p->is_held, false);
    pthread_mutex_unlock(&p->lock);
}

static void *pool_alloc(void *ctx, size_t size, size_t align)
{
    struct buffer_pool *p = ctx;
    size_t block = 0;
    int c = class_of(size, &block);
    if (c < 0) {
        return p->inner->alloc(p->inner->ctx, size, align);
    }
    assert(align <= align_of_block(block));
    lock(p);
    struct idle_block *found = p->idle[c];
    if (found != NULL) {
        p->idle[c] = found->next;
        p->idle_bytes -= block;
    }
    unlock(p);
    if (found != NULL) {
        return found;
    }
    void *fresh = p->inner->alloc(p->inner->ctx, block, align_of_block(block));
#ifdef MADV_HUGEPAGE
    if (fresh != NULL && block >= BUFFER_POOL_HUGE) {
        madvise(fresh, block, MADV_HUGEPAGE); /* a wish: refusal changes nothing */
    }
#endif
    return fresh;
}

static void pool_free_block(void *ctx, void *ptr, size_t size, size_t align)
{
    struct buffer_pool *p = ctx;
    size_t block = 0;
    int c = class_of(size, &block);
    if (c < 0) {
        p->inner->free(p->inner->ctx, ptr, size, align);
        return;
    }
    lock(p);
    bool is_kept = p->idle_bytes + block <= p->bytes_max;
    if (is_kept) {
        struct idle_block *b = ptr;
        b->next = p->idle[c];
        p->idle[c] = b;
        p->idle_bytes += block;
    }
    unlock(p);
    if (!is_kept) {
        p->inner->free(p->inner->ctx, ptr, block, align_of_block(block));
    }
}

static void *pool_resize(void *ctx, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    struct buffer_pool *p = ctx;
    size_t old_block = 0, new_block = 0;
    int old_class = class_of(old_size, &old_block);
    int new_class = class_of(new_size, &new_block);
    if (old_class < 0 && new_class < 0) {
        return p->inner->resize(p->inner->ctx, ptr, old_size, new_size, align);
    }
    if (old_class == new_class) {
        return ptr;
    }
    void *moved = pool_alloc(ctx, new_size, align);
    if (moved != NULL) {
        memcpy(moved, ptr, min_size(old_size, new_size));
        pool_free_block(ctx, ptr, old_size, align);
    }
    return moved;
}

grebe_status buffer_pool_new(const grebe_allocator *inner, size_t bytes_max,
                             struct buffer_pool **out, grebe_error *err)
{
    struct buffer_pool *p = mem_alloc_zero(inner, sizeof *p);
    *out = p;
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a buffer pool");
    }
    p->a = (grebe_allocator){ p, pool_alloc, pool_resize, pool_free_block };
    p->inner = inner;
    p->bytes_max = bytes_max;
    pthread_mutex_init(&p->lock, NULL);
    atomic_init(&p->pid, getpid());
    atomic_init(&p->is_held, false);
    return GREBE_OK;
}

void buffer_pool_free(struct buffer_pool *p)
{
    if (p == NULL) {
        return;
    }
    for (int c = 0; c < CLASSES; c++) {
        size_t quarter = (size_t)1 << (CLASS_MIN_LOG2 + c / 4 - 2);
        size_t block = quarter * (size_t)(4 + c % 4);
        while (p->idle[c] != NULL) {
            struct idle_block *b = p->idle[c];
            p->idle[c] = b->next;
            p->inner->free(p->inner->ctx, b, block, align_of_block(block));
        }
    }
    pthread_mutex_destroy(&p->lock);
    mem_free(p->inner, p, sizeof *p);
}

const grebe_allocator *buffer_pool_allocator(const struct buffer_pool *p) { return &p->a; }
