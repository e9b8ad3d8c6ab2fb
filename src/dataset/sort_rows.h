/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_SORT_ROWS_H
#define GREBE_DATASET_SORT_ROWS_H

/* The order of rows by the values of a column, on top of an order that is there: stable. */

#include "arrow/arrow_array.h"

/** Values of one column, batch by batch. */
struct sort_column {
    const struct ArrowSchema *schema;
    const struct ArrowArray *batches; /* shape [n_batches] */
    size_t n_batches;
    int64_t n_rows;
    bool is_descending, are_nulls_first;
};

/** Whether columns of the type have an order. GREBE_EUNSUPPORTED. */
grebe_status sort_check_type(const struct ArrowSchema *schema, grebe_error *err);

/**
 * Put rows in the order of the column; rows that are equal in it keep their order. NaN stands behind every number,
 * nulls behind it (or first, NaN next), whatever the direction.
 *
 * @param order Shape [n_rows], a permutation.
 */
grebe_status sort_rows(const grebe_allocator *a, const struct sort_column *c, int64_t *order, grebe_error *err);

#endif
