/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_POINTS_INTERNAL_H
#define GREBE_GITVDB_VDB_POINTS_INTERNAL_H

/* How a row of points is made; how messages name points. */

#include <inttypes.h>

#include "gitvdb/vdb_json.h"
#include "gitvdb/vdb_points.h"

/** Room for one more row of p->dim > 0 components: p->vectors + p->n * p->dim may be written. */
grebe_status vdb_points_reserve_row(struct vdb_points *p, grebe_error *err);
grebe_status vdb_points_put_id(struct vdb_points *p, const struct vdb_id *id, grebe_error *err);
/** The row that was reserved, with what stands at the ends of ids and payloads, is a point. */
void vdb_points_end_row(struct vdb_points *p);
/** Another width, of what has no points. */
void vdb_points_set_dim(struct vdb_points *p, uint32_t dim);

/** For messages: 7 or "seven". @param dst Written, shape [dst_len], dst_len >= 32. */
const char *vdb_id_quote(const struct vdb_id *id, char *dst, size_t dst_len);

/** A member of a line that is neither id, vector nor payload. */
struct vdb_others {
    struct arena *ar;
    struct vdb_member *members; /* shape [n]; in the order of the line */
    size_t n, capacity;
};
grebe_status vdb_others_add(struct vdb_others *o, const char *key, size_t key_len, const struct vdb_value *v, grebe_error *err);
/** The members, those of a payload (NULL: none) among them, as one canonical object. Of members of one name the last is taken;
 *  GREBE_EINVAL: the payload has one of that name. */
grebe_status vdb_others_put(struct vdb_others *o, const struct vdb_value *payload, struct buf *out, grebe_error *err);

grebe_status vdb_points_dim_fail(const struct vdb_id *id, uint32_t expected, size_t found, grebe_error *err);

#endif
