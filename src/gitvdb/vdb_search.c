/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_search.h"

#include <assert.h>
#include <math.h>

#include "base/checked.h"
#include "gitvdb/vdb_lsh.h"
#include "gitvdb/vdb_search_internal.h"

/* One shard of an exact search. */
struct shard_scan {
    struct vdb_topk top;
    uint64_t n, scored;
};

struct exact {
    struct vdb_snapshot *s;
    const struct vdb_query *q;
    double root; /* length of the query */
    _Atomic uint64_t floor;
    struct shard_scan shards[VDB_SHARDS];
};

double vdb_score_row(const float *query, double root, const float *row, uint32_t dim)
{
    double dot = 0.0, norm2 = 0.0;

    for (uint32_t d = 0; d < dim; d++) {
        const double y = (double)row[d];
        dot += (double)query[d] * y;
        norm2 += y * y;
    }
    return root == 0.0 || norm2 == 0.0 ? 0.0 : dot / (root * sqrt(norm2));
}

static grebe_status scan_all(struct exact *e, uint32_t shard, grebe_error *err)
{
    const struct vdb_matrix *m = &e->s->shards[shard].vectors;
    struct shard_scan *scan = e->shards + shard;
    grebe_status st = GREBE_OK;

    for (uint32_t row = 0; st == GREBE_OK && row < m->n; row++) {
        const float *v = m->values + (size_t)row * m->dim;
        const struct vdb_hit hit = { { shard, row }, vdb_score_row(e->q->vector, e->root, v, m->dim) };
        st = vdb_topk_put(&scan->top, &hit, err);
    }
    scan->scored = m->n;
    return st;
}

static grebe_status scan_filtered(struct exact *e, uint32_t shard, grebe_error *err)
{
    struct vdb_shard *sh = e->s->shards + shard;
    struct shard_scan *scan = e->shards + shard;
    struct vdb_filter_state *state = NULL;
    bool is_match = false;

    grebe_status st = vdb_filter_state_new(e->q->filter, &state, err);
    for (uint32_t row = 0; st == GREBE_OK && row < sh->n; row++) {
        st = vdb_filter_row(e->q->filter, state, sh, row, &is_match, err);
        if (st == GREBE_OK && is_match) {
            const float *v = sh->vectors.values + (size_t)row * sh->vectors.dim;
            const struct vdb_hit hit = { { shard, row },
                                         vdb_score_row(e->q->vector, e->root, v, sh->vectors.dim) };
            scan->scored++;
            st = vdb_topk_put(&scan->top, &hit, err);
        }
    }
    vdb_filter_state_free(state);
    return st;
}

uint32_t vdb_filter_parts(const struct vdb_filter *f)
{
    return f == NULL ? 0 : vdb_filter_needs_payload(f) ? VDB_PART_IDS | VDB_PART_PAYLOADS : VDB_PART_IDS;
}

grebe_status vdb_filter_row(const struct vdb_filter *f, struct vdb_filter_state *state, const struct vdb_shard *shard,
                            uint32_t row, bool *is_match, grebe_error *err)
{
    const struct vdb_id id = vdb_rows_id(&shard->ids, row);
    const char *payload = "{}";
    size_t len = 2;

    if (vdb_filter_needs_payload(f)) {
        payload = (const char *)vdb_rows_get(&shard->payloads, row, &len);
    }
    return vdb_filter_matches(f, state, &id, payload, len, is_match, err);
}

/* Load and score one shard, so that one thread reads while another computes. */
static grebe_status scan_shard(void *arg, size_t i, grebe_error *err)
{
    struct exact *e = arg;
    struct vdb_shard *sh = e->s->shards + i;
    const uint32_t parts = VDB_PART_VECTORS | vdb_filter_parts(e->q->filter);

    if (!sh->exists) {
        return GREBE_OK;
    }
    grebe_status st = vdb_snapshot_load(e->s, (uint32_t)i, parts, err);
    if (st != GREBE_OK) {
        return st;
    }
    e->shards[i].n = sh->n;
    return e->q->filter == NULL ? scan_all(e, (uint32_t)i, err) : scan_filtered(e, (uint32_t)i, err);
}

static grebe_status search_exact(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                                 struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err)
{
    struct exact *e = mem_alloc_zero(work->a, sizeof *e);
    struct vdb_topk top;
    grebe_status st = GREBE_OK;

    if (e == NULL) {
        return mem_fail(err, sizeof *e, "a search");
    }
    e->s = s;
    e->q = q;
    e->root = sqrt(vdb_norm2(q->vector, s->meta.config.dimension));
    atomic_init(&e->floor, 0);
    const size_t limit = (size_t)min_u64(q->limit, SIZE_MAX);
    vdb_topk_init(&top, work->a, limit, &e->floor);
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        vdb_topk_init(&e->shards[i].top, work->a, limit, &e->floor);
    }
    GREBE_TRY(parallel_for(work->pool, work->threads, VDB_SHARDS, scan_shard, e, work->cancel, err));
    *stats = (struct vdb_search_stats){ .is_exact = true };
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        stats->collection_points += e->shards[i].n;
        stats->vectors_scored += e->shards[i].scored;
        GREBE_TRY(vdb_topk_merge(&top, &e->shards[i].top, err));
    }
    stats->candidates_discovered = stats->collection_points;
    st = vdb_topk_finish(&top, s, work, hits, n, err);
out:
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        vdb_topk_release(&e->shards[i].top);
    }
    vdb_topk_release(&top);
    mem_free(work->a, e, sizeof *e);
    return st;
}

grebe_status vdb_search(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                        struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err)
{
    const bool is_exact = q->mode == VDB_SEARCH_EXACT ||
                          (q->mode == VDB_SEARCH_AUTO && s->meta.point_count <= s->meta.config.full_scan_threshold);

    *hits = NULL;
    *n = 0;
    *stats = (struct vdb_search_stats){ .is_exact = is_exact };
    if (is_exact) {
        return search_exact(s, work, q, hits, n, stats, err);
    }
    return s->meta.format == 1 ? vdb_lsh_search(s, q, hits, n, stats, err)
                               : vdb_search_ivf(s, work, q, hits, n, stats, err);
}
