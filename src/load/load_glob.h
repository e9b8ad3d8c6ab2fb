/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_GLOB_H
#define GREBE_LOAD_LOAD_GLOB_H

/*
 * Files by pattern, as fsspec finds them: '*' and '?' stop at '/', [a-c] and [!a-c], '**' is a whole part and stands for any
 * number of folders. Linked folders are not entered.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "io/io.h"

/** A file that was found. */
struct load_file {
    const char *path; /* absolute */
    uint64_t size;
    int64_t modified_ns;
};

struct load_files {
    struct load_file *items; /* shape [n], sorted by the bytes of the path */
    size_t n, capacity;
};

/** '*', '?' or '[' somewhere. */
bool load_glob_has_magic(const char *pattern);
/** A path as a pattern that it alone fits, behind what the buffer holds: "a[1]" is "a[[]1]". */
grebe_status load_glob_escape(struct buf *out, const char *path, grebe_error *err);
/** Whether the path (from the root) fits the pattern (absolute). */
bool load_glob_matches(const char *pattern, const char *path);

/** One file more; items in the arena. */
grebe_status load_files_put(struct arena *ar, struct load_files *list, const struct load_file *f, grebe_error *err);

/**
 * Every file below a folder, hidden ones too, sorted; sizes are not looked at.
 *
 * @param depth Parts below the folder that are looked at; 0: all.
 * @return GREBE_OK (a folder that is not there is empty); GREBE_ELIMIT (2^22 files); GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status load_walk(struct arena *ar, struct io_store *store, const char *folder, int depth, struct load_files *out,
                       grebe_error *err);

/**
 * The files of an absolute, normalised pattern; none is no failure.
 *
 * @return GREBE_EINVAL: "**" is a part of a part.
 */
grebe_status load_glob(struct arena *ar, struct io_store *store, const char *pattern, struct load_files *out, grebe_error *err);

#endif
