/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_other.h"

#include <string.h>

#ifdef GREBE_HAVE_BZ2
#include <bzlib.h>
#endif
#ifdef GREBE_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef GREBE_HAVE_LZ4
#include <lz4frame.h>
#endif

#include "base/checked.h"
#include "base/error.h"

/* What a decoder of xz may take: its largest preset takes half of it. */
#define XZ_MEMORY_MAX ((uint64_t)128 << 20)

struct codec_other {
    const grebe_allocator *a;
    enum codec_id id;
#ifdef GREBE_HAVE_BZ2
    bz_stream bz2;
    bool has_bz2;
#endif
#ifdef GREBE_HAVE_LZMA
    lzma_stream xz;
    lzma_allocator xz_memory;
#endif
#ifdef GREBE_HAVE_LZ4
    LZ4F_dctx *lz4;
#endif
};

enum codec_id codec_other_sniff(const void *head, size_t len)
{
    const unsigned char *p = head;
    if (len >= 4 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' && p[3] <= '9') {
        return CODEC_BZIP2;
    }
    if (len >= 4 && memcmp(p, "\xfd" "7zX", 4) == 0) {
        return CODEC_XZ;
    }
    return len >= 4 && memcmp(p, "\x04\x22\x4d\x18", 4) == 0 ? CODEC_LZ4_FRAME : CODEC_NONE;
}

/* ---- bzip2 ---- */

#ifdef GREBE_HAVE_BZ2
static void *bz2_alloc(void *opaque, int n, int size)
{
    size_t bytes = 0;
    return n >= 0 && size >= 0 && checked_mul_size((size_t)n, (size_t)size, &bytes) ? codec_sized_alloc(opaque, bytes)
                                                                                    : NULL;
}

static void bz2_free(void *opaque, void *p) { codec_sized_free(opaque, p); }

static bool bz2_begin(struct codec_other *s)
{
    union { /* the library hands the allocator back to the functions above, which do not change it */
        const grebe_allocator *in;
        void *out;
    } opaque = { s->a };
    s->bz2 = (bz_stream){ .bzalloc = bz2_alloc, .bzfree = bz2_free, .opaque = opaque.out };
    s->has_bz2 = BZ2_bzDecompressInit(&s->bz2, 0, 0) == BZ_OK;
    return s->has_bz2;
}

static void bz2_end(struct codec_other *s)
{
    if (s->has_bz2) {
        BZ2_bzDecompressEnd(&s->bz2);
        s->has_bz2 = false;
    }
}

static grebe_status bz2_step(struct codec_other *s, const void *src, size_t *src_len, void *dst, size_t *dst_len,
                             bool *is_end, const char **why, grebe_error *err)
{
    union { /* the library reads it only */
        const void *in;
        char *out;
    } from = { src };
    if (!s->has_bz2 && !bz2_begin(s)) {
        return mem_fail(err, 0, "a bzip2 decoder");
    }
    const size_t n_in = min_size(*src_len, 1u << 30), n_out = min_size(*dst_len, 1u << 30);
    s->bz2.next_in = from.out;
    s->bz2.avail_in = (unsigned)n_in;
    s->bz2.next_out = dst;
    s->bz2.avail_out = (unsigned)n_out;
    int code = BZ2_bzDecompress(&s->bz2);
    *src_len = n_in - s->bz2.avail_in;
    *dst_len = n_out - s->bz2.avail_out;
    *is_end = code == BZ_STREAM_END;
    if (code == BZ_STREAM_END) {
        bz2_end(s);
    }
    *why = code == BZ_DATA_ERROR_MAGIC ? "no bzip2 stream" : "bad content";
    return code == BZ_OK || code == BZ_STREAM_END ? GREBE_OK
           : code == BZ_MEM_ERROR                 ? mem_fail(err, 0, "a bzip2 decoder")
                                                  : GREBE_ECORRUPT;
}
#endif

/* ---- xz ---- */

#ifdef GREBE_HAVE_LZMA
static void *xz_alloc(void *opaque, size_t n, size_t size)
{
    size_t bytes = 0;
    return checked_mul_size(n, size, &bytes) ? codec_sized_alloc(opaque, bytes) : NULL;
}

static void xz_free(void *opaque, void *p)
{
    if (p != NULL) {
        codec_sized_free(opaque, p);
    }
}

static grebe_status xz_step(struct codec_other *s, const void *src, size_t *src_len, void *dst, size_t *dst_len,
                            bool *is_end, const char **why, grebe_error *err)
{
    s->xz.next_in = src;
    s->xz.avail_in = *src_len;
    s->xz.next_out = dst;
    s->xz.avail_out = *dst_len;
    lzma_ret code = lzma_code(&s->xz, LZMA_RUN);
    *src_len -= s->xz.avail_in;
    *dst_len -= s->xz.avail_out;
    *is_end = code == LZMA_STREAM_END;
    if (code == LZMA_STREAM_END) {
        code = lzma_stream_decoder(&s->xz, XZ_MEMORY_MAX, 0);
    }
    *why = code == LZMA_FORMAT_ERROR ? "no xz stream" : "bad content";
    switch (code) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: return GREBE_OK;
    case LZMA_MEM_ERROR: return mem_fail(err, 0, "an xz decoder");
    case LZMA_MEMLIMIT_ERROR:
        return GREBE_FAIL(err, GREBE_ELIMIT, "xz: expected a decoder of at most %llu bytes, found a larger one",
                          (unsigned long long)XZ_MEMORY_MAX);
    case LZMA_OPTIONS_ERROR: return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "xz: a filter that is not known");
    default: return GREBE_ECORRUPT;
    }
}

static bool xz_begin(struct codec_other *s)
{
    union {
        const grebe_allocator *in;
        void *out;
    } opaque = { s->a };
    s->xz_memory = (lzma_allocator){ xz_alloc, xz_free, opaque.out };
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->xz.allocator = &s->xz_memory;
    return lzma_stream_decoder(&s->xz, XZ_MEMORY_MAX, 0) == LZMA_OK;
}
#endif

/* ---- LZ4 frames ---- */

#ifdef GREBE_HAVE_LZ4
static grebe_status lz4_step(struct codec_other *s, const void *src, size_t *src_len, void *dst, size_t *dst_len,
                             bool *is_end, const char **why)
{
    size_t code = LZ4F_decompress(s->lz4, dst, dst_len, src, src_len, NULL);
    *is_end = code == 0;
    *why = LZ4F_isError(code) ? LZ4F_getErrorName(code) : "";
    return LZ4F_isError(code) ? GREBE_ECORRUPT : GREBE_OK;
}
#endif

/* ---- any of them ---- */

static bool begin(struct codec_other *s, bool *is_known)
{
    *is_known = true;
    switch (s->id) {
#ifdef GREBE_HAVE_BZ2
    case CODEC_BZIP2: return bz2_begin(s);
#endif
#ifdef GREBE_HAVE_LZMA
    case CODEC_XZ: return xz_begin(s);
#endif
#ifdef GREBE_HAVE_LZ4
    case CODEC_LZ4_FRAME: return !LZ4F_isError(LZ4F_createDecompressionContext(&s->lz4, LZ4F_VERSION));
#endif
    default: *is_known = false; return false;
    }
}

grebe_status codec_other_new(const grebe_allocator *a, enum codec_id id, struct codec_other **out, grebe_error *err)
{
    bool is_known = false;
    struct codec_other *s = mem_alloc_zero(a, sizeof *s);
    *out = NULL;
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a decompressor");
    }
    s->a = a;
    s->id = id;
    if (begin(s, &is_known)) {
        *out = s;
        return GREBE_OK;
    }
    codec_other_free(s);
    return is_known ? mem_fail(err, 0, "a decompressor")
                    : GREBE_FAIL(err, GREBE_EUNSUPPORTED, "codec %s is not built in", codec_name(id));
}

void codec_other_free(struct codec_other *s)
{
    if (s == NULL) {
        return;
    }
#ifdef GREBE_HAVE_BZ2
    bz2_end(s);
#endif
#ifdef GREBE_HAVE_LZMA
    if (s->id == CODEC_XZ) {
        lzma_end(&s->xz);
    }
#endif
#ifdef GREBE_HAVE_LZ4
    LZ4F_freeDecompressionContext(s->lz4);
#endif
    mem_free(s->a, s, sizeof *s);
}

grebe_status codec_other_step(struct codec_other *s, const void *src, size_t *src_len, void *dst, size_t *dst_len,
                              bool *is_end, const char **why, grebe_error *err)
{
    *is_end = false;
    *why = "";
    switch (s->id) {
#ifdef GREBE_HAVE_BZ2
    case CODEC_BZIP2: return bz2_step(s, src, src_len, dst, dst_len, is_end, why, err);
#endif
#ifdef GREBE_HAVE_LZMA
    case CODEC_XZ: return xz_step(s, src, src_len, dst, dst_len, is_end, why, err);
#endif
#ifdef GREBE_HAVE_LZ4
    case CODEC_LZ4_FRAME: return lz4_step(s, src, src_len, dst, dst_len, is_end, why);
#endif
    default:
        (void)src;
        (void)src_len;
        (void)dst;
        (void)dst_len;
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "codec %s is not built in", codec_name(s->id));
    }
}
