/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_simd.h"

#if defined(__AVX2__)

#include <immintrin.h>
#include <string.h>

static __m128i load128(const uint8_t *p)
{
    __m128i v;

    memcpy(&v, p, sizeof v);
    return v;
}

static __m256i load256(const void *p)
{
    __m256i v;

    memcpy(&v, p, sizeof v);
    return v;
}

static void store256(void *p, __m256i v) { memcpy(p, &v, sizeof v); }

static __m256i pair128(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/*
 * Eight values take exactly `width` bytes, so the byte of each value and its shift are the same
 * for every eight. Up to 25 bits a value lies within four bytes: two 16-byte loads (values 0-3
 * from byte 0, 4-7 from byte width / 2), one shuffle, one variable shift.
 */
static size_t unpack_narrow(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                            size_t n)
{
    uint8_t shuffle[32];
    uint32_t shift[8];
    size_t i = 0;

    for (unsigned k = 0; k < 8; k++) {
        const unsigned base = k < 4 ? 0 : width / 2;
        const unsigned byte = k * width / 8 - base;

        shift[k] = k * width % 8;
        for (unsigned b = 0; b < 4; b++) {
            shuffle[4 * k + b] = (uint8_t)(byte + b);
        }
    }
    const __m256i order = load256(shuffle);
    const __m256i by = load256(shift);
    const __m256i mask = _mm256_set1_epi32((int)((1u << width) - 1));

    for (; i + 8 <= n && src_len >= width / 2 + 16; i += 8) {
        const __m256i bytes = pair128(load128(src), load128(src + width / 2));
        const __m256i values =
            _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, order), by), mask);

        store256(dst + i, values);
        src += width;
        src_len -= width;
    }
    return i;
}

/* 26 to 31 bits: a value lies within five bytes, so four 64-bit lanes at a time. */
static size_t unpack_wide(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                          size_t n)
{
    uint8_t shuffle[2][32];
    uint64_t shift[2][4];
    unsigned base[4] = { 0 }; /* byte of values 0, 2, 4, 6 */
    size_t i = 0;

    for (unsigned k = 0; k < 8; k++) {
        if (k % 2 == 0) {
            base[k / 2] = k * width / 8;
        }
        shift[k / 4][k % 4] = k * width % 8;
        for (unsigned b = 0; b < 8; b++) {
            shuffle[k / 4][8 * (k % 4) + b] = (uint8_t)(k * width / 8 - base[k / 2] + b);
        }
    }
    const __m256i mask = _mm256_set1_epi64x((long long)(((uint64_t)1 << width) - 1));
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);

    for (; i + 8 <= n && src_len >= base[3] + 16; i += 8) {
        __m256i half[2];

        for (unsigned h = 0; h < 2; h++) {
            const __m256i bytes =
                pair128(load128(src + base[2 * h]), load128(src + base[2 * h + 1]));
            const __m256i lanes = _mm256_shuffle_epi8(bytes, load256(shuffle[h]));
            const __m256i values =
                _mm256_and_si256(_mm256_srlv_epi64(lanes, load256(shift[h])), mask);

            half[h] = _mm256_permutevar8x32_epi32(values, even);
        }
        store256(dst + i, _mm256_blend_epi32(half[0], half[1], 0xF0));
        src += width;
        src_len -= width;
    }
    return i;
}

static void unpack_u32(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                       size_t n)
{
    size_t done = 0;

    if (width >= 1 && width <= 25) {
        done = unpack_narrow(src, src_len, width, dst, n);
    } else if (width >= 26 && width <= 31) {
        done = unpack_wide(src, src_len, width, dst, n);
    } else if (width == 32) {
        memcpy(dst, src, n * sizeof *dst);
        return;
    }
    /* done is a multiple of 8: the rest begins on a byte. */
    codec_kernels_scalar.unpack_u32(src + done / 8 * width, src_len - done / 8 * width, width,
                                    dst + done, n - done);
}

/* Sums of the first 1..8 lanes, in three steps; min_delta is in each lane already. */
static void prefix_u32(uint32_t *v, size_t n, uint32_t min_delta, uint32_t *last)
{
    const __m256i min = _mm256_set1_epi32((int)min_delta);
    __m256i carry = _mm256_set1_epi32((int)*last);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m256i x = _mm256_add_epi32(load256(v + i), min);

        x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
        x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
        const __m256i low_sum = _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(3));

        x = _mm256_add_epi32(x, _mm256_blend_epi32(_mm256_setzero_si256(), low_sum, 0xF0));
        x = _mm256_add_epi32(x, carry);
        store256(v + i, x);
        carry = _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(7));
    }
    *last = (uint32_t)_mm256_extract_epi32(carry, 0);
    codec_kernels_scalar.prefix_u32(v + i, n - i, min_delta, last);
}

static __m256i prefix4(__m256i x, __m256i carry)
{
    x = _mm256_add_epi64(x, _mm256_slli_si256(x, 8));
    const __m256i low_sum = _mm256_permute4x64_epi64(x, 0x55); /* lane 1 everywhere */

    x = _mm256_add_epi64(x, _mm256_blend_epi32(_mm256_setzero_si256(), low_sum, 0xF0));
    return _mm256_add_epi64(x, carry);
}

static void prefix_u64(uint64_t *v, size_t n, uint64_t min_delta, uint64_t *last)
{
    const __m256i min = _mm256_set1_epi64x((long long)min_delta);
    __m256i carry = _mm256_set1_epi64x((long long)*last);
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        const __m256i x = prefix4(_mm256_add_epi64(load256(v + i), min), carry);

        store256(v + i, x);
        carry = _mm256_permute4x64_epi64(x, 0xFF);
    }
    *last = (uint64_t)_mm256_extract_epi64(carry, 0);
    codec_kernels_scalar.prefix_u64(v + i, n - i, min_delta, last);
}

static void prefix_widen(const uint32_t *deltas, size_t n, uint64_t min_delta, uint64_t *last,
                         uint64_t *dst)
{
    const __m256i min = _mm256_set1_epi64x((long long)min_delta);
    __m256i carry = _mm256_set1_epi64x((long long)*last);
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        const __m256i wide = _mm256_cvtepu32_epi64(load128((const uint8_t *)(deltas + i)));
        const __m256i x = prefix4(_mm256_add_epi64(wide, min), carry);

        store256(dst + i, x);
        carry = _mm256_permute4x64_epi64(x, 0xFF);
    }
    *last = (uint64_t)_mm256_extract_epi64(carry, 0);
    codec_kernels_scalar.prefix_widen(deltas + i, n - i, min_delta, last, dst + i);
}

static void join4(const uint8_t *src, size_t n, uint8_t *dst)
{
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        const __m256i a = load256(src + i), b = load256(src + n + i);
        const __m256i c = load256(src + 2 * n + i), d = load256(src + 3 * n + i);
        const __m256i ab0 = _mm256_unpacklo_epi8(a, b), ab1 = _mm256_unpackhi_epi8(a, b);
        const __m256i cd0 = _mm256_unpacklo_epi8(c, d), cd1 = _mm256_unpackhi_epi8(c, d);
        const __m256i r0 = _mm256_unpacklo_epi16(ab0, cd0), r1 = _mm256_unpackhi_epi16(ab0, cd0);
        const __m256i r2 = _mm256_unpacklo_epi16(ab1, cd1), r3 = _mm256_unpackhi_epi16(ab1, cd1);

        store256(dst + 4 * i, _mm256_permute2x128_si256(r0, r1, 0x20));
        store256(dst + 4 * i + 32, _mm256_permute2x128_si256(r2, r3, 0x20));
        store256(dst + 4 * i + 64, _mm256_permute2x128_si256(r0, r1, 0x31));
        store256(dst + 4 * i + 96, _mm256_permute2x128_si256(r2, r3, 0x31));
    }
    for (; i < n; i++) {
        for (size_t s = 0; s < 4; s++) {
            dst[4 * i + s] = src[s * n + i];
        }
    }
}

static void join8(const uint8_t *src, size_t n, uint8_t *dst)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m128i pair[4][2], quad[2][4];

        for (size_t k = 0; k < 4; k++) {
            const __m128i a = load128(src + 2 * k * n + i);
            const __m128i b = load128(src + (2 * k + 1) * n + i);

            pair[k][0] = _mm_unpacklo_epi8(a, b);
            pair[k][1] = _mm_unpackhi_epi8(a, b);
        }
        for (size_t k = 0; k < 2; k++) {
            for (size_t h = 0; h < 2; h++) {
                quad[k][2 * h] = _mm_unpacklo_epi16(pair[2 * k][h], pair[2 * k + 1][h]);
                quad[k][2 * h + 1] = _mm_unpackhi_epi16(pair[2 * k][h], pair[2 * k + 1][h]);
            }
        }
        for (size_t q = 0; q < 4; q++) {
            store256(dst + 8 * i + 32 * q,
                     pair128(_mm_unpacklo_epi32(quad[0][q], quad[1][q]),
                             _mm_unpackhi_epi32(quad[0][q], quad[1][q])));
        }
    }
    for (; i < n; i++) {
        for (size_t s = 0; s < 8; s++) {
            dst[8 * i + s] = src[s * n + i];
        }
    }
}

static void split4(const uint8_t *src, size_t n, uint8_t *dst)
{
    /* In each 16 bytes: byte 0 of the four values, byte 1 of them, … */
    const __m256i by_byte = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                                             0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i lanes = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256i x =
            _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(load256(src + 4 * i), by_byte), lanes);
        uint64_t stream[4];

        store256(stream, x);
        for (size_t s = 0; s < 4; s++) {
            memcpy(dst + s * n + i, &stream[s], 8);
        }
    }
    for (; i < n; i++) {
        for (size_t s = 0; s < 4; s++) {
            dst[s * n + i] = src[4 * i + s];
        }
    }
}

/* 8 x 8 bytes transposed in three steps of unpacking. */
static void split8(const uint8_t *src, size_t n, uint8_t *dst)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m128i a = load128(src + 8 * i), b = load128(src + 8 * i + 16);
        const __m128i c = load128(src + 8 * i + 32), d = load128(src + 8 * i + 48);
        /* rows 0,2 / 1,3 … : interleave distances 4, 2, 1 */
        const __m128i t0 = _mm_unpacklo_epi8(a, c), t1 = _mm_unpackhi_epi8(a, c);
        const __m128i t2 = _mm_unpacklo_epi8(b, d), t3 = _mm_unpackhi_epi8(b, d);
        const __m128i u0 = _mm_unpacklo_epi8(t0, t2), u1 = _mm_unpackhi_epi8(t0, t2);
        const __m128i u2 = _mm_unpacklo_epi8(t1, t3), u3 = _mm_unpackhi_epi8(t1, t3);
        const __m128i v[4] = {_mm_unpacklo_epi8(u0, u2), _mm_unpackhi_epi8(u0, u2),
                              _mm_unpacklo_epi8(u1, u3), _mm_unpackhi_epi8(u1, u3)};

        for (size_t k = 0; k < 4; k++) {
            uint64_t stream[2];

            memcpy(stream, &v[k], sizeof stream);
            memcpy(dst + 2 * k * n + i, &stream[0], 8);
            memcpy(dst + (2 * k + 1) * n + i, &stream[1], 8);
        }
    }
    for (; i < n; i++) {
        for (size_t s = 0; s < 8; s++) {
            dst[s * n + i] = src[8 * i + s];
        }
    }
}

/* vpgatherdd takes signed indices; dictionaries are far below 2^31 entries. */
static void gather_u32(const uint32_t *dict, const uint32_t *index, size_t n, uint32_t *dst)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        store256(dst + i, _mm256_i32gather_epi32((const int *)dict, load256(index + i), 4));
    }
    for (; i < n; i++) {
        dst[i] = dict[index[i]];
    }
}

static void gather_u64(const uint64_t *dict, const uint32_t *index, size_t n, uint64_t *dst)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        const __m128i at = load128((const uint8_t *)(index + i));

        store256(dst + i, _mm256_i32gather_epi64((const long long *)dict, at, 8));
    }
    for (; i < n; i++) {
        dst[i] = dict[index[i]];
    }
}

static uint32_t max_u32(const uint32_t *v, size_t n)
{
    uint32_t lanes[8];
    uint32_t max = 0;
    __m256i m = _mm256_setzero_si256();
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        m = _mm256_max_epu32(m, load256(v + i));
    }
    store256(lanes, m);
    for (size_t k = 0; k < 8; k++) {
        max = lanes[k] > max ? lanes[k] : max;
    }
    for (; i < n; i++) {
        max = v[i] > max ? v[i] : max;
    }
    return max;
}

const struct codec_kernels *codec_kernels_avx2(void)
{
    static const struct codec_kernels kernels = {
        unpack_u32, prefix_u32, prefix_u64, prefix_widen, join4,  join8,
        split4,     split8,     gather_u32, gather_u64,   max_u32,
    };
    return &kernels;
}

#else

const struct codec_kernels *codec_kernels_avx2(void) { return NULL; }

#endif
