/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_LZ4_FRAME_H
#define GREBE_CODEC_CODEC_LZ4_FRAME_H

/* The LZ4 frame format, which Arrow IPC uses (Parquet has raw blocks). */

#include "base/error.h"

/**
 * Decompress one frame into exactly dst_len bytes.
 *
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (built without liblz4); GREBE_ENOMEM.
 */
grebe_status codec_lz4_frame_decompress(const void *src, size_t src_len, void *dst,
                                        size_t dst_len, grebe_error *err);

#endif
