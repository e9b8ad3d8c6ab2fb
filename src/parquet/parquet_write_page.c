/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

/*
 * A chunk's rows become pages: raw bodies first, then the choice of codec for the chunk as a
 * whole, then headers and stored bodies one after another in chunk->out.
 */

void pw_scratch_init(struct pw_scratch *s, const grebe_allocator *a)
{
    memset(s, 0, sizeof *s);
    s->ws = CODEC_WORKSPACE_INIT(a);
    s->body = BUF_INIT(a);
    s->packed = BUF_INIT(a);
    s->piece = BUF_INIT(a);
    s->entries = BUF_INIT(a);
    s->index = BUF_INIT(a);
    s->table = BUF_INIT(a);
}

void pw_scratch_release(struct pw_scratch *s)
{
    codec_workspace_release(&s->ws);
    buf_release(&s->body);
    buf_release(&s->packed);
    buf_release(&s->piece);
    buf_release(&s->entries);
    buf_release(&s->index);
    buf_release(&s->table);
}

/* ---- cutting ---- */

static const struct pw_page *last_page(const struct pw_chunk *c)
{
    return pw_page_count(c) > 0 ? pw_page_at(c, pw_page_count(c) - 1) : NULL;
}

grebe_status pw_page_add(struct pw_chunk *c, int64_t n_rows, int32_t encoding, grebe_error *err)
{
    struct pw_page p;

    pw_page_range(c, last_page(c), n_rows, &p);
    p.encoding = encoding;
    if (c->leaf->store == PW_BYTES) {
        p.unencoded_bytes = pw_bytes_between(c, p.value_begin, p.value_begin + p.n_values);
    }
    return buf_put(&c->pages, &p, sizeof p, err);
}

static int64_t rows_done(const struct pw_chunk *c)
{
    const struct pw_page *p = last_page(c);

    return p == NULL ? 0 : p->row_begin + p->n_rows;
}

/* Pages of at most so many rows and about so many bytes, at least a row each. */
static grebe_status cut_small(struct pw_chunk *c, int64_t page_rows, int64_t page_bytes,
                              int32_t encoding, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    while (rows_done(c) < c->n_rows && st == GREBE_OK) {
        int64_t n = page_rows;
        struct pw_page p;

        for (;;) {
            int64_t size = 0;

            pw_page_range(c, last_page(c), n, &p);
            size = pw_plain_size(c, p.value_begin, p.n_values) + p.n_slots / 4;
            if (size <= page_bytes || p.n_rows == 1) {
                break;
            }
            n = max_i64(1, min_i64(p.n_rows - 1,
                                   (int64_t)((double)p.n_rows * (double)page_bytes /
                                             (double)size)));
        }
        st = pw_page_add(c, p.n_rows, encoding, err);
    }
    return st;
}

/* ---- bodies ---- */

static grebe_status fail_page(const struct pw_chunk *c, size_t len, grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_ELIMIT,
                      "column \"%s\": expected a page below 2 GiB, found %zu bytes (one row is too large)",
                      c->leaf->nodes[0].name, len);
}

static grebe_status put_values(const struct pw_chunk *c, const struct pw_config *config,
                               const struct pw_page *p, const struct pw_dictionary *d,
                               struct pw_scratch *s, grebe_error *err)
{
    switch (p->encoding) {
    case PQ_RLE_DICTIONARY:
        return pw_dictionary_put_index(d, p->value_begin, p->n_values, config->is_milvus, &s->body,
                                       err);
    case PQ_DELTA_BINARY_PACKED:
        return pw_put_delta(c, p->value_begin, p->n_values, &s->body, err);
    case PQ_DELTA_LENGTH_BYTE_ARRAY:
        return pw_put_delta_length(c, p->value_begin, p->n_values, &s->body, &s->piece, err);
    case PQ_DELTA_BYTE_ARRAY:
        return pw_put_delta_bytes(c, p->value_begin, p->n_values, &s->body, &s->piece, err);
    case PQ_BYTE_STREAM_SPLIT:
        return pw_put_split(c, p->value_begin, p->n_values, &s->body, err);
    case PQ_RLE: return pw_put_rle_bools(c, p->value_begin, p->n_values, &s->body, &s->piece, err);
    default: return pw_put_plain(c, p->value_begin, p->n_values, &s->body, err);
    }
}

/* Raw levels and values of every page, appended to s->body. */
static grebe_status put_bodies(struct pw_chunk *c, const struct pw_config *config,
                               const struct pw_dictionary *d, struct pw_scratch *s,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;

    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);

        p->body_begin = s->body.len;
        GREBE_TRY(pw_levels_put(c, p, config->is_v2, &s->body, &s->piece, err));
        GREBE_TRY(put_values(c, config, p, d, s, err));
        p->body_len = s->body.len - p->body_begin;
        p->stored_begin = p->body_begin;
        p->stored_len = p->body_len;
        if (p->body_len > INT32_MAX) {
            return fail_page(c, p->body_len, err);
        }
    }
out:
    return st;
}

/* ---- the open profile ---- */

static grebe_status encode_open(struct pw_chunk *c, const struct pw_config *config,
                                enum pw_packing packing, struct pw_scratch *s, grebe_error *err)
{
    struct pw_dictionary d = {.s = s};
    int32_t encoding = PQ_PLAIN;
    grebe_status st = GREBE_OK;

    GREBE_TRY(pw_choose_encoding(c, config, &d, &encoding, err));
    if (packing == PW_PACKED_SPLIT) {
        assert(encoding == PQ_PLAIN && !c->has_dictionary);
        encoding = PQ_BYTE_STREAM_SPLIT;
    }
    if (encoding == PQ_BYTE_STREAM_SPLIT && c->mode == PW_VECTOR && config->codec != CODEC_NONE) {
        GREBE_TRY(cut_small(c, config->split_page_rows, config->split_page_bytes, encoding, err));
    } else {
        GREBE_TRY(cut_small(c, config->page_rows, config->page_bytes, encoding, err));
    }
    if (c->has_dictionary) {
        GREBE_TRY(pw_dictionary_put_entries(&d, &s->body, err));
        c->dictionary_size = s->body.len;
    }
    GREBE_TRY(put_bodies(c, config, &d, s, err));
out:
    return st;
}

/* ---- encodings of the milvus profile (loon.md 5.6: what Arrow C++ does there) ---- */

enum { MILVUS_PAGE_BYTES = 1 << 20, MILVUS_BATCH_SLOTS = 1024 };

/* Rows that are looked at together: Arrow tests its limits once per 1024 slots. */
static int64_t milvus_step(const struct pw_chunk *c)
{
    return max_i64(1, MILVUS_BATCH_SLOTS * c->n_rows / max_i64(1, c->n_slots));
}

static grebe_status cut_milvus_plain(struct pw_chunk *c, grebe_error *err)
{
    const int64_t step = milvus_step(c);
    grebe_status st = GREBE_OK;

    while (rows_done(c) < c->n_rows && st == GREBE_OK) {
        struct pw_page p;
        int64_t n = 0;

        do {
            n += step;
            pw_page_range(c, last_page(c), n, &p);
        } while (p.n_rows == n && pw_plain_size(c, p.value_begin, p.n_values) < MILVUS_PAGE_BYTES);
        st = pw_page_add(c, n, PQ_PLAIN, err);
    }
    return st;
}

static grebe_status encode_milvus(struct pw_chunk *c, const struct pw_config *config,
                                  struct pw_scratch *s, grebe_error *err)
{
    const int64_t step = milvus_step(c);
    struct pw_dictionary d;
    struct pw_page p = {0};
    int64_t n_rows = 0;
    grebe_status st = GREBE_OK;

    if (c->leaf->store == PW_BOOL || config->dictionary_bytes_max == 0) {
        GREBE_TRY(cut_milvus_plain(c, err));
        return put_bodies(c, config, NULL, s, err);
    }
    GREBE_TRY(pw_dictionary_begin(&d, c, s, err));
    while (n_rows < c->n_rows && d.size_bytes < PW_DICT_BYTES_MAX) {
        const struct pw_page before = p;

        pw_page_range(c, n_rows > 0 ? &before : NULL, step, &p);
        n_rows += p.n_rows;
        GREBE_TRY(pw_dictionary_add(&d, p.value_begin + p.n_values, err));
    }
    c->has_dictionary = true;
    GREBE_TRY(pw_page_add(c, n_rows, PQ_RLE_DICTIONARY, err));
    GREBE_TRY(cut_milvus_plain(c, err));
    GREBE_TRY(pw_dictionary_put_entries(&d, &s->body, err));
    c->dictionary_size = s->body.len;
    GREBE_TRY(put_bodies(c, config, &d, s, err));
out:
    return st;
}

/* ---- assembly ---- */

grebe_status pw_page_header_put(const struct pw_page *p, const struct pw_config *config,
                                bool is_packed, uint32_t padding, struct buf *dst,
                                grebe_error *err)
{
    const struct pq_page_header h = {
        .type = config->is_v2 ? PQ_PAGE_DATA_V2 : PQ_PAGE_DATA,
        .uncompressed_size = (int32_t)p->body_len,
        .compressed_size = (int32_t)p->stored_len,
        .has_crc = !config->is_without_checksums,
        .crc = p->crc,
        .num_values = (int32_t)p->n_slots,
        .encoding = p->encoding,
        .definition_encoding = PQ_RLE,
        .repetition_encoding = PQ_RLE,
        .num_nulls = (int32_t)(p->n_slots - p->n_values),
        .num_rows = (int32_t)p->n_rows,
        .repetition_length = (int32_t)p->rep_len,
        .definition_length = (int32_t)p->def_len,
        .is_compressed = is_packed && p->body_len > p->rep_len + p->def_len,
        .padding_bytes = padding,
    };

    assert(p->body_len <= INT32_MAX && p->stored_len <= INT32_MAX && p->n_slots <= INT32_MAX);
    return pq_page_header_encode(&h, dst, err);
}

static grebe_status put_dictionary_page(struct pw_chunk *c, const struct pw_config *config,
                                        const struct pw_dictionary *d, const unsigned char *body,
                                        size_t stored_len, grebe_error *err)
{
    const struct pq_page_header h = {
        .type = PQ_PAGE_DICTIONARY,
        .uncompressed_size = (int32_t)c->dictionary_size,
        .compressed_size = (int32_t)stored_len,
        .has_crc = !config->is_without_checksums,
        .crc = config->is_without_checksums ? 0 : hash_crc32(0, body, stored_len),
        .num_values = (int32_t)pw_dictionary_count(d),
        .encoding = PQ_PLAIN,
    };
    grebe_status st = pq_page_header_encode(&h, &c->out, err);

    c->uncompressed_size += (int64_t)(c->out.len + c->dictionary_size);
    if (st == GREBE_OK && stored_len > 0) {
        st = buf_put(&c->out, body, stored_len, err);
    }
    c->dictionary_size = c->out.len;
    return st;
}

static grebe_status assemble(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_scratch *s, size_t dictionary_stored, grebe_error *err)
{
    const struct buf *stored = c->codec == CODEC_NONE ? &s->body : &s->packed;
    const struct pw_dictionary d = {.s = s};
    grebe_status st = GREBE_OK;

    if (c->has_dictionary) {
        GREBE_TRY(put_dictionary_page(c, config, &d, stored->data, dictionary_stored, err));
    }
    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);
        const unsigned char *body = stored->data + p->stored_begin;

        p->offset = c->out.len;
        p->crc = config->is_without_checksums ? 0 : hash_crc32(0, body, p->stored_len);
        GREBE_TRY(pw_page_header_put(p, config, c->codec != CODEC_NONE, 0, &c->out, err));
        c->uncompressed_size += (int64_t)(c->out.len - p->offset + p->body_len);
        if (i == 0 && c->codec == CODEC_NONE && p->encoding == PQ_PLAIN &&
            c->leaf->store == PW_FIXED) {
            /* Fixed-width values are the end of the body: line up the first page's. */
            c->is_aligned = true;
            c->align_at = c->out.len + p->stored_len -
                          (size_t)pw_plain_size(c, p->value_begin, p->n_values);
        }
        if (p->stored_len > 0) {
            GREBE_TRY(buf_put(&c->out, body, p->stored_len, err));
        }
        p->size = c->out.len - p->offset;
    }
out:
    return st;
}

static grebe_status encode_decoded(struct pw_chunk *c, const struct pw_config *config,
                                   enum pw_packing packing, struct pw_scratch *s, grebe_error *err)
{
    size_t dictionary_stored = 0;
    grebe_status st = GREBE_OK;

    buf_clear(&s->body);
    GREBE_TRY(config->is_milvus ? encode_milvus(c, config, s, err)
                                : encode_open(c, config, packing, s, err));
    GREBE_TRY(pw_choose_codec(c, config, s, &dictionary_stored, err));
    GREBE_TRY(assemble(c, config, s, dictionary_stored, err));
out:
    return st;
}

/* ---- the whole ---- */

/* Vectors and blobs may be addressed in the file. */
static bool may_be_in_place(const struct pw_chunk *c, const struct pw_config *config)
{
    return !config->is_milvus && c->leaf->store == PW_FIXED && c->n_values > 0 &&
           (c->mode == PW_VECTOR || c->leaf->is_blob) &&
           (c->leaf->encoding == PQ_ENCODING_ANY || c->leaf->encoding == PQ_PLAIN);
}

/* They are, unless a codec was asked for and pays: a part out of their middle tells. */
static grebe_status choose_packing(const struct pw_chunk *c, const struct pw_config *config,
                                   struct pw_scratch *s, enum pw_packing *out, grebe_error *err)
{
    const size_t width = c->leaf->width;
    const size_t n = c->values.len / width;
    const size_t n_sample = min_size(n, max_size(1, PW_SAMPLE_BYTES / width));
    grebe_status st = GREBE_OK;

    *out = PW_NOT_PACKED;
    if (config->is_codec_asked && config->codec != CODEC_NONE) {
        st = pw_try_codec(c, config, c->values.data + (n - n_sample) / 2 * width, n_sample * width,
                          s, out, err);
    }
    if (*out == PW_PACKED_SPLIT && c->leaf->encoding == PQ_PLAIN) {
        *out = PW_PACKED;
    }
    return st;
}

grebe_status pw_chunk_encode(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_scratch *s, grebe_error *err)
{
    const bool may_be_direct = may_be_in_place(c, config);
    enum pw_packing packing = PW_PACKED;
    grebe_status st = GREBE_OK;

    c->is_aligned = c->is_in_place = c->has_dictionary = false;
    c->dictionary_size = 0;
    c->uncompressed_size = 0;
    c->codec = CODEC_NONE;
    assert(c->n_rows > 0 && c->pages.len == 0 && c->out.len == 0);
    if (may_be_direct) {
        GREBE_TRY(choose_packing(c, config, s, &packing, err));
    }
    if (packing != PW_NOT_PACKED) {
        GREBE_TRY(encode_decoded(c, config, packing, s, err));
    }
    if (packing == PW_NOT_PACKED || (may_be_direct && c->codec == CODEC_NONE)) {
        buf_clear(&c->pages); /* the sample may have promised what the chunk did not keep */
        buf_clear(&c->out);
        c->has_dictionary = false;
        c->dictionary_size = 0;
        GREBE_TRY(pw_encode_addressable(c, config, s, err));
    }
    GREBE_TRY(pw_chunk_statistics(c, config, s, err));
    if (c->leaf->has_bloom) {
        GREBE_TRY(pw_chunk_bloom(c, config, s, err));
    }
    assert(rows_done(c) == c->n_rows);
out:
    return st;
}
