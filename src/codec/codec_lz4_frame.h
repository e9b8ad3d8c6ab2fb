/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_LZ4_FRAME_H
#define GREBE_CODEC_CODEC_LZ4_FRAME_H

/* The LZ4 frame format, which Arrow IPC uses (Parquet has raw blocks). */

#include "base/buf.h"

/**
 * Decompress one frame into exactly dst_len bytes.
 *
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (built without liblz4); GREBE_ENOMEM.
 */
grebe_status codec_lz4_frame_decompress(const void *src, size_t src_len, void *dst,
                                        size_t dst_len, grebe_error *err);

/** Append one frame that says how long its content is. @return also GREBE_EINVAL (level beyond 12). */
grebe_status codec_lz4_frame_compress(int level, const void *src, size_t src_len, struct buf *dst,
                                      grebe_error *err);

#endif
