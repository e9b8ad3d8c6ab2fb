/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_VARINT_H
#define GREBE_CODEC_VARINT_H

/* ULEB128 and zig-zag, as the encodings of this room use them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** Read one varint of at most max_bytes bytes; moves *p. false: cut or too long. */
static inline bool varint_read(const uint8_t **p, const uint8_t *end, unsigned max_bytes,
                               uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < max_bytes && *p < end; i++) {
        const uint8_t byte = *(*p)++;

        if (i == 9 && byte > 1) {
            return false; /* more than 64 bits */
        }
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

enum { VARINT_BYTES_MAX = 10 };

/** Write into dst (VARINT_BYTES_MAX bytes of room); gives the length. */
static inline size_t varint_write(uint8_t *dst, uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        dst[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    dst[n++] = (uint8_t)value;
    return n;
}

static inline grebe_status varint_put(struct buf *dst, uint64_t value, grebe_error *err)
{
    uint8_t bytes[VARINT_BYTES_MAX];

    return buf_put(dst, bytes, varint_write(bytes, value), err);
}

static inline uint64_t zigzag_encode(int64_t v) { return ((uint64_t)v << 1) ^ -(uint64_t)(v < 0); }
static inline int64_t zigzag_decode(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

#endif
