/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_CONTEXT_INTERNAL_H
#define GREBE_BASE_CONTEXT_INTERNAL_H

/* The context as the rooms see it. Rooms above keep their own things in slots. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/buffer_pool.h"
#include "base/cache.h"
#include "base/pool.h"
#include "grebe/context.h"

struct grebe_cancel {
    atomic_bool is_set;
    const grebe_allocator *a;
};

struct source_registry; /* source/source.h: what can be opened; set by src/grebe/ */

struct grebe_context {
    const grebe_allocator *a; /* what every room allocates from: the pool below */
    const grebe_allocator *caller_allocator;
    struct buffer_pool *buffers;
    struct pool *pool;
    atomic_uint threads; /* 0: one per core */
    uint64_t memory_limit_bytes;
    struct cache *metadata; /* decoded footers, manifests; keyed by kind + path */
    struct cache *files;    /* open and mapped files */
    void (*log)(void *log_ctx, grebe_log_level level, const char *line);
    void *log_ctx;
    int64_t (*clock_us)(void *clock_ctx);
    void *clock_ctx;
    uint64_t random_seed;
    atomic_uint_fast64_t random_counter;
    const struct source_registry *registry;
};

/** grebe_context_new() without the registry. */
grebe_status context_new(const grebe_context_options *options, grebe_context **out,
                         grebe_error *err);
void context_free(grebe_context *ctx);

/** Microseconds since the epoch; SOURCE_DATE_EPOCH is looked at by the default clock. */
int64_t context_now_us(grebe_context *ctx);

/** n random bytes: from the system, or a fixed sequence when the context has a seed. */
grebe_status context_random(grebe_context *ctx, void *bytes, size_t n, grebe_error *err);

/** A random version-4 UUID in lower case with dashes. dst: shape [37]. */
grebe_status context_uuid(grebe_context *ctx, char dst[37], grebe_error *err);

void context_log(grebe_context *ctx, grebe_log_level level, const char *fmt, ...)
    GREBE_PRINTF(3, 4);

/* Options of one call with every default filled in. */
struct call {
    uint32_t threads;
    uint64_t memory_limit_bytes; /* UINT64_MAX: none */
    const grebe_cancel *cancel;
    void (*progress)(void *progress_ctx, const grebe_progress *progress);
    void *progress_ctx;
};

struct call call_options_resolve(const grebe_context *ctx, const grebe_call_options *options);

/**
 * Copy what a caller's options struct has (its first member is its size) over the defaults in
 * dst. options NULL: the defaults stay. GREBE_OK; GREBE_EINVAL (struct_size).
 */
grebe_status options_copy(void *dst, size_t dst_size, const void *options, grebe_error *err);

/** GREBE_ECANCELLED when the token of the call is set. */
grebe_status call_check(const struct call *call, grebe_error *err);

#endif
