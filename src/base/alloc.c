/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"

enum { ALIGN_DEFAULT = 16 };

static void *system_alloc(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    if (align <= ALIGN_DEFAULT) {
        return malloc(size);
    }
    void *p = NULL;
    return posix_memalign(&p, align, size) == 0 ? p : NULL;
}

static void system_free(void *ctx, void *p, size_t size, size_t align)
{
    (void)ctx;
    (void)size;
    (void)align;
    free(p);
}

static void *system_resize(void *ctx, void *p, size_t old_size, size_t new_size, size_t align)
{
    if (align <= ALIGN_DEFAULT) {
        return realloc(p, new_size);
    }
    void *grown = system_alloc(ctx, new_size, align);
    if (grown != NULL) {
        memcpy(grown, p, old_size < new_size ? old_size : new_size);
        free(p);
    }
    return grown;
}

const grebe_allocator *mem_system(void)
{
    static const grebe_allocator system = { NULL, system_alloc, system_resize, system_free };
    return &system;
}

void *mem_alloc_aligned(const grebe_allocator *a, size_t size, size_t align)
{
    assert(a != NULL && (align & (align - 1)) == 0);
    return a->alloc(a->ctx, size == 0 ? 1 : size, align);
}

void mem_free_aligned(const grebe_allocator *a, void *p, size_t size, size_t align)
{
    if (p != NULL) {
        a->free(a->ctx, p, size == 0 ? 1 : size, align);
    }
}

void *mem_alloc(const grebe_allocator *a, size_t size)
{
    return mem_alloc_aligned(a, size, ALIGN_DEFAULT);
}

void *mem_alloc_zero(const grebe_allocator *a, size_t size)
{
    void *p = mem_alloc(a, size);
    if (p != NULL) {
        memset(p, 0, size);
    }
    return p;
}

void *mem_resize(const grebe_allocator *a, void *p, size_t old_size, size_t new_size)
{
    if (p == NULL) {
        assert(old_size == 0);
        return mem_alloc(a, new_size);
    }
    return a->resize(a->ctx, p, old_size == 0 ? 1 : old_size, new_size == 0 ? 1 : new_size,
                     ALIGN_DEFAULT);
}

void mem_free(const grebe_allocator *a, void *p, size_t size)
{
    mem_free_aligned(a, p, size, ALIGN_DEFAULT);
}

char *str_copy_len(const grebe_allocator *a, const char *s, size_t len)
{
    if (s == NULL) {
        return NULL;
    }
    char *copy = mem_alloc(a, len + 1);
    if (copy != NULL) {
        memcpy(copy, s, len);
        copy[len] = '\0';
        /* str_free() measures the string, so an embedded NUL would give it a wrong size. */
        assert(memchr(copy, '\0', len) == NULL);
    }
    return copy;
}

void mem_wish_large_pages(void *p, size_t size)
{
    enum { LARGE_PAGE = 1 << 21 };
    uintptr_t begin = ((uintptr_t)p + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)p + size) & ~(uintptr_t)(LARGE_PAGE - 1);
#ifdef MADV_HUGEPAGE
    if (begin < end) {
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    }
#else
    (void)begin;
    (void)end;
#endif
}

char *str_copy(const grebe_allocator *a, const char *s)
{
    return s == NULL ? NULL : str_copy_len(a, s, strlen(s));
}

void str_free(const grebe_allocator *a, char *s)
{
    if (s != NULL) {
        mem_free(a, s, strlen(s) + 1);
    }
}

grebe_status mem_fail(grebe_error *err, size_t size, const char *what)
{
    return GREBE_FAIL(err, GREBE_ENOMEM, "cannot allocate %zu bytes for %s", size, what);
}

grebe_status mem_alloc_bounded(const grebe_allocator *a, uint64_t n, size_t elem_size,
                               uint64_t limit, const char *what, void **out, grebe_error *err)
{
    uint64_t size = 0;
    *out = NULL;
    if (n > limit) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: expected at most %llu, found %llu", what,
                          (unsigned long long)limit, (unsigned long long)n);
    }
    if (!checked_mul_u64(n, elem_size, &size) || size > SIZE_MAX / 2) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %llu elements of %zu bytes do not fit in memory",
                          what, (unsigned long long)n, elem_size);
    }
    *out = mem_alloc_zero(a, (size_t)size);
    return *out == NULL ? mem_fail(err, (size_t)size, what) : GREBE_OK;
}
