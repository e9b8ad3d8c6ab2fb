/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_SEARCH_SEARCH_INTERNAL_H
#define GREBE_SEARCH_SEARCH_INTERNAL_H

/* How an index of a column lies in a table: an entry of type "grebe.<kind>" whose path is a folder with one file. */

#include "base/buf.h"
#include "grebe/search.h"
#include "table/table_internal.h"

#define SEARCH_TYPE_PREFIX "grebe."
#define SEARCH_INDEX_FILE "vectors.index"

/** Whether an entry of the manifest is an index of ours of this column. */
bool search_is_ours(const grebe_index_info *index, const char *column);
/** The file in an index's folder, NUL-terminated. @param out buf_release(), also after a failure. */
grebe_status search_index_path(const grebe_allocator *a, const char *folder, struct buf *out, grebe_error *err);

#endif
