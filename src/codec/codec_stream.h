/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_STREAM_H
#define GREBE_CODEC_CODEC_STREAM_H

/*
 * Compressed input of unknown length, expanded as it is read. Memory is one input block and the
 * codec's window (at most 128 MiB for zstd, 32 KiB for gzip), whatever the input says.
 */

#include "codec/codec_compress.h"

/** At most len bytes; *got is 0 only at the end. */
typedef grebe_status (*codec_read_fn)(void *arg, void *dst, size_t len, size_t *got,
                                      grebe_error *err);

struct codec_stream;

/** CODEC_GZIP or CODEC_ZSTD by the first bytes of a file, else CODEC_NONE. */
enum codec_id codec_stream_sniff(const void *head, size_t len);

/**
 * @param id   CODEC_GZIP (members one after another) or CODEC_ZSTD (frames one after another).
 * @param read Called with arg until it gives 0 bytes; arg is borrowed until codec_stream_free.
 * @param out  Owned.
 * @return GREBE_OK; GREBE_EUNSUPPORTED (another codec); GREBE_ENOMEM.
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
