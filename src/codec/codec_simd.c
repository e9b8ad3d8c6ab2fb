/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_simd.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"

/* Value at a bit position, byte by byte: for the end of the input, where no word can be read. */
static uint32_t unpack_one(const uint8_t *src, size_t bit, unsigned width)
{
    uint64_t word = 0;
    const size_t first = bit >> 3;
    const size_t last = (bit + width - 1) >> 3;

    for (size_t i = first; i <= last; i++) {
        word |= (uint64_t)src[i] << (8 * (i - first));
    }
    return (uint32_t)(word >> (bit & 7)) & (uint32_t)(((uint64_t)1 << width) - 1);
}

static void unpack_u32(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                       size_t n)
{
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    size_t bit = 0;
    size_t i = 0;

    assert(width <= 32);
    if (width == 0) {
        memset(dst, 0, n * sizeof *dst);
        return;
    }
    for (; i < n && (bit >> 3) + 8 <= src_len; i++, bit += width) {
        dst[i] = (uint32_t)((load_le64(src + (bit >> 3)) >> (bit & 7)) & mask);
    }
    for (; i < n; i++, bit += width) {
        dst[i] = unpack_one(src, bit, width);
    }
}

static void prefix_u32(uint32_t *v, size_t n, uint32_t min_delta, uint32_t *last)
{
    uint32_t sum = *last;

    for (size_t i = 0; i < n; i++) {
        sum += min_delta + v[i];
        v[i] = sum;
    }
    *last = sum;
}

static void prefix_u64(uint64_t *v, size_t n, uint64_t min_delta, uint64_t *last)
{
    uint64_t sum = *last;

    for (size_t i = 0; i < n; i++) {
        sum += min_delta + v[i];
        v[i] = sum;
    }
    *last = sum;
}

static void prefix_widen(const uint32_t *deltas, size_t n, uint64_t min_delta, uint64_t *last,
                         uint64_t *dst)
{
    uint64_t sum = *last;

    for (size_t i = 0; i < n; i++) {
        sum += min_delta + deltas[i];
        dst[i] = sum;
    }
    *last = sum;
}

static void join4(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[4 * i] = src[i];
        dst[4 * i + 1] = src[n + i];
        dst[4 * i + 2] = src[2 * n + i];
        dst[4 * i + 3] = src[3 * n + i];
    }
}

static void join8(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < 8; b++) {
            dst[8 * i + b] = src[b * n + i];
        }
    }
}

static void split4(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < 4; b++) {
            dst[b * n + i] = src[4 * i + b];
        }
    }
}

static void split8(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < 8; b++) {
            dst[b * n + i] = src[8 * i + b];
        }
    }
}

static void gather_u32(const uint32_t *dict, const uint32_t *index, size_t n, uint32_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = dict[index[i]];
    }
}

static void gather_u64(const uint64_t *dict, const uint32_t *index, size_t n, uint64_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = dict[index[i]];
    }
}

static uint32_t max_u32(const uint32_t *v, size_t n)
{
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++) {
        max = v[i] > max ? v[i] : max;
    }
    return max;
}

const struct codec_kernels codec_kernels_scalar = {
    unpack_u32, prefix_u32, prefix_u64, prefix_widen, join4,  join8,
    split4,     split8,     gather_u32, gather_u64,   max_u32,
};

const struct codec_kernels *codec_kernels_of(enum cpu_simd level)
{
    if (!cpu_simd_has(level)) {
        return NULL;
    }
    switch (level) {
    case CPU_SCALAR:
        return &codec_kernels_scalar;
    case CPU_AVX2:
        return codec_kernels_avx2();
    case CPU_AVX512:
        return codec_kernels_avx512();
    }
    return NULL;
}

const struct codec_kernels *codec_kernels(void)
{
    const struct codec_kernels *k = codec_kernels_of(cpu_simd_level());

    return k != NULL ? k : &codec_kernels_scalar;
}
