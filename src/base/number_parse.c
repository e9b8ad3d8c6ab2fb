/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <assert.h>
#include <string.h>

#include "base/number_table.h"

/* ---- integers ---- */

bool number_parse_u64(const char *s, size_t len, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)digit, &v)) {
            return false;
        }
    }
    *out = v;
    return len > 0;
}

bool number_parse_i64(const char *s, size_t len, int64_t *out)
{
    bool is_negative = len > 0 && s[0] == '-';
    uint64_t v = 0;
    if (!number_parse_u64(s + is_negative, len - is_negative, &v) ||
        v > (uint64_t)INT64_MAX + is_negative) {
        return false;
    }
    *out = is_negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* ---- the grammar of decimal numbers ---- */

/* Significant digits and the exponent: value = 0.d1d2d3... taken as integer w * 10^exponent. */
struct scanned {
    bool is_negative;
    uint64_t w;       /* the first 19 significant digits */
    int64_t exponent; /* of w */
    bool is_cut;      /* nonzero digits follow the 19 */
    const char *digits, *digits_end; /* from the first digit; may hold one point */
};

enum { DIGITS_MAX = 19, EXPONENT_CUT = 100000 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *scan_exponent(const char *p, const char *end, int64_t *out)
{
    bool is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) {
        p++;
    }
    if (p == end || !is_digit(*p)) {
        return NULL;
    }
    int64_t e = 0;
    for (; p < end && is_digit(*p); p++) {
        if (e < EXPONENT_CUT * INT64_C(100000)) {
            e = e * 10 + (*p - '0');
        }
    }
    *out = is_negative ? -e : e;
    return p;
}

static bool scan(const char *p, const char *end, struct scanned *out)
{
    memset(out, 0, sizeof *out);
    if (p < end && (*p == '-' || *p == '+')) {
        out->is_negative = *p == '-';
        p++;
    }
    out->digits = p;
    bool has_digit = false;
    bool has_point = false;
    int n = 0;
    for (; p < end; p++) {
        if (*p == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (!is_digit(*p)) {
            break;
        }
        has_digit = true;
        if (n < DIGITS_MAX) {
            out->w = out->w * 10 + (uint64_t)(*p - '0');
            n += out->w != 0;
            out->exponent -= has_point;
        } else {
            out->is_cut = out->is_cut || *p != '0';
            out->exponent += !has_point;
        }
    }
    out->digits_end = p;
    if (!has_digit) {
        return false;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        int64_t e = 0;
        p = scan_exponent(p + 1, end, &e);
        if (p == NULL) {
            return false;
        }
        out->exponent += e;
    }
    return p == end;
}

/* ---- Eisel-Lemire ---- */

struct layout {
    int mantissa_bits, exponent_min, exponent_special;
    int power_min, power_max;           /* of ten: beyond is zero or infinity */
    int even_power_min, even_power_max; /* where a tie is possible */
};
static const struct layout layout_double = { 52, -1023, 0x7ff, -342, 308, -4, 23 };
static const struct layout layout_float = { 23, -127, 0xff, -65, 38, -17, 10 };

/* mantissa without the hidden bit, biased exponent */
struct binary {
    uint64_t mantissa;
    int exponent;
};

static struct binary lemire(uint64_t w, int64_t q, const struct layout *l)
{
    const struct binary infinity = { 0, l->exponent_special };
    const struct binary zero = { 0, 0 };
    if (w == 0 || q < l->power_min) {
        return zero;
    }
    if (q > l->power_max) {
        return infinity;
    }
    int lz = __builtin_clzll(w);
    w <<= lz;
    const uint64_t *t = number_table[q - NUMBER_TABLE_FIRST];
    uint64_t low;
    uint64_t high = number_mul(w, t[0], &low);
    uint64_t mask = UINT64_MAX >> (l->mantissa_bits + 3);
    if ((high & mask) == mask) {
        uint64_t unused;
        uint64_t second = number_mul(w, t[1], &unused);
        low += second;
        high += low < second;
    }
    int upper = (int)(high >> 63);
    int shift = upper + 64 - l->mantissa_bits - 3;
    uint64_t mantissa = high >> shift;
    int e = (int)(((152170 + 65536) * q) >> 16) + 63 + upper - lz - l->exponent_min;
    if (e <= 0) {
        if (-e + 1 >= 64) {
            return zero;
        }
        mantissa >>= -e + 1;
        mantissa += mantissa & 1;
        mantissa >>= 1;
        e = mantissa < UINT64_C(1) << l->mantissa_bits ? 0 : 1;
        return (struct binary){ mantissa & ((UINT64_C(1) << l->mantissa_bits) - 1), e };
    }
    if (low <= 1 && q >= l->even_power_min && q <= l->even_power_max && (mantissa & 3) == 1 &&
        mantissa << shift == high) {
        mantissa &= ~UINT64_C(1);
    }
    mantissa += mantissa & 1;
    mantissa >>= 1;
    if (mantissa >= UINT64_C(2) << l->mantissa_bits) {
        mantissa = UINT64_C(1) << l->mantissa_bits;
        e++;
    }
    if (e >= l->exponent_special) {
        return infinity;
    }
    return (struct binary){ mantissa & ((UINT64_C(1) << l->mantissa_bits) - 1), e };
}

/* ---- big integers, where 19 digits do not decide ---- */

/* 10^(800 + 342 + 20) has fewer than 3900 bits; times a mantissa of 54 and 2^1100. */
enum { LIMBS = 176, BIG_DIGITS_MAX = 800 };

struct big {
    uint32_t limbs[LIMBS];
    int n;
};

static void big_mul_add(struct big *b, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limbs[i] * factor;
        b->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        assert(b->n < LIMBS);
        b->limbs[b->n++] = (uint32_t)carry;
    }
}

static void big_mul_pow10(struct big *b, int64_t e)
{
    for (; e >= 9; e -= 9) {
        big_mul_add(b, 1000000000, 0);
    }
    for (; e > 0; e--) {
        big_mul_add(b, 10, 0);
    }
}

static void big_shift(struct big *b, int64_t bits)
{
    for (; bits >= 31; bits -= 31) {
        big_mul_add(b, 1u << 31, 0);
    }
    big_mul_add(b, 1u << bits, 0);
}

static int big_compare(const struct big *x, const struct big *y)
{
    if (x->n != y->n) {
        return x->n < y->n ? -1 : 1;
    }
    for (int i = x->n - 1; i >= 0; i--) {
        if (x->limbs[i] != y->limbs[i]) {
            return x->limbs[i] < y->limbs[i] ? -1 : 1;
        }
    }
    return 0;
}

/* All digits as an integer; *exponent becomes its power of ten, *is_cut: more nonzero follow. */
static void big_digits(const struct scanned *s, struct big *out, int64_t *exponent, bool *is_cut)
{
    int n = 0;
    int n_used = 0;
    out->n = 0;
    *is_cut = false;
    for (const char *p = s->digits; p < s->digits_end; p++) {
        if (*p == '.') {
            continue;
        }
        if (n == 0 && *p == '0') {
            continue;
        }
        n++;
        if (n_used < BIG_DIGITS_MAX) {
            big_mul_add(out, 10, (uint32_t)(*p - '0'));
            n_used++;
        } else {
            *is_cut = *is_cut || *p != '0';
        }
    }
    /* w has the first 19 of the same digits: its exponent less those that were added */
    *exponent = s->exponent - (n_used - DIGITS_MAX);
}

/* The decimal against the middle between b and its upper neighbour: -1, 0, 1. */
static int compare_to_middle(const struct scanned *s, const struct binary *b,
                             const struct layout *l)
{
    struct big decimal;
    struct big middle;
    int64_t e10 = 0;
    bool is_cut = false;
    big_digits(s, &decimal, &e10, &is_cut);
    uint64_t m = b->mantissa | (b->exponent > 0 ? UINT64_C(1) << l->mantissa_bits : 0);
    int64_t e2 = (b->exponent > 0 ? b->exponent : 1) + l->exponent_min - l->mantissa_bits - 1;
    m = 2 * m + 1;
    middle.n = 0;
    big_mul_add(&middle, 1, (uint32_t)(m >> 32));
    big_shift(&middle, 31);
    big_mul_add(&middle, 2, (uint32_t)m);
    if (e10 >= 0) {
        big_mul_pow10(&decimal, e10);
    } else {
        big_mul_pow10(&middle, -e10);
    }
    if (e2 >= 0) {
        big_shift(&middle, e2);
    } else {
        big_shift(&decimal, -e2);
    }
    int c = big_compare(&decimal, &middle);
    return c == 0 && is_cut ? 1 : c;
}

static struct binary to_binary(const struct scanned *s, const struct layout *l)
{
    struct binary b = lemire(s->w, s->exponent, l);
    if (!s->is_cut) {
        return b;
    }
    struct binary above = lemire(s->w + 1, s->exponent, l);
    if (above.mantissa == b.mantissa && above.exponent == b.exponent) {
        return b;
    }
    int c = compare_to_middle(s, &b, l);
    return c > 0 || (c == 0 && (b.mantissa & 1)) ? above : b;
}

/* inf, infinity, nan with a sign */
static bool parse_special(const char *s, size_t len, bool *is_nan, bool *is_negative)
{
    static const char *const names[] = { "inf", "infinity", "nan" };
    *is_negative = len > 0 && s[0] == '-';
    if (len > 0 && (s[0] == '-' || s[0] == '+')) {
        s++;
        len--;
    }
    for (size_t i = 0; i < 3; i++) {
        bool is_equal = strlen(names[i]) == len;
        for (size_t k = 0; k < len && is_equal; k++) {
            is_equal = (s[k] | 0x20) == names[i][k];
        }
        if (is_equal) {
            *is_nan = i == 2;
            return true;
        }
    }
    return false;
}

bool number_parse_double(const char *s, size_t len, double *out)
{
    struct scanned sc;
    uint64_t bits = 0;
    bool is_nan = false;
    if (scan(s, s + len, &sc)) {
        struct binary b = to_binary(&sc, &layout_double);
        bits = b.mantissa | (uint64_t)b.exponent << 52;
    } else if (parse_special(s, len, &is_nan, &sc.is_negative)) {
        bits = is_nan ? UINT64_C(0x7ff8000000000000) : UINT64_C(0x7ff0000000000000);
    } else {
        return false;
    }
    bits |= (uint64_t)sc.is_negative << 63;
    memcpy(out, &bits, sizeof *out);
    return true;
}

double number_scale_double(uint64_t w, int exp10)
{
    double v = 0;
    struct binary b = lemire(w, exp10, &layout_double);
    uint64_t bits = b.mantissa | (uint64_t)b.exponent << 52;
    memcpy(&v, &bits, sizeof v);
    return v;
}

bool number_parse_float(const char *s, size_t len, float *out)
{
    struct scanned sc;
    uint32_t bits = 0;
    bool is_nan = false;
    if (scan(s, s + len, &sc)) {
        struct binary b = to_binary(&sc, &layout_float);
        bits = (uint32_t)b.mantissa | (uint32_t)b.exponent << 23;
    } else if (parse_special(s, len, &is_nan, &sc.is_negative)) {
        bits = is_nan ? 0x7fc00000u : 0x7f800000u;
    } else {
        return false;
    }
    bits |= (uint32_t)sc.is_negative << 31;
    memcpy(out, &bits, sizeof *out);
    return true;
}
