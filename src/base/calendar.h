/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_CALENDAR_H
#define GREBE_BASE_CALENDAR_H

/*
 * Days since 1970-01-01 and dates of the proleptic Gregorian calendar: eras of 400 years that begin on
 * 1 March (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
 */

#include <stdint.h>

/** The day of a date; month 1..12, day 1..31 (which the caller checks), |year| <= 2^52. */
static inline int64_t calendar_days(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/** The date of a day. Any number of days is taken; the last 719,468 that there are give one date. */
static inline void calendar_date(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days < INT64_MAX - 719468 ? days + 719468 : INT64_MAX;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int64_t from_march = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * from_march + 2) / 5 + 1);
    *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    *year = years + era * 400 + (*month <= 2);
}

#endif
