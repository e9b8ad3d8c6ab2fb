/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_ANN_H
#define GREBE_CLI_ANN_H

/* Sub-commands of `grebe ann`: each is an entry of ann_table.c, parsed and described as a verb is. */

#include "cmd.h"

extern const struct cmd *const ann_list[]; /* NULL-ended, in the order of the help */

int cmd_ann_check(struct cli *cli);
int cmd_ann_run(struct cli *cli);
int cmd_ann_eval(struct cli *cli);
int cmd_ann_plot(struct cli *cli);
int cmd_ann_make(struct cli *cli);
int cmd_ann_groundtruth(struct cli *cli);
int cmd_ann_export(struct cli *cli);

/** `grebe info` of an HDF5 file: its data sets, and of a benchmark file N, Q, D, K, element type, metric. Exit code;
 *  -1: it is no such file. */
int ann_info(struct cli *cli, const char *path);

#endif
