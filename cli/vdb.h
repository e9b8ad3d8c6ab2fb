/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_VDB_H
#define GREBE_CLI_VDB_H

/*
 * `grebe vdb`: the command line of git-vdb 0.4. Its words are read as that program reads them (one value for each option, options before and
 * after the sub-command, values that begin with "-" only behind "="), so it has a parser of its own beside opt.h.
 */

#include <stdio.h>

#include "cmd.h"

enum vdb_option_kind { VDB_FLAG, VDB_TEXT, VDB_NUMBER, VDB_MANY };

struct vdb_option {
    const char *name; /* without "--"; NULL ends a list */
    enum vdb_option_kind kind;
    const char *arg;  /* what its value is called */
    const char *help; /* one line; NULL: not shown */
};

enum { VDB_POSITIONAL_MAX = 3, VDB_WORDS_MAX = 16 };

struct vdb_words;

struct vdb_command {
    const char *group; /* "collection", or NULL */
    const char *name;
    const char *alias; /* NULL: none */
    const char *usage; /* of its positionals */
    const char *summary;
    int min, max; /* positionals; max > VDB_POSITIONAL_MAX: any number, into the list "PATH" */
    grebe_vdb_mode mode;
    bool needs_no_repository;
    bool is_ours; /* not of git-vdb */
    const struct vdb_option *options;
    int (*run)(struct vdb_words *w);
};

/** Values of one option. */
struct vdb_given {
    const struct vdb_option *option;
    const char **values;
    size_t n, capacity;
    uint64_t number;
};

/** A command line that was understood. */
struct vdb_words {
    struct cli *cli;
    const struct vdb_command *command;
    const char *db;
    int form; /* grebe_vdb_form; FORM_ROWS and beyond: a grebe_print_format */
    const char *positional[VDB_POSITIONAL_MAX];
    const char **more; /* further ones; shape [n_more] */
    int n_positional;
    size_t n_more;
    struct vdb_given given[VDB_WORDS_MAX];
    size_t n_given;
    grebe_vdb *vdb; /* opened before run, unless needs_no_repository */
};

/** Results as rows, in a form of grebe_print_rows(): FORM_ROWS + grebe_print_format. */
enum { FORM_ROWS = 16 };

extern const struct vdb_command vdb_commands[]; /* name NULL ends it */
extern const struct vdb_option vdb_globals[];

/** Exit code; 0: w is filled. -1: help was printed. */
int vdb_words_parse(struct cli *cli, char **words, size_t n, struct vdb_words *w);

bool vdb_has(const struct vdb_words *w, const char *name);
const char *vdb_value(const struct vdb_words *w, const char *name);  /* NULL: not given */
uint64_t vdb_number(const struct vdb_words *w, const char *name, uint64_t otherwise);
const struct vdb_given *vdb_values(const struct vdb_words *w, const char *name); /* NULL: not given */

/** Help on standard output (usage errors: nothing of it). */
void vdb_help(const struct vdb_command *c);
void vdb_overview(const char *group, FILE *f);
/** "collection info NAME [options]" and a line feed. */
void vdb_usage_line(const struct vdb_command *c, FILE *f);

/** The sub-commands as sections of grebe-vdb(1). */
void vdb_man(void);
/** Print the completions of a shell: bash, elvish, fish, powershell, zsh from 0. */
int vdb_completions(int shell);
/** Open the repository, for sub-commands that look at their words first: a wrong one makes no repository. Exit code. */
int vdb_open(struct vdb_words *w);
/** Print a result and free it. Exit code. */
int vdb_print(struct vdb_words *w, grebe_vdb_result *r);
/** Print what a call gave, or its error. Exit code. */
int vdb_finish(struct vdb_words *w, grebe_status st, const grebe_error *err, grebe_vdb_result *r);
/** "grebe: vdb NAME: message". Gives the exit code. */
int vdb_error(struct vdb_words *w, const grebe_error *err);
/** A wrong combination of words: exit code 2. */
int vdb_usage(struct vdb_words *w, const char *fmt, ...) GREBE_PRINTF(2, 3);

/** A text that an option means: "-" is standard input, the name of a file its content, anything else itself. NUL-terminated. Exit code. */
int vdb_text_of(struct vdb_words *w, const char *word, const char **out, size_t *len);
/** The text of --vector: a file must hold JSON, an array or an object; a word may be numbers with commas between, or an array. Exit
 *  code. */
int vdb_vector_word(struct vdb_words *w, const char *word, const char **out);
/** --expect-root, --batch-size, --single-commit, --id-column, --vector-column, --progress. @param name Of the input. */
void vdb_write_options_from(struct vdb_words *w, const char *name, grebe_vdb_write_options *o);
/** The whole of a file or of standard input ("-"). Exit code. */
int vdb_read_all(struct vdb_words *w, const char *path, const char **out, size_t *len);
/** --filter and --ids. Exit code. */
int vdb_select_of(struct vdb_words *w, grebe_vdb_select *out);
/** --at, --with-payload, --with-vector, --fields, --offset, --limit. */
void vdb_read_options_from(struct vdb_words *w, grebe_vdb_read_options *out);

/* ---- sub-commands: vdb_*.c ---- */
int vdb_run_init(struct vdb_words *w);
int vdb_run_collection_create(struct vdb_words *w);
int vdb_run_collection_list(struct vdb_words *w);
int vdb_run_collection_info(struct vdb_words *w);
int vdb_run_collection_delete(struct vdb_words *w);
int vdb_run_upsert(struct vdb_words *w);
int vdb_run_import(struct vdb_words *w);
int vdb_run_export(struct vdb_words *w);
int vdb_run_get(struct vdb_words *w);
int vdb_run_delete(struct vdb_words *w);
int vdb_run_count(struct vdb_words *w);
int vdb_run_search(struct vdb_words *w);
int vdb_run_index(struct vdb_words *w);
int vdb_run_history(struct vdb_words *w);
int vdb_run_restore(struct vdb_words *w);
int vdb_run_push(struct vdb_words *w);
int vdb_run_pull(struct vdb_words *w);
int vdb_run_diff(struct vdb_words *w);
int vdb_run_validate(struct vdb_words *w);
int vdb_run_doctor(struct vdb_words *w);
int vdb_run_copy(struct vdb_words *w);
int vdb_run_rename(struct vdb_words *w);
int vdb_run_merge(struct vdb_words *w);
int vdb_run_stats(struct vdb_words *w);
int vdb_run_gc(struct vdb_words *w);
int vdb_run_completions(struct vdb_words *w);

#endif
