/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_value.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"

enum { LIMBS_MAX = 8 };

/* limbs /= 10^9; the remainder is given back. Most significant limb last. */
static uint32_t divide_by_billion(uint32_t *limbs, size_t n)
{
    uint64_t rest = 0;
    for (size_t i = n; i > 0; i--) {
        uint64_t v = rest << 32 | limbs[i - 1];
        limbs[i - 1] = (uint32_t)(v / 1000000000u);
        rest = v % 1000000000u;
    }
    return (uint32_t)rest;
}

static bool is_zero(const uint32_t *limbs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (limbs[i] != 0) {
            return false;
        }
    }
    return true;
}

size_t text_decimal(char *dst, const void *bytes, size_t width, int32_t scale)
{
    assert(width == 4 || width == 8 || width == 16 || width == 32);
    uint32_t limbs[LIMBS_MAX] = { 0 };
    size_t n = width / 4;
    for (size_t i = 0; i < n; i++) {
        limbs[i] = load_le32((const char *)bytes + 4 * i);
    }
    bool is_negative = (limbs[n - 1] & 0x80000000u) != 0;
    if (is_negative) {
        uint64_t carry = 1;
        for (size_t i = 0; i < n; i++) {
            carry += (uint32_t)~limbs[i];
            limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    char digits[96]; /* least significant first; 2^256 has 78 */
    size_t n_digits = 0;
    do {
        uint32_t part = divide_by_billion(limbs, n);
        for (int k = 0; k < 9; k++) {
            digits[n_digits++] = (char)('0' + part % 10);
            part /= 10;
        }
    } while (!is_zero(limbs, n));
    while (n_digits > 1 && digits[n_digits - 1] == '0') {
        n_digits--;
    }
    size_t at = 0;
    if (is_negative) {
        dst[at++] = '-';
    }
    if (scale < -100 || scale > 100) { /* no writer makes these; show the parts */
        scale = 0;
    }
    size_t behind = scale > 0 ? (size_t)scale : 0;
    if (n_digits <= behind) {
        dst[at++] = '0';
    }
    for (size_t i = n_digits; i > behind; i--) {
        dst[at++] = digits[i - 1];
    }
    for (int32_t k = scale; k < 0 && !(n_digits == 1 && digits[0] == '0'); k++) {
        dst[at++] = '0';
    }
    if (behind > 0) {
        dst[at++] = '.';
        for (size_t i = behind; i > 0; i--) {
            dst[at++] = i <= n_digits ? digits[i - 1] : '0';
        }
    }
    assert(at <= TEXT_DECIMAL_MAX);
    return at;
}
