/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_repo.h"

#include <assert.h>

#include "git/git_library.h"

grebe_status repo_object_read(struct repo *r, const struct repo_oid *oid, enum repo_object type, struct region **out,
                             const unsigned char **bytes, size_t *len, grebe_error *err)
{
    enum repo_object found = type;
    uint64_t size = 0;
    *bytes = NULL;
    *len = 0;
    grebe_status st = repo_store_read(r->store, oid, &found, &size, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (found != type) {
        char hex[REPO_OID_HEX + 1];
        repo_oid_hex(oid, hex);
        region_drop(*out);
        *out = NULL;
        return GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: expected a %s, found a %s", hex, repo_object_name(type),
                          repo_object_name(found));
    }
    assert((*out)->len == size);
    *bytes = (*out)->data;
    *len = (*out)->len;
    return GREBE_OK;
}

grebe_status repo_object_need(struct repo *r, const struct repo_oid *oid, enum repo_object type, struct region **out,
                             const unsigned char **bytes, size_t *len, grebe_error *err)
{
    grebe_status st = repo_object_read(r, oid, type, out, bytes, len, err);
    if (st == GREBE_ENOTFOUND) {
        char hex[REPO_OID_HEX + 1];
        repo_oid_hex(oid, hex);
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "object %s: expected it in the repository, found it missing", hex);
    }
    return st;
}

grebe_status repo_object_stat(struct repo *r, const struct repo_oid *oid, enum repo_object *type, uint64_t *size,
                             grebe_error *err)
{
    return repo_store_read(r->store, oid, type, size, NULL, err);
}

grebe_status repo_object_wrap(const struct repo_oid *oid, grebe_status st, grebe_error *err)
{
    char hex[REPO_OID_HEX + 1];
    if (st == GREBE_OK) {
        return st;
    }
    repo_oid_hex(oid, hex);
    return error_wrap(err, st, "object %s", hex);
}

bool repo_object_exists(struct repo *r, const struct repo_oid *oid) { return repo_store_has(r->store, oid); }
