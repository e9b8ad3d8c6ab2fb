/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_SUITE_H
#define GREBE_ANN_ANN_SUITE_H

/*
 * Configurations of VSAG's eval_performance: YAML with a map "global" and a map for each case. All of it is read and
 * understood before anything is run. That library's index names and parameters stand for ours as ann_vsag.c says; both
 * of its blobs are told again in the report.
 */

#include "ann/ann_run.h"
#include "wire/yaml_tree.h"

struct ann_suite_case {
    const char *dataset;
    struct ann_job job;
    struct ann_search_spec search;
    enum ann_mode mode;
    uint64_t k, n_queries; /* 0: each once */
    double range;
    bool is_range_squared; /* the radius is of squared distances: rooted for euclidean data */
    bool deletes_index;    /* after searching */
    bool is_without_recall, is_without_percent_recall, is_without_qps, is_without_tps, is_without_memory, is_without_latency,
        is_without_percent_latency;
    uint32_t build_threads, search_threads;
    uint32_t line, column;
};

struct ann_export {
    const char *form, *sink;
};

struct ann_suite {
    grebe_context *ctx;
    struct arena ar;
    struct ann_suite_case *cases;
    size_t n_cases;
    struct ann_export *exports; /* one at least after reading: a table to standard output */
    size_t n_exports;
};

void ann_suite_init(struct ann_suite *s, grebe_context *ctx);
void ann_suite_release(struct ann_suite *s); /* idempotent */
/** @return GREBE_OK; GREBE_EINVAL, GREBE_EUNSUPPORTED or GREBE_ECORRUPT with "path:line:column". */
grebe_status ann_suite_read(struct ann_suite *s, const char *path, grebe_error *err);
/** As ann_suite_read() of a text. */
grebe_status ann_suite_parse(struct ann_suite *s, const char *name, const char *text, size_t len, grebe_error *err);
/** @param base rule, runs, is_without_warmup and call hold for every case. */
grebe_status ann_suite_run(struct ann_suite *s, const struct ann_run_options *base, struct ann_report *report,
                           grebe_error *err);

/* ---- ann_vsag.c ---- */

/**
 * An index of VSAG as one of ours.
 *
 * @param create_params JSON text; @param search_params JSON text or NULL.
 * @param out kind, parameters, and of the search its own; texts in the arena.
 * @return GREBE_OK; GREBE_EUNSUPPORTED: an index or a parameter without a counterpart, named.
 */
grebe_status ann_vsag_translate(grebe_context *ctx, struct arena *ar, const char *name, const char *create_params,
                                const char *search_params, uint64_t k, struct ann_suite_case *out, grebe_error *err);

#endif
