/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_search.h"

#include <math.h>

#include "base/checked.h"
#include "gitvdb/vdb_kernels.h"
#include "gitvdb/vdb_lsh.h"
#include "gitvdb/vdb_search_internal.h"
#include "gitvdb/vdb_sieve.h"

/* From so many points on a copy that is quicker to scan pays. */
enum { CODED_POINTS_MIN = 4096 };

struct exact {
    struct vdb_snapshot *s;
    const struct vdb_query *q;
    struct arena ar;
    struct vdb_sieve sieve;
    struct vdb_sieve_part parts[VDB_SHARDS];
    uint64_t n[VDB_SHARDS], n_scored[VDB_SHARDS];
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

static grebe_status put_filtered(struct exact *e, uint32_t shard, grebe_error *err)
{
    const struct vdb_shard *sh = e->s->shards + shard;
    struct vdb_filter_state *state = NULL;
    bool is_match = false;

    grebe_status st = vdb_filter_state_new(e->q->filter, &state, err);
    for (uint32_t row = 0; st == GREBE_OK && row < sh->n; row++) {
        st = vdb_filter_row(e->q->filter, state, sh, row, &is_match, err);
        if (st == GREBE_OK && is_match) {
            e->n_scored[shard]++;
            st = vdb_sieve_put(e->parts + shard, (struct vdb_place){ shard, row }, err);
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
    const struct vdb_shard *sh = e->s->shards + i;
    const uint32_t shard = (uint32_t)i;

    if (!sh->exists) {
        return GREBE_OK;
    }
    grebe_status st = vdb_snapshot_load(e->s, shard, VDB_PART_VECTORS | vdb_filter_parts(e->q->filter), err);
    if (st != GREBE_OK) {
        return st;
    }
    e->n[i] = e->n_scored[i] = sh->n;
    if (e->q->filter == NULL) {
        st = vdb_sieve_put_shard(e->parts + i, shard, err);
    } else {
        e->n_scored[i] = 0;
        st = put_filtered(e, shard, err);
    }
    return st == GREBE_OK ? vdb_sieve_flush(e->parts + i, err) : st;
}

static grebe_status search_exact(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                                 struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err)
{
    struct exact *e = mem_alloc_zero(work->a, sizeof *e);
    grebe_status st = GREBE_OK;

    if (e == NULL) {
        return mem_fail(err, sizeof *e, "a search");
    }
    e->s = s;
    e->q = q;
    e->ar = ARENA_INIT(work->a);
    GREBE_TRY(vdb_sieve_init(&e->sieve, s, work, q->vector, q->limit, &e->ar, err));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        vdb_sieve_part_init(e->parts + i, &e->sieve);
    }
    GREBE_TRY(parallel_for(work->pool, work->threads, VDB_SHARDS, scan_shard, e, work->cancel, err));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        stats->collection_points += e->n[i];
        stats->vectors_scored += e->n_scored[i];
    }
    stats->candidates_discovered = stats->collection_points;
    st = vdb_sieve_finish(&e->sieve, e->parts, VDB_SHARDS, hits, n, err);
out:
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        vdb_sieve_part_release(e->parts + i);
    }
    arena_release(&e->ar);
    mem_free(work->a, e, sizeof *e);
    return st;
}

static bool has_vectors(struct vdb_shard *sh)
{
    if (!sh->exists) {
        return true;
    }
    pthread_mutex_lock(&sh->lock); /* another search may be loading it */
    const bool is_loaded = (sh->loaded & VDB_PART_VECTORS) != 0;
    pthread_mutex_unlock(&sh->lock);
    return is_loaded;
}

/* The second search of a snapshot that is all in memory makes the copy; without memory for it searches are slower. */
static grebe_status make_coded(struct vdb_snapshot *s, const struct vdb_work *work, grebe_error *err)
{
    struct vdb_coded *made = NULL, *none = NULL;
    uint64_t n = 0;

    if (atomic_fetch_add_explicit(&s->n_searches, 1, memory_order_relaxed) == 0 ||
        s->meta.config.dimension > VDB_DIM_FAST || atomic_load_explicit(&s->coded, memory_order_acquire) != NULL) {
        return GREBE_OK;
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        if (!has_vectors(s->shards + i)) {
            return GREBE_OK;
        }
        n += s->shards[i].n;
    }
    if (n < CODED_POINTS_MIN) {
        return GREBE_OK;
    }
    grebe_status st = vdb_coded_new(s, work, &made, err);
    if (st == GREBE_OK && !atomic_compare_exchange_strong(&s->coded, &none, made)) {
        vdb_coded_free(made); /* another thread was quicker */
    }
    return st == GREBE_ENOMEM ? GREBE_OK : st;
}

grebe_status vdb_search(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                        struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err)
{
    const bool is_exact = q->mode == VDB_SEARCH_EXACT ||
                          (q->mode == VDB_SEARCH_AUTO && s->meta.point_count <= s->meta.config.full_scan_threshold);

    *hits = NULL;
    *n = 0;
    *stats = (struct vdb_search_stats){ .is_exact = is_exact };
    grebe_status st = make_coded(s, work, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_exact) {
        return search_exact(s, work, q, hits, n, stats, err);
    }
    return s->meta.format == 1 ? vdb_lsh_search(s, work, q, hits, n, stats, err)
                               : vdb_search_ivf(s, work, q, hits, n, stats, err);
}
