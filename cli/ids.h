/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_IDS_H
#define GREBE_CLI_IDS_H

/* Lists of whole numbers as people write them. */

#include "cmd.h"

struct ids {
    int64_t *data;
    size_t n, capacity;
};

/** Whole numbers separated by commas or white space; "A:B" stands for A … B-1. Exit code. */
int ids_parse(struct cli *cli, const char *text, struct ids *ids);
/** The same from a file, "-": standard input. Exit code. */
int ids_read(struct cli *cli, const char *path, struct ids *ids);
void ids_drop(struct ids *ids);

#endif
