/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_lsh_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "gitvdb/vdb_search_internal.h"

/* Buckets that one search may look into: as many as an index of 2^22 buckets a table has in 16 tables. */
enum { PROBES_MAX = 1 << 26 };

struct lsh_search {
    struct vdb_snapshot *s;
    const struct vdb_work *work;
    const struct vdb_query *q;
    struct arena ar;
    uint32_t n_tables, n_bits;
    uint64_t *signatures;    /* shape [n_tables]: of the query */
    struct repo_tree index;   /* lsh-v1 */
    struct repo_tree *tables; /* shape [n_tables], read when first looked into */
    bool *is_read, *is_there;
    bool *is_taken;          /* shape [points] */
    uint64_t n_taken, candidate_limit;
};

static grebe_status take_bucket(struct lsh_search *l, const struct repo_tree *bucket, struct vdb_search_stats *stats,
                                grebe_error *err)
{
    const struct vdb_lsh_points *points = l->s->lsh;

    for (size_t i = 0; i < bucket->n; i++) {
        const struct repo_tree_entry *e = &bucket->entries[i];
        const size_t at = lsh_find(points, e->name);
        if (at == points->n || !repo_oid_equal(&e->oid, &points->points[at].tree)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "entry %zu: expected a point of the collection, found another", i);
        }
        if (l->is_taken[at]) {
            continue;
        }
        if (l->n_taken >= l->candidate_limit) {
            stats->candidate_limit_exhausted = true;
            break;
        }
        l->is_taken[at] = true;
        l->n_taken++;
    }
    return GREBE_OK;
}

/* index/lsh-v1/<table>/<prefix>/<signature>; each may be absent. */
static grebe_status visit(struct lsh_search *l, uint32_t table, uint64_t signature, struct vdb_search_stats *stats,
                          grebe_error *err)
{
    struct repo_tree prefixes = { 0 }, bucket = { 0 };
    char name[LSH_SIGNATURE_HEX + 1], prefix[3], table_name[LSH_TABLE_NAME];
    bool is_there = false;
    grebe_status st = GREBE_OK;

    lsh_table_name(table, table_name);
    lsh_signature_name(signature, l->n_bits, name);
    lsh_prefix_name(name, prefix);
    if (!l->is_read[table]) {
        GREBE_TRY(lsh_subtree(l->s->repo, &l->index, table_name, &l->tables[table], &l->is_there[table], err));
        l->is_read[table] = true;
    }
    if (l->is_there[table]) {
        GREBE_TRY(lsh_subtree(l->s->repo, &l->tables[table], prefix, &prefixes, &is_there, err));
    }
    if (is_there) {
        GREBE_TRY(lsh_subtree(l->s->repo, &prefixes, name, &bucket, &is_there, err));
    }
    if (is_there) {
        st = take_bucket(l, &bucket, stats, err);
    }
out:
    repo_tree_release(&bucket);
    repo_tree_release(&prefixes);
    return error_wrap(err, st, "index/lsh-v1/%s/%s/%s", table_name, prefix, name);
}

static grebe_status probe(struct lsh_search *l, uint64_t probes, struct vdb_search_stats *stats, grebe_error *err)
{
    struct vdb_lsh_probes order = { .n_tables = l->n_tables, .n_bits = l->n_bits };
    grebe_status st = GREBE_OK;
    uint32_t table = 0;
    uint64_t mask = 0;

    while (st == GREBE_OK && stats->buckets_probed < probes && !stats->candidate_limit_exhausted &&
           vdb_lsh_probes_next(&order, &table, &mask)) {
        stats->buckets_probed++;
        if (l->work->cancel != NULL && grebe_cancel_is_set(l->work->cancel)) {
            return GREBE_FAIL(err, GREBE_ECANCELLED, "cancelled");
        }
        st = visit(l, table, l->signatures[table] ^ mask, stats, err);
    }
    stats->candidates_discovered = l->n_taken;
    stats->probe_limit_exhausted = stats->buckets_probed == probes;
    return st;
}

/* Filter and score what was taken; the index of format 1 ranks by scores in f32. */
static grebe_status score(struct lsh_search *l, struct vdb_topk *top, struct vdb_search_stats *stats,
                          grebe_error *err)
{
    const double root = sqrt(vdb_norm2(l->q->vector, l->s->meta.config.dimension));
    struct vdb_filter_state *state = NULL;
    grebe_status st = l->q->filter == NULL ? GREBE_OK : vdb_filter_state_new(l->q->filter, &state, err);

    for (size_t i = 0; st == GREBE_OK && i < l->s->lsh->n; i++) {
        const struct vdb_place at = l->s->lsh->points[i].at;
        const struct vdb_shard *sh = &l->s->shards[at.shard];
        bool is_match = true;
        if (!l->is_taken[i]) {
            continue;
        }
        if (l->q->filter != NULL) {
            st = vdb_filter_row(l->q->filter, state, sh, at.row, &is_match, err);
        }
        if (st == GREBE_OK && is_match) {
            const float *row = sh->vectors.values + (size_t)at.row * sh->vectors.dim;
            const float score = (float)vdb_score_row(l->q->vector, root, row, sh->vectors.dim);
            const struct vdb_hit hit = { at, (double)score };
            stats->vectors_scored++;
            st = vdb_topk_put(top, &hit, err);
        }
    }
    vdb_filter_state_free(state);
    return st;
}

static grebe_status lsh_search_init(struct lsh_search *l, uint64_t *probes, grebe_error *err)
{
    const struct vdb_config *c = &l->s->meta.config;
    struct vdb_lsh_planes *planes = NULL;
    grebe_status st;

    *probes = l->q->probes != 0 ? l->q->probes : c->default_probes;
    l->candidate_limit = l->q->candidate_limit != 0 ? l->q->candidate_limit : c->default_candidate_limit;
    st = vdb_lsh_planes_new(c, l->s->a, &planes, err);
    if (st == GREBE_EINVAL) { /* the repository's fault, not the caller's */
        st = GREBE_ECORRUPT;
        if (err != NULL) {
            err->status = st;
        }
        error_wrap(err, st, "meta.json");
    }
    GREBE_TRY(st);
    l->n_tables = (uint32_t)c->tables;
    l->n_bits = (uint32_t)c->signature_bits;
    if (*probes > PROBES_MAX && (l->n_bits > 26 || ((uint64_t)l->n_tables << l->n_bits) > PROBES_MAX)) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "at most %d probes, found %" PRIu64, PROBES_MAX, *probes);
        goto out;
    }
    l->signatures = arena_array(&l->ar, l->n_tables, sizeof *l->signatures);
    l->tables = arena_array(&l->ar, l->n_tables, sizeof *l->tables);
    l->is_read = arena_array(&l->ar, l->n_tables, sizeof *l->is_read);
    l->is_there = arena_array(&l->ar, l->n_tables, sizeof *l->is_there);
    l->is_taken = arena_array(&l->ar, l->s->lsh->n, sizeof *l->is_taken);
    if (l->signatures == NULL || l->tables == NULL || l->is_read == NULL || l->is_there == NULL ||
        l->is_taken == NULL) {
        st = mem_fail(err, l->s->lsh->n, "a search");
        goto out;
    }
    for (uint32_t t = 0; t < l->n_tables; t++) {
        l->signatures[t] = vdb_lsh_signature(planes, t, l->q->vector);
    }
    GREBE_TRY(lsh_index_open(l->s, &l->index, err));
out:
    vdb_lsh_planes_free(planes);
    return st;
}

grebe_status vdb_lsh_search(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                            struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err)
{
    struct lsh_search l = { .s = s, .work = work, .q = q, .ar = ARENA_INIT(work->a) };
    _Atomic uint64_t floor;
    struct vdb_topk top;
    uint64_t probes = 0;
    grebe_status st = GREBE_OK;

    *hits = NULL;
    *n = 0;
    atomic_init(&floor, 0);
    vdb_topk_init(&top, work->a, (size_t)min_u64(q->limit, SIZE_MAX), &floor);
    *stats = (struct vdb_search_stats){ .collection_points = s->lsh->n };
    GREBE_TRY(lsh_search_init(&l, &probes, err));
    GREBE_TRY(probe(&l, probes, stats, err));
    GREBE_TRY(score(&l, &top, stats, err));
    st = vdb_topk_finish(&top, s, work, hits, n, err);
out:
    for (uint32_t t = 0; l.tables != NULL && t < l.n_tables; t++) {
        repo_tree_release(&l.tables[t]);
    }
    repo_tree_release(&l.index);
    vdb_topk_release(&top);
    arena_release(&l.ar);
    return st;
}
