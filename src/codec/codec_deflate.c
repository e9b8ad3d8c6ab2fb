/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_compress.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/checked.h"
#include "codec/codec_zlib.h"

/* zlib's windowBits: 15 is 32 KiB; negative raw, +16 gzip, +32 zlib or gzip as found. */
enum { WINDOW_RAW = -15, WINDOW_GZIP = 15 + 16, WINDOW_ANY = 15 + 32 };

/* zlib counts in unsigned int: longer blocks go in steps. */
enum { STEP_MAX = 1 << 30 };

static void *zlib_alloc(void *opaque, uInt n, uInt size)
{
    size_t bytes = 0;
    const grebe_allocator *a = opaque;

    return checked_mul_size(n, size, &bytes) ? codec_sized_alloc(a, bytes) : Z_NULL;
}

static void zlib_free(void *opaque, void *p) { codec_sized_free(opaque, p); }

void codec_zlib_stream_init(z_stream *z, const grebe_allocator *a)
{
    memset(z, 0, sizeof *z);
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    memcpy(&z->opaque, &a, sizeof z->opaque);
}

static grebe_status fail_stream(const z_stream *z, size_t at, int code, grebe_error *err)
{
    if (code == Z_MEM_ERROR) {
        return mem_fail(err, 0, "inflate state");
    }
    return GREBE_FAIL(err, GREBE_ECORRUPT, "deflate stream at byte %zu: %s", at,
                      z->msg != NULL ? z->msg : "ends early");
}

/* Where the output goes: memory of an exact length, or a buffer that grows. */
struct inflate_target {
    unsigned char *dst; /* exact form */
    size_t dst_len;
    struct buf *buf; /* growing form; NULL: exact */
    size_t limit;
    size_t done;
    unsigned char beyond[1]; /* shows a stream that is longer than declared */
};

static grebe_status give_room(struct inflate_target *t, z_stream *z, grebe_error *err)
{
    size_t room = 0;

    if (t->buf == NULL) {
        room = min_size(t->dst_len - t->done, STEP_MAX);
        z->next_out = room > 0 ? t->dst + t->done : t->beyond;
        z->avail_out = room > 0 ? (uInt)room : 1;
        return GREBE_OK;
    }
    room = min_size(max_size(t->buf->len, 32768), STEP_MAX);
    if (buf_reserve(t->buf, room, err) != GREBE_OK) {
        return GREBE_ENOMEM;
    }
    z->next_out = t->buf->data + t->buf->len;
    z->avail_out = (uInt)room;
    return GREBE_OK;
}

static grebe_status take_output(struct inflate_target *t, size_t n, grebe_error *err)
{
    if (t->buf == NULL) {
        if (n > t->dst_len - t->done) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "deflate stream: expected %zu bytes, found more",
                              t->dst_len);
        }
    } else {
        if (n > t->limit - t->done) {
            return GREBE_FAIL(err, GREBE_ELIMIT,
                              "deflate stream: expected at most %zu bytes, found more", t->limit);
        }
        t->buf->len += n;
    }
    t->done += n;
    return GREBE_OK;
}

/* Inflate until the input is used up; only the wrapped form may have several members. */
static grebe_status inflate_members(const grebe_allocator *a, bool is_wrapped,
                                    const unsigned char *src, size_t src_len,
                                    struct inflate_target *t, grebe_error *err)
{
    z_stream z;
    size_t at = 0;
    int code = Z_OK;
    grebe_status st = GREBE_OK;

    codec_zlib_stream_init(&z, a);
    code = inflateInit2(&z, is_wrapped ? WINDOW_ANY : WINDOW_RAW);
    if (code != Z_OK) {
        return fail_stream(&z, 0, code, err);
    }
    for (;;) {
        uInt room = 0;

        z.next_in = src + at;
        z.avail_in = (uInt)min_size(src_len - at, STEP_MAX);
        GREBE_TRY(give_room(t, &z, err));
        room = z.avail_out;
        code = inflate(&z, Z_NO_FLUSH);
        at = (size_t)(z.next_in - src);
        GREBE_TRY(take_output(t, room - z.avail_out, err));
        if (code == Z_STREAM_END) {
            /* Avro writers that cut a zlib stream down leave parts of its checksum behind. */
            size_t tail_max = !is_wrapped && t->buf != NULL ? 4 : 0;
            if (src_len - at <= tail_max) {
                break;
            }
            if (!is_wrapped || inflateReset(&z) != Z_OK) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "deflate stream ends at byte %zu of %zu", at,
                                src_len);
                goto out;
            }
        } else if (code != Z_OK || (at == src_len && z.avail_out > 0)) {
            st = fail_stream(&z, at, code, err);
            goto out;
        }
    }
out:
    inflateEnd(&z);
    return st;
}

grebe_status codec_inflate_exact(const grebe_allocator *a, bool is_wrapped, const void *src,
                                 size_t src_len, void *dst, size_t dst_len, grebe_error *err)
{
    struct inflate_target t = {.dst = dst, .dst_len = dst_len};
    grebe_status st = inflate_members(a, is_wrapped, src, src_len, &t, err);

    if (st == GREBE_OK && t.done != dst_len) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "deflate stream: expected %zu bytes, found %zu",
                        dst_len, t.done);
    }
    return st;
}

grebe_status codec_inflate(const void *src, size_t src_len, bool is_wrapped, size_t limit,
                           struct buf *dst, grebe_error *err)
{
    struct inflate_target t = {.buf = dst, .limit = limit};

    return inflate_members(dst->a, is_wrapped, src_len > 0 ? src : (const void *)"", src_len, &t,
                           err);
}

size_t codec_deflate_bound(size_t n)
{
    /* deflateBound()'s conservative form plus the gzip header and trailer. */
    return n + (n >> 5) + (n >> 7) + (n >> 11) + 64;
}

grebe_status codec_deflate(const grebe_allocator *a, bool is_gzip, int level, const void *src,
                           size_t src_len, void *dst, size_t capacity, size_t *out_len,
                           grebe_error *err)
{
    z_stream z;
    int code = Z_OK;

    assert(src_len <= INT_MAX && capacity <= INT_MAX);
    if (level == CODEC_LEVEL_DEFAULT) {
        level = Z_DEFAULT_COMPRESSION;
    } else if (level < 0 || level > 9) {
        return GREBE_FAIL(err, GREBE_EINVAL, "gzip level: expected 0 to 9, found %d", level);
    }
    codec_zlib_stream_init(&z, a);
    code = deflateInit2(&z, level, Z_DEFLATED, is_gzip ? WINDOW_GZIP : WINDOW_RAW, 8,
                        Z_DEFAULT_STRATEGY);
    if (code != Z_OK) {
        return mem_fail(err, 0, "deflate state");
    }
    z.next_in = src;
    z.avail_in = (uInt)src_len;
    z.next_out = dst;
    z.avail_out = (uInt)capacity;
    code = deflate(&z, Z_FINISH);
    *out_len = capacity - z.avail_out;
    deflateEnd(&z);
    assert(code == Z_STREAM_END); /* the bound holds */
    return code == Z_STREAM_END ? GREBE_OK : mem_fail(err, capacity, "deflate output");
}
