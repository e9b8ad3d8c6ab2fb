/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_OUT_H
#define GREBE_CLI_OUT_H

/* Data to standard output, everything else to standard error. */

#include "cmd.h"

/** The grebe_write_fn of standard output; write_ctx is the struct cli. */
int out_write(void *write_ctx, const void *bytes, size_t len);

/** printf to standard output. */
void out_printf(const char *fmt, ...) GREBE_PRINTF(1, 2);

/** Print a stream in cli->format. Exit code. */
int out_rows(struct cli *cli, struct ArrowArrayStream *rows);

/** Flush; an error of any earlier write shows here. Exit code. */
int out_finish(struct cli *cli, int code);

/** "grebe: <what>: <message>" (one JSON object with --format json|jsonl). Gives the exit code. */
int out_error(struct cli *cli, const char *what, const grebe_error *err);
/** A wrong word on the command line: exit code 2, with a hint where help is. */
int out_usage(struct cli *cli, const char *fmt, ...) GREBE_PRINTF(2, 3);
/** A line for people on standard error unless --quiet. */
void out_note(struct cli *cli, const char *fmt, ...) GREBE_PRINTF(2, 3);

/** A string as a JSON string, quotes included, on standard output. */
void out_json_text(const char *text);

/** Bytes as people read them: "12.3 MiB". dst: shape [16]. */
const char *size_text(char dst[16], uint64_t bytes);
/** Microseconds since the epoch as RFC 3339 with Z; "" for INT64_MIN. dst: shape [40]. */
const char *time_text(char dst[40], int64_t time_us);

#endif
