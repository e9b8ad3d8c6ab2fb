/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_SNAPPY_H
#define GREBE_CODEC_CODEC_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * One raw block of exactly dst_len bytes.
 *
 * @param src      Shape [src_len], src_len > 0.
 * @param dst      Shape [dst_len]; NULL only when dst_len is 0.
 * @param declared The length that the block claims.
 * @return false: damaged, or of another length.
 */
bool codec_snappy_expand(const void *src, size_t src_len, void *dst, size_t dst_len,
                         uint64_t *declared);

#endif
