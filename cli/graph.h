/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_GRAPH_H
#define GREBE_CLI_GRAPH_H

/* The sub-commands of `grebe graph`. */

#include "cmd.h"

extern const struct cmd *const graph_list[]; /* NULL-ended, in the order of the help */

int cmd_graph_check(struct cli *cli);
int cmd_graph_init(struct cli *cli);
int cmd_graph_preprocess(struct cli *cli);
int cmd_graph_info(struct cli *cli);
int cmd_graph_sample(struct cli *cli);
int cmd_graph_export(struct cli *cli);
int cmd_graph_verify(struct cli *cli);

#endif
