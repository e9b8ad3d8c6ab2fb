/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_WRITE_FILE_H
#define GREBE_GREBE_WRITE_FILE_H

#include "grebe/print.h"
#include "io/io.h"

/**
 * As grebe_write_file(), into a file that the caller gives its name.
 *
 * @param to     The ending of its path tells the format. Borrowed, neither flushed nor published.
 * @param rows   Moved in, also on failure.
 * @param n_rows Written; may be NULL.
 */
grebe_status write_file_rows(grebe_context *ctx, struct io_writer *to, struct ArrowArrayStream *rows,
                             const grebe_write_options *options, int64_t *n_rows, grebe_error *err);

#endif
