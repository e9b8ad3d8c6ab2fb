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

/* ---- making tables: parts are shared, nothing is copied ---- */

/** Arrow files one below the other, all of the type of the first. GREBE_ESCHEMA naming file and column. */
grebe_status dataset_table_of_files(grebe_context *ctx, const char *const *paths, size_t n, bool in_memory,
                                    struct dataset_table **out, grebe_error *err);
/** Batches in memory. batches: shape [n], moved in on success; schema: copied. */
grebe_status dataset_table_of_batches(grebe_context *ctx, const struct ArrowSchema *schema, struct ArrowArray *batches, size_t n,
                                      struct dataset_table **out, grebe_error *err);
/** Rows [begin, end). */
grebe_status dataset_table_slice(const struct dataset_table *t, int64_t begin, int64_t end, struct dataset_table **out,
                                 grebe_error *err);
/** Column i of the new table is columns[i] of t, or, -1, null; schema: its types and names, copied. */
grebe_status dataset_table_project(const struct dataset_table *t, const int *columns, const struct ArrowSchema *schema,
                                   struct dataset_table **out, grebe_error *err);
/** Column i of the new table is child steps[i] of the struct column columns[i], or, steps[i] -1, the column itself. */
grebe_status dataset_table_flatten(const struct dataset_table *t, const int *columns, const int *steps,
                                   const struct ArrowSchema *schema, struct dataset_table **out, grebe_error *err);
/** Tables of one type, one below the other. */
grebe_status dataset_table_stack(grebe_context *ctx, const struct dataset_table *const *tables, size_t n,
                                 const struct ArrowSchema *schema, struct dataset_table **out, grebe_error *err);
/** Tables of the same number of rows, side by side. */
grebe_status dataset_table_join(grebe_context *ctx, const struct dataset_table *const *tables, size_t n,
                                const struct ArrowSchema *schema, struct dataset_table **out, grebe_error *err);

/** Bytes of the buffers that the rows refer to. */
grebe_status dataset_table_num_bytes(const struct dataset_table *t, int64_t *out, grebe_error *err);
/** Where the batch with row `row` ends: the row behind its last one (of the first column). */
int64_t dataset_table_batch_end(const struct dataset_table *t, int64_t row);
/** Called for the path of each file below, each once. */
grebe_status dataset_table_each_file(const struct dataset_table *t, grebe_status (*fn)(void *arg, const char *path, grebe_error *err),
                                     void *arg, grebe_error *err);

/* ---- indices ---- */

/** Shape [dataset_indices_len]: uint64 rows of the table. */
const uint64_t *dataset_indices_rows(const struct dataset_indices *x);
int64_t dataset_indices_len(const struct dataset_indices *x);

/** rows: shape [n], moved in (allocated by mem_alloc(n * 8)), also on failure. */
grebe_status dataset_indices_new(grebe_context *ctx, uint64_t *rows, int64_t n, struct dataset_indices **out, grebe_error *err);
/** A file as rows_writer wrote it for indices: one column uint64. n_rows: of the table they point into. */
grebe_status dataset_indices_open(grebe_context *ctx, const char *path, int64_t n_rows, struct dataset_indices **out,
                                  grebe_error *err);
grebe_status dataset_indices_slice(struct dataset_indices *x, int64_t begin, int64_t end, struct dataset_indices **out,
                                   grebe_error *err);
const char *dataset_indices_path(const struct dataset_indices *x); /* NULL: in memory */
struct dataset_indices *dataset_indices_keep(struct dataset_indices *x);
void dataset_indices_drop(struct dataset_indices *x); /* NULL accepted */

#endif
