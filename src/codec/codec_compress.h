/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CODEC_CODEC_COMPRESS_H
#define GREBE_CODEC_CODEC_COMPRESS_H

/*
 * General-purpose compression behind one interface. A block is decompressed into memory of
 * exactly the declared length; anything shorter or longer is corruption.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum codec_id {
    CODEC_NONE = 0,
    CODEC_SNAPPY,     /* raw block */
    CODEC_GZIP,       /* RFC 1952 members one after another; reading also takes zlib */
    CODEC_DEFLATE,    /* raw deflate, RFC 1951 */
    CODEC_LZO,        /* known by name only */
    CODEC_BROTLI,     /* one stream */
    CODEC_LZ4_HADOOP, /* read only: (u32 BE sizes, raw block)*, or one raw block */
    CODEC_LZ4_RAW,    /* one raw block */
    CODEC_ZSTD,
    CODEC_BZIP2,     /* these three: streams to be read (codec_stream.h), no blocks */
    CODEC_XZ,
    CODEC_LZ4_FRAME
};

/** Level that stands for the codec's own default. */
#define CODEC_LEVEL_DEFAULT INT32_MIN

/** "uncompressed", "snappy", …: static string. */
const char *codec_name(enum codec_id id);

/**
 * Codec of a name as users type it, without regard to case: none|uncompressed, snappy, gzip,
 * deflate, lz4|lz4_raw, zstd, brotli, lzo.
 *
 * @return false: no such name.
 */
bool codec_from_name(const char *name, enum codec_id *out);

/** Whether this build can decompress (and, if is_write, compress) with the codec. */
bool codec_is_available(enum codec_id id, bool is_write);

/** State that is worth keeping between blocks. One thread at a time. */
struct codec_workspace {
    const grebe_allocator *a;
    void *zstd_compress;   /* ZSTD_CCtx, made when needed */
    void *zstd_decompress; /* ZSTD_DCtx, made when needed */
};

#define CODEC_WORKSPACE_INIT(allocator) \
    (struct codec_workspace)            \
    {                                   \
        (allocator), NULL, NULL         \
    }

/** Free what was made; the workspace may be used again. */
void codec_workspace_release(struct codec_workspace *ws);

/**
 * @param src     Borrowed, shape [src_len]; NULL only when src_len is 0.
 * @param dst     Written, shape [dst_len]; NULL only when dst_len is 0.
 * @param dst_len The exact length that the block must have.
 * @return GREBE_OK; GREBE_ECORRUPT (bad block, or another length); GREBE_EUNSUPPORTED naming
 *         the codec; GREBE_ENOMEM.
 */
grebe_status codec_decompress(enum codec_id id, const void *src, size_t src_len, void *dst,
                              size_t dst_len, struct codec_workspace *ws, grebe_error *err);

/**
 * Most bytes that any block of src_len bytes can stand for; UINT64_MAX: the codec sets no bound. A length
 * declared above this is a lie that is found before memory is asked for.
 */
uint64_t codec_expand_max(enum codec_id id, size_t src_len);

/** Bytes that compressing n bytes can take at most; 0: the codec cannot write. */
size_t codec_compress_bound(enum codec_id id, size_t n);

/**
 * Append the compressed form of src to dst. The same input, level and library version give the
 * same bytes.
 *
 * @param level CODEC_LEVEL_DEFAULT or the codec's own scale.
 * @return GREBE_OK; GREBE_EINVAL (level); GREBE_EUNSUPPORTED; GREBE_ENOMEM.
 */
grebe_status codec_compress(enum codec_id id, int level, const void *src, size_t src_len,
                            struct buf *dst, struct codec_workspace *ws, grebe_error *err);

/**
 * Append the content of one deflate stream of unknown length.
 *
 * @param is_wrapped false: raw deflate (Avro), up to 4 bytes behind it are ignored; true: zlib
 *                   or gzip, members one after another.
 * @param limit      Most bytes that may be appended; GREBE_ELIMIT beyond.
 * @return also GREBE_ECORRUPT (bad or cut stream, bytes after its end).
 */
grebe_status codec_inflate(const void *src, size_t src_len, bool is_wrapped, size_t limit,
                           struct buf *dst, grebe_error *err);

/** Append the content of zstd frames of unknown length; limit as in codec_inflate. */
grebe_status codec_zstd_expand(const void *src, size_t src_len, size_t limit, struct buf *dst,
                               struct codec_workspace *ws, grebe_error *err);

/* ---- shared by the files of this room ---- */

/** Allocation for libraries whose free does not know the size. */
void *codec_sized_alloc(const grebe_allocator *a, size_t size);
void codec_sized_free(const grebe_allocator *a, void *p);

/* zlib forms: codec_deflate.c. dst_len is exact. */
grebe_status codec_inflate_exact(const grebe_allocator *a, bool is_wrapped, const void *src,
                                 size_t src_len, void *dst, size_t dst_len, grebe_error *err);
size_t codec_deflate_bound(size_t n);
grebe_status codec_deflate(const grebe_allocator *a, bool is_gzip, int level, const void *src,
                           size_t src_len, void *dst, size_t capacity, size_t *out_len,
                           grebe_error *err);

#ifdef GREBE_HAVE_BROTLI
/* codec_brotli.c. dst_len is exact; level 0 to 11. */
grebe_status codec_brotli_block(const grebe_allocator *a, const void *src, size_t src_len,
                                void *dst, size_t dst_len, grebe_error *err);
size_t codec_brotli_bound(size_t n);
grebe_status codec_brotli_pack(const grebe_allocator *a, int level, const void *src,
                               size_t src_len, void *dst, size_t capacity, size_t *out_len,
                               grebe_error *err);
#endif

#endif
