/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_lz4_frame.h"

#include "codec/codec_compress.h"

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

grebe_status codec_lz4_frame_compress(int level, const void *src, size_t src_len, struct buf *dst,
                                      grebe_error *err)
{
    LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
    if (level > LZ4F_compressionLevel_max()) {
        return GREBE_FAIL(err, GREBE_EINVAL, "lz4 level: expected at most %d, found %d",
                          LZ4F_compressionLevel_max(), level);
    }
    p.compressionLevel = level == CODEC_LEVEL_DEFAULT ? 0 : level;
    p.frameInfo.contentSize = src_len;
    size_t bound = LZ4F_compressFrameBound(src_len, &p);
    grebe_status st = buf_reserve(dst, bound, err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t n = LZ4F_compressFrame(dst->data + dst->len, bound, src, src_len, &p);
    if (LZ4F_isError(n)) {
        return GREBE_FAIL(err, GREBE_ENOMEM, "lz4: %s", LZ4F_getErrorName(n));
    }
    dst->len += n;
    return GREBE_OK;
}
#else
grebe_status codec_lz4_frame_compress(int level, const void *src, size_t src_len, struct buf *dst,
                                      grebe_error *err)
{
    (void)level;
    (void)src;
    (void)src_len;
    (void)dst;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "LZ4 is not built in");
}

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
