/* SPDX-License-Identifier: Apache-2.0 */
#include "table/version.h"

#include <stdio.h>

#include "base/calendar.h"

void time_print(char dst[TIME_TEXT_LEN], int64_t time_us)
{
    int64_t seconds = time_us / 1000000;
    int64_t fraction = time_us % 1000000;
    if (fraction < 0) {
        fraction += 1000000;
        seconds--;
    }
    int64_t days = seconds / 86400;
    int64_t rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t y = 0;
    int m = 0;
    int d = 0;
    calendar_date(days, &y, &m, &d);
    if (y < 0 || y > 9999) { /* cannot be written in RFC 3339: the nearest that can */
        snprintf(dst, TIME_TEXT_LEN, "%s", y < 0 ? "0000-01-01T00:00:00Z" : "9999-12-31T23:59:59Z");
        return;
    }
    char part[16] = "";
    if (fraction != 0) {
        snprintf(part, sizeof part, ".%06u", (unsigned)fraction);
    }
    snprintf(dst, TIME_TEXT_LEN, "%04u-%02u-%02uT%02u:%02u:%02u%.7sZ", (unsigned)(y % 10000),
             (unsigned)m % 100, (unsigned)d % 100, (unsigned)(rest / 3600) % 100, (unsigned)(rest / 60 % 60),
             (unsigned)(rest % 60), part);
}

/* Exactly n digits. */
static bool digits(const char **p, unsigned n, unsigned *out)
{
    *out = 0;
    for (unsigned i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9') {
            return false;
        }
        *out = *out * 10 + (unsigned)(**p - '0');
    }
    return true;
}

static bool parse_zone(const char **p, int64_t *offset_s)
{
    *offset_s = 0;
    if (**p == 'Z' || **p == 'z') {
        (*p)++;
    } else if (**p == '+' || **p == '-') {
        int64_t sign = **p == '-' ? -1 : 1;
        unsigned h = 0;
        unsigned m = 0;
        (*p)++;
        if (!digits(p, 2, &h) || *(*p)++ != ':' || !digits(p, 2, &m) || h > 23 || m > 59) {
            return false;
        }
        *offset_s = sign * ((int64_t)h * 3600 + m * 60);
    }
    return **p == '\0';
}

bool time_parse(const char *text, int64_t *out_us)
{
    static const unsigned month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const char *p = text;
    unsigned y = 0, m = 0, d = 0, h = 0, mi = 0, s = 0;
    int64_t us = 0;
    int64_t offset_s = 0;
    if (!digits(&p, 4, &y) || *p++ != '-' || !digits(&p, 2, &m) || *p++ != '-' ||
        !digits(&p, 2, &d) || m < 1 || m > 12 || d < 1) {
        return false;
    }
    bool is_leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (d > month_days[m - 1] + (m == 2 && is_leap ? 1 : 0)) {
        return false;
    }
    if (*p == 'T' || *p == 't' || *p == ' ') {
        p++;
        if (!digits(&p, 2, &h) || *p++ != ':' || !digits(&p, 2, &mi) || *p++ != ':' ||
            !digits(&p, 2, &s) || h > 23 || mi > 59 || s > 60) {
            return false;
        }
        if (*p == '.') {
            int64_t unit = 100000;
            p++;
            if (*p < '0' || *p > '9') {
                return false;
            }
            for (; *p >= '0' && *p <= '9'; p++, unit /= 10) {
                us += (*p - '0') * unit; /* digits beyond microseconds are cut off */
            }
        }
        if (!parse_zone(&p, &offset_s)) {
            return false;
        }
    } else if (*p != '\0') {
        return false;
    }
    int64_t seconds = calendar_days(y, (int)m, (int)d) * 86400 + (int64_t)h * 3600 + mi * 60 + s - offset_s;
    *out_us = seconds * 1000000 + us;
    return true;
}
