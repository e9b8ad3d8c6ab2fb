/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_ORDER_H
#define GREBE_GRAPH_GRAPH_ORDER_H

/* The order of items in an epoch, and which of them a process of several reads; both as GraphBolt has them. */

#include <stdbool.h>
#include <stdint.h>

/**
 * 0 … n - 1 as torch.randperm(n) with a generator of this seed gives them: MT19937, of which the low 32 bits of the seed count
 * (Matsumoto and Nishimura 1998). Lists of 2^32 / 20 and more draw 64 bits at a time.
 *
 * @param order Shape [n].
 */
void graph_order_shuffled(uint64_t seed, int64_t n, int64_t *order);
/** The same for n <= 2^31 - 1. */
void graph_order_shuffled_32(uint64_t seed, int32_t n, int32_t *order);

/** One of several processes that share an epoch. */
struct graph_share {
    bool is_distributed;
    int64_t total;
    int64_t n_replicas, rank;
    int64_t n_workers, worker; /* n_workers 0 or 1: none */
    int64_t batch_size;
    bool drop_last;   /* a last batch that is not full */
    bool drop_uneven; /* what not every process would have */
};
struct graph_range {
    int64_t begin, assigned, output; /* items [begin, begin + assigned), of which `output` are given */
};
/** All counts at least 1 where they matter. */
struct graph_range graph_range_of(const struct graph_share *share);

#endif
