/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_ITERABLE_MERGE_H
#define GREBE_ITERABLE_ITERABLE_MERGE_H

/* What a step gives for a batch, put together with the columns that stay. */

#include "iterable/iterable_rows.h"

/**
 * Columns of `in` without the removed ones, in their places; a result column takes the place of that of its name,
 * others come behind.
 *
 * @param schema Struct type of the result. @param result Moved in, also on failure.
 * @return GREBE_OK; GREBE_ESCHEMA (another number of rows, and a column stays); GREBE_ENOMEM.
 */
grebe_status rows_merge(const grebe_allocator *a, const struct rows *in, const char *const *removed, size_t n_removed,
                        const struct ArrowSchema *schema, struct ArrowArray *result, struct rows *out,
                        grebe_error *err);

#endif
