/* SPDX-License-Identifier: Apache-2.0 */
#include "index/ivf_kmeans.h"

#include <string.h>

#include "base/checked.h"
#include "base/rng.h"

enum { CHUNK = 96, NEAREST_ROOM = 8 };

/* ---- assignment ---- */

struct assign_work {
    const struct tile_rows *centroids;
    const float *rows;
    size_t n;
    uint32_t *lists;
};

static grebe_status assign_chunk(void *arg, size_t i, grebe_error *err)
{
    const struct assign_work *w = arg;
    const size_t begin = i * CHUNK, n = min_size(CHUNK, w->n - begin);
    struct topk_item items[CHUNK][NEAREST_ROOM];
    struct topk tops[CHUNK];

    (void)err;
    for (size_t r = 0; r < n; r++) {
        topk_init(&tops[r], 1, items[r], NEAREST_ROOM);
    }
    tile_search(w->centroids, 0, w->centroids->n, 0, w->rows + begin * w->centroids->dim, n, true, tops);
    for (size_t r = 0; r < n; r++) {
        topk_finish(&tops[r]);
        w->lists[begin + r] = tops[r].items[0].id;
    }
    return GREBE_OK;
}

grebe_status kmeans_assign(grebe_context *ctx, const struct tile_rows *centroids, const float *rows, size_t n,
                           const struct call *call, uint32_t *lists, grebe_error *err)
{
    struct assign_work w = {centroids, rows, n, lists};

    return parallel_for(ctx->pool, call->threads, (n + CHUNK - 1) / CHUNK, assign_chunk, &w, call->cancel, err);
}

void kmeans_group(const uint32_t *lists, size_t n, uint32_t n_lists, size_t *begin, uint32_t *order)
{
    memset(begin, 0, ((size_t)n_lists + 1) * sizeof *begin);
    for (size_t i = 0; i < n; i++) {
        begin[lists[i]]++;
    }
    for (size_t l = 0, at = 0; l <= n_lists; l++) {
        const size_t here = l < n_lists ? begin[l] : 0;

        begin[l] = at;
        at += here;
    }
    for (size_t i = 0; i < n; i++) { /* begin[l] runs to the end of l, which is where l + 1 begins */
        order[begin[lists[i]]++] = (uint32_t)i;
    }
    memmove(begin + 1, begin, (size_t)n_lists * sizeof *begin);
    begin[0] = 0;
}

/* ---- training ---- */

struct update_work {
    const float *rows;
    uint32_t dim;
    const size_t *begin;
    const uint32_t *order;
    float *centroids;
    double *sums; /* shape [k][dim] */
};

static grebe_status update_centroid(void *arg, size_t c, grebe_error *err)
{
    const struct update_work *w = arg;
    double *sum = w->sums + c * w->dim;
    const size_t n = w->begin[c + 1] - w->begin[c];

    (void)err;
    memset(sum, 0, w->dim * sizeof *sum);
    for (size_t i = w->begin[c]; i < w->begin[c + 1]; i++) {
        const float *row = w->rows + (size_t)w->order[i] * w->dim;

        for (uint32_t d = 0; d < w->dim; d++) {
            sum[d] += (double)row[d];
        }
    }
    for (uint32_t d = 0; n > 0 && d < w->dim; d++) {
        w->centroids[c * w->dim + d] = (float)(sum[d] / (double)n);
    }
    return GREBE_OK;
}

/* An empty centroid takes half of the largest list: both stand a little to the sides of its centre. */
static void split_largest(struct update_work *w, uint32_t k, size_t *sizes)
{
    for (uint32_t c = 0; c < k; c++) {
        sizes[c] = w->begin[c + 1] - w->begin[c];
    }
    for (uint32_t c = 0; c < k; c++) {
        uint32_t largest = 0;
        float *empty = w->centroids + (size_t)c * w->dim, *full;

        if (sizes[c] != 0) {
            continue;
        }
        for (uint32_t i = 1; i < k; i++) {
            largest = sizes[i] > sizes[largest] ? i : largest;
        }
        full = w->centroids + (size_t)largest * w->dim;
        for (uint32_t d = 0; d < w->dim; d++) {
            const float side = d % 2 == 0 ? 1 + 0x1p-10f : 1 - 0x1p-10f;

            empty[d] = full[d] * side;
            full[d] *= 2 - side;
        }
        sizes[c] = sizes[largest] / 2;
        sizes[largest] -= sizes[c];
    }
}

/* k different rows, chosen by the seed (Floyd's way would not keep an order; a partial shuffle does). */
static void choose_first(const float *rows, size_t n, uint32_t dim, const struct kmeans_options *o, uint32_t *order,
                         float *centroids)
{
    uint64_t state = o->seed;

    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < o->k; i++) {
        const size_t j = i + (size_t)(rng_next(&state) % (n - i));
        const uint32_t t = order[i];

        order[i] = order[j];
        order[j] = t;
        memcpy(centroids + i * dim, rows + (size_t)order[i] * dim, dim * sizeof *centroids);
    }
}

grebe_status kmeans_train(grebe_context *ctx, const float *rows, size_t n, uint32_t dim,
                          const struct kmeans_options *o, float *centroids, grebe_error *err)
{
    const grebe_allocator *a = ctx->a;
    const size_t sums_bytes = (size_t)o->k * dim * sizeof(double);
    const struct vector_rows view = {centroids, dim * sizeof *centroids, o->k, dim, VECTOR_F32};
    uint32_t *lists = mem_alloc(a, n * sizeof *lists), *order = mem_alloc(a, n * sizeof *order);
    size_t *begin = mem_alloc(a, ((size_t)o->k + 1) * sizeof *begin), *sizes = mem_alloc(a, o->k * sizeof *sizes);
    double *sums = mem_alloc(a, sums_bytes);
    struct tile_rows panels = {0};
    struct update_work w = {rows, dim, begin, order, centroids, sums};
    grebe_status st = GREBE_OK;

    if (lists == NULL || order == NULL || begin == NULL || sizes == NULL || sums == NULL) {
        st = mem_fail(err, sums_bytes + 2 * n * sizeof *lists, "training of centroids");
        goto out;
    }
    GREBE_TRY(tile_rows_init(a, dim, o->k, &panels, err));
    choose_first(rows, n, dim, o, order, centroids);
    for (uint32_t i = 0; i < o->iterations; i++) {
        tile_rows_fill(&panels, &view, NULL, 0, o->k);
        GREBE_TRY(kmeans_assign(ctx, &panels, rows, n, o->call, lists, err));
        kmeans_group(lists, n, o->k, begin, order);
        GREBE_TRY(parallel_for(ctx->pool, o->call->threads, o->k, update_centroid, &w, o->call->cancel, err));
        split_largest(&w, o->k, sizes);
    }
out:
    tile_rows_release(&panels);
    mem_free(a, lists, n * sizeof *lists);
    mem_free(a, order, n * sizeof *order);
    mem_free(a, begin, ((size_t)o->k + 1) * sizeof *begin);
    mem_free(a, sizes, o->k * sizeof *sizes);
    mem_free(a, sums, sums_bytes);
    return st;
}
