/* SPDX-License-Identifier: Apache-2.0 */
#include "git/git_zlib.h"

#include <assert.h>
#include <string.h>

#ifdef GREBE_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

#include "base/checked.h"
#include "codec/codec_zlib.h"
#include "git/git_records.h"
#include "git/git_repo.h"

enum {
    STEP_MAX = 1 << 30,     /* zlib counts in unsigned int */
    STORED_MAX = 65535,     /* bytes of a stored block, RFC 1951 3.2.4 */
    WHOLE_MAX = 16 << 10,   /* up to here an object is compressed to see whether it shrinks */
    SAMPLE_PIECE = 2 << 10, /* else two pieces of it are: at 40 MB/s they cost as much as two hashes of the whole */
    SAMPLE_PIECES = 2,
    LEVEL_SMALL = 6,
    LEVEL_LARGE = 4,
    LARGE = 256 << 10,
    FAST_MIN = 64 /* bytes for which libdeflate's state, 11 KiB, is worth its making */
};

/* ---- writing ---- */

void repo_deflater_init(struct repo_deflater *d, const grebe_allocator *a)
{
    *d = (struct repo_deflater){ .a = a, .sample = BUF_INIT(a) };
}

void repo_deflater_release(struct repo_deflater *d)
{
    if (d->z != NULL) {
        deflateEnd(d->z);
        mem_free(d->a, d->z, sizeof *d->z);
        d->z = NULL;
    }
    buf_release(&d->sample);
}

/* Blocks of stored bytes behind the two bytes that zlib itself writes at level 0. */
static grebe_status store(const unsigned char *bytes, size_t len, struct buf *out, grebe_error *err)
{
    size_t n_blocks = len / STORED_MAX + 1;
    grebe_status st = buf_reserve(out, 2 + len + n_blocks * 5 + 4, err);
    if (st != GREBE_OK) {
        return st;
    }
    unsigned char *p = out->data + out->len;
    *p++ = 0x78;
    *p++ = 0x01;
    uLong sum = adler32(0, NULL, 0);
    size_t at = 0;
    do {
        size_t n = min_size(len - at, STORED_MAX);
        bool is_last = at + n == len;
        p[0] = is_last;
        p[1] = (unsigned char)n;
        p[2] = (unsigned char)(n >> 8);
        p[3] = (unsigned char)~n;
        p[4] = (unsigned char)(~n >> 8);
        if (n > 0) {
            memcpy(p + 5, bytes + at, n);
            sum = adler32(sum, bytes + at, (uInt)n);
        }
        p += 5 + n;
        at += n;
    } while (at < len);
    for (int shift = 24; shift >= 0; shift -= 8) {
        *p++ = (unsigned char)(sum >> shift);
    }
    out->len = (size_t)(p - out->data);
    return GREBE_OK;
}

static grebe_status make_ready(struct repo_deflater *d, int level, grebe_error *err)
{
    if (d->z == NULL) {
        d->z = mem_alloc(d->a, sizeof *d->z);
        if (d->z == NULL) {
            return mem_fail(err, sizeof *d->z, "deflate state");
        }
        codec_zlib_stream_init(d->z, d->a);
        if (deflateInit(d->z, level) != Z_OK) {
            mem_free(d->a, d->z, sizeof *d->z);
            d->z = NULL;
            return mem_fail(err, 256 << 10, "deflate state");
        }
        d->level = level;
    }
    deflateReset(d->z);
    if (level != d->level) {
        deflateParams(d->z, level, Z_DEFAULT_STRATEGY); /* nothing is pending: it only sets them */
        d->level = level;
    }
    return GREBE_OK;
}

static grebe_status compress_at(struct repo_deflater *d, const unsigned char *bytes, size_t len, int level,
                                struct buf *out, grebe_error *err)
{
    grebe_status st = make_ready(d, level, err);
    if (st != GREBE_OK) {
        return st;
    }
    z_stream *z = d->z;
    size_t at = 0;
    int code = Z_OK;
    while (code == Z_OK || code == Z_BUF_ERROR) {
        size_t n = min_size(len - at, STEP_MAX);
        size_t bound = deflateBound(z, (uLong)n) + 64;
        st = buf_reserve(out, bound, err);
        if (st != GREBE_OK) {
            return st;
        }
        z->next_in = bytes + at;
        z->avail_in = (uInt)n;
        z->next_out = out->data + out->len;
        z->avail_out = (uInt)min_size(bound, STEP_MAX);
        code = deflate(z, at + n == len ? Z_FINISH : Z_NO_FLUSH);
        at += n - z->avail_in;
        out->len = (size_t)(z->next_out - out->data);
    }
    assert(code == Z_STREAM_END && at == len);
    return GREBE_OK;
}

/* Whether pieces of some large object shrink by a tenth at the fastest level. */
static grebe_status shrinks(struct repo_deflater *d, const unsigned char *bytes, size_t len, bool *out, grebe_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < SAMPLE_PIECES; i++) {
        size_t at = len / SAMPLE_PIECES * i + len / 8; /* headers stand at the beginning: not there */
        buf_clear(&d->sample);
        grebe_status st = compress_at(d, bytes + at, SAMPLE_PIECE, 1, &d->sample, err);
        if (st != GREBE_OK) {
            return st;
        }
        total += d->sample.len;
    }
    *out = total * 10 < (size_t)SAMPLE_PIECES * SAMPLE_PIECE * 9;
    return GREBE_OK;
}

grebe_status repo_deflate(struct repo_deflater *d, const void *bytes, size_t len, int level, struct buf *out,
                         grebe_error *err)
{
    assert(level <= 9);
    grebe_status st = GREBE_OK;
    if (level < -1) {
        return repo_deflate_records(&d->sample, bytes, len, (size_t)(REPO_RECORDS(0) - level), out, err);
    }
    if (level == -1 && len > WHOLE_MAX) {
        bool is_worth_it = false;
        st = shrinks(d, bytes, len, &is_worth_it, err);
        if (st != GREBE_OK) {
            return st;
        }
        level = !is_worth_it ? 0 : len < LARGE ? LEVEL_SMALL : LEVEL_LARGE;
    }
    if (level == 0) {
        return store(bytes, len, out, err);
    }
    size_t start = out->len;
    st = compress_at(d, bytes, len, level == -1 ? LEVEL_SMALL : level, out, err);
    if (st == GREBE_OK && level == -1 && (out->len - start) * 10 >= len * 9 && out->len - start + 8 > len) {
        out->len = start;
        st = store(bytes, len, out, err);
    }
    return st;
}

/* ---- reading ---- */

static bool zlib_head_is_good(const unsigned char *src, size_t len)
{
    return len >= 2 && (src[0] & 15) == 8 && (src[0] >> 4) <= 7 && (src[0] * 256 + src[1]) % 31 == 0 &&
           (src[1] & 32) == 0;
}

/* A stream of nothing but stored blocks is copied here, at the speed of memory; anything else is left to zlib, from the
 * start. */
static bool copy_stored(const unsigned char *src, size_t src_len, unsigned char *dst, size_t dst_len, size_t *in,
                        size_t *done)
{
    for (;;) {
        if (src_len - *in < 5 || (src[*in] & 6) != 0) {
            return false;
        }
        const unsigned char *p = src + *in;
        size_t n = (size_t)p[1] | (size_t)p[2] << 8;
        size_t inverse = (size_t)p[3] | (size_t)p[4] << 8;
        if ((n ^ inverse) != 0xffff || n > src_len - *in - 5 || n > dst_len - *done) {
            return false; /* zlib names what is wrong */
        }
        memcpy(dst + *done, p + 5, n);
        *in += 5 + n;
        *done += n;
        if ((p[0] & 1) != 0) {
            return true;
        }
    }
}

/* Raw deflate from src[*in] until dst is full and, with must_end, the stream ends right there. */
static grebe_status inflate_rest(const grebe_allocator *a, const unsigned char *src, size_t src_len, unsigned char *dst,
                                 size_t dst_len, bool must_end, size_t *in, size_t *done, grebe_error *err)
{
    z_stream z;
    unsigned char beyond[1] = { 0 };
    grebe_status st = GREBE_OK;
    codec_zlib_stream_init(&z, a);
    if (inflateInit2(&z, -15) != Z_OK) {
        return mem_fail(err, 40 << 10, "inflate state");
    }
    int code = Z_OK;
    while (code == Z_OK) {
        size_t room = min_size(dst_len - *done, STEP_MAX);
        if (room == 0 && !must_end) {
            break;
        }
        z.next_in = src + *in;
        z.avail_in = (uInt)min_size(src_len - *in, STEP_MAX);
        z.next_out = room > 0 ? dst + *done : beyond;
        z.avail_out = room > 0 ? (uInt)room : 1;
        uInt before = z.avail_out;
        code = inflate(&z, Z_NO_FLUSH);
        *in = (size_t)(z.next_in - src);
        size_t n = before - z.avail_out;
        if (room == 0 && n > 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "zlib stream: expected %zu bytes, found more", dst_len);
            break;
        }
        *done += n;
        if (code != Z_OK && code != Z_STREAM_END) {
            st = code == Z_MEM_ERROR ? mem_fail(err, 40 << 10, "inflate state")
                                     : GREBE_FAIL(err, GREBE_ECORRUPT, "zlib stream at byte %zu of at most %zu: %s",
                                                  *in, src_len, z.msg != NULL ? z.msg : "ends early");
            break;
        }
    }
    inflateEnd(&z);
    return st;
}

/* The whole stream, twice as fast as zlib. false: nothing is known; zlib names what is wrong. */
static bool inflate_fast(const unsigned char *src, size_t src_len, unsigned char *dst, size_t dst_len, size_t *in,
                         size_t *done)
{
#ifdef GREBE_HAVE_LIBDEFLATE
    struct libdeflate_decompressor *d = dst_len >= FAST_MIN ? libdeflate_alloc_decompressor() : NULL;
    if (d == NULL) {
        return false;
    }
    size_t n_in = 0, n_out = 0;
    bool is_good = libdeflate_deflate_decompress_ex(d, src + *in, src_len - *in, dst, dst_len, &n_in, &n_out) ==
                   LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    if (is_good) {
        *in += n_in;
        *done = n_out;
    }
    return is_good;
#else
    (void)src, (void)src_len, (void)dst, (void)dst_len, (void)in, (void)done;
    return false;
#endif
}

grebe_status repo_inflate(const grebe_allocator *a, const unsigned char *src, size_t src_len, unsigned char *dst,
                         size_t dst_len, size_t *used, grebe_error *err)
{
    size_t in = 2, done = 0;
    grebe_status st = GREBE_OK;
    if (!zlib_head_is_good(src, src_len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a zlib stream, found none in %zu bytes", src_len);
    }
    if (!copy_stored(src, src_len, dst, dst_len, &in, &done)) {
        in = 2;
        done = 0;
        if (!inflate_fast(src, src_len, dst, dst_len, &in, &done)) {
            st = inflate_rest(a, src, src_len, dst, dst_len, true, &in, &done, err);
        }
    }
    if (st == GREBE_OK && done != dst_len) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "zlib stream: expected %zu bytes, found %zu", dst_len, done);
    }
    if (used != NULL) {
        *used = in + min_size(4, src_len - in);
    }
    return st;
}

grebe_status repo_inflate_head(const grebe_allocator *a, const unsigned char *src, size_t src_len, unsigned char *dst,
                              size_t dst_len, size_t *got, grebe_error *err)
{
    size_t in = 2;
    *got = 0;
    if (!zlib_head_is_good(src, src_len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a zlib stream, found none in %zu bytes", src_len);
    }
    return inflate_rest(a, src, src_len, dst, dst_len, false, &in, got, err);
}
