/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `grebe ann` and their options. */
#include "ann.h"

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
    { "durable", "on|off", "sync to disk before the name appears (default off)", 0 }

static const struct opt_spec make_options[] = {
    SOURCE_OPTIONS,
    TRUTH_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct cmd make_spec = {
    "ann make", "ann make OUT.hdf5 --base SOURCE --queries SOURCE | --split N [--metric M] [-k K]",
    "make a benchmark data set from vectors",
    "Finds the true neighbours of each query, exactly (in float64, ties to the lower row), and writes what VSAG and "
    "ann-benchmarks read. float16 and float64 vectors become float32. The same input gives the same bytes.",
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
    make_options, NULL, 1, 2, cmd_ann_groundtruth, NULL
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

const struct cmd *const ann_list[] = { &make_spec, &check_spec, &groundtruth_spec, &export_spec, NULL };
