/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_ASCII_H
#define GREBE_BASE_ASCII_H

/* Letters of names that users type, without a locale: in Turkish strcasecmp("PLAIN", "plain") is not 0. */

#include <stdbool.h>
#include <stddef.h>

static inline char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/** Whether n bytes are the same but for the case of A to Z. */
static inline bool ascii_equal_n(const char *x, const char *y, size_t n)
{
    size_t i = 0;
    while (i < n && ascii_lower(x[i]) == ascii_lower(y[i])) {
        i++;
    }
    return i == n;
}

/** Whether two texts are the same but for the case of A to Z. */
static inline bool ascii_equal(const char *x, const char *y)
{
    size_t i = 0;
    while (x[i] != '\0' && ascii_lower(x[i]) == ascii_lower(y[i])) {
        i++;
    }
    return ascii_lower(x[i]) == ascii_lower(y[i]);
}

#endif
