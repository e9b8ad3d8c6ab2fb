/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_TEXT_OPTIONS_H
#define GREBE_CLI_TEXT_OPTIONS_H

#include "cmd.h"

/** A whole text file, or standard input for "-". *text is to be freed, whatever the exit code. */
int read_text(struct cli *cli, const char *path, char **text, size_t *len);

/** The schema that the file of --schema holds; another file is a usage error. Exit code; 0: *out is to be released. */
int schema_option(struct cli *cli, struct ArrowSchema *out);

/**
 * The layout of a source's text. Exit code.
 *
 * @param schema What --schema holds: to be released, whatever the exit code.
 */
int text_options_from(struct cli *cli, grebe_text_options *out, struct ArrowSchema *schema);

/** The layout of a file that is written. Exit code. */
int text_output_from(struct cli *cli, grebe_text_options *out);

#endif
