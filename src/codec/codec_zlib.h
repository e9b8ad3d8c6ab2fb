/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_ZLIB_H
#define GREBE_CODEC_CODEC_ZLIB_H

/* zlib with the allocator of the context; for the files that call it themselves. */

#define ZLIB_CONST
#include <zlib.h>

#include "base/alloc.h"

/** An empty stream that takes its memory from `a`, which is borrowed until the stream is ended. */
void codec_zlib_stream_init(z_stream *z, const grebe_allocator *a);

#endif
