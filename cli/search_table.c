/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs `grebe search` and `grebe index`, and their options. */
#include "search.h"

static const struct opt_spec search_options[] = {
    { "column", "NAME", "column of the vectors", 0 },
    { "vector", "JSON", "the vector whose nearest rows are wanted, such as [0.5, -1]", 0 },
    { "query-from", "SOURCE", "instead of --vector: several vectors from anything that has rows", 0 },
    { "query-column", "NAME", "their column (default: the only one of vectors)", 0 },
    { "k", "K", "rows for each vector (default 10)", 'k' },
    { "columns", "A,B", "columns to show (default: all but the vectors)", 'c' },
    { "where", "EXPR", "only rows for which EXPR is true", 'w' },
    { "param", "NAME=VALUE", "of the index, such as ef=64 or nprobe=8; may be repeated", 0 },
    { "exact", NULL, "compare every row, also where there is an index", 0 },
    { "metric", "euclidean|l2|ip|angular", "(default: the index's, else euclidean); another than the index's compares every row", 0 },
    { "version", "V", "version number, tag, or time", 0 },
    { NULL, NULL, NULL, 0 },
};

const struct cmd cmd_search_spec = {
    "search", "search TABLE --column C --vector JSON | --query-from SOURCE [-k 10] [--where EXPR]",
    "find the rows with the nearest vectors",
    "Through the index of the column where the version has one (grebe index build), else by comparing every row. "
    "The answer has the row id and the distance in front: euclidean is the length of the difference, l2 its square, "
    "ip 1 minus the inner product, angular 1 minus the cosine.",
    "grebe search words --column vector --query-from query.npy -k 5\n"
    "grebe search words --column vector --vector '[0.1, 0.2]' --where 'rank < 1000'",
    search_options, NULL, 1, 1, cmd_search, NULL
};

static const struct opt_spec build_options[] = {
    { "column", "NAME", "column of the vectors", 0 },
    { "kind", "graph|hnsw|ivf|flat", "(default graph)", 0 },
    { "metric", "euclidean|l2|ip|angular", "(default euclidean)", 0 },
    { NULL, NULL, NULL, 0 },
};
static const struct opt_spec column_options[] = {
    { "column", "NAME", "column of the vectors", 0 },
    { NULL, NULL, NULL, 0 },
};
static const struct opt_spec version_options[] = {
    { "version", "V", "version number, tag, or time", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd build_spec = {
    "index build", "index build TABLE --column C [--kind K] [--metric M] [NAME=VALUE…]", "build an index over a column of vectors",
    "Parameters of the kind follow the table, such as quant=sq8 or lists=1024 (docs/guide/ann.md lists them). The index "
    "becomes part of a new version; one that the column has is replaced. Rows appended later take it out again.",
    "grebe index build words --column vector --metric angular quant=sq8",
    build_options, write_options, 1, 32, cmd_index_build, NULL
};
static const struct cmd list_spec = {
    "index list", "index list TABLE", "show the indexes of a table", "", "grebe index list words",
    version_options, NULL, 1, 1, cmd_index_list, NULL
};
static const struct cmd drop_spec = {
    "index drop", "index drop TABLE --column C", "take the index of a column out of the next version",
    "Older versions keep it; its file stays where it is.", "grebe index drop words --column vector",
    column_options, write_options, 1, 1, cmd_index_drop, NULL
};
static const struct cmd *const index_list[] = { &build_spec, &list_spec, &drop_spec, NULL };

const struct cmd cmd_index_spec = {
    "index", "index build|list|drop TABLE …", "indexes over columns of vectors",
    "What makes grebe search fast.", "grebe index build words --column vector",
    own_words, NULL, 0, 1 << 20, NULL, index_list
};
