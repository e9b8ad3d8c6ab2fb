/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MEDIA_EMBED_H
#define GREBE_DATASET_MEDIA_EMBED_H

/* Images, sounds and the like that are files elsewhere: their bytes are put beside their names. */

#include "feature/features.h"
#include "io/io.h"

/** Whether a column has media somewhere. */
bool media_are_in(const struct feature *f);

/**
 * Media with a path and no bytes get the bytes of the file; of paths the name alone stays. Addresses (scheme://)
 * without bytes are left as they are, and so is a value that has neither.
 *
 * @param rows Of the features' storage types, owned: changed in place.
 */
grebe_status media_embed(struct io_store *store, const struct features *f, struct ArrowArray *rows, grebe_error *err);

/** Bytes of the files that media_embed would read. */
grebe_status media_file_bytes(struct io_store *store, const struct features *f, const struct ArrowArray *rows,
                              int64_t *out, grebe_error *err);

#endif
