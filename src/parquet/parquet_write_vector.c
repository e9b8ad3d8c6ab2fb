/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

/*
 * Vectors and fixed-size binary: PLAIN, uncompressed, and the values of every page begin on a
 * multiple of 64, so that a row can be read where it lies. The page is built in place: levels
 * and values first, the header (which holds their checksum) into the room left before them.
 *
 *   out: …room…[header 0][levels][values]  [header 1 + padding][levels][values]  …
 *                        ^ multiple of 64 less the levels
 *
 * The chunk begins at the first header; where that lies in the file (a gap before it) is set so
 * that the values come out aligned. Between pages there can be no gap: the header's extension
 * field 32767 takes the padding, which readers skip.
 */

enum {
    HEADER_MAX = 64,   /* of a data page without padding: 7 small integers in 2 structs */
    PADDING_MIN = 5    /* what an empty extension field takes */
};

static size_t round_up(size_t n) { return (n + PW_ALIGN - 1) / PW_ALIGN * PW_ALIGN; }

/* Bytes of values that one row has. */
static size_t row_bytes(const struct pw_chunk *c)
{
    return (size_t)(c->mode == PW_VECTOR ? c->dim : 1) * c->leaf->width;
}

static grebe_status cut_pages(struct pw_chunk *c, grebe_error *err)
{
    const int64_t n_rows =
        max_i64(1, (int64_t)(PW_VECTOR_PAGE_BYTES / max_size(1, row_bytes(c))));
    grebe_status st = GREBE_OK;

    for (int64_t row = 0; row < c->n_rows && st == GREBE_OK; row += n_rows) {
        st = pw_page_add(c, n_rows, PQ_PLAIN, err);
    }
    return st;
}

/* Zeros up to a position. */
static grebe_status fill_to(struct buf *b, size_t position, grebe_error *err)
{
    assert(position >= b->len);
    return buf_put_zero(b, position - b->len, err);
}

/* Header bytes of exactly [from, body) in `out`; for the first page they end at body. */
static grebe_status put_header(struct pw_chunk *c, const struct pw_config *config,
                               const struct pw_page *p, size_t from, size_t body, bool is_first,
                               struct buf *piece, size_t *begin, grebe_error *err)
{
    uint32_t padding = 0;
    grebe_status st = GREBE_OK;

    buf_clear(piece);
    GREBE_TRY(pw_page_header_put(p, config, c->out.data + body, false, 0, piece, err));
    assert(piece->len <= HEADER_MAX && piece->len <= body - from);
    if (!is_first && piece->len < body - from) {
        /* The checksum does not change, so the second header differs by the padding alone. */
        padding = (uint32_t)(body - from - piece->len);
        assert(padding >= PADDING_MIN);
        buf_clear(piece);
        GREBE_TRY(pw_page_header_put(p, config, c->out.data + body, false, padding, piece, err));
        assert(piece->len == body - from);
    }
    *begin = body - piece->len;
    memcpy(c->out.data + *begin, piece->data, piece->len);
out:
    return st;
}

grebe_status pw_encode_addressable(struct pw_chunk *c, const struct pw_config *config,
                                   struct pw_scratch *s, grebe_error *err)
{
    grebe_status st = cut_pages(c, err);

    if (st != GREBE_OK) {
        return st;
    }
    for (size_t i = 0; i < pw_page_count(c); i++) {
        struct pw_page *p = pw_page_at(c, i);
        const size_t from = c->out.len;
        const size_t values_len = (size_t)p->n_values * c->leaf->width;
        size_t body = 0;
        size_t begin = 0;

        buf_clear(&s->body);
        GREBE_TRY(pw_levels_put(c, p, config->is_v2, &s->body, &s->piece, err));
        body = round_up(from + HEADER_MAX + PADDING_MIN + s->body.len) - s->body.len;
        p->body_len = p->stored_len = s->body.len + values_len;
        if (p->body_len > INT32_MAX) {
            st = GREBE_FAIL(err, GREBE_ELIMIT,
                            "column \"%s\": expected rows below 2 GiB, found %zu bytes",
                            c->leaf->nodes[0].name, p->body_len);
            goto out;
        }
        GREBE_TRY(buf_reserve(&c->out, body - from + p->body_len, err));
        GREBE_TRY(fill_to(&c->out, body, err));
        GREBE_TRY(buf_put(&c->out, s->body.data, s->body.len, err));
        GREBE_TRY(buf_put(&c->out, c->values.data + (size_t)p->value_begin * c->leaf->width,
                          values_len, err));
        GREBE_TRY(put_header(c, config, p, from, body, i == 0, &s->piece, &begin, err));
        if (i == 0) {
            c->out_begin = begin;
            c->is_aligned = true;
            c->align_at = c->out.len - values_len - begin;
        }
        p->offset = begin - c->out_begin;
        p->size = c->out.len - begin;
        assert(values_len == 0 || (c->out.len - values_len) % PW_ALIGN == 0);
    }
    c->uncompressed_size = (int64_t)(c->out.len - c->out_begin);
out:
    return st;
}
