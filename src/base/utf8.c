/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

size_t utf8_char_len(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    if (len == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > len) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* RFC 3629, section 4: overlong forms, surrogates and what lies beyond U+10FFFF. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) {
        return 0;
    }
    return n;
}

size_t utf8_valid_prefix(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    size_t i = 0;
    while (i < len) {
        if (len - i >= 8) {
            uint64_t word;
            memcpy(&word, p + i, 8);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += 8;
                continue;
            }
        }
        size_t n = utf8_char_len(p + i, len - i);
        if (n == 0) {
            return i;
        }
        i += n;
    }
    return i;
}

size_t utf8_put(char dst[4], uint32_t code_point)
{
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t n = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    uint32_t c = code_point;
    for (size_t i = n; i-- > 1; c >>= 6) {
        dst[i] = (char)(0x80 | (c & 0x3f));
    }
    dst[0] = (char)(first[n] | c);
    return n;
}
