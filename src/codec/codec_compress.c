/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_compress.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#ifdef GREBE_HAVE_LZ4
#include <lz4.h>
#include <lz4hc.h>
#endif
#ifdef GREBE_HAVE_SNAPPY
#include <snappy-c.h>
#endif

#include "base/ascii.h"
#include "codec/codec_snappy.h"

enum { ZSTD_LEVEL_DEFAULT = 3 };

static const struct {
    const char *name;
    enum codec_id id;
} codec_names[] = {
    {"uncompressed", CODEC_NONE}, {"none", CODEC_NONE},         {"snappy", CODEC_SNAPPY},
    {"gzip", CODEC_GZIP},         {"deflate", CODEC_DEFLATE},   {"lzo", CODEC_LZO},
    {"brotli", CODEC_BROTLI},     {"lz4_hadoop", CODEC_LZ4_HADOOP}, {"lz4", CODEC_LZ4_RAW},
    {"lz4_raw", CODEC_LZ4_RAW},   {"zstd", CODEC_ZSTD},
    {"bzip2", CODEC_BZIP2},       {"xz", CODEC_XZ},             {"lz4_frame", CODEC_LZ4_FRAME},
};

const char *codec_name(enum codec_id id)
{
    for (size_t i = 0; i < sizeof codec_names / sizeof codec_names[0]; i++) {
        if (codec_names[i].id == id) {
            return codec_names[i].name;
        }
    }
    return "unknown";
}

bool codec_from_name(const char *name, enum codec_id *out)
{
    for (size_t i = 0; i < sizeof codec_names / sizeof codec_names[0]; i++) {
        if (ascii_equal(codec_names[i].name, name)) {
            *out = codec_names[i].id;
            return true;
        }
    }
    return false;
}

bool codec_is_available(enum codec_id id, bool is_write)
{
    (void)is_write; /* without lz4 nobody asks */
    switch (id) {
    case CODEC_NONE:
    case CODEC_GZIP:
    case CODEC_DEFLATE:
    case CODEC_ZSTD:
        return true;
    case CODEC_SNAPPY:
#ifdef GREBE_HAVE_SNAPPY
        return true;
#else
        return !is_write;
#endif
    case CODEC_LZ4_HADOOP:
    case CODEC_LZ4_RAW:
#ifdef GREBE_HAVE_LZ4
        return id == CODEC_LZ4_RAW || !is_write;
#else
        return false;
#endif
    case CODEC_BROTLI:
#ifdef GREBE_HAVE_BROTLI
        return true;
#else
        return false;
#endif
    case CODEC_LZO:
    case CODEC_BZIP2:
    case CODEC_XZ:
    case CODEC_LZ4_FRAME:
        return false;
    }
    return false;
}

static grebe_status fail_unsupported(enum codec_id id, bool is_write, grebe_error *err)
{
    if (is_write && id == CODEC_LZ4_HADOOP) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "codec %s is never written", codec_name(id));
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "codec %s is not built in", codec_name(id));
}

static grebe_status fail_block(enum codec_id id, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s block is damaged", codec_name(id));
}

static grebe_status check_len(enum codec_id id, uint64_t expected, uint64_t found,
                              grebe_error *err)
{
    if (expected != found) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s block: expected %llu bytes, found %llu",
                          codec_name(id), (unsigned long long)expected,
                          (unsigned long long)found);
    }
    return GREBE_OK;
}

/* ---- memory ---- */

enum { SIZED_HEADER = 64 }; /* keeps the alignment that AVX loads of the libraries like */

void *codec_sized_alloc(const grebe_allocator *a, size_t size)
{
    unsigned char *p = NULL;

    if (size > SIZE_MAX - SIZED_HEADER) {
        return NULL;
    }
    p = mem_alloc_aligned(a, size + SIZED_HEADER, SIZED_HEADER);
    if (p == NULL) {
        return NULL;
    }
    memcpy(p, &size, sizeof size);
    return p + SIZED_HEADER;
}

void codec_sized_free(const grebe_allocator *a, void *p)
{
    size_t size = 0;

    if (p == NULL) {
        return;
    }
    memcpy(&size, (unsigned char *)p - SIZED_HEADER, sizeof size);
    mem_free_aligned(a, (unsigned char *)p - SIZED_HEADER, size + SIZED_HEADER, SIZED_HEADER);
}

static void *zstd_alloc(void *a, size_t size) { return codec_sized_alloc(a, size); }
static void zstd_free(void *a, void *p) { codec_sized_free(a, p); }

static ZSTD_customMem zstd_memory(const struct codec_workspace *ws)
{
    /* The library's struct has no const; the allocator is only handed back to us. */
    ZSTD_customMem mem = {zstd_alloc, zstd_free, NULL};

    memcpy(&mem.opaque, &ws->a, sizeof mem.opaque);
    return mem;
}

void codec_workspace_release(struct codec_workspace *ws)
{
    ZSTD_freeCCtx(ws->zstd_compress);
    ZSTD_freeDCtx(ws->zstd_decompress);
    ws->zstd_compress = NULL;
    ws->zstd_decompress = NULL;
}

/* ---- zstd ---- */

static grebe_status zstd_reader(struct codec_workspace *ws, ZSTD_DCtx **out, grebe_error *err)
{
    if (ws->zstd_decompress == NULL) {
        ws->zstd_decompress = ZSTD_createDCtx_advanced(zstd_memory(ws));
        if (ws->zstd_decompress == NULL) {
            return mem_fail(err, 0, "zstd decompression state");
        }
    }
    *out = ws->zstd_decompress;
    return GREBE_OK;
}

static grebe_status zstd_block(struct codec_workspace *ws, const void *src, size_t src_len,
                               void *dst, size_t dst_len, grebe_error *err)
{
    ZSTD_DCtx *d = NULL;
    size_t got = 0;
    grebe_status st = zstd_reader(ws, &d, err);

    if (st != GREBE_OK) {
        return st;
    }
    got = ZSTD_decompressDCtx(d, dst, dst_len, src, src_len);
    if (ZSTD_isError(got)) {
        if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) {
            return mem_fail(err, dst_len, "zstd decompression");
        }
        return GREBE_FAIL(err, GREBE_ECORRUPT, "zstd block of %zu bytes for %zu: %s", src_len,
                          dst_len, ZSTD_getErrorName(got));
    }
    return check_len(CODEC_ZSTD, dst_len, got, err);
}

grebe_status codec_zstd_expand(const void *src, size_t src_len, size_t limit, struct buf *dst,
                               struct codec_workspace *ws, grebe_error *err)
{
    ZSTD_DCtx *d = NULL;
    ZSTD_inBuffer in = {src, src_len, 0};
    size_t total = 0;
    size_t hint = 1;
    grebe_status st = zstd_reader(ws, &d, err);

    if (st != GREBE_OK) {
        return st;
    }
    ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
    for (;;) {
        ZSTD_outBuffer out = {NULL, 0, 0};
        const size_t step = ZSTD_DStreamOutSize();

        st = buf_reserve(dst, step, err);
        if (st != GREBE_OK) {
            return st;
        }
        out.dst = dst->data + dst->len;
        out.size = step;
        hint = ZSTD_decompressStream(d, &out, &in);
        if (ZSTD_isError(hint)) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "zstd stream at byte %zu: %s", in.pos,
                              ZSTD_getErrorName(hint));
        }
        total += out.pos;
        if (total > limit) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "zstd stream: expected at most %zu bytes, found more",
                              limit);
        }
        dst->len += out.pos;
        if (in.pos == in.size && out.pos < out.size) {
            break;
        }
    }
    if (hint != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "zstd stream ends early after %zu bytes", src_len);
    }
    return GREBE_OK;
}

static grebe_status zstd_pack(struct codec_workspace *ws, int level, const void *src,
                              size_t src_len, void *dst, size_t capacity, size_t *out_len,
                              grebe_error *err)
{
    size_t got = 0;

    if (level == CODEC_LEVEL_DEFAULT) {
        level = ZSTD_LEVEL_DEFAULT;
    }
    if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel()) {
        return GREBE_FAIL(err, GREBE_EINVAL, "zstd level: expected %d to %d, found %d",
                          ZSTD_minCLevel(), ZSTD_maxCLevel(), level);
    }
    if (ws->zstd_compress == NULL) {
        ws->zstd_compress = ZSTD_createCCtx_advanced(zstd_memory(ws));
        if (ws->zstd_compress == NULL) {
            return mem_fail(err, 0, "zstd compression state");
        }
    }
    got = ZSTD_compressCCtx(ws->zstd_compress, dst, capacity, src, src_len, level);
    if (ZSTD_isError(got)) {
        /* The destination has the bound's size, so memory is what can be missing. */
        return mem_fail(err, src_len, "zstd compression");
    }
    *out_len = got;
    return GREBE_OK;
}

/* ---- lz4, snappy ---- */

#ifdef GREBE_HAVE_LZ4
static bool lz4_raw(const void *src, size_t src_len, void *dst, size_t dst_len)
{
    char nothing = 0;

    if (src_len > INT_MAX || dst_len > INT_MAX) {
        return false;
    }
    return LZ4_decompress_safe(src, dst_len > 0 ? dst : &nothing, (int)src_len, (int)dst_len) ==
           (int)dst_len;
}

static uint32_t load_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Hadoop's framing: blocks of u32 BE content length, u32 BE stored length, raw block. */
static bool lz4_hadoop(const unsigned char *src, size_t src_len, unsigned char *dst,
                       size_t dst_len)
{
    size_t at = 0;
    size_t done = 0;

    while (src_len - at >= 8) {
        const uint32_t content = load_be32(src + at);
        const uint32_t stored = load_be32(src + at + 4);

        at += 8;
        if (stored > src_len - at || content > dst_len - done ||
            !lz4_raw(src + at, stored, dst == NULL ? NULL : dst + done, content)) {
            return false;
        }
        at += stored;
        done += content;
    }
    return at == src_len && done == dst_len;
}

static grebe_status lz4_block(enum codec_id id, const void *src, size_t src_len, void *dst,
                              size_t dst_len, grebe_error *err)
{
    if (id == CODEC_LZ4_HADOOP && lz4_hadoop(src, src_len, dst, dst_len)) {
        return GREBE_OK;
    }
    if (!lz4_raw(src, src_len, dst, dst_len)) {
        return fail_block(id, err);
    }
    return GREBE_OK;
}
#endif

static grebe_status snappy_block(const void *src, size_t src_len, void *dst, size_t dst_len,
                                 grebe_error *err)
{
    uint64_t len = 0;

    if (codec_snappy_expand(src, src_len, dst, dst_len, &len)) {
        return GREBE_OK;
    }
    return len == dst_len ? fail_block(CODEC_SNAPPY, err)
                          : check_len(CODEC_SNAPPY, dst_len, (size_t)len, err);
}

/* ---- one interface ---- */

grebe_status codec_decompress(enum codec_id id, const void *src, size_t src_len, void *dst,
                              size_t dst_len, struct codec_workspace *ws, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    if (!codec_is_available(id, false)) {
        return fail_unsupported(id, false, err);
    }
    if (src_len == 0 && id != CODEC_NONE) {
        return fail_block(id, err);
    }
    switch (id) {
    case CODEC_NONE:
        st = check_len(id, dst_len, src_len, err);
        if (st == GREBE_OK && dst_len > 0) {
            memcpy(dst, src, dst_len);
        }
        return st;
    case CODEC_ZSTD:
        return zstd_block(ws, src, src_len, dst, dst_len, err);
    case CODEC_GZIP:
    case CODEC_DEFLATE:
        return codec_inflate_exact(ws->a, id == CODEC_GZIP, src, src_len, dst, dst_len, err);
#ifdef GREBE_HAVE_LZ4
    case CODEC_LZ4_HADOOP:
    case CODEC_LZ4_RAW:
        return lz4_block(id, src, src_len, dst, dst_len, err);
#endif
    case CODEC_SNAPPY:
        return snappy_block(src, src_len, dst, dst_len, err);
#ifdef GREBE_HAVE_BROTLI
    case CODEC_BROTLI:
        return codec_brotli_block(ws->a, src, src_len, dst, dst_len, err);
#endif
    default:
        return fail_unsupported(id, false, err);
    }
}

uint64_t codec_expand_max(enum codec_id id, size_t src_len)
{
    enum {
        SNAPPY_RATIO = 32, /* a copy: 3 bytes for 64 */
        LZ4_RATIO = 256,   /* one more byte of a length: 255 */
        DEFLATE_RATIO = 1032, /* 258 bytes by two bits */
        ZSTD_RATIO = 1 << 15  /* a repeated byte: 4 bytes for a block of 128 KiB */
    };
    const uint64_t n = src_len;
    uint64_t ratio = 0;
    switch (id) {
    case CODEC_NONE: return n;
    case CODEC_SNAPPY: ratio = SNAPPY_RATIO; break;
    case CODEC_LZ4_HADOOP:
    case CODEC_LZ4_RAW: ratio = LZ4_RATIO; break;
    case CODEC_GZIP:
    case CODEC_DEFLATE: ratio = DEFLATE_RATIO; break;
    case CODEC_ZSTD: ratio = ZSTD_RATIO; break;
    default: return UINT64_MAX;
    }
    return n > UINT64_MAX / ratio ? UINT64_MAX : n * ratio;
}

size_t codec_compress_bound(enum codec_id id, size_t n)
{
    switch (id) {
    case CODEC_NONE:
        return n;
    case CODEC_ZSTD:
        return ZSTD_compressBound(n);
    case CODEC_GZIP:
    case CODEC_DEFLATE:
        return codec_deflate_bound(n);
#ifdef GREBE_HAVE_LZ4
    case CODEC_LZ4_RAW:
        return n > LZ4_MAX_INPUT_SIZE ? 0 : (size_t)LZ4_compressBound((int)n);
#endif
#ifdef GREBE_HAVE_SNAPPY
    case CODEC_SNAPPY:
        return snappy_max_compressed_length(n);
#endif
#ifdef GREBE_HAVE_BROTLI
    case CODEC_BROTLI:
        return codec_brotli_bound(n);
#endif
    default:
        return 0;
    }
}

#ifdef GREBE_HAVE_LZ4
/* Up to 2 the fast search (below 1 with more and more acceleration), from 3 on the thorough one. */
static grebe_status lz4_pack(int level, const void *src, size_t src_len, void *dst,
                             size_t capacity, size_t *out_len, grebe_error *err)
{
    enum { ACCELERATION_MAX = 65537, THOROUGH = 3 };
    int got = 0;

    if (level == CODEC_LEVEL_DEFAULT) {
        level = 1;
    }
    if (level < -ACCELERATION_MAX || level > LZ4HC_CLEVEL_MAX) {
        return GREBE_FAIL(err, GREBE_EINVAL, "lz4 level: expected %d to %d, found %d",
                          -ACCELERATION_MAX, LZ4HC_CLEVEL_MAX, level);
    }
    got = level >= THOROUGH
              ? LZ4_compress_HC(src, dst, (int)src_len, (int)capacity, level)
              : LZ4_compress_fast(src, dst, (int)src_len, (int)capacity, level < 0 ? -level : 1);
    if (got <= 0) {
        return mem_fail(err, src_len, "lz4 compression");
    }
    *out_len = (size_t)got;
    return GREBE_OK;
}
#endif

static grebe_status compress_into(enum codec_id id, int level, const void *src, size_t src_len,
                                  void *dst, size_t capacity, size_t *out_len,
                                  struct codec_workspace *ws, grebe_error *err)
{
    switch (id) {
    case CODEC_ZSTD:
        return zstd_pack(ws, level, src, src_len, dst, capacity, out_len, err);
    case CODEC_GZIP:
    case CODEC_DEFLATE:
        return codec_deflate(ws->a, id == CODEC_GZIP, level, src, src_len, dst, capacity,
                             out_len, err);
#ifdef GREBE_HAVE_LZ4
    case CODEC_LZ4_RAW: return lz4_pack(level, src, src_len, dst, capacity, out_len, err);
#endif
#ifdef GREBE_HAVE_SNAPPY
    case CODEC_SNAPPY:
        if (level != CODEC_LEVEL_DEFAULT) {
            return GREBE_FAIL(err, GREBE_EINVAL, "snappy has no levels, found %d", level);
        }
        *out_len = capacity;
        if (snappy_compress(src, src_len, dst, out_len) != SNAPPY_OK) {
            return mem_fail(err, src_len, "snappy compression");
        }
        return GREBE_OK;
#endif
#ifdef GREBE_HAVE_BROTLI
    case CODEC_BROTLI:
        return codec_brotli_pack(ws->a, level, src, src_len, dst, capacity, out_len, err);
#endif
    default:
        return fail_unsupported(id, true, err);
    }
}

grebe_status codec_compress(enum codec_id id, int level, const void *src, size_t src_len,
                            struct buf *dst, struct codec_workspace *ws, grebe_error *err)
{
    const size_t bound = codec_compress_bound(id, src_len);
    size_t got = 0;
    grebe_status st = GREBE_OK;

    if (!codec_is_available(id, true)) {
        return fail_unsupported(id, true, err);
    }
    if (id == CODEC_NONE) {
        return buf_put(dst, src, src_len, err);
    }
    if (bound == 0 || bound > INT_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s block: expected at most %d bytes, found %zu",
                          codec_name(id), INT_MAX, src_len);
    }
    st = buf_reserve(dst, bound, err);
    if (st == GREBE_OK) {
        st = compress_into(id, level, src_len > 0 ? src : "", src_len, dst->data + dst->len,
                           bound, &got, ws, err);
    }
    if (st == GREBE_OK) {
        assert(got <= bound);
        dst->len += got;
    }
    return st;
}
