/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

/*
 * Vectors and fixed-size binary: PLAIN, uncompressed, and the values of every page begin on a
 * multiple of 64, so that a row can be read where it lies. Only headers and levels are put
 * together here; the values go to the file from where they are.
 *
 *   out:  [header 0][levels]          [header 1 + padding][levels]          …
 *   file: [header 0][levels][values 0][header 1 + padding][levels][values 1] …
 *                           ^ multiple of 64                      ^ multiple of 64
 *
 * The chunk begins at the first header; where that lies in the file (a gap before it) is set so
 * that the values come out aligned. Between pages there can be no gap: the header's extension
 * field 32767 takes the padding, which readers skip.
 */

enum { PADDING_MIN = 5 }; /* what an empty extension field takes */

/* Bytes of values that one row has. */
static size_t row_bytes(const struct pw_chunk *c)
{
    return (size_t)(c->mode == PW_VECTOR ? c->dim : 1) * c->leaf->width;
}

static grebe_status cut_pages(struct pw_chunk *c, const struct pw_config *config,
                              grebe_error *err)
{
    const int64_t n_rows =
        max_i64(1, config->vector_page_bytes / (int64_t)max_size(1, row_bytes(c)));
    grebe_status st = GREBE_OK;

    for (int64_t row = 0; row < c->n_rows && st == GREBE_OK; row += n_rows) {
        st = pw_page_add(c, n_rows, PQ_PLAIN, err);
    }
    return st;
}

static const unsigned char *values_of(const struct pw_chunk *c, const struct pw_page *p,
                                      size_t *len)
{
    *len = (size_t)p->n_values * c->leaf->width;
    return c->values.data + (size_t)p->value_begin * c->leaf->width;
}

/* Padding that puts what follows a head of head_len bytes at chunk offset `at` in line. */
static uint32_t padding_of(const struct pw_chunk *c, size_t at, size_t head_len)
{
    const size_t padding = (size_t)(c->align_at - at - head_len) % PW_ALIGN;

    return (uint32_t)(padding > 0 && padding < PADDING_MIN ? padding + PW_ALIGN : padding);
}

/* Header and levels of a page that begins at chunk offset `at`. */
static grebe_status put_head(struct pw_chunk *c, const struct pw_config *config,
                             struct pw_page *p, size_t at, struct pw_scratch *s, grebe_error *err)
{
    size_t values_len = 0;
    const unsigned char *values = values_of(c, p, &values_len);
    uint32_t padding = 0;
    grebe_status st = GREBE_OK;

    buf_clear(&s->body);
    GREBE_TRY(pw_levels_put(c, p, config->is_v2, &s->body, &s->piece, err));
    p->body_len = p->stored_len = s->body.len + values_len;
    if (p->body_len > INT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT,
                          "column \"%s\": expected rows below 2 GiB, found %zu bytes",
                          c->leaf->nodes[0].name, p->body_len);
    }
    if (!config->is_without_checksums) {
        p->crc = hash_crc32(hash_crc32(0, s->body.data, s->body.len), values, values_len);
    }
    buf_clear(&s->piece);
    GREBE_TRY(pw_page_header_put(p, config, false, 0, &s->piece, err));
    if (c->is_aligned) {
        padding = padding_of(c, at, s->piece.len + s->body.len);
    }
    if (padding > 0) {
        buf_clear(&s->piece);
        GREBE_TRY(pw_page_header_put(p, config, false, padding, &s->piece, err));
    }
    p->stored_begin = c->out.len;
    GREBE_TRY(buf_put(&c->out, s->piece.data, s->piece.len, err));
    if (s->body.len > 0) {
        GREBE_TRY(buf_put(&c->out, s->body.data, s->body.len, err));
    }
    p->offset = at;
    p->head_len = c->out.len - p->stored_begin;
    p->size = p->head_len + values_len;
out:
    return st;
}

grebe_status pw_encode_addressable(struct pw_chunk *c, const struct pw_config *config,
                                   struct pw_scratch *s, grebe_error *err)
{
    size_t at = 0;
    grebe_status st = cut_pages(c, config, err);

    c->is_in_place = true;
    for (size_t i = 0; i < pw_page_count(c) && st == GREBE_OK; i++) {
        struct pw_page *p = pw_page_at(c, i);

        st = put_head(c, config, p, at, s, err);
        if (i == 0) {
            c->is_aligned = true;
            c->align_at = p->head_len;
        }
        assert(st != GREBE_OK || (at + p->head_len - c->align_at) % PW_ALIGN == 0);
        at += p->size;
    }
    c->uncompressed_size = (int64_t)at;
    return st;
}

grebe_status pw_write_in_place(const struct pw_chunk *c, pw_put_fn put, void *arg,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;

    assert(c->is_in_place);
    for (size_t i = 0; i < pw_page_count(c) && st == GREBE_OK; i++) {
        const struct pw_page *p = pw_page_at(c, i);
        size_t values_len = 0;
        const unsigned char *values = values_of(c, p, &values_len);

        st = put(arg, c->out.data + p->stored_begin, p->head_len, err);
        if (st == GREBE_OK) {
            st = put(arg, values, values_len, err);
        }
    }
    return st;
}
