/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/builder_decode.h"

#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"

enum encoding { UTF8, UTF8_SIG, ASCII, LATIN1, CP1252, UTF16, UTF16_LE, UTF16_BE, UTF32_LE, UTF32_BE, UTF32, UNKNOWN };
enum bad { STRICT, IGNORE, REPLACE, BACKSLASH, BAD_UNKNOWN };

/* Names without regard to case, "-" and "_". */
static enum encoding encoding_of(const char *name)
{
    static const struct {
        const char *name;
        enum encoding id;
    } known[] = { { "utf8", UTF8 }, { "u8", UTF8 }, { "utf8sig", UTF8_SIG }, { "ascii", ASCII }, { "usascii", ASCII },
                  { "latin1", LATIN1 }, { "iso88591", LATIN1 }, { "l1", LATIN1 }, { "cp1252", CP1252 },
                  { "windows1252", CP1252 }, { "utf16", UTF16 }, { "utf16le", UTF16_LE }, { "utf16be", UTF16_BE },
                  { "utf32", UTF32 }, { "utf32le", UTF32_LE }, { "utf32be", UTF32_BE } };
    char plain[24];
    size_t n = 0;
    if (name == NULL) {
        return UTF8;
    }
    for (; *name != '\0' && n + 1 < sizeof plain; name++) {
        if (*name != '-' && *name != '_' && *name != ' ') {
            plain[n++] = ascii_lower(*name);
        }
    }
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (*name == '\0' && strcmp(known[i].name, plain) == 0) {
            return known[i].id;
        }
    }
    return UNKNOWN;
}

static enum bad bad_of(const char *name)
{
    static const char *const known[] = { "strict", "ignore", "replace", "backslashreplace", "surrogateescape" };
    static const enum bad ids[] = { STRICT, IGNORE, REPLACE, BACKSLASH, REPLACE };
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], name) == 0) {
            return ids[i];
        }
    }
    return name == NULL ? STRICT : BAD_UNKNOWN;
}

bool builder_decode_is_needed(const char *encoding, const char *errors)
{
    return encoding_of(encoding) != UTF8 || bad_of(errors) != STRICT;
}

grebe_status builder_decode_check(const char *encoding, const char *errors, grebe_error *err)
{
    char quoted[48];
    if (encoding_of(encoding) == UNKNOWN) {
        return GREBE_FAIL(err, GREBE_EINVAL, "unknown encoding \"%s\"",
                          error_quote(quoted, sizeof quoted, encoding, strlen(encoding)));
    }
    if (bad_of(errors) == BAD_UNKNOWN) {
        return GREBE_FAIL(err, GREBE_EINVAL, "encoding_errors: expected strict, ignore or replace, found \"%s\"",
                          error_quote(quoted, sizeof quoted, errors, strlen(errors)));
    }
    return GREBE_OK;
}

/* ---- regions ---- */

static void end_buf(struct region *r) { mem_free(r->a, r->data, (size_t)(uintptr_t)r->end_ctx); }

grebe_status region_of_buf(struct buf *b, struct region **out, grebe_error *err)
{
    enum { SLACK = 64 };
    grebe_status st = buf_put_zero(b, SLACK, err);
    if (st == GREBE_OK) {
        st = region_wrap(b->a, b->data, b->len - SLACK, end_buf, (void *)(uintptr_t)b->capacity, out, err);
    }
    if (st == GREBE_OK) {
        *b = BUF_INIT(b->a);
    }
    return st;
}

static void end_slice(struct region *r) { region_drop(r->end_ctx); }

grebe_status region_slice(const grebe_allocator *a, struct region *of, size_t at, size_t len, struct region **out,
                          grebe_error *err)
{
    grebe_status st = region_wrap(a, of->data + at, len, end_slice, of, out, err);
    if (st == GREBE_OK) {
        region_keep(of);
    }
    return st;
}

/* ---- decoding ---- */

/* 0x80 to 0x9f of Windows 1252; 0: not assigned. */
static const uint16_t cp1252[32] = { 0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
                                     0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
                                     0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178 };

/* One character of n bytes at p: its code point, or UINT32_MAX when `*used` bytes are none. */
static uint32_t take_char(enum encoding e, const unsigned char *p, size_t n, size_t *used)
{
    *used = 1;
    if (e == ASCII) {
        return p[0] < 0x80 ? p[0] : UINT32_MAX;
    }
    if (e == LATIN1) {
        return p[0];
    }
    if (e == CP1252) {
        uint32_t c = p[0] >= 0x80 && p[0] < 0xa0 ? cp1252[p[0] - 0x80] : p[0];
        return c != 0 || p[0] == 0 ? c : UINT32_MAX;
    }
    if (e == UTF16_LE || e == UTF16_BE) {
        const size_t low = e == UTF16_LE ? 0 : 1, high = 1 - low;
        if (n < 2) {
            return UINT32_MAX;
        }
        uint32_t c = (uint32_t)p[low] | (uint32_t)p[high] << 8;
        *used = 2;
        if (c < 0xd800 || c > 0xdfff) {
            return c;
        }
        if (c > 0xdbff || n < 4) {
            *used = n < 4 && c <= 0xdbff ? n : 2;
            return UINT32_MAX;
        }
        uint32_t d = (uint32_t)p[2 + low] | (uint32_t)p[2 + high] << 8;
        if (d < 0xdc00 || d > 0xdfff) {
            return UINT32_MAX;
        }
        *used = 4;
        return 0x10000 + ((c & 0x3ff) << 10 | (d & 0x3ff));
    }
    if (n < 4) {
        *used = n;
        return UINT32_MAX;
    }
    *used = 4;
    uint32_t c = e == UTF32_LE
                     ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24
                     : (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
    return c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? UINT32_MAX : c;
}

/* How Python counts a bad sequence of UTF-8: the longest beginning of a character, at least one byte. */
static size_t bad_utf8_len(const unsigned char *p, size_t n)
{
    size_t want = p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 1;
    size_t k = 1;
    for (; k < want && k < n && (p[k] & 0xc0) == 0x80; k++) {
        bool is_out = k == 1 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                                 (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f));
        if (is_out) {
            break;
        }
    }
    return k;
}

static grebe_status put_bad(struct buf *dst, enum bad bad, const char *encoding, const unsigned char *p, size_t n,
                            size_t at, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    switch (bad) {
    case IGNORE: break;
    case REPLACE: st = buf_put(dst, "\xef\xbf\xbd", 3, err); break;
    case BACKSLASH:
        for (size_t i = 0; i < n && st == GREBE_OK; i++) {
            st = buf_printf(dst, err, "\\x%02x", p[i]);
        }
        break;
    default:
        st = error_at(err, GREBE_FAIL(err, GREBE_ECORRUPT, "byte %zu: expected %s, found 0x%02x", at,
                                      encoding != NULL ? encoding : "UTF-8", p[0]), at);
    }
    return st;
}

/* A mark decides the order of bytes, and is none of the text. */
static enum encoding order_of(enum encoding e, const unsigned char *p, size_t n, size_t *at)
{
    if (e == UTF8_SIG) {
        *at = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        return UTF8;
    }
    if (e == UTF16) {
        bool is_big = n >= 2 && p[0] == 0xfe && p[1] == 0xff, is_little = n >= 2 && p[0] == 0xff && p[1] == 0xfe;
        *at = is_big || is_little ? 2 : 0;
        return is_big ? UTF16_BE : UTF16_LE;
    }
    if (e == UTF32) {
        bool is_big = n >= 4 && memcmp(p, "\0\0\xfe\xff", 4) == 0, is_little = n >= 4 && memcmp(p, "\xff\xfe\0\0", 4) == 0;
        *at = is_big || is_little ? 4 : 0;
        return is_big ? UTF32_BE : UTF32_LE;
    }
    return e;
}

grebe_status builder_decode(const grebe_allocator *a, const char *encoding, const char *errors, struct region *bytes,
                            struct region **out, grebe_error *err)
{
    const unsigned char *p = bytes->data;
    const size_t n = bytes->len;
    const enum bad bad = bad_of(errors);
    struct buf text = BUF_INIT(a);
    size_t at = 0;
    grebe_status st = builder_decode_check(encoding, errors, err);
    enum encoding e = order_of(encoding_of(encoding), p, n, &at);
    *out = NULL;
    if (st == GREBE_OK) {
        st = buf_reserve(&text, n + 64, err);
    }
    while (at < n && st == GREBE_OK) {
        if (e == UTF8) {
            size_t good = utf8_valid_prefix(p + at, n - at);
            st = buf_put(&text, p + at, good, err);
            at += good;
            if (at < n && st == GREBE_OK) {
                size_t k = bad_utf8_len(p + at, n - at);
                st = put_bad(&text, bad, encoding, p + at, k, at, err);
                at += k;
            }
            continue;
        }
        size_t used = 1;
        char utf8[4];
        uint32_t c = take_char(e, p + at, n - at, &used);
        st = c == UINT32_MAX ? put_bad(&text, bad, encoding, p + at, used, at, err)
                             : buf_put(&text, utf8, utf8_put(utf8, c), err);
        at += used;
    }
    st = st == GREBE_OK ? region_of_buf(&text, out, err) : st;
    buf_release(&text);
    return st;
}
