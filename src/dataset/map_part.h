/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MAP_PART_H
#define GREBE_DATASET_MAP_PART_H

/* One part of a map: its batches through the function and into a file, or the file that was written before. */

#include "dataset/map_merge.h"
#include "dataset/rows_sink.h"

/* What became of one part. */
struct map_part {
    struct map_job *j;
    int32_t i;
    int64_t nothing_row, something_row; /* a batch that gave nothing, or something; -1: none */
    struct features *features; /* of the result */
    struct features *given;    /* of the file, when it has only the columns that the function gave; else NULL */
    struct rows_sink *sink;
    int64_t n_put;
    struct buf pending; /* struct map_batch: before the types of all columns are known */
    struct buf path, path_beside, fingerprint;
    struct dataset_table *table; /* NULL: nothing */
};

/** parts[i], a pool_fn. */
grebe_status map_part_run(void *parts, size_t i, grebe_error *err);
void map_part_release(struct map_part *p);

/** A batch of something into the part's file, after those before; moved in, also on failure. */
grebe_status map_part_take(struct map_part *p, struct map_batch *b, grebe_error *err);
/** All batches: read ahead, given to the function one after another on this thread, written behind. */
grebe_status map_part_batches(struct map_part *p, grebe_error *err);

#endif
