/* SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createDCtx_advanced */
#include "codec/codec_stream.h"

#include <assert.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/checked.h"
#include "codec/codec_other.h"

enum { INPUT_BYTES = 128 << 10, STEP_MAX = 1 << 30, WINDOW_GZIP = 15 + 16 };

struct codec_stream {
    const grebe_allocator *a;
    enum codec_id id;
    codec_read_fn read;
    void *arg;
    unsigned char *input; /* INPUT_BYTES */
    size_t at, end;       /* of the input block */
    uint64_t n_read;      /* bytes of input before the block's end */
    bool is_input_over;
    bool is_inside; /* of a member or frame */
    bool is_behind; /* one, at least */
    bool has_inflate;
    z_stream inflate;
    ZSTD_DCtx *zstd;
    struct codec_other *other;
};

enum codec_id codec_stream_sniff(const void *head, size_t len)
{
    static const unsigned char gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
    if (len >= sizeof gzip && memcmp(head, gzip, sizeof gzip) == 0) {
        return CODEC_GZIP;
    }
    return len >= sizeof zstd && memcmp(head, zstd, sizeof zstd) == 0 ? CODEC_ZSTD : codec_other_sniff(head, len);
}

static void *inflate_alloc(void *opaque, uInt n, uInt size)
{
    size_t bytes = 0;
    return checked_mul_size(n, size, &bytes) ? codec_sized_alloc(opaque, bytes) : Z_NULL;
}

static void stream_free_memory(void *opaque, void *p) { codec_sized_free(opaque, p); }

static void *stream_alloc(void *opaque, size_t size) { return codec_sized_alloc(opaque, size); }

grebe_status codec_stream_new(const grebe_allocator *a, enum codec_id id, codec_read_fn read,
                              void *arg, struct codec_stream **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    const bool is_other = id == CODEC_BZIP2 || id == CODEC_XZ || id == CODEC_LZ4_FRAME;
    if (id != CODEC_GZIP && id != CODEC_ZSTD && !is_other) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "expected gzip, zstd, bzip2, xz or LZ4 frames, found %s",
                          codec_name(id));
    }
    struct codec_stream *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a decompressor");
    }
    s->a = a;
    s->id = id;
    s->read = read;
    s->arg = arg;
    s->input = mem_alloc(a, INPUT_BYTES);
    if (s->input == NULL) {
        st = mem_fail(err, INPUT_BYTES, "compressed input");
        goto out;
    }
    /* The libraries hand the allocator back to the functions above, which do not change it. */
    union {
        const grebe_allocator *in;
        void *out;
    } opaque = { a };
    if (id == CODEC_GZIP) {
        s->inflate.zalloc = inflate_alloc;
        s->inflate.zfree = stream_free_memory;
        s->inflate.opaque = opaque.out;
        s->has_inflate = inflateInit2(&s->inflate, WINDOW_GZIP) == Z_OK;
    } else if (is_other) {
        GREBE_TRY(codec_other_new(a, id, &s->other, err));
    } else {
        ZSTD_customMem memory = { stream_alloc, stream_free_memory, opaque.out };
        s->zstd = ZSTD_createDCtx_advanced(memory);
    }
    if (!s->has_inflate && s->zstd == NULL && s->other == NULL) {
        st = mem_fail(err, 0, "a decompressor");
        goto out;
    }
    *out = s;
    s = NULL;
out:
    codec_stream_free(s);
    return st;
}

void codec_stream_free(struct codec_stream *s)
{
    if (s != NULL) {
        if (s->has_inflate) {
            inflateEnd(&s->inflate);
        }
        ZSTD_freeDCtx(s->zstd);
        codec_other_free(s->other);
        mem_free(s->a, s->input, s->input != NULL ? INPUT_BYTES : 0);
        mem_free(s->a, s, sizeof *s);
    }
}

static grebe_status refill(struct codec_stream *s, grebe_error *err)
{
    if (s->at < s->end || s->is_input_over) {
        return GREBE_OK;
    }
    s->at = s->end = 0;
    grebe_status st = s->read(s->arg, s->input, INPUT_BYTES, &s->end, err);
    s->n_read += s->end;
    s->is_input_over = st == GREBE_OK && s->end == 0;
    return st;
}

static grebe_status fail_at(const struct codec_stream *s, const char *why, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s stream at byte %llu: %s", codec_name(s->id),
                      (unsigned long long)(s->n_read - (s->end - s->at)), why);
}

static grebe_status step_gzip(struct codec_stream *s, void *dst, size_t len, size_t *got,
                              grebe_error *err)
{
    z_stream *z = &s->inflate;
    z->next_in = s->input + s->at;
    z->avail_in = (uInt)(s->end - s->at);
    z->next_out = dst;
    z->avail_out = (uInt)len;
    int code = inflate(z, Z_NO_FLUSH);
    s->at = s->end - z->avail_in;
    *got = len - z->avail_out;
    if (code == Z_STREAM_END) {
        s->is_inside = false;
        s->is_behind = true;
        code = inflateReset(z);
    }
    if (code == Z_MEM_ERROR) {
        return mem_fail(err, 0, "inflate state");
    }
    return code == Z_OK || code == Z_BUF_ERROR
               ? GREBE_OK
               : fail_at(s, z->msg != NULL ? z->msg : "bad content", err);
}

/* Zeros behind a member fill up a block of a tape: gzip passes over them. */
static void skip_padding(struct codec_stream *s)
{
    while (s->id == CODEC_GZIP && s->is_behind && !s->is_inside && s->at < s->end &&
           s->input[s->at] == 0) {
        s->at++;
    }
}

/* A frame that was made with --long, or by an enemy: its window is kept in memory. */
static grebe_status fail_window(const struct codec_stream *s, size_t frame, grebe_error *err)
{
    const unsigned long long most = 1ull << ZSTD_WINDOWLOG_LIMIT_DEFAULT;
    ZSTD_frameHeader header; /* may have begun in the block before */
    if (ZSTD_getFrameHeader(&header, s->input + frame, s->end - frame) != 0) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "zstd: expected a window of at most %llu bytes, found a "
                          "larger one", most);
    }
    return GREBE_FAIL(err, GREBE_ELIMIT, "zstd: expected a window of at most %llu bytes, found one of %llu",
                      most, (unsigned long long)header.windowSize);
}

/* libzstd decodes a frame that lies in one piece without a look at its window; it is refused as in pieces. */
static grebe_status check_window(const struct codec_stream *s, grebe_error *err)
{
    ZSTD_frameHeader header;
    bool is_seen = ZSTD_getFrameHeader(&header, s->input + s->at, s->end - s->at) == 0;
    bool is_decoded = is_seen && header.frameType == ZSTD_frame && header.dictID == 0; /* else it is refused for that */
    return is_decoded && header.windowSize > 1ull << ZSTD_WINDOWLOG_LIMIT_DEFAULT
               ? fail_window(s, s->at, err)
               : GREBE_OK;
}

static grebe_status step_zstd(struct codec_stream *s, void *dst, size_t len, size_t *got,
                              grebe_error *err)
{
    ZSTD_inBuffer in = { s->input, s->end, s->at };
    ZSTD_outBuffer out = { dst, len, 0 };
    size_t code = ZSTD_decompressStream(s->zstd, &out, &in);
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
        return fail_window(s, s->at, err);
    }
    s->at = in.pos;
    *got = out.pos;
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) {
        return mem_fail(err, 0, "a zstd window");
    }
    if (ZSTD_isError(code)) {
        return fail_at(s, ZSTD_getErrorName(code), err);
    }
    s->is_inside = code != 0;
    return GREBE_OK;
}

static grebe_status step_other(struct codec_stream *s, void *dst, size_t len, size_t *got, grebe_error *err)
{
    size_t taken = s->end - s->at;
    bool is_end = false;
    const char *why = "";
    *got = len;
    grebe_status st = codec_other_step(s->other, s->input + s->at, &taken, dst, got, &is_end, &why, err);
    if (st != GREBE_OK) {
        *got = 0;
        return st == GREBE_ECORRUPT ? fail_at(s, why, err) : st;
    }
    s->at += taken;
    s->is_inside = !is_end;
    return GREBE_OK;
}

grebe_status codec_stream_read(struct codec_stream *s, void *dst, size_t len, size_t *got,
                               grebe_error *err)
{
    *got = 0;
    len = min_size(len, STEP_MAX);
    while (*got == 0 && len > 0) {
        grebe_status st = refill(s, err);
        if (st != GREBE_OK) {
            return st;
        }
        skip_padding(s);
        if (s->at == s->end && !s->is_inside) {
            if (s->is_input_over) {
                return GREBE_OK;
            }
            continue;
        }
        size_t before = s->at;
        st = s->id == CODEC_ZSTD && !s->is_inside ? check_window(s, err) : GREBE_OK;
        if (st != GREBE_OK) {
            return st;
        }
        s->is_inside = true;
        st = s->id == CODEC_GZIP   ? step_gzip(s, dst, len, got, err)
             : s->id == CODEC_ZSTD ? step_zstd(s, dst, len, got, err)
                                   : step_other(s, dst, len, got, err);
        if (st != GREBE_OK) {
            return st;
        }
        /* What the codec kept back comes out without new input; then nothing moves any more. */
        if (*got == 0 && s->at == before && s->is_input_over && s->is_inside) {
            return fail_at(s, "ends early", err);
        }
    }
    return GREBE_OK;
}
