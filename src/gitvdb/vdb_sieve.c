/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_sieve.h"

#include <assert.h>
#include <math.h>

#include "base/checked.h"
#include "gitvdb/vdb_kernels.h"
#include "gitvdb/vdb_search_internal.h"

/* More than the roundings of the few f32 operations on a score of at most 1, and of the f64 cosine itself. */
#define SLACK 1e-6F

enum { EXACT_BLOCK = 256 };

grebe_status vdb_sieve_init(struct vdb_sieve *v, struct vdb_snapshot *s, const struct vdb_work *work,
                            const float *query, uint64_t limit, struct arena *ar, grebe_error *err)
{
    const uint32_t dim = s->meta.config.dimension;

    *v = (struct vdb_sieve){ .s = s, .work = work, .query = query, .dim = dim };
    v->root = sqrt(vdb_norm2(query, dim));
    v->limit = (size_t)min_u64(limit, SIZE_MAX);
    v->mesh = VDB_MESH_EXACT;
    atomic_init(&v->floor, 0);
    if (v->root == 0.0 || dim > VDB_DIM_FAST) {
        return GREBE_OK; /* all scores are 0, or the bounds are not small */
    }
    v->mesh = VDB_MESH_F32;
    v->error_f32 = (float)(2 * vdb_dot_error(dim, 3)) + SLACK;
    v->unit = arena_array(ar, dim, sizeof *v->unit);
    if (v->unit == NULL) {
        return mem_fail(err, dim * sizeof *v->unit, "a query");
    }
    for (uint32_t d = 0; d < dim; d++) {
        v->unit[d] = (float)((double)query[d] / v->root);
    }
    v->coded = atomic_load_explicit(&s->coded, memory_order_acquire);
    if (v->coded == NULL) {
        return GREBE_OK;
    }
    v->mesh = VDB_MESH_CODES;
    return vdb_query_codes_make(v->coded, ar, query, v->root, &v->codes, err);
}

static void part_init(struct vdb_sieve_part *p, struct vdb_sieve *v, enum vdb_mesh mesh)
{
    p->v = v;
    p->mesh = mesh;
    p->survivors = NULL;
    p->n = p->capacity = p->n_pending = 0;
    vdb_topk_init(&p->lower, v->work->a, v->limit, &v->floor);
}

void vdb_sieve_part_init(struct vdb_sieve_part *p, struct vdb_sieve *v) { part_init(p, v, v->mesh); }

void vdb_sieve_part_release(struct vdb_sieve_part *p)
{
    if (p->v != NULL) {
        vdb_topk_release(&p->lower);
        mem_free(p->v->work->a, p->survivors, p->capacity * sizeof *p->survivors);
        p->survivors = NULL;
        p->capacity = p->n = 0;
    }
}

/* Whether the rows are those of one shard from the first on. */
static bool is_run(const struct vdb_sieve_part *p, size_t n)
{
    const struct vdb_place first = p->pending[0];
    bool is_same = true;

    for (size_t i = 0; i < n; i++) {
        is_same = is_same && p->pending[i].shard == first.shard && p->pending[i].row == first.row + i;
    }
    return is_same;
}

static inline void combine(const int32_t *dots, const float *factor, const float *off, size_t n,
                           const struct vdb_query_codes *q, float *score, float *error)
{
    for (size_t i = 0; i < n; i++) {
        score[i] = (float)dots[i] * factor[i] * q->factor;
        /* |x . y - x' . y'| <= |x - x'| |y| + |x'| |y - y'|, as a share of |x| |y| */
        error[i] = off[i] + (1.0F + off[i]) * q->error + SLACK;
    }
}

/* Rough scores of the pending rows, and how far off each can be. */
static void score_codes(const struct vdb_sieve_part *p, size_t n, float *score, float *error)
{
    const struct vdb_sieve *v = p->v;
    const int8_t *rows[VDB_SIEVE_BLOCK];
    int32_t dots[VDB_SIEVE_BLOCK];

    for (size_t i = 0; i < n; i++) {
        rows[i] = v->coded->shards[p->pending[i].shard].codes + p->pending[i].row * v->coded->width;
    }
    vdb_kernels()->dots_i8(rows, n, v->codes.codes, v->coded->width, dots);
    if (is_run(p, n)) { /* all side by side: a loop over arrays */
        const struct vdb_codes *c = v->coded->shards + p->pending[0].shard;
        combine(dots, c->factor + p->pending[0].row, c->error + p->pending[0].row, n, &v->codes, score, error);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct vdb_codes *c = v->coded->shards + p->pending[i].shard;
        combine(dots + i, c->factor + p->pending[i].row, c->error + p->pending[i].row, 1, &v->codes, score + i,
                error + i);
    }
}

static void score_f32(const struct vdb_sieve_part *p, size_t n, float *score, float *error)
{
    const struct vdb_sieve *v = p->v;
    const float *rows[VDB_SIEVE_BLOCK];
    float norms2[VDB_SIEVE_BLOCK];

    for (size_t i = 0; i < n; i++) {
        rows[i] = v->s->shards[p->pending[i].shard].vectors.values + (size_t)p->pending[i].row * v->dim;
    }
    vdb_kernels()->dots_f32(rows, n, v->unit, v->dim, score, norms2);
    for (size_t i = 0; i < n; i++) {
        const bool is_safe = vdb_norm2_is_safe(norms2[i]);
        score[i] = is_safe ? score[i] / sqrtf(norms2[i]) : 0.0F;
        error[i] = is_safe ? v->error_f32 : 2.0F; /* nothing is known of it */
    }
}

static grebe_status survive(struct vdb_sieve_part *p, struct vdb_place at, float upper, grebe_error *err)
{
    if (p->n == p->capacity) {
        const size_t capacity = max_size(64, p->capacity * 2);
        struct vdb_survivor *grown = mem_resize(p->v->work->a, p->survivors, p->capacity * sizeof *grown,
                                                capacity * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "candidates");
        }
        p->survivors = grown;
        p->capacity = capacity;
    }
    p->survivors[p->n++] = (struct vdb_survivor){ at, upper };
    return GREBE_OK;
}

/* As a number: what an upper end must reach. Nothing known: below all scores. */
static float bar_of(const struct vdb_sieve *v)
{
    const uint64_t key = atomic_load_explicit(&v->floor, memory_order_relaxed);
    return key == 0 ? -INFINITY : (float)vdb_key_score(key); /* lower ends are floats, so this is exact */
}

/* In lanes, which compilers turn into vectors. */
static float largest_upper(const float *score, const float *error, size_t n)
{
    float lanes[VDB_LANES], largest = -INFINITY;
    size_t i = 0;

    for (size_t l = 0; l < VDB_LANES; l++) {
        lanes[l] = -INFINITY;
    }
    for (; i + VDB_LANES <= n; i += VDB_LANES) {
        for (size_t l = 0; l < VDB_LANES; l++) {
            const float upper = score[i + l] + error[i + l];
            lanes[l] = upper > lanes[l] ? upper : lanes[l];
        }
    }
    for (; i < n; i++) {
        largest = score[i] + error[i] > largest ? score[i] + error[i] : largest;
    }
    for (size_t l = 0; l < VDB_LANES; l++) {
        largest = lanes[l] > largest ? lanes[l] : largest;
    }
    return largest;
}

grebe_status vdb_sieve_flush(struct vdb_sieve_part *p, grebe_error *err)
{
    float score[VDB_SIEVE_BLOCK], error[VDB_SIEVE_BLOCK];
    const size_t n = p->n_pending;
    grebe_status st = GREBE_OK;

    p->n_pending = 0;
    if (p->v->limit == 0 || n == 0) {
        return GREBE_OK;
    }
    if (p->mesh == VDB_MESH_EXACT) {
        for (size_t i = 0; st == GREBE_OK && i < n; i++) {
            st = survive(p, p->pending[i], INFINITY, err);
        }
        return st;
    }
    size_t padded = n;
    while (padded % VDB_ROWS != 0) {
        p->pending[padded++] = p->pending[n - 1];
    }
    (p->mesh == VDB_MESH_CODES ? score_codes : score_f32)(p, padded, score, error);
    float bar = bar_of(p->v);
    if (largest_upper(score, error, n) < bar) { /* mostly so */
        return GREBE_OK;
    }
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        if (score[i] + error[i] < bar) {
            continue;
        }
        const struct vdb_hit lower = { p->pending[i], (double)(score[i] - error[i]) };
        st = survive(p, p->pending[i], score[i] + error[i], err);
        if (st == GREBE_OK) {
            st = vdb_topk_put(&p->lower, &lower, err);
        }
        bar = bar_of(p->v);
    }
    return st;
}

grebe_status vdb_sieve_put(struct vdb_sieve_part *p, struct vdb_place at, grebe_error *err)
{
    if (p->mesh == VDB_MESH_CODES) { /* by the time that it is scored the row is near */
        __builtin_prefetch(p->v->coded->shards[at.shard].codes + at.row * p->v->coded->width);
    }
    p->pending[p->n_pending++] = at;
    return p->n_pending == VDB_SIEVE_BLOCK ? vdb_sieve_flush(p, err) : GREBE_OK;
}

grebe_status vdb_sieve_put_shard(struct vdb_sieve_part *p, uint32_t shard, grebe_error *err)
{
    const uint32_t n = p->v->s->shards[shard].vectors.n;
    grebe_status st = GREBE_OK;

    for (uint32_t row = 0; st == GREBE_OK && row < n; row++) {
        p->pending[p->n_pending++] = (struct vdb_place){ shard, row };
        if (p->n_pending == VDB_SIEVE_BLOCK) {
            st = vdb_sieve_flush(p, err);
        }
    }
    return st;
}

/* ---- what is left ---- */

/* Drops those that the final bar rules out, and puts the rest of all parts side by side. */
static grebe_status collect(struct vdb_sieve *v, struct vdb_sieve_part *parts, size_t n_parts,
                            struct vdb_sieve_part *out, grebe_error *err)
{
    struct vdb_topk lower;
    grebe_status st = GREBE_OK;

    vdb_topk_init(&lower, v->work->a, v->limit, &v->floor);
    for (size_t i = 0; st == GREBE_OK && i < n_parts; i++) {
        st = vdb_topk_merge(&lower, &parts[i].lower, err);
    }
    vdb_topk_prune(&lower);
    vdb_topk_release(&lower);
    const float bar = bar_of(v);
    for (size_t i = 0; i < n_parts; i++) {
        for (size_t k = 0; st == GREBE_OK && k < parts[i].n; k++) {
            if (parts[i].survivors[k].upper >= bar) {
                st = survive(out, parts[i].survivors[k].at, parts[i].survivors[k].upper, err);
            }
        }
    }
    return st;
}

/* Once more through the finer mesh; the bar starts anew, since its lower ends would count rows twice. */
static grebe_status refine(struct vdb_sieve *v, struct vdb_sieve_part *left, grebe_error *err)
{
    struct vdb_sieve_part fine, kept;
    grebe_status st = GREBE_OK;

    atomic_store_explicit(&v->floor, 0, memory_order_relaxed);
    part_init(&fine, v, VDB_MESH_F32);
    part_init(&kept, v, VDB_MESH_EXACT);
    for (size_t i = 0; i < left->n; i++) {
        GREBE_TRY(vdb_sieve_put(&fine, left->survivors[i].at, err));
    }
    GREBE_TRY(vdb_sieve_flush(&fine, err));
    GREBE_TRY(collect(v, &fine, 1, &kept, err));
    vdb_sieve_part_release(left);
    *left = kept;
    kept.v = NULL;
out:
    vdb_sieve_part_release(&kept);
    vdb_sieve_part_release(&fine);
    return st;
}

/* The format's cosine of those that are left. */
struct exact_scores {
    const struct vdb_sieve *v;
    const struct vdb_survivor *left;
    size_t n;
    double *scores; /* shape [n] */
};

static grebe_status score_block(void *arg, size_t i, grebe_error *err)
{
    const struct exact_scores *e = arg;
    const size_t end = min_size(e->n, (i + 1) * EXACT_BLOCK);

    (void)err;
    for (size_t k = i * EXACT_BLOCK; k < end; k++) {
        const struct vdb_place at = e->left[k].at;
        const float *row = e->v->s->shards[at.shard].vectors.values + (size_t)at.row * e->v->dim;
        e->scores[k] = vdb_score_row(e->v->query, e->v->root, row, e->v->dim);
    }
    return GREBE_OK;
}

static grebe_status score_exactly(struct vdb_sieve *v, const struct vdb_sieve_part *left, struct vdb_topk *top,
                                  grebe_error *err)
{
    const struct vdb_work *w = v->work;
    struct exact_scores e = { v, left->survivors, left->n, NULL };

    e.scores = mem_alloc(w->a, left->n * sizeof *e.scores);
    if (e.scores == NULL) {
        return mem_fail(err, left->n * sizeof *e.scores, "scores");
    }
    grebe_status st = parallel_for(w->pool, w->threads, (left->n + EXACT_BLOCK - 1) / EXACT_BLOCK, score_block, &e,
                                   w->cancel, err);
    for (size_t i = 0; st == GREBE_OK && i < left->n; i++) {
        const struct vdb_hit hit = { left->survivors[i].at, e.scores[i] };
        st = vdb_topk_put(top, &hit, err);
    }
    mem_free(w->a, e.scores, left->n * sizeof *e.scores);
    return st;
}

grebe_status vdb_sieve_finish(struct vdb_sieve *v, struct vdb_sieve_part *parts, size_t n_parts,
                              struct vdb_hit **hits, size_t *n, grebe_error *err)
{
    struct vdb_sieve_part left;
    struct vdb_topk top;
    grebe_status st = GREBE_OK;

    *hits = NULL;
    *n = 0;
    part_init(&left, v, VDB_MESH_EXACT);
    vdb_topk_init(&top, v->work->a, v->limit, &v->floor);
    GREBE_TRY(collect(v, parts, n_parts, &left, err));
    if (v->mesh == VDB_MESH_CODES) {
        GREBE_TRY(refine(v, &left, err));
    }
    atomic_store_explicit(&v->floor, 0, memory_order_relaxed);
    GREBE_TRY(score_exactly(v, &left, &top, err));
    st = vdb_topk_finish(&top, v->s, v->work, hits, n, err);
out:
    vdb_topk_release(&top);
    vdb_sieve_part_release(&left);
    return st;
}
