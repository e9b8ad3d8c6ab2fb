/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_ITERABLE_PICK_H
#define GREBE_ITERABLE_ITERABLE_PICK_H

/* Rows picked one by one, as a shuffle does: a column at a time, values asked for ahead. */

#include "iterable/iterable_rows.h"

/**
 * Picked rows of sources of one type as an array, when all columns are numbers, times, bools or texts.
 *
 * @param picks Shape [n].
 * @param is_done False with GREBE_OK: a column is of another kind, or too long; nothing was made.
 */
grebe_status rows_pick_flat(const grebe_allocator *a, const struct rows *sources, size_t n_sources,
                            const struct ArrowSchema *schema, const struct pick *picks, size_t n, struct ArrowArray *out,
                            bool *is_done, grebe_error *err);

#endif
