/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TABLE_WHERE_H
#define GREBE_TABLE_TABLE_WHERE_H

/* A predicate bound to a table's columns. */

#include "table/table_internal.h"

struct where;

/** @param out Owned; where_free(). NULL for a text of NULL. */
grebe_status where_new(const grebe_table *t, const char *text, struct where **out,
                       grebe_error *err);
void where_free(struct where *w); /* NULL accepted */

/** Columns of the table that it reads, shape [*n]; borrowed. */
const int *where_columns(const struct where *w, size_t *n);

/** The predicate as understood, appended to dst. */
grebe_status where_print(const struct where *w, struct buf *dst, grebe_error *err);

/**
 * For which rows it is true.
 *
 * @param columns Shape [where columns], each of `length` rows. Borrowed.
 * @param keep    Written: shape [bitmap_bytes(length)].
 * @param n_true  Rows for which it is true.
 */
grebe_status where_eval(const struct where *w, const struct ArrowArray *const *columns,
                        int64_t length, uint8_t *keep, int64_t *n_true, grebe_error *err);

/** Bounds of where column i; called only while where_may_match runs. */
typedef grebe_status (*where_bounds_fn)(void *arg, size_t i, struct column_bounds *out,
                                        grebe_error *err);

/** Whether some row within the bounds can make it true. */
grebe_status where_may_match(const struct where *w, where_bounds_fn bounds, void *arg,
                             bool *out, grebe_error *err);

#endif
