/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text, eight digits at a time; base/number.h decides what is not plain. */
#include "text/text_type.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "base/number.h"

static const int64_t EXACT_IN_DOUBLE = (int64_t)1 << 53;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The high bit of every byte that is no digit. */
static uint64_t no_digits(uint64_t w)
{
    uint64_t x = w ^ UINT64_C(0x3030303030303030);
    return (((x & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | x) &
           UINT64_C(0x8080808080808080);
}

/* The number that eight digits in memory order are: pairs, fours, eight. */
static uint32_t eight_digits(uint64_t w)
{
    w = (w & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    w = (w & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (uint32_t)((w & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32);
}

/* Digits from s on, put behind those of *v, which wraps; how many there are. */
static inline size_t take_digits(const char *s, size_t len, uint64_t *v)
{
    static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 };
    size_t i = 0;
    uint64_t w = *v;
    while (len - i >= 8) {
        uint64_t eight = load_le64(s + i), others = no_digits(eight);
        if (others == 0) {
            w = w * 100000000 + eight_digits(eight);
            i += 8;
            continue;
        }
        size_t n = (size_t)__builtin_ctzll(others) / 8;
        if (n > 0) { /* bytes of 0 in front are zeros, too */
            w = w * powers[n] + eight_digits(eight << (64 - 8 * n));
        }
        *v = w;
        return i + n;
    }
    while (i < len && is_digit(s[i])) {
        w = w * 10 + (uint64_t)(s[i++] - '0');
    }
    *v = w;
    return i;
}

/* No zeros in front, no plus, not "-0": the integer prints back to the text. */
bool text_is_canonical(const char *s, size_t len)
{
    return len > 0 && (s[0] == '-' ? len > 1 && s[1] != '0' : s[0] != '0' || len == 1);
}

size_t text_take_i64(const char *s, size_t len, int64_t *out)
{
    size_t sign = len > 0 && s[0] == '-';
    uint64_t v = 0;
    size_t n = take_digits(s + sign, len - sign, &v);
    if (n == 0 || n > 19 || v > (uint64_t)INT64_MAX + sign ||
        (s[sign] == '0' && (n > 1 || sign))) {
        return 0;
    }
    *out = sign ? (int64_t)(0 - v) : (int64_t)v;
    return sign + n;
}

bool text_to_i64(const char *s, size_t len, int64_t *out)
{
    return len > 0 && text_take_i64(s, len, out) == len;
}

bool text_to_u64(const char *s, size_t len, uint64_t *out)
{
    if (len >= 20) {
        return text_is_canonical(s, len) && number_parse_u64(s, len, out);
    }
    uint64_t v = 0;
    if (!text_is_canonical(s, len) || take_digits(s, len, &v) != len) {
        return false;
    }
    *out = v;
    return true;
}

bool text_is_decimal(const char *s, size_t len, bool *is_integer, bool *has_exponent)
{
    size_t i = len > 0 && s[0] == '-', first = i;
    size_t digits = text_digits(s + i, len - i);
    i += digits;
    *has_exponent = false;
    if (digits > 1 && s[first] == '0') {
        return false;
    }
    *is_integer = i == len && digits > 0;
    if (i < len && s[i] == '.') {
        i++;
        size_t behind = text_digits(s + i, len - i);
        digits += behind;
        i += behind;
    }
    if (digits > 0 && i < len && (s[i] == 'e' || s[i] == 'E')) {
        *has_exponent = true;
        i++;
        i += i < len && (s[i] == '-' || s[i] == '+');
        size_t begin = i;
        while (i < len && is_digit(s[i])) {
            i++;
        }
        digits = i > begin ? digits : 0;
    }
    return digits > 0 && i == len;
}

static bool is_word(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

bool text_is_special(const char *s, size_t len)
{
    size_t sign = len > 0 && s[0] == '-';
    s += sign;
    len -= sign;
    return is_word(s, len, "inf") || is_word(s, len, "Infinity") ||
           (sign == 0 && (is_word(s, len, "NaN") || is_word(s, len, "nan")));
}

/* Anything that the grammar has, by the way that knows all of it. */
static bool slow_double(const char *s, size_t len, double *out)
{
    bool is_integer = false, has_exponent = false;
    int64_t exact = 0;
    if (!text_is_decimal(s, len, &is_integer, &has_exponent)) {
        return text_is_special(s, len) && number_parse_double(s, len, out);
    }
    if (is_integer && len > 15 &&
        (!number_parse_i64(s, len, &exact) || exact > EXACT_IN_DOUBLE ||
         exact < -EXACT_IN_DOUBLE)) {
        return false;
    }
    return number_parse_double(s, len, out) && isfinite(*out);
}

size_t text_take_double(const char *s, size_t len, double *out)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    size_t sign = len > 0 && s[0] == '-', i = sign;
    uint64_t w = 0;
    size_t whole = take_digits(s + i, len - i, &w), behind = 0;
    i += whole;
    if (whole == 0 || (whole > 1 && s[sign] == '0')) {
        return 0;
    }
    if (i < len && s[i] == '.') {
        i++;
        behind = take_digits(s + i, len - i, &w);
        i += behind;
        if (behind == 0) {
            return 0;
        }
    } else if (w > (uint64_t)EXACT_IN_DOUBLE) {
        return 0;
    }
    /* 19 digits do not wrap; zeros in front of them are digits, too, which only costs time */
    if (whole + behind > 19) {
        return 0;
    }
    double v = w <= (uint64_t)EXACT_IN_DOUBLE
                   ? (double)w / powers[behind] /* both are exact: one rounding (Clinger 1990) */
                   : number_scale_double(w, -(int)behind);
    *out = sign ? -v : v;
    return i;
}

bool text_to_double(const char *s, size_t len, double *out)
{
    return (len > 0 && text_take_double(s, len, out) == len) || slow_double(s, len, out);
}

size_t text_digits(const char *s, size_t len)
{
    size_t i = 0;
    while (len - i >= 8) {
        uint64_t others = no_digits(load_le64(s + i));
        if (others != 0) {
            return i + (size_t)__builtin_ctzll(others) / 8;
        }
        i += 8;
    }
    while (i < len && is_digit(s[i])) {
        i++;
    }
    return i;
}
