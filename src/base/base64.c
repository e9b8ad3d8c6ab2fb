/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

grebe_status base64_encode(struct buf *dst, const void *bytes, size_t len, grebe_error *err)
{
    const unsigned char *p = bytes;
    grebe_status st = buf_reserve(dst, len / 3 * 4 + 4, err);
    for (size_t i = 0; i < len && st == GREBE_OK; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t v = (uint32_t)p[i] << 16;
        v |= n > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        v |= n > 2 ? p[i + 2] : 0;
        char out[4] = { alphabet[v >> 18], alphabet[v >> 12 & 63],
                        n > 1 ? alphabet[v >> 6 & 63] : '=', n > 2 ? alphabet[v & 63] : '=' };
        st = buf_put(dst, out, sizeof out, err);
    }
    return st;
}

/* 0..63, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Characters without the padding. */
static size_t unpadded(const char *text, size_t len)
{
    size_t n = len;
    while (n > 0 && len - n < 2 && text[n - 1] == '=') {
        n--;
    }
    return n;
}

size_t base64_decoded_len(const char *text, size_t len)
{
    size_t n = unpadded(text, len);
    if (n % 4 == 1 || (n != len && len % 4 != 0)) {
        return SIZE_MAX;
    }
    return n / 4 * 3 + (n % 4 > 0 ? n % 4 - 1 : 0);
}

size_t base64_decode_to(void *dst, const char *text, size_t len)
{
    uint8_t *p = dst;
    size_t n = unpadded(text, len);
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        int v = value_of(text[i]);
        if (v < 0) {
            return i;
        }
        bits = bits << 6 | (uint32_t)v;
        size_t have = i % 4;
        if (have > 0) {
            unsigned shift = have == 1 ? 4 : have == 2 ? 2 : 0;
            *p++ = (uint8_t)(bits >> shift);
        }
    }
    return len;
}

grebe_status base64_decode(struct buf *dst, const char *text, size_t len, grebe_error *err)
{
    size_t n = base64_decoded_len(text, len);
    if (n == SIZE_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "base64: %zu characters cannot be whole bytes", len);
    }
    grebe_status st = buf_reserve(dst, n, err);
    if (st != GREBE_OK || n == 0) {
        return st;
    }
    size_t bad = base64_decode_to(dst->data + dst->len, text, len);
    if (bad < len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "base64: character %zu is 0x%02x, expected one of A-Z a-z 0-9 + /", bad,
                          (unsigned)(unsigned char)text[bad]);
    }
    dst->len += n;
    return GREBE_OK;
}
