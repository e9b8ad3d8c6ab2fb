/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/rle_hybrid.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "codec/bitpack.h"
#include "codec/codec_simd.h"
#include "codec/varint.h"

/* ---- reading ---- */

void rle_reader_init(struct rle_reader *r, const void *bytes, size_t len, unsigned width,
                     uint64_t n_values)
{
    static const uint8_t nothing[1];

    assert(width <= 32);
    r->p = bytes != NULL ? bytes : nothing;
    r->end = r->p + (bytes != NULL ? len : 0);
    r->width = width;
    r->n_left = n_values;
}

static grebe_status read_equal(struct rle_reader *r, uint64_t count, struct rle_run *out,
                               grebe_error *err)
{
    const size_t n_bytes = (r->width + 7) / 8;
    uint32_t value = 0;

    if ((size_t)(r->end - r->p) < n_bytes) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "RLE run: expected %zu value bytes, found %zu",
                          n_bytes, (size_t)(r->end - r->p));
    }
    for (size_t i = 0; i < n_bytes; i++) {
        value |= (uint32_t)r->p[i] << (8 * i);
    }
    r->p += n_bytes;
    if (r->width < 32 && value >> r->width != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "RLE run: expected a value of %u bits, found %u",
                          r->width, value);
    }
    *out = (struct rle_run){.is_rle = true, .value = value, .count = count};
    return GREBE_OK;
}

static grebe_status read_packed(struct rle_reader *r, uint64_t n_groups, struct rle_run *out,
                                grebe_error *err)
{
    const uint64_t left = (uint64_t)(r->end - r->p);
    const uint64_t in_run = n_groups * 8; /* header <= 2^32: no wrap */
    const uint64_t count = in_run < r->n_left ? in_run : r->n_left;
    uint64_t stored = n_groups * r->width;

    if (stored > left) {
        /* Some writers leave out the padding of the last group. */
        if (bitpack_bytes(count, r->width) > left) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "bit-packed run: expected %llu bytes, found %llu",
                              (unsigned long long)stored, (unsigned long long)left);
        }
        stored = left;
    }
    *out = (struct rle_run){.count = count, .packed = r->p, .packed_len = (size_t)stored};
    r->p += stored;
    return GREBE_OK;
}

grebe_status rle_next(struct rle_reader *r, struct rle_run *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    memset(out, 0, sizeof *out);
    if (r->n_left == 0) {
        return GREBE_END;
    }
    if (r->width == 0) {
        *out = (struct rle_run){.is_rle = true, .count = r->n_left};
        r->n_left = 0;
        return GREBE_OK;
    }
    do { /* a run of no values is skipped; it takes input, so this ends */
        uint64_t header = 0;

        if (!varint_read(&r->p, r->end, 5, &header) || header > UINT32_MAX) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "RLE runs end %llu values early",
                              (unsigned long long)r->n_left);
        }
        st = header & 1 ? read_packed(r, header >> 1, out, err)
                        : read_equal(r, header >> 1, out, err);
        if (st != GREBE_OK) {
            return st;
        }
    } while (out->count == 0);
    if (out->count > r->n_left) {
        out->count = r->n_left;
    }
    r->n_left -= out->count;
    return GREBE_OK;
}

static grebe_status fail_value(uint32_t found, uint32_t value_max, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ECORRUPT, "RLE value: expected at most %u, found %u", value_max,
                      found);
}

grebe_status rle_decode_u32(const void *bytes, size_t len, unsigned width, uint32_t value_max,
                            uint32_t *dst, size_t n, size_t *used, grebe_error *err)
{
    const struct codec_kernels *k = codec_kernels();
    /* Where every value of the width is allowed, packed runs need no look. */
    const bool is_checked = width == 32 ? value_max < UINT32_MAX
                                        : value_max < ((uint64_t)1 << width) - 1;
    struct rle_reader r;
    struct rle_run run;
    grebe_status st = GREBE_OK;

    rle_reader_init(&r, bytes, len, width, n);
    while ((st = rle_next(&r, &run, err)) == GREBE_OK) {
        const size_t count = (size_t)run.count;

        if (run.is_rle) {
            if (run.value > value_max) {
                return fail_value(run.value, value_max, err);
            }
            for (size_t i = 0; i < count; i++) {
                dst[i] = run.value;
            }
        } else {
            k->unpack_u32(run.packed, run.packed_len, width, dst, count);
            if (is_checked && k->max_u32(dst, count) > value_max) {
                return fail_value(k->max_u32(dst, count), value_max, err);
            }
        }
        dst += count;
    }
    if (st != GREBE_END) {
        return st;
    }
    if (used != NULL) {
        *used = bytes == NULL ? 0 : (size_t)(r.p - (const uint8_t *)bytes);
    }
    return GREBE_OK;
}

/* OR n bits into dst at bit `at`; dst is zero from there on. */
static void put_bits(uint8_t *dst, size_t at, const uint8_t *src, size_t n)
{
    if (at % 8 == 0) {
        bitpack_copy_bits(dst + at / 8, src, 0, n);
        return;
    }
    for (size_t i = 0; i < n; i++, at++) {
        dst[at >> 3] |= (uint8_t)((src[i >> 3] >> (i & 7) & 1) << (at & 7));
    }
}

static void put_ones(uint8_t *dst, size_t at, size_t n)
{
    for (; n > 0 && at % 8 != 0; at++, n--) {
        dst[at >> 3] |= (uint8_t)(1u << (at & 7));
    }
    memset(dst + at / 8, 0xff, n / 8);
    at += n / 8 * 8;
    if (n % 8 != 0) {
        dst[at >> 3] |= (uint8_t)((1u << (n % 8)) - 1);
    }
}

grebe_status rle_decode_bits(const void *bytes, size_t len, uint8_t *dst, size_t n,
                             grebe_error *err)
{
    struct rle_reader r;
    struct rle_run run;
    size_t at = 0;
    grebe_status st = GREBE_OK;

    memset(dst, 0, (n + 7) / 8);
    rle_reader_init(&r, bytes, len, 1, n);
    while ((st = rle_next(&r, &run, err)) == GREBE_OK) {
        if (!run.is_rle) {
            put_bits(dst, at, run.packed, (size_t)run.count);
        } else if (run.value != 0) {
            put_ones(dst, at, (size_t)run.count);
        }
        at += (size_t)run.count;
    }
    return st == GREBE_END ? GREBE_OK : st;
}

/* ---- writing ---- */

/* A header byte holds 63 groups; Arrow opens a new run then. */
enum { GROUPS_MAX = 63 };

void rle_writer_init(struct rle_writer *w, struct buf *dst, unsigned width)
{
    assert(width <= 32);
    memset(w, 0, sizeof *w);
    w->dst = dst;
    w->width = width;
}

static void close_packed(struct rle_writer *w)
{
    if (w->has_header) {
        assert(w->n_groups >= 1 && w->n_groups <= GROUPS_MAX);
        w->dst->data[w->header_at] = (unsigned char)(w->n_groups << 1 | 1);
        w->has_header = false;
        w->n_groups = 0;
    }
}

/* The pending eight values become a group of the open bit-packed run. */
static grebe_status flush_group(struct rle_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    assert(w->n_pending == 8);
    if (!w->has_header) {
        w->header_at = w->dst->len;
        GREBE_TRY(buf_put_byte(w->dst, 0, err));
        w->has_header = true;
    }
    GREBE_TRY(bitpack_pack_u32(w->dst, w->pending, 8, w->width, err));
    w->n_groups++;
    w->n_pending = 0;
    w->n_repeated = 0;
    if (w->n_groups == GROUPS_MAX) {
        close_packed(w);
    }
out:
    return st;
}

static grebe_status flush_equal(struct rle_writer *w, grebe_error *err)
{
    uint8_t value[4];
    grebe_status st = varint_put(w->dst, w->n_repeated << 1, err);

    assert(w->n_repeated <= INT32_MAX);
    store_le32(value, w->current);
    if (st == GREBE_OK) {
        st = buf_put(w->dst, value, (w->width + 7) / 8, err);
    }
    w->n_pending = 0;
    w->n_repeated = 0;
    return st;
}

static grebe_status put_one(struct rle_writer *w, uint32_t value, grebe_error *err)
{
    if (value == w->current && w->n_repeated > 0) {
        if (++w->n_repeated > 8) {
            return GREBE_OK; /* the run goes on: nothing is pending */
        }
    } else {
        if (w->n_repeated >= 8) {
            const grebe_status st = flush_equal(w, err);

            if (st != GREBE_OK) {
                return st;
            }
        }
        w->n_repeated = 1;
        w->current = value;
    }
    w->pending[w->n_pending++] = value;
    if (w->n_pending < 8) {
        return GREBE_OK;
    }
    if (w->n_repeated >= 8) {
        w->n_pending = 0; /* all eight are the beginning of an RLE run */
        close_packed(w);
        return GREBE_OK;
    }
    return flush_group(w, err);
}

grebe_status rle_put(struct rle_writer *w, uint32_t value, uint64_t count, grebe_error *err)
{
    assert(w->width == 32 || value >> w->width == 0);
    while (count > 0) {
        if (w->n_repeated >= 8 && value == w->current) {
            w->n_repeated += count;
            return GREBE_OK;
        }
        const grebe_status st = put_one(w, value, err);

        if (st != GREBE_OK) {
            return st;
        }
        count--;
    }
    return GREBE_OK;
}

grebe_status rle_finish(struct rle_writer *w, grebe_error *err)
{
    /* All that is pending is one run, and no group is open before it. */
    const bool is_one_run =
        !w->has_header && w->n_repeated > 0 &&
        (w->n_pending == 0 || w->n_repeated == w->n_pending);
    grebe_status st = GREBE_OK;

    if (is_one_run) {
        return flush_equal(w, err);
    }
    if (w->n_pending > 0) {
        while (w->n_pending < 8) {
            w->pending[w->n_pending++] = 0;
        }
        st = flush_group(w, err);
    }
    close_packed(w);
    return st;
}

grebe_status rle_encode_u32(struct buf *dst, const uint32_t *values, size_t n, unsigned width,
                            grebe_error *err)
{
    struct rle_writer w;
    grebe_status st = GREBE_OK;

    rle_writer_init(&w, dst, width);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = rle_put(&w, values[i], 1, err);
    }
    return st == GREBE_OK ? rle_finish(&w, err) : st;
}

/* Values from v[0] on that equal it. */
static size_t equal_run(const uint32_t *v, size_t n)
{
    size_t i = 1;

    while (i < n && v[i] == v[0]) {
        i++;
    }
    return i;
}

/* One bit-packed run; its last group is padded with 0. */
static grebe_status put_packed(struct buf *dst, const uint32_t *values, size_t n, unsigned width,
                               grebe_error *err)
{
    const size_t n_groups = (n + 7) / 8;
    grebe_status st = GREBE_OK;

    if (n == 0) {
        return GREBE_OK;
    }
    GREBE_TRY(varint_put(dst, (uint64_t)n_groups << 1 | 1, err));
    GREBE_TRY(bitpack_pack_u32(dst, values, n, width, err));
    GREBE_TRY(buf_put_zero(dst, n_groups * width - (size_t)bitpack_bytes(n, width), err));
out:
    return st;
}

static grebe_status put_equal(struct buf *dst, uint32_t value, size_t n, unsigned width,
                              grebe_error *err)
{
    struct rle_writer w = {.dst = dst, .width = width, .current = value, .n_repeated = n};

    return flush_equal(&w, err);
}

/*
 * Where all values are at hand the runs are chosen for the reader: equal values get a run of
 * their own only where that saves eight bytes, everything between goes under one header.
 */
grebe_status rle_encode_indices(struct buf *dst, const uint32_t *values, size_t n,
                                unsigned width, grebe_error *err)
{
    const size_t worth = width == 0 ? 1 : max_size(16, (64 + width - 1) / width);
    size_t packed = 0; /* values before it are written */
    size_t i = 0;
    grebe_status st = GREBE_OK;

    assert(width <= 32);
    while (i < n && st == GREBE_OK) {
        const bool is_begin = i == packed;
        size_t run = 0;

        if (values[i] == values[i + 1 < n ? i + 1 : i]) {
            run = equal_run(values + i, n - i);
        }
        if (run >= worth || (run > 0 && is_begin && run == n - i)) {
            GREBE_TRY(put_packed(dst, values + packed, i - packed, width, err));
            GREBE_TRY(put_equal(dst, values[i], run, width, err));
            i += run;
            packed = i;
        } else {
            i += max_size(8, run / 8 * 8); /* groups of 8 from the begin of the packed run */
        }
    }
    GREBE_TRY(put_packed(dst, values + packed, n - packed, width, err));
out:
    return st;
}

grebe_status rle_encode_bits(struct buf *dst, const uint8_t *bits, size_t begin, size_t n,
                             grebe_error *err)
{
    struct rle_writer w;
    size_t i = begin;
    const size_t end = begin + n;
    grebe_status st = GREBE_OK;

    rle_writer_init(&w, dst, 1);
    if (bits == NULL) {
        GREBE_TRY(rle_put(&w, 1, n, err));
        i = end;
    }
    while (i < end) {
        /* Whole words of one value are one step. */
        if (i % 8 == 0 && end - i >= 64) {
            const uint64_t word = load_le64(bits + i / 8);

            if (word == 0 || word == UINT64_MAX) {
                GREBE_TRY(rle_put(&w, word != 0, 64, err));
                i += 64;
                continue;
            }
        }
        GREBE_TRY(rle_put(&w, bits[i >> 3] >> (i & 7) & 1, 1, err));
        i++;
    }
    GREBE_TRY(rle_finish(&w, err));
out:
    return st;
}
