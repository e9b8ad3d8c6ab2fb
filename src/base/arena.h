/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_ARENA_H
#define GREBE_BASE_ARENA_H

/*
 * Many small things that die together: decoded metadata lives in one arena and is freed with
 * it. Not thread-safe while it grows; free to read from any thread afterwards.
 */

#include <stddef.h>

#include "base/alloc.h"

struct arena_block;

/** What is taken from the allocator at once for many small things; a larger one gets a block of its size. */
enum { ARENA_BLOCK_MAX = 1 << 16 };

struct arena {
    const grebe_allocator *a;
    struct arena_block *newest;
    size_t used;       /* bytes handed out of the newest block */
    size_t total_bytes; /* memory held, for cache budgets */
};

#define ARENA_INIT(allocator)      \
    (struct arena)                 \
    {                              \
        (allocator), NULL, 0, 0    \
    }

/** size bytes aligned to 16, not zeroed; NULL: no memory. size 0 gives a unique pointer. */
void *arena_alloc(struct arena *ar, size_t size);
void *arena_alloc_zero(struct arena *ar, size_t size);
/** n * elem_size zeroed bytes; NULL: no memory or the product overflows. */
void *arena_array(struct arena *ar, size_t n, size_t elem_size);
/** NUL-terminated copy of len bytes (which may hold NULs). */
char *arena_str(struct arena *ar, const char *s, size_t len);
void arena_release(struct arena *ar);

#endif
