/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_DATA_H
#define GREBE_CLI_DATA_H

/* Sub-commands of `grebe data` and `grebe cache`: entries of data_table.c. */

#include "cmd.h"

extern const struct cmd *const data_list[]; /* NULL-ended, in the order of the help */
extern const struct cmd *const cache_list[];

int cmd_data_load(struct cli *cli);
int cmd_data_info(struct cli *cli);
int cmd_data_save(struct cli *cli);
int cmd_data_export(struct cli *cli);
int cmd_data_map(struct cli *cli);
int cmd_data_filter(struct cli *cli);
int cmd_data_shuffle(struct cli *cli);
int cmd_data_split(struct cli *cli);
int cmd_data_sort(struct cli *cli);
int cmd_data_select(struct cli *cli);
int cmd_data_stream(struct cli *cli);
int cmd_cache_ls(struct cli *cli);
int cmd_cache_rm(struct cli *cli);

/** What SRC names. Exactly one of dict and rows is set. */
struct data_source {
    grebe_dataset_dict *dict; /* of a saved folder, of files */
    grebe_dataset *rows;      /* of any other source */
    const char *split;        /* "#SPLIT", --split; NULL: none was named */
    char temp[4096];          /* rows of another source, as a file; "": none */
};

/** Whether uri is a saved data set; *folder (cli_alloc'd) and *split: its parts. */
bool data_is_saved(struct cli *cli, const char *uri, const char **folder, const char **split);
/** Load options from --data-files, --split, --cache-dir, --option, --features, and the loader's name that goes with uri
 * (a folder, a format, a file). Exit code. *path: what is to be loaded; NULL: uri is nothing that loaders read. */
int data_load_options(struct cli *cli, const char *uri, grebe_load_options *o, const char **path);
/** Open SRC. Exit code. */
int data_open(struct cli *cli, const char *uri, struct data_source *out);
/** The one data set that SRC names. Exit code. */
int data_one(struct cli *cli, const char *uri, const struct data_source *s, const grebe_dataset **out);
void data_close(struct data_source *s);
/** Write `ds` to DEST, with --num-shards and --max-shard-size. Exit code. */
int data_write(struct cli *cli, const grebe_dataset *ds, const char *dest);
/** The splits likewise. */
int data_write_dict(struct cli *cli, const char *const *names, const grebe_dataset *const *sets, size_t n,
                    const char *dest);
/** --seed as words; without it drawn. Exit code. */
int data_seed(struct cli *cli, uint32_t words[2], grebe_seed *out);
/** Options of transforms whose result is saved: nothing is written beside the source. */
void data_transform_options(struct cli *cli, grebe_transform_options *o);

#endif
