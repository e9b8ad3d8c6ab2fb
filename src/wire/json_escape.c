/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json_escape.h"

#include <stdbool.h>
#include <stddef.h>

static bool hex4(const char *p, const char *end, uint32_t *out)
{
    uint32_t v = 0;
    if (end - p < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t digit = c >= '0' && c <= '9'                     ? (uint32_t)(c - '0')
                         : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (uint32_t)((c | 0x20) - 'a' + 10)
                                                                  : 16;
        if (digit > 15) {
            return false;
        }
        v = v << 4 | digit;
    }
    *out = v;
    return true;
}

const char *json_unicode_escape(const char **p, const char *end, uint32_t *code_point)
{
    uint32_t c = 0, low = 0;
    if (!hex4(*p, end, &c)) {
        return "four hexadecimal digits";
    }
    if (c >= 0xdc00 && c <= 0xdfff) {
        return "the first half of a surrogate pair";
    }
    *p += 4;
    if (c >= 0xd800 && c <= 0xdbff) {
        const char *at = *p;
        if (end - at < 6 || at[0] != '\\' || at[1] != 'u' || !hex4(at + 2, end, &low) || low < 0xdc00 || low > 0xdfff) {
            return "the second half of a surrogate pair";
        }
        *p += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *code_point = c;
    return NULL;
}
