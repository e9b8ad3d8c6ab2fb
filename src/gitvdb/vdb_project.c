/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of payloads that paths name. */
#include "gitvdb/vdb_api.h"

#include <string.h>

/* Whether `path` continues with `key`, and what follows the dot behind it ("" at the end). */
static const char *path_after(const char *path, const struct vdb_member *m)
{
    size_t n = strcspn(path, ".");
    if (n != m->key_len || memcmp(path, m->key, n) != 0) {
        return NULL;
    }
    return path[n] == '.' ? path + n + 1 : path + n;
}

/* Members of an object that any of the paths reaches, whole where a path ends. */
static grebe_status choose(struct arena *ar, const struct vdb_value *v, const char *const *paths, size_t n,
                           struct vdb_value *out, grebe_error *err)
{
    const char **deeper = arena_array(ar, n, sizeof *deeper);
    struct vdb_member *members = arena_array(ar, v->object.n, sizeof *members);
    size_t n_members = 0;
    if (deeper == NULL || members == NULL) {
        return mem_fail(err, v->object.n * sizeof *members, "a payload");
    }
    for (size_t i = 0; i < v->object.n; i++) {
        const struct vdb_member *m = &v->object.members[i];
        size_t n_deeper = 0;
        bool is_whole = false;
        for (size_t p = 0; p < n; p++) {
            const char *rest = path_after(paths[p], m);
            is_whole = is_whole || (rest != NULL && *rest == '\0');
            if (rest != NULL && *rest != '\0') {
                deeper[n_deeper++] = rest;
            }
        }
        if (!is_whole && (n_deeper == 0 || m->value.type != VDB_OBJECT)) {
            continue;
        }
        members[n_members] = *m;
        if (!is_whole) {
            grebe_status st = choose(ar, &m->value, deeper, n_deeper, &members[n_members].value, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        n_members++;
    }
    *out = (struct vdb_value){ .type = VDB_OBJECT, .object = { members, n_members } };
    return GREBE_OK;
}

grebe_status vdb_project(struct arena *ar, const char *payload, size_t len, const char *const *fields, size_t n_fields,
                         struct vdb_value *out, grebe_error *err)
{
    const struct vdb_value *v;
    grebe_status st = vdb_json_parse(ar, payload, len, &v, err);
    return st == GREBE_OK ? choose(ar, v, fields, n_fields, out, err) : st;
}
