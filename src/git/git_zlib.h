/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_ZLIB_H
#define GREBE_GIT_GIT_ZLIB_H

/* The zlib streams of Git objects (RFC 1950). Streams are kept between objects: making one costs more than most objects
 * do. */

#include <stdbool.h>

#include "base/buf.h"

struct z_stream_s;

/** Compresses one object after another. */
struct repo_deflater {
    const grebe_allocator *a;
    struct z_stream_s *z; /* NULL: not needed yet */
    int level;
    struct buf sample; /* scratch */
};
void repo_deflater_init(struct repo_deflater *d, const grebe_allocator *a);
void repo_deflater_release(struct repo_deflater *d);

/**
 * Append the stream of some bytes.
 *
 * @param level 0 to 9, 0 is stored; -1: chosen by the content (stored when that costs less than a tenth more);
 *              REPO_RECORDS().
 */
grebe_status repo_deflate(struct repo_deflater *d, const void *bytes, size_t len, int level, struct buf *out,
                         grebe_error *err);

/**
 * The bytes of one stream whose length is known. Its checksum is not looked at: the hash of the object says more.
 *
 * @param src_len Bytes that may be read: more than the stream has.
 * @param dst     Written, shape [dst_len].
 * @param used    Bytes of the stream, checksum included; NULL: not asked.
 * @return GREBE_OK; GREBE_ECORRUPT (no stream, cut, or of another length); GREBE_ENOMEM.
 */
grebe_status repo_inflate(const grebe_allocator *a, const unsigned char *src, size_t src_len, unsigned char *dst,
                         size_t dst_len, size_t *used, grebe_error *err);
/** The first bytes of a stream, at most dst_len. *got may be fewer when the stream ends. */
grebe_status repo_inflate_head(const grebe_allocator *a, const unsigned char *src, size_t src_len, unsigned char *dst,
                              size_t dst_len, size_t *got, grebe_error *err);

#endif
