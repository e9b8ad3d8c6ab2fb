/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CHUNK_H
#define GREBE_CHUNK_H

/*
 * Reading a column group piece by piece. A chunk is the smallest unit that a file is read in (a
 * Parquet row group), as far as it belongs to the table: who schedules reading on their own takes
 * chunks, everybody else grebe/scan.h.
 */

#include "grebe/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The chunks of some columns of one column group. Immutable. */
typedef struct grebe_chunks grebe_chunks;

/** What is known of a chunk before it is read. */
typedef struct grebe_chunk_info {
    int64_t row_begin;     /**< position of its first row in the table */
    int64_t n_rows;
    uint64_t memory_bytes; /**< of the columns, estimated from what the file tells; 0: it does not */
    size_t file;           /**< number of its file in the group */
} grebe_chunk_info;

/**
 * List the chunks of a column group.
 *
 * @param table     Borrowed; may be closed before the chunks are.
 * @param group     Number of the column group, as grebe_table_info has them.
 * @param columns   Names wanted, in this order; those that the group does not have are left out.
 *                  Shape [n_columns]; NULL: all of the group. Borrowed for the call.
 * @param out       Owned by the caller, close with grebe_chunks_close(); NULL on failure.
 * @param err       Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL (group; column asked for twice); GREBE_ENOTFOUND (the group has none
 *         of the columns); GREBE_ECORRUPT (file, range, key-value pairs that tell of row groups);
 *         GREBE_EIO; GREBE_ENOMEM.
 *
 * Threads: every function that takes const grebe_chunks may run from many threads.
 * Cost:    every file of the group is opened once.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_chunks_open(const grebe_table *table, size_t group,
                                                          const char *const *columns,
                                                          size_t n_columns, grebe_chunks **out,
                                                          grebe_error *err);

/** @param chunks NULL is accepted. Arrays that came from it stay valid. */
GREBE_API void grebe_chunks_close(grebe_chunks *chunks);

/** @return How many there are; those without rows are not counted. */
GREBE_API size_t grebe_chunks_count(const grebe_chunks *chunks);

/** @return GREBE_OK; GREBE_EINVAL (chunk: message has number and count). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_chunks_info(const grebe_chunks *chunks, size_t chunk,
                                                          grebe_chunk_info *out,
                                                          grebe_error *err);

/**
 * The columns that a chunk gives.
 *
 * @param out Struct schema, owned by the caller; empty on failure.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_chunks_schema(const grebe_chunks *chunks,
                                                            struct ArrowSchema *out,
                                                            grebe_error *err);

/**
 * The chunks that hold rows, each once, in the order in which the rows come to them first.
 *
 * @param row_ids Shape [n], any order. Borrowed.
 * @param out     Shape [n]; the first *n_out are written.
 * @return GREBE_OK; GREBE_EINVAL (id out of range); GREBE_ENOTFOUND (deleted id); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_chunks_of_rows(const grebe_chunks *chunks,
                                                             const int64_t *row_ids, size_t n,
                                                             size_t *out, size_t *n_out,
                                                             grebe_error *err);

/**
 * Read chunks, several at a time.
 *
 * @param numbers Shape [n]: any order, the same one may come again. Borrowed.
 * @param call    Threads, cancel. NULL: defaults. Borrowed.
 * @param out     Shape [n]: a struct array for each number asked, in that order; each owned by the
 *                caller and independent of the others. All empty on failure.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL (number); GREBE_ECORRUPT; GREBE_EIO; GREBE_ECANCELLED;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_chunks_read(const grebe_chunks *chunks,
                                                          const size_t *numbers, size_t n,
                                                          const grebe_call_options *call,
                                                          struct ArrowArray *out,
                                                          grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
