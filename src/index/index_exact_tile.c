/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_exact_internal.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "vector/tile.h"

/*
 * A batch by tiles: k and some more candidates by the tile's values, ranked again by the row kernels. Let v be the
 * tile's value of the last candidate: no other row is nearer than v less both errors. If that bound is beyond the k-th
 * ranked distance, nothing is missing; if not (many equal or nearly equal distances), the query is searched by rows.
 */

enum {
    PIECES = 16,            /* packed at once, then passed over by all queries */
    PIECE_BYTES = 1 << 20,
    QUERIES_CHUNK = 96
};

struct tile_work {
    const struct exact_job *job;
    struct tile_rows pieces[PIECES];
    size_t piece_rows, n_pieces; /* filled at the moment */
    size_t first;                /* of the list, of piece 0 */
    float *queries;              /* shape [n][dim] */
    double *norms;               /* |query|, shape [n] */
    struct topk *tops;
    struct topk_item *items;
    size_t n_candidates, room;
    float norm_max;
};

static grebe_status fill_piece(void *arg, size_t i, grebe_error *err)
{
    struct tile_work *w = arg;
    const struct index_store *s = w->job->store;
    const struct vector_rows rows = {s->rows, s->stride, s->n, s->dim, s->elem};
    const size_t first = w->first + i * w->piece_rows;

    (void)err;
    tile_rows_fill(&w->pieces[i], &rows, w->job->rows->positions, first,
                   min_size(w->piece_rows, w->job->rows->n - first));
    return GREBE_OK;
}

static grebe_status scan_chunk(void *arg, size_t i, grebe_error *err)
{
    struct tile_work *w = arg;
    const size_t begin = i * QUERIES_CHUNK, n = min_size(QUERIES_CHUNK, w->job->n - begin);
    const bool is_l2 = w->job->store->metric <= VECTOR_L2SQ;

    (void)err;
    for (size_t p = 0; p < w->n_pieces; p++) {
        tile_search(&w->pieces[p], 0, w->pieces[p].n, (uint32_t)(w->first + p * w->piece_rows),
                    w->queries + begin * w->job->store->dim, n, is_l2, w->tops + begin);
    }
    return GREBE_OK;
}

/* Nearest that a row outside the candidates can be, as callers see distances. */
static double outside_bound(const struct tile_work *w, size_t q, float last)
{
    const struct index_store *s = w->job->store;
    const bool is_l2 = s->metric <= VECTOR_L2SQ;
    const double norm = w->norms[q], unit = 0x1p-24;
    const double row_error = 1.01 * (s->dim / 8 + 8) * unit; /* of sums side by side, relative to the terms */
    double bound = (double)last - tile_error(s->dim, norm, (double)w->norm_max, is_l2);

    if (is_l2) {
        bound = (bound + norm * norm * (1 - 4 * unit)) * (1 - row_error);
    } else {
        bound -= row_error * norm * (double)w->norm_max;
    }
    bound -= fabs(bound) * unit; /* the value is a float32 */
    return (double)vector_metric_finish(s->metric, s->dim, nextafterf((float)bound, -INFINITY));
}

static grebe_status rank_query(void *arg, size_t q, grebe_error *err)
{
    struct tile_work *w = arg;
    const struct exact_job *job = w->job;
    const struct index_store *s = job->store;
    struct topk *t = w->tops + q;
    const size_t found = topk_finish(t), k = job->s->k;
    const float last = found > 0 ? t->items[found - 1].distance : 0;
    size_t n;

    (void)err;
    for (size_t i = 0; i < found; i += 64) {
        const size_t here = min_size(64, found - i);
        uint32_t positions[64];
        float values[64];

        for (size_t j = 0; j < here; j++) {
            positions[j] = exact_position(job->rows, t->items[i + j].id);
        }
        s->ops->gather(exact_query(job, q), s->rows, s->stride, positions, here, s->dim, values);
        index_exact_finish(s, values, here);
        for (size_t j = 0; j < here; j++) {
            t->items[i + j] = (struct topk_item){values[j], positions[j]};
        }
    }
    t->k = job->k;
    n = topk_finish(t);
    if (found < job->rows->n && !(outside_bound(w, q, last) > (double)t->items[n - 1].distance)) {
        topk_init(t, job->k, t->items, w->room);
        exact_scan(job, 0, job->rows->n, q, 1, t);
        n = topk_finish(t);
    }
    index_exact_write(t->items, n, k, job->positions + q * k, job->distances + q * k);
    return GREBE_OK;
}

static grebe_status work_init(struct tile_work *w, grebe_error *err)
{
    const struct exact_job *job = w->job;
    const grebe_allocator *a = job->ctx->a;
    const uint32_t dim = job->store->dim;
    grebe_status st = GREBE_OK;

    w->n_candidates = min_size(job->k + job->k / 16 + 16, job->rows->n);
    w->room = topk_capacity(w->n_candidates);
    w->piece_rows = max_size(PIECE_BYTES / (sizeof(float) * dim) / TILE_PANEL, 4) * TILE_PANEL;
    w->queries = mem_alloc_aligned(a, job->n * dim * sizeof *w->queries, MEM_ALIGN_VECTOR);
    w->norms = mem_alloc(a, job->n * sizeof *w->norms);
    w->tops = mem_alloc(a, job->n * sizeof *w->tops);
    w->items = mem_alloc(a, job->n * w->room * sizeof *w->items);
    if (w->queries == NULL || w->norms == NULL || w->tops == NULL || w->items == NULL) {
        return mem_fail(err, job->n * w->room * sizeof *w->items, "a batch of queries");
    }
    for (size_t p = 0; p < PIECES && p * w->piece_rows < job->rows->n; p++) {
        GREBE_TRY(tile_rows_init(a, dim, min_size(w->piece_rows, job->rows->n - p * w->piece_rows), &w->pieces[p], err));
    }
    for (size_t q = 0; q < job->n; q++) {
        float *query = w->queries + q * dim;
        double square = 0;

        vector_to_f32(job->store->elem, exact_query(job, q), dim, query);
        for (uint32_t d = 0; d < dim; d++) {
            square += (double)query[d] * (double)query[d];
        }
        w->norms[q] = sqrt(square);
        topk_init(w->tops + q, w->n_candidates, w->items + q * w->room, w->room);
    }
out:
    return st;
}

static void work_release(struct tile_work *w)
{
    const struct exact_job *job = w->job;
    const grebe_allocator *a = job->ctx->a;

    for (size_t p = 0; p < PIECES; p++) {
        tile_rows_release(&w->pieces[p]);
    }
    mem_free_aligned(a, w->queries, job->n * job->store->dim * sizeof *w->queries, MEM_ALIGN_VECTOR);
    mem_free(a, w->norms, job->n * sizeof *w->norms);
    mem_free(a, w->tops, job->n * sizeof *w->tops);
    mem_free(a, w->items, job->n * w->room * sizeof *w->items);
}

grebe_status exact_by_tiles(const struct exact_job *job, grebe_error *err)
{
    struct tile_work w = {.job = job};
    const struct call *call = &job->s->call;
    struct pool *pool = job->ctx->pool;
    grebe_status st = GREBE_OK;

    GREBE_TRY(work_init(&w, err));
    for (; w.first < job->rows->n; w.first += PIECES * w.piece_rows) {
        w.n_pieces = min_size(PIECES, (job->rows->n - w.first + w.piece_rows - 1) / w.piece_rows);
        GREBE_TRY(parallel_for(pool, call->threads, w.n_pieces, fill_piece, &w, call->cancel, err));
        for (size_t p = 0; p < w.n_pieces; p++) {
            w.norm_max = w.pieces[p].norm_max > w.norm_max ? w.pieces[p].norm_max : w.norm_max;
        }
        GREBE_TRY(parallel_for(pool, call->threads, (job->n + QUERIES_CHUNK - 1) / QUERIES_CHUNK, scan_chunk, &w,
                               call->cancel, err));
    }
    GREBE_TRY(parallel_for(pool, call->threads, job->n, rank_query, &w, call->cancel, err));
out:
    work_release(&w);
    return st;
}
