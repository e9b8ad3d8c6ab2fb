/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "codec/bitpack.h"
#include "codec/rle_hybrid.h"
#include "codec/varint.h"

/* Repetition and definition levels of a page: each behind its u32 length (data page v1) or bare (v2). */

int64_t pw_null_rows(const struct pw_chunk *c, int64_t begin, int64_t end)
{
    assert(c->mode != PW_NESTED);
    if (c->valid.len == 0) {
        return 0;
    }
    return end - begin - bitmap_count(c->valid.data, begin, end - begin);
}

/* First slot of the row after `n_rows` more rows, from a slot that begins a row. */
static int64_t nested_slot_after(const struct pw_chunk *c, int64_t slot, int64_t n_rows)
{
    if (c->leaf->max_rep == 0) {
        return slot + n_rows;
    }
    while (slot < c->n_slots) {
        if (c->rep.data[slot] == 0 && n_rows-- == 0) {
            break;
        }
        slot++;
    }
    return slot;
}

static int64_t count_present(const struct pw_chunk *c, int64_t begin, int64_t end)
{
    const uint8_t max = c->leaf->max_def;
    int64_t n = 0;

    for (int64_t i = begin; i < end; i++) {
        n += c->def.data[i] == max;
    }
    return n;
}

void pw_page_range(const struct pw_chunk *c, const struct pw_page *before, int64_t n_rows,
                   struct pw_page *out)
{
    memset(out, 0, sizeof *out);
    if (before != NULL) {
        out->row_begin = before->row_begin + before->n_rows;
        out->slot_begin = before->slot_begin + before->n_slots;
        out->value_begin = before->value_begin + before->n_values;
    }
    out->n_rows = min_i64(n_rows, c->n_rows - out->row_begin);
    if (c->mode == PW_NESTED) {
        const int64_t end = nested_slot_after(c, out->slot_begin, out->n_rows);

        out->n_slots = end - out->slot_begin;
        out->n_values = count_present(c, out->slot_begin, end);
    } else {
        const int64_t n_null = pw_null_rows(c, out->row_begin, out->row_begin + out->n_rows);
        const int64_t per_row = c->mode == PW_VECTOR ? c->dim : 1;

        out->n_values = (out->n_rows - n_null) * per_row;
        out->n_slots = out->n_values + n_null;
    }
}

/* Runs of equal bytes. */
static grebe_status put_bytes(struct buf *dst, const uint8_t *levels, int64_t n, unsigned width,
                              grebe_error *err)
{
    struct rle_writer w;
    int64_t i = 0;
    grebe_status st = GREBE_OK;

    rle_writer_init(&w, dst, width);
    while (i < n && st == GREBE_OK) {
        int64_t end = i + 1;

        while (end < n && levels[end] == levels[i]) {
            end++;
        }
        st = rle_put(&w, levels[i], (uint64_t)(end - i), err);
        i = end;
    }
    return st == GREBE_OK ? rle_finish(&w, err) : st;
}

/* Rows that are null (one slot at level 0) or have `dim` slots: 0, 1, 1, … or max_def each. */
static grebe_status put_vector_runs(const struct pw_chunk *c, const struct pw_page *p,
                                    bool is_rep, struct buf *dst, grebe_error *err)
{
    struct rle_writer w;
    grebe_status st = GREBE_OK;

    rle_writer_init(&w, dst, is_rep ? 1 : bitpack_width(c->leaf->max_def));
    for (int64_t i = p->row_begin; i < p->row_begin + p->n_rows && st == GREBE_OK; i++) {
        if (!bit_get(c->valid.data, i)) {
            st = rle_put(&w, 0, 1, err);
        } else if (is_rep) {
            GREBE_TRY(rle_put(&w, 0, 1, err));
            st = rle_put(&w, 1, (uint64_t)(c->dim - 1), err);
        } else {
            st = rle_put(&w, c->leaf->max_def, (uint64_t)c->dim, err);
        }
    }
    if (st == GREBE_OK) {
        st = rle_finish(&w, err);
    }
out:
    return st;
}

static grebe_status put_repetition(const struct pw_chunk *c, const struct pw_page *p,
                                   struct buf *dst, grebe_error *err)
{
    if (c->mode == PW_NESTED) {
        return put_bytes(dst, c->rep.data + p->slot_begin, p->n_slots,
                         bitpack_width(c->leaf->max_rep), err);
    }
    assert(c->mode == PW_VECTOR);
    if (p->n_slots == p->n_values) {
        return pw_vector_levels(dst, p->n_rows, c->dim, err);
    }
    return put_vector_runs(c, p, true, dst, err);
}

static grebe_status put_definition(const struct pw_chunk *c, const struct pw_page *p,
                                   struct buf *dst, grebe_error *err)
{
    struct rle_writer w;
    grebe_status st = GREBE_OK;

    if (c->mode == PW_NESTED) {
        return put_bytes(dst, c->def.data + p->slot_begin, p->n_slots,
                         bitpack_width(c->leaf->max_def), err);
    }
    if (c->mode == PW_FLAT) {
        return rle_encode_bits(dst, c->valid.len > 0 ? c->valid.data : NULL,
                               (size_t)p->row_begin, (size_t)p->n_rows, err);
    }
    if (p->n_slots != p->n_values) {
        return put_vector_runs(c, p, false, dst, err);
    }
    rle_writer_init(&w, dst, bitpack_width(c->leaf->max_def));
    st = rle_put(&w, c->leaf->max_def, (uint64_t)p->n_slots, err);
    return st == GREBE_OK ? rle_finish(&w, err) : st;
}

/* The piece, behind its length if it is wanted. *len: the piece alone. */
static grebe_status put_piece(struct buf *dst, const struct buf *piece, bool is_v2, size_t *len,
                              grebe_error *err)
{
    uint8_t prefix[4];
    grebe_status st = GREBE_OK;

    *len = piece->len;
    if (!is_v2) {
        store_le32(prefix, (uint32_t)piece->len);
        st = buf_put(dst, prefix, sizeof prefix, err);
    }
    return st == GREBE_OK && piece->len > 0 ? buf_put(dst, piece->data, piece->len, err) : st;
}

grebe_status pw_levels_put(const struct pw_chunk *c, struct pw_page *p, bool is_v2,
                           struct buf *dst, struct buf *piece, grebe_error *err)
{
    grebe_status st = GREBE_OK;

    p->rep_len = p->def_len = 0;
    if (c->leaf->max_rep > 0) {
        buf_clear(piece);
        GREBE_TRY(put_repetition(c, p, piece, err));
        GREBE_TRY(put_piece(dst, piece, is_v2, &p->rep_len, err));
    }
    if (c->leaf->max_def > 0) {
        buf_clear(piece);
        GREBE_TRY(put_definition(c, p, piece, err));
        GREBE_TRY(put_piece(dst, piece, is_v2, &p->def_len, err));
    }
out:
    return st;
}

void pw_levels_count(const struct pw_chunk *c, const struct pw_page *p, int64_t *rep,
                     int64_t *def)
{
    const int64_t n_null = p->n_slots - p->n_values;

    if (c->mode == PW_NESTED) {
        for (int64_t i = p->slot_begin; i < p->slot_begin + p->n_slots; i++) {
            def[c->def.data[i]]++;
        }
        for (int64_t i = p->slot_begin; c->leaf->max_rep > 0 && i < p->slot_begin + p->n_slots;
             i++) {
            rep[c->rep.data[i]]++;
        }
        return;
    }
    /* Flat and vector chunks: a null slot is a null row. */
    def[0] += n_null;
    def[c->leaf->max_def] += p->n_values;
    rep[0] += p->n_rows;
    if (c->mode == PW_VECTOR) {
        rep[1] += p->n_slots - p->n_rows;
    }
}

grebe_status pw_vector_levels(struct buf *dst, int64_t n, int64_t dim, grebe_error *err)
{
    /* Per vector what Arrow writes: a bit-packed group 0,1,1,1,1,1,1,1, then a run of ones; below
     * 16 elements, where Arrow's falls out of step with the rows, two runs. One period a row. */
    uint8_t period[4 + VARINT_BYTES_MAX];
    size_t len = 0;
    uint8_t *out = NULL;
    grebe_status st = GREBE_OK;

    assert(n >= 0 && dim >= 1);
    if (dim == 1) { /* every element begins a list: one run of zeros */
        if (n > 0) {
            len = varint_write(period, (uint64_t)n << 1);
            period[len++] = 0;
        }
        return buf_put(dst, period, len, err);
    }
    if (dim >= 16) {
        period[0] = 0x03;
        period[1] = 0xfe;
        len = 2 + varint_write(period + 2, (uint64_t)(dim - 8) << 1);
    } else {
        period[0] = 0x02;
        period[1] = 0x00;
        len = 2 + varint_write(period + 2, (uint64_t)(dim - 1) << 1);
    }
    period[len++] = 0x01;
    st = buf_reserve(dst, (size_t)n * len, err);
    if (st != GREBE_OK || n == 0) {
        return st;
    }
    out = dst->data + dst->len;
    memcpy(out, period, len);
    for (size_t done = len, total = (size_t)n * len; done < total;) {
        const size_t part = min_size(done, total - done);

        memcpy(out + done, out, part);
        done += part;
    }
    dst->len += (size_t)n * len;
    return GREBE_OK;
}
