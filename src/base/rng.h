/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_RNG_H
#define GREBE_BASE_RNG_H

/* splitmix64 (Steele, Lea, Flood 2014): the same numbers for the same seed everywhere. Not for secrets. */

#include <stdint.h>

/** Every bit of the result depends on every bit of x; different x give different results. */
static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/** The next number of the sequence that *state stands in; a seed is a state. */
static inline uint64_t rng_next(uint64_t *state) { return rng_mix(*state += UINT64_C(0x9e3779b97f4a7c15)); }

#endif
