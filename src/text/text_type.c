/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_type.h"

#include <math.h>
#include <string.h>

#include "base/calendar.h"
#include "base/number.h"

static const int64_t EXACT_IN_DOUBLE = (int64_t)1 << 53;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

bool text_to_bool(const char *s, size_t len, bool *out)
{
    *out = is_word(s, len, "true") || is_word(s, len, "True") || is_word(s, len, "TRUE");
    return *out || is_word(s, len, "false") || is_word(s, len, "False") ||
           is_word(s, len, "FALSE");
}

/* ---- times ---- */

/* n digits as a number; -1 when there are others. */
static int digits_at(const char *s, size_t n)
{
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s[i])) {
            return -1;
        }
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

bool text_to_date(const char *s, size_t len, int32_t *out)
{
    static const int month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (len != 10 || s[4] != '-' || s[7] != '-') {
        return false;
    }
    int year = digits_at(s, 4), month = digits_at(s + 5, 2), day = digits_at(s + 8, 2);
    if (year < 1 || month < 1 || month > 12 || day < 1) {
        return false;
    }
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > month_days[month - 1] + (month == 2 && is_leap)) {
        return false;
    }
    *out = (int32_t)calendar_days(year, month, day);
    return true;
}

/* "Z", "+01:00", "-0530": seconds to take off; false: something else. */
static bool zone_at(const char *s, size_t len, int64_t *seconds)
{
    *seconds = 0;
    if (len == 1 && s[0] == 'Z') {
        return true;
    }
    if ((len != 6 || s[3] != ':') && len != 5) {
        return false;
    }
    int hours = digits_at(s + 1, 2), minutes = digits_at(s + len - 2, 2);
    *seconds = (s[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return (s[0] == '+' || s[0] == '-') && hours >= 0 && hours < 24 && minutes >= 0 &&
           minutes < 60;
}

/* ".5", ".000001" at *at: nanoseconds; false: no digit, or finer. */
static bool fraction_at(const char *s, size_t len, size_t *at, int32_t *nanos)
{
    int32_t unit = 100000000;
    size_t begin = ++*at;
    for (; *at < len && is_digit(s[*at]); ++*at, unit /= 10) {
        if (unit == 0 && s[*at] != '0') {
            return false;
        }
        *nanos += (s[*at] - '0') * unit;
    }
    return *at > begin;
}

/* "12:00", "12:00:00", "12:00:00.5" at *at, which comes to stand behind it. */
static bool clock_at(const char *s, size_t len, size_t *at, int32_t *seconds, int32_t *nanos)
{
    const char *p = s + *at;
    size_t left = len - *at;
    if (left < 5 || p[2] != ':') {
        return false;
    }
    int hour = digits_at(p, 2), minute = digits_at(p + 3, 2), second = 0;
    *at += 5;
    *nanos = 0;
    if (left >= 8 && p[5] == ':') {
        second = digits_at(p + 6, 2);
        *at += 3;
        if (left > 9 && p[8] == '.' && !fraction_at(s, len, at, nanos)) {
            return false;
        }
    }
    *seconds = hour * 3600 + minute * 60 + second;
    return hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59;
}

bool text_to_clock(const char *s, size_t len, int32_t *seconds, int32_t *nanos)
{
    size_t at = 0;
    return clock_at(s, len, &at, seconds, nanos) && at == len;
}

bool text_to_instant(const char *s, size_t len, bool is_utc, int64_t *seconds, int32_t *nanos)
{
    int32_t days = 0, clock = 0;
    int64_t zone = 0;
    size_t at = 11;
    *nanos = 0;
    if (len < 10 || !text_to_date(s, 10, &days)) {
        return false;
    }
    if (len == 10) {
        *seconds = days * INT64_C(86400);
        return !is_utc;
    }
    if ((s[10] != 'T' && s[10] != ' ') || !clock_at(s, len, &at, &clock, nanos)) {
        return false;
    }
    bool has_zone = at < len;
    if ((has_zone && !zone_at(s + at, len - at, &zone)) || has_zone != is_utc) {
        return false;
    }
    *seconds = days * INT64_C(86400) + clock - zone;
    return true;
}

bool text_to_timestamp(const char *s, size_t len, bool is_utc, int64_t *out)
{
    int64_t seconds = 0;
    int32_t nanos = 0;
    if (!text_to_instant(s, len, is_utc, &seconds, &nanos) || nanos % 1000 != 0) {
        return false;
    }
    *out = seconds * 1000000 + nanos / 1000;
    return true;
}

/* ---- sets ---- */

static unsigned integer_types(const char *s, size_t len)
{
    int64_t i = 0;
    uint64_t u = 0;
    if (!text_is_canonical(s, len)) {
        return TEXT_DOUBLE; /* "-0" */
    }
    if (text_to_i64(s, len, &i)) {
        return TEXT_INT64 | (i >= 0 ? TEXT_UINT64 : 0u) |
               (i <= EXACT_IN_DOUBLE && i >= -EXACT_IN_DOUBLE ? TEXT_DOUBLE : 0u);
    }
    return number_parse_u64(s, len, &u) ? TEXT_UINT64 : 0;
}

unsigned text_types_of(const char *s, size_t len)
{
    bool is_integer = false, has_exponent = false, truth = false;
    int64_t micros = 0;
    double d = 0;
    if (len == 0) {
        return 0;
    }
    if (!is_digit(s[0]) && s[0] != '-' && s[0] != '.') {
        return text_to_bool(s, len, &truth) ? TEXT_BOOL : text_is_special(s, len) ? TEXT_DOUBLE : 0;
    }
    if (text_is_decimal(s, len, &is_integer, &has_exponent)) {
        if (is_integer) {
            return integer_types(s, len);
        }
        bool is_surely_finite = !has_exponent && len < 300;
        return is_surely_finite || (number_parse_double(s, len, &d) && isfinite(d)) ? TEXT_DOUBLE
                                                                                    : 0;
    }
    if (text_to_timestamp(s, len, false, &micros)) {
        return len == 10 ? TEXT_DATE | TEXT_TIMESTAMP : TEXT_TIMESTAMP;
    }
    if (text_to_timestamp(s, len, true, &micros)) {
        return TEXT_TIMESTAMP_UTC;
    }
    return text_is_special(s, len) ? TEXT_DOUBLE : 0;
}

unsigned text_type_narrowest(unsigned types) { return types & (~types + 1); }

const char *text_type_format(unsigned type)
{
    switch (type) {
    case TEXT_BOOL: return "b";
    case TEXT_INT64: return "l";
    case TEXT_UINT64: return "L";
    case TEXT_DOUBLE: return "g";
    case TEXT_DATE: return "tdD";
    case TEXT_TIMESTAMP: return "tsu:";
    case TEXT_TIMESTAMP_UTC: return "tsu:UTC";
    default: return "u";
    }
}

const char *text_type_name(unsigned type)
{
    switch (type) {
    case TEXT_BOOL: return "true or false";
    case TEXT_INT64: return "int64";
    case TEXT_UINT64: return "uint64";
    case TEXT_DOUBLE: return "double";
    case TEXT_DATE: return "a date";
    case TEXT_TIMESTAMP: return "timestamp[us]";
    case TEXT_TIMESTAMP_UTC: return "timestamp[us, tz=UTC]";
    default: return "string";
    }
}
