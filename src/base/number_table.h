/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_NUMBER_TABLE_H
#define GREBE_BASE_NUMBER_TABLE_H

#include <stdint.h>

enum { NUMBER_TABLE_FIRST = -342, NUMBER_TABLE_LAST = 324 };

/** 10^q as { high, low } of a significand in [2^127, 2^128), at q - NUMBER_TABLE_FIRST. */
extern const uint64_t number_table[NUMBER_TABLE_LAST - NUMBER_TABLE_FIRST + 1][2];

/** 64 x 64 -> 128 bits. Returns the high half. */
static inline uint64_t number_mul(uint64_t x, uint64_t y, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    u128 p = (u128)x * y;
    *low = (uint64_t)p;
    return (uint64_t)(p >> 64);
#else
    uint64_t x0 = x & UINT32_MAX, x1 = x >> 32, y0 = y & UINT32_MAX, y1 = y >> 32;
    uint64_t a = x0 * y0, b = x1 * y0 + (a >> 32), c = x0 * y1 + (b & UINT32_MAX);
    *low = c << 32 | (a & UINT32_MAX);
    return x1 * y1 + (b >> 32) + (c >> 32);
#endif
}

#endif
