/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_CPU_H
#define GREBE_BASE_CPU_H

/* Which vector instructions the machine has: kernels with several variants choose by it. */

#include <stdbool.h>

/** Ascending: a level includes the ones before it. */
enum cpu_simd {
    CPU_SCALAR = 0,
    CPU_AVX2,  /* with BMI, BMI2, LZCNT, POPCNT, F16C, FMA */
    CPU_AVX512 /* F, BW, DQ, VL, VBMI */
};

/**
 * The level to use: the machine's best, or a lower one that the environment asks for
 * (GREBE_SIMD=scalar|avx2|avx512). Looked up once. Threads: safe.
 */
enum cpu_simd cpu_simd_level(void);

/** Whether the machine can run the level, whatever the environment says. */
bool cpu_simd_has(enum cpu_simd level);

#endif
