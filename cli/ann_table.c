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

const struct cmd *const ann_list[] = { &check_spec, NULL };
