/* SPDX-License-Identifier: Apache-2.0 */
/* What searches of one index share: filters by label, and the true results of the mode. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ann/ann_run.h"
#include "ann/ann_truth.h"
#include "base/checked.h"

grebe_status ann_side_vectors(const struct ann_dataset *d, const struct ann_vectors *side, uint64_t begin, uint64_t n,
                              grebe_vectors *out, grebe_error *err)
{
    *out = (grebe_vectors)GREBE_VECTORS_INIT;
    out->rows = n;
    out->dim = side->dim;
    if (d->layout == ANN_DENSE && side->dense == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected vectors in memory, found a data set that was read without them or by rows");
    }
    if (d->layout == ANN_DENSE) {
        out->elem = (grebe_elem)side->elem;
        out->data = (const unsigned char *)side->dense + begin * vector_row_bytes(side->elem, side->dim);
        return GREBE_OK;
    }
    if (d->layout == ANN_SPARSE) {
        out->offsets = side->offsets + begin;
        out->terms = side->terms;
        out->values = side->values;
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: there is no index of %s", d->path,
                      d->layout == ANN_SETS ? "sets" : "documents of several vectors");
}

/* ---- filters ---- */

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t filter_words(const struct ann_dataset *d)
{
    return (size_t)(d->train.n + 63) / 64;
}

/* The rows with each label that a query has. */
static grebe_status make_filters(struct ann_searcher *s, grebe_error *err)
{
    const struct ann_dataset *d = s->d;
    const grebe_allocator *a = d->ctx->a;
    if (d->train.labels == NULL || d->test.labels == NULL) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "%s: filtered searches need train_labels and test_labels", d->path);
    }
    s->labels = mem_alloc(a, (size_t)s->n_distinct * sizeof *s->labels);
    if (s->labels == NULL) {
        return mem_fail(err, (size_t)s->n_distinct * sizeof *s->labels, "labels");
    }
    memcpy(s->labels, d->test.labels, (size_t)s->n_distinct * sizeof *s->labels);
    qsort(s->labels, (size_t)s->n_distinct, sizeof *s->labels, by_id);
    for (uint64_t i = 0; i < s->n_distinct; i++) {
        if (s->n_labels == 0 || s->labels[i] != s->labels[s->n_labels - 1]) {
            s->labels[s->n_labels++] = s->labels[i];
        }
    }
    s->allow = mem_alloc_zero(a, s->n_labels * sizeof *s->allow);
    if (s->allow == NULL) {
        return mem_fail(err, s->n_labels * sizeof *s->allow, "filters");
    }
    for (size_t i = 0; i < s->n_labels; i++) {
        s->allow[i] = mem_alloc_zero(a, filter_words(d) * sizeof **s->allow);
        if (s->allow[i] == NULL) {
            return mem_fail(err, filter_words(d) * sizeof **s->allow, "filters");
        }
    }
    for (uint64_t r = 0; r < d->train.n; r++) {
        const int64_t *at = bsearch(&d->train.labels[r], s->labels, s->n_labels, sizeof *s->labels, by_id);
        if (at != NULL) {
            s->allow[at - s->labels][r / 64] |= (uint64_t)1 << r % 64;
        }
    }
    return GREBE_OK;
}

void ann_searcher_filter(const struct ann_searcher *s, uint64_t q, grebe_ann_index_search_options *o)
{
    if (s->allow != NULL) {
        const int64_t *at = bsearch(&s->d->test.labels[q], s->labels, s->n_labels, sizeof *s->labels, by_id);
        o->allow = at == NULL ? NULL : s->allow[at - s->labels];
        o->allow_bits = s->d->train.n;
    }
}

/* ---- truth ---- */

/* Whether every true neighbour has its query's label. */
static bool is_truth_filtered(const struct ann_dataset *d)
{
    if (d->train.labels == NULL || d->test.labels == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < d->test.n * d->k; i++) {
        int64_t id = d->neighbors[i];
        if (id >= 0 && (uint64_t)id < d->train.n && d->train.labels[id] != d->test.labels[i / d->k]) {
            return false;
        }
    }
    return true;
}

/* The stored truth serves one kind of search, filtered or not; for the other it is computed. */
static grebe_status prepare_truth(struct ann_searcher *s, grebe_error *err)
{
    struct ann_dataset *d = s->d;
    s->truth = *d;
    if (s->o->k == 0 || s->o->k > d->k) {
        return GREBE_FAIL(err, GREBE_EINVAL, "k: expected 1 to %" PRIu64 ", the columns of the truth, found %" PRIu64, d->k,
                          s->o->k);
    }
    bool has_labels = d->train.labels != NULL && d->test.labels != NULL;
    if (!has_labels || is_truth_filtered(d) == ann_run_is_filtered(s->o)) {
        return GREBE_OK;
    }
    grebe_status st = ann_truth_fill(&s->truth, s->o->k, ann_run_is_filtered(s->o), s->o->call, err);
    d->blocks = s->truth.blocks; /* freed with the data set */
    return st;
}

/* Everything within the radius, by an index that compares every row. */
static grebe_status prepare_ranges(struct ann_searcher *s, grebe_error *err)
{
    struct ann_dataset *d = s->d;
    const grebe_allocator *a = d->ctx->a;
    grebe_ann_index *exact = NULL;
    grebe_metric metric = GREBE_METRIC_L2;
    grebe_vectors v = GREBE_VECTORS_INIT;
    grebe_status st = GREBE_OK;
    s->range_offsets = mem_alloc_zero(a, (size_t)(s->n_distinct + 1) * sizeof *s->range_offsets);
    if (s->range_offsets == NULL) {
        return mem_fail(err, (size_t)s->n_distinct * sizeof *s->range_offsets, "range truth");
    }
    GREBE_TRY(grebe_metric_parse(d->distance, &metric, err));
    GREBE_TRY(ann_side_vectors(d, &d->train, 0, d->train.n, &v, err));
    grebe_ann_index_kind kind = d->layout == ANN_SPARSE ? GREBE_ANN_INDEX_SPARSE : GREBE_ANN_INDEX_FLAT;
    GREBE_TRY(grebe_ann_index_new(d->ctx, kind, metric, v.elem, NULL, 0, 0, &exact, err));
    GREBE_TRY(grebe_ann_index_add(exact, &v, NULL, NULL, err));
    for (uint64_t q = 0; q < s->n_distinct; q++) {
        grebe_ann_index_search_options o = GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT;
        grebe_ann_index_range found = { 0 };
        ann_searcher_filter(s, q, &o);
        GREBE_TRY(ann_side_vectors(d, &d->test, q, 1, &v, err));
        GREBE_TRY(grebe_ann_index_range_search(exact, &v, (float)s->o->range, &o, &found, err));
        st = buf_put(&s->range_ids, found.ids, (size_t)found.offsets[1] * sizeof *found.ids, err);
        s->range_offsets[q + 1] = s->range_offsets[q] + found.offsets[1];
        grebe_ann_index_range_free(&found);
        GREBE_TRY(st);
        GREBE_TRY(call_check(s->o->call, err));
    }
out:
    grebe_ann_index_close(exact);
    return st;
}

grebe_status ann_searcher_open(struct ann_searcher *s, struct ann_dataset *d, const struct ann_run_options *o,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    s->d = d;
    s->o = o;
    s->range_ids = BUF_INIT(d->ctx->a);
    s->n = o->n_queries == 0 ? d->test.n : o->n_queries;
    s->n_distinct = s->n < d->test.n ? s->n : d->test.n;
    if (ann_run_is_filtered(o)) {
        GREBE_TRY(make_filters(s, err));
    }
    if (ann_run_is_ranged(o)) {
        GREBE_TRY(!isfinite(o->range) ? GREBE_FAIL(err, GREBE_EINVAL, "range: expected a radius") : GREBE_OK);
        GREBE_TRY(prepare_ranges(s, err));
    } else {
        GREBE_TRY(prepare_truth(s, err));
    }
out:
    return st;
}

void ann_searcher_close(struct ann_searcher *s)
{
    if (s->d == NULL) {
        return;
    }
    const grebe_allocator *a = s->d->ctx->a;
    for (size_t i = 0; s->allow != NULL && i < s->n_labels; i++) {
        mem_free(a, s->allow[i], s->allow[i] == NULL ? 0 : filter_words(s->d) * sizeof **s->allow);
    }
    mem_free(a, s->allow, s->allow == NULL ? 0 : s->n_labels * sizeof *s->allow);
    mem_free(a, s->labels, s->labels == NULL ? 0 : (size_t)s->n_distinct * sizeof *s->labels);
    mem_free(a, s->range_offsets, s->range_offsets == NULL ? 0 : (size_t)(s->n_distinct + 1) * sizeof *s->range_offsets);
    buf_release(&s->range_ids);
    *s = (struct ann_searcher){ 0 };
}
