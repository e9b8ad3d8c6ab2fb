/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IO_IO_GLOB_H
#define GREBE_IO_IO_GLOB_H

/* Paths by pattern, as shells write them. */

#include "base/arena.h"
#include "io/io.h"

/** Whether the path has characters that make it a pattern: * ? [ */
bool path_is_pattern(const char *path);

/**
 * Whether a name (without '/') fits: '*' any run of characters, '?' one byte, "[a-z]" one of, "[!a-z]"
 * none of. A leading '.' must be written out.
 */
bool glob_match(const char *pattern, const char *name);

/**
 * The paths that fit the pattern, sorted by their bytes; a part "**" stands for any number of folders,
 * 64 at most, and does not follow links (a part that names a link does).
 *
 * @param arena Owns the paths.
 * @param out   Shape [n]; NULL when nothing fits.
 * @return GREBE_OK; GREBE_ELIMIT (2^20 paths, depth); GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status io_glob(struct io_store *store, const char *pattern, struct arena *arena,
                     char ***out, size_t *n, grebe_error *err);

#endif
