/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_IVF_KERNELS_H
#define GREBE_INDEX_IVF_KERNELS_H

/*
 * Values of the IVF_BLOCK rows of a block against one query, and which of them are not above a limit. All variants
 * give the same bits: sums are of integers, then value = (base + bias) - scale * sum, each step rounded by itself.
 *
 * Layouts of a block (codes stand in the order of the loop):
 *   byte     for each 4 components: rows 0-7, 8-15, 16-23, 24-31, each row 4 bytes (values 0 … 127)
 *   nibble   for each 8 components: the same; low halves are components 0-3, high halves 4-7 (0 … 15)
 *   table    for each 2 tables: 32 bytes, row r in byte r; low half for the first table, high for the second
 *   signs    the same, then a float32 factor for each row: value = (base + bias) - factor * (scale * sum + offset)
 */

#include <stdint.h>

#include "base/cpu.h"

enum { IVF_BLOCK = 32, IVF_BYTE_QUERY_MAX = 63, IVF_NIBBLE_QUERY_MAX = 127 };

struct ivf_query {
    const void *form; /* byte, nibble: int8 components, to the block's multiple of 8; table: uint8 [tables][16] */
    float scale, offset; /* offset: signs */
    uint32_t steps;   /* multiples of 8 components; pairs of tables */
};

/**
 * @param bias   shape [IVF_BLOCK].
 * @param values shape [IVF_BLOCK]; written when the result is not 0.
 * @return Bit r: the value of row r is not above the limit.
 */
typedef uint32_t (*ivf_block_fn)(const uint8_t *codes, const float *bias, const struct ivf_query *q, float base,
                                 float limit, float *values);

struct ivf_kernels {
    ivf_block_fn byte, nibble, table, signs;
};

extern const struct ivf_kernels ivf_kernels_scalar;
const struct ivf_kernels *ivf_kernels_avx2(void); /* NULL: not built in */
/** The variant of a level; NULL: the machine cannot run it. */
const struct ivf_kernels *ivf_kernels_of(enum cpu_simd level);
/** The variant for this machine. */
const struct ivf_kernels *ivf_kernels(void);

#endif
