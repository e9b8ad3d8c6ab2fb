/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/dictionary.h"

#include <string.h>

#include "codec/codec_simd.h"

grebe_status dictionary_check(const uint32_t *index, size_t n, size_t n_entries,
                              grebe_error *err)
{
    uint32_t max = 0;

    if (n == 0) {
        return GREBE_OK;
    }
    max = codec_kernels()->max_u32(index, n);
    if (max >= n_entries || max > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "dictionary index: expected less than %zu, found %u", n_entries, max);
    }
    return GREBE_OK;
}

void dictionary_gather(const void *entries, size_t width, const uint32_t *index, size_t n,
                       void *dst)
{
    const unsigned char *dict = entries;
    unsigned char *out = dst;

    if (width == 4 && (uintptr_t)entries % 4 == 0 && (uintptr_t)dst % 4 == 0) {
        codec_kernels()->gather_u32(entries, index, n, dst);
        return;
    }
    if (width == 8 && (uintptr_t)entries % 8 == 0 && (uintptr_t)dst % 8 == 0) {
        codec_kernels()->gather_u64(entries, index, n, dst);
        return;
    }
    if (width == 16) { /* decimals, UUIDs: a copy whose size the compiler knows */
        for (size_t i = 0; i < n; i++) {
            memcpy(out + i * 16, dict + (size_t)index[i] * 16, 16);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(out + i * width, dict + (size_t)index[i] * width, width);
    }
}
