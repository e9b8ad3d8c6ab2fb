/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_ROWS_H
#define GREBE_CLI_ROWS_H

/*
 * Small tables that the command makes itself (log, tags, files), as an Arrow stream, so that
 * they print in every format that data prints in. Memory errors end the process with exit 10.
 */

#include "cmd.h"

struct rows;

/** @param columns NULL-ended pairs "name:type" with type text, int or bool. */
struct rows *rows_new(const char *const *columns);
void rows_text(struct rows *r, const char *value); /* NULL: null */
void rows_int(struct rows *r, int64_t value);      /* INT64_MIN: null */
void rows_bool(struct rows *r, bool value);
/** The next row begins by itself when all columns of one are given. Prints and frees. Exit code. */
int rows_print(struct cli *cli, struct rows *r);
/** Free without printing. */
void rows_drop(struct rows *r);

/** A stream with this schema and no rows. schema is moved in. */
void rows_empty_stream(struct ArrowSchema *schema, struct ArrowArrayStream *out);

#endif
