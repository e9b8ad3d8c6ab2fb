/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "codec/delta.h"
#include "codec/rle_hybrid.h"
#include "codec/stream_split.h"

/* The value sections of pages. */

int64_t pw_plain_size(const struct pw_chunk *c, int64_t begin, int64_t n)
{
    switch (c->leaf->store) {
    case PW_BOOL: return (n + 7) / 8;
    case PW_FIXED: return n * c->leaf->width;
    case PW_BYTES: return pw_bytes_between(c, begin, begin + n) + 4 * n;
    }
    return 0;
}

static grebe_status put_bools(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                              grebe_error *err)
{
    const uint8_t *src = c->values.data + begin;
    uint8_t *bits = NULL;
    grebe_status st = GREBE_OK;

    if (n == 0) {
        return GREBE_OK;
    }
    st = buf_put_zero(dst, bitmap_bytes(n), err);
    if (st != GREBE_OK) {
        return st;
    }
    bits = dst->data + dst->len - bitmap_bytes(n);
    for (int64_t i = 0; i < n; i++) {
        bits[i >> 3] |= (uint8_t)(src[i] << (i & 7));
    }
    return GREBE_OK;
}

grebe_status pw_put_plain(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                          grebe_error *err)
{
    const size_t len = (size_t)pw_plain_size(c, begin, n);
    uint8_t *out = NULL;
    grebe_status st = GREBE_OK;

    switch (c->leaf->store) {
    case PW_BOOL: return put_bools(c, begin, n, dst, err);
    case PW_FIXED:
        return len > 0 ? buf_put(dst, c->values.data + (size_t)begin * c->leaf->width, len, err)
                       : GREBE_OK;
    case PW_BYTES: break;
    }
    st = buf_reserve(dst, len, err);
    if (st != GREBE_OK) {
        return st;
    }
    out = dst->data + dst->len;
    for (int64_t i = begin; i < begin + n; i++) {
        size_t value_len = 0;
        const unsigned char *value = pw_bytes_at(c, i, &value_len);

        store_le32(out, (uint32_t)value_len);
        if (value_len > 0) {
            memcpy(out + 4, value, value_len);
        }
        out += 4 + value_len;
    }
    assert(out == dst->data + dst->len + len);
    dst->len += len;
    return GREBE_OK;
}

grebe_status pw_put_delta(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                          grebe_error *err)
{
    const void *values = c->values.data;

    assert(c->leaf->is_integer);
    if (n == 0) {
        return delta_encode_i64(dst, NULL, 0, err);
    }
    return c->leaf->width == 4
               ? delta_encode_i32(dst, (const int32_t *)values + begin, (size_t)n, err)
               : delta_encode_i64(dst, (const int64_t *)values + begin, (size_t)n, err);
}

grebe_status pw_put_delta_length(const struct pw_chunk *c, int64_t begin, int64_t n,
                                 struct buf *dst, struct buf *piece, grebe_error *err)
{
    int32_t *lengths = NULL;
    const int64_t content = pw_bytes_between(c, begin, begin + n);
    grebe_status st = GREBE_OK;

    buf_clear(piece);
    GREBE_TRY(buf_reserve(piece, (size_t)(n + 1) * sizeof *lengths, err));
    lengths = (int32_t *)(void *)piece->data;
    for (int64_t i = 0; i < n; i++) {
        size_t len = 0;

        pw_bytes_at(c, begin + i, &len);
        lengths[i] = (int32_t)len;
    }
    GREBE_TRY(delta_length_encode(dst, lengths, (size_t)n, err));
    if (content > 0) {
        size_t len = 0;

        GREBE_TRY(buf_put(dst, pw_bytes_at(c, begin, &len), (size_t)content, err));
    }
out:
    return st;
}

grebe_status pw_put_delta_bytes(const struct pw_chunk *c, int64_t begin, int64_t n,
                                struct buf *dst, struct buf *piece, grebe_error *err)
{
    const int64_t *ends = (const int64_t *)(const void *)c->ends.data;
    const int64_t base = begin > 0 ? ends[begin - 1] : 0;
    int32_t *offsets = NULL;
    grebe_status st = GREBE_OK;

    assert(c->leaf->store == PW_BYTES);
    if (pw_bytes_between(c, begin, begin + n) > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "column \"%s\": expected a page below 2 GiB",
                          c->leaf->nodes[0].name);
    }
    buf_clear(piece);
    GREBE_TRY(buf_reserve(piece, (size_t)(n + 1) * sizeof *offsets, err));
    offsets = (int32_t *)(void *)piece->data;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        offsets[i + 1] = (int32_t)(ends[begin + i] - base);
    }
    GREBE_TRY(delta_strings_encode(dst, offsets, c->values.data + base, (size_t)n, err));
out:
    return st;
}

grebe_status pw_put_split(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                          grebe_error *err)
{
    const size_t width = c->leaf->width;
    grebe_status st = GREBE_OK;

    assert(c->leaf->store == PW_FIXED);
    if (n == 0) {
        return GREBE_OK;
    }
    st = buf_reserve(dst, (size_t)n * width, err);
    if (st == GREBE_OK) {
        stream_split_encode(c->values.data + (size_t)begin * width, width, dst->data + dst->len,
                            (size_t)n);
        dst->len += (size_t)n * width;
    }
    return st;
}

grebe_status pw_put_rle_bools(const struct pw_chunk *c, int64_t begin, int64_t n, struct buf *dst,
                              struct buf *piece, grebe_error *err)
{
    const size_t at = dst->len;
    grebe_status st = GREBE_OK;

    assert(c->leaf->store == PW_BOOL);
    buf_clear(piece);
    GREBE_TRY(put_bools(c, begin, n, piece, err));
    GREBE_TRY(buf_put_zero(dst, 4, err));
    if (n > 0) {
        GREBE_TRY(rle_encode_bits(dst, piece->data, 0, (size_t)n, err));
    }
    store_le32(dst->data + at, (uint32_t)(dst->len - at - 4));
out:
    return st;
}
