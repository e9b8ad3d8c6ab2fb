/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/bitpack.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "codec/codec_simd.h"

void bitpack_unpack_u32(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                        size_t n)
{
    assert(width <= 32 && bitpack_bytes(n, width) <= src_len);
    codec_kernels()->unpack_u32(src, src_len, width, dst, n);
}

static uint64_t mask_of(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* Up to 64 bits at any bit position: nine bytes at most. */
static uint64_t unpack_one(const uint8_t *src, uint64_t bit, unsigned width)
{
    const uint8_t *p = src + (bit >> 3);
    const unsigned shift = (unsigned)(bit & 7);
    const size_t n_bytes = (shift + width + 7) / 8;
    uint64_t low = 0;

    for (size_t i = 0; i < n_bytes && i < 8; i++) {
        low |= (uint64_t)p[i] << (8 * i);
    }
    low >>= shift;
    if (n_bytes == 9) {
        low |= (uint64_t)p[8] << (64 - shift);
    }
    return low & mask_of(width);
}

void bitpack_unpack_u64(const uint8_t *src, size_t src_len, unsigned width, uint64_t *dst,
                        size_t n)
{
    const uint64_t mask = mask_of(width);
    uint64_t bit = 0;
    size_t i = 0;

    assert(width <= 64 && bitpack_bytes(n, width) <= src_len);
    if (width == 0) {
        memset(dst, 0, n * sizeof *dst);
        return;
    }
    for (; width <= 57 && i < n && (bit >> 3) + 8 <= src_len; i++, bit += width) {
        dst[i] = (load_le64(src + (bit >> 3)) >> (bit & 7)) & mask;
    }
    for (; i < n; i++, bit += width) {
        dst[i] = unpack_one(src, bit, width);
    }
}

/* Bits on their way out: at most 63 wait in `word`. */
struct bit_sink {
    uint8_t *p;
    uint64_t word;
    unsigned n_bits;
};

static void sink_put(struct bit_sink *s, uint64_t value, unsigned width)
{
    s->word |= value << s->n_bits;
    if (s->n_bits + width >= 64) {
        const unsigned taken = 64 - s->n_bits;

        store_le64(s->p, s->word);
        s->p += 8;
        s->word = taken >= 64 ? 0 : value >> taken;
        s->n_bits = width - taken;
    } else {
        s->n_bits += width;
    }
}

static void sink_end(struct bit_sink *s)
{
    for (unsigned done = 0; done < s->n_bits; done += 8) {
        *s->p++ = (uint8_t)s->word;
        s->word >>= 8;
    }
}

/*
 * 32 values of a width that the compiler knows: it unrolls the loop and folds every shift and
 * test, which is what makes packing cost about a cycle a value.
 */
#define PACK_32(type, name)                                                               \
    static inline __attribute__((always_inline)) void name##_known(                       \
        uint8_t *dst, const type *v, const unsigned width)                                \
    {                                                                                     \
        uint64_t word = 0;                                                                \
        unsigned n_bits = 0;                                                              \
                                                                                          \
        _Pragma("GCC unroll 32") for (unsigned i = 0; i < 32; i++)                        \
        {                                                                                 \
            word |= (uint64_t)v[i] << n_bits;                                             \
            n_bits += width;                                                              \
            if (n_bits >= 32) {                                                           \
                store_le32(dst, (uint32_t)word);                                          \
                dst += 4;                                                                 \
                word >>= 32;                                                              \
                n_bits -= 32;                                                             \
            }                                                                             \
        }                                                                                 \
    }                                                                                     \
    static void name(uint8_t *dst, const type *v, unsigned width)                         \
    {                                                                                     \
        switch (width) {                                                                  \
            WIDTHS(name##_known)                                                          \
        default: assert(false);                                                           \
        }                                                                                 \
    }

#define WIDTH(f, w) \
    case w: f(dst, v, w); break;
#define WIDTHS(f)                                                                         \
    WIDTH(f, 1) WIDTH(f, 2) WIDTH(f, 3) WIDTH(f, 4) WIDTH(f, 5) WIDTH(f, 6) WIDTH(f, 7)   \
    WIDTH(f, 8) WIDTH(f, 9) WIDTH(f, 10) WIDTH(f, 11) WIDTH(f, 12) WIDTH(f, 13)           \
    WIDTH(f, 14) WIDTH(f, 15) WIDTH(f, 16) WIDTH(f, 17) WIDTH(f, 18) WIDTH(f, 19)         \
    WIDTH(f, 20) WIDTH(f, 21) WIDTH(f, 22) WIDTH(f, 23) WIDTH(f, 24) WIDTH(f, 25)         \
    WIDTH(f, 26) WIDTH(f, 27) WIDTH(f, 28) WIDTH(f, 29) WIDTH(f, 30) WIDTH(f, 31)         \
    WIDTH(f, 32)

PACK_32(uint32_t, pack_32_narrow)
PACK_32(uint64_t, pack_32_wide)

#define PACK(values, pack_32, width_max)                                                  \
    do {                                                                                  \
        const size_t len = (size_t)bitpack_bytes(n, width);                               \
        struct bit_sink sink = { NULL, 0, 0 };                                            \
        grebe_status st = buf_reserve(dst, len, err);                                     \
        size_t i = 0;                                                                     \
                                                                                          \
        assert(width <= (width_max));                                                     \
        if (st != GREBE_OK || width == 0) {                                               \
            return st;                                                                    \
        }                                                                                 \
        sink.p = dst->data + dst->len;                                                    \
        for (; width <= 32 && n - i >= 32; i += 32, sink.p += 4 * (size_t)width) {        \
            pack_32(sink.p, (values) + i, width);                                         \
        }                                                                                 \
        for (; i < n; i++) {                                                              \
            assert((values)[i] <= mask_of(width));                                        \
            sink_put(&sink, (values)[i], width);                                          \
        }                                                                                 \
        sink_end(&sink);                                                                  \
        dst->len += len;                                                                  \
        assert(sink.p == dst->data + dst->len);                                           \
        return GREBE_OK;                                                                  \
    } while (0)

grebe_status bitpack_pack_u32(struct buf *dst, const uint32_t *values, size_t n, unsigned width,
                              grebe_error *err)
{
    PACK(values, pack_32_narrow, 32);
}

grebe_status bitpack_pack_u64(struct buf *dst, const uint64_t *values, size_t n, unsigned width,
                              grebe_error *err)
{
    PACK(values, pack_32_wide, 64);
}

void bitpack_copy_bits(uint8_t *dst, const uint8_t *src, size_t src_bit, size_t n)
{
    const size_t n_bytes = (n + 7) / 8;
    const unsigned shift = (unsigned)(src_bit & 7);

    if (n == 0) {
        return;
    }
    src += src_bit >> 3;
    if (shift == 0) {
        memcpy(dst, src, n_bytes);
    } else {
        const size_t src_bytes = (shift + n + 7) / 8;

        for (size_t i = 0; i < n_bytes; i++) {
            const unsigned next = i + 1 < src_bytes ? src[i + 1] : 0;

            dst[i] = (uint8_t)(src[i] >> shift | next << (8 - shift));
        }
    }
    if (n % 8 != 0) {
        dst[n_bytes - 1] &= (uint8_t)((1u << (n % 8)) - 1);
    }
}
