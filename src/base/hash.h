/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_HASH_H
#define GREBE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/** XXH64 of the bytes: the same on every machine (Parquet's bloom filters rely on it). */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);

/** XXH3, 64 bits, seed 0: the same on every machine, and at the speed of memory. */
uint64_t hash_xxh3(const void *bytes, size_t len);

/** The same of bytes that come in pieces. */
struct hash_stream;
/** @param out Owned; hash_stream_free(). */
grebe_status hash_stream_new(const grebe_allocator *a, struct hash_stream **out, grebe_error *err);
void hash_stream_free(struct hash_stream *h); /* NULL accepted */
void hash_stream_reset(struct hash_stream *h);
void hash_stream_put(struct hash_stream *h, const void *bytes, size_t len);
uint64_t hash_stream_get(const struct hash_stream *h);

/** CRC-32 with the gzip polynomial, as zlib's crc32(); start with crc 0. */
uint32_t hash_crc32(uint32_t crc, const void *bytes, size_t len);
/** The CRC-32 of bytes of which the last `len` have the CRC `second`, those before them `first`. */
uint32_t hash_crc32_join(uint32_t first, uint32_t second, uint64_t len);

#endif
