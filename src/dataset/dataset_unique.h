/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_DATASET_UNIQUE_H
#define GREBE_DATASET_DATASET_UNIQUE_H

/* Distinct values of a column. */

#include "dataset/dataset_internal.h"

/** Rows in which a value appears first, ascending: int64 appended. */
grebe_status dataset_distinct_rows(const grebe_dataset *ds, int column, struct buf *rows, grebe_error *err);
/** The values themselves. */
grebe_status dataset_distinct(const grebe_dataset *ds, int column, struct ArrowArray *out, grebe_error *err);

#endif
