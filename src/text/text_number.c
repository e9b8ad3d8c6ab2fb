/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text, eight digits at a time; base/number.h decides what is not plain. */
#include "text/text_type.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "base/number.h"

static const int64_t EXACT_IN_DOUBLE = (int64_t)1 << 53;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Eight bytes are digits: the high halves are 3, and adding 6 carries into none of them. */
static bool are_digits(uint64_t w)
{
    return ((w & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
            (((w + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4)) ==
           UINT64_C(0x3333333333333333);
}

/* The number that eight digits in memory order are: pairs, fours, eight. */
static uint32_t eight_digits(uint64_t w)
{
    w = (w & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    w = (w & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (uint32_t)((w & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32);
}

/* Digits from s on, added to *v as it wraps; how many there are. */
static size_t take_digits(const char *s, size_t len, uint64_t *v)
{
    size_t i = 0;
    uint64_t w = *v;
    while (len - i >= 8) {
        uint64_t eight = load_le64(s + i);
        if (!are_digits(eight)) {
            break;
        }
        w = w * 100000000 + eight_digits(eight);
        i += 8;
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

bool text_to_i64(const char *s, size_t len, int64_t *out)
{
    size_t sign = len > 0 && s[0] == '-';
    uint64_t v = 0;
    if (!text_is_canonical(s, len) || len - sign > 19 ||
        take_digits(s + sign, len - sign, &v) != len - sign || v > (uint64_t)INT64_MAX + sign) {
        return false;
    }
    *out = sign ? (int64_t)(0 - v) : (int64_t)v;
    return true;
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
    uint64_t ignored = 0;
    size_t i = len > 0 && s[0] == '-', first = i;
    size_t digits = take_digits(s + i, len - i, &ignored);
    i += digits;
    *has_exponent = false;
    if (digits > 1 && s[first] == '0') {
        return false;
    }
    *is_integer = i == len && digits > 0;
    if (i < len && s[i] == '.') {
        i++;
        size_t behind = take_digits(s + i, len - i, &ignored);
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

bool text_to_double(const char *s, size_t len, double *out)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    size_t sign = len > 0 && s[0] == '-', i = sign;
    uint64_t w = 0;
    size_t whole = take_digits(s + i, len - i, &w), behind = 0;
    i += whole;
    if (whole > 1 && s[sign] == '0') {
        return false;
    }
    if (i < len && s[i] == '.') {
        i++;
        behind = take_digits(s + i, len - i, &w);
        i += behind;
    } else if (w > (uint64_t)EXACT_IN_DOUBLE) {
        return slow_double(s, len, out);
    }
    /* 19 digits do not wrap; zeros in front of them are digits, too, which only costs time */
    if (i != len || whole + behind == 0 || whole + behind > 19) {
        return slow_double(s, len, out);
    }
    double v = w <= (uint64_t)EXACT_IN_DOUBLE
                   ? (double)w / powers[behind] /* both are exact: one rounding (Clinger 1990) */
                   : number_scale_double(w, -(int)behind);
    *out = sign ? -v : v;
    return true;
}
