/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_FUZZ_BOUNDED_MEMORY_H
#define GREBE_FUZZ_BOUNDED_MEMORY_H

/*
 * The system's memory, with a bound on what one call may ask for: four times the input, and what is the same for every input. A number
 * in a file that is believed before the bytes that it speaks of were seen ends the program.
 */

#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"

enum { BOUNDED_FIXED_BYTES = ARENA_BLOCK_MAX };

/** For one thread. */
struct bounded_memory {
    grebe_allocator allocator;
    size_t most_bytes; /* of one call; SIZE_MAX: no bound */
};

static inline size_t bounded_bytes(size_t input_size) { return 4 * input_size + BOUNDED_FIXED_BYTES; }

static inline void bounded_require(const void *ctx, size_t size)
{
    if (size > ((const struct bounded_memory *)ctx)->most_bytes) {
        abort();
    }
}

static inline void *bounded_alloc(void *ctx, size_t size, size_t align)
{
    bounded_require(ctx, size);
    return mem_system()->alloc(mem_system()->ctx, size, align);
}

static inline void *bounded_resize(void *ctx, void *p, size_t old_size, size_t new_size, size_t align)
{
    bounded_require(ctx, new_size);
    return mem_system()->resize(mem_system()->ctx, p, old_size, new_size, align);
}

static inline void bounded_free(void *ctx, void *p, size_t size, size_t align)
{
    (void)ctx;
    mem_system()->free(mem_system()->ctx, p, size, align);
}

/** The program's one, without a bound at first. */
static inline struct bounded_memory *bounded_memory(void)
{
    static struct bounded_memory m = { .most_bytes = SIZE_MAX };
    m.allocator = (grebe_allocator){ &m, bounded_alloc, bounded_resize, bounded_free };
    return &m;
}

#endif
