/* SPDX-License-Identifier: Apache-2.0 */
#include "base/context_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/hash.h"

enum { METADATA_CACHE_BYTES = 256 << 20, OPEN_FILES_MAX = 256, IDLE_BUFFER_BYTES = 64 << 20 };

/* SOURCE_DATE_EPOCH: the convention of reproducible-builds.org; seconds since the epoch. */
static int64_t system_clock_us(void *ctx)
{
    (void)ctx;
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    if (fixed != NULL && *fixed != '\0') {
        char *end = NULL;
        errno = 0;
        long long s = strtoll(fixed, &end, 10);
        if (errno == 0 && *end == '\0' && s >= 0 && s < INT64_MAX / 1000000) {
            return s * 1000000;
        }
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

grebe_status options_copy(void *dst, size_t dst_size, const void *options, grebe_error *err)
{
    uint32_t size = 0;
    if (options == NULL) {
        return GREBE_OK;
    }
    memcpy(&size, options, sizeof size);
    if (size < sizeof size) {
        return GREBE_FAIL(err, GREBE_EINVAL, "options: expected struct_size >= 4, found %u", size);
    }
    memcpy(dst, options, min_size(size, dst_size));
    return GREBE_OK;
}

/* Most of what the process may open is left to others. */
static size_t open_files_default(void)
{
    long may_open = sysconf(_SC_OPEN_MAX);
    return may_open > 0 && may_open / 4 < OPEN_FILES_MAX ? (size_t)may_open / 4 : OPEN_FILES_MAX;
}

grebe_status context_new(const grebe_context_options *options, grebe_context **out,
                         grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    *out = NULL;
    st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "context");
    }
    const grebe_allocator *inner = o.allocator != NULL ? o.allocator : mem_system();
    grebe_context *ctx = mem_alloc_zero(inner, sizeof *ctx);
    if (ctx == NULL) {
        return mem_fail(err, sizeof *ctx, "a context");
    }
    ctx->caller_allocator = inner;
    ctx->log = o.log;
    ctx->log_ctx = o.log_ctx;
    ctx->clock_us = o.clock_us != NULL ? o.clock_us : system_clock_us;
    ctx->clock_ctx = o.clock_ctx;
    ctx->random_seed = o.random_seed;
    ctx->memory_limit_bytes = o.memory_limit_bytes;
    atomic_init(&ctx->threads, o.threads);
    atomic_init(&ctx->random_counter, 0);

    size_t metadata_bytes = o.metadata_cache_bytes != 0 ? (size_t)o.metadata_cache_bytes
                                                        : (size_t)METADATA_CACHE_BYTES;
    size_t files_max = o.open_files_max == UINT32_MAX ? 0
                       : o.open_files_max != 0        ? o.open_files_max
                                                      : open_files_default();
    GREBE_TRY(buffer_pool_new(inner, IDLE_BUFFER_BYTES, &ctx->buffers, err));
    const grebe_allocator *a = buffer_pool_allocator(ctx->buffers);
    ctx->a = a;
    GREBE_TRY(pool_new(a, &ctx->pool, err));
    GREBE_TRY(cache_new(a, metadata_bytes, 65536, &ctx->metadata, err));
    GREBE_TRY(cache_new(a, SIZE_MAX, files_max, &ctx->files, err));
    *out = ctx;
    ctx = NULL;
out:
    context_free(ctx);
    return st;
}

void context_free(grebe_context *ctx)
{
    if (ctx == NULL) {
        return;
    }
    pool_free(ctx->pool);
    cache_free(ctx->metadata);
    cache_free(ctx->files);
    buffer_pool_free(ctx->buffers);
    mem_free(ctx->caller_allocator, ctx, sizeof *ctx);
}

void grebe_context_set_threads(grebe_context *ctx, uint32_t threads)
{
    atomic_store(&ctx->threads, threads);
}

uint32_t grebe_context_threads(const grebe_context *ctx)
{
    uint32_t n = atomic_load(&ctx->threads);
    if (n == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        n = cores < 1 ? 1 : cores > 256 ? 256 : (uint32_t)cores;
    }
    return n;
}

int64_t context_now_us(grebe_context *ctx) { return ctx->clock_us(ctx->clock_ctx); }

grebe_status context_random(grebe_context *ctx, void *bytes, size_t n, grebe_error *err)
{
    unsigned char *p = bytes;
    if (ctx->random_seed != 0) {
        /* XXH64 of a counter: fixed by the seed, the same on every machine. */
        while (n > 0) {
            unsigned char word[8];
            uint64_t count = atomic_fetch_add(&ctx->random_counter, 1);
            store_le64(word, count);
            store_le64(word, hash_bytes(word, 8, ctx->random_seed));
            size_t part = n < 8 ? n : 8;
            memcpy(p, word, part);
            p += part;
            n -= part;
        }
        return GREBE_OK;
    }
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return GREBE_FAIL_SYS(err, GREBE_EIO, errno, "cannot read random bytes");
        }
        p += got;
        n -= (size_t)got;
    }
    return GREBE_OK;
}

grebe_status context_uuid(grebe_context *ctx, char dst[37], grebe_error *err)
{
    unsigned char b[16];
    grebe_status st = context_random(ctx, b, sizeof b, err);
    if (st != GREBE_OK) {
        return st;
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* RFC 9562: version 4, variant 10 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    static const char hex[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            dst[at++] = '-';
        }
        dst[at++] = hex[b[i] >> 4];
        dst[at++] = hex[b[i] & 15];
    }
    dst[at] = '\0';
    assert(at == 36);
    return GREBE_OK;
}

void context_log(grebe_context *ctx, grebe_log_level level, const char *fmt, ...)
{
    if (ctx->log == NULL) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    ctx->log(ctx->log_ctx, level, line);
}

struct call call_options_resolve(const grebe_context *ctx, const grebe_call_options *options)
{
    grebe_call_options o = GREBE_CALL_OPTIONS_INIT;
    if (options_copy(&o, sizeof o, options, NULL) != GREBE_OK) {
        o = (grebe_call_options)GREBE_CALL_OPTIONS_INIT; /* nothing that could be read: defaults */
    }
    struct call call;
    call.threads = o.threads != 0 ? o.threads : grebe_context_threads(ctx);
    call.memory_limit_bytes = o.memory_limit_bytes != 0        ? o.memory_limit_bytes
                              : ctx->memory_limit_bytes != 0 ? ctx->memory_limit_bytes
                                                             : UINT64_MAX;
    call.cancel = o.cancel;
    call.progress = o.progress;
    call.progress_ctx = o.progress_ctx;
    return call;
}

grebe_status call_check(const struct call *call, grebe_error *err)
{
    if (call->cancel != NULL && grebe_cancel_is_set(call->cancel)) {
        return GREBE_FAIL(err, GREBE_ECANCELLED, "cancelled");
    }
    return GREBE_OK;
}

grebe_status grebe_cancel_new(grebe_context *ctx, grebe_cancel **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && out != NULL);
    grebe_cancel *cancel = mem_alloc_zero(ctx->a, sizeof *cancel);
    *out = cancel;
    if (cancel == NULL) {
        return mem_fail(err, sizeof *cancel, "a cancel token");
    }
    atomic_init(&cancel->is_set, false);
    cancel->a = ctx->a;
    return GREBE_OK;
}

void grebe_cancel_set(grebe_cancel *cancel) { atomic_store(&cancel->is_set, true); }

bool grebe_cancel_is_set(const grebe_cancel *cancel) { return atomic_load(&cancel->is_set); }

void grebe_cancel_free(grebe_cancel *cancel)
{
    if (cancel != NULL) {
        mem_free(cancel->a, cancel, sizeof *cancel);
    }
}
