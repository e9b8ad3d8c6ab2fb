/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_ROWS_SINK_H
#define GREBE_DATASET_ROWS_SINK_H

/* Where the rows of a transform go: a file, or memory; a table comes out either way. */

#include "dataset/dataset_table.h"
#include "dataset/rows_writer.h"

struct rows_sink;

/** path NULL: memory. */
grebe_status rows_sink_new(grebe_context *ctx, const char *path, const struct features *features,
                           const struct rows_writer_options *o, struct rows_sink **out, grebe_error *err);
/** As rows_writer_put. */
grebe_status rows_sink_put(struct rows_sink *s, struct ArrowArray *rows, grebe_error *err);
/** @param out The rows; a file has its name now and is mapped. */
grebe_status rows_sink_finish(struct rows_sink *s, struct dataset_table **out, grebe_error *err);
void rows_sink_free(struct rows_sink *s); /* NULL accepted; unfinished: nothing is left behind */

#endif
