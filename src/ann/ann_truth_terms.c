/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_truth_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "vector/sparse_dot.h"

/*
 * Sparse rows and sets by lists of each term's rows: a query adds its terms' lists, terms ascending, so that each sum
 * has the order, and the bits, of a merge of the two rows. Rows that have a term twice are merged one by one.
 */

enum { QUERIES_CHUNK = 4 };

struct posting {
    uint32_t term, row;
    float value;
};

struct terms_work {
    const struct ann_dataset *d;
    const grebe_allocator *a;
    size_t k;
    const int64_t *base_labels, *query_labels;
    bool is_sets, is_merged; /* merged: terms come twice */
    uint32_t *terms;         /* different ones, ascending; shape [n_terms] */
    size_t *starts;          /* of their lists, shape [n_terms + 1] */
    size_t n_terms, n_postings;
    struct posting *postings; /* by term, then row */
    int64_t *ids;
    float *distances;
};

static int by_term(const void *a, const void *b)
{
    const struct posting *x = a, *y = b;

    if (x->term != y->term) {
        return x->term < y->term ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool has_term_twice(const struct ann_vectors *v)
{
    for (uint64_t r = 0; r < v->n; r++) {
        for (int64_t i = v->offsets[r] + 1; i < v->offsets[r + 1]; i++) {
            if (v->terms[i] <= v->terms[i - 1]) {
                return true;
            }
        }
    }
    return false;
}

static grebe_status make_lists(struct terms_work *w, grebe_error *err)
{
    const struct ann_vectors *v = &w->d->train;
    const size_t n = (size_t)v->offsets[v->n];
    size_t n_terms = 0;

    w->n_postings = n;
    w->postings = mem_alloc(w->a, n * sizeof *w->postings);
    w->terms = mem_alloc(w->a, n * sizeof *w->terms);
    w->starts = mem_alloc(w->a, (n + 1) * sizeof *w->starts);
    if (w->postings == NULL || w->terms == NULL || w->starts == NULL) {
        return mem_fail(err, n * sizeof *w->postings, "lists of terms");
    }
    for (uint64_t r = 0; r < v->n; r++) {
        for (int64_t i = v->offsets[r]; i < v->offsets[r + 1]; i++) {
            w->postings[i] = (struct posting){v->terms[i], (uint32_t)r, w->is_sets ? 1.0f : v->values[i]};
        }
    }
    qsort(w->postings, n, sizeof *w->postings, by_term);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || w->postings[i].term != w->postings[i - 1].term) {
            w->terms[n_terms] = w->postings[i].term;
            w->starts[n_terms++] = i;
        }
    }
    w->starts[n_terms] = n;
    w->n_terms = n_terms;
    return GREBE_OK;
}

static size_t find_term(const struct terms_work *w, uint32_t term)
{
    size_t low = 0, high = w->n_terms;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (w->terms[middle] < term) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < w->n_terms && w->terms[low] == term ? low : SIZE_MAX;
}

static void add_lists(const struct terms_work *w, uint64_t query, double *sums)
{
    const struct ann_vectors *q = &w->d->test;

    memset(sums, 0, (size_t)w->d->train.n * sizeof *sums);
    for (int64_t i = q->offsets[query]; i < q->offsets[query + 1]; i++) {
        const size_t list = find_term(w, q->terms[i]);
        const double weight = w->is_sets ? 1 : (double)q->values[i];

        for (size_t p = list == SIZE_MAX ? 0 : w->starts[list]; list != SIZE_MAX && p < w->starts[list + 1]; p++) {
            sums[w->postings[p].row] += weight * (double)w->postings[p].value;
        }
    }
}

/* Terms in common, those that come twice paired one to one. */
static double common_terms(const uint32_t *a, size_t a_n, const uint32_t *b, size_t b_n)
{
    size_t i = 0, j = 0, n = 0;

    while (i < a_n && j < b_n) {
        if (a[i] == b[j]) {
            n++;
            i++;
            j++;
        } else if (a[i] < b[j]) {
            i++;
        } else {
            j++;
        }
    }
    return (double)n;
}

static void merge_rows(const struct terms_work *w, uint64_t query, double *sums)
{
    const struct ann_vectors *q = &w->d->test, *v = &w->d->train;
    const int64_t at = q->offsets[query];
    const size_t n = (size_t)(q->offsets[query + 1] - at);

    for (uint64_t r = 0; r < v->n; r++) {
        const int64_t row = v->offsets[r];
        const size_t row_n = (size_t)(v->offsets[r + 1] - row);
        double sum = 0;

        if (w->is_sets) {
            sums[r] = common_terms(q->terms + at, n, v->terms + row, row_n);
            continue;
        }
        for (size_t i = 0, j = 0; i < n && j < row_n;) {
            if (q->terms[at + (int64_t)i] == v->terms[row + (int64_t)j]) {
                sum += (double)q->values[at + (int64_t)i++] * (double)v->values[row + (int64_t)j++];
            } else if (q->terms[at + (int64_t)i] < v->terms[row + (int64_t)j]) {
                i++;
            } else {
                j++;
            }
        }
        sums[r] = sum;
    }
}

static double distance_of(const struct terms_work *w, uint64_t query, uint64_t row, double sum)
{
    const struct ann_vectors *q = &w->d->test, *v = &w->d->train;
    double either;

    if (!w->is_sets) {
        return 1.0 - sum;
    }
    either = (double)(q->offsets[query + 1] - q->offsets[query] + v->offsets[row + 1] - v->offsets[row]) - sum;
    return either <= 0 ? 1.0 : 1.0 - sum / either;
}

static grebe_status search_chunk(void *arg, size_t chunk, grebe_error *err)
{
    const struct terms_work *w = arg;
    const uint64_t n = w->d->train.n, end = min_u64(w->d->test.n, (chunk + 1) * QUERIES_CHUNK);
    double *sums = mem_alloc(w->a, (size_t)n * sizeof *sums);
    struct truth_item *items = mem_alloc(w->a, w->k * sizeof *items);
    grebe_status st = GREBE_OK;

    if (sums == NULL || items == NULL) {
        st = mem_fail(err, (size_t)n * sizeof *sums, "sums of rows");
        goto out;
    }
    for (uint64_t q = chunk * QUERIES_CHUNK; q < end; q++) {
        struct truth_list list = {items, 0, w->k};

        if (w->is_merged) {
            merge_rows(w, q, sums);
        } else {
            add_lists(w, q, sums);
        }
        for (uint64_t r = 0; r < n; r++) {
            if (w->base_labels == NULL || w->base_labels[r] == w->query_labels[q]) {
                truth_list_push(&list, distance_of(w, q, r, sums[r]), r);
            }
        }
        truth_list_write(&list, 0, w->ids + q * w->k, w->distances + q * w->k);
    }
out:
    mem_free(w->a, items, w->k * sizeof *items);
    mem_free(w->a, sums, (size_t)n * sizeof *sums);
    return st;
}

struct stepped {
    struct terms_work *terms;
    size_t first;
};

static grebe_status step_chunk(void *arg, size_t i, grebe_error *err)
{
    const struct stepped *s = arg;

    return search_chunk(s->terms, s->first + i, err);
}

grebe_status truth_fill_terms(const struct ann_dataset *d, size_t k, const int64_t *base_labels,
                              const int64_t *query_labels, const struct call *call, int64_t *ids, float *distances,
                              grebe_error *err)
{
    struct terms_work w = {.d = d, .a = d->ctx->a, .k = k, .base_labels = base_labels, .query_labels = query_labels,
                           .is_sets = d->layout == ANN_SETS, .ids = ids, .distances = distances};
    struct stepped s = {&w, 0};
    const size_t n_chunks = ((size_t)d->test.n + QUERIES_CHUNK - 1) / QUERIES_CHUNK;
    grebe_status st = GREBE_OK;

    if (d->train.n > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "train: expected at most %u records, found %llu", UINT32_MAX,
                          (unsigned long long)d->train.n);
    }
    w.is_merged = has_term_twice(&d->train) || has_term_twice(&d->test);
    if (!w.is_merged) {
        GREBE_TRY(make_lists(&w, err));
    }
    GREBE_TRY(truth_in_steps(d, call, n_chunks, QUERIES_CHUNK, step_chunk, &s, &s.first, err));
out:
    mem_free(w.a, w.postings, w.n_postings * sizeof *w.postings);
    mem_free(w.a, w.terms, w.n_postings * sizeof *w.terms);
    mem_free(w.a, w.starts, (w.n_postings + 1) * sizeof *w.starts);
    return st;
}
