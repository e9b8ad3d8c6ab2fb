/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_SPARSE_SCAN_H
#define GREBE_INDEX_SPARSE_SCAN_H

/* The two inner loops of a sparse search, in variants that give the same integers. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

struct sparse_kernels {
    /**
     * sums[rows[i]] += sign * floor(|weight| * code / 256) for codes of 0 to 255 (is_signed: floor(weight * code /
     * 256) for codes as int8). sums: shape [65536]. |weight| below 65536, is_signed: below 32768.
     */
    void (*add)(int16_t *sums, const uint16_t *rows, const uint8_t *codes, size_t n, int32_t weight, bool is_signed);
    /** Positions in [from, n) with sums above the limit, ascending, until `room` are there: how many. *next: where
     *  to go on, n at the end. `out` has room for 16 more. Reads sums up to the next multiple of 16 above n. */
    size_t (*above)(const int16_t *sums, size_t from, size_t n, int16_t limit, uint32_t *out, size_t room, size_t *next);
};

const struct sparse_kernels *sparse_kernels(void);
/** NULL: the machine cannot run the level. */
const struct sparse_kernels *sparse_kernels_of(enum cpu_simd level);
/** NULL where the compiler has no such instructions. */
const struct sparse_kernels *sparse_kernels_avx2(void);

#endif
