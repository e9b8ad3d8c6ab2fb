/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_SEARCH_H
#define GREBE_CLI_SEARCH_H

/* Searching tables, and the indexes of their columns. */

#include "cmd.h"

extern const struct cmd cmd_search_spec, cmd_index_spec;

int cmd_search(struct cli *cli);
int cmd_index_build(struct cli *cli);
int cmd_index_list(struct cli *cli);
int cmd_index_drop(struct cli *cli);

#endif
