/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ann/ann_truth_internal.h"
#include "base/checked.h"

/* ---- the nearest rows of one query ---- */

static bool is_before(double distance, uint64_t row, const struct truth_item *item)
{
    return distance < item->distance || (distance == item->distance && row < item->row);
}

void truth_list_push(struct truth_list *l, double distance, uint64_t row)
{
    size_t low = 0, high = l->n;

    distance = isnan(distance) ? INFINITY : distance;
    if (l->n == l->k && (l->k == 0 || !is_before(distance, row, &l->items[l->n - 1]))) {
        return;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (is_before(distance, row, &l->items[middle])) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    l->n += l->n < l->k;
    memmove(l->items + low + 1, l->items + low, (l->n - 1 - low) * sizeof *l->items);
    l->items[low] = (struct truth_item){distance, row};
}

void truth_list_write(const struct truth_list *l, double shift, int64_t *ids, float *distances)
{
    for (size_t i = 0; i < l->k; i++) {
        ids[i] = i < l->n ? (int64_t)l->items[i].row : -1;
        distances[i] = i < l->n ? (float)(l->items[i].distance + shift) : INFINITY;
    }
}

void truth_progress(const struct call *call, uint64_t rows_done, uint64_t rows_total)
{
    if (call->progress != NULL) {
        const grebe_progress p = {.phase = "ground truth", .rows_done = rows_done, .rows_total = rows_total};

        call->progress(call->progress_ctx, &p);
    }
}

grebe_status truth_in_steps(const struct ann_dataset *d, const struct call *call, size_t n_chunks, size_t chunk_queries,
                            pool_fn fn, void *arg, size_t *first, grebe_error *err)
{
    const size_t step = max_size(n_chunks / 20, (size_t)call->threads * 2);
    grebe_status st = GREBE_OK;

    for (*first = 0; *first < n_chunks; *first += step) {
        GREBE_TRY(parallel_for(d->ctx->pool, call->threads, min_size(step, n_chunks - *first), fn, arg, call->cancel, err));
        truth_progress(call, min_u64((*first + step) * chunk_queries, d->test.n) * d->train.n, d->test.n * d->train.n);
    }
out:
    return st;
}

/* ---- whole data sets ---- */

static grebe_status fill_dense(struct ann_dataset *d, uint64_t k, bool is_filtered, const struct call *call,
                               int64_t *ids, float *distances, grebe_error *err)
{
    const struct ann_rows base = ann_rows_of(&d->train);
    const struct ann_rows queries = ann_rows_of(&d->test);
    const struct ann_truth_options options = {.base_labels = is_filtered ? d->train.labels : NULL,
                                              .query_labels = is_filtered ? d->test.labels : NULL,
                                              .is_int8_negated_ip = d->is_int8_negated_ip};

    return ann_truth_dense(d->ctx, d->metric, &base, &queries, k, &options, call, ids, distances, err);
}

grebe_status ann_truth_fill(struct ann_dataset *d, uint64_t k, bool is_filtered, const struct call *call,
                            grebe_error *err)
{
    const int64_t *base_labels = is_filtered ? d->train.labels : NULL;
    const int64_t *query_labels = is_filtered ? d->test.labels : NULL;
    void *ids = NULL, *distances = NULL;
    grebe_status st = GREBE_OK;

    if (is_filtered && (base_labels == NULL || query_labels == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "filtered ground truth: expected labels of train and test, found none");
    }
    if (k == 0 || k > d->train.n) {
        return GREBE_FAIL(err, GREBE_EINVAL, "k: expected 1 to the %" PRIu64 " rows of train, found %" PRIu64, d->train.n, k);
    }
    if (k > UINT64_MAX / 64 / (d->test.n + 1)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "k %" PRIu64 " for %" PRIu64 " queries does not fit in memory", k, d->test.n);
    }
    GREBE_TRY(ann_array(d, d->test.n * k, sizeof(int64_t), "neighbors", &ids, err));
    GREBE_TRY(ann_array(d, d->test.n * k, sizeof(float), "distances", &distances, err));
    switch (d->layout) {
    case ANN_DENSE:
        GREBE_TRY(fill_dense(d, k, is_filtered, call, ids, distances, err));
        break;
    case ANN_SPARSE:
    case ANN_SETS:
        GREBE_TRY(truth_fill_terms(d, (size_t)k, base_labels, query_labels, call, ids, distances, err));
        break;
    case ANN_MULTI:
        GREBE_TRY(truth_fill_multi(d, (size_t)k, base_labels, query_labels, call, ids, distances, err));
        break;
    }
    d->neighbors = ids;
    d->distances = distances;
    d->k = k;
out:
    return st;
}
