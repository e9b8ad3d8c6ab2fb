/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_CHANGES_H
#define GREBE_GITVDB_VDB_CHANGES_H

/* What differs between two roots, point by point. Shards whose blobs are the same are not looked into. */

#include "gitvdb/vdb_snapshot.h"

enum vdb_change_kind { VDB_ADDED, VDB_REMOVED, VDB_CHANGED, VDB_CHANGE_KINDS };

struct vdb_changes {
    const grebe_allocator *a;
    /* rows of the right side (added, changed) or of the left (removed), in the order of their ids; shape [n[kind]] */
    struct vdb_place *places[VDB_CHANGE_KINDS];
    size_t n[VDB_CHANGE_KINDS];
};

/** Values that compare equal (-0 and 0 do) are no change. @param out Owned: vdb_changes_release(). */
grebe_status vdb_changes_find(struct vdb_snapshot *left, struct vdb_snapshot *right, const struct vdb_work *work,
                              struct vdb_changes *out, grebe_error *err);
void vdb_changes_release(struct vdb_changes *c);

/** Whether two points compare equal; their payloads and vectors are loaded. Dimensions may differ. */
bool vdb_points_equal(const struct vdb_snapshot *x, struct vdb_place at_x, const struct vdb_snapshot *y,
                      struct vdb_place at_y);

#endif
