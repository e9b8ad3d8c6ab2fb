/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/archive.h"

#include <string.h>

#include "archive/archive_internal.h"
#include "base/error.h"

bool archive_is_zip(const unsigned char *head, size_t len)
{
    return len >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

grebe_status archive_add(struct archive_list *list, const struct archive_member *m, const char *name, size_t len,
                         grebe_error *err)
{
    struct archive_member copy = *m;
    if (list->members.len / sizeof copy >= ARCHIVE_MEMBERS_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %d members, found more", ARCHIVE_MEMBERS_MAX);
    }
    copy.name = arena_str(&list->z->arena, name, len);
    return copy.name != NULL ? buf_put(&list->members, &copy, sizeof copy, err) : mem_fail(err, len, "a name");
}

grebe_status archive_open(const grebe_allocator *a, struct region *region, struct archive **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct archive_owner *z = mem_alloc_zero(a, sizeof *z);
    if (z == NULL) {
        return mem_fail(err, sizeof *z, "an archive");
    }
    struct archive_list list = { z, BUF_INIT(a) };
    z->base.a = a;
    z->base.region = region_keep(region);
    z->arena = ARENA_INIT(a);
    z->base.is_zip = archive_is_zip(region->data, region->len);
    st = z->base.is_zip ? zip_list(&list, err) : tar_list(&list, err);
    z->base.n = list.members.len / sizeof(struct archive_member);
    z->base.members = (struct archive_member *)(void *)list.members.data;
    z->members_bytes = list.members.capacity;
    if (st != GREBE_OK) {
        archive_free(&z->base);
        return st;
    }
    *out = &z->base;
    return GREBE_OK;
}

void archive_free(struct archive *base)
{
    struct archive_owner *z = (struct archive_owner *)base;
    if (z == NULL) {
        return;
    }
    const grebe_allocator *a = base->a;
    mem_free(a, base->members, z->members_bytes);
    region_drop(base->region);
    arena_release(&z->arena);
    mem_free(a, z, sizeof *z);
}

static void end_view(struct region *r) { region_drop(r->end_ctx); }

grebe_status archive_view(const struct archive *z, uint64_t at, uint64_t len, struct region **out, grebe_error *err)
{
    grebe_status st = region_wrap(z->a, z->region->data + at, (size_t)len, end_view, z->region, out, err);
    if (st == GREBE_OK) {
        region_keep(z->region);
    }
    return st;
}

grebe_status archive_read(const struct archive *z, size_t i, uint64_t max_bytes, struct region **out, grebe_error *err)
{
    const struct archive_member *m = &z->members[i];
    char quoted[128];
    *out = NULL;
    error_quote(quoted, sizeof quoted, m->name, strlen(m->name));
    if (m->is_folder || m->is_other) {
        return GREBE_FAIL(err, GREBE_EINVAL, "member \"%s\": expected a file, found a %s", quoted,
                          m->is_folder ? "folder" : "link or the like");
    }
    if (m->size > max_bytes) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "member \"%s\": expected at most %llu bytes, found %llu", quoted,
                          (unsigned long long)max_bytes, (unsigned long long)m->size);
    }
    grebe_status st = z->is_zip ? zip_read(z, m, out, err) : archive_view(z, m->at, m->size, out, err);
    return st == GREBE_OK ? st : error_wrap(err, st, "member \"%s\"", quoted);
}

bool archive_name_is_safe(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strchr(name, '\\') != NULL ||
        (name[1] == ':' && ((name[0] | 32) >= 'a' && (name[0] | 32) <= 'z'))) {
        return false;
    }
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) {
            return false;
        }
    }
    return true;
}
