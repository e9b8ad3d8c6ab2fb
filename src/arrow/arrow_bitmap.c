/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_array.h"

#include <string.h>

#include "base/endian.h"

/* 64 bits from bit `begin`; reads only bytes that hold bits of [begin, begin + n), n <= 64. */
static inline uint64_t load_bits(const uint8_t *bits, int64_t begin, int64_t n)
{
    const uint8_t *p = bits + (begin >> 3);
    unsigned shift = (unsigned)(begin & 7);
    size_t n_bytes = ((size_t)n + shift + 7) / 8;
    uint64_t low = 0;
    if (n_bytes >= 8) {
        low = load_le64(p);
    } else {
        for (size_t i = 0; i < n_bytes; i++) {
            low |= (uint64_t)p[i] << (8 * i);
        }
    }
    uint64_t v = low >> shift;
    if (n_bytes > 8) {
        v |= (uint64_t)p[8] << (64 - shift);
    }
    return n == 64 ? v : v & ((UINT64_C(1) << n) - 1);
}

int64_t bitmap_count(const uint8_t *bits, int64_t begin, int64_t n)
{
    int64_t count = 0;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        count += __builtin_popcountll(load_bits(bits, begin + i, 64));
    }
    if (i < n) {
        count += __builtin_popcountll(load_bits(bits, begin + i, n - i));
    }
    return count;
}

/* Write n <= 64 bits at a bit position, leaving the bits around them. */
static inline void store_bits(uint8_t *bits, int64_t begin, int64_t n, uint64_t v)
{
    while (n > 0) {
        unsigned shift = (unsigned)(begin & 7);
        unsigned take = 8 - shift;
        if ((int64_t)take > n) {
            take = (unsigned)n;
        }
        uint8_t mask = (uint8_t)(((1u << take) - 1) << shift);
        uint8_t *p = bits + (begin >> 3);
        *p = (uint8_t)((*p & ~mask) | (((unsigned)v << shift) & mask));
        v >>= take;
        begin += take;
        n -= take;
    }
}

void bitmap_copy(uint8_t *dst, int64_t dst_begin, const uint8_t *src, int64_t src_begin, int64_t n)
{
    /* Up to a byte boundary of dst first, whole bytes or words then, the rest last. */
    int64_t lead = (8 - (dst_begin & 7)) & 7;
    if (lead > n) {
        lead = n;
    }
    if (lead > 0) {
        store_bits(dst, dst_begin, lead, load_bits(src, src_begin, lead));
        dst_begin += lead;
        src_begin += lead;
        n -= lead;
    }
    uint8_t *d = dst + (dst_begin >> 3);
    if ((src_begin & 7) == 0) {
        size_t n_bytes = (size_t)(n >> 3);
        if (n_bytes > 0) {
            memcpy(d, src + (src_begin >> 3), n_bytes);
        }
        src_begin += n & ~INT64_C(7);
        d += n_bytes;
        n &= 7;
    } else {
        for (; n >= 64; n -= 64, d += 8, src_begin += 64) {
            store_le64(d, load_bits(src, src_begin, 64));
        }
    }
    if (n > 0) {
        store_bits(d, 0, n, load_bits(src, src_begin, n));
    }
}

void bitmap_fill(uint8_t *bits, int64_t begin, int64_t n, bool value)
{
    uint64_t v = value ? UINT64_MAX : 0;
    int64_t lead = (8 - (begin & 7)) & 7;
    if (lead > n) {
        lead = n;
    }
    if (lead > 0) {
        store_bits(bits, begin, lead, v);
        begin += lead;
        n -= lead;
    }
    if (n >= 8) {
        memset(bits + (begin >> 3), value ? 0xff : 0, (size_t)(n >> 3));
        begin += n & ~INT64_C(7);
        n &= 7;
    }
    if (n > 0) {
        store_bits(bits, begin, n, v);
    }
}
