/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/fork_guard.h"
#include "base/hash.h"

struct entry {
    struct entry *chain;       /* same slot */
    struct entry *newer, *older;
    struct cache_value *value;
    uint64_t hash;
    size_t key_len;
    unsigned char key[];
};

enum { SLOTS = 1024 };

struct cache {
    const grebe_allocator *a;
    pthread_mutex_t lock;
    fork_guard pid;
    atomic_bool is_held; /* so that a forked child knows whether the lists can be trusted */
    size_t bytes_max, n_max;
    size_t bytes, n;
    struct entry *newest, *oldest;
    struct entry *slots[SLOTS];
};

void cache_value_init(struct cache_value *v, size_t cost_bytes, void (*free)(struct cache_value *))
{
    atomic_init(&v->refs, 1);
    v->cost_bytes = cost_bytes;
    v->free = free;
}

struct cache_value *cache_value_keep(struct cache_value *v)
{
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void cache_value_drop(struct cache_value *v)
{
    if (v != NULL && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) {
        v->free(v);
    }
}

grebe_status cache_new(const grebe_allocator *a, size_t bytes_max, size_t n_max,
                       struct cache **out, grebe_error *err)
{
    struct cache *c = mem_alloc_zero(a, sizeof *c);
    *out = c;
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "a cache");
    }
    c->a = a;
    c->bytes_max = bytes_max;
    c->n_max = n_max;
    pthread_mutex_init(&c->lock, NULL);
    atomic_init(&c->pid, getpid());
    atomic_init(&c->is_held, false);
    return GREBE_OK;
}

static void lock(struct cache *c)
{
    if (fork_guard_begin(&c->pid)) {
        pthread_mutex_init(&c->lock, NULL);
        if (atomic_load(&c->is_held)) {
            /* Another thread was changing the lists when the process forked: let them go. */
            memset(c->slots, 0, sizeof c->slots);
            c->newest = NULL;
            c->oldest = NULL;
            c->bytes = 0;
            c->n = 0;
        }
        fork_guard_end(&c->pid);
    }
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->is_held, true);
}

static void unlock(struct cache *c)
{
    atomic_store(&c->is_held, false);
    pthread_mutex_unlock(&c->lock);
}

static struct entry **find(struct cache *c, uint64_t hash, const void *key, size_t key_len)
{
    struct entry **at = &c->slots[hash % SLOTS];
    while (*at != NULL && !((*at)->hash == hash && (*at)->key_len == key_len &&
                            memcmp((*at)->key, key, key_len) == 0)) {
        at = &(*at)->chain;
    }
    return at;
}

static void list_remove(struct cache *c, struct entry *e)
{
    *(e->newer == NULL ? &c->newest : &e->newer->older) = e->older;
    *(e->older == NULL ? &c->oldest : &e->older->newer) = e->newer;
}

static void list_push(struct cache *c, struct entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest == NULL ? &c->oldest : &c->newest->newer) = e;
    c->newest = e;
}

/* Takes *at out; the value's reference goes to the caller, who drops it without the lock. */
static struct cache_value *take_out(struct cache *c, struct entry **at)
{
    struct entry *e = *at;
    struct cache_value *v = e->value;
    *at = e->chain;
    list_remove(c, e);
    c->bytes -= v->cost_bytes;
    c->n--;
    mem_free(c->a, e, sizeof *e + e->key_len);
    return v;
}

struct cache_value *cache_get(struct cache *c, const void *key, size_t key_len)
{
    struct cache_value *v = NULL;
    uint64_t hash = hash_bytes(key, key_len, 0);
    lock(c);
    struct entry *e = *find(c, hash, key, key_len);
    if (e != NULL) {
        v = cache_value_keep(e->value);
        list_remove(c, e);
        list_push(c, e);
    }
    unlock(c);
    return v;
}

void cache_remove(struct cache *c, const void *key, size_t key_len)
{
    struct cache_value *v = NULL;
    uint64_t hash = hash_bytes(key, key_len, 0);
    lock(c);
    struct entry **at = find(c, hash, key, key_len);
    if (*at != NULL) {
        v = take_out(c, at);
    }
    unlock(c);
    cache_value_drop(v);
}

void cache_put(struct cache *c, const void *key, size_t key_len, struct cache_value *v)
{
    cache_remove(c, key, key_len);
    if (c->n_max == 0 || v->cost_bytes > c->bytes_max) {
        return;
    }
    struct entry *e = mem_alloc_zero(c->a, sizeof *e + key_len);
    if (e == NULL) {
        return;
    }
    e->hash = hash_bytes(key, key_len, 0);
    e->key_len = key_len;
    memcpy(e->key, key, key_len);
    e->value = cache_value_keep(v);

    lock(c);
    struct entry **at = find(c, e->hash, key, key_len);
    struct cache_value *evicted = *at != NULL ? take_out(c, at) : NULL;
    e->chain = c->slots[e->hash % SLOTS];
    c->slots[e->hash % SLOTS] = e;
    list_push(c, e);
    c->bytes += v->cost_bytes;
    c->n++;
    for (;;) {
        bool is_over = (c->bytes > c->bytes_max || c->n > c->n_max) && c->oldest != e;
        struct cache_value *old = NULL;
        if (is_over) {
            old = take_out(c, find(c, c->oldest->hash, c->oldest->key, c->oldest->key_len));
        }
        unlock(c);
        cache_value_drop(evicted);
        cache_value_drop(old);
        evicted = NULL;
        if (!is_over) {
            return;
        }
        lock(c);
        if (c->newest == NULL) {
            unlock(c);
            return;
        }
        /* e may have been evicted by another thread meanwhile: the bound still holds. */
        e = c->newest;
    }
}

void cache_free(struct cache *c)
{
    if (c == NULL) {
        return;
    }
    while (c->oldest != NULL) {
        struct entry *e = c->oldest;
        cache_value_drop(take_out(c, find(c, e->hash, e->key, e->key_len)));
    }
    pthread_mutex_destroy(&c->lock);
    mem_free(c->a, c, sizeof *c);
}
