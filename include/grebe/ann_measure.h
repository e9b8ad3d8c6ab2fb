/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_MEASURE_H
#define GREBE_ANN_MEASURE_H

/*
 * Measurement: recall of results under the rules that are in use, indexes run over data sets, and
 * reports of what came of it (docs/guide/ann.md, docs/json/ann.md).
 */

#include "grebe/ann.h"
#include "grebe/print.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reports ---- */

/** Measured cases, in the order they were added. One thread at a time. */
typedef struct grebe_ann_report grebe_ann_report;

/**
 * An empty report.
 *
 * @param ctx Borrowed; must outlive the report.
 * @param out Owned, grebe_ann_report_free().
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_report_new(grebe_context *ctx, grebe_ann_report **out, grebe_error *err);
/** @param report NULL is accepted. */
GREBE_API void grebe_ann_report_free(grebe_ann_report *report);
/**
 * Add the cases of a JSON file that grebe_ann_report_print() or VSAG's eval_performance wrote.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT (a place in the text); GREBE_ELIMIT; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_report_load(grebe_ann_report *report, const char *path, grebe_error *err);
/** @return Cases. */
GREBE_API uint64_t grebe_ann_report_count(const grebe_ann_report *report);
/** @return The name of a case, borrowed from the report; NULL beyond the last. */
GREBE_API const char *grebe_ann_report_name(const grebe_ann_report *report, uint64_t i);
/**
 * A number of a case by its key in JSON ("qps", "recall_avg", "latency_detail(ms).p99").
 * @return NaN: not measured, or there is no such key.
 */
GREBE_API double grebe_ann_report_number(const grebe_ann_report *report, uint64_t i, const char *key);

/**
 * Print as "table" (or "text"), "json", "line_protocol" (or "line").
 *
 * @param write Called on the caller's thread.
 * @return GREBE_OK; GREBE_EINVAL (form); GREBE_EIO (err->sys is what write gave); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_report_print(const grebe_ann_report *report, const char *form,
                                                              grebe_write_fn write, void *write_ctx, grebe_error *err);
/**
 * Whether a form and a sink ("stdout", "file://PATH", "appendfile://PATH") are legal: before something long is run.
 * @return GREBE_OK; GREBE_EINVAL.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_sink_check(const char *form, const char *sink, grebe_error *err);
/**
 * Print to a sink; "stdout" is what `write` stands for. Missing folders are made.
 * @return As grebe_ann_report_print(); of a file GREBE_EIO or GREBE_ELIMIT (no space).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_report_send(const grebe_ann_report *report, const char *form,
                                                             const char *sink, grebe_write_fn write, void *write_ctx,
                                                             grebe_error *err);

/* ---- evaluation of results ---- */

/** What an engine found for the first queries of a data set. */
typedef struct grebe_ann_found {
    uint32_t struct_size;
    uint64_t n;             /**< queries */
    uint64_t width;         /**< columns */
    const int64_t *ids;     /**< shape [n][width]; -1 behind the last */
    const float *distances; /**< the same; NULL: computed where a rule needs them */
    const double *seconds;  /**< of each query; shape [n]; NULL: no times */
} grebe_ann_found;
#define GREBE_ANN_FOUND_INIT                         \
    {                                                \
        sizeof(grebe_ann_found), 0, 0, NULL, NULL, NULL \
    }

/** Fields beyond struct_size take their defaults. */
typedef struct grebe_ann_eval_options {
    uint32_t struct_size;
    uint64_t k;         /**< 0: 10, or the columns of the truth if they are fewer */
    const char *rule;   /**< of recall_avg: "ties" (NULL), "vsag", "id", "annb", "annb_eps_0.01", "annb_eps_0.1", "bigann" */
    const char *name;   /**< of the case; NULL: "results", or the file's name */
    double *per_query;  /**< recalls, NaN for a query without true neighbours; shape [queries]; NULL: not wanted */
    const grebe_call_options *call;
} grebe_ann_eval_options;
#define GREBE_ANN_EVAL_OPTIONS_INIT                               \
    {                                                             \
        sizeof(grebe_ann_eval_options), 0, NULL, NULL, NULL, NULL \
    }

/**
 * Add a case with the recalls of results.
 *
 * @param content With neighbors; distances may be NULL where the rule needs none.
 * @return GREBE_OK; GREBE_EINVAL (k, rule, more queries than there are); GREBE_ENOMEM; GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_evaluate(grebe_context *ctx, const grebe_ann_content *content,
                                                           const grebe_ann_found *found,
                                                           const grebe_ann_eval_options *options, grebe_ann_report *report,
                                                           grebe_error *err);
/**
 * As before, of a data set and a file of results: HDF5 of ann-benchmarks (times, neighbors, distances), npy, ivecs, ibin,
 * knn results.
 *
 * @param options per_query must be NULL; NULL: defaults. Borrowed.
 * @return As grebe_ann_evaluate(); GREBE_ENOTFOUND, GREBE_ECORRUPT, GREBE_EIO of the file.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_evaluate_file(grebe_context *ctx, grebe_ann_data *data,
                                                                const char *results_path,
                                                                const grebe_ann_eval_options *options,
                                                                grebe_ann_report *report, grebe_error *err);

/* ---- running ---- */

/** Fields beyond struct_size take their defaults. */
typedef struct grebe_ann_run_options {
    uint32_t struct_size;
    const char *const *indexes; /**< "graph degree=32 quant=sq8"; shape [n_indexes] */
    size_t n_indexes;
    const char *const *sweeps;  /**< search parameters "ef=16,32,64", or of one kind: "graph:ef=16,32"; shape [n_sweeps] */
    size_t n_sweeps;
    uint64_t k;              /**< 0: 10, or the columns of the truth if they are fewer */
    uint64_t n_queries;      /**< exactly so many, gone through again where the data set has fewer; 0: each once */
    uint32_t search_threads; /**< that share the queries; 0: 1 */
    uint32_t build_threads;  /**< 0: the context's */
    uint32_t runs;           /**< timed passes, of which the fastest counts; 0: 1 */
    const char *mode;        /**< "knn" (NULL), "range", "knn_filter", "range_filter" */
    double range;            /**< radius of the range modes, as distances of the data set are */
    const char *rule;        /**< as grebe_ann_eval_options */
    bool is_without_warmup;  /**< no untimed pass before */
    bool is_batch;           /**< all queries in one call; no latencies */
    const char *save_folder; /**< indexes are saved there; NULL: not */
    const char *results_path; /**< results of the last case as a file; NULL: not */
    const grebe_call_options *call;
} grebe_ann_run_options;
#define GREBE_ANN_RUN_OPTIONS_INIT                                                                                    \
    {                                                                                                                 \
        sizeof(grebe_ann_run_options), NULL, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, NULL, false, false, NULL, NULL, NULL \
    }

/**
 * Build each index over a data set, search, and add a case for each way to search. Cases that were finished before a
 * failure stay in the report.
 *
 * @return GREBE_OK; GREBE_EINVAL; GREBE_EUNSUPPORTED (an index that has not this metric, layout or search); …
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_run(grebe_context *ctx, grebe_ann_data *data,
                                                      const grebe_ann_run_options *options, grebe_ann_report *report,
                                                      grebe_error *err);
/**
 * Run the cases of a YAML file of VSAG's eval_performance, and export the results as it says. Indexes of that library
 * stand for ours (docs/guide/ann.md); what has no counterpart is refused by name before anything is run.
 *
 * @param options Only rule, runs, is_without_warmup and call are looked at; NULL: defaults.
 * @param write   For exports to "stdout".
 * @return GREBE_OK; GREBE_EINVAL or GREBE_EUNSUPPORTED with "file:line:column"; …
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_run_suite(grebe_context *ctx, const char *path,
                                                           const grebe_ann_run_options *options, grebe_ann_report *report,
                                                           grebe_write_fn write, void *write_ctx, grebe_error *err);

/* ---- plots ---- */

/** Fields beyond struct_size take their defaults. */
typedef struct grebe_ann_plot_options {
    uint32_t struct_size;
    const char *x, *y;     /**< keys of numbers; NULL: "recall_avg" and "qps" */
    const char *x_scale;   /**< "linear" (NULL), "log", "logit", "a3" (1 - (1-x)^(1/3), any number) */
    const char *y_scale;   /**< NULL: "log" */
    const char *title;     /**< NULL: of the data set */
    bool is_html;          /**< one page with values under the pointer; else SVG */
    bool is_all;           /**< also points that others beat */
    bool is_bars;          /**< bars of build time and size instead of curves */
} grebe_ann_plot_options;
#define GREBE_ANN_PLOT_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(grebe_ann_plot_options), NULL, NULL, NULL, NULL, NULL, false, false, false \
    }

/**
 * Draw the cases: equal reports give equal bytes.
 * @return GREBE_OK; GREBE_EINVAL (keys, scales; nothing to draw); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_report_plot(const grebe_ann_report *report,
                                                             const grebe_ann_plot_options *options, grebe_write_fn write,
                                                             void *write_ctx, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
