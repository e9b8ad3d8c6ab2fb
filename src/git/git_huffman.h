/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GIT_GIT_HUFFMAN_H
#define GREBE_GIT_GIT_HUFFMAN_H

/* Prefix codes as deflate has them (RFC 1951, 3.2.2): made from counts, of limited length, canonical. */

#include <stdint.h>

enum { REPO_HUFFMAN_SYMBOLS = 288, REPO_HUFFMAN_BITS = 15 };

struct repo_huffman {
    unsigned n; /* symbols up to the last one that has a code */
    uint8_t len[REPO_HUFFMAN_SYMBOLS];
    uint16_t bits[REPO_HUFFMAN_SYMBOLS]; /* the first bit to write is the lowest */
};

/**
 * The code of least length for these counts. At least two symbols get one, as zlib does it: some readers take no fewer.
 *
 * @param counts Shape [n], their sum below 2^22.
 * @param n      2 to REPO_HUFFMAN_SYMBOLS.
 * @param most   Bits of the longest code, up to REPO_HUFFMAN_BITS; 2^most >= n.
 */
void repo_huffman_make(const uint32_t *counts, unsigned n, unsigned most, struct repo_huffman *out);
/** The canonical code of these lengths, up to REPO_HUFFMAN_BITS. @param len Shape [n]; 0: no code. */
void repo_huffman_from(const uint8_t *len, unsigned n, struct repo_huffman *out);

#endif
