/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IPC_ROWS_FILE_H
#define GREBE_IPC_ROWS_FILE_H

/*
 * An Arrow IPC file, stream or file format, whose batches are found without reading them: mapped, heads of messages walked
 * once, columns checked when they are first read.
 */

#include "arrow/arrow_array.h"
#include "io/io.h"

/** Immutable after opening; shared. */
struct rows_file {
    grebe_context *ctx;
    char *path;
    struct ArrowSchema schema; /* plain: dictionaries, views and runs are read as their values */
    int64_t n_rows;
    size_t n_batches;           /* with at least one row */
    const int64_t *batch_begin; /* shape [n_batches + 1] */
};

/** @param in_memory Read instead of mapped. GREBE_ECORRUPT naming file and offset. */
grebe_status rows_file_open(grebe_context *ctx, const char *path, bool in_memory, struct rows_file **out, grebe_error *err);
/** Bytes in memory, of which a reference is taken; name: for messages. */
grebe_status rows_file_of_region(grebe_context *ctx, const char *name, struct region *region, struct rows_file **out,
                                 grebe_error *err);
struct rows_file *rows_file_keep(struct rows_file *f);
void rows_file_drop(struct rows_file *f); /* NULL accepted */

/** Columns (indices, shape [n]; NULL: all) of batch i; views of the map where nothing is compressed. Threads: many. */
grebe_status rows_file_batch(struct rows_file *f, size_t i, const int *columns, size_t n, struct ArrowArray *out, grebe_error *err);

/**
 * As rows_file_batch of one column, but its offsets and texts need not have been looked at (*is_checked false): what is
 * given out of it is the caller's to check.
 */
grebe_status rows_file_look(struct rows_file *f, size_t i, int column, struct ArrowArray *out, bool *is_checked,
                            grebe_error *err);

/** The bytes of the file, mapped or read: views of it stay good as long as a reference to it is held. Borrowed. */
struct region *rows_file_bytes(const struct rows_file *f);

#endif
