/* SPDX-License-Identifier: Apache-2.0 */
/* Searches as the public calls give them: queries checked, hits and statistics as values. */
#include "gitvdb/vdb_api.h"

#include <math.h>
#include <string.h>

#include "gitvdb/vdb_points.h"
#include "gitvdb/vdb_search.h"
#include "gitvdb/vdb_select.h"

static grebe_status check_query(const struct vdb_config *c, const grebe_vdb_query *q, grebe_error *err)
{
    if (q->id == NULL && q->dimension != c->dimension) {
        return GREBE_FAIL(err, GREBE_EINVAL, "query vector: expected dimension %u, found %u", (unsigned)c->dimension,
                          (unsigned)q->dimension);
    }
    size_t n = q->id == NULL ? q->n_vectors * q->dimension : 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(q->vectors[i])) {
            return GREBE_FAIL(err, GREBE_EINVAL, "query vector %zu: vector components must be finite f32 values",
                              i / q->dimension);
        }
    }
    const char *space = q->expected_vector_space;
    if (space != NULL && (c->vector_space == NULL || strlen(space) != c->vector_space_len ||
                          memcmp(space, c->vector_space, c->vector_space_len) != 0)) {
        char quoted[96];
        return GREBE_FAIL(err, GREBE_EINVAL, "vector space: expected \"%s\", found %s%s%s", space,
                          c->vector_space == NULL ? "none" : "\"",
                          c->vector_space == NULL
                              ? ""
                              : error_quote(quoted, sizeof quoted, c->vector_space, c->vector_space_len),
                          c->vector_space == NULL ? "" : "\"");
    }
    return GREBE_OK;
}

static grebe_status stats_value(struct arena *ar, const struct vdb_search_stats *s, struct vdb_value *out, grebe_error *err)
{
    struct vdb_object_maker o;
    vdb_object_begin(&o, ar, 7);
    vdb_object_add(&o, "mode", vdb_text(s->is_exact ? "exact" : "approximate"));
    vdb_object_add(&o, "collection_points", vdb_uint(s->collection_points));
    vdb_object_add(&o, "buckets_probed", vdb_uint(s->buckets_probed));
    vdb_object_add(&o, "candidates_discovered", vdb_uint(s->candidates_discovered));
    vdb_object_add(&o, "vectors_scored", vdb_uint(s->vectors_scored));
    vdb_object_add(&o, "probe_limit_exhausted", vdb_bool(s->probe_limit_exhausted));
    vdb_object_add(&o, "candidate_limit_exhausted", vdb_bool(s->candidate_limit_exhausted));
    return vdb_object_end(&o, out, err);
}

/* One vector's answer, and its list of points. */
static grebe_status answer(grebe_vdb_result *r, const struct vdb_work *work, const struct vdb_query *q,
                           const grebe_vdb_read_options *o, struct vdb_value *points, struct vdb_value *out,
                           grebe_error *err)
{
    struct vdb_snapshot *s = r->view->snapshot;
    struct vdb_hit *hits = NULL;
    struct vdb_search_stats stats;
    struct vdb_object_maker object;
    struct vdb_value stats_v;
    size_t n = 0;
    grebe_status st = vdb_search(s, work, q, &hits, &n, &stats, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct vdb_value *items = arena_array(&r->ar, n, sizeof *items);
    if (items == NULL) {
        st = mem_fail(err, n * sizeof *items, "hits");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(vdb_point_value(&r->ar, s, hits[i].at, &hits[i].score, o, &items[i], err));
    }
    *points = vdb_list(items, n);
    GREBE_TRY(stats_value(&r->ar, &stats, &stats_v, err));
    vdb_object_begin(&object, &r->ar, 3);
    vdb_object_add(&object, "root", vdb_text(r->root));
    vdb_object_add(&object, "points", *points);
    vdb_object_add(&object, "stats", stats_v);
    GREBE_TRY(vdb_object_end(&object, out, err));
    r->count += n;
out:
    mem_free(s->a, hits, n * sizeof *hits);
    return st;
}

/* The stored vector of the point that the query names. */
static grebe_status vector_of_id(grebe_vdb_result *r, const char *word, const float **out, grebe_error *err)
{
    struct vdb_snapshot *s = r->view->snapshot;
    struct vdb_id id;
    struct vdb_place at;
    bool found = false;
    grebe_status st;
    GREBE_TRY(vdb_id_from_word(&r->ar, word, strlen(word), &id, err));
    GREBE_TRY(vdb_find_id(s, &id, &at, &found, err));
    if (!found) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "no point has the id %s", word);
        goto out;
    }
    GREBE_TRY(vdb_snapshot_load(s, at.shard, VDB_PART_VECTORS, err));
    *out = s->shards[at.shard].vectors.values + (size_t)at.row * s->meta.config.dimension;
out:
    return st;
}

/* Vectors that were given as text, one behind the other; q->vectors, n_vectors and dimension say which. */
static grebe_status vectors_of_text(const grebe_vdb *vdb, grebe_vdb_query *q, struct buf *out, grebe_error *err)
{
    const char *at = q->text != NULL ? q->text : q->lines;
    grebe_status st = GREBE_OK;
    for (size_t line = 1; *at != '\0' || line == 1; line++) {
        size_t len = q->text != NULL ? strlen(at) : strcspn(at, "\n");
        float *one = NULL;
        size_t n = 0;
        if (q->text != NULL || strspn(at, " \t\r") < len) {
            st = vdb_vector_from_text(vdb->a, at, len, &one, &n, err);
            if (st == GREBE_OK && q->n_vectors != 0 && n != q->dimension) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "expected %u components as on the first line, found %zu",
                                (unsigned)q->dimension, n);
            }
            if (st == GREBE_OK && n > UINT32_MAX) {
                st = GREBE_FAIL(err, GREBE_ELIMIT, "expected at most %u components, found %zu", UINT32_MAX, n);
            }
            st = st == GREBE_OK ? buf_put(out, one, n * sizeof *one, err) : st;
            mem_free(vdb->a, one, n * sizeof *one);
            if (st != GREBE_OK) {
                return q->text != NULL ? st : error_wrap(err, st, "queries line %zu", line);
            }
            q->dimension = (uint32_t)n;
            q->n_vectors++;
        }
        at += len + (at[len] == '\n');
    }
    q->vectors = (const float *)(const void *)out->data;
    return q->n_vectors != 0 ? GREBE_OK : GREBE_FAIL(err, GREBE_EINVAL, "queries: expected vectors, found none");
}

static grebe_status run_queries(grebe_vdb *vdb, grebe_vdb_result *r, const grebe_vdb_query *q,
                                const grebe_vdb_read_options *o, grebe_error *err)
{
    static const enum vdb_search_mode modes[] = { VDB_SEARCH_AUTO, VDB_SEARCH_EXACT, VDB_SEARCH_APPROXIMATE };
    struct vdb_snapshot *s = r->view->snapshot;
    struct vdb_work work = vdb_work_of(vdb, o->call);
    struct vdb_filter *filter = NULL;
    const float *vectors = q->vectors;
    size_t n = q->id != NULL ? 1 : q->n_vectors;
    struct vdb_object_maker object;
    grebe_status st;
    GREBE_TRY(check_query(&s->meta.config, q, err));
    GREBE_TRY(vdb_filter_of(vdb, &q->select, &filter, err));
    if (q->id != NULL) {
        GREBE_TRY(vector_of_id(r, q->id, &vectors, err));
    }
    struct vdb_value *answers = arena_array(&r->ar, n, sizeof *answers);
    struct vdb_value *points = arena_array(&r->ar, n, sizeof *points);
    if (answers == NULL || points == NULL) {
        st = mem_fail(err, n * sizeof *answers, "answers");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        struct vdb_query one = { vectors + i * s->meta.config.dimension, q->limit, modes[q->mode], q->probes,
                                 q->candidate_limit, filter };
        GREBE_TRY(answer(r, &work, &one, o, &points[i], &answers[i], err));
    }
    r->points = points;
    r->ids_are_json = o->ids_are_json;
    r->n_lists = n;
    if (n == 1 && q->lines == NULL) {
        r->value = answers[0];
        goto out;
    }
    vdb_object_begin(&object, &r->ar, 2);
    vdb_object_add(&object, "root", vdb_text(r->root));
    vdb_object_add(&object, "results", vdb_list(answers, n));
    GREBE_TRY(vdb_object_end(&object, &r->value, err));
out:
    vdb_filter_free(filter);
    return st;
}

grebe_status grebe_vdb_search(grebe_vdb *vdb, const char *name, const grebe_vdb_query *query,
                              const grebe_vdb_read_options *options, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_query q = GREBE_VDB_QUERY_INIT;
    grebe_vdb_read_options o;
    grebe_vdb_result *r = NULL;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && query != NULL && out != NULL);
    *out = NULL;
    grebe_status st = options_copy(&q, sizeof q, query, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_CHECK_ARG(err, q.mode >= 0 && q.mode <= 2);
    GREBE_CHECK_ARG(err, (q.id != NULL) + (q.text != NULL) + (q.lines != NULL) + (q.vectors != NULL && q.n_vectors != 0) == 1);
    struct buf vectors = BUF_INIT(vdb->a);
    st = vdb_read_options_of(options, &o, err);
    if (st == GREBE_OK && (q.text != NULL || q.lines != NULL)) {
        st = vectors_of_text(vdb, &q, &vectors, err);
    }
    st = st == GREBE_OK ? vdb_result_new(vdb, &r, err) : st;
    st = st == GREBE_OK ? vdb_view_of(vdb, name, o.at, &r->view, err) : st;
    if (st == GREBE_OK) {
        repo_oid_hex(&r->view->snapshot->root, r->root);
        st = error_wrap(err, run_queries(vdb, r, &q, &o, err), "collection %s", name);
    }
    buf_release(&vectors);
    return vdb_result_end(st, &r, out);
}
