/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_HALF_H
#define GREBE_BASE_HALF_H

/* IEEE 754 binary16, by bits; the same on every machine. */

#include <stdint.h>
#include <string.h>

static inline float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 0x1fu;
    uint32_t mantissa = h & 0x3ffu;
    uint32_t bits;
    if (exponent == 0x1f) {
        bits = sign | 0x7f800000u | mantissa << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else if (mantissa != 0) {
        /* subnormal: shift the leading one to the hidden place */
        int shift = __builtin_clz(mantissa) - 21;
        bits = sign | (uint32_t)(113 - shift) << 23 | (mantissa << shift & 0x3ffu) << 13;
    } else {
        bits = sign;
    }
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/** Nearest, ties to even; overflow gives infinity. */
static inline uint16_t half_from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) { /* 65520 rounds up to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) { /* below 2^-14: subnormal or zero */
        if (magnitude < 0x33000000u) {
            return (uint16_t)sign;
        }
        uint32_t shift = 126 - (magnitude >> 23);
        uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        uint32_t half = mantissa >> shift;
        uint32_t rest = mantissa & ((1u << shift) - 1);
        uint32_t middle = 1u << (shift - 1);
        half += rest > middle || (rest == middle && (half & 1));
        return (uint16_t)(sign | half);
    }
    uint32_t half = (magnitude - 0x38000000u) >> 13;
    uint32_t rest = magnitude & 0x1fffu;
    half += rest > 0x1000u || (rest == 0x1000u && (half & 1));
    return (uint16_t)(sign | half);
}

#endif
