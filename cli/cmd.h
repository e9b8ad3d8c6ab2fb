/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_CMD_H
#define GREBE_CLI_CMD_H

/*
 * What every verb sees: its parsed words, the context, and where output goes. A verb is one
 * entry of the table in cmd_table.c; its help text, man page and completions are made from that
 * entry.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exit_code.h"
#include "grebe/grebe.h"

enum { OPT_VALUES_MAX = 256 };

struct cli;

/** One option of a verb. */
struct opt_spec {
    const char *name; /* without "--"; NULL ends a list */
    const char *arg;  /* what its value is called; NULL: a flag */
    const char *help; /* one line */
    char short_name;  /* 0: none */
};

/** A verb. */
struct cmd {
    const char *name;
    const char *usage;   /* what follows "grebe NAME" */
    const char *summary; /* one line */
    const char *text;    /* paragraphs of the man page */
    const char *example; /* command lines, NULL: none */
    const struct opt_spec *options; /* beside the common ones */
    const struct opt_spec *more_options; /* a second list shared by several verbs; NULL: none */
    size_t positional_min, positional_max;
    int (*run)(struct cli *cli);
    const struct cmd *const *subs; /* NULL-ended sub-commands, whose names are "NAME SUB"; NULL: none */
};

/** The whole state of one invocation. */
struct cli {
    grebe_context *ctx;
    const struct cmd *cmd;

    char **positional; /* shape [n_positional] */
    size_t n_positional;
    struct {
        const char *name;
        const char *value; /* "" for a flag */
    } values[OPT_VALUES_MAX];
    size_t n_values;

    int format; /* grebe_print_format */
    bool is_quiet, is_verbose;
    bool is_colored;     /* standard output */
    bool is_for_inspection; /* tables open even when their rows cannot be read */
    bool is_pipe_closed; /* whoever reads standard output has seen enough */
    grebe_cancel *cancel;
    grebe_call_options call; /* threads, memory, cancel, progress */
    struct progress *progress;
    struct cli_block *blocks; /* cli_alloc */
};

/** Zeroed memory that is freed when the process ends; ends the process (exit 10) when there is none. */
void *cli_alloc(struct cli *cli, size_t n, size_t size);
char *cli_copy(struct cli *cli, const char *text);
void cli_free_all(struct cli *cli);

/* ---- cmd_table.c ---- */
extern const struct cmd *const cmd_list[]; /* NULL-ended, in the order of the help */
const struct cmd *cmd_find(const char *name);
const struct cmd *cmd_find_sub(const struct cmd *verb, const char *sub); /* NULL: none of that name */
extern const struct opt_spec own_words[]; /* as options of a verb: its words are not parsed, all are positionals */
extern const struct opt_spec common_options[];
extern const struct opt_spec read_options[];  /* --columns --where --rows --limit --version … */
extern const struct opt_spec write_options[]; /* --on-conflict --message --durable … */

/* ---- verbs: cmd_*.c ---- */
int cmd_create(struct cli *cli);
int cmd_append(struct cli *cli);
int cmd_add_column(struct cli *cli);
int cmd_import(struct cli *cli);
int cmd_drop_column(struct cli *cli);
int cmd_rename_column(struct cli *cli);
int cmd_tag(struct cli *cli);
int cmd_head(struct cli *cli);
int cmd_scan(struct cli *cli);
int cmd_count(struct cli *cli);
int cmd_take(struct cli *cli);
int cmd_schema(struct cli *cli);
int cmd_stats(struct cli *cli);
int cmd_info(struct cli *cli);
int cmd_log(struct cli *cli);
int cmd_explain(struct cli *cli);
int cmd_check(struct cli *cli);
int cmd_convert(struct cli *cli);
int cmd_inspect(struct cli *cli);
int cmd_vdb(struct cli *cli);
int cmd_version(struct cli *cli);
int cmd_help(struct cli *cli);
int cmd_completions(struct cli *cli);

/** Text of a man page, escaped. */
void man_text(const char *text);
/** "--NAME ARG" and its help, behind .TP and what stands before it. arg may be NULL. */
void man_option(const char *name, const char *arg, const char *help);

/* ---- cmd_common.c: what several verbs do ---- */

/** Open positional[i] as a source, with --version, --compat, --input-format. Exit code; 0: *out is set. */
int open_source(struct cli *cli, const char *uri, grebe_source **out);
/** As open_source, for rows that go to a table: without --schema the columns of text have the types that `like`, a
 *  struct schema or NULL, has. */
int open_source_like(struct cli *cli, const char *uri, const struct ArrowSchema *like,
                     grebe_source **out);
/** Open n sources as one. */
int open_sources(struct cli *cli, char **uris, size_t n, grebe_source **out);
/** Open a table for writing (or for log, tag, …). */
int open_table(struct cli *cli, const char *uri, grebe_table **out);

/** Fill scan options from --columns, --where, --rows, --limit, --with-row-id; names are cli_alloc'd. */
int scan_options_from(struct cli *cli, grebe_scan_options *out);
/** Scan the source, and change types as --cast says. Exit code; 0: *out is set. */
int scan_rows(struct cli *cli, grebe_source *source, const grebe_scan_options *options,
              struct ArrowArrayStream *out);
/** Fill write options from --group, --compression, …, and transaction options. */
int write_options_from(struct cli *cli, grebe_write_options *out);
int txn_options_from(struct cli *cli, grebe_txn_options *out);

/** Report what was made, where it is and how large: for people, so on standard error. */
void report_table(struct cli *cli, const grebe_table *table);

/** "a,\"b,c\",d" to names, cli_alloc'd. Exit code. */
int split_names(struct cli *cli, const char *text, const char ***out, size_t *n);
/** As split_names; a text may be empty. */
int split_words(struct cli *cli, const char *text, const char ***out, size_t *n);

#endif
