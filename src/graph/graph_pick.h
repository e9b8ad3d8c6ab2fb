/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_PICK_H
#define GREBE_GRAPH_GRAPH_PICK_H

/* Which edges of one list of in-edges are taken. */

#include "graph/graph_sample.h"

/** Working memory of one thread. */
struct graph_picker {
    const struct graph_csc *g;
    const struct graph_sampling *how;
    struct graph_array allowed; /* edges that are old enough */
    struct graph_array table;   /* heaps, hash tables, sums */
};

/** Edges [begin, begin + n) of one node (and type). */
struct graph_run {
    int64_t begin, n;
    int64_t fanout;
    int64_t time;  /* of the node */
    uint64_t key;
};

/** Ask for lines of memory that will be read soon; no address is wrong. */
static inline void graph_prefetch(const char *at, size_t size)
{
    for (size_t i = 0; i < size; i += 64) {
        __builtin_prefetch(at + i);
        __asm__ volatile("" : : "r"(at + i)); /* gcc takes a loop of prefetches alone for one that does nothing */
    }
}

/** Most that graph_pick() gives for a run. */
static inline int64_t graph_pick_most(const struct graph_sampling *how, int64_t n, int64_t fanout)
{
    if (n == 0 || fanout == GRAPH_FANOUT_ALL) {
        return n;
    }
    return how->with_replacement || fanout < n ? fanout : n;
}

/** @param out Room for graph_pick_most() edges. @param n_out How many there are. */
grebe_status graph_pick(struct graph_picker *p, const struct graph_run *run, int64_t *out, int64_t *n_out, grebe_error *err);
void graph_picker_release(struct graph_picker *p);

#endif
