/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_BOUNDS_H
#define GREBE_PARQUET_PARQUET_BOUNDS_H

/* Which bounds of a file may be believed (spec 8.2): of chunks in statistics, of pages in indexes and page headers. */

#include "parquet/parquet_file.h"

/** The leaf of a top-level column; NULL: it is no leaf. `column` is in range. */
const struct pq_leaf *pq_leaf_of_column(const struct pq_file *f, int column);

/** Whether min_value and max_value of the leaf are in an order that is known. */
bool pq_has_known_order(const struct pq_file *f, const struct pq_leaf *leaf);

/** A stored bound as one of the Arrow type, borrowed from b; false: it is none. */
bool pq_bound_take(const struct pq_leaf *leaf, struct pq_bytes b, bool is_min, const void **value,
                   size_t *len);

/** Min and max of a page are not outside the chunk's; true where nothing can be said: strings may be cut at other places. */
bool pq_bounds_are_within(enum arrow_kind kind, const struct column_bounds *page,
                          const struct column_bounds *chunk);

/**
 * pq_page_bounds by the statistics in page headers: parquet_page_stats.c. The column is a flat leaf,
 * its chunk was checked.
 *
 * @param out Initialized; n stays 0 when nothing is told.
 */
grebe_status pq_page_header_bounds(struct pq_reader *r, int column, size_t chunk,
                                   struct page_bounds *out, grebe_error *err);

#endif
