/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_select.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"

grebe_status vdb_find_id(struct vdb_snapshot *s, const struct vdb_id *id, struct vdb_place *at, bool *found,
                         grebe_error *err)
{
    unsigned char digest[VDB_DIGEST_BYTES];
    vdb_id_digest(id, digest);
    at->shard = vdb_shard_of(digest);
    const struct vdb_shard *shard = &s->shards[at->shard];
    *found = false;
    grebe_status st = vdb_snapshot_load(s, at->shard, VDB_PART_IDS, err);
    if (st == GREBE_OK && shard->exists) {
        *found = vdb_rows_find(&shard->ids, id, &at->row);
    }
    return st;
}

/* One filter's work on the shards. */
struct select_job {
    struct vdb_snapshot *s;
    const struct vdb_selection *which;
    struct buf found[VDB_SHARDS]; /* struct vdb_place */
};

static grebe_status try_row(struct select_job *job, struct vdb_filter_state *state, struct vdb_place at, grebe_error *err)
{
    const struct vdb_shard *shard = &job->s->shards[at.shard];
    struct vdb_id id = vdb_rows_id(&shard->ids, at.row);
    const char *payload = NULL;
    size_t len = 0;
    bool is_match = true;
    if (vdb_filter_needs_payload(job->which->filter)) {
        payload = (const char *)vdb_rows_get(&shard->payloads, at.row, &len);
    }
    grebe_status st = vdb_filter_matches(job->which->filter, state, &id, payload, len, &is_match, err);
    return st == GREBE_OK && is_match ? buf_put(&job->found[at.shard], &at, sizeof at, err) : st;
}

static grebe_status filter_shard(void *arg, size_t i, grebe_error *err)
{
    struct select_job *job = arg;
    struct vdb_shard *shard = &job->s->shards[i];
    const struct vdb_filter *filter = job->which->filter;
    struct vdb_filter_state *state = NULL;
    uint32_t parts = VDB_PART_IDS;
    grebe_status st;
    if (filter != NULL) {
        parts |= vdb_filter_needs_payload(filter) ? VDB_PART_PAYLOADS : 0;
        GREBE_TRY(vdb_filter_state_new(filter, &state, err));
    }
    GREBE_TRY(vdb_snapshot_load(job->s, (uint32_t)i, parts, err));
    for (uint32_t row = 0; shard->exists && row < shard->n; row++) {
        struct vdb_place at = { (uint32_t)i, row };
        GREBE_TRY(filter == NULL ? buf_put(&job->found[i], &at, sizeof at, err) : try_row(job, state, at, err));
    }
out:
    vdb_filter_state_free(state);
    return st;
}

static grebe_status filter_ids(struct select_job *job, grebe_error *err)
{
    const struct vdb_selection *w = job->which;
    struct vdb_filter_state *state = NULL;
    grebe_status st = GREBE_OK;
    if (w->filter != NULL) {
        GREBE_TRY(vdb_filter_state_new(w->filter, &state, err));
    }
    for (size_t i = 0; i < w->n_ids; i++) {
        struct vdb_place at;
        bool found;
        GREBE_TRY(vdb_find_id(job->s, &w->ids[i], &at, &found, err));
        if (found && w->filter != NULL) {
            GREBE_TRY(vdb_snapshot_load(job->s, at.shard,
                                        vdb_filter_needs_payload(w->filter) ? VDB_PART_PAYLOADS : 0, err));
            GREBE_TRY(try_row(job, state, at, err));
        } else if (found) {
            GREBE_TRY(buf_put(&job->found[at.shard], &at, sizeof at, err));
        }
    }
out:
    vdb_filter_state_free(state);
    return st;
}

grebe_status vdb_select_rows(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_selection *which,
                             struct vdb_place **out, size_t *n, grebe_error *err)
{
    struct select_job job = { s, which, { { 0 } } };
    size_t total = 0;
    grebe_status st;
    *out = NULL;
    *n = 0;
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        job.found[i] = BUF_INIT(s->a);
    }
    /* ids ascend, and so do the rows of each shard that they are found in */
    GREBE_TRY(which->has_ids ? filter_ids(&job, err)
                             : parallel_for(work->pool, work->threads, VDB_SHARDS, filter_shard, &job, work->cancel, err));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        total += job.found[i].len / sizeof **out;
    }
    *out = mem_alloc(s->a, total * sizeof **out);
    if (*out == NULL) {
        st = mem_fail(err, total * sizeof **out, "chosen rows");
        goto out;
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        if (job.found[i].len != 0) {
            memcpy(*out + *n, job.found[i].data, job.found[i].len);
            *n += job.found[i].len / sizeof **out;
        }
    }
out:
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        buf_release(&job.found[i]);
    }
    return st;
}

/* ---- order ---- */

int vdb_place_compare(const void *x, const void *y)
{
    const struct vdb_place *a = x, *b = y;
    if (a->shard != b->shard) {
        return a->shard < b->shard ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

struct keyed_place {
    struct vdb_id id;
    uint64_t key; /* the number, or the first 8 bytes of the text */
    struct vdb_place at;
};

static int compare_keyed(const void *x, const void *y)
{
    const struct keyed_place *a = x, *b = y;
    if (a->id.is_number == b->id.is_number && a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return vdb_id_compare(&a->id, &b->id);
}

grebe_status vdb_sort_places(const struct vdb_snapshot *s, struct vdb_place *places, size_t n, grebe_error *err)
{
    struct keyed_place *keyed = mem_alloc(s->a, n * sizeof *keyed);
    if (keyed == NULL) {
        return mem_fail(err, n * sizeof *keyed, "the order of points");
    }
    for (size_t i = 0; i < n; i++) {
        struct vdb_id id = vdb_rows_id(&s->shards[places[i].shard].ids, places[i].row);
        unsigned char head[8] = { 0 };
        if (!id.is_number && id.len != 0) {
            memcpy(head, id.text, id.len < 8 ? id.len : 8);
        }
        keyed[i] = (struct keyed_place){ id, id.is_number ? id.number : load_be64(head), places[i] };
    }
    qsort(keyed, n, sizeof *keyed, compare_keyed);
    for (size_t i = 0; i < n; i++) {
        places[i] = keyed[i].at;
    }
    mem_free(s->a, keyed, n * sizeof *keyed);
    return GREBE_OK;
}
