/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_REPORT_H
#define GREBE_ANN_ANN_REPORT_H

/*
 * Measured cases: what was run on which data, and what came of it. The keys are those of VSAG's eval_performance where
 * it has one (docs/json/ann.md), so that what reads its output reads ours. What was not measured is NaN here and
 * null outside.
 */

#include "ann/ann_recall.h"
#include "base/arena.h"
#include "wire/json.h"

/** Texts of a case; NULL: unknown. */
enum ann_text {
    ANN_TEXT_NAME, ANN_TEXT_SERIES /* what a curve joins: an index and its build parameters */, ANN_TEXT_ACTION,
    ANN_TEXT_INDEX, ANN_TEXT_INDEX_INFO /* JSON */, ANN_TEXT_SEARCH_PARAM, ANN_TEXT_SEARCH_MODE, ANN_TEXT_RULE,
    ANN_TEXT_PATH, ANN_TEXT_ELEMENT, ANN_TEXT_METRIC, ANN_TEXT_HOW_LATENCY, ANN_TEXT_HOW_QPS, ANN_N_TEXTS
};

/** Numbers of a case. */
enum ann_number {
    ANN_DIM, ANN_BASE_COUNT, ANN_QUERY_COUNT, ANN_TRUTH_K,
    ANN_TOPK, ANN_RANGE, ANN_BUILD_THREADS, ANN_SEARCH_THREADS,
    ANN_BUILD_SECONDS, ANN_BUILD_CPU_SECONDS, ANN_TPS,
    ANN_INDEX_BYTES, ANN_FILE_BYTES, ANN_VECTOR_BYTES, ANN_CODE_BYTES, ANN_LINK_BYTES, ANN_OTHER_BYTES,
    ANN_BUILD_MEMORY, ANN_SEARCH_MEMORY,
    ANN_QPS, ANN_QPS_CPU /* queries by seconds of processor */, ANN_SEARCH_CPU_SECONDS, ANN_LATENCY_AVG,
    ANN_P50, ANN_P80, ANN_P90, ANN_P95, ANN_P99,
    ANN_RECALL_AVG, ANN_RECALL_STD, ANN_RECALL_QUERIES,
    ANN_R0, ANN_R10, ANN_R30, ANN_R50, ANN_R70, ANN_R90,
    ANN_RECALL_BY_RULE, ANN_RECALL_BY_RULE_LAST = ANN_RECALL_BY_RULE + ANN_N_RULES - 1,
    ANN_PRECISION, ANN_AVERAGE_PRECISION, ANN_RESULTS,
    ANN_WARMUP_QUERIES, ANN_SAMPLES, ANN_SUCCESSES, ANN_SEARCH_SECONDS,
    ANN_N_NUMBERS
};

struct ann_case {
    const char *text[ANN_N_TEXTS];
    double number[ANN_N_NUMBERS];
};

struct ann_report {
    grebe_context *ctx;
    struct arena arena; /* of the texts */
    struct ann_case *cases;
    size_t n, capacity;
};

enum ann_form { ANN_FORM_TABLE, ANN_FORM_JSON, ANN_FORM_LINE };

void ann_report_init(struct ann_report *r, grebe_context *ctx);
void ann_report_release(struct ann_report *r); /* idempotent */
/** A case in which nothing is known. @param out Borrowed until the next one is added. */
grebe_status ann_report_add(struct ann_report *r, struct ann_case **out, grebe_error *err);
/** A text in the report's memory. */
grebe_status ann_report_text(struct ann_report *r, struct ann_case *c, enum ann_text which, const char *text,
                             grebe_error *err);
/** As before, formatted. */
grebe_status ann_report_textf(struct ann_report *r, struct ann_case *c, enum ann_text which, grebe_error *err,
                              const char *fmt, ...) GREBE_PRINTF(5, 6);
/** The number under its key in JSON, such as "qps" or "recall_detail.p0"; NULL: there is no such key. */
const double *ann_case_number(const struct ann_case *c, const char *key);
/** Names of numbers, NULL behind the last; for messages and for who lists them. */
const char *ann_number_key(size_t i);

/** "table" (or "text"), "json", "line_protocol" (or "line"). */
grebe_status ann_form_parse(const char *name, enum ann_form *out, grebe_error *err);
/** @param now_ns Of line protocol; 0: no time. */
grebe_status ann_report_print(const struct ann_report *r, enum ann_form form, int64_t now_ns, struct buf *dst,
                              grebe_error *err);
/**
 * Cases of a text that ann_report_print() or eval_performance wrote as JSON, behind those that are there.
 * @return GREBE_OK; GREBE_ECORRUPT with a place.
 */
grebe_status ann_report_parse(struct ann_report *r, const char *text, size_t len, grebe_error *err);

/** Table and line protocol (ann_report_text.c). */
grebe_status ann_report_print_text(const struct ann_report *r, enum ann_form form, int64_t now_ns, struct buf *dst,
                                   grebe_error *err);
/** An amount of memory as eval_performance writes it: "1.25 GB". dst: shape [NUMBER_TEXT_MAX + 4]. */
void ann_bytes_text(char *dst, double v);
/** A tree as one line of JSON. */
grebe_status ann_json_text(const struct json_value *v, struct buf *dst, grebe_error *err);

/**
 * Where output goes: "stdout", "file://PATH", "appendfile://PATH".
 *
 * @param path Set to what stands behind "://"; NULL: standard output.
 * @return GREBE_OK; GREBE_EINVAL: anything else. To be called before anything is run.
 */
grebe_status ann_sink_parse(const char *sink, const char **path, bool *is_append, grebe_error *err);
/** Write the bytes to a file sink; missing folders are made. */
grebe_status ann_sink_write(grebe_context *ctx, const char *path, bool is_append, const void *bytes, size_t len,
                            grebe_error *err);

#endif
