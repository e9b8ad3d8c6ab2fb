/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SCAN_H
#define GREBE_SCAN_H

/*
 * Reading the rows of a table: in order (scan), by row id (take), counted, or only planned
 * (explain).
 */

#include "grebe/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which rows and columns. Fields beyond struct_size take their defaults. */
typedef struct grebe_scan_options {
    uint32_t struct_size;

    /** int64 column "_rowid" (not null) in front of the others. A table's own column of that
     *  name cannot be read together with it. */
    bool with_row_id;

    /** Names in the order wanted, shape [n_columns]; NULL: all in the table's order; not NULL
     *  with n_columns 0: no column at all (batches have only a length). Borrowed for the call. */
    const char *const *columns;
    size_t n_columns;

    /** Predicate (docs/guide/where.md); rows for which it is true. NULL: all. Borrowed for the
     *  call. Its columns need not be among `columns`. */
    const char *where;

    /** Row ids [row_begin, row_end); beyond the end is cut off. Default: all. */
    int64_t row_begin;
    int64_t row_end;

    /** Most rows given (after `where`); -1: no limit. */
    int64_t limit;

    /** Most rows of a batch, at least 1; 0: 65536 (compat milvus: 8192). */
    int64_t batch_rows;

    /** Threads, memory limit (soft: of chunks read ahead), cancel token (used until the stream
     *  is released). NULL: defaults. Borrowed for the call. */
    const grebe_call_options *call;
} grebe_scan_options;

#define GREBE_SCAN_OPTIONS_INIT                                                      \
    {                                                                                \
        sizeof(grebe_scan_options), false, 0, 0, 0, 0, INT64_MAX, -1, 0, 0           \
    }

/**
 * Read rows in row order as a stream of batches.
 *
 * @param table   Borrowed; may be closed before the stream is released.
 * @param options Borrowed; NULL: everything.
 * @param out     Struct batches, columns in the order asked. Owned by the caller; empty on
 *                failure. One thread at a time. Arrays may outlive stream and table, not the context.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND (unknown column, the nearest is named); GREBE_EINVAL (column
 *         asked for twice, range, predicate); GREBE_ESCHEMA (types in the predicate); GREBE_ECORRUPT;
 *         GREBE_EIO; GREBE_ENOMEM. Later failures come from the stream.
 *
 * Order: row order, whatever the number of threads. No batch crosses an edge of a chunk (row
 *        group) of any column group that is read, nor has more than batch_rows rows.
 * Cost:  only column groups with a needed column are opened, file by file.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_scan(const grebe_table *table,
                                                         const grebe_scan_options *options,
                                                         struct ArrowArrayStream *out,
                                                         grebe_error *err);

/** What a take does with ids that are not there. */
typedef enum grebe_missing {
    GREBE_MISSING_ERROR = 0, /**< ids beyond the end or negative: GREBE_EINVAL; deleted: GREBE_ENOTFOUND */
    GREBE_MISSING_NULL = 1   /**< a row of nulls (every column becomes nullable) */
} grebe_missing;

/** How rows are taken. Fields beyond struct_size take their defaults. */
typedef struct grebe_take_options {
    uint32_t struct_size;

    /** grebe_missing. */
    int32_t missing;

    /** As in grebe_scan_options. */
    const char *const *columns;
    size_t n_columns;
    bool with_row_id;

    /** NULL: defaults. Borrowed for the call. */
    const grebe_call_options *call;
} grebe_take_options;

#define GREBE_TAKE_OPTIONS_INIT                                                    \
    {                                                                              \
        sizeof(grebe_take_options), GREBE_MISSING_ERROR, 0, 0, false, 0            \
    }

/**
 * Fetch rows by id, in the order asked for.
 *
 * @param table      Borrowed.
 * @param row_ids    Shape [n]; any order, duplicates allowed (compat milvus: strictly ascending).
 *                   Borrowed; may be NULL when n is 0.
 * @param n          Number of ids; 0 gives an empty batch.
 * @param options    Borrowed; NULL: all columns.
 * @param out        Struct array of n rows. Owned by the caller; independent of the table's
 *                   lifetime, not of the context's; empty on failure.
 * @param out_schema Its schema, owned by the caller; NULL: not wanted.
 * @param err        Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL (id out of range: message has index and id); GREBE_ENOTFOUND
 *         (deleted id; column); GREBE_ECORRUPT; GREBE_EIO; GREBE_ENOMEM.
 *
 * Threads: safe on one table from many threads.
 * Cost:    one read per touched page or segment; memory O(n * row bytes).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_take(const grebe_table *table,
                                                         const int64_t *row_ids, size_t n,
                                                         const grebe_take_options *options,
                                                         struct ArrowArray *out,
                                                         struct ArrowSchema *out_schema,
                                                         grebe_error *err);

/**
 * Count rows.
 *
 * @param table   Borrowed.
 * @param options As for a scan (columns, limit and batch size are not looked at); NULL: all rows.
 * @param out     Rows.
 * @param err     Details on failure; may be NULL.
 * @return As grebe_table_scan().
 * Cost: without a predicate no file is opened.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_count(const grebe_table *table,
                                                          const grebe_scan_options *options,
                                                          int64_t *out, grebe_error *err);

/** One file that a scan would open. */
typedef struct grebe_explain_file {
    const char *path;
    const char *format;
    size_t group;           /**< number of its column group */
    int64_t row_begin;      /**< rows of the table that it gives: [row_begin, row_end) */
    int64_t row_end;
    size_t n_chunks;        /**< chunks (row groups) within the rows of the scan */
    size_t n_chunks_read;   /**< those that the predicate could not rule out */
    uint64_t bytes_total;   /**< stored bytes of the needed columns in n_chunks */
    uint64_t bytes_read;    /**< and in n_chunks_read */
} grebe_explain_file;

/** What a scan would read. */
typedef struct grebe_explain {
    size_t n_files;
    const grebe_explain_file *files; /**< shape [n_files] */
    size_t n_groups;        /**< column groups of the table */
    size_t n_groups_read;
    size_t n_chunks;
    size_t n_chunks_read;
    int64_t n_rows;         /**< rows that would be looked at: chunks less the pages that are ruled out */
    uint64_t bytes_total;
    uint64_t bytes_read;
    const char *where;      /**< the predicate as understood; "" when none */
} grebe_explain;

/**
 * Plan a scan without reading values: files, row groups and bytes.
 *
 * @param table   Borrowed.
 * @param options As for a scan. Borrowed; NULL: everything.
 * @param out     Owned by the caller, free with grebe_explain_free(); NULL on failure.
 * @param err     Details on failure; may be NULL.
 * @return As grebe_table_scan().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_table_explain(const grebe_table *table,
                                                            const grebe_scan_options *options,
                                                            grebe_explain **out,
                                                            grebe_error *err);

/** @param explain NULL is accepted. */
GREBE_API void grebe_explain_free(grebe_explain *explain);

#ifdef __cplusplus
}
#endif
#endif
