/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_PARQUET_PARQUET_WRITE_H
#define GREBE_PARQUET_PARQUET_WRITE_H

/* Parquet files from batches: the `create` of the format (source/source.h). */

#include "source/source.h"

/**
 * @param to      Borrowed until the writer is freed; nothing is published.
 * @param schema  Copied.
 * @param options Borrowed for the call, but call.cancel until the writer is freed.
 * @param out     Owned; out->ops->free().
 * @return GREBE_OK; GREBE_EUNSUPPORTED (a type with no place in the format, a codec that is not
 *         built in: message names it); GREBE_EINVAL (unknown codec name); GREBE_ESCHEMA; GREBE_ENOMEM.
 */
grebe_status parquet_writer_create(grebe_context *ctx, struct io_writer *to,
                                   const struct ArrowSchema *schema,
                                   const struct format_write_options *options,
                                   struct format_writer **out, grebe_error *err);

#endif
