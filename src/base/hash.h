/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_HASH_H
#define GREBE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** XXH64 of the bytes: the same on every machine (Parquet's bloom filters rely on it). */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);

/** CRC-32 with the gzip polynomial, as zlib's crc32(); start with crc 0. */
uint32_t hash_crc32(uint32_t crc, const void *bytes, size_t len);

#endif
