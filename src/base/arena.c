/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

struct arena_block {
    struct arena_block *older;
    size_t size; /* of the whole block, this header included */
};

enum { HEADER = (sizeof(struct arena_block) + 15) & ~15u, BLOCK_MIN = 4096 };

void *arena_alloc(struct arena *ar, size_t size)
{
    size_t need = 0;
    if (!checked_add_size(size == 0 ? 1 : size, 15 + HEADER, &need)) {
        return NULL;
    }
    need = (need & ~(size_t)15) - HEADER;
    if (ar->newest == NULL || ar->newest->size - ar->used < need) {
        size_t block = ar->newest == NULL ? BLOCK_MIN : min_size(ar->newest->size * 2, ARENA_BLOCK_MAX);
        block = max_size(block, need + HEADER);
        struct arena_block *b = mem_alloc(ar->a, block);
        if (b == NULL) {
            return NULL;
        }
        b->older = ar->newest;
        b->size = block;
        ar->newest = b;
        ar->used = HEADER;
        ar->total_bytes += block;
    }
    unsigned char *p = (unsigned char *)ar->newest + ar->used;
    ar->used += need;
    assert(ar->used <= ar->newest->size);
    return p;
}

void *arena_alloc_zero(struct arena *ar, size_t size)
{
    void *p = arena_alloc(ar, size);
    if (p != NULL) {
        memset(p, 0, size);
    }
    return p;
}

void *arena_array(struct arena *ar, size_t n, size_t elem_size)
{
    size_t size = 0;
    return checked_mul_size(n, elem_size, &size) ? arena_alloc_zero(ar, size) : NULL;
}

char *arena_str(struct arena *ar, const char *s, size_t len)
{
    char *copy = arena_alloc(ar, len + 1);
    if (copy != NULL) {
        if (len > 0) {
            memcpy(copy, s, len);
        }
        copy[len] = '\0';
    }
    return copy;
}

void arena_release(struct arena *ar)
{
    while (ar->newest != NULL) {
        struct arena_block *older = ar->newest->older;
        mem_free(ar->a, ar->newest, ar->newest->size);
        ar->newest = older;
    }
    ar->used = 0;
    ar->total_bytes = 0;
}
