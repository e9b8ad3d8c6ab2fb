/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_RANDOM_H
#define GREBE_GRAPH_GRAPH_RANDOM_H

/*
 * Random numbers by counter: number i of a key is a function of both alone, so that what is drawn does not depend on who
 * draws it or when (docs/format/graph_random.md).
 */

#include <math.h>
#include <string.h>

#include "base/rng.h"

/** Number i of a key; itself a key. */
static inline uint64_t graph_draw(uint64_t key, uint64_t i)
{
    return rng_mix(key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/** floor(x * n / 2^64): one of 0 … n - 1. */
static inline uint64_t graph_below(uint64_t x, uint64_t n)
{
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)((u128)x * n >> 64);
}

/** In (0, 1], from the upper 53 bits. */
static inline double graph_unit(uint64_t x) { return (double)((x >> 11) + 1) * 0x1p-53; }

/**
 * -log(u) of a number in (0, 1], to 1e-9 of itself: the same on every machine, which no library promises of its own.
 * u = m 2^e with m near 1; log m = 2 atanh((m - 1) / (m + 1)).
 */
static inline double graph_exponential(double u)
{
    uint64_t bits;
    memcpy(&bits, &u, sizeof bits);
    uint64_t shifted = bits - UINT64_C(0x3fe6a09e667f3bcd); /* bits of sqrt(1/2) */
    int64_t e = (int64_t)shifted >> 52;
    bits -= (uint64_t)e << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    double s = (m - 1.0) / (m + 1.0), s2 = s * s;
    double sum = 1.0 + s2 * (1.0 / 3 + s2 * (1.0 / 5 + s2 * (1.0 / 7 + s2 * (1.0 / 9 + s2 * (1.0 / 11)))));
    return -((double)e * 0.69314718055994530942 + 2.0 * s * sum);
}

/** PCG32 (XSH-RR 64/32; O'Neill 2014): the factor of its state, and the number of a state. */
#define GRAPH_PCG32_FACTOR UINT64_C(6364136223846793005)
static inline uint32_t graph_pcg32_output(uint64_t state)
{
    uint32_t x = (uint32_t)((state >> 18 ^ state) >> 27);
    uint32_t turn = (uint32_t)(state >> 59);
    return x >> turn | x << (-turn & 31);
}

/** Its first output with a seed and a stream. */
static inline uint32_t graph_pcg32_first(uint64_t seed, uint64_t stream)
{
    uint64_t inc = stream << 1 | 1;
    return graph_pcg32_output((seed + inc) * GRAPH_PCG32_FACTOR + inc);
}

/** In [0, 1), from 32 bits. */
static inline float graph_unit_float(uint32_t x)
{
    float r = (float)x * 0x1p-32f;
    return r >= 1.0f ? 0x1.fffffep-1f : r;
}

/** The number in [0, 1) that a source node has in layer-dependent sampling. */
static inline float graph_source_number(uint64_t seed, int64_t source)
{
    return graph_unit_float(graph_pcg32_first(seed, (uint64_t)source));
}

#endif
