/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_recall.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[ANN_N_RULES] = { "ties", "vsag", "id", "annb", "annb_eps_0.01", "annb_eps_0.1", "bigann" };

const char *ann_rule_name(enum ann_rule rule)
{
    return (unsigned)rule < ANN_N_RULES ? names[rule] : NULL;
}

grebe_status ann_rule_parse(const char *name, enum ann_rule *out, grebe_error *err)
{
    for (int i = 0; i < ANN_N_RULES; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum ann_rule)i;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL,
                      "recall: expected ties, vsag, id, annb, annb_eps_0.01, annb_eps_0.1 or bigann, found \"%s\"", name);
}

double ann_percentile(const double *sorted, uint64_t n, double p)
{
    return n == 0 ? NAN : sorted[(uint64_t)floor(p * (double)(n - 1))];
}

/* One query's truth and result, and room for k values and ids. */
struct query {
    const struct ann_dataset *d;
    uint64_t q, k, n_truth; /* n_truth: true neighbours among the first k */
    const int64_t *truth;
    const float *truth_distances;
    const int64_t *ids; /* shape [n_ids], n_ids <= k */
    const float *distances;
    uint64_t n_ids;
    double *values;
    int64_t *seen;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return isnan(x) ? !isnan(y) : isnan(y) ? -1 : x < y ? -1 : x > y;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_row(const struct query *u, int64_t id)
{
    return id >= 0 && (uint64_t)id < u->d->train.n;
}

/* The ids once each, ascending, those that are no row left out, in u->seen. */
static uint64_t distinct(const struct query *u)
{
    uint64_t n = 0, m = 0;
    for (uint64_t i = 0; i < u->n_ids; i++) {
        if (is_row(u, u->ids[i])) {
            u->seen[n++] = u->ids[i];
        }
    }
    qsort(u->seen, n, sizeof *u->seen, by_id);
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || u->seen[i] != u->seen[i - 1]) {
            u->seen[m++] = u->seen[i];
        }
    }
    return m;
}

/* The k-th true distance, computed again. */
static double limit_of(const struct query *u)
{
    for (uint64_t i = 0; i < u->n_truth; i++) {
        u->values[i] = is_row(u, u->truth[i]) ? ann_distance(u->d, u->q, (uint64_t)u->truth[i]) : INFINITY;
    }
    qsort(u->values, u->n_truth, sizeof *u->values, by_value);
    return u->values[u->n_truth - 1];
}

static uint64_t hits_ties(const struct query *u)
{
    double t = limit_of(u), slack = 1e-6 * (fabs(t) > 1 ? fabs(t) : 1);
    uint64_t n = distinct(u), hits = 0;
    for (uint64_t i = 0; i < n; i++) {
        hits += ann_distance(u->d, u->q, (uint64_t)u->seen[i]) <= t + slack;
    }
    return hits;
}

static uint64_t hits_vsag(const struct query *u)
{
    double t = limit_of(u);
    uint64_t hits = 0;
    for (uint64_t i = 0; i < u->n_ids; i++) {
        hits += is_row(u, u->ids[i]) && ann_distance(u->d, u->q, (uint64_t)u->ids[i]) <= t + 2e-6;
    }
    return hits;
}

/* Distinct ids that are among the first n true ones. */
static uint64_t hits_among(const struct query *u, uint64_t n)
{
    uint64_t m = distinct(u), hits = 0;
    for (uint64_t i = 0; i < n; i++) {
        hits += bsearch(&u->truth[i], u->seen, m, sizeof *u->seen, by_id) != NULL;
    }
    return hits;
}

static uint64_t hits_stated(const struct query *u, double factor, double slack)
{
    double t = (double)u->truth_distances[u->n_truth - 1] * factor + slack;
    uint64_t hits = 0;
    for (uint64_t i = 0; i < u->n_ids; i++) {
        double x = INFINITY;
        if (u->distances != NULL) {
            x = (double)u->distances[i];
        } else if (is_row(u, u->ids[i])) {
            x = ann_distance(u->d, u->q, (uint64_t)u->ids[i]);
        }
        hits += x <= t;
    }
    return hits;
}

static uint64_t hits_bigann(const struct query *u)
{
    uint64_t end = u->n_truth;
    double t = (double)u->truth_distances[end - 1];
    while (end < u->d->k && u->truth[end] >= 0 && fabs((double)u->truth_distances[end] - t) < 1e-6) {
        end++;
    }
    uint64_t hits = hits_among(u, end);
    return hits < u->n_truth ? hits : u->n_truth;
}

static double recall_of(const struct query *u, enum ann_rule rule)
{
    uint64_t hits = 0;
    if (u->n_truth == 0) {
        return NAN;
    }
    switch (rule) {
    case ANN_RULE_TIES: hits = hits_ties(u); break;
    case ANN_RULE_VSAG: hits = hits_vsag(u); break;
    case ANN_RULE_ID: hits = hits_among(u, u->n_truth); break;
    case ANN_RULE_ANNB: hits = hits_stated(u, 1, 1e-3); break;
    case ANN_RULE_EPS001: hits = hits_stated(u, 1.01, 0); break;
    case ANN_RULE_EPS01: hits = hits_stated(u, 1.1, 0); break;
    case ANN_RULE_BIGANN: hits = hits_bigann(u); break;
    case ANN_N_RULES: break;
    }
    return (double)(hits < u->n_truth ? hits : u->n_truth) / (double)u->n_truth;
}

static uint64_t count_truth(const int64_t *truth, uint64_t k)
{
    uint64_t n = 0;
    while (n < k && truth[n] >= 0) {
        n++;
    }
    return n;
}

grebe_status ann_recall(const struct ann_dataset *d, enum ann_rule rule, uint64_t k, const struct ann_found *found,
                        const struct call *call, double *per_query, grebe_error *err)
{
    bool is_stated = rule == ANN_RULE_ANNB || rule == ANN_RULE_EPS001 || rule == ANN_RULE_EPS01 || rule == ANN_RULE_BIGANN;
    grebe_status st = GREBE_OK;
    if (k == 0 || k > d->k) {
        return GREBE_FAIL(err, GREBE_EINVAL, "recall at k: expected 1 to %" PRIu64 ", the columns of the truth, found %" PRIu64,
                          d->k, k);
    }
    if (found->n > d->test.n || (is_stated && d->distances == NULL)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "results: expected at most %" PRIu64 " queries and stored distances for this rule, found %" PRIu64
                          " queries", d->test.n, found->n);
    }
    bool is_computed = rule == ANN_RULE_TIES || rule == ANN_RULE_VSAG ||
                       (is_stated && rule != ANN_RULE_BIGANN && found->distances == NULL);
    if (is_computed && d->train.dense == NULL && (d->layout == ANN_DENSE || d->layout == ANN_MULTI)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "results: this rule computes distances: expected vectors in memory, found a data set "
                          "that was read without them or by rows");
    }
    double *values = mem_alloc(d->ctx->a, k * sizeof *values);
    int64_t *seen = mem_alloc(d->ctx->a, k * sizeof *seen);
    if (values == NULL || seen == NULL) {
        st = mem_fail(err, k * sizeof *values, "recall");
    }
    for (uint64_t q = 0; st == GREBE_OK && q < found->n; q++) {
        const int64_t *truth = d->neighbors + q * d->k;
        struct query u = { .d = d, .q = q, .k = k, .n_truth = count_truth(truth, k), .truth = truth,
                           .truth_distances = d->distances != NULL ? d->distances + q * d->k : NULL,
                           .ids = found->ids + q * found->width, .values = values, .seen = seen,
                           .distances = found->distances != NULL ? found->distances + q * found->width : NULL,
                           .n_ids = found->width < k ? found->width : k };
        per_query[q] = recall_of(&u, rule);
        st = q % 256 == 0 && call != NULL ? call_check(call, err) : GREBE_OK;
    }
    mem_free(d->ctx->a, values, k * sizeof *values);
    mem_free(d->ctx->a, seen, k * sizeof *seen);
    return st;
}
