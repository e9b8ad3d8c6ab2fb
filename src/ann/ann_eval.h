/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_EVAL_H
#define GREBE_ANN_ANN_EVAL_H

/* Numbers of a case from what was found and how long it took. */

#include "ann/ann_report.h"
#include "ann/ann_result.h"

struct ann_eval_options {
    uint64_t k;
    enum ann_rule rule; /* of recall_avg and its details; the means of all rules that can be computed stand beside */
    const struct call *call;
    double *per_query; /* shape [found->n], recalls by `rule`; NULL: not wanted */
};

/** What the case was measured on. */
grebe_status ann_eval_describe(struct ann_report *r, struct ann_case *c, const struct ann_dataset *d, grebe_error *err);
/**
 * Recalls. Queries without true neighbours are left out of every mean.
 * @return As ann_recall() with options->rule; other rules that do not fit (no stored distances) stay unknown.
 */
grebe_status ann_eval_recall(struct ann_report *r, struct ann_case *c, const struct ann_dataset *d,
                             const struct ann_found *found, const struct ann_eval_options *options, grebe_error *err);
/** Latency from seconds of each call, which are sorted in place: average and percentiles in milliseconds. */
void ann_eval_latency(struct ann_case *c, double *seconds, uint64_t n);

/** Results of range searches: those of query i are [offsets[i], offsets[i + 1]). */
struct ann_ranges {
    uint64_t n; /* queries */
    const int64_t *offsets, *ids;
    const float *distances;
};

/**
 * Range results against the complete ones. recall_avg: mean over queries that have any of found / all; precision: of
 * all results; average_precision: area under precision over recall of the results by growing distance, at 100
 * thresholds with trapezoids, after big-ann-benchmarks (compute_AP in eval_range_search.py). Two things differ: its first
 * threshold is -0.001, ours lies 0.001 below the smallest distance, so that negative ones count; and its last leaves out
 * the results at the greatest distance, so that complete results do not reach 1 there.
 */
grebe_status ann_eval_ranges(struct ann_report *r, struct ann_case *c, const struct ann_ranges *truth,
                             const struct ann_ranges *found, grebe_error *err);

/** A result file as a case: recalls, latency of its times, what its attributes say. */
grebe_status ann_eval_result(struct ann_report *r, const struct ann_dataset *d, const char *name,
                             const struct ann_result *result, const struct ann_eval_options *options, grebe_error *err);

#endif
