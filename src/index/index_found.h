/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_FOUND_H
#define GREBE_INDEX_INDEX_FOUND_H

/* Rows within a radius: a growing list for each query, put together at the end. */

#include "index/index.h"
#include "vector/topk.h"

struct index_found {
    struct topk_item *items;
    size_t n, capacity;
};

/** Room for `more` further rows. */
grebe_status index_found_reserve(struct index_found *f, const grebe_allocator *a, size_t more, grebe_error *err);
/** Nearest first, equal distances by lower position. */
void index_found_sort(struct index_found *f);
void index_found_release(struct index_found *f, const grebe_allocator *a); /* idempotent */
/** The lists of n queries one behind the other. @param out Owned, also zeroed on failure. */
grebe_status index_found_join(const struct index_found *f, size_t n, const grebe_allocator *a, struct index_ranges *out,
                              grebe_error *err);

#endif
