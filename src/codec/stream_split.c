/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/stream_split.h"

#include <assert.h>

#include "base/checked.h"
#include "codec/codec_simd.h"

grebe_status stream_split_decode(const void *bytes, size_t len, size_t width, void *dst, size_t n,
                                 grebe_error *err)
{
    const uint8_t *src = bytes;
    uint8_t *out = dst;
    size_t expected = 0;

    if (width == 0 || !checked_mul_size(n, width, &expected) || expected != len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "byte streams: expected %zu values of %zu bytes, found %zu bytes", n,
                          width, len);
    }
    if (width == 4) {
        codec_kernels()->join4(src, n, out);
    } else if (width == 8) {
        codec_kernels()->join8(src, n, out);
    } else {
        for (size_t s = 0; s < width; s++) {
            for (size_t i = 0; i < n; i++) {
                out[i * width + s] = src[s * n + i];
            }
        }
    }
    return GREBE_OK;
}

void stream_split_encode(const void *values, size_t width, void *dst, size_t n)
{
    const uint8_t *src = values;
    uint8_t *out = dst;

    assert(width > 0);
    if (width == 4) {
        codec_kernels()->split4(src, n, out);
    } else if (width == 8) {
        codec_kernels()->split8(src, n, out);
    } else {
        for (size_t s = 0; s < width; s++) {
            for (size_t i = 0; i < n; i++) {
                out[s * n + i] = src[i * width + s];
            }
        }
    }
}
