/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MAP_MERGE_H
#define GREBE_DATASET_MAP_MERGE_H

/* One batch of a mapping: what the function gave, beside the columns that stay. */

#include "dataset/map_job.h"

/** Columns of a batch after the function. */
struct map_batch {
    bool is_nothing;
    struct ArrowSchema schema; /* struct */
    struct ArrowArray rows;
    bool *is_untouched; /* shape [columns of schema]: as it was in the data set */
};

/** Rows [begin, end) through the function. GREBE_ESCHEMA naming rows and columns. */
grebe_status map_batch_make(struct map_job *j, int64_t begin, int64_t end, int32_t part, struct map_batch *out,
                            grebe_error *err);
void map_batch_release(const struct map_job *j, struct map_batch *b);

/**
 * Features of the result by its first batches: those asked for; or those of the data set where values fit them; or
 * those of the types. *features is replaced; a column that held nulls only takes the type that comes now.
 */
grebe_status map_batch_features(struct map_job *j, const struct map_batch *b, struct features **features,
                                grebe_error *err);
/** Whether a column has no type yet. */
bool map_features_are_open(const struct features *f);

#endif
