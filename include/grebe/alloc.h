/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ALLOC_H
#define GREBE_ALLOC_H

/*
 * The allocator that a context is made with. All memory of the library comes from it.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Three functions and their state.
 *
 * alloc   size > 0 bytes aligned to `align` (a power of two, at most 2 MiB); NULL when there is no memory.
 * resize  p (never NULL) from old_size to new_size > 0, same alignment; NULL leaves p as it was.
 * free    p (never NULL) with the size that it was allocated or last resized to.
 *
 * Threads: all three are called from any thread at any time.
 */
typedef struct grebe_allocator {
    void *ctx;
    void *(*alloc)(void *ctx, size_t size, size_t align);
    void *(*resize)(void *ctx, void *p, size_t old_size, size_t new_size, size_t align);
    void (*free)(void *ctx, void *p, size_t size, size_t align);
} grebe_allocator;

#ifdef __cplusplus
}
#endif
#endif
