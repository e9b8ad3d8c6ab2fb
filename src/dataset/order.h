/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_ORDER_H
#define GREBE_DATASET_ORDER_H

/* Orders of rows by number alone: splits and interleavings as `datasets` makes them. */

#include "base/buf.h"
#include "base/pcg64.h"
#include "grebe/dataset.h"

/** Sizes of train and test for n rows. GREBE_EINVAL naming what does not fit. */
grebe_status order_split_sizes(const grebe_split_options *o, int64_t n, int64_t *n_train, int64_t *n_test, grebe_error *err);

/** Shuffled split: test is the first part of the permutation. train, test: int64_t appended. */
grebe_status order_split(struct pcg64 *g, int64_t n, int64_t n_train, int64_t n_test, struct buf *train, struct buf *test,
                         grebe_error *err);

/** Split in which each class has its share. labels: shape [n]. GREBE_EINVAL (a class of one row, fewer rows than classes). */
grebe_status order_split_stratified(const grebe_allocator *a, struct pcg64 *g, const int64_t *labels, int64_t n, int64_t n_train,
                                    int64_t n_test, struct buf *train, struct buf *test, grebe_error *err);

/**
 * Interleaving of sources of known lengths: rows of the concatenation (source k begins at the sum of the lengths before it).
 *
 * @param probabilities Shape [n]; NULL: in turn.
 * @param rows          int64_t appended.
 */
grebe_status order_interleave(const grebe_allocator *a, struct pcg64 *g, const int64_t *lengths, size_t n,
                              const double *probabilities, grebe_stop stop, struct buf *rows, grebe_error *err);

/** Part i of n of `total` things: the first total % n parts have one more. */
static inline void order_part(int64_t total, int64_t n, int64_t i, int64_t *begin, int64_t *end)
{
    int64_t each = total / n, more = total % n;
    *begin = each * i + (i < more ? i : more);
    *end = *begin + each + (i < more);
}

#endif
