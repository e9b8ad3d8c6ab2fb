/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_REGION_H
#define GREBE_BASE_REGION_H

/*
 * A run of bytes that several owners share: a heap block, a mapped file, memory of a caller.
 * Arrow buffers hold one reference each, so a view keeps its file mapped. Immutable once
 * shared. References may be dropped on any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

struct region {
    atomic_uint refs;
    unsigned char *data;
    size_t len;
    const grebe_allocator *a;
    /* Ends the bytes (not the struct); NULL: heap block of `capacity` bytes aligned to 64. */
    void (*end)(struct region *r);
    void *end_ctx;
    size_t capacity;
    bool is_file; /* a file that is mapped and not written to through the map: its pages can be had again */
};

/**
 * A heap block aligned to 64 with at least 64 readable bytes behind len (kernels may load past
 * the end), one reference.
 *
 * @param out Owned; give back with region_drop().
 */
grebe_status region_new(const grebe_allocator *a, size_t len, struct region **out,
                        grebe_error *err);

/** Bytes that somebody else made; end(r) is called when the last reference goes. */
grebe_status region_wrap(const grebe_allocator *a, const void *data, size_t len,
                         void (*end)(struct region *), void *end_ctx, struct region **out,
                         grebe_error *err);

struct region *region_keep(struct region *r); /* one more reference; gives r back; NULL accepted */
void region_drop(struct region *r);           /* NULL accepted */
/** Bytes of a mapped file that will not be needed soon: they no longer count as memory of the process. Others: nothing happens. */
void region_forget(const struct region *r, const void *begin, size_t len);

#endif
