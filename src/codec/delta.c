/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/delta.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "codec/bitpack.h"
#include "codec/codec_simd.h"
#include "codec/varint.h"

/* What is written; the reader takes whatever the header says within the limits below. */
enum { BLOCK_VALUES = 128, MINI_PER_BLOCK = 4, MINI_VALUES = BLOCK_VALUES / MINI_PER_BLOCK };

enum { BLOCK_VALUES_MAX = 65536, MINI_PER_BLOCK_MAX = 512 };

/* Unpacked deltas of a part of a miniblock, on the stack. */
enum { CHUNK = 256 };

/* ---- reading ---- */

struct delta_header {
    size_t block_values, n_mini, mini_values;
    uint64_t count;
    uint64_t first;
};

static grebe_status read_header(const uint8_t **p, const uint8_t *end, struct delta_header *h,
                                grebe_error *err)
{
    uint64_t block = 0;
    uint64_t n_mini = 0;
    uint64_t first = 0;

    if (!varint_read(p, end, 5, &block) || !varint_read(p, end, 5, &n_mini) ||
        !varint_read(p, end, 10, &h->count) || !varint_read(p, end, 10, &first)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta header is cut");
    }
    if (block == 0 || block > BLOCK_VALUES_MAX || block % 128 != 0 || n_mini == 0 ||
        n_mini > MINI_PER_BLOCK_MAX || block % n_mini != 0 || block / n_mini % 32 != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "delta header: %llu values in %llu miniblocks is no block size",
                          (unsigned long long)block, (unsigned long long)n_mini);
    }
    if (h->count > INT64_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta header: impossible count %llu",
                          (unsigned long long)h->count);
    }
    h->block_values = (size_t)block;
    h->n_mini = (size_t)n_mini;
    h->mini_values = (size_t)(block / n_mini);
    h->first = (uint64_t)zigzag_decode(first);
    return GREBE_OK;
}

grebe_status delta_count(const void *bytes, size_t len, uint64_t *out, grebe_error *err)
{
    struct delta_header h;
    const uint8_t *p = bytes;
    const grebe_status st = read_header(&p, p + len, &h, err);

    *out = st == GREBE_OK ? h.count : 0;
    return st;
}

grebe_status delta_check(const void *bytes, size_t len, size_t n, grebe_error *err)
{
    struct delta_header h;
    const uint8_t *p = bytes;
    const uint8_t *end = p + len;
    if (n == 0) {
        return GREBE_OK;
    }
    const grebe_status st = read_header(&p, end, &h, err);
    if (st != GREBE_OK) {
        return st;
    }
    /* A block has at least a byte of its least delta, and a width for each miniblock. */
    const uint64_t n_blocks = (uint64_t)(end - p) / (1 + h.n_mini);
    if (h.count < n || n > 1 + n_blocks * h.block_values) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "delta header: expected %zu values, found %llu in %zu bytes", n,
                          (unsigned long long)h.count, len);
    }
    return GREBE_OK;
}

/* One decoding: values go to out32 or out64. */
struct delta_target {
    uint32_t *out32;
    uint64_t *out64;
    size_t n, done;
    uint64_t last;
};

static void put_mini(struct delta_target *t, const uint8_t *src, size_t src_len, unsigned width,
                     uint64_t min_delta, size_t n)
{
    const struct codec_kernels *k = codec_kernels();
    size_t at = 0;

    if (t->out32 != NULL) {
        uint32_t last = (uint32_t)t->last;

        k->unpack_u32(src, src_len, width, t->out32 + t->done, n);
        k->prefix_u32(t->out32 + t->done, n, (uint32_t)min_delta, &last);
        t->last = last;
    } else if (width > 32) {
        bitpack_unpack_u64(src, src_len, width, t->out64 + t->done, n);
        k->prefix_u64(t->out64 + t->done, n, min_delta, &t->last);
    } else {
        while (at < n) {
            uint32_t deltas[CHUNK];
            const size_t part = min_size(n - at, CHUNK); /* CHUNK is a multiple of 8: whole bytes */
            const size_t skip = at / 8 * width;

            k->unpack_u32(src + skip, src_len - skip, width, deltas, part);
            k->prefix_widen(deltas, part, min_delta, &t->last, t->out64 + t->done + at);
            at += part;
        }
    }
    t->done += n;
}

/* One block; `left` values of the encoding are in it or after it. */
static grebe_status read_block(const uint8_t **p, const uint8_t *end,
                               const struct delta_header *h, uint64_t left,
                               struct delta_target *t, bool is_end_wanted, grebe_error *err)
{
    const unsigned width_max = t->out32 != NULL ? 32 : 64;
    const uint8_t *widths = NULL;
    uint64_t min_delta = 0;

    if (!varint_read(p, end, 10, &min_delta) || (size_t)(end - *p) < h->n_mini) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta block is cut, %llu values early",
                          (unsigned long long)left);
    }
    widths = *p;
    *p += h->n_mini;
    for (size_t m = 0; m < h->n_mini && left > 0; m++) {
        const size_t in_mini = left < h->mini_values ? (size_t)left : h->mini_values;
        const size_t wanted = min_size(in_mini, t->n - t->done);
        const size_t have = (size_t)(end - *p);
        size_t stored = 0;

        if (wanted == 0 && !is_end_wanted) {
            return GREBE_OK;
        }
        if (widths[m] > width_max) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "delta width: expected at most %u, found %u",
                              width_max, widths[m]);
        }
        stored = h->mini_values / 8 * widths[m];
        if (stored > have) {
            /* Some writers leave out the padding of the last miniblock. */
            if (bitpack_bytes(in_mini, widths[m]) > have || left > h->mini_values) {
                return GREBE_FAIL(err, GREBE_ECORRUPT,
                                  "delta miniblock: expected %zu bytes, found %zu", stored, have);
            }
            stored = have;
        }
        put_mini(t, *p, stored, widths[m], (uint64_t)zigzag_decode(min_delta), wanted);
        *p += stored;
        left -= in_mini;
    }
    return GREBE_OK;
}

static grebe_status decode(const void *bytes, size_t len, struct delta_target *t, size_t *used,
                           grebe_error *err)
{
    const uint8_t *p = bytes;
    const uint8_t *end = p + len;
    struct delta_header h;
    uint64_t left = 0;
    grebe_status st = read_header(&p, end, &h, err);

    if (st != GREBE_OK) {
        return st;
    }
    if (h.count < t->n) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "delta header: expected %zu values, found %llu",
                          t->n, (unsigned long long)h.count);
    }
    if (t->n > 0) {
        t->last = h.first;
        if (t->out32 != NULL) {
            t->out32[0] = (uint32_t)h.first;
        } else {
            t->out64[0] = h.first;
        }
        t->done = 1;
    }
    left = h.count > 0 ? h.count - 1 : 0;
    while (left > 0 && (t->done < t->n || used != NULL)) {
        st = read_block(&p, end, &h, left, t, used != NULL, err);
        if (st != GREBE_OK) {
            return st;
        }
        left -= left < h.block_values ? left : h.block_values;
    }
    assert(t->done == t->n);
    if (used != NULL) {
        *used = (size_t)(p - (const uint8_t *)bytes);
    }
    return GREBE_OK;
}

grebe_status delta_decode_i32(const void *bytes, size_t len, int32_t *dst, size_t n,
                              size_t *used, grebe_error *err)
{
    uint32_t nothing = 0; /* dst may be NULL when n is 0 */
    struct delta_target t = {.out32 = dst != NULL ? (uint32_t *)dst : &nothing, .n = n};

    return decode(bytes, len, &t, used, err);
}

grebe_status delta_decode_i64(const void *bytes, size_t len, int64_t *dst, size_t n,
                              size_t *used, grebe_error *err)
{
    struct delta_target t = {.out64 = (uint64_t *)dst, .n = n};

    return decode(bytes, len, &t, used, err);
}

/* ---- writing ---- */

static grebe_status put_header(struct buf *dst, size_t n, int64_t first, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    GREBE_TRY(varint_put(dst, BLOCK_VALUES, err));
    GREBE_TRY(varint_put(dst, MINI_PER_BLOCK, err));
    GREBE_TRY(varint_put(dst, n, err));
    GREBE_TRY(varint_put(dst, zigzag_encode(first), err));
out:
    return st;
}

/* deltas[0..n) less min_delta; the miniblocks that hold any value follow in full. */
static grebe_status put_block(struct buf *dst, uint64_t *deltas, size_t n, int64_t min_delta,
                              grebe_error *err)
{
    uint8_t widths[MINI_PER_BLOCK] = {0};
    const size_t n_mini = (n + MINI_VALUES - 1) / MINI_VALUES;
    grebe_status st = GREBE_OK;

    assert(n >= 1 && n <= BLOCK_VALUES);
    memset(deltas + n, 0, (BLOCK_VALUES - n) * sizeof *deltas);
    for (size_t m = 0; m < n_mini; m++) {
        uint64_t any = 0;

        for (size_t i = 0; i < MINI_VALUES; i++) {
            any |= deltas[m * MINI_VALUES + i];
        }
        widths[m] = (uint8_t)bitpack_width(any);
    }
    GREBE_TRY(varint_put(dst, zigzag_encode(min_delta), err));
    GREBE_TRY(buf_put(dst, widths, sizeof widths, err));
    for (size_t m = 0; m < n_mini; m++) {
        GREBE_TRY(
            bitpack_pack_u64(dst, deltas + m * MINI_VALUES, MINI_VALUES, widths[m], err));
    }
out:
    return st;
}

grebe_status delta_encode_i64(struct buf *dst, const int64_t *values, size_t n, grebe_error *err)
{
    uint64_t deltas[BLOCK_VALUES];
    grebe_status st = put_header(dst, n, n > 0 ? values[0] : 0, err);

    for (size_t at = 1; at < n && st == GREBE_OK; at += BLOCK_VALUES) {
        const size_t part = min_size(n - at, BLOCK_VALUES);
        int64_t min_delta = INT64_MAX;

        for (size_t i = 0; i < part; i++) {
            deltas[i] = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
            min_delta = min_i64(min_delta, (int64_t)deltas[i]);
        }
        for (size_t i = 0; i < part; i++) {
            deltas[i] -= (uint64_t)min_delta;
        }
        st = put_block(dst, deltas, part, min_delta, err);
    }
    return st;
}

grebe_status delta_encode_i32(struct buf *dst, const int32_t *values, size_t n, grebe_error *err)
{
    uint64_t deltas[BLOCK_VALUES];
    grebe_status st = put_header(dst, n, n > 0 ? values[0] : 0, err);

    for (size_t at = 1; at < n && st == GREBE_OK; at += BLOCK_VALUES) {
        const size_t part = min_size(n - at, BLOCK_VALUES);
        int32_t min_delta = INT32_MAX;

        /* In 32 bits, wrapping: readers add in 32 bits and take at most 32 bits a delta. */
        for (size_t i = 0; i < part; i++) {
            const uint32_t delta = (uint32_t)values[at + i] - (uint32_t)values[at + i - 1];

            deltas[i] = delta;
            min_delta = (int32_t)delta < min_delta ? (int32_t)delta : min_delta;
        }
        for (size_t i = 0; i < part; i++) {
            deltas[i] = (uint32_t)deltas[i] - (uint32_t)min_delta;
        }
        st = put_block(dst, deltas, part, min_delta, err);
    }
    return st;
}
