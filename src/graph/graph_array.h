/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_ARRAY_H
#define GREBE_GRAPH_GRAPH_ARRAY_H

/* A growable array of int64 that keeps its memory from one use to the next. */

#include "base/alloc.h"
#include "base/checked.h"

struct graph_array {
    int64_t *v;
    int64_t n;
    size_t capacity;
};

/** Room for `n` values in all; v may move. */
static inline grebe_status graph_array_room(const grebe_allocator *a, struct graph_array *x, int64_t n, grebe_error *err)
{
    size_t wanted = n < 16 ? 16 : (size_t)n;
    if (wanted <= x->capacity) {
        return GREBE_OK;
    }
    wanted = max_size(wanted, x->capacity + x->capacity / 2);
    size_t size;
    int64_t *grown = checked_mul_size(wanted, sizeof *x->v, &size)
                         ? mem_resize(a, x->v, x->capacity * sizeof *x->v, size) : NULL;
    if (grown == NULL) {
        return mem_fail(err, wanted, "ids of a sample");
    }
    x->v = grown;
    x->capacity = wanted;
    return GREBE_OK;
}

static inline void graph_array_release(const grebe_allocator *a, struct graph_array *x)
{
    mem_free(a, x->v, x->capacity * sizeof *x->v);
    *x = (struct graph_array){ 0 };
}

#endif
