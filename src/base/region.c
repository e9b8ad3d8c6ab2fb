/* SPDX-License-Identifier: Apache-2.0 */
#include "base/region.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"

enum { TAIL = 64 };

static struct region *header_new(const grebe_allocator *a)
{
    struct region *r = mem_alloc_zero(a, sizeof *r);
    if (r != NULL) {
        atomic_init(&r->refs, 1);
        r->a = a;
    }
    return r;
}

grebe_status region_new(const grebe_allocator *a, size_t len, struct region **out,
                        grebe_error *err)
{
    *out = NULL;
    size_t capacity = 0;
    if (!checked_add_size(len, TAIL, &capacity) || capacity > SIZE_MAX / 2) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a block of %zu bytes does not fit in memory", len);
    }
    struct region *r = header_new(a);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a region");
    }
    r->data = mem_alloc_aligned(a, capacity, MEM_ALIGN_VECTOR);
    if (r->data == NULL) {
        mem_free(a, r, sizeof *r);
        return mem_fail(err, capacity, "values");
    }
    memset(r->data + len, 0, TAIL);
    r->len = len;
    r->capacity = capacity;
    *out = r;
    return GREBE_OK;
}

grebe_status region_wrap(const grebe_allocator *a, const void *data, size_t len,
                         void (*end)(struct region *), void *end_ctx, struct region **out,
                         grebe_error *err)
{
    assert(end != NULL);
    *out = NULL;
    struct region *r = header_new(a);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a region");
    }
    /* The field is written by owners of heap blocks before sharing only; wrapped bytes never. */
    r->data = (unsigned char *)(uintptr_t)data;
    r->len = len;
    r->end = end;
    r->end_ctx = end_ctx;
    *out = r;
    return GREBE_OK;
}

struct region *region_keep(struct region *r)
{
    if (r != NULL) {
        unsigned before = atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
        assert(before > 0 && before < 0x7fffffffu);
        (void)before;
    }
    return r;
}

void region_drop(struct region *r)
{
    if (r == NULL || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (r->end != NULL) {
        r->end(r);
    } else {
        mem_free_aligned(r->a, r->data, r->capacity, MEM_ALIGN_VECTOR);
    }
    mem_free(r->a, r, sizeof *r);
}

void region_forget(const struct region *r, const void *begin, size_t len)
{
    enum { PAGE = 4096 };
    const uintptr_t low = (uintptr_t)r->data, high = low + r->len;
    uintptr_t from = ((uintptr_t)begin + PAGE - 1) & ~(uintptr_t)(PAGE - 1), to = ((uintptr_t)begin + len) & ~(uintptr_t)(PAGE - 1);
    if (r->is_file && from < to && from >= low && to <= high) {
        (void)madvise((void *)from, to - from, MADV_DONTNEED); /* a wish: refusal changes nothing */
    }
}
