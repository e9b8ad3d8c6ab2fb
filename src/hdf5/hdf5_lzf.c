/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter "lzf" (32000) that h5py alone brings: reading only. LZF by Marc Lehmann: a control byte below 32 is a run of
 * literals, one byte longer than it says; otherwise three bits of length and thirteen of distance.
 */
#include "hdf5/hdf5_lzf.h"

#include <string.h>

#include "base/alloc.h"
#include "hdf5/hdf5_api.h"

enum { LZF_FILTER = 32000 };

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

/* cd_values of h5py: revision, version, bytes of a chunk. The library's buffers are malloc's, as mem_system()'s are. */
static size_t lzf_filter(unsigned flags, size_t n_values, const unsigned values[], size_t n, size_t *buf_size,
                         void **buf)
{
    if ((flags & H5Z_FLAG_REVERSE) == 0 || n_values < 3 || values[2] == 0 || values[2] > INT32_MAX ||
        values[2] / 128 > n) { /* a byte of the input gives at most 88 */
        return 0;
    }
    unsigned char *dst = mem_alloc(mem_system(), values[2]);
    size_t got = dst == NULL ? 0 : hdf5_lzf_decode(*buf, n, dst, values[2]);
    if (got == 0) {
        mem_free(mem_system(), dst, values[2]);
        return 0;
    }
    mem_free(mem_system(), *buf, *buf_size);
    *buf = dst;
    *buf_size = values[2];
    return got;
}

static const H5Z_class2_t lzf_class = { H5Z_CLASS_T_VERS, LZF_FILTER, 0, 1, "lzf", NULL, NULL, lzf_filter };

void hdf5_lzf_register(struct hdf5_api *api)
{
    if (api->Zfilter_avail(LZF_FILTER) <= 0) { /* h5py's own may be there, which can write, too */
        api->Zregister(&lzf_class);
    }
}
