/* SPDX-License-Identifier: Apache-2.0 */
/* Stored floats that the format's reader takes for a neighbour, spelled so that it reads them back. */
#include "gitvdb/vdb_scan.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "gitvdb/vdb_json.h"

enum { DIGITS = 18, STEPS = 96, SPELLING_MAX = 48 };

/* Digits and exponent of a float as text, padded to DIGITS digits: it is *digits * 10^*e. */
static bool split_float(const char *p, const char *end, uint64_t *digits, int *e)
{
    uint64_t sum = 0;
    int n = 0, exponent = 0;
    bool is_behind_point = false;
    for (; p < end && (*p | 0x20) != 'e'; p++) {
        if (*p == '.') {
            is_behind_point = true;
            continue;
        }
        exponent -= is_behind_point;
        if (n != 0 || *p != '0') {
            if (++n > DIGITS) {
                return false;
            }
            sum = sum * 10 + (uint64_t)(*p - '0');
        }
    }
    if (p < end) {
        int written = 0;
        bool is_negative = p + 1 < end && p[1] == '-';
        for (p += 1 + (p + 1 < end && (p[1] == '-' || p[1] == '+')); p < end && written < 10000; p++) {
            written = written * 10 + (*p - '0');
        }
        exponent += is_negative ? -written : written;
    }
    for (; n != 0 && n < DIGITS; n++, exponent--) {
        sum *= 10;
    }
    *digits = sum;
    *e = exponent;
    return n != 0;
}

/*
 * The rule rounds the digits to a double and then multiplies or divides once: some neighbour of them gives `wanted`, but where the doubles
 * of the digits are wider apart than those of the result. So other numbers of digits are tried too; a few in a thousand have no spelling.
 */
static bool spell(const char *p, const char *end, double wanted, char out[SPELLING_MAX])
{
    const char *sign = *p == '-' ? "-" : "";
    uint64_t digits;
    int e;
    if (!split_float(p + (*p == '-'), end, &digits, &e)) {
        return false;
    }
    const struct {
        uint64_t digits;
        int e;
        int64_t step; /* about the distance of doubles of this size */
    } widths[] = { { digits, e, 16 },
                   { digits * 10, e - 1, 128 },
                   { digits / 10, e + 1, 2 },
                   { digits / 100, e + 2, 1 },
                   { digits < UINT64_MAX / 101 ? digits * 100 : digits, e - 2, 1024 } };
    for (size_t i = 0; i < sizeof widths / sizeof widths[0] * 2 * STEPS; i++) {
        size_t w = i / (2 * STEPS), k = i % (2 * STEPS);
        int64_t by = widths[w].step * (int64_t)((k + 1) / 2) * (k % 2 == 0 ? 1 : -1);
        struct vdb_number n;
        struct vdb_fault fault;
        int len = snprintf(out, SPELLING_MAX, "%s%llue%d", sign, (unsigned long long)(widths[w].digits + (uint64_t)by), widths[w].e);
        const char *behind = vdb_scan_number(out, out + len, &n, &fault);
        if (behind == out + len && n.type == VDB_FLOAT && memcmp(&n.f, &wanted, sizeof wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* Behind a string; canonical text is well formed. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\';
    }
    return p < end ? p + 1 : end;
}

grebe_status vdb_json_put_readable(struct buf *dst, const char *text, size_t len, grebe_error *err)
{
    const char *end = text + len, *start = text;
    if (!vdb_json_is_unstable(text, len)) {
        return buf_put(dst, text, len, err);
    }
    for (const char *p = text; p < end;) {
        struct vdb_number n;
        struct vdb_fault fault;
        char spelling[SPELLING_MAX];
        double wanted;
        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        const char *behind = *p == '-' || (*p >= '0' && *p <= '9') ? vdb_scan_number(p, end, &n, &fault) : NULL;
        if (behind != NULL && n.type == VDB_FLOAT && number_parse_double(p, (size_t)(behind - p), &wanted) &&
            memcmp(&n.f, &wanted, sizeof wanted) != 0 && spell(p, behind, wanted, spelling)) {
            grebe_status st = buf_put(dst, start, (size_t)(p - start), err);
            st = st == GREBE_OK ? buf_put_text(dst, spelling, err) : st;
            if (st != GREBE_OK) {
                return st;
            }
            start = behind;
        }
        p = behind != NULL ? behind : p + 1;
    }
    return buf_put(dst, start, (size_t)(end - start), err);
}
