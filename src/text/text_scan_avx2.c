/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_scan.h"

#ifdef __AVX2__
#include <immintrin.h>

static void masks_avx2(const struct text_set *set, const char *data, size_t n, uint64_t *masks)
{
    __m256i wanted[TEXT_SET_MAX];
    for (size_t i = 0; i < TEXT_SET_MAX; i++) {
        wanted[i] = _mm256_set1_epi8(set->chars[i]);
    }
    for (size_t k = 0; k < n; k++, data += 64) {
        uint64_t halves[2];
        for (size_t h = 0; h < 2; h++) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(data + 32 * h));
            __m256i is_any = _mm256_cmpeq_epi8(v, wanted[0]);
            for (size_t i = 1; i < TEXT_SET_MAX; i++) {
                is_any = _mm256_or_si256(is_any, _mm256_cmpeq_epi8(v, wanted[i]));
            }
            halves[h] = (uint32_t)_mm256_movemask_epi8(is_any);
        }
        masks[k] = halves[0] | halves[1] << 32;
    }
}

text_masks_fn text_masks_avx2(void) { return masks_avx2; }
#else
text_masks_fn text_masks_avx2(void) { return NULL; }
#endif
