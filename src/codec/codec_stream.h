/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_STREAM_H
#define GREBE_CODEC_CODEC_STREAM_H

/*
 * Compressed input of unknown length, expanded as it is read. Memory is one input block and the
 * codec's window (at most 128 MiB for zstd and xz, 9 MB for bzip2, 4 MiB for LZ4 frames, 32 KiB for gzip), whatever the input says.
 */

#include "codec/codec_compress.h"

/** At most len bytes; *got is 0 only at the end. */
typedef grebe_status (*codec_read_fn)(void *arg, void *dst, size_t len, size_t *got,
                                      grebe_error *err);

struct codec_stream;

/** CODEC_GZIP, CODEC_ZSTD, CODEC_BZIP2, CODEC_XZ or CODEC_LZ4_FRAME by the first bytes of a file, else CODEC_NONE. */
enum codec_id codec_stream_sniff(const void *head, size_t len);

/**
 * @param id   One that codec_stream_sniff() gives; members, frames or streams may follow one another.
 * @param read Called with arg until it gives 0 bytes; arg is borrowed until codec_stream_free.
 * @param out  Owned.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (another codec, or one that is not built in); GREBE_ENOMEM.
 */
grebe_status codec_stream_new(const grebe_allocator *a, enum codec_id id, codec_read_fn read,
                              void *arg, struct codec_stream **out, grebe_error *err);
void codec_stream_free(struct codec_stream *s); /* NULL accepted */

/**
 * The next bytes of the content: at most len, *got is 0 only at the end.
 *
 * @return GREBE_OK; GREBE_ECORRUPT (bad bytes, or the input ends inside a member or frame);
 *         GREBE_ENOMEM; failures of read.
 */
grebe_status codec_stream_read(struct codec_stream *s, void *dst, size_t len, size_t *got,
                               grebe_error *err);

#endif
