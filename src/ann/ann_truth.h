/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_TRUTH_H
#define GREBE_ANN_ANN_TRUTH_H

/*
 * Exact nearest neighbours: equal to float64 arithmetic on the stored values with ties to the lower row, whatever the
 * number of threads. Fast by float32 tiles with a margin that covers their error, then ranking in float64.
 */

#include "ann/ann_dataset.h"

struct ann_truth_options {
    const int64_t *base_labels, *query_labels; /* NULL: unfiltered; else only rows with the query's label */
    bool is_int8_negated_ip;
};

/**
 * @param ids        Shape [queries->n][k]; rows without k matches are padded with -1.
 * @param distances  Shape [queries->n][k]; +inf where padded. Cast once from float64.
 * @return GREBE_OK; GREBE_EINVAL (k is 0 or above base->n); GREBE_ECANCELLED; GREBE_ENOMEM; …
 */
grebe_status ann_truth_dense(grebe_context *ctx, enum vector_metric metric, const struct ann_rows *base,
                             const struct ann_rows *queries, uint64_t k, const struct ann_truth_options *options,
                             const struct call *call, int64_t *ids, float *distances, grebe_error *err);
/** Fill neighbors and distances of a data set of any layout (dense, sparse, multi, sets) with k columns. */
grebe_status ann_truth_fill(struct ann_dataset *d, uint64_t k, bool is_filtered, const struct call *call,
                            grebe_error *err);

/**
 * Take d->neighbors as another program found them: d->distances are computed anew, and what ann_check() would say is
 * said. Neighbours stay as they are but for an order that rounding alone decided.
 *
 * @param has_distances d->distances are that program's: their convention is told as a notice.
 * @return GREBE_OK, also with findings; GREBE_ECORRUPT (an id that is none); GREBE_ENOMEM; GREBE_ECANCELLED; …
 */
grebe_status ann_truth_import(struct ann_dataset *d, bool has_distances, const struct call *call, ann_finding_fn finding,
                              void *arg, grebe_error *err);

#endif
