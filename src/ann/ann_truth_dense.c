/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ann/ann_truth_internal.h"
#include "base/checked.h"
#include "vector/distance.h"

/* Batches of queries pass over blocks of base rows; under a filter a block falls into the rows of each label. */

enum { BLOCK_ROWS_MAX = 1 << 22 };
#define BATCH_BYTES ((size_t)256 << 20)

struct labelled {
    int64_t label;
    uint32_t position;
};

static int by_label(const void *a, const void *b)
{
    const struct labelled *x = a, *y = b;

    if (x->label != y->label) {
        return x->label < y->label ? -1 : 1;
    }
    return x->position < y->position ? -1 : x->position > y->position;
}

static grebe_status sort_labels(const grebe_allocator *a, const int64_t *labels, size_t n, struct labelled **out,
                                grebe_error *err)
{
    *out = mem_alloc(a, n * sizeof **out);
    if (*out == NULL) {
        return mem_fail(err, n * sizeof **out, "labels");
    }
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = (struct labelled){labels[i], (uint32_t)i};
    }
    qsort(*out, n, sizeof **out, by_label);
    return GREBE_OK;
}

/* ---- a batch of queries ---- */

static bool is_whole(const float *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (row[i] != truncf(row[i])) { /* a product of larger whole numbers is refused by the norms */
            return false;
        }
    }
    return true;
}

static grebe_status order_queries(struct truth_work *w, grebe_error *err)
{
    struct labelled *sorted = NULL;
    grebe_status st = GREBE_OK;

    for (size_t i = 0; i < w->n; i++) {
        w->order[i] = (uint32_t)i;
    }
    if (w->labels != NULL) {
        GREBE_TRY(sort_labels(w->ctx->a, w->labels, w->n, &sorted, err));
        for (size_t i = 0; i < w->n; i++) {
            w->order[i] = sorted[i].position;
        }
    }
out:
    mem_free(w->ctx->a, sorted, w->n * sizeof *sorted);
    return st;
}

static void take_queries(struct truth_work *w)
{
    const size_t bytes = vector_row_bytes(w->elem, w->dim);

    w->is_integral = w->elem != VECTOR_BIT && w->metric != VECTOR_COSINE;
    for (size_t i = 0; i < w->n; i++) {
        double square = 0;

        w->lists[i] = (struct truth_list){w->items + i * w->k, 0, w->k};
        w->norms[i] = 0;
        if (w->elem == VECTOR_BIT) {
            continue;
        }
        float *query = w->queries + i * w->dim;

        vector_to_f32(w->elem, w->stored + w->order[i] * bytes, w->dim, query);
        if (w->metric == VECTOR_COSINE) {
            vector_normalise(query, w->dim, query);
        }
        for (uint32_t c = 0; c < w->dim; c++) {
            square += (double)query[c] * (double)query[c];
        }
        w->norms[i] = sqrt(square);
        w->is_integral = w->is_integral && is_whole(query, w->dim);
    }
}

static grebe_status work_init(struct truth_work *w, uint64_t base_n, grebe_error *err)
{
    const grebe_allocator *a = w->ctx->a;
    const size_t floats = w->elem == VECTOR_BIT ? 0 : w->dim;
    grebe_status st = GREBE_OK;

    w->n_candidates = (size_t)min_u64(w->k + w->k / 16 + 16, base_n);
    w->room = topk_capacity(w->n_candidates);
    w->piece_rows = max_size(TRUTH_PIECE_BYTES / (sizeof(float) * w->dim) / TILE_PANEL, 4) * TILE_PANEL;
    w->order = mem_alloc(a, w->n * sizeof *w->order);
    w->queries = mem_alloc_aligned(a, w->n * floats * sizeof *w->queries, MEM_ALIGN_VECTOR);
    w->norms = mem_alloc(a, w->n * sizeof *w->norms);
    w->lists = mem_alloc(a, w->n * sizeof *w->lists);
    w->items = mem_alloc(a, w->n * w->k * sizeof *w->items);
    w->candidates = mem_alloc(a, w->n * w->room * sizeof *w->candidates);
    if (w->order == NULL || w->queries == NULL || w->norms == NULL || w->lists == NULL || w->items == NULL ||
        w->candidates == NULL) {
        return mem_fail(err, w->n * w->room * sizeof *w->candidates, "a batch of queries");
    }
    for (size_t p = 0; floats != 0 && p < TRUTH_PIECES && p * w->piece_rows < base_n; p++) {
        GREBE_TRY(tile_rows_init(a, w->dim, min_u64(w->piece_rows, base_n - p * w->piece_rows), &w->pieces[p], err));
    }
    GREBE_TRY(order_queries(w, err));
    take_queries(w);
out:
    return st;
}

static void work_release(struct truth_work *w)
{
    const grebe_allocator *a = w->ctx->a;
    const size_t floats = w->elem == VECTOR_BIT ? 0 : w->dim;

    for (size_t p = 0; p < TRUTH_PIECES; p++) {
        tile_rows_release(&w->pieces[p]);
    }
    mem_free(a, w->order, w->n * sizeof *w->order);
    mem_free_aligned(a, w->queries, w->n * floats * sizeof *w->queries, MEM_ALIGN_VECTOR);
    mem_free(a, w->norms, w->n * sizeof *w->norms);
    mem_free(a, w->lists, w->n * sizeof *w->lists);
    mem_free(a, w->items, w->n * w->k * sizeof *w->items);
    mem_free(a, w->candidates, w->n * w->room * sizeof *w->candidates);
}

/* ---- blocks of rows ---- */

/* The queries of each label against the rows of the block that have it. */
static grebe_status search_filtered(struct truth_work *w, const unsigned char *rows, uint64_t first, size_t n,
                                    const int64_t *labels, grebe_error *err)
{
    struct labelled *sorted = NULL;
    uint32_t *positions = mem_alloc(w->ctx->a, n * sizeof *positions);
    grebe_status st = GREBE_OK;
    size_t begin = 0, at = 0;

    if (positions == NULL) {
        return mem_fail(err, n * sizeof *positions, "labels");
    }
    GREBE_TRY(sort_labels(w->ctx->a, labels + first, n, &sorted, err));
    while (begin < w->n) {
        const int64_t label = w->labels[w->order[begin]];
        struct truth_group g = {.w = w, .rows = rows, .first_row = first, .query_begin = begin};

        for (g.query_end = begin; g.query_end < w->n && w->labels[w->order[g.query_end]] == label;) {
            g.query_end++;
        }
        begin = g.query_end;
        for (; at < n && sorted[at].label < label; at++) {
        }
        g.positions = positions + at;
        for (; at < n && sorted[at].label == label; at++, g.n_rows++) {
            positions[at] = sorted[at].position;
        }
        GREBE_TRY(truth_search_group(&g, err));
    }
out:
    mem_free(w->ctx->a, sorted, n * sizeof *sorted);
    mem_free(w->ctx->a, positions, n * sizeof *positions);
    return st;
}

static size_t rows_of_block(const struct truth_work *w, const struct ann_rows *base)
{
    const size_t packed = max_size(vector_row_bytes(w->elem, w->dim), 1);
    uint64_t rows = (uint64_t)TRUTH_PIECES * w->piece_rows;

    if (base->data != NULL && w->labels != NULL) {
        rows = BLOCK_ROWS_MAX; /* of each label only a part is packed */
    } else if (base->data == NULL && w->labels != NULL) {
        rows = max_size((size_t)TRUTH_PIECES * TRUTH_PIECE_BYTES / packed, 1024);
    }
    if (base->data == NULL && w->call->memory_limit_bytes / 4 / packed < rows) {
        rows = w->call->memory_limit_bytes / 4 / packed + 1;
    }
    return (size_t)min_u64(min_u64(rows, BLOCK_ROWS_MAX), base->n);
}

static grebe_status search_blocks(struct truth_work *w, const struct ann_rows *base, const int64_t *base_labels,
                                  uint64_t done, uint64_t total, grebe_error *err)
{
    const size_t bytes = vector_row_bytes(w->elem, w->dim), block = rows_of_block(w, base);
    unsigned char *buffer = NULL;
    grebe_status st = GREBE_OK;

    if (base->data == NULL) {
        buffer = mem_alloc_aligned(w->ctx->a, block * bytes, MEM_ALIGN_VECTOR);
        if (buffer == NULL) {
            return mem_fail(err, block * bytes, "a block of rows");
        }
    }
    for (uint64_t at = 0; at < base->n; at += block) {
        const size_t n = (size_t)min_u64(block, base->n - at);
        const unsigned char *rows = buffer;

        GREBE_TRY(call_check(w->call, err));
        if (base->data != NULL) {
            rows = (const unsigned char *)base->data + (size_t)at * bytes;
        } else {
            GREBE_TRY(base->read(base->arg, at, n, buffer, err));
        }
        if (w->labels != NULL) {
            GREBE_TRY(search_filtered(w, rows, at, n, base_labels, err));
        } else {
            struct truth_group g = {.w = w, .rows = rows, .first_row = at, .n_rows = n, .query_end = w->n};

            GREBE_TRY(truth_search_group(&g, err));
        }
        truth_progress(w->call, done + at + n, total);
    }
out:
    mem_free_aligned(w->ctx->a, buffer, block * bytes, MEM_ALIGN_VECTOR);
    return st;
}

static grebe_status search_batch(struct truth_work *w, const struct ann_rows *base,
                                 const struct ann_truth_options *options, uint64_t done, uint64_t total, int64_t *ids,
                                 float *distances, grebe_error *err)
{
    const double shift = w->elem == VECTOR_I8 && w->metric == VECTOR_IP && options->is_int8_negated_ip ? -1 : 0;
    grebe_status st = GREBE_OK;

    GREBE_TRY(work_init(w, base->n, err));
    GREBE_TRY(search_blocks(w, base, options->base_labels, done, total, err));
    for (size_t i = 0; i < w->n; i++) {
        truth_list_write(&w->lists[i], shift, ids + w->order[i] * w->k, distances + w->order[i] * w->k);
    }
out:
    work_release(w);
    return st;
}

static grebe_status check_call(enum vector_metric metric, const struct ann_rows *base, const struct ann_rows *queries,
                               uint64_t k, const struct ann_truth_options *options, grebe_error *err)
{
    if (k == 0 || k > base->n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "k: expected 1 to the %" PRIu64 " rows of the base, found %" PRIu64, base->n, k);
    }
    if (base->dim != queries->dim || base->elem != queries->elem || base->dim == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "queries of %u %s: expected %u %s as the base has", queries->dim,
                          vector_elem_name(queries->elem), base->dim, vector_elem_name(base->elem));
    }
    if (vector_distance_ops(metric, base->elem) == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "no distance \"%s\" between rows of %s", vector_metric_name(metric),
                          vector_elem_name(base->elem));
    }
    if ((options->base_labels == NULL) != (options->query_labels == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "labels: expected those of base and queries, found one of them");
    }
    return GREBE_OK;
}

grebe_status ann_truth_dense(grebe_context *ctx, enum vector_metric metric, const struct ann_rows *base,
                             const struct ann_rows *queries, uint64_t k, const struct ann_truth_options *options,
                             const struct call *call, int64_t *ids, float *distances, grebe_error *err)
{
    const struct ann_truth_options none = {NULL, NULL, false};
    const size_t bytes = vector_row_bytes(queries->elem, queries->dim);
    unsigned char *buffer = NULL;
    size_t each, batch = 0;
    grebe_status st = GREBE_OK;

    options = options != NULL ? options : &none;
    GREBE_TRY(check_call(metric, base, queries, k, options, err));
    each = bytes + sizeof(float) * queries->dim + (topk_capacity((size_t)k + (size_t)k / 16 + 16) + 2 * (size_t)k) * 8 + 64;
    batch = (size_t)min_u64(max_size((size_t)min_u64(BATCH_BYTES, call->memory_limit_bytes / 4) / each, 1), queries->n);
    if (queries->data == NULL) {
        buffer = mem_alloc_aligned(ctx->a, batch * bytes, MEM_ALIGN_VECTOR);
        if (buffer == NULL) {
            st = mem_fail(err, batch * bytes, "queries");
            goto out;
        }
    }
    for (uint64_t at = 0; at < queries->n; at += batch) {
        struct truth_work w = {.ctx = ctx, .call = call, .metric = metric, .elem = base->elem, .dim = base->dim,
                               .k = (size_t)k, .n = (size_t)min_u64(batch, queries->n - at), .stored = buffer};
        const uint64_t n_batches = (queries->n + batch - 1) / batch;

        w.labels = options->query_labels == NULL ? NULL : options->query_labels + at;
        if (queries->data != NULL) {
            w.stored = (const unsigned char *)queries->data + (size_t)at * bytes;
        } else {
            GREBE_TRY(queries->read(queries->arg, at, w.n, buffer, err));
        }
        GREBE_TRY(search_batch(&w, base, options, at / batch * base->n, n_batches * base->n, ids + at * k,
                               distances + at * k, err));
    }
out:
    mem_free_aligned(ctx->a, buffer, batch * bytes, MEM_ALIGN_VECTOR);
    return st;
}
