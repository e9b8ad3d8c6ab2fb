/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_ROW_KEY_H
#define GREBE_DATASET_ROW_KEY_H

/* A value as bytes: two values are equal just when their keys are. */

#include "arrow/arrow_array.h"

/** Appended. Null has a key of its own, every NaN the same, zeros too. */
grebe_status row_key_put(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row, struct buf *dst,
                         grebe_error *err);

#endif
