/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TABLE_TABLE_OF_FILES_H
#define GREBE_TABLE_TABLE_OF_FILES_H

/* Files outside any table, read as if they were one: same scan, take, count, explain, check. */

#include "table/table_internal.h"

/**
 * A table of version 0 with one column group that consists of the files, in the order given.
 *
 * @param store  Borrowed, must outlive everything made of the table.
 * @param paths  Shape [n], n >= 1. All of the schema of the first.
 * @param format Every file is of it.
 * @param is_int96_us As in struct file_hints.
 * @param out    Owned; grebe_table_close().
 * @return GREBE_OK; GREBE_EINVAL (two columns of one name); GREBE_ENOTFOUND; GREBE_ESCHEMA (a file with other columns); what opening gives.
 */
grebe_status table_of_files(struct table_store *store, const char *const *paths, size_t n,
                            const struct file_format *format, bool is_int96_us, grebe_table **out,
                            grebe_error *err);

/** How a manifest in memory, whose base is ".", names a file. */
grebe_status table_file_stored_path(struct arena *arena, const char *path, manifest_text *out,
                                    grebe_error *err);

#endif
