/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_scan.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

/* Walks text once and never looks back but at the previous key, so that it can run on each payload that is read. */

/* ---- floats ---- */

/* A float as canonical text may write it: few digits and no exponent. Such text is what is printed for every reading of
 * it, as decimals of 15 digits are all different doubles, and the format's rule rounds once where the significand is
 * exact. */
static bool is_plainly_canonical(const char *p, const char *end)
{
    p += *p == '-';
    const char *point = memchr(p, '.', (size_t)(end - p));
    size_t n = (size_t)(end - p);
    if (point == NULL || n > 16) { /* 15 digits and the point */
        return false;
    }
    if (end[-1] == '0' && (end - point != 2 || *p == '0')) { /* 1.50; and 0.0 is left to the printer */
        return false;
    }
    bool is_small = *p == '0' && end - point > 5 && memcmp(point + 1, "00000", 5) == 0;
    return !is_small && (end[-1] | 0x20) != 'e' && memchr(p, 'e', n) == NULL && memchr(p, 'E', n) == NULL;
}

static bool is_printed_so(double v, const char *p, const char *end)
{
    char text[NUMBER_TEXT_MAX];
    size_t n = (size_t)(end - p);
    return !isinf(v) && n < sizeof text && vdb_put_double(text, v) == n && memcmp(text, p, n) == 0;
}

static bool is_canonical_float(const struct vdb_number *n, const char *p, const char *end, bool *is_unstable)
{
    double correct = 0;
    if ((n->is_exact && is_plainly_canonical(p, end)) || is_printed_so(n->f, p, end)) {
        return true;
    }
    if (is_unstable != NULL) {
        *is_unstable = true;
    }
    return number_parse_double(p, (size_t)(end - p), &correct) && is_printed_so(correct, p, end);
}

static const char *canonical_number(const char *p, const char *end, bool *is_unstable)
{
    struct vdb_number n;
    struct vdb_fault fault;
    const char *behind = vdb_scan_number(p, end, &n, &fault);
    if (behind == NULL || (n.type == VDB_FLOAT && !is_canonical_float(&n, p, behind, is_unstable))) {
        return NULL;
    }
    return behind;
}

/* ---- strings ---- */

/* Behind one escape as canonical text has it; NULL: it is none. */
static const char *canonical_escape(const char *p, const char *end)
{
    static const char letters[] = "\"\\bfnrt";
    if (end - p < 2) {
        return NULL;
    }
    if (p[1] != 'u') {
        return p[1] != '\0' && strchr(letters, p[1]) != NULL ? p + 2 : NULL;
    }
    if (end - p < 6 || p[2] != '0' || p[3] != '0' || (p[4] != '0' && p[4] != '1')) {
        return NULL;
    }
    bool is_hex = (p[5] >= '0' && p[5] <= '9') || (p[5] >= 'a' && p[5] <= 'f');
    bool has_letter = p[4] == '0' && (p[5] == '8' || p[5] == '9' || p[5] == 'a' || p[5] == 'c' || p[5] == 'd');
    return is_hex && !has_letter ? p + 6 : NULL;
}

/* Behind the closing quote, p is behind the opening one. */
static const char *canonical_string(const char *p, const char *end, bool *has_escape)
{
    const char *begin = p;
    bool has_high = false;
    while ((p = vdb_scan_plain(p, end, &has_high)) < end && *p == '\\') {
        *has_escape = true;
        p = canonical_escape(p, end);
        if (p == NULL) {
            return NULL;
        }
    }
    if (p == end || *p != '"' || (has_high && !utf8_is_valid(begin, (size_t)(p - begin)))) {
        return NULL;
    }
    return p + 1;
}

/* A string without its quotes, read character by character. */
struct cursor {
    const char *p, *end;
    char bytes[4]; /* what an escape stands for */
    size_t at, n;
};

static int next_byte(struct cursor *c)
{
    struct vdb_fault fault;
    if (c->at < c->n) {
        return (unsigned char)c->bytes[c->at++];
    }
    if (c->p == c->end) {
        return -1;
    }
    if (*c->p != '\\') {
        return (unsigned char)*c->p++;
    }
    c->p = vdb_scan_escape(c->p, c->end, c->bytes, &c->n, &fault);
    if (c->p == NULL) {
        c->p = c->end;
        return -1;
    }
    c->at = 1;
    return (unsigned char)c->bytes[0];
}

/* Order of two strings without their quotes, by the bytes they stand for. */
static int compare_escaped(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct cursor x = { a, a + a_len, { 0 }, 0, 0 };
    struct cursor y = { b, b + b_len, { 0 }, 0, 0 };
    int i;
    int k;
    do {
        i = next_byte(&x);
        k = next_byte(&y);
    } while (i == k && i >= 0);
    return (i > k) - (i < k);
}

/* ---- containers ---- */

/* A key with its quotes cut off. */
struct key {
    const char *text;
    size_t len;
    bool has_escape;
};

static bool is_ascending(const struct key *a, const struct key *b)
{
    if (a->has_escape || b->has_escape) {
        return compare_escaped(a->text, a->len, b->text, b->len) < 0;
    }
    int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return order != 0 ? order < 0 : a->len < b->len;
}

/* p is behind the bracket. */
static const char *canonical_array(const char *p, const char *end, int depth, bool *is_unstable)
{
    if (p < end && *p == ']') {
        return p + 1;
    }
    for (;;) {
        p = vdb_scan_canonical(p, end, depth, is_unstable);
        if (p == NULL || p == end || (*p != ',' && *p != ']')) {
            return NULL;
        }
        if (*p++ == ']') {
            return p;
        }
    }
}

static const char *canonical_object(const char *p, const char *end, int depth, bool *is_unstable)
{
    struct key last = { NULL, 0, false };
    if (p < end && *p == '}') {
        return p + 1;
    }
    for (;;) {
        if (p == end || *p != '"') {
            return NULL;
        }
        struct key key = { p + 1, 0, false };
        p = canonical_string(p + 1, end, &key.has_escape);
        if (p == NULL) {
            return NULL;
        }
        key.len = (size_t)(p - 1 - key.text);
        if ((last.text != NULL && !is_ascending(&last, &key)) || p == end || *p != ':') {
            return NULL;
        }
        last = key;
        p = vdb_scan_canonical(p + 1, end, depth, is_unstable);
        if (p == NULL || p == end || (*p != ',' && *p != '}')) {
            return NULL;
        }
        if (*p++ == '}') {
            return p;
        }
    }
}

static const char *word(const char *p, const char *end, const char *expected, size_t n)
{
    return (size_t)(end - p) >= n && memcmp(p, expected, n) == 0 ? p + n : NULL;
}

const char *vdb_scan_canonical(const char *p, const char *end, int depth, bool *is_unstable)
{
    bool has_escape = false;
    if (p == end) {
        return NULL;
    }
    switch (*p) {
    case '"': return canonical_string(p + 1, end, &has_escape);
    case '{': return depth < VDB_JSON_DEPTH_MAX ? canonical_object(p + 1, end, depth + 1, is_unstable) : NULL;
    case '[': return depth < VDB_JSON_DEPTH_MAX ? canonical_array(p + 1, end, depth + 1, is_unstable) : NULL;
    case 't': return word(p, end, "true", 4);
    case 'f': return word(p, end, "false", 5);
    case 'n': return word(p, end, "null", 4);
    default: return *p == '-' || (*p >= '0' && *p <= '9') ? canonical_number(p, end, is_unstable) : NULL;
    }
}

bool vdb_json_is_canonical_object(const char *text, size_t len)
{
    return len >= 2 && *text == '{' && vdb_scan_canonical(text, text + len, 0, NULL) == text + len;
}

bool vdb_json_is_unstable(const char *text, size_t len)
{
    bool is_unstable = false;
    return len > 0 && vdb_scan_canonical(text, text + len, 0, &is_unstable) != NULL && is_unstable;
}
