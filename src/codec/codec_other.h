/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_OTHER_H
#define GREBE_CODEC_CODEC_OTHER_H

/* Formats that data files are compressed with and nothing else here is: bzip2, xz, LZ4 frames. For codec_stream.c. */

#include "codec/codec_compress.h"

struct codec_other;

/** CODEC_BZIP2, CODEC_XZ, CODEC_LZ4_FRAME by the first bytes; else CODEC_NONE. */
enum codec_id codec_other_sniff(const void *head, size_t len);

/** @return GREBE_OK; GREBE_EUNSUPPORTED (not built in); GREBE_ENOMEM. */
grebe_status codec_other_new(const grebe_allocator *a, enum codec_id id, struct codec_other **out, grebe_error *err);
void codec_other_free(struct codec_other *s); /* NULL accepted */

/**
 * One step.
 *
 * @param src_len, dst_len What there is; written: what was taken and given.
 * @param is_end  Written: a stream ended; the next one may begin.
 * @param why     Written on GREBE_ECORRUPT: static string.
 */
grebe_status codec_other_step(struct codec_other *s, const void *src, size_t *src_len, void *dst, size_t *dst_len,
                              bool *is_end, const char **why, grebe_error *err);

#endif
