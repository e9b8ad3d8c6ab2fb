/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LZF by Marc Lehmann, which h5py alone brings as a filter: a control byte below 32 is a run of literals, one byte longer
 * than it says; otherwise three bits of length and thirteen of distance.
 */
#include "hdf5/hdf5_lzf.h"

#include <string.h>

size_t hdf5_lzf_decode(const unsigned char *src, size_t n, unsigned char *dst, size_t room)
{
    size_t at = 0, out = 0;
    while (at < n) {
        size_t control = src[at++];
        if (control < 32) {
            size_t len = control + 1;
            if (len > n - at || len > room - out) {
                return 0;
            }
            memcpy(dst + out, src + at, len);
            at += len;
            out += len;
            continue;
        }
        size_t len = control >> 5;
        if (len == 7) {
            if (at == n) {
                return 0;
            }
            len += src[at++];
        }
        len += 2;
        if (at == n) {
            return 0;
        }
        size_t distance = ((control & 31) << 8 | src[at++]) + 1;
        if (distance > out || len > room - out) {
            return 0;
        }
        for (size_t i = 0; i < len; i++, out++) { /* may overlap: byte by byte is what it means */
            dst[out] = dst[out - distance];
        }
    }
    return out;
}
