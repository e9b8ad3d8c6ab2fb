/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SEARCH_H
#define GREBE_SEARCH_H

/*
 * The nearest rows of a table: by an index of the column where the version has one, else by comparing every row.
 *
 * A vector column is a fixed-size list (or a list of one length) of float, double, half float, int8 or uint8. Rows
 * whose vector is null are never found.
 */

#include "grebe/ann_index.h"
#include "grebe/scan.h"
#include "grebe/txn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How an index of a column is made. Fields beyond struct_size take their defaults. */
typedef struct grebe_column_index_options {
    uint32_t struct_size;
    grebe_ann_index_kind kind;        /**< not GREBE_ANN_INDEX_SPARSE */
    grebe_metric metric;
    const char *const *params;        /**< "name=value" of the kind; shape [n_params] */
    size_t n_params;
    const char *name;                 /**< NULL: the column's */
    const grebe_txn_options *txn;     /**< NULL: defaults */
    const grebe_call_options *call;   /**< NULL: defaults */
} grebe_column_index_options;
#define GREBE_COLUMN_INDEX_OPTIONS_INIT                                                                 \
    {                                                                                                   \
        sizeof(grebe_column_index_options), GREBE_ANN_INDEX_GRAPH, GREBE_METRIC_EUCLIDEAN, NULL, 0, NULL, NULL, NULL \
    }

/**
 * Build an index over a vector column of the version that the table is open at, put it into the table's folder
 * `_index`, and commit a version that names it; an index of the column that is there is replaced. Appending rows to
 * the column takes the index out of the version again (build it anew then).
 *
 * @param out The new version; grebe_table_close(). NULL on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_ESCHEMA (no vectors, or of several lengths); GREBE_EINVAL;
 *         GREBE_ECONFLICT; GREBE_ECANCELLED; GREBE_EIO; GREBE_ENOMEM.
 * Memory: the column's vectors twice, and the index.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_build_index(const grebe_table *table, const char *column,
                                                                const grebe_column_index_options *options,
                                                                grebe_table **out, grebe_error *err);
/**
 * Commit a version without the indexes of the column.
 * @return As grebe_txn_commit(); GREBE_ENOTFOUND: it has none.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_drop_index(const grebe_table *table, const char *column,
                                                               const grebe_txn_options *txn, grebe_table **out,
                                                               grebe_error *err);

/** Fields beyond struct_size take their defaults. */
typedef struct grebe_table_search_options {
    uint32_t struct_size;
    const char *const *columns; /**< given back beside row id and distance, in this order; shape [n_columns] */
    size_t n_columns;           /**< NULL columns: all but the vectors searched */
    const char *where;          /**< only rows for which it is true; NULL: all */
    const char *const *params;  /**< of the index: "ef=64", …; shape [n_params]. Of no use without one. */
    size_t n_params;
    bool is_exact;              /**< compare every row, also where there is an index */
    grebe_metric metric;        /**< without an index; by default an index has its own, with is_exact too */
    const grebe_call_options *call;
    bool has_metric;            /**< metric is wanted: every row is compared where the index has another one */
} grebe_table_search_options;
#define GREBE_TABLE_SEARCH_OPTIONS_INIT                                                                       \
    {                                                                                                         \
        sizeof(grebe_table_search_options), NULL, 0, NULL, NULL, 0, false, GREBE_METRIC_EUCLIDEAN, NULL, false \
    }

/**
 * The k nearest rows of each query, nearest first.
 *
 * @param queries Dense, of the column's number of components.
 * @param out     One batch: "_query" (int64, only with several queries), "_rowid" (int64), "_distance" (float), then the
 *                columns. Owned by the caller; empty on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ESCHEMA; GREBE_EINVAL; GREBE_ECORRUPT; GREBE_ECANCELLED; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_search(const grebe_table *table, const char *column,
                                                           const grebe_vectors *queries, size_t k,
                                                           const grebe_table_search_options *options,
                                                           struct ArrowArrayStream *out, grebe_error *err);

/** Vectors of a stream in memory of their own. */
typedef struct grebe_vector_rows {
    grebe_vectors vectors;
    void *owner;
} grebe_vector_rows;
/**
 * A vector column of a stream, for queries or for an index of the caller's.
 *
 * @param rows   Moved in; released in any case.
 * @param column NULL: the only vector column.
 * @param out    grebe_vector_rows_free(). Zeroed on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ESCHEMA (also: a null vector); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_vector_rows_read(grebe_context *ctx, struct ArrowArrayStream *rows,
                                                               const char *column, grebe_vector_rows *out,
                                                               grebe_error *err);
/** Free what grebe_vector_rows_read() gave; idempotent. */
GREBE_API void grebe_vector_rows_free(grebe_vector_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
