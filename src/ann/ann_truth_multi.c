/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth_internal.h"

#include <math.h>

#include "base/checked.h"
#include "vector/distance.h"
#include "vector/sparse_dot.h"

/*
 * Documents of several vectors. All pairs by the float32 row kernels first; a document whose sum is beyond the k-th by
 * more than twice the largest error is none of the k nearest, the others are summed again in float64.
 */

enum { VALUES = 256 };

struct multi_work {
    const struct ann_dataset *d;
    enum vector_metric metric;
    size_t k, first;
    const int64_t *base_labels, *query_labels;
    double norm_max; /* of the vectors of train */
    int64_t *ids;
    float *distances;
};

static double length_of(const float *row, uint32_t dim)
{
    double sum = 0;

    for (uint32_t i = 0; i < dim; i++) {
        sum += (double)row[i] * (double)row[i];
    }
    return sqrt(sum);
}

static const float *vectors_of(const struct ann_vectors *v, uint64_t i, size_t *n)
{
    *n = (size_t)(v->offsets[i + 1] - v->offsets[i]);
    return (const float *)v->dense + (size_t)v->offsets[i] * v->dim;
}

/* How far the sum of a query can be off; +inf: unknown. */
static double error_of(const struct multi_work *w, const float *query, size_t n)
{
    const uint32_t dim = w->d->train.dim;
    const double unit = 1.01 * (dim / 8 + 8) * 0x1p-24; /* of sums side by side */
    double error = 0;

    if (w->metric == VECTOR_COSINE) {
        return INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        const double q = length_of(query + i * dim, dim), all = q + w->norm_max;
        const double pair = w->metric == VECTOR_IP ? unit * (q * w->norm_max + 1) : unit * all * all;

        if (!(all * all < 1e37)) { /* float32 could overflow; NaN */
            return INFINITY;
        }
        error += (w->metric == VECTOR_EUCLIDEAN ? sqrt(pair) : pair) + dim * 1e-44;
    }
    return error;
}

static double rough_maxsim(const struct multi_work *w, const float *query, size_t query_n, const float *document,
                           size_t document_n)
{
    const uint32_t dim = w->d->train.dim;
    const struct vector_distance_ops *ops = vector_distance_ops(w->metric, VECTOR_F32);
    double sum = 0;

    for (size_t i = 0; i < query_n; i++) {
        float nearest = INFINITY, values[VALUES];

        for (size_t at = 0; at < document_n; at += VALUES) {
            const size_t n = min_size(VALUES, document_n - at);

            ops->many(query + i * dim, document + at * dim, dim * sizeof(float), n, dim, values);
            for (size_t j = 0; j < n; j++) {
                nearest = values[j] < nearest ? values[j] : nearest;
            }
        }
        sum += (double)vector_metric_finish(w->metric, dim, nearest);
    }
    return sum;
}

/* Whether the query may find the document. */
static bool has_label(const struct multi_work *w, size_t query, uint64_t row)
{
    return w->base_labels == NULL || w->base_labels[row] == w->query_labels[query];
}

static grebe_status search_document(void *arg, size_t i, grebe_error *err)
{
    const struct multi_work *w = arg;
    const struct ann_vectors *v = &w->d->train;
    const grebe_allocator *a = w->d->ctx->a;
    const size_t at = w->first + i, n = (size_t)v->n;
    size_t query_n, document_n;
    const float *query = vectors_of(&w->d->test, at, &query_n);
    const double error = error_of(w, query, query_n);
    struct truth_item *items = mem_alloc(a, w->k * sizeof *items);
    double *rough = mem_alloc(a, n * sizeof *rough);
    struct truth_list list = {items, 0, w->k};
    double limit = INFINITY;
    grebe_status st = GREBE_OK;

    if (items == NULL || rough == NULL) {
        st = mem_fail(err, n * sizeof *rough, "nearest documents");
        goto out;
    }
    for (uint64_t r = 0; error < INFINITY && r < n; r++) {
        const float *document = vectors_of(v, r, &document_n);

        if (has_label(w, at, r)) {
            rough[r] = rough_maxsim(w, query, query_n, document, document_n);
            truth_list_push(&list, rough[r], r);
        }
    }
    if (list.n == list.k) {
        limit = list.items[list.k - 1].distance + 2 * error;
    }
    list.n = 0;
    for (uint64_t r = 0; r < n; r++) {
        const float *document = vectors_of(v, r, &document_n);

        if (has_label(w, at, r) && (limit == INFINITY || !(rough[r] > limit))) {
            truth_list_push(&list, vector_maxsim(w->metric, query, query_n, document, document_n, v->dim), r);
        }
    }
    truth_list_write(&list, 0, w->ids + at * w->k, w->distances + at * w->k);
out:
    mem_free(a, items, w->k * sizeof *items);
    mem_free(a, rough, n * sizeof *rough);
    return st;
}

grebe_status truth_fill_multi(const struct ann_dataset *d, size_t k, const int64_t *base_labels,
                              const int64_t *query_labels, const struct call *call, int64_t *ids, float *distances,
                              grebe_error *err)
{
    struct multi_work w = {.d = d, .metric = d->metric, .k = k, .base_labels = base_labels,
                           .query_labels = query_labels, .ids = ids, .distances = distances};

    if (d->train.dim != d->test.dim) {
        return GREBE_FAIL(err, GREBE_EINVAL, "queries of %u components: expected %u as train has", d->test.dim, d->train.dim);
    }
    if (d->metric == VECTOR_EUCLIDEAN && d->is_maxsim_squared) {
        w.metric = VECTOR_L2SQ;
    }
    for (int64_t i = 0; i < d->train.offsets[d->train.n]; i++) {
        const double norm = length_of((const float *)d->train.dense + (size_t)i * d->train.dim, d->train.dim);

        w.norm_max = norm > w.norm_max || isnan(norm) ? norm : w.norm_max;
    }
    return truth_in_steps(d, call, (size_t)d->test.n, 1, search_document, &w, &w.first, err);
}
