/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_value.h"

#include <stdio.h>

#include "base/calendar.h"

size_t text_date(char *dst, int64_t days)
{
    int64_t year;
    int month, day;
    calendar_date(days, &year, &month, &day);
    int n = snprintf(dst, TEXT_TIME_MAX, year < 0 ? "-%04lld-%02d-%02d" : "%04lld-%02d-%02d",
                     year < 0 ? -(long long)year : (long long)year, month, day);
    return n > 0 ? (size_t)n : 0;
}

static const int64_t per_second[] = { 1, 1000, 1000000, 1000000000 };

/* Seconds of a day and the fraction, all digits of the unit when it is not zero. */
static size_t put_clock(char *dst, size_t room, int64_t seconds, int64_t fraction,
                        enum arrow_unit unit)
{
    int n = snprintf(dst, room, "%02lld:%02lld:%02lld", (long long)(seconds / 3600),
                     (long long)(seconds / 60 % 60), (long long)(seconds % 60));
    if (fraction != 0 && n > 0) {
        n += snprintf(dst + n, room - (size_t)n, ".%0*lld", (int)unit * 3, (long long)fraction);
    }
    return n > 0 ? (size_t)n : 0;
}

/* Division that rounds down, so that times before 1970 have a fraction that is not negative. */
static int64_t floor_divide(int64_t value, int64_t by, int64_t *rest)
{
    int64_t q = value / by;
    *rest = value % by;
    if (*rest < 0) {
        *rest += by;
        q--;
    }
    return q;
}

size_t text_timestamp(char *dst, int64_t value, enum arrow_unit unit, bool is_utc)
{
    int64_t fraction, second;
    int64_t seconds = floor_divide(value, per_second[unit], &fraction);
    int64_t days = floor_divide(seconds, 86400, &second);
    size_t n = text_date(dst, days);
    dst[n++] = 'T';
    n += put_clock(dst + n, TEXT_TIME_MAX - n, second, fraction, unit);
    if (is_utc) {
        dst[n++] = 'Z';
    }
    return n;
}

size_t text_time_of_day(char *dst, int64_t value, enum arrow_unit unit)
{
    int64_t fraction;
    int64_t seconds = floor_divide(value, per_second[unit], &fraction);
    return put_clock(dst, TEXT_TIME_MAX, seconds, fraction, unit);
}
