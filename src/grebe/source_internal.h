/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_SOURCE_INTERNAL_H
#define GREBE_GREBE_SOURCE_INTERNAL_H

#include "grebe/source.h"
#include "table/table_of_files.h"

/** Either a table (a file is one, too) or a stream that can be read once. */
struct grebe_source {
    grebe_context *ctx;
    grebe_source_kind kind;
    const char *format;
    grebe_table *table;             /* NULL for a stream */
    struct ArrowArrayStream stream; /* released once it was given away */
};

/* ---- streams: source_stream.c ---- */

grebe_status source_stream_of_file(struct grebe_source *s, struct io_store *store,
                                   const char *path, grebe_error *err);
grebe_status source_stream_of_callback(struct grebe_source *s, grebe_read_fn read, void *read_ctx,
                                       grebe_error *err);
grebe_status source_stream_schema(struct grebe_source *s, struct ArrowSchema *out,
                                  grebe_error *err);
grebe_status source_stream_scan(struct grebe_source *s, const grebe_scan_options *options,
                                struct ArrowArrayStream *out, grebe_error *err);
grebe_status source_stream_take(struct grebe_source *s, const int64_t *row_ids, size_t n,
                                const grebe_take_options *options, struct ArrowArray *out,
                                struct ArrowSchema *out_schema, grebe_error *err);

#endif
