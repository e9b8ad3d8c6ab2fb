/* SPDX-License-Identifier: Apache-2.0 */
/* Every verb and option, once: help, man pages and completions are made from these tables. */
#include "cmd.h"
#include "opt.h"

#include <string.h>

#include "ann.h"
#include "data.h"
#include "graph.h"
#include "search.h"

const struct opt_spec own_words[] = { { NULL, NULL, NULL, 0 } };

const struct opt_spec common_options[] = {
    { "format", "table|json|jsonl|csv|arrow", "form of the output (default table)", 'f' },
    { "threads", "N", "use at most N threads (default: all cores; GREBE_THREADS)", 0 },
    { "memory-limit", "SIZE", "aim to stay below SIZE of working memory (GREBE_MEMORY_LIMIT)", 0 },
    { "progress", "auto|always|never|json", "progress on standard error (default auto: on a terminal)", 0 },
    { "quiet", NULL, "print nothing but data and errors", 'q' },
    { "verbose", NULL, "say more on standard error", 'v' },
    { "help", NULL, "show the help of the verb", 'h' },
    { NULL, NULL, NULL, 0 },
};

/* Of every verb that reads a SOURCE. */
#define TEXT_OPTIONS                                                                             \
    { "delimiter", "C", "between fields of CSV (default: told by the first lines; tab for TSV)", 0 }, \
    { "quote", "C", "around fields of CSV (default \"; '' for none)", 0 },                       \
    { "escape", "C", "inside quotes, makes the next character itself; a backslash: as databases write (default: doubled quotes)", 0 }, \
    { "header", "yes|no|auto", "whether the first line of CSV has names (default yes)", 0 },     \
    { "comment", "C", "leave lines of CSV out that begin with C", 0 },                           \
    { "null-values", "A,B", "unquoted fields of CSV that are null (default: empty ones)", 0 },   \
    { "decimal-comma", NULL, "1,5 is a number in CSV", 0 },                                      \
    { "trim", NULL, "blanks around unquoted fields of CSV do not count", 0 },                    \
    { "skip-rows", "N", "lines in front of CSV that are not looked at", 0 },                     \
    { "ragged", "error|fill|drop", "rows of CSV with another number of fields (default error)", 0 }, \
    { "encoding", "utf-8|latin1", "encoding of text (default utf-8)", 0 },                       \
    { "sample-rows", "N|all", "lines of text that types are inferred from (default: all of a file)", 0 }
#define SCHEMA_OPTION                                                                            \
    { "schema", "FILE", "types of columns of text (as grebe schema --format json prints them)", 0 }

#define OPEN_OPTIONS                                                                             \
    { "int96", "ns|us", "unit of the 96-bit times of old Parquet files (default ns)", 0 },       \
    { "version", "V", "version number, tag, or time such as 2026-11-29T12:00:00Z", 0 },          \
    { "compat", "none|milvus", "milvus: exactly the semantics of Milvus's own library", 0 },     \
    { "verify", "on|off", "compare the checksums of pages while reading (default on)", 0 },      \
    { "input-format", "FORMAT", "format of the source, when its content does not tell", 0 },     \
    TEXT_OPTIONS, SCHEMA_OPTION

#define PARQUET_OPTIONS                                                                          \
    { "column-encoding", "[COL=]ENC", "how a column (or all that can) is encoded; may be repeated: plain, dictionary, rle, delta_binary_packed, delta_length_byte_array, delta_byte_array, byte_stream_split", 0 }, \
    { "bloom", "A,B", "columns that get bloom filters", 0 },                                     \
    { "bloom-rate", "P", "false positives of bloom filters (default 0.01)", 0 },                 \
    { "page-bytes", "SIZE", "most bytes of a page before compression", 0 },                      \
    { "page-rows", "N", "most rows of a page", 0 },                                              \
    { "data-page-version", "1|2", "version of data pages (default 1)", 0 },                      \
    { "leave-out", "LIST", "of statistics, page-index, checksums", 0 }

const struct opt_spec read_options[] = {
    { "columns", "A,B", "columns to read, in this order (default: all)", 'c' },
    { "where", "EXPR", "only rows for which EXPR is true", 'w' },
    { "rows", "BEGIN:END", "only row ids from BEGIN up to, not including, END", 0 },
    { "limit", "N", "at most N rows", 'n' },
    { "batch-rows", "N", "at most N rows in a batch of the output stream", 0 },
    { "with-row-id", NULL, "add the row id as first column, _rowid", 0 },
    { "cast", "COL=TYPE", "give a column another type, after --where; values that do not fit are errors; may be repeated", 0 },
    OPEN_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec open_only_options[] = {
    OPEN_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

#define POLICY_OPTIONS                                                                           \
    { "group", "A,B", "columns that share files; may be repeated", 'g' },                        \
    { "policy", "single|schema_based|size_based", "how columns without --group are split (docs/guide/policies.md)", 0 }, \
    { "policy-patterns", "RX,RX", "schema_based: a group for the columns that match each pattern", 0 }, \
    { "policy-formats", "F,F", "schema_based: file format of each pattern's group", 0 },         \
    { "max-column-bytes", "SIZE", "size_based: columns with fewer bytes a row share files", 0 }, \
    { "max-columns-in-group", "N", "size_based: most columns that share files", 0 }

const struct opt_spec write_options[] = {
    { "message", "TEXT", "kept in the version's log", 'm' },
    { "on-conflict", "rebase|fail|overwrite", "when somebody else committed meanwhile (default rebase)", 0 },
    OPT_DURABLE("version", "on"),
    { "file-format", "parquet", "format of the data files", 0 },
    { "compression", "zstd[:3]|lz4|snappy|gzip|brotli|none", "codec and level of the data files", 0 },
    { "row-group-bytes", "SIZE", "in-memory bytes of a row group (default 1MiB)", 0 },
    { "row-group-rows", "N", "most rows of a row group", 0 },
    PARQUET_OPTIONS,
    { "file-bytes", "SIZE", "in-memory bytes after which a group begins a new file", 0 },
    { "property", "KEY=VALUE", "an option by its name in Milvus's library, such as writer.compression=zstd; may be repeated", 0 },
    { "input-format", "FORMAT", "format of the source, when its content does not tell", 0 },
    TEXT_OPTIONS,
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec create_options[] = {
    { "from", "SOURCE", "rows of the table; may be repeated", 0 },
    { "schema", "FILE", "without --from: make an empty table with this schema (as grebe schema --format json prints it); with it: types of columns of text", 0 },
    POLICY_OPTIONS,
    { "profile", "open|milvus", "milvus: write exactly what Milvus's own library writes", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec append_options[] = {
    { "columns", "A,B", "columns of the source to use (default: all)", 'c' },
    { "where", "EXPR", "only rows of the source for which EXPR is true", 'w' },
    SCHEMA_OPTION,
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec add_column_options[] = {
    { "columns", "A,B", "columns of the source to add (default: all)", 'c' },
    { "rows", "BEGIN:END", "rows of the table that the source's rows belong to (default: all)", 0 },
    POLICY_OPTIONS,
    SCHEMA_OPTION,
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec import_options[] = {
    { "check", NULL, "decode every value of the files first; one with an error is exit 5", 0 },
    { "columns", "A,B", "columns of the files that count (default: all)", 'c' },
    { "profile", "open|milvus", "milvus: write exactly what Milvus's own library writes", 0 },
    { "message", "TEXT", "kept in the version's log", 'm' },
    { "on-conflict", "rebase|fail|overwrite", "when somebody else committed meanwhile (default rebase)", 0 },
    OPT_DURABLE("version", "on"),
    { "input-format", "FORMAT", "format of the files, when their content does not tell", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec tag_options[] = {
    { "delete", NULL, "remove the tag", 0 },
    { "message", "TEXT", "kept with the tag", 'm' },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec take_options[] = {
    { "rows", "LIST", "row ids such as 9,0,9,4 or 10:20, in the order wanted", 0 },
    { "rows-from", "FILE", "row ids from a text file, - for standard input", 0 },
    { "columns", "A,B", "columns to read, in this order (default: all)", 'c' },
    { "missing", "error|null", "what becomes of an id that is not there (default error)", 0 },
    { "with-row-id", NULL, "add the row id as first column, _rowid", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec log_options[] = {
    { "limit", "N", "only the newest N versions", 'n' },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec check_options[] = {
    { "deep", NULL, "decode every value, not only footers and page headers", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec convert_options[] = {
    { "compression", "zstd[:3]|lz4|snappy|gzip|brotli|none", "codec and level of a Parquet file", 0 },
    { "row-group-bytes", "SIZE", "in-memory bytes of a row group (default 8MiB)", 0 },
    { "row-group-rows", "N", "most rows of a row group", 0 },
    PARQUET_OPTIONS,
    { "profile", "open|milvus", "milvus: write exactly what Milvus's own library writes", 0 },
    OPT_DURABLE("name", "off"),
    { "output-delimiter", "C", "between fields of CSV that is written (default , or tab for .tsv)", 0 },
    { "output-quote", "C", "around fields of CSV that is written (default \"; '' for none)", 0 },
    { "output-header", "yes|no", "whether CSV is written with names (default yes)", 0 },
    { "output-null", "TEXT", "what null is in CSV that is written (default: nothing)", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec inspect_options[] = {
    { "input-format", "FORMAT", "format of the file, when its content does not tell", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec version_options[] = {
    { "build", NULL, "say how the library was built", 0 },
    { NULL, NULL, NULL, 0 },
};

static const struct opt_spec help_options[] = {
    { "man", NULL, "the page as a man page (troff)", 0 },
    { NULL, NULL, NULL, 0 },
};

enum { ANY = 1 << 20 };

static const struct cmd cmd_create_spec = {
    "create", "create TABLE --from SOURCE… | --schema FILE [--group A,B]…",
    "make a table from files, or an empty one from a schema",
    "Rows of all sources become version 1 of the table TABLE, a folder that is made. Without "
    "--group all scalar columns share files, and each vector or large binary column has files of its "
    "own, so that a scan of one vector column reads nothing else and a new column never touches "
    "the old ones. With several sources the first decides the columns; the others must fit. "
    "docs/guide/policies.md tells the other ways to split columns, and when a file ends.",
    "grebe create words --from glove_20k.parquet --group word,rank --group vector\n"
    "grebe create t --schema schema.json",
    create_options, write_options, 1, ANY, cmd_create, NULL
};
static const struct cmd cmd_append_spec = {
    "append", "append TABLE SOURCE…", "add rows at the end of a table",
    "Columns fit by name: a missing nullable column becomes null, a type that widens without loss "
    "is cast, anything else is exit 11 with the column, the expected and the found type. All "
    "sources together make one new version.",
    "grebe append words more.parquet --message 'second half'",
    append_options, write_options, 2, ANY, cmd_append, NULL
};
static const struct cmd cmd_add_column_spec = {
    "add-column", "add-column TABLE SOURCE [--columns A,B]", "add columns to the rows of a table",
    "The rows of SOURCE belong to the rows of TABLE in order; there must be as many. The new "
    "columns get files of their own: no existing file is touched.",
    "grebe add-column words norms.parquet",
    add_column_options, write_options, 2, 2, cmd_add_column, NULL
};
static const struct cmd cmd_import_spec = {
    "import", "import TABLE FILE… [--check] [--columns A,B]", "take existing files in place, without a copy",
    "The files stay where they are, and must stay as they are. A table that is not there is made of them, "
    "with one column group. Files whose columns the table has are rows behind its rows: a missing nullable "
    "column reads as null, a narrower type is widened when it is read. Files whose columns the table does "
    "not have are new columns, when they have as many rows as the table. Anything else is exit 11 with the "
    "column, the expected and the found type. A file below TABLE/_data moves with the table; any other is "
    "named by its absolute path.",
    "grebe import all year/*.parquet --check\n"
    "grebe import all norms.parquet --columns norm",
    import_options, NULL, 2, ANY, cmd_import, NULL
};
static const struct cmd cmd_drop_column_spec = {
    "drop-column", "drop-column TABLE NAME…", "take columns out of the next version",
    "Older versions keep the columns; the files stay where they are.",
    "grebe drop-column words norm",
    NULL, write_options, 2, ANY, cmd_drop_column, NULL
};
static const struct cmd cmd_rename_column_spec = {
    "rename-column", "rename-column TABLE OLD NEW", "give a column another name",
    "No data file changes: the new name is kept in the version, beside the name that the files "
    "have. Programs that do not know Grebe's entries go on seeing the old name.",
    "grebe rename-column words rank frequency_rank",
    NULL, write_options, 3, 3, cmd_rename_column, NULL
};
static const struct cmd cmd_tag_spec = {
    "tag", "tag TABLE [NAME[@VERSION]] [--delete]", "name a version, or list the names",
    "A tag is made once and never moved. TABLE@NAME then opens that version.",
    "grebe tag words first@1\ngrebe head words@first",
    tag_options, open_only_options, 1, 2, cmd_tag, NULL
};
static const struct cmd cmd_head_spec = {
    "head", "head SOURCE… [--columns A,B] [--where EXPR] [--limit 10]", "show the first rows",
    "SOURCE is a table (t, t@5, t@tag, t@2026-11-29T12:00:00Z), a file (Parquet, Arrow, CSV, JSON), - for "
    "standard input, or a pattern such as 'data/part-*.parquet'. FORMAT:PATH says what a file is; packed:FOLDER "
    "reads the packed files of Milvus's second storage format. Several "
    "sources are read as one: columns are matched by name, what a source lacks is null.",
    "grebe head words --columns word,rank\ngrebe head words --where \"rank < 100 and word like 'th%'\"",
    NULL, read_options, 1, ANY, cmd_head, NULL
};
static const struct cmd cmd_scan_spec = {
    "scan", "scan SOURCE… [--columns A,B] [--where EXPR] [--rows BEGIN:END]", "print rows in order",
    "All rows, or those that --rows and --where leave. Only files of needed columns are opened, and "
    "row groups whose statistics rule the predicate out are not read.",
    "grebe scan words --columns word --where 'rank >= 19990' --format csv",
    NULL, read_options, 1, ANY, cmd_scan, NULL
};
static const struct cmd cmd_count_spec = {
    "count", "count SOURCE… [--where EXPR]", "count rows",
    "Without --where no data file is opened.",
    "grebe count words --where 'rank < 10'",
    NULL, read_options, 1, ANY, cmd_count, NULL
};
static const struct cmd cmd_take_spec = {
    "take", "take SOURCE… --rows 9,0,9,4 | --rows-from FILE [--columns A,B]", "fetch rows by id",
    "Rows come in the order asked for, duplicates are kept. The id of a row is given out when it is "
    "appended, counts up from 0, and never changes; in a file it is the position. An id beyond the "
    "end is exit 2.",
    "grebe take words --rows 9,0,9,4 --columns word,vector --format json",
    take_options, open_only_options, 1, ANY, cmd_take, NULL
};
static const struct cmd cmd_schema_spec = {
    "schema", "schema SOURCE…", "show the columns and their types",
    "With --format json in the form that create --schema takes.",
    "grebe schema words --format json",
    NULL, open_only_options, 1, ANY, cmd_schema, NULL
};
static const struct cmd cmd_info_spec = {
    "info", "info SOURCE", "show what a version consists of",
    "Rows, bytes, column groups and their files, delete logs, indexes, statistics entries.",
    "grebe info words --format json",
    NULL, open_only_options, 1, 1, cmd_info, NULL
};
static const struct cmd cmd_log_spec = {
    "log", "log TABLE [--limit N]", "list the versions, newest first",
    "Version, time of the commit, operation, rows, files, message.",
    "grebe log words",
    log_options, open_only_options, 1, 1, cmd_log, NULL
};
static const struct cmd cmd_explain_spec = {
    "explain", "explain SOURCE… [--columns A,B] [--where EXPR]", "show what a scan would read",
    "Files, row groups and bytes, without reading values.",
    "grebe explain words --columns vector --where 'rank < 100'",
    NULL, read_options, 1, ANY, cmd_explain, NULL
};
static const struct cmd cmd_check_spec = {
    "check", "check SOURCE [--deep]", "verify a table or a file",
    "Findings are listed, one a row; exit 5 when there are errors. --deep decodes every value and holds it "
    "against checksums and statistics.",
    "grebe check words --deep",
    check_options, open_only_options, 1, 1, cmd_check, NULL
};
static const struct cmd cmd_convert_spec = {
    "convert", "convert SOURCE… DEST [--columns A,B] [--where EXPR]", "write rows to one file",
    "DEST is written in the format that its name ends in: .parquet, .arrow (Arrow IPC file), .arrows (stream), "
    ".csv, .tsv, .json, .jsonl, text also with .gz or .zst. A file of that name is replaced in one step when everything is written.",
    "grebe convert words words.csv --columns word,rank",
    convert_options, read_options, 2, ANY, cmd_convert, NULL
};
static const struct cmd cmd_inspect_spec = {
    "inspect", "inspect FILE", "show the anatomy of a file",
    "Of a Parquet file a row for each column of a row group: encodings, codec, sizes, pages, indexes, bounds; of an "
    "Arrow file one for each batch; of text and streams the columns. --format json tells all that the footer, "
    "the page headers and the indexes say (docs/json/inspect.md).",
    "grebe inspect words/_data/0_*.parquet",
    inspect_options, NULL, 1, 1, cmd_inspect, NULL
};
static const struct cmd cmd_vdb_spec = {
    "vdb", "vdb [--db PATH] [--format FORM] COMMAND …", "vector collections as Git trees, compatible with git-vdb",
    "The sub-commands, options and standard output of git-vdb 0.4, and a few more; grebe vdb --help lists them, "
    "docs/guide/gitvdb.md explains them. Exit codes are those of grebe.",
    "grebe vdb upsert words words.jsonl\ngrebe vdb search words --vector 0.1,0.2 --with-payload",
    own_words, NULL, 0, ANY, cmd_vdb, NULL
};
static const struct cmd cmd_ann_spec = {
    "ann", "ann COMMAND …", "measure nearest-neighbour search: data sets, truth, runs",
    "Data sets are the HDF5 files of VSAG and of ann-benchmarks; docs/guide/ann-data.md explains them.",
    "grebe ann check glove-100-angular.hdf5",
    own_words, NULL, 0, ANY, NULL, ann_list
};
static const struct cmd cmd_data_spec = {
    "data", "data COMMAND …", "data sets for training: load, change, stream, save",
    "Folders and orders are those of the Python library `datasets`; docs/guide/dataset.md explains them.",
    "grebe data load reviews/",
    own_words, NULL, 0, ANY, NULL, data_list
};
static const struct cmd cmd_cache_spec = {
    "cache", "cache COMMAND …", "what `grebe data` prepared and computed",
    "Everything in the cache can be made again.",
    "grebe cache ls",
    own_words, NULL, 0, ANY, NULL, cache_list
};
static const struct cmd cmd_graph_spec = {
    "graph", "graph COMMAND …", "graphs for training, in the layout of GraphBolt",
    "A data set is a folder with metadata.yaml, which names edges, features and sets of items (docs/format/graph.md).",
    "grebe graph check data/\ngrebe graph preprocess data/\ngrebe graph info data/",
    own_words, NULL, 0, ANY, NULL, graph_list
};
static const struct cmd cmd_version_spec = {
    "version", "version [--build]", "say which version this is", "", NULL,
    version_options, NULL, 0, 0, cmd_version, NULL
};
static const struct cmd cmd_help_spec = {
    "help", "help [VERB [COMMAND]]", "show the verbs, or one of them", "", "grebe help take",
    help_options, NULL, 0, 2, cmd_help, NULL
};
static const struct cmd cmd_completions_spec = {
    "completions", "completions bash|zsh|fish", "print completions for a shell",
    "", "grebe completions bash > ~/.local/share/bash-completion/completions/grebe",
    NULL, NULL, 1, 1, cmd_completions, NULL
};

static const struct cmd cmd_stats_spec = {
    "stats", "stats SOURCE… [--columns A,B] [--where EXPR]", "show what the values of each column are like",
    "Rows, nulls, NaNs, distinct values (an estimate, about 1.6 % off), smallest and largest value, mean and "
    "standard deviation. Of lists and vectors these are of the elements.",
    "grebe stats words --columns rank,vector",
    NULL, read_options, 1, ANY, cmd_stats, NULL
};

const struct cmd *const cmd_list[] = {
    &cmd_create_spec, &cmd_append_spec, &cmd_add_column_spec, &cmd_import_spec, &cmd_drop_column_spec,
    &cmd_rename_column_spec, &cmd_tag_spec, &cmd_head_spec, &cmd_scan_spec, &cmd_count_spec,
    &cmd_take_spec, &cmd_schema_spec, &cmd_stats_spec, &cmd_info_spec, &cmd_log_spec, &cmd_explain_spec,
    &cmd_check_spec, &cmd_convert_spec, &cmd_inspect_spec, &cmd_vdb_spec, &cmd_search_spec, &cmd_index_spec, &cmd_ann_spec, &cmd_data_spec, &cmd_cache_spec, &cmd_graph_spec, &cmd_version_spec, &cmd_help_spec, &cmd_completions_spec, NULL
};

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        if (strcmp(cmd_list[i]->name, name) == 0) {
            return cmd_list[i];
        }
    }
    return NULL;
}

const struct cmd *cmd_find_sub(const struct cmd *verb, const char *sub)
{
    size_t n = strlen(verb->name);
    for (size_t i = 0; verb->subs != NULL && verb->subs[i] != NULL; i++) {
        if (strcmp(verb->subs[i]->name + n + 1, sub) == 0) {
            return verb->subs[i];
        }
    }
    return NULL;
}
