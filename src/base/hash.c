/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <xxhash.h>
#include <zlib.h>

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    return XXH64(bytes, len, seed);
}

uint32_t hash_crc32(uint32_t crc, const void *bytes, size_t len)
{
    return (uint32_t)crc32_z(crc, bytes, len);
}
