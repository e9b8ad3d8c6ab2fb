/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_BUFFER_POOL_H
#define GREBE_BASE_BUFFER_POOL_H

/*
 * An allocator in front of the caller's that keeps large blocks for the next use. A fresh
 * block of the system costs a page fault per 4 KiB (about 2 GB/s on a virtual machine, against
 * 20 GB/s for memory that is there), which is what a scan would spend its time on.
 */

#include "base/alloc.h"

struct buffer_pool;

enum {
    BUFFER_POOL_BLOCK_MIN = 64 << 10, /* smaller requests go straight to the caller's allocator */
    BUFFER_POOL_HUGE = 2 << 20        /* blocks from here on are aligned to huge pages */
};

/**
 * @param inner      Borrowed until the pool is freed.
 * @param bytes_max  Kept idle at most.
 * @param out        Owned; buffer_pool_free(). Every block must have been given back by then.
 */
grebe_status buffer_pool_new(const grebe_allocator *inner, size_t bytes_max,
                             struct buffer_pool **out, grebe_error *err);
void buffer_pool_free(struct buffer_pool *p); /* NULL accepted */

/** The allocator to use; lives as long as the pool. Safe from many threads and after fork. */
const grebe_allocator *buffer_pool_allocator(const struct buffer_pool *p);

#endif
