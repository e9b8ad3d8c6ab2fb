/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <string.h>

#include "base/number.h"

struct decimal256 decimal_from_i64(int64_t v)
{
    uint64_t sign = v < 0 ? UINT64_MAX : 0;
    return (struct decimal256){ { (uint64_t)v, sign, sign, sign } };
}

struct decimal256 decimal_from_u64(uint64_t v)
{
    return (struct decimal256){ { v, 0, 0, 0 } };
}

struct decimal256 decimal_load(const void *p, int32_t width)
{
    const unsigned char *bytes = p;
    struct decimal256 v;
    memset(&v, (bytes[width - 1] & 0x80) != 0 ? 0xff : 0, sizeof v);
    memcpy(&v, bytes, (size_t)width);
    return v;
}

struct decimal256 decimal_negate(struct decimal256 v)
{
    uint64_t carry = 1;
    for (int i = 0; i < 4; i++) {
        v.limbs[i] = ~v.limbs[i] + carry;
        carry = carry && v.limbs[i] == 0;
    }
    return v;
}

bool decimal_is_zero(const struct decimal256 *v)
{
    return (v->limbs[0] | v->limbs[1] | v->limbs[2] | v->limbs[3]) == 0;
}

/* Magnitude times ten plus a digit; false: it does not fit 255 bits. */
static bool times_ten(struct decimal256 *v, uint64_t digit)
{
    struct decimal256 r;
    uint64_t carry = digit;
    for (int i = 0; i < 4; i++) {
        uint64_t low = (v->limbs[i] & UINT32_MAX) * 10 + carry;
        uint64_t high = (v->limbs[i] >> 32) * 10 + (low >> 32);
        r.limbs[i] = (low & UINT32_MAX) | high << 32;
        carry = high >> 32;
    }
    if (carry != 0 || r.limbs[3] >> 63) {
        return false;
    }
    *v = r;
    return true;
}

static int compare_magnitudes(const struct decimal256 *x, const struct decimal256 *y)
{
    for (int i = 3; i >= 0; i--) {
        if (x->limbs[i] != y->limbs[i]) {
            return x->limbs[i] < y->limbs[i] ? -1 : 1;
        }
    }
    return 0;
}

int decimal_compare(struct decimal256 x, int32_t x_scale, struct decimal256 y, int32_t y_scale)
{
    int x_sign = decimal_is_negative(&x) ? -1 : !decimal_is_zero(&x);
    int y_sign = decimal_is_negative(&y) ? -1 : !decimal_is_zero(&y);
    if (x_sign != y_sign || x_sign == 0) {
        return x_sign < y_sign ? -1 : x_sign > y_sign;
    }
    if (x_sign < 0) {
        x = decimal_negate(x);
        y = decimal_negate(y);
    }
    int c = 0;
    for (; x_scale < y_scale && c == 0; x_scale++) {
        c = times_ten(&x, 0) ? 0 : 1; /* beyond 255 bits: larger than any y */
    }
    for (; y_scale < x_scale && c == 0; y_scale++) {
        c = times_ten(&y, 0) ? 0 : -1;
    }
    if (c == 0) {
        c = compare_magnitudes(&x, &y);
    }
    return x_sign < 0 ? -c : c;
}

bool decimal_parse(const char *s, size_t len, struct decimal256 *out, int32_t *scale)
{
    enum { DIGITS_MAX = 76, EXPONENT_MAX = 500 };
    size_t i = 0;
    bool is_negative = len > 0 && s[0] == '-';
    i += len > 0 && (s[0] == '-' || s[0] == '+');
    int n_digits = 0;
    int64_t e = 0;
    bool has_point = false;
    bool has_digit = false;
    memset(out, 0, sizeof *out);
    for (; i < len && (s[i] == '.' || (s[i] >= '0' && s[i] <= '9')); i++) {
        if (s[i] == '.') {
            if (has_point) {
                return false;
            }
            has_point = true;
            continue;
        }
        has_digit = true;
        n_digits += n_digits > 0 || s[i] != '0';
        if (n_digits > DIGITS_MAX || !times_ten(out, (uint64_t)(s[i] - '0'))) {
            return false;
        }
        e -= has_point;
    }
    if (i < len && (s[i] | 0x20) == 'e') {
        i++;
        bool is_minus = i < len && s[i] == '-';
        i += i < len && (s[i] == '-' || s[i] == '+');
        uint64_t v = 0;
        if (!number_parse_u64(s + i, len - i, &v) || v > EXPONENT_MAX) {
            return false;
        }
        e += is_minus ? -(int64_t)v : (int64_t)v;
        i = len;
    }
    if (!has_digit || i != len || e < -2 * EXPONENT_MAX) {
        return false;
    }
    for (; e > 0; e--) {
        if (!times_ten(out, 0)) {
            return false;
        }
    }
    *scale = (int32_t)-e;
    if (is_negative) {
        *out = decimal_negate(*out);
    }
    return true;
}

/* v / 10, the remainder given back. v is a magnitude. */
static unsigned divide_ten(struct decimal256 *v)
{
    uint64_t rest = 0;
    for (int i = 3; i >= 0; i--) {
        uint64_t high = rest << 32 | v->limbs[i] >> 32;
        uint64_t q_high = high / 10;
        uint64_t low = (high % 10) << 32 | (v->limbs[i] & UINT32_MAX);
        v->limbs[i] = q_high << 32 | low / 10;
        rest = low % 10;
    }
    return (unsigned)rest;
}

bool decimal_rescale(struct decimal256 v, int32_t from_scale, int32_t to_scale,
                     struct decimal256 *out, bool *is_range)
{
    bool is_negative = decimal_is_negative(&v);
    struct decimal256 m = is_negative ? decimal_negate(v) : v;
    *is_range = false;
    for (; from_scale < to_scale && !decimal_is_zero(&m); from_scale++) {
        if (!times_ten(&m, 0)) {
            *is_range = true;
            return false;
        }
    }
    for (; from_scale > to_scale && !decimal_is_zero(&m); from_scale--) {
        if (divide_ten(&m) != 0) {
            return false;
        }
    }
    *out = is_negative ? decimal_negate(m) : m;
    return true;
}

bool decimal_fits(const struct decimal256 *v, int32_t precision)
{
    struct decimal256 m = decimal_is_negative(v) ? decimal_negate(*v) : *v;
    struct decimal256 limit = decimal_from_u64(1);
    for (int32_t i = 0; i < precision; i++) {
        if (!times_ten(&limit, 0)) {
            return true; /* more digits than 255 bits have */
        }
    }
    return compare_magnitudes(&m, &limit) < 0;
}

bool decimal_store(const struct decimal256 *v, void *p, int32_t width)
{
    unsigned char bytes[sizeof v->limbs];
    memcpy(bytes, v->limbs, sizeof bytes); /* little-endian hosts, as decimal_load */
    unsigned char sign = bytes[width - 1] & 0x80 ? 0xff : 0;
    for (size_t i = (size_t)width; i < sizeof bytes; i++) {
        if (bytes[i] != sign) {
            return false;
        }
    }
    memcpy(p, bytes, (size_t)width);
    return true;
}

bool decimal_from_double(double d, int32_t scale, struct decimal256 *out)
{
    char text[NUMBER_TEXT_MAX];
    int32_t found = 0;
    unsigned digit = 0;
    size_t n = number_put_double(text, d, &number_style_json);
    if (!decimal_parse(text, n, out, &found)) {
        return false;
    }
    bool is_negative = decimal_is_negative(out), is_range = false;
    struct decimal256 m = is_negative ? decimal_negate(*out) : *out;
    for (; found > scale && (!decimal_is_zero(&m) || digit != 0); found--) {
        digit = divide_ten(&m);
    }
    if (digit >= 5) { /* of what was cut off, the first digit decides */
        for (int i = 0; i < 4 && ++m.limbs[i] == 0; i++) {
        }
    }
    found = found > scale ? scale : found;
    return decimal_rescale(is_negative ? decimal_negate(m) : m, found, scale, out, &is_range);
}

double decimal_to_double(const struct decimal256 *value, int32_t scale)
{
    char digits[96];
    char text[128];
    size_t n = sizeof digits;
    struct decimal256 v = decimal_is_negative(value) ? decimal_negate(*value) : *value;
    do {
        digits[--n] = (char)('0' + divide_ten(&v));
    } while (!decimal_is_zero(&v));
    size_t len = 0;
    if (decimal_is_negative(value)) {
        text[len++] = '-';
    }
    memcpy(text + len, digits + n, sizeof digits - n);
    len += sizeof digits - n;
    text[len++] = 'e';
    len += number_put_i64(text + len, -(int64_t)scale);
    double d = 0;
    number_parse_double(text, len, &d);
    return d;
}
