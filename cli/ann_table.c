/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `grebe ann` and their options. */
#include "ann.h"
#include "opt.h"

enum { ANY_RESULTS = 100000 };

static const struct opt_spec check_options[] = {
    { "vsag", NULL, "hold the file to what VSAG's eval_performance loads and evaluates rightly", 0 },
    { "annb", NULL, "hold the file to what ann-benchmarks reads", 0 },
    { "allow-padding", NULL, "-1 at the end of a row of neighbors is a warning", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd check_spec = {
    "ann check", "ann check FILE [--vsag|--annb] [--allow-padding]", "verify a benchmark data set",
    "Everything that keeps an HDF5 file of VSAG or ann-benchmarks from being loaded, and everything that makes its "
    "content wrong: shapes, ids, labels, records, values that are no numbers, distances of another convention, "
    "neighbours that are not the nearest. Findings are listed, one a row; exit 5 when there are errors.",
    "grebe ann check glove-100-angular.hdf5 --annb",
    check_options, NULL, 1, 1, cmd_ann_check, NULL
};

#define SOURCE_OPTIONS                                                                                              \
    { "base", "SOURCE", "vectors to be searched: anything that has rows, .csr for sparse rows, .multi for documents", 0 }, \
    { "queries", "SOURCE", "vectors to search for", 0 },                                                            \
    { "split", "N", "instead of --queries: draw N rows from the base, which loses them", 0 },                       \
    { "seed", "N", "of --split (default 1)", 0 },                                                                   \
    { "column", "NAME", "column of the vectors (default: the only one)", 'c' },                                     \
    { "metric", "euclidean|ip|angular|hamming", "(default: the last word of OUT's name, as in sift-128-euclidean.hdf5; ip for sparse rows)", 0 }, \
    { "labels", "SOURCE", "labels of base rows: one column of integers from 0", 0 },                                \
    { "query-labels", "SOURCE", "labels of queries", 0 },                                                           \
    { "keep-uint8", NULL, "uint8 vectors stay uint8, which VSAG does not read (default: float32)", 0 },             \
    { "vsag-int8-ip", NULL, "int8 inner products are stored as -ip, as VSAG's code has them (default 1-ip)", 0 },   \
    { "plain-l2", NULL, "documents under euclidean: sum distances, not their squares", 0 }

#define TRUTH_OPTIONS                                                                                               \
    { "k", "K", "neighbours of a query (default 100; of a data set: as it has)", 'k' },                             \
    { "filtered", NULL, "only rows with the query's label are its neighbours", 0 },                                 \
    { "short-rows", "shrink|pad|fail", "when a query has fewer than K matches: lower K, end rows in -1, or stop (default shrink)", 0 }, \
    OPT_DURABLE("name", "off")

static const struct opt_spec make_options[] = {
    SOURCE_OPTIONS,
    { "neighbors", "SOURCE", "ids that another program found: .ivecs, .ibin, .npy, .gt, …; they are kept and checked, not searched", 0 },
    { "distances", "SOURCE", "its distances, whose convention is told; those of the data set are always computed anew", 0 },
    TRUTH_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec groundtruth_options[] = {
    SOURCE_OPTIONS,
    TRUTH_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd make_spec = {
    "ann make", "ann make OUT.hdf5 --base SOURCE --queries SOURCE | --split N [--metric M] [-k K]",
    "make a benchmark data set from vectors",
    "Finds the true neighbours of each query, exactly (in float64, ties to the lower row), and writes what VSAG and "
    "ann-benchmarks read. float16 and float64 vectors become float32. The same input gives the same bytes. Vectors that "
    "--memory-limit has no room for are read by blocks, several times. With --neighbors, exit 5 when what `grebe ann check` "
    "says of them has errors; OUT is written.",
    "grebe ann make words-50-angular.hdf5 --base words.parquet --split 1000\n"
    "grebe ann make sift-128-euclidean.hdf5 --base sift_base.fvecs --queries sift_query.fvecs -k 100",
    make_options, NULL, 1, 1, cmd_ann_make, NULL
};

static const struct cmd groundtruth_spec = {
    "ann groundtruth", "ann groundtruth DATA.hdf5 OUT | OUT --base SOURCE --queries SOURCE [-k K] [--filtered]",
    "find the true neighbours again, or of other vectors",
    "OUT.hdf5 is the whole data set with its truth replaced; OUT.npy, OUT.ivecs and OUT.ibin are ids, OUT.gt and OUT.knn "
    "ids with distances.",
    "grebe ann groundtruth old.hdf5 new.hdf5 -k 10\n"
    "grebe ann groundtruth truth.ivecs --base base.fbin --queries queries.fbin --metric ip -k 100",
    groundtruth_options, NULL, 1, 2, cmd_ann_groundtruth, NULL
};

static const struct opt_spec export_options[] = {
    { "base", "OUT", "base vectors: .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin; .csr, .multi", 0 },
    { "queries", "OUT", "queries, likewise", 0 },
    { "neighbors", "OUT", "ids: .npy, .ivecs, .ibin; with distances: .gt, .knn", 0 },
    { "distances", "OUT", "distances: .npy, .fvecs, .fbin", 0 },
    { "labels", "OUT", "labels of base rows: .npy", 0 },
    { "query-labels", "OUT", "labels of queries: .npy", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd export_spec = {
    "ann export", "ann export DATA.hdf5 --base OUT --queries OUT --neighbors OUT …", "write parts of a data set as array files",
    "The kind of each file is told by the ending of its name. Values are written as they are, bit for bit.",
    "grebe ann export sift.hdf5 --base base.fvecs --queries queries.fvecs --neighbors truth.ivecs",
    export_options, NULL, 1, 1, cmd_ann_export, NULL
};

#define REPORT_OPTIONS                                                                                              \
    { "recall", "ties|vsag|id|annb|annb_eps_0.01|annb_eps_0.1|bigann", "rule of recall_avg (default ties)", 0 },    \
    { "out", "FILE.json", "the report as a file, for grebe ann plot", 'o' },                                        \
    { "export", "FORM:SINK", "the report instead of on standard output: table, json or line_protocol to stdout, file://PATH or appendfile://PATH; may be given again", 0 }

static const struct opt_spec run_spec_options[] = {
    { "index", "WORDS", "kind and parameters, as in \"graph degree=32 quant=sq8\"; may be given again", 0 },
    { "sweep", "NAME=V,V,…", "search parameter and its values, or KIND:NAME=V,V for one kind; given again: all combinations", 0 },
    { "k", "K", "neighbours (default 10)", 'k' },
    { "mode", "knn|range|knn_filter|range_filter", "what is searched for (default knn); filters: rows with the query's label", 0 },
    { "range", "R", "radius of the range modes, as distances of the data set are", 0 },
    { "queries", "N", "ask exactly N, over again where the data set has fewer (default: each once)", 0 },
    { "build-threads", "N", "that build (default: all cores); --threads N share the queries (default 1)", 0 },
    { "runs", "N", "timed passes, of which the fastest counts (default 1)", 0 },
    { "batch", NULL, "all queries in one call: no latencies", 0 },
    { "no-warmup", NULL, "without the untimed pass before", 0 },
    { "save", "FOLDER", "keep the indexes there", 0 },
    { "results", "FILE", "what was found last: .hdf5 as ann-benchmarks has it, .npy, .ivecs, .ibin", 0 },
    REPORT_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd run_spec = {
    "ann run", "ann run DATA.hdf5 --index WORDS… [--sweep NAME=V,V]… | CONFIG.yaml", "build indexes, search, measure",
    "Builds each index over the base vectors and searches with the queries, one call each, timed by the steady clock after "
    "a pass that warms up and takes the results. Reports build time, memory, queries per second, latencies and recall by "
    "every rule. A YAML file is a configuration of VSAG's eval_performance: its indexes stand for ours where they can "
    "(docs/guide/ann.md), anything else is refused by name before anything is run.",
    "grebe ann run glove-100-angular.hdf5 --index flat --index \"graph quant=sq8\" --sweep graph:ef=16,32,64 -o results.json\n"
    "grebe ann run config.yaml",
    run_spec_options, NULL, 1, 1, cmd_ann_run, NULL
};

static const struct opt_spec eval_options[] = {
    { "k", "K", "neighbours that count (default 10)", 'k' },
    REPORT_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd eval_spec = {
    "ann eval", "ann eval DATA.hdf5 RESULTS… [-k K] [--recall RULE]", "recall and latency of result files",
    "Results are HDF5 files of ann-benchmarks (times, neighbors, distances), or ids as .npy, .ivecs, .ibin, or knn results "
    "with distances. A number of recall means nothing without its rule: the report has all of them.",
    "grebe ann eval glove-100-angular.hdf5 results/*.hdf5 --recall annb --format json",
    eval_options, NULL, 2, ANY_RESULTS, cmd_ann_eval, NULL
};

static const struct opt_spec plot_options[] = {
    { "out", "FILE", ".svg or .html (default: SVG on standard output)", 'o' },
    { "x", "KEY", "number along the horizontal axis (default recall_avg)", 0 },
    { "y", "KEY", "and the vertical one (default qps)", 0 },
    { "x-scale", "linear|log|logit|aN", "aN leaves more room near 1, as a3 (default linear)", 0 },
    { "y-scale", "linear|log|logit|aN", "(default log)", 0 },
    { "all", NULL, "also points that others beat", 0 },
    { "bars", NULL, "build time and size of each index instead of curves", 0 },
    { "title", "TEXT", "(default: the data set)", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd plot_spec = {
    "ann plot", "ann plot RESULTS.json… [-o FILE]", "draw curves of recall against rate",
    "Reports of `grebe ann run -o` (or JSON of eval_performance) as curves, one for each index with its build parameters. Keys "
    "are those of the reports: recall_avg, qps, latency_avg(ms), latency_detail(ms).p99, duration(s), index_memory(B), …",
    "grebe ann plot results.json -o results.html --x-scale a3\n"
    "grebe ann plot a.json b.json --bars -o sizes.svg",
    plot_options, NULL, 1, ANY_RESULTS, cmd_ann_plot, NULL
};

const struct cmd *const ann_list[] = { &make_spec, &check_spec, &groundtruth_spec, &export_spec, &run_spec, &eval_spec, &plot_spec, NULL };
