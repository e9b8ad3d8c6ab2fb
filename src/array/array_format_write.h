/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ARRAY_ARRAY_FORMAT_WRITE_H
#define GREBE_ARRAY_ARRAY_FORMAT_WRITE_H

#include "source/source.h"

/** Rows with one column of vectors or numbers to the kind of file that the name of `to` ends in. */
grebe_status array_format_create(grebe_context *ctx, struct io_writer *to, const struct ArrowSchema *schema,
                                 const struct format_write_options *options, struct format_writer **out,
                                 grebe_error *err);

#endif
