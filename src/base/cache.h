/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_CACHE_H
#define GREBE_BASE_CACHE_H

/*
 * A bounded cache of immutable, reference-counted values by a byte key; the least recently
 * used go first. Whether a value is still true (file unchanged) is for the caller to check.
 * Safe from many threads; in a forked child a cache whose lock was held is emptied.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/** First member of whatever is cached. */
struct cache_value {
    atomic_uint refs;                  /* 1 after cache_value_init */
    size_t cost_bytes;                 /* counts against the budget */
    void (*free)(struct cache_value *); /* when the last reference goes */
};

struct cache;

void cache_value_init(struct cache_value *v, size_t cost_bytes, void (*free)(struct cache_value *));
struct cache_value *cache_value_keep(struct cache_value *v);
void cache_value_drop(struct cache_value *v); /* NULL accepted */

/** @param n_max Entries at most; 0: nothing is kept. */
grebe_status cache_new(const grebe_allocator *a, size_t bytes_max, size_t n_max,
                       struct cache **out, grebe_error *err);
void cache_free(struct cache *c); /* NULL accepted */

/** The value under the key with one more reference; NULL: none. */
struct cache_value *cache_get(struct cache *c, const void *key, size_t key_len);

/** Keep v (one more reference) under the key, in place of what was there. Does nothing when
 *  memory is short: a cache may always forget. */
void cache_put(struct cache *c, const void *key, size_t key_len, struct cache_value *v);

/** Forget what is under the key. */
void cache_remove(struct cache *c, const void *key, size_t key_len);

#endif
