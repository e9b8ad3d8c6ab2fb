/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_OPT_H
#define GREBE_CLI_OPT_H

#include "cmd.h"

/**
 * Sort words into options and positionals of cli->cmd. Exit code; a message was printed unless 0.
 *
 * @param words Shape [n]; reordered, kept.
 */
int opt_parse(struct cli *cli, char **words, size_t n);

/** Last value given, NULL: not given. */
const char *opt_get(const struct cli *cli, const char *name);
bool opt_has(const struct cli *cli, const char *name);
/** i-th value of an option that may be repeated; NULL: no more. */
const char *opt_nth(const struct cli *cli, const char *name, size_t i);

/** Values as numbers. Exit code; *out is left alone when the option was not given. */
int opt_int(struct cli *cli, const char *name, int64_t min, int64_t max, int64_t *out);
/** "64MiB", "1GB", "4096". */
int opt_size(struct cli *cli, const char *name, uint64_t *out);
/** "BEGIN:END", either may be left out. */
int opt_range(struct cli *cli, const char *name, int64_t *begin, int64_t *end);
/** One of the words in choices ("on|off"); *out is its number. */
int opt_choice(struct cli *cli, const char *name, const char *choices, int *out);

/** --durable, which a verb has by OPT_DURABLE; *out is left alone when it was not given. */
int opt_durable(struct cli *cli, bool *out);
/** A row of options. what: "version", "name", "folder"; standard: "on" or "off". */
#define OPT_DURABLE(what, standard) { "durable", "on|off", "sync to disk before the " what " appears (default " standard ")", 0 }

/** The nearest of a NULL-ended list of words, NULL: none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t n);

#endif
