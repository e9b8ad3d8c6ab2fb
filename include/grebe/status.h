/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_STATUS_H
#define GREBE_STATUS_H

/*
 * Status codes and the error record.
 *
 * Every fallible function returns a grebe_status and takes a caller-owned grebe_error as its
 * last argument (NULL: the message is not wanted). There is no "last error" kept anywhere.
 */

#include <stdint.h>

#if defined(_WIN32)
#define GREBE_API
#elif defined(__GNUC__)
#define GREBE_API __attribute__((visibility("default")))
#else
#define GREBE_API
#endif

#if defined(__GNUC__)
#define GREBE_MUST_CHECK __attribute__((warn_unused_result))
#define GREBE_PRINTF(fmt_arg, first_arg) __attribute__((format(printf, fmt_arg, first_arg)))
#else
#define GREBE_MUST_CHECK
#define GREBE_PRINTF(fmt_arg, first_arg)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Result of a call. Values are never reused; gaps are allowed. */
typedef enum grebe_status {
    GREBE_OK = 0,
    GREBE_END = 1,     /**< an iterator is exhausted: not an error, no message */
    GREBE_EINVAL = -1, /**< the caller's argument, or the order of calls */
    GREBE_ENOMEM = -2,
    GREBE_ENOTFOUND = -3,
    GREBE_EEXISTS = -4,
    GREBE_ECORRUPT = -5,     /**< bytes contradict their format */
    GREBE_EUNSUPPORTED = -6, /**< valid, but newer than this library or not built in */
    GREBE_ELIMIT = -7,       /**< a stated limit was hit; the message has limit and value */
    GREBE_EIO = -8,
    GREBE_ENETWORK = -9,
    GREBE_EAUTH = -10,
    GREBE_ECONFLICT = -11,        /**< somebody else committed; nothing was written */
    GREBE_EUNKNOWN_OUTCOME = -12, /**< commit sent, answer lost: may or may not be visible */
    GREBE_ECANCELLED = -13,
    GREBE_ESCHEMA = -14 /**< names, types, shapes or row counts do not fit */
} grebe_status;

/** Bits of grebe_error.flags. */
enum {
    GREBE_ERROR_RETRYABLE = 1u << 0,    /**< the same call may succeed later */
    GREBE_ERROR_HAS_OFFSET = 1u << 1,   /**< `offset` is set */
    GREBE_ERROR_HAS_VERSIONS = 1u << 2, /**< `read_version` and `latest_version` are set */
    GREBE_ERROR_TRUNCATED = 1u << 3     /**< the message did not fit and was cut */
};

/** Details of a failure. Plain value; owned by the caller; no clean-up needed. */
typedef struct grebe_error {
    grebe_status status;
    uint32_t flags;
    int32_t sys;      /**< errno or HTTP status; 0 when there is none */
    uint32_t line;    /**< where in the library the failure was found */
    const char *file; /**< static string */
    uint64_t offset;  /**< byte offset in the file that the message names */
    uint64_t read_version;
    uint64_t latest_version; /**< commit conflicts */
    char message[512];       /**< UTF-8, one line, never empty after a failure */
} grebe_error;

/** An error record to start from: `grebe_error err = GREBE_ERROR_INIT;` */
#define GREBE_ERROR_INIT                   \
    {                                      \
        GREBE_OK, 0, 0, 0, 0, 0, 0, 0, { 0 } \
    }

/**
 * The lower-case word for a status, as the command prints it ("conflict", "corrupt", …).
 *
 * @return Static string; "unknown" for a value that is none.
 */
GREBE_API const char *grebe_status_name(grebe_status status);

#ifdef __cplusplus
}
#endif
#endif
