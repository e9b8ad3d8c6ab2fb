/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_search_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "gitvdb/vdb_sieve.h"

/*
 * Centroids by their cosine with the query, best first; the points of their postings are scored in that order until the limit of
 * candidates is reached. First the candidates are gathered, then the shards they stand in are loaded, then all are scored.
 */

enum { SCORE_BLOCK = 1024 };

struct ranked_centroid {
    uint64_t key;
    uint32_t c;
};

struct ivf {
    struct vdb_snapshot *s;
    const struct vdb_work *work;
    const struct vdb_query *q;
    struct arena ar;
    struct vdb_sieve sieve;
    uint64_t candidate_limit;
    uint32_t probes;                /* centroids to visit, at most k */
    struct ranked_centroid *order;  /* shape [k] */
    struct vdb_place *candidates;   /* shape [n], capacity known from the postings */
    size_t n, capacity;
    uint64_t shards;                /* bits of those that hold candidates */
    bool *passed[VDB_SHARDS];       /* shape [rows]: what the filter says; NULL: not asked */
    struct vdb_sieve_part *parts;   /* shape [n_parts]: one for each block of candidates */
    size_t n_parts;
};

static int compare_centroids(const void *a, const void *b)
{
    const struct ranked_centroid *x = a, *y = b;

    if (x->key != y->key) {
        return x->key > y->key ? -1 : 1;
    }
    return x->c < y->c ? -1 : x->c > y->c;
}

static grebe_status rank_centroids(struct ivf *v, grebe_error *err)
{
    const struct vdb_matrix *book = &v->s->codebook;

    v->order = arena_array(&v->ar, book->n, sizeof *v->order);
    if (v->order == NULL) {
        return mem_fail(err, book->n * sizeof *v->order, "centroids");
    }
    for (uint32_t c = 0; c < book->n; c++) {
        const float *centroid = book->values + (size_t)c * book->dim;
        v->order[c].key = vdb_score_key(vdb_score_row(v->q->vector, v->sieve.root, centroid, book->dim));
        v->order[c].c = c;
    }
    qsort(v->order, book->n, sizeof *v->order, compare_centroids);
    return GREBE_OK;
}

static grebe_status filter_shard(void *arg, size_t i, grebe_error *err)
{
    struct ivf *v = arg;
    struct vdb_shard *sh = v->s->shards + i;
    struct vdb_filter_state *state = NULL;
    grebe_status st = GREBE_OK;

    if (!sh->exists) {
        return GREBE_OK;
    }
    st = vdb_snapshot_load(v->s, (uint32_t)i, vdb_filter_parts(v->q->filter), err);
    if (st != GREBE_OK) {
        return st;
    }
    v->passed[i] = mem_alloc(v->work->a, sh->n);
    if (v->passed[i] == NULL) {
        return mem_fail(err, sh->n, "a filter");
    }
    st = vdb_filter_state_new(v->q->filter, &state, err);
    for (uint32_t row = 0; st == GREBE_OK && row < sh->n; row++) {
        st = vdb_filter_row(v->q->filter, state, sh, row, v->passed[i] + row, err);
    }
    vdb_filter_state_free(state);
    return st;
}

static grebe_status fail_place(const struct ivf *v, uint32_t c, struct vdb_place at, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT,
                      "index/ivf-flat-v2/postings/%04" PRIx32 ".bin: expected rows that exist, found row %" PRIu32
                      " of shard %03" PRIx32 ", which has %" PRIu32, c, at.row, at.shard,
                      v->s->shards[at.shard].n);
}

static grebe_status add_candidate(struct ivf *v, struct vdb_place at, grebe_error *err)
{
    if (v->n == v->capacity) {
        const size_t capacity = max_size(1024, v->capacity * 2);
        struct vdb_place *grown = mem_resize(v->work->a, v->candidates, v->capacity * sizeof *grown,
                                             capacity * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "candidates");
        }
        v->candidates = grown;
        v->capacity = capacity;
    }
    v->candidates[v->n++] = at;
    v->shards |= UINT64_C(1) << at.shard;
    return GREBE_OK;
}

/* The entries of one centroid. */
static grebe_status visit(struct ivf *v, uint32_t c, struct vdb_search_stats *stats, grebe_error *err)
{
    grebe_status st = vdb_snapshot_posting(v->s, c, err);

    if (st != GREBE_OK) {
        return st;
    }
    const struct vdb_posting *p = v->s->postings + c;
    for (uint32_t i = 0; st == GREBE_OK && i < p->n; i++) {
        const struct vdb_place at = vdb_posting_get(p, i);
        stats->candidates_discovered++;
        if (v->q->filter != NULL) {
            if (at.row >= v->s->shards[at.shard].n || v->passed[at.shard] == NULL) {
                return fail_place(v, c, at, err);
            }
            if (!v->passed[at.shard][at.row]) {
                continue;
            }
        }
        if (v->n >= v->candidate_limit) {
            stats->candidate_limit_exhausted = true;
            break;
        }
        st = add_candidate(v, at, err);
    }
    return st;
}

static grebe_status gather(struct ivf *v, struct vdb_search_stats *stats, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    if (v->q->filter != NULL) {
        st = parallel_for(v->work->pool, v->work->threads, VDB_SHARDS, filter_shard, v, v->work->cancel, err);
    }
    for (uint32_t i = 0; st == GREBE_OK && i < v->probes && !stats->candidate_limit_exhausted; i++) {
        stats->buckets_probed++;
        st = visit(v, v->order[i].c, stats, err);
    }
    stats->vectors_scored = v->n;
    stats->probe_limit_exhausted = stats->buckets_probed == v->probes && v->probes < v->s->codebook.n;
    return st;
}

/* Which posting names a place; for a message only. */
static uint32_t owner_of(const struct ivf *v, struct vdb_place at)
{
    for (uint32_t i = 0; i < v->probes; i++) {
        const struct vdb_posting *p = v->s->postings + v->order[i].c;
        for (uint32_t e = 0; p->entries != NULL && e < p->n; e++) {
            const struct vdb_place found = vdb_posting_get(p, e);
            if (found.shard == at.shard && found.row == at.row) {
                return v->order[i].c;
            }
        }
    }
    return 0;
}

static grebe_status score_block(void *arg, size_t i, grebe_error *err)
{
    struct ivf *v = arg;
    const size_t end = min_size(v->n, (i + 1) * SCORE_BLOCK);
    grebe_status st = GREBE_OK;

    for (size_t k = i * SCORE_BLOCK; st == GREBE_OK && k < end; k++) {
        const struct vdb_place at = v->candidates[k];
        if (at.row >= v->s->shards[at.shard].vectors.n) {
            return fail_place(v, owner_of(v, at), at, err);
        }
        st = vdb_sieve_put(v->parts + i, at, err);
    }
    return st == GREBE_OK ? vdb_sieve_flush(v->parts + i, err) : st;
}

static grebe_status score(struct ivf *v, grebe_error *err)
{
    const struct vdb_work *w = v->work;
    const size_t n_parts = (v->n + SCORE_BLOCK - 1) / SCORE_BLOCK;
    grebe_status st = vdb_load_shards(v->s, w, v->shards, VDB_PART_VECTORS, err);

    if (st != GREBE_OK) {
        return st;
    }
    v->parts = arena_array(&v->ar, n_parts, sizeof *v->parts);
    if (v->parts == NULL) {
        return mem_fail(err, n_parts * sizeof *v->parts, "candidates");
    }
    for (size_t i = 0; i < n_parts; i++) {
        vdb_sieve_part_init(v->parts + i, &v->sieve);
    }
    v->n_parts = n_parts;
    return parallel_for(w->pool, w->threads, n_parts, score_block, v, w->cancel, err);
}

static void ivf_release(struct ivf *v)
{
    for (size_t i = 0; i < v->n_parts; i++) {
        vdb_sieve_part_release(v->parts + i);
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        mem_free(v->work->a, v->passed[i], v->passed[i] == NULL ? 0 : v->s->shards[i].n);
    }
    mem_free(v->work->a, v->candidates, v->capacity * sizeof *v->candidates);
    arena_release(&v->ar);
}

grebe_status vdb_search_ivf(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                            struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err)
{
    const struct vdb_config *config = &s->meta.config;
    struct ivf v = { .s = s, .work = work, .q = q, .ar = ARENA_INIT(work->a) };
    grebe_status st = GREBE_OK;

    stats->collection_points = s->meta.point_count;
    GREBE_TRY(vdb_snapshot_codebook(s, err));
    GREBE_TRY(vdb_sieve_init(&v.sieve, s, work, q->vector, q->limit, &v.ar, err));
    const uint64_t probes = q->probes != 0     ? q->probes
                            : q->filter != NULL ? s->codebook.n
                                                : config->default_probes;
    v.probes = (uint32_t)min_u64(probes, s->codebook.n);
    v.candidate_limit = q->candidate_limit != 0 ? q->candidate_limit : config->default_candidate_limit;
    GREBE_TRY(rank_centroids(&v, err));
    GREBE_TRY(gather(&v, stats, err));
    GREBE_TRY(score(&v, err));
    st = vdb_sieve_finish(&v.sieve, v.parts, v.n_parts, hits, n, err);
out:
    ivf_release(&v);
    return st;
}
