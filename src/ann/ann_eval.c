/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

grebe_status ann_eval_describe(struct ann_report *r, struct ann_case *c, const struct ann_dataset *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *element = d->layout == ANN_DENSE    ? vector_elem_name(d->train.elem)
                          : d->layout == ANN_SPARSE ? "sparse"
                          : d->layout == ANN_MULTI  ? "multi_vector"
                                                    : "set";
    c->number[ANN_DIM] = d->train.dim;
    c->number[ANN_BASE_COUNT] = (double)d->train.n;
    c->number[ANN_QUERY_COUNT] = (double)d->test.n;
    c->number[ANN_TRUTH_K] = (double)d->k;
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_PATH, d->path, err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_ELEMENT, element, err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_METRIC, d->distance, err));
out:
    return st;
}

/* ---- recall ---- */

/* The numbers that are none left out, to the front. */
static uint64_t drop_nan(double *v, uint64_t n)
{
    uint64_t m = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!isnan(v[i])) {
            v[m++] = v[i];
        }
    }
    return m;
}

static double mean_of(const double *v, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += v[i];
    }
    return n == 0 ? NAN : sum / (double)n;
}

/* `recalls` is sorted in place. */
static void set_recalls(struct ann_case *c, double *recalls, uint64_t n)
{
    static const struct { enum ann_number which; double p; } details[] = {
        { ANN_R0, 0 }, { ANN_R10, 0.1 }, { ANN_R30, 0.3 }, { ANN_R50, 0.5 }, { ANN_R70, 0.7 }, { ANN_R90, 0.9 },
    };
    double mean = mean_of(recalls, n), sum = 0;
    qsort(recalls, n, sizeof *recalls, by_value);
    for (uint64_t i = 0; i < n; i++) {
        sum += (recalls[i] - mean) * (recalls[i] - mean);
    }
    c->number[ANN_RECALL_AVG] = mean;
    c->number[ANN_RECALL_STD] = n == 0 ? NAN : sqrt(sum / (double)n);
    c->number[ANN_RECALL_QUERIES] = (double)n;
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        c->number[details[i].which] = ann_percentile(recalls, n, details[i].p);
    }
}

grebe_status ann_eval_recall(struct ann_report *r, struct ann_case *c, const struct ann_dataset *d,
                             const struct ann_found *found, const struct ann_eval_options *options, grebe_error *err)
{
    const grebe_allocator *a = r->ctx->a;
    size_t bytes = (size_t)found->n * sizeof(double);
    double *values = mem_alloc(a, bytes);
    grebe_status st = values == NULL ? mem_fail(err, bytes, "recalls") : GREBE_OK;
    if (st != GREBE_OK) {
        goto out;
    }
    c->number[ANN_TOPK] = (double)options->k;
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_RULE, ann_rule_name(options->rule), err));
    GREBE_TRY(ann_recall(d, options->rule, options->k, found, options->call, values, err));
    if (options->per_query != NULL) {
        memcpy(options->per_query, values, bytes);
    }
    set_recalls(c, values, drop_nan(values, found->n));
    c->number[ANN_RECALL_BY_RULE + options->rule] = c->number[ANN_RECALL_AVG];
    for (int rule = 0; rule < ANN_N_RULES; rule++) {
        bool is_stated = rule == ANN_RULE_ANNB || rule == ANN_RULE_EPS001 || rule == ANN_RULE_EPS01 || rule == ANN_RULE_BIGANN;
        if (rule == (int)options->rule || (is_stated && d->distances == NULL)) {
            continue;
        }
        GREBE_TRY(ann_recall(d, (enum ann_rule)rule, options->k, found, options->call, values, err));
        c->number[ANN_RECALL_BY_RULE + rule] = mean_of(values, drop_nan(values, found->n));
    }
out:
    mem_free(a, values, bytes);
    return st;
}

/* ---- time ---- */

void ann_eval_latency(struct ann_case *c, double *seconds, uint64_t n)
{
    static const struct { enum ann_number which; double p; } details[] = {
        { ANN_P50, 0.5 }, { ANN_P80, 0.8 }, { ANN_P90, 0.9 }, { ANN_P95, 0.95 }, { ANN_P99, 0.99 },
    };
    n = drop_nan(seconds, n);
    qsort(seconds, n, sizeof *seconds, by_value);
    c->number[ANN_LATENCY_AVG] = mean_of(seconds, n) * 1e3;
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        c->number[details[i].which] = ann_percentile(seconds, n, details[i].p) * 1e3;
    }
}

/* ---- ranges ---- */

/* How many of the ids, each once, are in the sorted truth. */
static uint64_t count_true(const int64_t *truth, uint64_t n_truth, const int64_t *sorted, uint64_t n)
{
    uint64_t hits = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool is_again = i > 0 && sorted[i] == sorted[i - 1];
        hits += !is_again && bsearch(&sorted[i], truth, n_truth, sizeof *truth, by_id) != NULL;
    }
    return hits;
}

/* The results of all queries below thresholds of distance: how many, and how many of them are true. */
enum { THRESHOLDS = 100 };
struct curve {
    double first, step;
    uint64_t n[THRESHOLDS], n_true[THRESHOLDS]; /* those that come with this threshold; summed up at the end */
};

static void add_to_curve(struct curve *curve, double distance, bool is_true)
{
    double at = curve->step > 0 ? floor((distance - curve->first) / curve->step) : 0;
    for (size_t i = at < 0 ? 0 : at >= THRESHOLDS ? THRESHOLDS - 1 : (size_t)at; i < THRESHOLDS; i++) {
        if (distance < curve->first + (double)i * curve->step || i + 1 == THRESHOLDS) {
            curve->n[i]++;
            curve->n_true[i] += is_true;
            return;
        }
    }
}

static double area_under(const struct curve *curve, uint64_t n_truth)
{
    double area = 0, recall = 0, precision = 1;
    uint64_t n = 0, n_true = 0;
    for (size_t i = 0; i < THRESHOLDS; i++) {
        n += curve->n[i];
        n_true += curve->n_true[i];
        double r = n_truth > 0 ? (double)n_true / (double)n_truth : n == 0 ? 1 : 0;
        double p = n > 0 ? (double)n_true / (double)n : 1;
        if (i > 0) {
            area += (r - recall) * (p + precision) / 2;
        }
        recall = r;
        precision = p;
    }
    return area;
}

static void curve_scale(struct curve *curve, const struct ann_ranges *found)
{
    double least = 0, most = -INFINITY;
    for (int64_t i = 0; i < found->offsets[found->n]; i++) {
        double x = (double)found->distances[i];
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    curve->first = least - 1e-3;
    curve->step = (most - curve->first) / (THRESHOLDS - 1);
}

/* Sorted copies of one query's ids; the longest has `most`. */
struct range_work {
    int64_t *truth, *found;
    double *recalls;
    uint64_t most;
};

static uint64_t longest(const struct ann_ranges *x)
{
    uint64_t most = 1;
    for (uint64_t i = 0; i < x->n; i++) {
        uint64_t n = (uint64_t)(x->offsets[i + 1] - x->offsets[i]);
        most = n > most ? n : most;
    }
    return most;
}

static void copy_ids(int64_t *dst, const struct ann_ranges *x, uint64_t q, uint64_t n)
{
    if (n > 0) { /* else there may be no ids at all */
        memcpy(dst, x->ids + x->offsets[q], n * sizeof *dst);
    }
}

static void set_ranges(struct ann_case *c, const struct ann_ranges *truth, const struct ann_ranges *found,
                       struct range_work *w, struct curve *curve)
{
    uint64_t all_true = 0;
    for (uint64_t q = 0; q < found->n; q++) {
        uint64_t n_truth = (uint64_t)(truth->offsets[q + 1] - truth->offsets[q]);
        uint64_t n = (uint64_t)(found->offsets[q + 1] - found->offsets[q]);
        copy_ids(w->truth, truth, q, n_truth);
        copy_ids(w->found, found, q, n);
        qsort(w->truth, n_truth, sizeof *w->truth, by_id);
        qsort(w->found, n, sizeof *w->found, by_id);
        uint64_t hits = count_true(w->truth, n_truth, w->found, n);
        w->recalls[q] = n_truth == 0 ? NAN : (double)hits / (double)n_truth;
        all_true += hits;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = (uint64_t)found->offsets[q] + i;
            bool is_true = bsearch(&found->ids[at], w->truth, n_truth, sizeof *w->truth, by_id) != NULL;
            add_to_curve(curve, (double)found->distances[at], is_true);
        }
    }
    uint64_t n_truth = (uint64_t)truth->offsets[found->n], n = (uint64_t)found->offsets[found->n];
    set_recalls(c, w->recalls, drop_nan(w->recalls, found->n));
    c->number[ANN_PRECISION] = n == 0 ? 1 : (double)all_true / (double)n;
    c->number[ANN_AVERAGE_PRECISION] = n == 0 ? (n_truth == 0 ? 1 : 0) : area_under(curve, n_truth);
    c->number[ANN_RESULTS] = (double)n;
}

grebe_status ann_eval_ranges(struct ann_report *r, struct ann_case *c, const struct ann_ranges *truth,
                             const struct ann_ranges *found, grebe_error *err)
{
    const grebe_allocator *a = r->ctx->a;
    struct curve curve = { 0 };
    uint64_t most = longest(found) > longest(truth) ? longest(found) : longest(truth);
    struct range_work w = { mem_alloc(a, most * sizeof *w.truth), mem_alloc(a, most * sizeof *w.found),
                            mem_alloc(a, (size_t)found->n * sizeof *w.recalls), most };
    grebe_status st = w.truth == NULL || w.found == NULL || w.recalls == NULL
                          ? mem_fail(err, most * sizeof *w.truth, "range results")
                          : ann_report_text(r, c, ANN_TEXT_RULE, "bigann-range", err);
    if (st == GREBE_OK) {
        curve_scale(&curve, found);
        set_ranges(c, truth, found, &w, &curve);
    }
    mem_free(a, w.truth, most * sizeof *w.truth);
    mem_free(a, w.found, most * sizeof *w.found);
    mem_free(a, w.recalls, (size_t)found->n * sizeof *w.recalls);
    return st;
}

/* ---- result files ---- */

static grebe_status set_times(struct ann_report *r, struct ann_case *c, const struct ann_result *result, grebe_error *err)
{
    size_t bytes = (size_t)result->n * sizeof(double);
    double sum = 0;
    double *times = mem_alloc(r->ctx->a, bytes);
    if (times == NULL) {
        return mem_fail(err, bytes, "times");
    }
    memcpy(times, result->times, bytes);
    for (uint64_t i = 0; i < result->n; i++) {
        sum += times[i];
    }
    ann_eval_latency(c, times, result->n);
    mem_free(r->ctx->a, times, bytes);
    c->number[ANN_SAMPLES] = c->number[ANN_SUCCESSES] = (double)result->n;
    c->number[ANN_SEARCH_SECONDS] = sum;
    c->number[ANN_QPS] = sum > 0 ? (double)result->n / sum : NAN;
    grebe_status st = ann_report_text(r, c, ANN_TEXT_HOW_LATENCY, "times of the result file", err);
    return st == GREBE_OK ? ann_report_text(r, c, ANN_TEXT_HOW_QPS, "queries by the sum of the times", err) : st;
}

grebe_status ann_eval_result(struct ann_report *r, const struct ann_dataset *d, const char *name,
                             const struct ann_result *result, const struct ann_eval_options *options, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ann_case *c = NULL;
    struct ann_found found = ann_result_found(result);
    size_t before = r->n;
    GREBE_TRY(ann_report_add(r, &c, err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_NAME, name, err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_ACTION, "eval", err));
    GREBE_TRY(ann_report_text(r, c, ANN_TEXT_SEARCH_MODE, "knn", err));
    GREBE_TRY(ann_eval_describe(r, c, d, err));
    if (result->algo[0] != '\0') {
        GREBE_TRY(ann_report_text(r, c, ANN_TEXT_INDEX, result->algo, err));
        GREBE_TRY(ann_report_text(r, c, ANN_TEXT_SERIES, result->algo, err));
    }
    if (result->name[0] != '\0') {
        GREBE_TRY(ann_report_text(r, c, ANN_TEXT_SEARCH_PARAM, result->name, err));
    }
    c->number[ANN_BUILD_SECONDS] = result->build_seconds;
    c->number[ANN_TPS] = result->build_seconds > 0 ? (double)d->train.n / result->build_seconds : NAN;
    c->number[ANN_INDEX_BYTES] = result->index_kb * 1024;
    GREBE_TRY(ann_eval_recall(r, c, d, &found, options, err));
    if (result->times != NULL) {
        GREBE_TRY(set_times(r, c, result, err));
    }
    if (result->best_search_seconds > 0) { /* the best run's, of which the times may be another's */
        c->number[ANN_QPS] = 1 / result->best_search_seconds;
        GREBE_TRY(ann_report_text(r, c, ANN_TEXT_HOW_QPS, "1 / best_search_time of the result file", err));
    }
out:
    if (st != GREBE_OK) {
        r->n = before;
    }
    return st;
}
