/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_SPARSE_QUERY_H
#define GREBE_INDEX_SPARSE_QUERY_H

/* One sparse query against one window, and against rows. One worker's memory, used for query after query. */

#include "index/sparse_index.h"
#include "index/sparse_scan.h"
#include "vector/topk.h"

/** A term's list in the window. */
struct sparse_list {
    uint32_t begin, end;
    float weight; /* of the query */
    float scale;  /* of the list: largest absolute value */
};

struct sparse_slot {
    uint32_t term;
    float weight; /* 0: empty */
};

struct sparse_query {
    const grebe_allocator *a;
    const struct sparse_kernels *kernels;
    int16_t *sums;   /* shape [SPARSE_WINDOW_ROWS + 64] */
    uint32_t *hits;  /* shape [SPARSE_HITS + 16] */
    const uint32_t *terms;
    const float *weights;
    size_t n;
    struct sparse_list *lists; /* shape [n] */
    size_t list_capacity, n_lists;
    struct sparse_slot *slots; /* the query by term; shape [1 << slot_bits] */
    unsigned slot_bits, room_bits; /* in use; of the memory */
    uint32_t multiplier;           /* of the hash */
    bool is_perfect;               /* every term stands in the slot of its hash */
    float unit;   /* sums of one unit of score, in the window that was added up last */
    float error;  /* how far sum / unit can be from the true score there */
    bool is_bad;  /* a list was not inside its window: ECORRUPT */
};

enum { SPARSE_HITS = 256 };

grebe_status sparse_query_init(struct sparse_query *q, const grebe_allocator *a, grebe_error *err);
void sparse_query_release(struct sparse_query *q); /* idempotent */
/** Take row i of the queries. */
grebe_status sparse_query_set(struct sparse_query *q, const struct vector_sparse *queries, uint64_t i, grebe_error *err);
/** Add up the window's sums, leaving out lists that hold `prune` of the query's mass. */
void sparse_query_add(struct sparse_query *q, const struct sparse_window *w, double prune);
/** -dot of the query and row r, summed in float64, rounded once; NaN: the row is not inside its array. */
float sparse_query_rank(const struct sparse_query *q, const struct vector_sparse *rows, uint32_t r);
/** Ask for a row that is ranked soon. */
void sparse_query_prefetch(const struct vector_sparse *rows, uint32_t r);

#endif
