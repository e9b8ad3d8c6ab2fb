/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's memory, with a bound on what one call may ask for: four times the input, and what is the same for every input. A number
 * in a file that is believed before the bytes that it speaks of were seen ends the program.
 */
#ifndef GREBE_FUZZ_BOUNDED_H
#define GREBE_FUZZ_BOUNDED_H

#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"

enum { FUZZ_FIXED_BYTES = ARENA_BLOCK_MAX };

static size_t fuzz_most_bytes = SIZE_MAX;

static inline void require(int condition)
{
    if (!condition) {
        abort();
    }
}

/** What one allocation may be from here on, for an input of so many bytes. */
static inline void fuzz_bound(size_t size) { fuzz_most_bytes = 4 * size + FUZZ_FIXED_BYTES; }

/** For what a target makes itself. */
static inline void fuzz_unbound(void) { fuzz_most_bytes = SIZE_MAX; }

static inline void *fuzz_bounded_alloc(void *ctx, size_t size, size_t align)
{
    require(size <= fuzz_most_bytes);
    return mem_system()->alloc(ctx, size, align);
}

static inline void *fuzz_bounded_resize(void *ctx, void *p, size_t old_size, size_t new_size, size_t align)
{
    require(new_size <= fuzz_most_bytes);
    return mem_system()->resize(ctx, p, old_size, new_size, align);
}

static inline void fuzz_bounded_free(void *ctx, void *p, size_t size, size_t align) { mem_system()->free(ctx, p, size, align); }

/** For one thread. */
static inline const grebe_allocator *fuzz_bounded(void)
{
    static grebe_allocator bounded;
    bounded = (grebe_allocator){ mem_system()->ctx, fuzz_bounded_alloc, fuzz_bounded_resize, fuzz_bounded_free };
    return &bounded;
}

#endif
