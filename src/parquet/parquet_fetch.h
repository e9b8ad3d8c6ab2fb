/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_FETCH_H
#define GREBE_PARQUET_PARQUET_FETCH_H

/* Columns of chosen rows as one struct array: what read and take share. */

#include "parquet/parquet_column.h"

/** Rows of one row group. */
struct pq_part {
    size_t chunk;
    const struct pq_run *runs; /* shape [n_runs], rows of the row group, ascending */
    size_t n_runs;
    int64_t n_rows;
};

/**
 * @param columns  Indices of top-level fields; NULL: all, n_columns is not looked at.
 * @param parts    Shape [n_parts], chunks ascending.
 * @param may_view One part with one run: buffers may be views of the file.
 */
grebe_status pq_fetch(struct pq_reader *r, const int *columns, size_t n_columns,
                      const struct pq_part *parts, size_t n_parts, bool may_view,
                      const struct call *call, struct ArrowArray *out, grebe_error *err);

/** Working memory for one thread of a call, and back. */
struct pq_scratch *pq_scratch_borrow(struct pq_reader *r, grebe_error *err);
void pq_scratch_return(struct pq_reader *r, struct pq_scratch *s);
void pq_scratch_free(struct pq_scratch *s); /* NULL accepted */

/** Most bytes that one block of a column's output may take: far above what honest files need. */
uint64_t pq_limit_bytes(const struct pq_reader *r, uint32_t leaf, const struct pq_part *parts,
                        size_t n_parts);

#endif
