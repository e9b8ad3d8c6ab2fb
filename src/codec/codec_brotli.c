/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec_compress.h"

/* Without the library this file holds no function; ISO C wants a declaration in it. */
typedef int codec_brotli_unit;

#ifdef GREBE_HAVE_BROTLI

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <setjmp.h>

/*
 * The streaming calls are used, not the one-shot ones: they take an allocator, and the decoder's
 * sees its end exactly (a block that goes on, or has bytes behind it, is damaged).
 */

/* Quality 11, the library's own default, is some 50 times slower for a few per cent. */
enum { BROTLI_LEVEL_DEFAULT = 5 };

/* A block of the encoder, in the list of those that live. */
struct brotli_block {
    struct brotli_block *next;
    struct brotli_block *prev;
    size_t size; /* with this header */
};

/* The library hands the opaque pointer back; its type has no const. */
struct brotli_memory {
    const grebe_allocator *a;
    struct brotli_block live; /* encoder only: ring with this as its head */
    jmp_buf no_memory;        /* encoder only */
};

static void *brotli_alloc(void *opaque, size_t size)
{
    return codec_sized_alloc(((struct brotli_memory *)opaque)->a, size);
}

static void brotli_free(void *opaque, void *p)
{
    codec_sized_free(((struct brotli_memory *)opaque)->a, p);
}

static bool is_memory_error(BrotliDecoderErrorCode code)
{
    return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
           code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
}

grebe_status codec_brotli_block(const grebe_allocator *a, const void *src, size_t src_len,
                                void *dst, size_t dst_len, grebe_error *err)
{
    struct brotli_memory memory = {.a = a};
    BrotliDecoderState *d = BrotliDecoderCreateInstance(brotli_alloc, brotli_free, &memory);
    BrotliDecoderResult result = BROTLI_DECODER_RESULT_ERROR;
    const uint8_t *in = src;
    uint8_t nothing = 0;
    uint8_t *out = dst_len > 0 ? dst : &nothing;
    size_t in_left = src_len;
    size_t out_left = dst_len;
    grebe_status st = GREBE_OK;

    if (d == NULL) {
        return mem_fail(err, 0, "brotli decompression state");
    }
    result = BrotliDecoderDecompressStream(d, &in_left, &in, &out_left, &out, NULL);
    if (result == BROTLI_DECODER_RESULT_ERROR && is_memory_error(BrotliDecoderGetErrorCode(d))) {
        st = mem_fail(err, dst_len, "brotli decompression");
    } else if (result != BROTLI_DECODER_RESULT_SUCCESS || in_left > 0 || out_left > 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT,
                        "brotli block of %zu bytes for %zu is damaged after %zu bytes of output",
                        src_len, dst_len, dst_len - out_left);
    }
    BrotliDecoderDestroyInstance(d);
    return st;
}

/* ---- compression ---- */

enum { BROTLI_HEADER = 64 }; /* keeps the alignment */

/*
 * The usual build of the encoder ends the process when it gets no memory. So a failed allocation
 * does not return: it leaves the library for good, and every block it holds is freed from here.
 */
static void *encoder_alloc(void *opaque, size_t size)
{
    struct brotli_memory *m = opaque;
    struct brotli_block *block = NULL;

    if (size <= SIZE_MAX - BROTLI_HEADER) {
        block = mem_alloc_aligned(m->a, size + BROTLI_HEADER, BROTLI_HEADER);
    }
    if (block == NULL) {
        longjmp(m->no_memory, 1);
    }
    *block = (struct brotli_block){m->live.next, &m->live, size + BROTLI_HEADER};
    m->live.next->prev = block;
    m->live.next = block;
    return (unsigned char *)block + BROTLI_HEADER;
}

static void encoder_free(void *opaque, void *p)
{
    struct brotli_memory *m = opaque;
    struct brotli_block *block = NULL;

    if (p == NULL) {
        return;
    }
    block = (struct brotli_block *)(void *)((unsigned char *)p - BROTLI_HEADER);
    block->next->prev = block->prev;
    block->prev->next = block->next;
    mem_free_aligned(m->a, block, block->size, BROTLI_HEADER);
}

static void encoder_free_all(struct brotli_memory *m)
{
    while (m->live.next != &m->live) {
        encoder_free(m, (unsigned char *)m->live.next + BROTLI_HEADER);
    }
}

/* The library's bound is that of its one-shot call, which falls back to stored blocks. */
size_t codec_brotli_bound(size_t n)
{
    const size_t bound = BrotliEncoderMaxCompressedSize(n);

    return bound == 0 || bound > SIZE_MAX / 2 ? 0 : bound + n / 256 + 1024;
}

static bool encode(struct brotli_memory *m, int level, const void *src, size_t src_len, void *dst,
                   size_t capacity, size_t *out_len)
{
    BrotliEncoderState *e = BrotliEncoderCreateInstance(encoder_alloc, encoder_free, m);
    const uint8_t *in = src;
    uint8_t *out = dst;
    size_t in_left = src_len;
    size_t out_left = capacity;
    bool is_done = false;

    if (e == NULL) {
        return false;
    }
    BrotliEncoderSetParameter(e, BROTLI_PARAM_QUALITY, (uint32_t)level);
    BrotliEncoderSetParameter(e, BROTLI_PARAM_SIZE_HINT,
                              src_len < UINT32_MAX ? (uint32_t)src_len : UINT32_MAX);
    is_done = BrotliEncoderCompressStream(e, BROTLI_OPERATION_FINISH, &in_left, &in, &out_left,
                                          &out, NULL) &&
              BrotliEncoderIsFinished(e);
    *out_len = capacity - out_left;
    BrotliEncoderDestroyInstance(e);
    return is_done;
}

grebe_status codec_brotli_pack(const grebe_allocator *a, int level, const void *src,
                               size_t src_len, void *dst, size_t capacity, size_t *out_len,
                               grebe_error *err)
{
    struct brotli_memory memory = {.a = a};

    if (level == CODEC_LEVEL_DEFAULT) {
        level = BROTLI_LEVEL_DEFAULT;
    }
    if (level < BROTLI_MIN_QUALITY || level > BROTLI_MAX_QUALITY) {
        return GREBE_FAIL(err, GREBE_EINVAL, "brotli level: expected %d to %d, found %d",
                          BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY, level);
    }
    memory.live.next = &memory.live;
    memory.live.prev = &memory.live;
    if (setjmp(memory.no_memory) != 0) {
        encoder_free_all(&memory);
        return mem_fail(err, src_len, "brotli compression");
    }
    if (!encode(&memory, level, src, src_len, dst, capacity, out_len)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "brotli block: %zu bytes do not fit into %zu",
                          src_len, capacity);
    }
    return GREBE_OK;
}

#endif
