/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_ENDIAN_H
#define GREBE_BASE_ENDIAN_H

/* Unaligned loads and stores, little-endian and (for hashes and Git) big-endian, by shifts, so that any host gives the same. */

#include <stdint.h>
#include <string.h>

static inline uint16_t load_le16(const void *p)
{
    const unsigned char *b = p;
    return (uint16_t)(b[0] | (unsigned)b[1] << 8);
}

static inline uint32_t load_le32(const void *p)
{
    const unsigned char *b = p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t load_le64(const void *p)
{
    const unsigned char *b = p;
    return (uint64_t)load_le32(b) | (uint64_t)load_le32(b + 4) << 32;
}

static inline void store_le16(void *p, uint16_t v)
{
    unsigned char *b = p;
    b[0] = (unsigned char)v;
    b[1] = (unsigned char)(v >> 8);
}

static inline void store_le32(void *p, uint32_t v)
{
    unsigned char *b = p;
    b[0] = (unsigned char)v;
    b[1] = (unsigned char)(v >> 8);
    b[2] = (unsigned char)(v >> 16);
    b[3] = (unsigned char)(v >> 24);
}

static inline void store_le64(void *p, uint64_t v)
{
    unsigned char *b = p;
    store_le32(b, (uint32_t)v);
    store_le32(b + 4, (uint32_t)(v >> 32));
}

static inline void store_be32(void *p, uint32_t v) { store_le32(p, __builtin_bswap32(v)); }
static inline void store_be64(void *p, uint64_t v) { store_le64(p, __builtin_bswap64(v)); }
static inline uint32_t load_be32(const void *p) { return __builtin_bswap32(load_le32(p)); }
static inline uint64_t load_be64(const void *p) { return __builtin_bswap64(load_le64(p)); }

/** The other order of bytes, in place: n elements of `size` bytes each, one behind the other. */
static inline void swap_elements(void *p, size_t n, size_t size)
{
    unsigned char *b = (unsigned char *)p;
    for (size_t i = 0; i < n; i++, b += size) {
        for (size_t j = 0; j < size / 2; j++) {
            unsigned char t = b[j];
            b[j] = b[size - 1 - j];
            b[size - 1 - j] = t;
        }
    }
}

#endif
