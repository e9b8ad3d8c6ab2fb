/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_scan.h"

#include <string.h>

#include "base/cpu.h"

void text_masks_scalar(const struct text_set *set, const char *data, size_t n, uint64_t *masks)
{
    unsigned char table[256] = { 0 };
    for (size_t i = 0; i < TEXT_SET_MAX; i++) {
        table[(unsigned char)set->chars[i]] = 1;
    }
    for (size_t k = 0; k < n; k++, data += 64) {
        uint64_t mask = 0;
        for (size_t i = 0; i < 64; i++) {
            mask |= (uint64_t)table[(unsigned char)data[i]] << i;
        }
        masks[k] = mask;
    }
}

text_masks_fn text_masks_best(void)
{
    text_masks_fn fn = cpu_simd_level() >= CPU_AVX2 ? text_masks_avx2() : NULL;
    return fn != NULL ? fn : text_masks_scalar;
}

void text_scan_init(struct text_scan *s, const char *data, size_t len, const struct text_set *set)
{
    s->data = data;
    s->len = len;
    s->set = *set;
    s->fill = text_masks_best();
    s->filled = 0;
    s->base = (size_t)0 - 64; /* the first word makes it 0 */
    s->bits = 0;
    s->word = s->n_words = 0;
}

int text_scan_fill(struct text_scan *s)
{
    size_t left = s->len - s->filled;
    if (left >= 64) {
        s->n_words = left / 64 < TEXT_SCAN_WORDS ? left / 64 : TEXT_SCAN_WORDS;
        s->fill(&s->set, s->data + s->filled, s->n_words, s->masks);
        s->filled += 64 * s->n_words;
    } else if (left > 0) { /* the bytes behind the text are not ours to read */
        char tail[64];
        memset(tail, 0, sizeof tail);
        memcpy(tail, s->data + s->filled, left);
        s->fill(&s->set, tail, 1, s->masks);
        s->masks[0] &= ((uint64_t)1 << left) - 1;
        s->n_words = 1;
        s->filled = s->len;
    } else {
        return 0;
    }
    s->word = 0;
    return 1;
}
