/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_repo.h"

#include <assert.h>

#include "gitvdb/vdb_git.h"

grebe_status vdb_object_read(struct vdb_repo *r, const struct vdb_oid *oid, enum vdb_object type, struct region **out,
                             const unsigned char **bytes, size_t *len, grebe_error *err)
{
    enum vdb_object found = type;
    uint64_t size = 0;
    *bytes = NULL;
    *len = 0;
    grebe_status st = vdb_store_read(r->store, oid, &found, &size, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (found != type) {
        char hex[VDB_OID_HEX + 1];
        vdb_oid_hex(oid, hex);
        region_drop(*out);
        *out = NULL;
        return GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: expected a %s, found a %s", hex, vdb_object_name(type),
                          vdb_object_name(found));
    }
    assert((*out)->len == size);
    *bytes = (*out)->data;
    *len = (*out)->len;
    return GREBE_OK;
}

grebe_status vdb_object_need(struct vdb_repo *r, const struct vdb_oid *oid, enum vdb_object type, struct region **out,
                             const unsigned char **bytes, size_t *len, grebe_error *err)
{
    grebe_status st = vdb_object_read(r, oid, type, out, bytes, len, err);
    if (st == GREBE_ENOTFOUND) {
        char hex[VDB_OID_HEX + 1];
        vdb_oid_hex(oid, hex);
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: expected it in the repository, found it missing", hex);
    }
    return st;
}

grebe_status vdb_object_stat(struct vdb_repo *r, const struct vdb_oid *oid, enum vdb_object *type, uint64_t *size,
                             grebe_error *err)
{
    return vdb_store_read(r->store, oid, type, size, NULL, err);
}

bool vdb_object_exists(struct vdb_repo *r, const struct vdb_oid *oid) { return vdb_store_has(r->store, oid); }
