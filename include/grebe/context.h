/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CONTEXT_H
#define GREBE_CONTEXT_H

/*
 * A context owns what calls share: allocator, worker threads, caches of file metadata and of
 * mapped files, clock, random source, log callback. The library keeps no other state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grebe/alloc.h"
#include "grebe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_context grebe_context;

/** Severity of a log line. */
typedef enum grebe_log_level {
    GREBE_LOG_DEBUG = 0,
    GREBE_LOG_INFO = 1,
    GREBE_LOG_WARNING = 2
} grebe_log_level;

/** How a context is made. Fields beyond struct_size take their defaults. */
typedef struct grebe_context_options {
    uint32_t struct_size;

    /** Borrowed until grebe_context_free(); NULL: the C library's. */
    const grebe_allocator *allocator;

    /** Threads that one call may use at most, the caller's included; 0: one per core. */
    uint32_t threads;

    /** Soft limit in bytes for the working memory of one call; 0: none. */
    uint64_t memory_limit_bytes;

    /** Bytes that cached file metadata may hold; 0: 256 MiB. */
    uint64_t metadata_cache_bytes;

    /** Files kept open and mapped for later opens; 0: 256, or a quarter of what the process may open. UINT32_MAX: none. */
    uint32_t open_files_max;

    /** Called from any thread with a line that has no newline. NULL: nothing is logged. */
    void (*log)(void *log_ctx, grebe_log_level level, const char *line);
    void *log_ctx;

    /** Microseconds since 1970-01-01T00:00:00Z. NULL: the system's clock. */
    int64_t (*clock_us)(void *clock_ctx);
    void *clock_ctx;

    /** Seed of the random source (file names). 0: from the system, different each time. */
    uint64_t random_seed;
} grebe_context_options;

#define GREBE_CONTEXT_OPTIONS_INIT                                                  \
    {                                                                               \
        sizeof(grebe_context_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                 \
    }

/**
 * Make a context that knows every file format built into the library.
 *
 * @param options Borrowed for the call; NULL: all defaults.
 * @param out     Owned by the caller, free with grebe_context_free(); NULL on failure.
 * @param err     Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL (struct_size); GREBE_ENOMEM.
 *
 * Threads: one context may be used from many threads. After fork() the child may go on using
 *          it: worker threads are started anew there and caches that were locked are dropped.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_context_new(const grebe_context_options *options,
                                                          grebe_context **out, grebe_error *err);

/**
 * Free a context. Everything opened with it must have been closed; arrays and streams handed
 * out may live longer only if their docstring says so.
 *
 * @param ctx NULL is accepted.
 */
GREBE_API void grebe_context_free(grebe_context *ctx);

/**
 * Change the number of threads that later calls may use.
 *
 * @param ctx     Borrowed.
 * @param threads 0: one per core.
 */
GREBE_API void grebe_context_set_threads(grebe_context *ctx, uint32_t threads);

/** @return Threads that one call may use at most, at least 1. */
GREBE_API uint32_t grebe_context_threads(const grebe_context *ctx);

/** A flag that one thread sets and long calls look at. */
typedef struct grebe_cancel grebe_cancel;

/**
 * @param ctx Borrowed.
 * @param out Owned by the caller, free with grebe_cancel_free().
 * @param err Details on failure; may be NULL.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_cancel_new(grebe_context *ctx, grebe_cancel **out,
                                                         grebe_error *err);

/**
 * Ask every call that was given this token to stop soon with GREBE_ECANCELLED.
 *
 * @param cancel Borrowed. Safe in a signal handler and from any thread.
 */
GREBE_API void grebe_cancel_set(grebe_cancel *cancel);

/** @return Whether grebe_cancel_set() was called. */
GREBE_API bool grebe_cancel_is_set(const grebe_cancel *cancel);

/** @param cancel NULL is accepted. No call that uses it may be running. */
GREBE_API void grebe_cancel_free(grebe_cancel *cancel);

/** How far a long call has come. Totals are 0 while they are not known. */
typedef struct grebe_progress {
    const char *phase; /**< static string such as "write" */
    uint64_t rows_done, rows_total;
    uint64_t bytes_done, bytes_total;
} grebe_progress;

/** What every long call takes. Fields beyond struct_size take their defaults. */
typedef struct grebe_call_options {
    uint32_t struct_size;

    /** Threads of this call, the caller's included; 0: the context's. */
    uint32_t threads;

    /** Soft limit in bytes of working memory; one unit of work always runs; 0: the context's. */
    uint64_t memory_limit_bytes;

    /** Borrowed for the call (for streams: until their release); NULL: cannot be cancelled. */
    grebe_cancel *cancel;

    /** Called from one thread at a time, as often as work is done; NULL: nothing. */
    void (*progress)(void *progress_ctx, const grebe_progress *progress);
    void *progress_ctx;
} grebe_call_options;

#define GREBE_CALL_OPTIONS_INIT                            \
    {                                                      \
        sizeof(grebe_call_options), 0, 0, 0, 0, 0          \
    }

#ifdef __cplusplus
}
#endif
#endif
