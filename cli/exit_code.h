/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_EXIT_CODE_H
#define GREBE_CLI_EXIT_CODE_H

#include "grebe/grebe.h"

/* What the command ends with (docs/man/grebe.1, "exit status"). */
enum {
    EXIT_CODE_OK = 0,
    EXIT_CODE_FAILURE = 1,
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_NOT_FOUND = 3,
    EXIT_CODE_EXISTS = 4,
    EXIT_CODE_CORRUPT = 5, /* also a check with findings */
    EXIT_CODE_UNSUPPORTED = 6,
    EXIT_CODE_CONFLICT = 7,
    EXIT_CODE_UNKNOWN_OUTCOME = 8,
    EXIT_CODE_NETWORK = 9, /* or credentials */
    EXIT_CODE_LIMIT = 10,  /* a limit, memory or no space */
    EXIT_CODE_SCHEMA = 11,
    EXIT_CODE_INTERRUPTED = 130
};

int exit_code_of(grebe_status status);

#endif
