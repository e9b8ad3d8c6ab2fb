/* SPDX-License-Identifier: Apache-2.0 */
#include "test_sha256.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t x, unsigned r)
{
    return x >> r | x << (32 - r);
}

static void block(uint32_t h[8], const uint32_t k[64], const unsigned char *p)
{
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++) {
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] =
            w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t u = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t;
        v[0] = t + u;
    }
    for (size_t i = 0; i < 8; i++) {
        h[i] += v[i];
    }
}

void test_sha256(const void *bytes, size_t len, char hex[65])
{
    /* the constants are the first bits of the roots of primes */
    uint32_t k[64], h[8];
    for (unsigned prime = 2, n = 0; n < 64; prime++) {
        unsigned d = 2;
        while (d * d <= prime && prime % d != 0) {
            d++;
        }
        if (d * d > prime) {
            long double c = cbrtl((long double)prime), s = sqrtl((long double)prime);
            k[n] = (uint32_t)((c - floorl(c)) * 4294967296.0L);
            if (n < 8) {
                h[n] = (uint32_t)((s - floorl(s)) * 4294967296.0L);
            }
            n++;
        }
    }
    const unsigned char *p = bytes;
    size_t at = 0;
    for (; len - at >= 64; at += 64) {
        block(h, k, p + at);
    }
    unsigned char tail[128] = { 0 };
    size_t rest = len - at, total = rest < 56 ? 64 : 128;
    if (rest > 0) {
        memcpy(tail, p + at, rest);
    }
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        tail[total - 1 - i] = (unsigned char)((uint64_t)len * 8 >> (8 * i));
    }
    for (size_t i = 0; i < total; i += 64) {
        block(h, k, tail + i);
    }
    for (size_t i = 0; i < 8; i++) {
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)h[i]);
    }
}
