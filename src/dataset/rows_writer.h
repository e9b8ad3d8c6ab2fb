/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_ROWS_WRITER_H
#define GREBE_DATASET_ROWS_WRITER_H

/*
 * Writes Arrow stream files as `datasets` has them: schema with the "huggingface" metadata, batches of at most so many rows.
 * The file appears under its name when it is finished, or never.
 */

#include "feature/features.h"
#include "io/io.h"

struct rows_writer;

struct rows_writer_options {
    const char *fingerprint; /* into the metadata; NULL: none */
    int64_t batch_rows;      /* 0: features_writer_rows */
    bool is_durable;
    bool are_files_embedded; /* media that have only a path: their bytes are read and written */
};

grebe_status rows_writer_new(grebe_context *ctx, const char *path, const struct features *features,
                             const struct rows_writer_options *o, struct rows_writer **out, grebe_error *err);
/** Rows of the features' storage types (features_cast). Moved in, also on failure. Cut and, with is_end or when the writer has them
 *  whole, joined to batches of batch_rows. */
grebe_status rows_writer_put(struct rows_writer *w, struct ArrowArray *rows, grebe_error *err);
int64_t rows_writer_num_rows(const struct rows_writer *w);
/** Arrow nbytes of what was put. */
int64_t rows_writer_num_bytes(const struct rows_writer *w);
/** End mark; the file gets its name (replacing one that is there), mode 0666 without the umask. */
grebe_status rows_writer_finish(struct rows_writer *w, grebe_error *err);
void rows_writer_free(struct rows_writer *w); /* NULL accepted; unfinished: nothing is left behind */

#endif
