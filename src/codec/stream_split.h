/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_STREAM_SPLIT_H
#define GREBE_CODEC_STREAM_SPLIT_H

/* Parquet's BYTE_STREAM_SPLIT: n values of `width` bytes as `width` streams of n bytes. */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/**
 * @param dst Written, shape [n * width]; no overlap with src.
 * @return GREBE_OK; GREBE_ECORRUPT (len is not n * width).
 */
grebe_status stream_split_decode(const void *bytes, size_t len, size_t width, void *dst, size_t n,
                                 grebe_error *err);

/** @param dst Written, shape [n * width]; no overlap with values. */
void stream_split_encode(const void *values, size_t width, void *dst, size_t n);

#endif
