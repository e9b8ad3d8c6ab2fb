/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_UTF8_H
#define GREBE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of the first character, 1..4; 0 when the bytes are no well-formed UTF-8 (RFC 3629). */
size_t utf8_char_len(const void *bytes, size_t len);

/** Length of the longest well-formed prefix; len when all is well. Cost: memory speed on ASCII. */
size_t utf8_valid_prefix(const void *bytes, size_t len);

/** The bytes of a code point up to 0x10ffff. @return How many, 1..4. */
size_t utf8_put(char dst[4], uint32_t code_point);

static inline bool utf8_is_valid(const void *bytes, size_t len)
{
    return utf8_valid_prefix(bytes, len) == len;
}

#endif
