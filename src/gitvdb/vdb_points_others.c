/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a line that go into the payload. */
#include "gitvdb/vdb_points_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* One member and where it stood, so that the last of a name can be told. */
struct placed {
    struct vdb_member member;
    size_t at;
};

static int compare_keys(const struct vdb_member *a, const struct vdb_member *b)
{
    size_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
    int order = least == 0 ? 0 : memcmp(a->key, b->key, least);
    return order != 0 ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static int compare_placed(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    int order = compare_keys(&a->member, &b->member);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

grebe_status vdb_others_add(struct vdb_others *o, const char *key, size_t key_len, const struct vdb_value *v, grebe_error *err)
{
    if (o->n == o->capacity) {
        size_t capacity = o->capacity == 0 ? 8 : o->capacity * 2;
        struct vdb_member *members = arena_array(o->ar, capacity, sizeof *members);
        if (members == NULL) {
            return mem_fail(err, capacity * sizeof *members, "members");
        }
        if (o->n != 0) {
            memcpy(members, o->members, o->n * sizeof *members);
        }
        o->members = members;
        o->capacity = capacity;
    }
    o->members[o->n++] = (struct vdb_member){ key, key_len, *v };
    return GREBE_OK;
}

/* Sorted, each name once. */
static grebe_status sort_members(struct vdb_others *o, grebe_error *err)
{
    struct placed *list = arena_array(o->ar, o->n, sizeof *list);
    if (list == NULL) {
        return mem_fail(err, o->n * sizeof *list, "members");
    }
    for (size_t i = 0; i < o->n; i++) {
        list[i] = (struct placed){ o->members[i], i };
    }
    qsort(list, o->n, sizeof *list, compare_placed);
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        n -= n != 0 && compare_keys(&o->members[n - 1], &list[i].member) == 0;
        o->members[n++] = list[i].member;
    }
    o->n = n;
    return GREBE_OK;
}

grebe_status vdb_others_put(struct vdb_others *o, const struct vdb_value *payload, struct buf *out, grebe_error *err)
{
    if (o->n == 0) {
        return vdb_json_put(out, payload, err);
    }
    grebe_status st = sort_members(o, err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t n = payload == NULL ? 0 : payload->object.n, i = 0, j = 0, at = 0;
    struct vdb_member *members = arena_array(o->ar, o->n + n, sizeof *members);
    if (members == NULL) {
        return mem_fail(err, (o->n + n) * sizeof *members, "a payload");
    }
    while (i < o->n || j < n) {
        int order = i == o->n ? 1 : j == n ? -1 : compare_keys(&o->members[i], &payload->object.members[j]);
        if (order == 0) {
            char key[64];
            return GREBE_FAIL(err, GREBE_EINVAL, "payload: expected no member with the name of one beside it, found \"%s\"",
                              error_quote(key, sizeof key, o->members[i].key, o->members[i].key_len));
        }
        members[at++] = order < 0 ? o->members[i++] : payload->object.members[j++];
    }
    struct vdb_value object = { .type = VDB_OBJECT, .object = { members, at } };
    return vdb_json_put(out, &object, err);
}
