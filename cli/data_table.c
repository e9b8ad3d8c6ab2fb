/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of `grebe data` and `grebe cache`, and their options. */
#include "data.h"
#include "opt.h"

#define LOAD_OPTIONS                                                                                                       \
    { "split", "SPLIT", "which split: a name, or part of one: train[:10%]+test", 's' },                                    \
    { "data-files", "[SPLIT=]PATTERN", "files of the folder, or of the format; may be repeated", 0 },                      \
    { "data-dir", "DIR", "folder of the data, below the given one", 0 },                                                   \
    { "config", "NAME", "configuration that the README of the folder names", 0 },                                          \
    { "option", "NAME=VALUE", "option of the format (sep=;, field=data, columns=[\"a\"]); may be repeated", 0 },           \
    { "features", "FILE", "what columns are, as JSON", 0 },                                                                \
    { "cache-dir", "DIR", "folder of prepared files (default: HF_DATASETS_CACHE, HF_HOME, ~/.cache/huggingface)", 0 },     \
    { "force", NULL, "prepare files again", 0 },                                                                           \
    { "no-verification", NULL, "do not compare sizes of splits with those recorded", 0 },                                  \
    { "input-format", "FORMAT", "of rows from standard input (-)", 0 }

#define SAVE_OPTIONS                                                                                                       \
    { "num-shards", "N", "files of each split", 0 },                                                                       \
    { "max-shard-size", "SIZE", "largest file (default 500 MB)", 0 },                                                      \
    OPT_DURABLE("folder", "on")

static const struct opt_spec load_options[] = {
    LOAD_OPTIONS,
    { "streaming", NULL, "prepare nothing: what a stream would read", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd load_spec = {
    "data load", "data load PATH|FORMAT [--data-files PATTERN] [--split S] [--option k=v]", "prepare files as a data set",
    "PATH is a folder with data files, whose names say format and splits, or one file; FORMAT is csv, json, parquet, arrow, text, "
    "imagefolder, audiofolder, videofolder, webdataset, conll or xml, with --data-files or --data-dir. Files are converted once, into "
    "the cache; the second time they are opened. Prints splits, rows, features and files.",
    "grebe data load reviews/\ngrebe data load csv --data-files 'train=a*.csv' --data-files test=b.csv --option 'sep=;'",
    load_options, NULL, 1, 1, cmd_data_load, NULL
};

static const struct opt_spec source_options[] = { LOAD_OPTIONS, { NULL, NULL, NULL, 0 } };

static const struct cmd info_spec = {
    "data info", "data info SRC", "show splits, rows and features of a data set",
    "SRC is a folder that was saved (DIR, DIR#SPLIT); or files as load takes, of which nothing is prepared: splits, shards and "
    "features are told.",
    "grebe data info reviews.saved",
    source_options, NULL, 1, 1, cmd_data_info, NULL
};

static const struct opt_spec save_options[] = { LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 } };

#define SOURCE_TEXT                                                                                                        \
    "SRC is a folder that was saved (DIR, DIR#SPLIT), a data file or folder as `grebe data load` takes, a table, or any other source. " \
    "DEST is a folder as `datasets` saves and loads it; it appears when it is whole."

static const struct cmd save_spec = {
    "data save", "data save SRC DEST [--num-shards N | --max-shard-size SIZE]", "write a folder that `datasets` loads",
    SOURCE_TEXT " Without --split all splits are saved.",
    "grebe data save reviews/ reviews.saved --num-shards 8",
    save_options, NULL, 2, 2, cmd_data_save, NULL
};

static const struct opt_spec map_options[] = {
    { "set", "NAME = EXPR", "a new or replaced column; may be repeated", 0 },
    { "remove", "A,B", "columns to leave out", 0 },
    LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd map_spec = {
    "data map", "data map SRC DEST --set 'NAME = EXPR' [--remove A,B]", "compute columns",
    SOURCE_TEXT " Expressions are those of --where (docs/format/expr.md); all see the columns as they were.",
    "grebe data map reviews.saved longer --set 'n = length(text)' --remove id",
    map_options, NULL, 2, 2, cmd_data_map, NULL
};

static const struct opt_spec filter_options[] = {
    { "where", "EXPR", "rows for which EXPR is true", 'w' },
    LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd filter_spec = {
    "data filter", "data filter SRC DEST --where EXPR", "keep some rows", SOURCE_TEXT,
    "grebe data filter reviews.saved short --where 'length(text) < 100'",
    filter_options, NULL, 2, 2, cmd_data_filter, NULL
};

#define SEED_OPTION { "seed", "N", "of the random order (default: another one each time)", 0 }

static const struct opt_spec shuffle_options[] = { SEED_OPTION, LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 } };

static const struct cmd shuffle_spec = {
    "data shuffle", "data shuffle SRC DEST [--seed N]", "put rows in a random order",
    SOURCE_TEXT " The order is that of `datasets` for the same seed.",
    "grebe data shuffle reviews.saved mixed --seed 42",
    shuffle_options, NULL, 2, 2, cmd_data_shuffle, NULL
};

static const struct opt_spec split_options[] = {
    { "test", "SIZE", "of the test split: a fraction such as 0.2, or rows (default 0.25)", 0 },
    { "train", "SIZE", "of the train split (default: what is left)", 0 },
    { "stratify", "COLUMN", "a column of class labels: each class has its share in both", 0 },
    { "in-order", NULL, "the first rows and those behind them, not shuffled", 0 },
    SEED_OPTION, LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd split_spec = {
    "data split", "data split SRC DEST [--test SIZE] [--seed N] [--stratify COLUMN]", "split rows into train and test",
    SOURCE_TEXT " DEST has two splits.",
    "grebe data split reviews.saved parts --test 0.2 --seed 42 --stratify label",
    split_options, NULL, 2, 2, cmd_data_split, NULL
};

static const struct opt_spec sort_options[] = {
    { "by", "A,-B", "columns; - before one: largest first", 0 },
    { "nulls", "last|first", "where nulls go (default last)", 0 },
    LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd sort_spec = {
    "data sort", "data sort SRC DEST --by A,-B", "sort rows", SOURCE_TEXT " Equal rows keep their order.",
    "grebe data sort reviews.saved sorted --by label,-id",
    sort_options, NULL, 2, 2, cmd_data_sort, NULL
};

static const struct opt_spec select_options[] = {
    { "rows", "9,0,4 | BEGIN:END", "rows by position, in this order", 0 },
    { "columns", "A,B", "columns, in this order", 'c' },
    { "remove", "A,B", "columns to leave out", 0 },
    LOAD_OPTIONS, SAVE_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd select_spec = {
    "data select", "data select SRC DEST [--rows LIST] [--columns A,B] [--remove A,B]", "choose rows and columns", SOURCE_TEXT,
    "grebe data select reviews.saved some --rows 0:1000 --columns text,label",
    select_options, NULL, 2, 2, cmd_data_select, NULL
};

static const struct opt_spec stream_options[] = {
    { "where", "EXPR", "only rows for which EXPR is true", 'w' },
    { "columns", "A,B", "only these columns", 'c' },
    { "shuffle-buffer", "N", "mix rows by a buffer of N", 0 },
    { "seed", "N", "of --shuffle-buffer", 0 },
    { "max-input-shards", "N", "of --shuffle-buffer: files that are mixed together (default 10)", 0 },
    { "skip", "N", "leave out the first N rows", 0 },
    { "take", "N", "end after N rows", 0 },
    { "repeat", "N", "all of it N times", 0 },
    { "epoch", "E", "number of the pass: another order for each", 0 },
    { "limit", "N", "print the next N rows; a state saved behind them goes on from there", 'n' },
    { "state", "FILE", "go on from this state", 0 },
    { "save-state", "FILE", "write where reading stopped", 0 },
    { "shards", "N", "of a saved data set: read it as N shards (default 1)", 0 },
    LOAD_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd stream_spec = {
    "data stream", "data stream SRC [--shuffle-buffer N --seed N] [--limit N] [--state FILE] [--save-state FILE]",
    "print rows as a training loop would get them",
    "SRC is as of the other commands; files are read as they are, nothing is prepared. Steps are applied in the order where, columns, "
    "shuffle, skip, take, repeat, epoch; orders are those of `datasets`. With the same steps and seed, --state goes on exactly behind the "
    "rows that were printed before --save-state.",
    "grebe data stream reviews/ --shuffle-buffer 1000 --seed 42 --limit 5 --save-state s.json\n"
    "grebe data stream reviews/ --shuffle-buffer 1000 --seed 42 --limit 5 --state s.json",
    stream_options, NULL, 1, 1, cmd_data_stream, NULL
};

static const struct opt_spec export_options[] = {
    { "columns", "A,B", "columns to write, in this order (default: all)", 'c' },
    LOAD_OPTIONS, { NULL, NULL, NULL, 0 },
};

static const struct cmd export_spec = {
    "data export", "data export SRC DEST [--columns A,B]", "write a data set to one file",
    "DEST is written in the format that its name ends in: .parquet, .arrow, .arrows, .csv, .tsv, .json, .jsonl.",
    "grebe data export reviews.saved#train train.parquet",
    export_options, NULL, 2, 2, cmd_data_export, NULL
};

const struct cmd *const data_list[] = { &load_spec,  &info_spec,  &map_spec,    &filter_spec, &shuffle_spec, &split_spec,
                                        &sort_spec,  &select_spec, &stream_spec, &save_spec,   &export_spec,  NULL };

static const struct opt_spec ls_options[] = {
    { "cache-dir", "DIR", "folder of prepared files (default: HF_DATASETS_CACHE, HF_HOME, ~/.cache/huggingface)", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd ls_spec = {
    "cache ls", "cache ls [--cache-dir DIR]", "list what was prepared and computed",
    "One row a file: data set, split, kind (prepared, map, indices, unfinished), bytes, rows, time.",
    "grebe cache ls --format json",
    ls_options, NULL, 0, 0, cmd_cache_ls, NULL
};

static const struct opt_spec rm_options[] = {
    { "cache-dir", "DIR", "folder of prepared files (default: HF_DATASETS_CACHE, HF_HOME, ~/.cache/huggingface)", 0 },
    { "older-than", "AGE", "only what was not used for so long: 7d, 12h", 0 },
    { "max-bytes", "SIZE", "the oldest first, until so much is left", 0 },
    { "unfinished", NULL, "only what interrupted programs left", 0 },
    { "all", NULL, "everything", 0 },
    { "dry-run", NULL, "remove nothing, print what would be removed", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct cmd rm_spec = {
    "cache rm", "cache rm [PATH] [--older-than AGE] [--max-bytes SIZE] [--unfinished] [--all] [--dry-run]",
    "remove what can be made again",
    "Prints what was removed, and why. What another program is preparing at the moment stays.",
    "grebe cache rm --older-than 30d --dry-run",
    rm_options, NULL, 0, 1, cmd_cache_rm, NULL
};

const struct cmd *const cache_list[] = { &ls_spec, &rm_spec, NULL };
