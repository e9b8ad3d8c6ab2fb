/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_DELTA_H
#define GREBE_CODEC_DELTA_H

/*
 * Parquet's delta encodings (Encodings.md): DELTA_BINARY_PACKED for integers, and on top of it
 * DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY for strings.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** How many values the header of a DELTA_BINARY_PACKED block of bytes claims. */
grebe_status delta_count(const void *bytes, size_t len, uint64_t *out, grebe_error *err);

/** GREBE_ECORRUPT when n values cannot be in these bytes: asked before there is memory for n values. */
grebe_status delta_check(const void *bytes, size_t len, size_t n, grebe_error *err);

/**
 * The first n values.
 *
 * @param dst  Written, shape [n].
 * @param used Bytes of the whole encoding, of all values that the header claims; NULL: not
 *             wanted, and nothing behind the n-th value is looked at.
 * @return GREBE_OK; GREBE_ECORRUPT (fewer than n values, cut input, an impossible header).
 */
grebe_status delta_decode_i32(const void *bytes, size_t len, int32_t *dst, size_t n,
                              size_t *used, grebe_error *err);
grebe_status delta_decode_i64(const void *bytes, size_t len, int64_t *dst, size_t n,
                              size_t *used, grebe_error *err);

/** Append n values: blocks of 128 in 4 miniblocks, as Arrow and parquet-mr write them. */
grebe_status delta_encode_i32(struct buf *dst, const int32_t *values, size_t n, grebe_error *err);
grebe_status delta_encode_i64(struct buf *dst, const int64_t *values, size_t n, grebe_error *err);

/**
 * DELTA_LENGTH_BYTE_ARRAY: n byte strings.
 *
 * @param offsets Written, shape [n + 1], offsets[0] == 0: string i is data[offsets[i], offsets[i + 1]).
 * @param data    Borrowed from the input; at least offsets[n] bytes.
 * @param used    Bytes of the whole encoding; NULL: not wanted.
 */
grebe_status delta_length_decode(const void *bytes, size_t len, int32_t *offsets, size_t n,
                                 const uint8_t **data, size_t *used, grebe_error *err);

/** The lengths of n strings in front of their bytes, which the caller appends. */
grebe_status delta_length_encode(struct buf *dst, const int32_t *lengths, size_t n,
                                 grebe_error *err);

/** What decoding a DELTA_BYTE_ARRAY needs beyond the bytes. */
struct delta_strings_options {
    size_t output_limit;     /* most bytes that may come out: GREBE_ELIMIT beyond */
    size_t fixed_len;        /* every string has this length; 0: any */
    const uint8_t *previous; /* value before the first one (PARQUET-246); NULL: none */
    size_t previous_len;
};

/**
 * DELTA_BYTE_ARRAY: n byte strings, appended to out.
 *
 * @param offsets Written, shape [n + 1]: positions in what was appended, offsets[0] == 0.
 */
grebe_status delta_strings_decode(const void *bytes, size_t len,
                                  const struct delta_strings_options *options, int32_t *offsets,
                                  size_t n, struct buf *out, size_t *used, grebe_error *err);

/** String i is data[offsets[i], offsets[i + 1]). */
grebe_status delta_strings_encode(struct buf *dst, const int32_t *offsets, const uint8_t *data,
                                  size_t n, grebe_error *err);

#endif
