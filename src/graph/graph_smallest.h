/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_SMALLEST_H
#define GREBE_GRAPH_GRAPH_SMALLEST_H

/* The k smallest of a stream of keys: few of them in order, without a branch; many as a heap with the largest in front. */

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { GRAPH_SMALLEST_SORTED = 16 };

/** A place that no key has taken holds UINT64_MAX, which is no key. */
struct graph_smallest {
    uint64_t *keys;  /* shape [k] */
    int64_t k;
    uint64_t limit; /* what is not below it is not among the smallest */
};

static inline void graph_smallest_begin(struct graph_smallest *s, uint64_t *keys, int64_t k)
{
    *s = (struct graph_smallest){ keys, k, UINT64_MAX };
    for (int64_t i = 0; i < k; i++) {
        keys[i] = UINT64_MAX;
    }
}

static inline void graph_smallest_sift(uint64_t *heap, int64_t n, uint64_t x)
{
    int64_t at = 0;
    for (int64_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && heap[child + 1] > heap[child];
        if (heap[child] <= x) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

static inline void graph_smallest_add(struct graph_smallest *s, uint64_t x)
{
    uint64_t *keys = s->keys;
    if (x >= s->limit) {
        return;
    }
    if (s->k > GRAPH_SMALLEST_SORTED) {
        graph_smallest_sift(keys, s->k, x);
        s->limit = keys[0];
        return;
    }
    for (int64_t i = s->k - 1; i > 0; i--) { /* those behind x move up, the last falls out */
        uint64_t larger = keys[i - 1] > x ? keys[i - 1] : x;
        keys[i] = keys[i] < larger ? keys[i] : larger;
    }
    keys[0] = keys[0] < x ? keys[0] : x;
    s->limit = keys[s->k - 1];
}

/** Keys are float32 above 32 bits of position: the rank from which on none is taken. */
static inline double graph_smallest_limit(const struct graph_smallest *s)
{
    uint32_t bits = (uint32_t)(s->limit >> 32);
    float f;
    memcpy(&f, &bits, sizeof f);
    return s->limit == UINT64_MAX ? (double)INFINITY : (double)f;
}

#endif
