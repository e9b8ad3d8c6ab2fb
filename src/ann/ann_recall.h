/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_RECALL_H
#define GREBE_ANN_ANN_RECALL_H

/*
 * What share of the true neighbours a result has. Several rules are in use, and they disagree on ties, duplicates and
 * tolerance: a number without its rule means nothing. All count over the k asked for, however few came back.
 */

#include "ann/ann_dataset.h"

enum ann_rule {
    ANN_RULE_TIES,    /* ours: distinct rows whose exact distance is not above the k-th by more than 1e-6 of it (at least 1e-6) */
    ANN_RULE_VSAG,    /* eval_performance: distances computed again, <= k-th + 2e-6; a row that comes twice counts twice */
    ANN_RULE_ID,      /* distinct ids that are among the first k true ones; ties are not honoured */
    ANN_RULE_ANNB,    /* ann-benchmarks "k-nn": stated distance <= k-th + 1e-3 */
    ANN_RULE_EPS001,  /* its "epsilon": stated distance <= k-th * 1.01 */
    ANN_RULE_EPS01,   /* its "largeepsilon": * 1.1 */
    ANN_RULE_BIGANN,  /* distinct ids of the truth, extended over true distances within 1e-6 of the k-th */
    ANN_N_RULES
};

/** "ties", "vsag", "id", "annb", "annb_eps_0.01", "annb_eps_0.1", "bigann". */
const char *ann_rule_name(enum ann_rule rule);
grebe_status ann_rule_parse(const char *name, enum ann_rule *out, grebe_error *err);

/** What was found: ids padded with -1. Distances as stated by the engine, or NULL: computed here where a rule needs them. */
struct ann_found {
    uint64_t n;     /* queries: the first n of the data set */
    uint64_t width; /* columns */
    const int64_t *ids;
    const float *distances;
};

/**
 * Recall of each query at k. Ids that are no row never hit. A query with fewer true neighbours than k (padded with
 * -1) is measured over those it has; without any it gives NaN, which means leave out.
 *
 * @param per_query Shape [found->n].
 * @return GREBE_OK; GREBE_EINVAL (k is 0, or above the columns of the truth: both are named); GREBE_ECANCELLED.
 * Cost: k distances for each query with rules that compute them.
 */
grebe_status ann_recall(const struct ann_dataset *d, enum ann_rule rule, uint64_t k, const struct ann_found *found,
                        const struct call *call, double *per_query, grebe_error *err);

/** Element floor(p * (n - 1)) of ascending values, p in [0, 1]; NaN when n is 0. */
double ann_percentile(const double *sorted, uint64_t n, double p);

#endif
