/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_value.h"

#include <stdio.h>

/* Days since 1970-01-01 to the proleptic Gregorian calendar: eras of 400 years that begin on
 * 1 March (Hinnant, "chrono-compatible low-level date algorithms"). */
static void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days < INT64_MAX - 719468 ? days + 719468 : INT64_MAX;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *year = yoe + era * 400 + (*month <= 2);
}

size_t text_date(char *dst, int64_t days)
{
    int64_t year;
    int month, day;
    civil_from_days(days, &year, &month, &day);
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
