/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_SIMD_H
#define GREBE_CODEC_CODEC_SIMD_H

/*
 * The inner loops that have several variants. Each does the same on any input, bit for bit;
 * the scalar one is the definition. No kernel reads or writes outside the ranges named here.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

struct codec_kernels {
    /** n values of `width` bits (0..32), LSB first, from ceil(n * width / 8) <= src_len bytes. */
    void (*unpack_u32)(const uint8_t *src, size_t src_len, unsigned width, uint32_t *dst,
                       size_t n);

    /** v[i] = *last += min_delta + v[i], wrapping. */
    void (*prefix_u32)(uint32_t *v, size_t n, uint32_t min_delta, uint32_t *last);
    void (*prefix_u64)(uint64_t *v, size_t n, uint64_t min_delta, uint64_t *last);
    /** dst[i] = *last += min_delta + deltas[i]. */
    void (*prefix_widen)(const uint32_t *deltas, size_t n, uint64_t min_delta, uint64_t *last,
                         uint64_t *dst);

    /** Value i of 4 (8) bytes from byte i of 4 (8) streams of n bytes each; and the reverse. */
    void (*join4)(const uint8_t *src, size_t n, uint8_t *dst);
    void (*join8)(const uint8_t *src, size_t n, uint8_t *dst);
    void (*split4)(const uint8_t *src, size_t n, uint8_t *dst);
    void (*split8)(const uint8_t *src, size_t n, uint8_t *dst);

    /** dst[i] = dict[index[i]]; every index is below the dictionary's size (max_u32 tells). */
    void (*gather_u32)(const uint32_t *dict, const uint32_t *index, size_t n, uint32_t *dst);
    void (*gather_u64)(const uint64_t *dict, const uint32_t *index, size_t n, uint64_t *dst);

    /** Largest value; 0 for n == 0. */
    uint32_t (*max_u32)(const uint32_t *v, size_t n);
};

/** The variant for this machine (cpu_simd_level()). Threads: safe. */
const struct codec_kernels *codec_kernels(void);

/** The variant of a level; NULL: the machine cannot run it, or it is not built in. */
const struct codec_kernels *codec_kernels_of(enum cpu_simd level);

extern const struct codec_kernels codec_kernels_scalar;

/* NULL where the compiler has no such instructions. */
const struct codec_kernels *codec_kernels_avx2(void);
const struct codec_kernels *codec_kernels_avx512(void);

#endif
