/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/utf8.h"
#include "wire/json_escape.h"

static inline bool is_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

/* ---- numbers ---- */

enum { POW10_MAX = 308, EXACT_POW10_MAX = 22 };

/* One product or quotient, rounded once more than it should be: the format's rule, not a slip. */
static double from_parts(uint64_t significand, int64_t exponent)
{
    double f = (double)significand;
    while (exponent < -POW10_MAX && f != 0) {
        f /= 1e308;
        exponent += POW10_MAX;
    }
    if (f == 0) {
        return f;
    }
    if (exponent > POW10_MAX) {
        return INFINITY;
    }
    return exponent >= 0 ? f * vdb_pow10[exponent] : f / vdb_pow10[-exponent];
}

struct digits {
    const char *p, *end;
    uint64_t significand;
    int64_t exponent;
    bool is_cut; /* digits were left out of the significand */
};

/* One digit more; false: it does not fit 64 bits. */
static inline bool push_digit(struct digits *d)
{
    uint64_t digit = (uint64_t)(*d->p - '0');
    if (d->significand > UINT64_MAX / 10 || (d->significand == UINT64_MAX / 10 && digit > UINT64_MAX % 10)) {
        d->is_cut = true;
        return false;
    }
    d->significand = d->significand * 10 + digit;
    d->p++;
    return true;
}

/* d->p is behind the point. */
static bool take_fraction(struct digits *d, struct vdb_fault *fault)
{
    if (!is_digit(d->p, d->end)) {
        return vdb_scan_fault(fault, d->p, "a digit") != NULL;
    }
    while (is_digit(d->p, d->end)) {
        if (!push_digit(d)) {
            while (is_digit(d->p, d->end)) { /* what does not fit is dropped */
                d->p++;
            }
            return true;
        }
        d->exponent--;
    }
    return true;
}

/* d->p is behind the e. *is_huge: the exponent itself does not fit 31 bits; *is_up: its sign. */
static bool take_exponent(struct digits *d, bool *is_huge, bool *is_up, struct vdb_fault *fault)
{
    int64_t e = 0;
    *is_huge = false;
    *is_up = true;
    if (d->p < d->end && (*d->p == '+' || *d->p == '-')) {
        *is_up = *d->p == '+';
        d->p++;
    }
    if (!is_digit(d->p, d->end)) {
        return vdb_scan_fault(fault, d->p, "a digit") != NULL;
    }
    for (; is_digit(d->p, d->end); d->p++) {
        if (!*is_huge) {
            e = e * 10 + (*d->p - '0');
            *is_huge = e > INT32_MAX;
        }
    }
    d->exponent += *is_up ? e : -e;
    return true;
}

/* What has a point, an exponent, or too many digits. */
static const char *scan_float(struct digits *d, bool is_negative, struct vdb_number *out, struct vdb_fault *fault)
{
    bool is_huge = false;
    bool is_up = true;
    for (; is_digit(d->p, d->end); d->p++) { /* of an integer beyond 64 bits: their number counts, not they */
        d->exponent++;
    }
    if (d->p < d->end && *d->p == '.') {
        d->p++;
        if (!take_fraction(d, fault)) {
            return NULL;
        }
    }
    if (d->p < d->end && (*d->p | 0x20) == 'e') {
        d->p++;
        if (!take_exponent(d, &is_huge, &is_up, fault)) {
            return NULL;
        }
    }
    double f = !is_huge ? from_parts(d->significand, d->exponent) : is_up && d->significand != 0 ? INFINITY : 0;
    out->type = VDB_FLOAT;
    out->f = is_negative ? -f : f;
    out->is_exact = !d->is_cut && !is_huge && d->significand < UINT64_C(1) << 53 && d->exponent >= -EXACT_POW10_MAX &&
                    d->exponent <= EXACT_POW10_MAX;
    return d->p;
}

const char *vdb_scan_number(const char *p, const char *end, struct vdb_number *out, struct vdb_fault *fault)
{
    bool is_negative = p < end && *p == '-';
    struct digits d = { p + is_negative, end, 0, 0, false };
    const char *begin = d.p;
    if (!is_digit(d.p, end)) {
        return vdb_scan_fault(fault, d.p, "a digit");
    }
    while (is_digit(d.p, end) && push_digit(&d)) {
    }
    if (*begin == '0' && d.p > begin + 1) {
        return vdb_scan_fault(fault, begin + 1, "no digit after a leading 0");
    }
    if (d.is_cut || (d.p < end && (*d.p == '.' || (*d.p | 0x20) == 'e'))) {
        return scan_float(&d, is_negative, out, fault);
    }
    out->is_exact = true;
    if (!is_negative) {
        out->type = VDB_UINT;
        out->u = d.significand;
    } else if (d.significand != 0 && d.significand <= UINT64_C(1) << 63) {
        out->type = VDB_INT;
        out->i = (int64_t)(0 - d.significand);
    } else {
        out->type = VDB_FLOAT; /* -0, and what is below the range of 64 bits */
        out->f = -(double)d.significand;
    }
    return d.p;
}

/* ---- strings ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each byte of x that is 0; above the lowest such byte also of others. */
static inline uint64_t zero_bytes(uint64_t x)
{
    return (x - EACH(1)) & ~x & EACH(0x80);
}

const char *vdb_scan_plain(const char *p, const char *end, bool *has_high)
{
    uint64_t high = 0;
    for (; end - p >= 8; p += 8) {
        uint64_t x = load_le64(p);
        uint64_t stop = zero_bytes(x ^ EACH('"')) | zero_bytes(x ^ EACH('\\')) | ((x - EACH(0x20)) & ~x & EACH(0x80));
        if (stop != 0) {
            int n = __builtin_ctzll(stop) / 8;
            high |= x & EACH(0x80) & ((UINT64_C(1) << 8 * n) - 1);
            *has_high |= high != 0;
            return p + n;
        }
        high |= x & EACH(0x80);
    }
    for (; p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20; p++) {
        high |= (unsigned char)*p & 0x80;
    }
    *has_high |= high != 0;
    return p;
}

const char *vdb_scan_escape(const char *p, const char *end, char dst[4], size_t *n, struct vdb_fault *fault)
{
    uint32_t c = 0;
    *n = 1;
    switch (++p < end ? *p : '\0') {
    case '"':
    case '\\':
    case '/': dst[0] = *p; return p + 1;
    case 'b': dst[0] = '\b'; return p + 1;
    case 'f': dst[0] = '\f'; return p + 1;
    case 'n': dst[0] = '\n'; return p + 1;
    case 'r': dst[0] = '\r'; return p + 1;
    case 't': dst[0] = '\t'; return p + 1;
    case 'u': break;
    default: return vdb_scan_fault(fault, p, "an escape (\" \\ / b f n r t u)");
    }
    p++;
    const char *expected = json_unicode_escape(&p, end, &c);
    if (expected != NULL) {
        return vdb_scan_fault(fault, p, expected);
    }
    *n = utf8_put(dst, c);
    return p;
}

const char *vdb_scan_string(const char *p, const char *end, bool *has_escape, struct vdb_fault *fault)
{
    const char *begin = p;
    bool has_high = false;
    char decoded[4];
    size_t n = 0;
    *has_escape = false;
    while ((p = vdb_scan_plain(p, end, &has_high)) < end && *p == '\\') {
        *has_escape = true;
        p = vdb_scan_escape(p, end, decoded, &n, fault);
        if (p == NULL) {
            return NULL;
        }
    }
    if (has_high) {
        size_t valid = utf8_valid_prefix(begin, (size_t)(p - begin));
        if (valid < (size_t)(p - begin)) {
            return vdb_scan_fault(fault, begin + valid, "UTF-8");
        }
    }
    return p < end && *p == '"' ? p + 1 : vdb_scan_fault(fault, p, "'\"' at the end of a string");
}

/* ---- messages ---- */

grebe_status vdb_fault_fail(const struct vdb_fault *fault, const struct vdb_text *text, grebe_error *err)
{
    unsigned long line = 1;
    unsigned long column = 1;
    char place[64];
    char found[32] = "the end";
    for (const char *p = text->begin; p < fault->at; p++) {
        column += ((unsigned char)*p & 0xc0) != 0x80;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    place[0] = '\0';
    if (!text->is_line) {
        snprintf(place, sizeof place, "line %lu ", line);
    }
    if (fault->at < text->end) {
        size_t n = utf8_char_len(fault->at, (size_t)(text->end - fault->at));
        found[0] = '\'';
        error_quote(found + 1, sizeof found - 2, fault->at, n > 0 ? n : 1);
        strcat(found, "'");
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "%scolumn %lu: expected %s, found %s", place, column, fault->expected, found);
}
