/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_IO_IO_FOLDER_H
#define GREBE_IO_IO_FOLDER_H

/* Folders of the machine's file system that appear under their name whole, and are removed whole. */

#include "io/io.h"

/**
 * The finished folder `made` gets the name `path`. A folder that has it stands at `made` afterwards, to be removed; at
 * every moment one of the two has the name (where the file system cannot exchange names: none for an instant).
 *
 * @param was_there Written: `made` holds the old folder now.
 */
grebe_status io_folder_publish(const char *made, const char *path, bool is_durable, bool *was_there, grebe_error *err);

/**
 * The same where nothing may be lost: only an empty folder is replaced.
 *
 * @return GREBE_OK; GREBE_EEXISTS (there is something at path; `made` stays); GREBE_EUNKNOWN_OUTCOME (named, not synced); GREBE_EIO.
 */
grebe_status io_folder_publish_new(const char *made, const char *path, bool is_durable, grebe_error *err);

/**
 * Where a folder really is, links followed; a path at which nothing is stays as it is. Appended to dst with a NUL.
 *
 * @return GREBE_OK; GREBE_EEXISTS (a link that leads to nothing: what it stands for may come back, a disk that is mounted again);
 *         GREBE_EIO; GREBE_ENOMEM.
 */
grebe_status io_folder_resolve(const char *path, struct buf *dst, grebe_error *err);

/** A folder and everything in it; links are removed, not followed. GREBE_OK also when it is not there. */
grebe_status io_folder_remove(struct io_store *s, const char *path, grebe_error *err);

#endif
