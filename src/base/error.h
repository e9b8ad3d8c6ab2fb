/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_ERROR_H
#define GREBE_BASE_ERROR_H

/*
 * Raising and passing on errors. The message is written where the fact is known
 * (GREBE_FAIL); frames further out only put a place in front of it (error_wrap).
 */

#include <stdarg.h>
#include <stddef.h>

#include "grebe/status.h"

/** Fill err (NULL: nothing to fill) and give back `code`. */
#define GREBE_FAIL(err, code, ...) error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__)

/** As GREBE_FAIL, with an errno value that is kept in err->sys and named in the message. */
#define GREBE_FAIL_SYS(err, code, sys_errno, ...) \
    error_set_sys((err), (code), (sys_errno), __FILE__, __LINE__, __VA_ARGS__)

/** Run expr; on anything but GREBE_OK go to the label `out`. Needs a variable `st`. */
#define GREBE_TRY(expr)       \
    do {                      \
        st = (expr);          \
        if (st != GREBE_OK) { \
            goto out;         \
        }                     \
    } while (0)

/** A caller's argument at a public entry: the text of the condition is the message. */
#define GREBE_CHECK_ARG(err, cond)                                                      \
    do {                                                                                \
        if (!(cond)) {                                                                  \
            return GREBE_FAIL((err), GREBE_EINVAL, "%s: expected %s", __func__, #cond); \
        }                                                                               \
    } while (0)

grebe_status error_set(grebe_error *err, grebe_status code, const char *file, int line,
                       const char *fmt, ...) GREBE_PRINTF(5, 6);
grebe_status error_set_sys(grebe_error *err, grebe_status code, int sys, const char *file,
                           int line, const char *fmt, ...) GREBE_PRINTF(6, 7);

/** Put "<formatted>: " in front of the message of a failure; gives back st unchanged. */
grebe_status error_wrap(grebe_error *err, grebe_status st, const char *fmt, ...)
    GREBE_PRINTF(3, 4);

/** Pass on a failure that was told in an error of the caller's own; gives back st unchanged. */
grebe_status error_copy(grebe_error *err, grebe_status st, const grebe_error *from);

/** Remember the byte offset that the message speaks of; gives back st unchanged. */
grebe_status error_at(grebe_error *err, grebe_status st, uint64_t offset);

/**
 * Untrusted bytes as text for a message: printable UTF-8 kept, anything else as \xNN, cut
 * with "..." when dst is full.
 *
 * @param dst     Written, NUL-terminated. Shape [dst_len], dst_len >= 8.
 * @param bytes   Borrowed; NULL only when len is 0.
 * @return dst.
 */
const char *error_quote(char *dst, size_t dst_len, const void *bytes, size_t len);

/** The status that fits an errno value (ENOENT: ENOTFOUND, ENOSPC: ELIMIT, …). */
grebe_status status_from_errno(int sys);

#endif
