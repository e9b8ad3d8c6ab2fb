/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_RLE_HYBRID_H
#define GREBE_CODEC_RLE_HYBRID_H

/*
 * Parquet's RLE / bit-packed hybrid (Encodings.md): levels, dictionary indices, booleans. The
 * length prefix or bit-width byte before the runs is the caller's. Widths are 0..32 bits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** `count` values: all equal to `value`, or bit-packed at `packed`. */
struct rle_run {
    bool is_rle;
    uint32_t value;        /* is_rle */
    uint64_t count;        /* at least 1, at most what is still wanted */
    const uint8_t *packed; /* not is_rle: borrowed from the input, covers `count` values */
    size_t packed_len;
};

struct rle_reader {
    const uint8_t *p, *end;
    unsigned width;
    uint64_t n_left; /* values still wanted */
};

/** bytes may be NULL when len is 0. */
void rle_reader_init(struct rle_reader *r, const void *bytes, size_t len, unsigned width,
                     uint64_t n_values);

/**
 * The next run, cut to the values that are still wanted. Width 0 gives one run of zeros,
 * whatever the input holds.
 *
 * @return GREBE_OK; GREBE_END when all values were given; GREBE_ECORRUPT (cut input, an RLE
 *         value that does not fit the width).
 */
grebe_status rle_next(struct rle_reader *r, struct rle_run *out, grebe_error *err);

/**
 * n values into dst.
 *
 * @param value_max Each value must be <= it.
 * @param used      Bytes read; NULL: not wanted.
 * @return GREBE_OK; GREBE_ECORRUPT.
 */
grebe_status rle_decode_u32(const void *bytes, size_t len, unsigned width, uint32_t value_max,
                            uint32_t *dst, size_t n, size_t *used, grebe_error *err);

/** n values of width 1 as a bitmap from bit 0; dst gets (n + 7) / 8 bytes, padded with 0. */
grebe_status rle_decode_bits(const void *bytes, size_t len, uint8_t *dst, size_t n,
                             grebe_error *err);

/**
 * Writer of runs. A run of 8 or more equal values becomes an RLE run, the rest groups of 8,
 * at most 63 groups under one header: the runs that Arrow C++ writes.
 */
struct rle_writer {
    struct buf *dst;
    unsigned width;
    uint32_t current;      /* value of the run that is being counted */
    uint64_t n_repeated;   /* how often it came */
    uint32_t pending[8];   /* values of the unfinished group */
    unsigned n_pending;
    size_t header_at;      /* where the open bit-packed run's header byte is */
    unsigned n_groups;     /* groups written under it; 0 with has_header false: none open */
    bool has_header;
};

void rle_writer_init(struct rle_writer *w, struct buf *dst, unsigned width);
/** The value `count` times; count 0 does nothing. */
grebe_status rle_put(struct rle_writer *w, uint32_t value, uint64_t count, grebe_error *err);
/** Write what is pending, the last group padded with 0. */
grebe_status rle_finish(struct rle_writer *w, grebe_error *err);

/** Append the runs of n values. */
grebe_status rle_encode_u32(struct buf *dst, const uint32_t *values, size_t n, unsigned width,
                            grebe_error *err);
/**
 * The same values in other runs: as few as pay, so that a reader unpacks long stretches at once.
 * For dictionary indices, where nobody expects the runs of another writer.
 */
grebe_status rle_encode_indices(struct buf *dst, const uint32_t *values, size_t n,
                                unsigned width, grebe_error *err);
/** Append the runs of n bits from bit `begin`, width 1. bits NULL: all ones. */
grebe_status rle_encode_bits(struct buf *dst, const uint8_t *bits, size_t begin, size_t n,
                             grebe_error *err);

#endif
