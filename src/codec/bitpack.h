/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_BITPACK_H
#define GREBE_CODEC_BITPACK_H

/* Values of a fixed number of bits one after another, least significant bit first. */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** Bytes that n values of `width` bits take. n * width must fit in 64 bits less 7. */
static inline uint64_t bitpack_bytes(uint64_t n, unsigned width) { return (n * width + 7) / 8; }

/** Bits that the value needs: 0 for 0, 64 at most. */
static inline unsigned bitpack_width(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/**
 * @param src_len At least bitpack_bytes(n, width); bytes beyond may be read ahead, never past it.
 * @param width   0..32 (0..64): 0 gives zeros.
 */
void bitpack_unpack_u32(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                        size_t n);
void bitpack_unpack_u64(const uint8_t *src, size_t src_len, unsigned width, uint64_t *dst,
                        size_t n);

/** Append bitpack_bytes(n, width) bytes; the bits above `width` of each value must be 0. */
grebe_status bitpack_pack_u32(struct buf *dst, const uint32_t *values, size_t n, unsigned width,
                              grebe_error *err);
grebe_status bitpack_pack_u64(struct buf *dst, const uint64_t *values, size_t n, unsigned width,
                              grebe_error *err);

/** Copy n bits to bit 0 of dst, which gets (n + 7) / 8 bytes; the last one is padded with 0. */
void bitpack_copy_bits(uint8_t *dst, const uint8_t *src, size_t src_bit, size_t n);

#endif
