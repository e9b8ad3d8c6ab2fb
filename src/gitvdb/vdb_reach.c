/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_reach.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct vdb_reach *r, const struct repo_oid *oid)
{
    uint64_t h;
    memcpy(&h, oid->bytes, sizeof h); /* a hash already */
    size_t i = (size_t)h & (r->n_slots - 1);
    while (r->slots[i] != 0 && !repo_oid_equal(&vdb_reach_at(r, r->slots[i] - 1)->oid, oid)) {
        i = (i + 1) & (r->n_slots - 1);
    }
    return i;
}

static grebe_status grow(struct vdb_reach *r, grebe_error *err)
{
    size_t n = r->n_slots == 0 ? 1024 : r->n_slots * 2;
    uint32_t *slots = mem_alloc_zero(r->a, n * sizeof *slots);
    if (slots == NULL) {
        return mem_fail(err, n * sizeof *slots, "objects of a root");
    }
    mem_free(r->a, r->slots, r->n_slots * sizeof *slots);
    r->slots = slots;
    r->n_slots = n;
    for (size_t i = 0; i < vdb_reach_count(r); i++) {
        r->slots[slot_of(r, &vdb_reach_at(r, i)->oid)] = (uint32_t)i + 1;
    }
    return GREBE_OK;
}

/* *is_new false: it was there. */
static grebe_status add(struct vdb_reach *r, const struct repo_oid *oid, bool *is_new, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if ((vdb_reach_count(r) + 1) * 2 > r->n_slots) {
        GREBE_TRY(grow(r, err));
    }
    size_t slot = slot_of(r, oid);
    *is_new = r->slots[slot] == 0;
    if (*is_new) {
        struct vdb_reached one = { *oid, 0 };
        GREBE_TRY(buf_put(&r->objects, &one, sizeof one, err));
        r->slots[slot] = (uint32_t)vdb_reach_count(r);
    }
out:
    return st;
}

static int compare_reached(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct repo_oid)); /* the id is the first member */
}

grebe_status vdb_reach_walk(struct repo *repo, const grebe_allocator *a, const struct repo_oid *root,
                            struct vdb_reach *out, grebe_error *err)
{
    struct vdb_reach *r = out;
    struct repo_tree tree = { 0 };
    bool is_new;
    grebe_status st;
    *r = (struct vdb_reach){ .a = a, .objects = BUF_INIT(a) };
    GREBE_TRY(add(r, root, &is_new, err));
    for (size_t i = 0; i < vdb_reach_count(r); i++) { /* grows while it is walked */
        struct vdb_reached one = *vdb_reach_at(r, i);
        enum repo_object type;
        GREBE_TRY(repo_object_stat(repo, &one.oid, &type, &one.bytes, err));
        memcpy(r->objects.data + i * sizeof one, &one, sizeof one);
        if (type != REPO_TREE) {
            continue;
        }
        GREBE_TRY(repo_tree_read(repo, &one.oid, &tree, err));
        for (size_t e = 0; e < tree.n; e++) {
            if ((tree.entries[e].mode & 0170000) != 0160000) { /* a submodule's commit is not here */
                GREBE_TRY(add(r, &tree.entries[e].oid, &is_new, err));
            }
        }
        repo_tree_release(&tree);
        tree = (struct repo_tree){ 0 };
    }
    qsort(r->objects.data, vdb_reach_count(r), sizeof(struct vdb_reached), compare_reached);
out:
    repo_tree_release(&tree);
    return st;
}

void vdb_reach_release(struct vdb_reach *r)
{
    buf_release(&r->objects);
    mem_free(r->a, r->slots, r->n_slots * sizeof *r->slots);
    r->slots = NULL;
}
