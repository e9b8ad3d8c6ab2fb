/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_EXACT_H
#define GREBE_INDEX_INDEX_EXACT_H

/*
 * Exact search over the rows of a store: what flat is, and what the other kinds do when few rows may be found.
 *
 * Distances are those of the row kernels (vector/distance.h) as callers see them; equal ones by lower position. The
 * result is the same for one query and for many, for any number of threads: tiles only choose candidates, and a query
 * whose candidates cannot be proved complete is searched row by row (docs/internals/ann_flat.md).
 */

#include "index/index_bits.h"
#include "index/index_store.h"
#include "vector/topk.h"

/** Rows that a search may give, as a list; positions NULL: all n rows of the store. Owned: index_rows_release(). */
struct index_list {
    const grebe_allocator *a;
    uint32_t *positions; /* ascending */
    size_t n, capacity;
};

/** The rows of the filter that are not removed. */
grebe_status index_list_make(const grebe_allocator *a, uint64_t n_rows, const struct index_bits *removed,
                             const struct index_filter *filter, struct index_list *out, grebe_error *err);
void index_list_release(struct index_list *l); /* idempotent */

/**
 * About how many nanoseconds an exact search of `rows` rows costs for one of n queries, so that a kind can tell when it
 * is the cheaper way. Relative to index_walk figures of the same machine class, which is what matters.
 */
double index_exact_cost(const struct index_store *store, uint64_t rows, uint64_t n_queries);

/** As index_ops.search. */
grebe_status index_exact_search(grebe_context *ctx, const struct index_store *store, const struct index_bits *removed,
                                const struct vector_rows *queries, const struct index_search *s, uint32_t *positions,
                                float *distances, grebe_error *err);
/** As index_ops.range. */
grebe_status index_exact_range(grebe_context *ctx, const struct index_store *store, const struct index_bits *removed,
                               const struct vector_rows *queries, float radius, const struct index_search *s,
                               struct index_ranges *out, grebe_error *err);

/** Kernel values to callers' distances, in place. */
void index_exact_finish(const struct index_store *store, float *values, size_t n);
/** The n <= k nearest items, sorted, to the results of a query; the rest is padded. */
void index_exact_write(const struct topk_item *items, size_t n, size_t k, uint32_t *positions, float *distances);

#endif
