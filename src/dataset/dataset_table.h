/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_DATASET_TABLE_H
#define GREBE_DATASET_DATASET_TABLE_H

/*
 * Tables of a data set: blocks of rows one below the other, each a run of batches of mapped files or of memory, with the
 * columns renamed, left out, null-filled or joined side by side. Nothing is copied to make one; the indices over it, too, may lie
 * in a mapped file.
 */

#include "ipc/rows_file.h"

struct dataset_table;
struct dataset_indices;

int64_t dataset_table_num_rows(const struct dataset_table *t);
const struct ArrowSchema *dataset_table_schema(const struct dataset_table *t);
struct dataset_table *dataset_table_keep(struct dataset_table *t);
void dataset_table_drop(struct dataset_table *t); /* NULL accepted */

/** Rows [begin, end) of columns (indices; NULL: all): whole when they lie in one batch, else joined. */
grebe_status dataset_table_read(const struct dataset_table *t, int64_t begin, int64_t end, const int *columns, size_t n_columns,
                                struct ArrowArray *out, grebe_error *err);
/** Rows in any order, duplicates allowed: grouped by batch, gathered once, put in order. rows: shape [n], checked. */
grebe_status dataset_table_take(const struct dataset_table *t, const int64_t *rows, int64_t n, const int *columns,
                                size_t n_columns, struct ArrowArray *out, grebe_error *err);

/** Shape [dataset_indices_len]: uint64 rows of the table. */
const uint64_t *dataset_indices_rows(const struct dataset_indices *x);
int64_t dataset_indices_len(const struct dataset_indices *x);

#endif
