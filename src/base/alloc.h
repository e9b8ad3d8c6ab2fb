/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_ALLOC_H
#define GREBE_BASE_ALLOC_H

/*
 * Memory through the caller's allocator. Sizes are given back on free, so an allocator needs
 * no headers of its own. Nothing outside this room calls malloc or free.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "grebe/alloc.h"

/** Alignment of everything that holds vectors or Arrow values. */
#define MEM_ALIGN_VECTOR ((size_t)64)

/** The C library's allocator. */
const grebe_allocator *mem_system(void);

/** size bytes aligned to 16; size 0 gives a unique pointer of 1 byte. NULL: no memory. */
void *mem_alloc(const grebe_allocator *a, size_t size);
void *mem_alloc_zero(const grebe_allocator *a, size_t size);

/** p may be NULL with old_size 0. NULL: no memory, p is as it was. */
void *mem_resize(const grebe_allocator *a, void *p, size_t old_size, size_t new_size);

/** p may be NULL. size is the one it was allocated with. */
void mem_free(const grebe_allocator *a, void *p, size_t size);

/** As mem_alloc and mem_free with a power of two as alignment. */
void *mem_alloc_aligned(const grebe_allocator *a, size_t size, size_t align);
void mem_free_aligned(const grebe_allocator *a, void *p, size_t size, size_t align);

/** Asks the system for large pages under a buffer that is visited far and wide; a wish, refusal changes nothing. */
void mem_wish_large_pages(void *p, size_t size);

/** A copy of a string; free with str_free. NULL: no memory (or s is NULL). */
char *str_copy(const grebe_allocator *a, const char *s);
char *str_copy_len(const grebe_allocator *a, const char *s, size_t len);
void str_free(const grebe_allocator *a, char *s);

/** ENOMEM with the size and what it was for. */
grebe_status mem_fail(grebe_error *err, size_t size, const char *what);

/**
 * n * elem_size zeroed bytes for a count that came from a file.
 *
 * @param limit    Largest n that is accepted: never more than the bytes that remain.
 * @param what     Named in the message.
 * @param out      Owned, size n * elem_size; NULL on failure.
 * @return GREBE_OK; GREBE_ELIMIT (n > limit or the product overflows); GREBE_ENOMEM.
 */
grebe_status mem_alloc_bounded(const grebe_allocator *a, uint64_t n, size_t elem_size,
                               uint64_t limit, const char *what, void **out, grebe_error *err);

#endif
