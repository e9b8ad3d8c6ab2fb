/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_exact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "index/index_exact_internal.h"

enum {
    ROWS_BLOCK = 256,       /* distances at a time */
    QUERIES_CHUNK = 16,     /* of one piece of work */
    SEGMENT_ROWS_MIN = 2048,
    TILE_QUERIES_MIN = 8    /* from here packing the rows pays */
};

#define BATCH_BYTES ((size_t)48 << 20)

/* ---- lists of rows ---- */

grebe_status index_list_make(const grebe_allocator *a, uint64_t n_rows, const struct index_bits *removed,
                             const struct index_filter *filter, struct index_list *out, grebe_error *err)
{
    const bool has_removed = removed != NULL && removed->n_set > 0;
    size_t n = 0;

    *out = (struct index_list){.a = a, .n = (size_t)n_rows};
    if (!has_removed && filter->words == NULL) {
        return GREBE_OK;
    }
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (uint64_t at = 0; at < n_rows; at += 64) {
            uint64_t word = UINT64_MAX;

            if (filter->words != NULL) {
                word = at < filter->n_bits ? filter->words[at / 64] : 0;
                word &= at < filter->n_bits && filter->n_bits - at < 64 ? (UINT64_C(1) << (filter->n_bits - at)) - 1
                                                                        : UINT64_MAX;
            }
            word &= n_rows - at < 64 ? (UINT64_C(1) << (n_rows - at)) - 1 : UINT64_MAX;
            word &= has_removed && at / 64 < removed->n_words ? ~removed->words[at / 64] : UINT64_MAX;
            if (pass == 0) {
                n += (size_t)__builtin_popcountll(word);
                continue;
            }
            for (; word != 0; word &= word - 1) {
                out->positions[n++] = (uint32_t)(at + (uint64_t)__builtin_ctzll(word));
            }
        }
        if (pass == 0) {
            out->capacity = n + 1;
            out->positions = mem_alloc(a, out->capacity * sizeof *out->positions);
            if (out->positions == NULL) {
                return mem_fail(err, out->capacity * sizeof *out->positions, "rows of a filter");
            }
        }
    }
    out->n = n;
    return GREBE_OK;
}

void index_list_release(struct index_list *l)
{
    if (l->positions != NULL) {
        mem_free(l->a, l->positions, l->capacity * sizeof *l->positions);
    }
    *l = (struct index_list){0};
}

/* ---- row by row ---- */

void index_exact_finish(const struct index_store *store, float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = vector_metric_finish(store->metric, store->dim, values[i]);
    }
}

void index_exact_write(const struct topk_item *items, size_t n, size_t k, uint32_t *positions, float *distances)
{
    for (size_t i = 0; i < k; i++) {
        positions[i] = i < n ? items[i].id : UINT32_MAX;
        distances[i] = i < n ? items[i].distance : INFINITY;
    }
}

void exact_scan(const struct exact_job *job, size_t begin, size_t end, size_t query, size_t n, struct topk *tops)
{
    const struct index_store *s = job->store;
    const struct index_list *l = job->rows;
    float values[ROWS_BLOCK];

    for (size_t at = begin; at < end; at += ROWS_BLOCK) {
        const size_t here = min_size(ROWS_BLOCK, end - at);

        for (size_t q = 0; q < n; q++) {
            const void *from = exact_query(job, query + q);

            if (l->positions == NULL) {
                s->ops->many(from, s->rows + at * s->stride, s->stride, here, s->dim, values);
                index_exact_finish(s, values, here);
                topk_push_many(tops + q, values, here, (uint32_t)at);
                continue;
            }
            s->ops->gather(from, s->rows, s->stride, l->positions + at, here, s->dim, values);
            index_exact_finish(s, values, here);
            for (size_t i = 0; i < here; i++) {
                topk_push(tops + q, values[i], l->positions[at + i]);
            }
        }
    }
}

/* Chunks of queries, each in some segments of rows: one query alone still uses all threads. */
struct rows_work {
    const struct exact_job *job;
    size_t n_chunks, n_segments;
    struct topk *tops; /* shape [n][n_segments] */
};

static grebe_status scan_piece(void *arg, size_t i, grebe_error *err)
{
    const struct rows_work *w = arg;
    const size_t chunk = i / w->n_segments, segment = i % w->n_segments;
    const size_t query = chunk * QUERIES_CHUNK, n = min_size(QUERIES_CHUNK, w->job->n - query);
    const size_t rows = w->job->rows->n;
    struct topk tops[QUERIES_CHUNK];

    (void)err;
    for (size_t q = 0; q < n; q++) {
        tops[q] = w->tops[(query + q) * w->n_segments + segment];
    }
    exact_scan(w->job, rows * segment / w->n_segments, rows * (segment + 1) / w->n_segments, query, n, tops);
    for (size_t q = 0; q < n; q++) {
        w->tops[(query + q) * w->n_segments + segment] = tops[q];
    }
    return GREBE_OK;
}

static void merge_segments(const struct rows_work *w, size_t query)
{
    struct topk *first = w->tops + query * w->n_segments;
    const size_t k = w->job->s->k;

    for (size_t i = 1; i < w->n_segments; i++) {
        for (size_t j = 0; j < first[i].n; j++) {
            topk_push(first, first[i].items[j].distance, first[i].items[j].id);
        }
    }
    index_exact_write(first->items, topk_finish(first), k, w->job->positions + query * k, w->job->distances + query * k);
}

grebe_status exact_by_rows(const struct exact_job *job, grebe_error *err)
{
    const grebe_allocator *a = job->ctx->a;
    const size_t room = topk_capacity(job->k);
    struct rows_work w = {.job = job, .n_chunks = (job->n + QUERIES_CHUNK - 1) / QUERIES_CHUNK, .n_segments = 1};
    struct topk_item *items = NULL;
    grebe_status st = GREBE_OK;
    size_t n_tops;

    if (w.n_chunks < job->s->call.threads) {
        w.n_segments = min_size(job->s->call.threads, job->rows->n / SEGMENT_ROWS_MIN + 1);
    }
    n_tops = job->n * w.n_segments;
    w.tops = mem_alloc(a, n_tops * sizeof *w.tops);
    items = mem_alloc(a, n_tops * room * sizeof *items);
    if (w.tops == NULL || items == NULL) {
        st = mem_fail(err, n_tops * room * sizeof *items, "the nearest rows");
        goto out;
    }
    for (size_t i = 0; i < n_tops; i++) {
        topk_init(w.tops + i, job->k, items + i * room, room);
    }
    GREBE_TRY(parallel_for(job->ctx->pool, job->s->call.threads, w.n_chunks * w.n_segments, scan_piece, &w,
                           job->s->call.cancel, err));
    for (size_t q = 0; q < job->n; q++) {
        merge_segments(&w, q);
    }
out:
    mem_free(a, items, n_tops * room * sizeof *items);
    mem_free(a, w.tops, n_tops * sizeof *w.tops);
    return st;
}

/* ---- batches ---- */

size_t exact_batch(const struct index_store *store, size_t k)
{
    const size_t each = store->stride + 2 * (size_t)store->dim * sizeof(float) +
                        topk_capacity(k + k / 16 + 16) * sizeof(struct topk_item);

    return max_size(BATCH_BYTES / each, 1);
}

static grebe_status search_batch(struct exact_job *job, const struct vector_rows *queries, size_t begin,
                                 unsigned char *forms, grebe_error *err)
{
    for (size_t i = 0; i < job->n; i++) {
        grebe_status st = index_store_query(job->store, queries, begin + i, forms + i * job->store->stride, err);

        if (st != GREBE_OK) {
            return st;
        }
    }
    job->queries = forms;
    return job->store->elem != VECTOR_BIT && job->n >= TILE_QUERIES_MIN ? exact_by_tiles(job, err)
                                                                       : exact_by_rows(job, err);
}

/* Measured on Zen 2: a tile's row costs 0.03 ns a component and its packing, shared by the queries, 0.6; a row by itself
 * waits for memory. */
double index_exact_cost(const struct index_store *store, uint64_t rows, uint64_t n_queries)
{
    const double dim = (double)store->dim;
    const bool has_tiles = store->elem != VECTOR_BIT && n_queries >= TILE_QUERIES_MIN;
    const double row = has_tiles ? 0.5 + dim * (0.03 + 0.6 / (double)n_queries) : 8 + (double)store->stride * 0.03;

    return (double)rows * row;
}

grebe_status index_exact_search(grebe_context *ctx, const struct index_store *store, const struct index_bits *removed,
                                const struct vector_rows *queries, const struct index_search *s, uint32_t *positions,
                                float *distances, grebe_error *err)
{
    struct index_list rows = {0};
    unsigned char *forms = NULL;
    size_t batch = 0;
    grebe_status st = GREBE_OK;

    GREBE_TRY(index_list_make(ctx->a, store->n, removed, &s->filter, &rows, err));
    batch = min_size(exact_batch(store, min_size(s->k, rows.n)), (size_t)queries->n);
    forms = mem_alloc_aligned(ctx->a, batch * store->stride, MEM_ALIGN_VECTOR);
    if (forms == NULL) {
        st = mem_fail(err, batch * store->stride, "queries");
        goto out;
    }
    for (size_t at = 0; at < queries->n; at += batch) {
        struct exact_job job = {.ctx = ctx,
                                .store = store,
                                .rows = &rows,
                                .s = s,
                                .k = min_size(s->k, rows.n),
                                .n = min_size(batch, (size_t)queries->n - at),
                                .positions = positions + at * s->k,
                                .distances = distances + at * s->k};

        GREBE_TRY(search_batch(&job, queries, at, forms, err));
    }
out:
    mem_free_aligned(ctx->a, forms, batch * store->stride, MEM_ALIGN_VECTOR);
    index_list_release(&rows);
    return st;
}
