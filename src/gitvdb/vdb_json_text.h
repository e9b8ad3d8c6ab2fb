/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_JSON_TEXT_H
#define GREBE_GITVDB_VDB_JSON_TEXT_H

/* What the writers of JSON share: compact text and the forms of output. */

#include "gitvdb/vdb_json.h"

grebe_status vdb_put_string(struct buf *dst, const char *s, size_t len, grebe_error *err);
/** Anything but arrays and objects; VDB_RAW as it is. @param is_wide Floats of 32 bits as those of 64. */
grebe_status vdb_put_scalar(struct buf *dst, const struct vdb_value *v, bool is_wide, grebe_error *err);

#endif
