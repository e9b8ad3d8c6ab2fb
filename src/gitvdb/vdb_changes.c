/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_changes.h"

#include <string.h>

#include "gitvdb/vdb_select.h"

bool vdb_points_equal(const struct vdb_snapshot *x, struct vdb_place at_x, const struct vdb_snapshot *y,
                      struct vdb_place at_y)
{
    const struct vdb_shard *a = &x->shards[at_x.shard], *b = &y->shards[at_y.shard];
    uint32_t dim = a->vectors.dim;
    size_t len_a, len_b;
    if (dim != b->vectors.dim) {
        return false;
    }
    for (uint32_t d = 0; d < dim; d++) {
        if (!(a->vectors.values[(size_t)at_x.row * dim + d] == b->vectors.values[(size_t)at_y.row * dim + d])) {
            return false;
        }
    }
    const char *text_a = (const char *)vdb_rows_get(&a->payloads, at_x.row, &len_a);
    const char *text_b = (const char *)vdb_rows_get(&b->payloads, at_y.row, &len_b);
    return vdb_payload_equal(text_a, len_a, text_b, len_b);
}

struct changes_job {
    struct vdb_snapshot *left, *right;
    struct buf found[VDB_SHARDS][VDB_CHANGE_KINDS]; /* struct vdb_place */
};

static bool is_same_shard(const struct vdb_snapshot *x, const struct vdb_snapshot *y, uint32_t i)
{
    const struct vdb_shard *a = &x->shards[i], *b = &y->shards[i];
    if (!a->exists || !b->exists) {
        return a->exists == b->exists;
    }
    if (x->meta.format != 2 || y->meta.format != 2) {
        return false;
    }
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        if (!repo_oid_equal(&a->oids[kind], &b->oids[kind])) {
            return false;
        }
    }
    return true;
}

static grebe_status compare_shard(void *arg, size_t i, grebe_error *err)
{
    struct changes_job *job = arg;
    struct vdb_snapshot *x = job->left, *y = job->right;
    uint32_t shard = (uint32_t)i;
    grebe_status st = GREBE_OK;
    if (is_same_shard(x, y, shard)) {
        return GREBE_OK;
    }
    GREBE_TRY(vdb_snapshot_load(x, shard, VDB_PART_ALL, err));
    GREBE_TRY(vdb_snapshot_load(y, shard, VDB_PART_ALL, err));
    uint32_t n_x = x->shards[i].exists ? x->shards[i].n : 0, n_y = y->shards[i].exists ? y->shards[i].n : 0;
    struct vdb_place a = { shard, 0 }, b = { shard, 0 };
    while (a.row < n_x || b.row < n_y) {
        int order = a.row == n_x ? 1 : -1;
        if (a.row < n_x && b.row < n_y) {
            struct vdb_id id_a = vdb_rows_id(&x->shards[i].ids, a.row), id_b = vdb_rows_id(&y->shards[i].ids, b.row);
            order = vdb_id_compare(&id_a, &id_b);
        }
        if (order != 0 || !vdb_points_equal(x, a, y, b)) {
            int kind = order < 0 ? VDB_REMOVED : order > 0 ? VDB_ADDED : VDB_CHANGED;
            GREBE_TRY(buf_put(&job->found[i][kind], order < 0 ? &a : &b, sizeof a, err));
        }
        a.row += order <= 0;
        b.row += order >= 0;
    }
out:
    return st;
}

static grebe_status gather(struct changes_job *job, int kind, const struct vdb_snapshot *side, struct vdb_changes *out,
                           grebe_error *err)
{
    size_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        bytes += job->found[i][kind].len;
    }
    out->n[kind] = bytes / sizeof(struct vdb_place);
    out->places[kind] = mem_alloc(out->a, bytes);
    if (out->places[kind] == NULL) {
        out->n[kind] = 0;
        return mem_fail(err, bytes, "changes");
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        size_t len = job->found[i][kind].len;
        if (len != 0) {
            memcpy((unsigned char *)out->places[kind] + at, job->found[i][kind].data, len);
        }
        at += len;
    }
    return vdb_sort_places(side, out->places[kind], out->n[kind], err);
}

grebe_status vdb_changes_find(struct vdb_snapshot *left, struct vdb_snapshot *right, const struct vdb_work *work,
                              struct vdb_changes *out, grebe_error *err)
{
    grebe_status st;
    *out = (struct vdb_changes){ .a = left->a };
    struct changes_job *job = mem_alloc(left->a, sizeof *job);
    if (job == NULL) {
        return mem_fail(err, sizeof *job, "changes");
    }
    job->left = left;
    job->right = right;
    for (uint32_t i = 0; i < VDB_SHARDS * VDB_CHANGE_KINDS; i++) {
        job->found[i / VDB_CHANGE_KINDS][i % VDB_CHANGE_KINDS] = BUF_INIT(left->a);
    }
    GREBE_TRY(parallel_for(work->pool, work->threads, VDB_SHARDS, compare_shard, job, work->cancel, err));
    GREBE_TRY(gather(job, VDB_ADDED, right, out, err));
    GREBE_TRY(gather(job, VDB_REMOVED, left, out, err));
    GREBE_TRY(gather(job, VDB_CHANGED, right, out, err));
out:
    for (uint32_t i = 0; i < VDB_SHARDS * VDB_CHANGE_KINDS; i++) {
        buf_release(&job->found[i / VDB_CHANGE_KINDS][i % VDB_CHANGE_KINDS]);
    }
    mem_free(left->a, job, sizeof *job);
    return st;
}

void vdb_changes_release(struct vdb_changes *c)
{
    for (int kind = 0; kind < VDB_CHANGE_KINDS; kind++) {
        mem_free(c->a, c->places[kind], c->n[kind] * sizeof *c->places[kind]);
        c->places[kind] = NULL;
        c->n[kind] = 0;
    }
}
