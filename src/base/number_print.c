/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/number_table.h"

const struct number_style number_style_json = { -5, 16, false, false };
const struct number_style number_style_python = { -4, 16, true, true };

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
};

size_t number_put_u64(char *dst, uint64_t v)
{
    char text[20];
    size_t n = 0;
    do {
        text[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    for (size_t i = 0; i < n; i++) {
        dst[i] = text[n - 1 - i];
    }
    return n;
}

size_t number_put_i64(char *dst, int64_t v)
{
    if (v >= 0) {
        return number_put_u64(dst, (uint64_t)v);
    }
    dst[0] = '-';
    return 1 + number_put_u64(dst + 1, 0 - (uint64_t)v);
}

/* ---- Schubfach: names as in the paper; g is 10^-k rounded up ---- */

static inline int floor_log2_pow10(int e) { return (e * 1741647) >> 19; }
static inline int floor_log10_pow2(int e) { return (e * 1262611) >> 22; }
static inline int floor_log10_three_quarters_pow2(int e) { return (e * 1262611 - 524031) >> 22; }

static void power_up(int q, uint64_t *high, uint64_t *low)
{
    enum { EXACT_MAX = 55 }; /* 5^55 < 2^128 */
    const uint64_t *t = number_table[q - NUMBER_TABLE_FIRST];
    *high = t[0];
    *low = t[1];
    if (q > EXACT_MAX) {
        ++*low;
        *high += *low == 0;
    }
}

/* High 64 bits of g * cp / 2^64, the rest folded into the last bit. */
static inline uint64_t round_to_odd(uint64_t high, uint64_t low, uint64_t cp)
{
    uint64_t x0;
    uint64_t y0;
    uint64_t x1 = number_mul(low, cp, &x0);
    uint64_t y1 = number_mul(high, cp, &y0);
    y0 += x1;
    y1 += y0 < x1;
    return y1 | (y0 > 1);
}

/* The same for the 64-bit power that a float needs. */
static inline uint64_t round_to_odd32(uint64_t high, uint64_t cp)
{
    uint64_t low;
    uint64_t y1 = number_mul(high, cp, &low);
    return y1 | ((low >> 32) > 1);
}

struct bounds {
    uint64_t lower, value, upper; /* four times the decimal, scaled by 10^-k */
    int k;
};

static struct decimal shortest(const struct bounds *b)
{
    uint64_t s = b->value / 4;
    if (s >= 10) {
        uint64_t sp = s / 10;
        bool up_inside = b->lower <= 40 * sp;
        bool wp_inside = 40 * sp + 40 <= b->upper;
        if (up_inside != wp_inside) {
            return (struct decimal){ sp + wp_inside, b->k + 1 };
        }
    }
    bool u_inside = b->lower <= 4 * s;
    bool w_inside = 4 * s + 4 <= b->upper;
    if (u_inside != w_inside) {
        return (struct decimal){ s + w_inside, b->k };
    }
    uint64_t middle = 4 * s + 2;
    bool round_up = b->value > middle || (b->value == middle && (s & 1) != 0);
    return (struct decimal){ s + round_up, b->k };
}

/* c * 2^q; is_regular: false at a power of two, where the gap below is half as wide. */
static struct decimal to_decimal(uint64_t c, int q, bool is_regular, bool is_float)
{
    unsigned is_odd = c & 1;
    struct bounds b;
    b.k = is_regular ? floor_log10_pow2(q) : floor_log10_three_quarters_pow2(q);
    int h = q + floor_log2_pow10(-b.k) + 1;
    assert(h >= 1 && h <= 4);
    uint64_t cbl = 4 * c - 2 + !is_regular;
    uint64_t high;
    uint64_t low;
    power_up(-b.k, &high, &low);
    if (is_float) {
        high += low != 0; /* rounded up to 64 bits */
        b.lower = round_to_odd32(high, cbl << h) + is_odd;
        b.value = round_to_odd32(high, (4 * c) << h);
        b.upper = round_to_odd32(high, (4 * c + 2) << h) - is_odd;
    } else {
        b.lower = round_to_odd(high, low, cbl << h) + is_odd;
        b.value = round_to_odd(high, low, (4 * c) << h);
        b.upper = round_to_odd(high, low, (4 * c + 2) << h) - is_odd;
    }
    return shortest(&b);
}

static size_t put_exponent(char *dst, int e, const struct number_style *style)
{
    size_t n = 0;
    dst[n++] = 'e';
    if (e < 0) {
        dst[n++] = '-';
        e = -e;
    } else if (style->has_plus) {
        dst[n++] = '+';
    }
    if (style->is_padded && e < 10) {
        dst[n++] = '0';
    }
    return n + number_put_u64(dst + n, (uint64_t)e);
}

static size_t put_decimal(char *dst, struct decimal d, const struct number_style *style)
{
    while (d.digits % 10 == 0 && d.digits != 0) {
        d.digits /= 10;
        d.exponent++;
    }
    char text[20];
    size_t n_digits = number_put_u64(text, d.digits);
    int exp10 = d.exponent + (int)n_digits - 1;
    size_t n = 0;
    if (exp10 < style->exp10_min || exp10 >= style->exp10_max) {
        dst[n++] = text[0];
        if (n_digits > 1) {
            dst[n++] = '.';
            memcpy(dst + n, text + 1, n_digits - 1);
            n += n_digits - 1;
        }
        return n + put_exponent(dst + n, exp10, style);
    }
    if (exp10 < 0) {
        dst[n++] = '0';
        dst[n++] = '.';
        memset(dst + n, '0', (size_t)(-exp10 - 1));
        n += (size_t)(-exp10 - 1);
        memcpy(dst + n, text, n_digits);
        return n + n_digits;
    }
    size_t n_whole = (size_t)exp10 + 1;
    if (n_digits <= n_whole) {
        memcpy(dst, text, n_digits);
        memset(dst + n_digits, '0', n_whole - n_digits);
        memcpy(dst + n_whole, ".0", 2);
        return n_whole + 2;
    }
    memcpy(dst, text, n_whole);
    dst[n_whole] = '.';
    memcpy(dst + n_whole + 1, text + n_whole, n_digits - n_whole);
    return n_digits + 1;
}

static size_t put_special(char *dst, bool is_nan, bool is_negative)
{
    const char *text = is_nan ? "nan" : is_negative ? "-inf" : "inf";
    size_t n = strlen(text);
    memcpy(dst, text, n);
    return n;
}

size_t number_put_double(char *dst, double v, const struct number_style *style)
{
    enum { MANTISSA_BITS = 52, BIAS = 1023 + 52 };
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    int exponent = (int)(bits >> MANTISSA_BITS & 0x7ff);
    bool is_negative = bits >> 63;
    if (exponent == 0x7ff) {
        return put_special(dst, mantissa != 0, is_negative);
    }
    size_t n = 0;
    if (is_negative) {
        dst[n++] = '-';
    }
    struct decimal d = { 0, 0 };
    uint64_t c = exponent != 0 ? mantissa | UINT64_C(1) << MANTISSA_BITS : mantissa;
    int q = (exponent != 0 ? exponent : 1) - BIAS;
    if (c == 0) {
        d = (struct decimal){ 0, 0 };
    } else if (q <= 0 && q > -MANTISSA_BITS - 1 && (c & ((UINT64_C(1) << -q) - 1)) == 0) {
        d = (struct decimal){ c >> -q, 0 }; /* a whole number below 2^53 */
    } else {
        d = to_decimal(c, q, mantissa != 0 || exponent <= 1, false);
    }
    return n + put_decimal(dst + n, d, style);
}

size_t number_put_float(char *dst, float v, const struct number_style *style)
{
    enum { MANTISSA_BITS = 23, BIAS = 127 + 23 };
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint32_t mantissa = bits & ((1u << MANTISSA_BITS) - 1);
    int exponent = (int)(bits >> MANTISSA_BITS & 0xff);
    bool is_negative = bits >> 31;
    if (exponent == 0xff) {
        return put_special(dst, mantissa != 0, is_negative);
    }
    size_t n = 0;
    if (is_negative) {
        dst[n++] = '-';
    }
    struct decimal d = { 0, 0 };
    uint64_t c = exponent != 0 ? mantissa | 1u << MANTISSA_BITS : mantissa;
    int q = (exponent != 0 ? exponent : 1) - BIAS;
    if (c != 0) {
        d = q <= 0 && q > -MANTISSA_BITS - 1 && (c & ((UINT64_C(1) << -q) - 1)) == 0
                ? (struct decimal){ c >> -q, 0 }
                : to_decimal(c, q, mantissa != 0 || exponent <= 1, true);
    }
    return n + put_decimal(dst + n, d, style);
}

size_t number_put_fixed(char *dst, double v, int decimals)
{
    uint64_t unit = 1;
    size_t n = 0;
    for (int i = 0; i < decimals; i++) {
        unit *= 10;
    }
    double scaled = fabs(v) * (double)unit + 0.5;
    if (!(scaled < 0x1p53)) { /* NaN and infinities too */
        return number_put_double(dst, v, &number_style_json);
    }
    uint64_t whole = (uint64_t)scaled / unit, rest = (uint64_t)scaled % unit;
    if (v < 0 && scaled >= 1) {
        dst[n++] = '-';
    }
    n += number_put_u64(dst + n, whole);
    if (decimals > 0) {
        dst[n++] = '.';
        for (unit /= 10; unit > 0; unit /= 10) {
            dst[n++] = (char)('0' + rest / unit % 10);
        }
    }
    return n;
}
