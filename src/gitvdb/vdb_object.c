/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_repo.h"

#include <assert.h>
#include <string.h>

#include "gitvdb/vdb_git.h"

static enum vdb_object type_of_git(git_object_t type)
{
    assert((int)GIT_OBJECT_COMMIT == VDB_COMMIT && (int)GIT_OBJECT_TAG == VDB_TAG);
    return (enum vdb_object)(int)type;
}

static grebe_status object_failed(grebe_error *err, int code, const struct vdb_oid *oid)
{
    char hex[VDB_OID_HEX + 1];
    vdb_oid_hex(oid, hex);
    if (code == GIT_ENOTFOUND) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "no object %s", hex);
    }
    return vdb_git_fail(err, code, "object %s", hex);
}

static void end_object(struct region *r) { git_odb_object_free(r->end_ctx); }

grebe_status vdb_object_read(struct vdb_repo *r, const struct vdb_oid *oid, enum vdb_object type,
                             struct region **out, const unsigned char **bytes, size_t *len,
                             grebe_error *err)
{
    *out = NULL;
    *bytes = NULL;
    *len = 0;
    grebe_status st = GREBE_OK;
    git_oid id = vdb_git_oid(oid);
    git_odb_object *object = NULL;
    struct vdb_oid found;
    char hex[VDB_OID_HEX + 1];
    vdb_oid_hex(oid, hex);

    int code = git_odb_read(&object, r->odb, &id); /* looks for new packs itself before it says "not found" */
    if (code < 0) {
        return object_failed(err, code, oid);
    }
    enum vdb_object real = type_of_git(git_odb_object_type(object));
    size_t size = git_odb_object_size(object);
    const void *data = git_odb_object_data(object);
    vdb_oid_of(real, data, size, &found);
    if (!vdb_oid_equal(&found, oid)) {
        char other[VDB_OID_HEX + 1];
        vdb_oid_hex(&found, other);
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: expected bytes of this hash, found %s", hex, other);
        goto out;
    }
    if (real != type) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: expected a %s, found a %s", hex, vdb_object_name(type),
                        vdb_object_name(real));
        goto out;
    }
    GREBE_TRY(region_wrap(r->a, data, size, end_object, object, out, err));
    object = NULL;
    *bytes = data;
    *len = size;
out:
    git_odb_object_free(object);
    return st;
}

grebe_status vdb_object_stat(struct vdb_repo *r, const struct vdb_oid *oid, enum vdb_object *type,
                             uint64_t *size, grebe_error *err)
{
    git_oid id = vdb_git_oid(oid);
    size_t len = 0;
    git_object_t found = GIT_OBJECT_INVALID;
    int code = git_odb_read_header(&len, &found, r->odb, &id);
    if (code < 0) {
        return object_failed(err, code, oid);
    }
    *type = type_of_git(found);
    *size = len;
    return GREBE_OK;
}

bool vdb_object_exists(struct vdb_repo *r, const struct vdb_oid *oid)
{
    git_oid id = vdb_git_oid(oid);
    return git_odb_exists_ext(r->odb, &id, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
}

grebe_status vdb_repo_refresh(struct vdb_repo *r, grebe_error *err)
{
    int code = git_odb_refresh(r->odb);
    return code < 0 ? vdb_git_fail(err, code, "%s: cannot look for new packs", r->objects) : GREBE_OK;
}
