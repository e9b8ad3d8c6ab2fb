/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_RUN_H
#define GREBE_ANN_ANN_RUN_H

/*
 * Build an index over a data set, search with its queries, and measure. Each query is one call, timed by the steady
 * clock; results are taken in a pass of their own before (the warm-up), unless that is left out.
 */

#include "ann/ann_eval.h"
#include "grebe/ann_index.h"

enum ann_mode { ANN_MODE_KNN, ANN_MODE_RANGE, ANN_MODE_KNN_FILTER, ANN_MODE_RANGE_FILTER };

/** "knn", "range", "knn_filter", "range_filter". */
grebe_status ann_mode_parse(const char *name, enum ann_mode *out, grebe_error *err);
const char *ann_mode_name(enum ann_mode mode);

struct ann_run_options {
    enum ann_mode mode;
    uint64_t k;
    double range;             /* radius as the data set's distances are */
    uint64_t n_queries;       /* exactly so many; above those of the data set they are gone through again; 0: each once */
    uint32_t search_threads;  /* share the queries; 0: one */
    uint32_t build_threads;   /* 0: the context's */
    uint32_t runs;            /* timed passes, the fastest counts; 0: one */
    bool is_without_warmup;
    bool is_batch;            /* all queries in one call: no latencies */
    enum ann_rule rule;
    const char *results_path; /* results of the last search as a file (ann_result_write); NULL: none */
    const struct call *call;
};

/** One way to search. */
struct ann_search_spec {
    const char *const *params; /* "name=value"; shape [n_params] */
    size_t n_params;
    const char *text;          /* for the report */
};

/** One index. */
struct ann_job {
    const char *name;   /* of its cases; NULL: of kind and parameters, with the search's behind it */
    const char *series; /* NULL: kind and parameters */
    const char *index_name; /* as the user called it; NULL: the kind's */
    const char *index_info; /* JSON; NULL: of the parameters */
    grebe_ann_index_kind kind;
    const char *const *params;
    size_t n_params;
    const struct ann_search_spec *searches;
    size_t n_searches;
    bool has_build;         /* else open_path is opened */
    const char *open_path;
    const char *save_path;  /* NULL: not saved */
};

/** Measure one index: a case for each search (without any: one for the build). Finished cases stay after a failure. */
grebe_status ann_run_job(struct ann_dataset *d, const struct ann_job *job, const struct ann_run_options *options,
                         struct ann_report *report, grebe_error *err);

/** "graph M=16 quant=sq8" as kind and parameters. @param words Arena of the texts. */
grebe_status ann_index_parse(struct arena *words, const char *text, grebe_ann_index_kind *kind, const char ***params,
                             size_t *n_params, grebe_error *err);

/**
 * Indexes as words ("graph M=16"), each searched with every combination of the sweeps ("ef=16,32", "graph:ef=16,32").
 *
 * @param save_folder NULL: they are not saved.
 */
grebe_status ann_run_indexes(struct ann_dataset *d, const char *const *indexes, size_t n_indexes, const char *const *sweeps,
                             size_t n_sweeps, const char *save_folder, const struct ann_run_options *o,
                             struct ann_report *report, grebe_error *err);

static inline bool ann_run_is_filtered(const struct ann_run_options *o)
{
    return o->mode == ANN_MODE_KNN_FILTER || o->mode == ANN_MODE_RANGE_FILTER;
}

static inline bool ann_run_is_ranged(const struct ann_run_options *o)
{
    return o->mode == ANN_MODE_RANGE || o->mode == ANN_MODE_RANGE_FILTER;
}

/* ---- ann_run_prepare.c, ann_run_search.c ---- */

/** What searches of one job share. */
struct ann_searcher {
    struct ann_dataset *d;
    const struct ann_run_options *o;
    grebe_ann_index *index;
    uint64_t n;          /* queries that are asked */
    uint64_t n_distinct; /* of them once each */
    uint64_t **allow;    /* filter modes: bits of each distinct label; shape [n_labels] */
    int64_t *labels;     /* ascending; shape [n_labels] */
    size_t n_labels;
    struct ann_dataset truth; /* view of d with the truth of this mode */
    int64_t *range_offsets;   /* range modes: everything within the radius; shape [n_distinct + 1] */
    struct buf range_ids;     /* int64 */
};

/** @param s Zeroed; ann_searcher_close(), also after a failure. Computes what truth the mode needs. */
grebe_status ann_searcher_open(struct ann_searcher *s, struct ann_dataset *d, const struct ann_run_options *o,
                               grebe_error *err);
void ann_searcher_close(struct ann_searcher *s);
/** Let a search find only what query q may, in filter modes. */
void ann_searcher_filter(const struct ann_searcher *s, uint64_t q, grebe_ann_index_search_options *o);
/** Warm-up, timed passes, and what they say. */
grebe_status ann_searcher_measure(struct ann_searcher *s, const struct ann_search_spec *spec, struct ann_report *report,
                                  struct ann_case *c, grebe_error *err);

/** Rows [begin, begin + n) of a side, as indexes take them. GREBE_EUNSUPPORTED: sets and documents. */
grebe_status ann_side_vectors(const struct ann_dataset *d, const struct ann_vectors *side, uint64_t begin, uint64_t n,
                              grebe_vectors *out, grebe_error *err);

/* ---- ann_clock.c ---- */

double ann_seconds(void);     /* steady */
double ann_cpu_seconds(void); /* of all threads of the process */
/** Bytes of memory that the process has, and the most it had; 0 where the system does not tell. */
void ann_memory(uint64_t *now, uint64_t *peak);

#endif
