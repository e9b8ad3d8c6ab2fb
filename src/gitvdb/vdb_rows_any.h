/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_ROWS_ANY_H
#define GREBE_GITVDB_VDB_ROWS_ANY_H

/* Results without points as Arrow rows. */

#include "gitvdb/vdb_api.h"

/**
 * A row for each element of "collections", "history", "reports", "problems" or "conflicts", for each id of a comparison ("id",
 * "change"), or one for the result. A column is a member: text, number, bool, or JSON for what is nested or of several kinds.
 *
 * @param out, out_schema Empty on failure.
 */
grebe_status vdb_rows_of_any(const grebe_vdb_result *result, struct ArrowArray *out, struct ArrowSchema *out_schema,
                             grebe_error *err);

#endif
