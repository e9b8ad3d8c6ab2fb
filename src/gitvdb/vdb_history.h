/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_HISTORY_H
#define GREBE_GITVDB_VDB_HISTORY_H

/*
 * Older versions of blobs as deltas against the newer ones that replaced them: a history of many small changes takes little more
 * room than its last version, and that one is read without applying anything.
 */

#include "gitvdb/vdb_build.h"

/** The pending blobs of `old`, from which vdb_built_apply() made `new`. Blobs that are equal are left to `new`. */
grebe_status vdb_history_part(struct repo_pack *p, const struct vdb_part *old, const struct vdb_part *new, grebe_error *err);
/** The pending sample.bin of `old`. */
grebe_status vdb_history_sample(struct repo_pack *p, const struct vdb_built *old, const struct vdb_built *new,
                                grebe_error *err);

#endif
