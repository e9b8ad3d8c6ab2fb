/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MAP_MERGE_H
#define GREBE_DATASET_MAP_MERGE_H

/* One batch of a mapping: what the function gave, beside the columns that stay. */

#include "dataset/map_job.h"

/** Columns of a batch after the function. */
struct map_batch {
    bool is_nothing;
    int64_t first_row;         /* of what the function got, in the data set */
    struct ArrowSchema schema; /* struct */
    struct ArrowArray rows;
    bool *is_untouched; /* shape [columns of schema]: as it was in the data set */
};

/** One batch on its way: read, given to the function, put together. Each step may be on a thread of its own, after the step before. */
struct map_call {
    int64_t begin, end; /* rows of the data set */
    struct ArrowArray rows;
    grebe_map_input in; /* borrows rows */
    grebe_map_output given;      /* its rows have gone into result */
    struct array_shared *result; /* what the function gave, checked */
};

/** Rows [begin, end). c: empty before. */
grebe_status map_call_read(struct map_job *j, int64_t begin, int64_t end, int32_t part, struct map_call *c, grebe_error *err);
/** The function's own step. Its result is released where it was made, by map_call_release on that thread: memory that another thread
 *  frees costs both of them a lock. */
grebe_status map_call_apply(struct map_job *j, struct map_call *c, grebe_error *err);
/** What it gave, beside the columns that stay; the rows read are released, also on failure. GREBE_ESCHEMA naming rows and columns. */
grebe_status map_call_merge(struct map_job *j, struct map_call *c, struct map_batch *out, grebe_error *err);
void map_call_release(struct map_call *c);
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
