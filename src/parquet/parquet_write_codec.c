/* SPDX-License-Identifier: Apache-2.0 */
/* How the pages of a chunk are stored: as they are, compressed, split into byte streams. */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "codec/stream_split.h"

/** One way to store a chunk. */
struct way {
    enum codec_id codec;
    bool is_split; /* BYTE_STREAM_SPLIT: FLOAT and DOUBLE only, other readers refuse the rest */
};

/* From the fastest to read to the slowest (LZ4 decodes at 2 to 6 GB/s, zstd at 0.6 to 2). */
static const struct way number_ways[] = {
    { CODEC_LZ4_RAW, true }, { CODEC_LZ4_RAW, false }, { CODEC_ZSTD, true }, { CODEC_ZSTD, false }
};
enum { NUMBER_WAYS = sizeof number_ways / sizeof number_ways[0] };

/* What codecs are tried on. */
enum { SAMPLE_BYTES = 16 << 10 };

/* zstd: level 1 decodes as fast as level 3 and is written twice as fast. */
enum { ZSTD_LEVEL_OPEN = 1 };

static int level_of(const struct pw_config *config, enum codec_id codec)
{
    if (codec == config->codec && config->level != CODEC_LEVEL_DEFAULT) {
        return config->level;
    }
    return codec == CODEC_ZSTD && !config->is_milvus ? ZSTD_LEVEL_OPEN : CODEC_LEVEL_DEFAULT;
}

/* Level bytes in front of a body that no codec may touch. */
static size_t raw_len(const struct pw_page *p, const struct pw_config *config)
{
    return config->is_v2 ? p->rep_len + p->def_len : 0;
}

/* A stretch out of the middle page, small enough to be tried with several codecs. */
static void sample_of(const struct pw_chunk *c, const struct pw_config *config,
                      const struct pw_scratch *s, const unsigned char **bytes, size_t *len)
{
    const struct pw_page *p = pw_page_at(c, pw_page_count(c) / 2);
    const size_t levels = raw_len(p, config);
    const size_t body = p->body_len - levels;

    *len = min_size(body, SAMPLE_BYTES);
    *bytes = s->body.data + p->body_begin + levels + (body - *len) / 2;
}

static grebe_status sample_size(enum codec_id codec, int level, const unsigned char *bytes,
                                size_t len, struct pw_scratch *s, size_t *size, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    buf_clear(&s->packed);
    st = codec_compress(codec, level, bytes, len, &s->packed, &s->ws, err);
    *size = s->packed.len;
    return st;
}

/* Byte streams are packed each by itself here: that is what becomes of those of a large page, whose
 * blocks hold bytes of one stream. In a small sample they would share a block. */
static grebe_status split_size(enum codec_id codec, int level, const unsigned char *values,
                               size_t width, size_t n, struct pw_scratch *s, size_t *size,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;

    *size = 0;
    buf_clear(&s->piece);
    GREBE_TRY(buf_reserve(&s->piece, n * width, err));
    stream_split_encode(values, width, s->piece.data, n);
    for (size_t k = 0; k < width; k++) {
        size_t stream = 0;

        GREBE_TRY(sample_size(codec, level, s->piece.data + k * n, n, s, &stream, err));
        *size += stream;
    }
out:
    return st;
}

static bool is_float(const struct pw_chunk *c)
{
    return c->leaf->order == PW_ORDER_F32 || c->leaf->order == PW_ORDER_F64;
}

grebe_status pw_try_codec(const struct pw_chunk *c, const struct pw_config *config,
                          const unsigned char *values, size_t len, struct pw_scratch *s,
                          enum pw_packing *out, grebe_error *err)
{
    const enum codec_id codec = config->codec;
    const int level = level_of(config, codec);
    const size_t n = len / c->leaf->width;
    size_t plain = 0;
    size_t split = SIZE_MAX;
    grebe_status st = GREBE_OK;

    *out = PW_NOT_PACKED;
    if (n == 0) {
        return GREBE_OK;
    }
    GREBE_TRY(sample_size(codec, level, values, n * c->leaf->width, s, &plain, err));
    if (is_float(c)) {
        GREBE_TRY(split_size(codec, level, values, c->leaf->width, n, s, &split, err));
    }
    if (min_size(plain, split) * 100 <= n * c->leaf->width * (100 - PW_SAVING_ASKED_PCT)) {
        *out = split < plain ? PW_PACKED_SPLIT : PW_PACKED;
    }
out:
    return st;
}

/* Whether a part of the chunk lets hope that the whole saves enough. */
static grebe_status sample_saves(struct pw_chunk *c, const struct pw_config *config,
                                 struct pw_scratch *s, unsigned pct, bool *out, grebe_error *err)
{
    const unsigned char *bytes = NULL;
    size_t len = 0;
    size_t size = 0;
    grebe_status st = GREBE_OK;

    *out = true;
    if (s->body.len < 3 * SAMPLE_BYTES) {
        return GREBE_OK; /* the sample would be the chunk */
    }
    sample_of(c, config, s, &bytes, &len);
    st = sample_size(config->codec, level_of(config, config->codec), bytes, len, s, &size, err);
    *out = size * 100 <= len * (110 - pct);
    return st;
}

/* Body of a page, levels of v2 as they are. */
static grebe_status pack_page(struct pw_page *p, size_t levels, enum codec_id codec, int level,
                              struct pw_scratch *s, grebe_error *err)
{
    const unsigned char *body = s->body.data + p->body_begin;
    grebe_status st = GREBE_OK;

    p->stored_begin = s->packed.len;
    if (levels > 0) {
        GREBE_TRY(buf_put(&s->packed, body, levels, err));
    }
    GREBE_TRY(codec_compress(codec, level, body + levels, p->body_len - levels, &s->packed,
                             &s->ws, err));
    p->stored_len = s->packed.len - p->stored_begin;
out:
    return st;
}

static grebe_status pack_all(struct pw_chunk *c, const struct pw_config *config,
                             enum codec_id codec, struct pw_scratch *s,
                             size_t *dictionary_stored, grebe_error *err)
{
    const int level = level_of(config, codec);
    grebe_status st = GREBE_OK;

    buf_clear(&s->packed);
    if (c->has_dictionary) {
        GREBE_TRY(codec_compress(codec, level, s->body.data, c->dictionary_size, &s->packed,
                                 &s->ws, err));
    }
    *dictionary_stored = s->packed.len;
    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);

        if (config->is_v2 && p->body_len == raw_len(p, config)) {
            p->stored_begin = s->packed.len;
            p->stored_len = p->body_len; /* no values: nothing to compress, and no flag */
            GREBE_TRY(p->body_len > 0 ? buf_put(&s->packed, s->body.data + p->body_begin,
                                                p->body_len, err)
                                      : GREBE_OK);
            continue;
        }
        GREBE_TRY(pack_page(p, raw_len(p, config), codec, level, s, err));
    }
out:
    return st;
}

static void store_raw(struct pw_chunk *c, size_t *dictionary_stored)
{
    c->codec = CODEC_NONE;
    *dictionary_stored = c->dictionary_size;
    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);

        p->stored_begin = p->body_begin;
        p->stored_len = p->body_len;
    }
}

/* ---- numbers ---- */

static bool is_plain_number(const struct pw_chunk *c)
{
    const enum pw_order order = c->leaf->order;
    return c->leaf->store == PW_FIXED && !c->has_dictionary && !c->leaf->is_blob &&
           order >= PW_ORDER_I32 && order <= PW_ORDER_F64 && order != PW_ORDER_F16 &&
           pw_page_at(c, 0)->encoding == PQ_PLAIN;
}

static bool can_use(const struct pw_chunk *c, const struct way *way)
{
    return codec_is_available(way->codec, true) && (!way->is_split || is_float(c));
}

/* The values of a plain page are the end of its body. */
static unsigned char *page_values(struct pw_scratch *s, const struct pw_chunk *c,
                                  const struct pw_page *p, size_t *len)
{
    *len = (size_t)p->n_values * c->leaf->width;
    assert(*len <= p->body_len);
    return s->body.data + p->body_begin + p->body_len - *len;
}

static grebe_status split_pages(struct pw_chunk *c, struct pw_scratch *s, bool is_back,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;

    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);
        size_t len = 0;
        unsigned char *values = page_values(s, c, p, &len);

        buf_clear(&s->piece);
        GREBE_TRY(buf_put(&s->piece, values, len, err));
        if (is_back) {
            GREBE_TRY(stream_split_decode(s->piece.data, len, c->leaf->width, values,
                                          (size_t)p->n_values, err));
        } else if (len > 0) {
            stream_split_encode(s->piece.data, c->leaf->width, values, (size_t)p->n_values);
        }
        p->encoding = is_back ? PQ_PLAIN : PQ_BYTE_STREAM_SPLIT;
    }
out:
    return st;
}

/* Bytes of values of the middle page each way; SIZE_MAX where a way cannot be used. */
static grebe_status try_ways(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_scratch *s, size_t *sizes, size_t *plain_len,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct pw_page *p = pw_page_at(c, pw_page_count(c) / 2);
    const unsigned char *values = page_values(s, c, p, plain_len);

    *plain_len = min_size(*plain_len, SAMPLE_BYTES / 8 * c->leaf->width);
    buf_clear(&s->piece);
    GREBE_TRY(buf_reserve(&s->piece, *plain_len, err));
    if (*plain_len > 0) {
        stream_split_encode(values, c->leaf->width, s->piece.data,
                            *plain_len / c->leaf->width);
    }
    for (size_t i = 0; i < NUMBER_WAYS; i++) {
        const struct way *way = &number_ways[i];
        const int level = level_of(config, way->codec);

        sizes[i] = SIZE_MAX;
        if (can_use(c, way)) {
            buf_clear(&s->packed);
            GREBE_TRY(codec_compress(way->codec, level, way->is_split ? s->piece.data : values,
                                     *plain_len, &s->packed, &s->ws, err));
            sizes[i] = s->packed.len;
        }
    }
out:
    return st;
}

static grebe_status choose_for_numbers(struct pw_chunk *c, const struct pw_config *config,
                                       struct pw_scratch *s, size_t *dictionary_stored,
                                       grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t sizes[NUMBER_WAYS], plain_len = 0, smallest = SIZE_MAX;
    const struct way *chosen = NULL;

    GREBE_TRY(try_ways(c, config, s, sizes, &plain_len, err));
    for (size_t i = 0; i < NUMBER_WAYS; i++) {
        smallest = min_size(smallest, sizes[i]);
    }
    for (size_t i = 0; i < NUMBER_WAYS && chosen == NULL; i++) {
        const bool saves = sizes[i] != SIZE_MAX && sizes[i] * 100 <= plain_len * (100 - PW_SAVING_PCT);
        if (saves && sizes[i] * 100 <= smallest * PW_NEAR_SMALLEST_PCT) {
            chosen = &number_ways[i];
        }
    }
    store_raw(c, dictionary_stored);
    if (chosen == NULL) {
        goto out;
    }
    if (chosen->is_split) {
        GREBE_TRY(split_pages(c, s, false, err));
    }
    GREBE_TRY(pack_all(c, config, chosen->codec, s, dictionary_stored, err));
    if (s->packed.len * 100 <= s->body.len * (100 - PW_SAVING_PCT)) {
        c->codec = chosen->codec;
        goto out;
    }
    /* The sample promised what the chunk does not keep. */
    if (chosen->is_split) {
        GREBE_TRY(split_pages(c, s, true, err));
    }
    store_raw(c, dictionary_stored);
out:
    return st;
}

/* With the codec that was asked for: numbers plain or split, whichever is smaller. */
static grebe_status pack_floats(struct pw_chunk *c, const struct pw_config *config,
                                struct pw_scratch *s, size_t *dictionary_stored, grebe_error *err)
{
    const struct pw_page *p = pw_page_at(c, pw_page_count(c) / 2);
    enum pw_packing packing = PW_NOT_PACKED;
    size_t len = 0;
    grebe_status st = GREBE_OK;
    const unsigned char *values = page_values(s, c, p, &len);

    len = min_size(len, SAMPLE_BYTES / 8 * c->leaf->width);
    GREBE_TRY(pw_try_codec(c, config, values, len, s, &packing, err));
    if (packing == PW_PACKED_SPLIT) {
        GREBE_TRY(split_pages(c, s, false, err));
    }
    GREBE_TRY(pack_all(c, config, config->codec, s, dictionary_stored, err));
    if (s->packed.len * 100 <= s->body.len * (100 - PW_SAVING_ASKED_PCT)) {
        c->codec = config->codec;
        goto out;
    }
    if (packing == PW_PACKED_SPLIT) {
        GREBE_TRY(split_pages(c, s, true, err));
    }
    store_raw(c, dictionary_stored);
out:
    return st;
}

/* ---- everything else ---- */

/* LZ4 where it saves enough and zstd not far more, else zstd. CODEC_NONE: neither does. */
static grebe_status choose_by_sample(struct pw_chunk *c, const struct pw_config *config,
                                     struct pw_scratch *s, enum codec_id *out, grebe_error *err)
{
    const unsigned char *bytes = NULL;
    size_t len = 0;
    size_t lz4 = SIZE_MAX;
    size_t zstd = 0;
    grebe_status st = GREBE_OK;

    *out = CODEC_NONE;
    sample_of(c, config, s, &bytes, &len);
    GREBE_TRY(sample_size(CODEC_ZSTD, level_of(config, CODEC_ZSTD), bytes, len, s, &zstd, err));
    if (codec_is_available(CODEC_LZ4_RAW, true)) {
        GREBE_TRY(sample_size(CODEC_LZ4_RAW, CODEC_LEVEL_DEFAULT, bytes, len, s, &lz4, err));
    }
    if (zstd * 100 <= len * (110 - PW_SAVING_PCT)) {
        *out = CODEC_ZSTD;
    }
    if (lz4 != SIZE_MAX && lz4 * 100 <= len * (110 - PW_SAVING_PCT) &&
        lz4 * 100 <= zstd * PW_NEAR_SMALLEST_PCT) {
        *out = CODEC_LZ4_RAW;
    }
out:
    return st;
}

grebe_status pw_choose_codec(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_scratch *s, size_t *dictionary_stored, grebe_error *err)
{
    const unsigned pct = config->is_codec_asked ? PW_SAVING_ASKED_PCT : PW_SAVING_PCT;
    enum codec_id codec = config->codec;
    bool is_worth = false;
    grebe_status st = GREBE_OK;

    store_raw(c, dictionary_stored);
    if (codec == CODEC_NONE || (config->is_milvus && c->leaf->is_blob)) {
        return GREBE_OK;
    }
    if (config->is_milvus) {
        c->codec = codec;
        return pack_all(c, config, codec, s, dictionary_stored, err);
    }
    if (!config->is_codec_asked) {
        if (pw_page_at(c, 0)->encoding == PQ_DELTA_BINARY_PACKED) {
            return GREBE_OK; /* small already, and decoded at memory speed */
        }
        if (is_plain_number(c) && c->leaf->encoding == PQ_ENCODING_ANY) {
            return choose_for_numbers(c, config, s, dictionary_stored, err);
        }
        GREBE_TRY(choose_by_sample(c, config, s, &codec, err));
        is_worth = codec != CODEC_NONE;
    } else if (is_plain_number(c) && is_float(c) && c->leaf->encoding == PQ_ENCODING_ANY) {
        return pack_floats(c, config, s, dictionary_stored, err);
    } else {
        GREBE_TRY(sample_saves(c, config, s, pct, &is_worth, err));
    }
    if (is_worth) {
        GREBE_TRY(pack_all(c, config, codec, s, dictionary_stored, err));
        is_worth = s->packed.len * 100 <= s->body.len * (100 - pct);
    }
    if (is_worth) {
        c->codec = codec;
    } else {
        store_raw(c, dictionary_stored);
    }
out:
    return st;
}
