/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_bytes.h"

#include <stdint.h>
#include <string.h>

#include "base/base64.h"

/* 0..15, or -1. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool store_hex(const char *s, size_t len, unsigned char *dst)
{
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_value(s[i]), low = hex_value(s[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        dst[i / 2] = (unsigned char)(high << 4 | low);
    }
    return true;
}

size_t text_bytes_len(const char *s, size_t len, bool is_json)
{
    if (is_json) {
        return base64_decoded_len(s, len);
    }
    return len % 2 == 0 ? len / 2 : SIZE_MAX;
}

bool text_bytes_store(const char *s, size_t len, bool is_json, void *dst)
{
    return is_json ? base64_decode_to(dst, s, len) == len : store_hex(s, len, dst);
}

/* "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" */
static bool store_uuid(const char *s, unsigned char *dst)
{
    char digits[32];
    size_t n = 0;
    for (size_t i = 0; i < 36; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash && s[i] != '-') {
            return false;
        }
        if (!is_dash) {
            digits[n++] = s[i];
        }
    }
    return store_hex(digits, sizeof digits, dst);
}

bool text_bytes_store_fixed(const char *s, size_t len, bool is_json, void *dst, size_t width)
{
    if (width == 16 && len == 36) {
        return store_uuid(s, dst);
    }
    return text_bytes_len(s, len, is_json) == width && text_bytes_store(s, len, is_json, dst);
}
