/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_lz4_frame.h"

#if defined(GREBE_HAVE_LZ4)
#include <lz4frame.h>

grebe_status codec_lz4_frame_decompress(const void *src, size_t src_len, void *dst,
                                        size_t dst_len, grebe_error *err)
{
    LZ4F_dctx *ctx = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION))) {
        return GREBE_FAIL(err, GREBE_ENOMEM, "cannot allocate an LZ4 decoder");
    }
    grebe_status st = GREBE_OK;
    const char *from = src;
    char *to = dst;
    size_t left = src_len;
    size_t room = dst_len;
    size_t more = 1;
    while (more != 0 && st == GREBE_OK) {
        size_t n_in = left;
        size_t n_out = room;
        more = LZ4F_decompress(ctx, to, &n_out, from, &n_in, NULL);
        if (LZ4F_isError(more)) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "LZ4 frame of %zu bytes: %s", src_len,
                            LZ4F_getErrorName(more));
        } else if (n_in == 0 && n_out == 0 && more != 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT,
                            "LZ4 frame of %zu bytes: expected %zu decompressed, found %s", src_len,
                            dst_len, left == 0 ? "its end before that" : "more");
        }
        from += n_in;
        left -= n_in;
        to += n_out;
        room -= n_out;
    }
    if (st == GREBE_OK && (room != 0 || left != 0)) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "LZ4 frame of %zu bytes: expected %zu decompressed, found %zu", src_len,
                        dst_len, dst_len - room);
    }
    LZ4F_freeDecompressionContext(ctx);
    return st;
}
#else
grebe_status codec_lz4_frame_decompress(const void *src, size_t src_len, void *dst,
                                        size_t dst_len, grebe_error *err)
{
    (void)src;
    (void)src_len;
    (void)dst;
    (void)dst_len;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "LZ4 is not built in");
}
#endif
