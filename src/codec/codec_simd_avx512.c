/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_simd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512VBMI__)

#include <immintrin.h>
#include <string.h>

/* Without optimisation GCC's gather intrinsics are macros that convert their own masks. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

/*
 * Sixteen values take 2 * width <= 64 bytes: one masked load, one byte permute that brings the
 * eight bytes from each value's first byte into a lane (a value of up to 32 bits at any bit
 * lies within five), one variable shift, one narrowing.
 */
static void unpack_u32(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                       size_t n)
{
    uint8_t order[2][64];
    uint64_t shift[2][8];
    size_t i = 0;

    if (width == 0 || width == 32) {
        codec_kernels_scalar.unpack_u32(src, src_len, width, dst, n);
        return;
    }
    for (unsigned k = 0; k < 16; k++) {
        shift[k / 8][k % 8] = k * width % 8;
        for (unsigned b = 0; b < 8; b++) {
            /* Bytes beyond 63 wrap round; they are shifted or masked away. */
            order[k / 8][8 * (k % 8) + b] = (uint8_t)((k * width / 8 + b) & 63);
        }
    }
    const __mmask64 loaded = (__mmask64)(((uint64_t)1 << (2 * width)) - 1);
    const __m512i mask = _mm512_set1_epi64((long long)(((uint64_t)1 << width) - 1));

    for (; i + 16 <= n; i += 16) {
        const __m512i bytes = _mm512_maskz_loadu_epi8(loaded, src);

        for (unsigned h = 0; h < 2; h++) {
            const __m512i lanes =
                _mm512_permutexvar_epi8(_mm512_loadu_si512(order[h]), bytes);
            const __m512i values = _mm512_and_si512(
                _mm512_srlv_epi64(lanes, _mm512_loadu_si512(shift[h])), mask);
            const __m256i narrow = _mm512_cvtepi64_epi32(values);

            memcpy(dst + i + 8 * h, &narrow, sizeof narrow);
        }
        src += 2 * width;
        src_len -= 2 * width;
    }
    codec_kernels_scalar.unpack_u32(src, src_len, width, dst + i, n - i);
}

/* Sixteen bytes of each stream side by side in one register, permuted into values. */
static void join4(const uint8_t *src, size_t n, uint8_t *dst)
{
    uint8_t order[64];
    size_t i = 0;

    for (unsigned k = 0; k < 64; k++) {
        order[k] = (uint8_t)(16 * (k % 4) + k / 4);
    }
    const __m512i permute = _mm512_loadu_si512(order);

    for (; i + 16 <= n; i += 16) {
        uint8_t streams[64];

        for (size_t s = 0; s < 4; s++) {
            memcpy(streams + 16 * s, src + s * n + i, 16);
        }
        _mm512_storeu_si512(dst + 4 * i,
                            _mm512_permutexvar_epi8(permute, _mm512_loadu_si512(streams)));
    }
    for (; i < n; i++) {
        for (size_t s = 0; s < 4; s++) {
            dst[4 * i + s] = src[s * n + i];
        }
    }
}

static void join8(const uint8_t *src, size_t n, uint8_t *dst)
{
    uint8_t order[64];
    size_t i = 0;

    for (unsigned k = 0; k < 64; k++) {
        order[k] = (uint8_t)(8 * (k % 8) + k / 8);
    }
    const __m512i permute = _mm512_loadu_si512(order);

    for (; i + 8 <= n; i += 8) {
        uint8_t streams[64];

        for (size_t s = 0; s < 8; s++) {
            memcpy(streams + 8 * s, src + s * n + i, 8);
        }
        _mm512_storeu_si512(dst + 8 * i,
                            _mm512_permutexvar_epi8(permute, _mm512_loadu_si512(streams)));
    }
    for (; i < n; i++) {
        for (size_t s = 0; s < 8; s++) {
            dst[8 * i + s] = src[s * n + i];
        }
    }
}

static void gather_u32(const uint32_t *dict, const uint32_t *index, size_t n, uint32_t *dst)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        _mm512_storeu_si512(dst + i,
                            _mm512_i32gather_epi32(_mm512_loadu_si512(index + i), dict, 4));
    }
    for (; i < n; i++) {
        dst[i] = dict[index[i]];
    }
}

static void gather_u64(const uint64_t *dict, const uint32_t *index, size_t n, uint64_t *dst)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m256i at;

        memcpy(&at, index + i, sizeof at);
        _mm512_storeu_si512(dst + i, _mm512_i32gather_epi64(at, dict, 8));
    }
    for (; i < n; i++) {
        dst[i] = dict[index[i]];
    }
}

/* The AVX2 variants of the rest run on the same machines. */
static void prefix_u32(uint32_t *v, size_t n, uint32_t min_delta, uint32_t *last)
{
    codec_kernels_avx2()->prefix_u32(v, n, min_delta, last);
}

static void prefix_u64(uint64_t *v, size_t n, uint64_t min_delta, uint64_t *last)
{
    codec_kernels_avx2()->prefix_u64(v, n, min_delta, last);
}

static void prefix_widen(const uint32_t *deltas, size_t n, uint64_t min_delta, uint64_t *last,
                         uint64_t *dst)
{
    codec_kernels_avx2()->prefix_widen(deltas, n, min_delta, last, dst);
}

static void split4(const uint8_t *src, size_t n, uint8_t *dst)
{
    codec_kernels_avx2()->split4(src, n, dst);
}

static void split8(const uint8_t *src, size_t n, uint8_t *dst)
{
    codec_kernels_avx2()->split8(src, n, dst);
}

static uint32_t max_u32(const uint32_t *v, size_t n) { return codec_kernels_avx2()->max_u32(v, n); }

const struct codec_kernels *codec_kernels_avx512(void)
{
    static const struct codec_kernels kernels = {
        unpack_u32, prefix_u32, prefix_u64, prefix_widen, join4,  join8,
        split4,     split8,     gather_u32, gather_u64,   max_u32,
    };
    return &kernels;
}

#else

const struct codec_kernels *codec_kernels_avx512(void) { return NULL; }

#endif
