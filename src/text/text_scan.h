/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEXT_TEXT_SCAN_H
#define GREBE_TEXT_TEXT_SCAN_H

/*
 * Where the characters stand that mean something: 64 bytes of text become a mask of 64 bits, and
 * the reader goes from bit to bit. No byte outside the text is read.
 */

#include <stddef.h>
#include <stdint.h>

/** Characters looked for; fewer are given by repeating one. */
enum { TEXT_SET_MAX = 5 };
struct text_set {
    char chars[TEXT_SET_MAX];
};

/** Bit i of masks[k]: data[64 * k + i] is of the set. data: shape [64 * n]. */
typedef void (*text_masks_fn)(const struct text_set *set, const char *data, size_t n,
                              uint64_t *masks);

/** The variant for this machine. Threads: safe. */
text_masks_fn text_masks_best(void);
/** The definition. */
void text_masks_scalar(const struct text_set *set, const char *data, size_t n, uint64_t *masks);
/** NULL where the compiler has no such instructions. */
text_masks_fn text_masks_avx2(void);

enum { TEXT_SCAN_WORDS = 64 };

/** A walk over the positions. */
struct text_scan {
    const char *data;
    size_t len;
    struct text_set set;
    text_masks_fn fill;
    size_t filled;  /* masks of [.., filled) are there */
    size_t base;    /* position of bit 0 of `bits` */
    uint64_t bits;  /* what is left of the mask at base */
    size_t word, n_words;
    uint64_t masks[TEXT_SCAN_WORDS];
};

void text_scan_init(struct text_scan *s, const char *data, size_t len, const struct text_set *set);
/** Masks for the next 4 KiB; false at the end. */
int text_scan_fill(struct text_scan *s);

/** Next position of a character of the set; len: there is none. */
static inline size_t text_scan_next(struct text_scan *s)
{
    while (s->bits == 0) {
        if (s->word == s->n_words && !text_scan_fill(s)) {
            return s->len;
        }
        s->base += 64;
        s->bits = s->masks[s->word++];
    }
    size_t at = s->base + (size_t)__builtin_ctzll(s->bits);
    s->bits &= s->bits - 1;
    return at;
}

#endif
