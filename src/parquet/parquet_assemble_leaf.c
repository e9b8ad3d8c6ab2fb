/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one leaf as an Arrow array, with room made for nulls. */
#include "parquet/parquet_assemble.h"

#include <string.h>

grebe_status pq_assemble_hand_over(const struct pq_assembler *as, struct pq_block *b,
                                   struct ArrowArray *array, int64_t i)
{
    void *none;
    if (b->region == NULL) {
        return array_alloc_buffer(as->a, array, i, 0, &none, as->err);
    }
    array_set_buffer(array, i, b->region->data, b->region);
    *b = (struct pq_block){ NULL, 0 };
    return GREBE_OK;
}

/* ---- room for nulls ---- */

static void spread(unsigned char *values, size_t width, const uint8_t *bits, int64_t n,
                   int64_t n_values)
{
    int64_t from = n_values;
    for (int64_t i = n - 1; i >= 0 && from <= i; i--) {
        unsigned char *to = values + (size_t)i * width;
        if (bit_get(bits, i)) {
            from--;
            memmove(to, values + (size_t)from * width, width);
        } else {
            memset(to, 0, width);
        }
    }
}

grebe_status pq_assemble_spread(const struct pq_assembler *as, struct pq_out *o, size_t width,
                                const uint8_t *bits, int64_t n, int64_t n_values)
{
    size_t wanted = (size_t)n * width;
    grebe_status st = pq_block_reserve(o, &o->values, wanted - o->values.len, as->err);
    if (st == GREBE_OK) {
        spread(o->values.region->data, width, bits, n, n_values);
        o->values.len = wanted;
    }
    return st;
}

static grebe_status spread_bits(const struct pq_assembler *as, struct pq_out *o,
                                const uint8_t *bits, int64_t n)
{
    struct region *r = NULL;
    grebe_status st = region_new(as->a, bitmap_bytes(n), &r, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    memset(r->data, 0, bitmap_bytes(n));
    const uint8_t *from = o->values.region == NULL ? NULL : o->values.region->data;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (bit_get(bits, i)) {
            if (bit_get(from, at)) {
                bit_set(r->data, i);
            }
            at++;
        }
    }
    region_drop(o->values.region);
    o->values = (struct pq_block){ r, bitmap_bytes(n) };
    return GREBE_OK;
}

static grebe_status spread_offsets(const struct pq_assembler *as, struct pq_out *o,
                                   const uint8_t *bits, int64_t n)
{
    struct region *r = NULL;
    size_t w = (size_t)o->offset_width;
    grebe_status st = region_new(as->a, ((size_t)n + 1) * w, &r, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    const unsigned char *from = o->offsets.region == NULL ? NULL : o->offsets.region->data;
    memset(r->data, 0, w);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (bit_get(bits, i)) {
            at++;
        }
        if (from == NULL) {
            memset(r->data + (size_t)(i + 1) * w, 0, w);
        } else {
            memcpy(r->data + (size_t)(i + 1) * w, from + (size_t)at * w, w);
        }
    }
    region_drop(o->offsets.region);
    o->offsets = (struct pq_block){ r, ((size_t)n + 1) * w };
    return GREBE_OK;
}

/* ---- leaves ---- */

/* Strings as decimals: what BYTE_ARRAY decimals are decoded to first. */
static grebe_status strings_to_decimals(const struct pq_assembler *as, struct pq_out *o)
{
    size_t width = (size_t)o->node->width_out;
    const int32_t *offsets =
        o->offsets.region == NULL ? NULL : (const int32_t *)(const void *)o->offsets.region->data;
    struct region *r = NULL;
    grebe_status st = region_new(as->a, (size_t)o->n_values * width, &r, as->err);
    for (int64_t i = 0; i < o->n_values && st == GREBE_OK; i++) {
        st = pq_convert_decimal(o->values.region->data + offsets[i],
                                (size_t)(offsets[i + 1] - offsets[i]), r->data + (size_t)i * width,
                                width, as->err);
    }
    if (st != GREBE_OK) {
        region_drop(r);
        return st;
    }
    region_drop(o->values.region);
    region_drop(o->offsets.region);
    o->values = (struct pq_block){ r, (size_t)o->n_values * width };
    o->offsets = (struct pq_block){ NULL, 0 };
    o->offset_width = 0;
    return GREBE_OK;
}

/* Views over one data buffer: "Variable-size Binary View Layout". */
static grebe_status make_views(const struct pq_assembler *as, struct pq_out *o, int64_t n,
                               struct ArrowArray *out)
{
    const int32_t *offsets = (const int32_t *)(const void *)o->offsets.region->data;
    const unsigned char *data = o->values.region == NULL ? NULL : o->values.region->data;
    unsigned char *views;
    int64_t *sizes;
    void *p;
    grebe_status st = array_alloc_buffer(as->a, out, 1, (size_t)n * 16, &p, as->err);
    if (st != GREBE_OK) {
        return st;
    }
    views = p;
    memset(views, 0, (size_t)n * 16);
    for (int64_t i = 0; i < n; i++, views += 16) {
        int32_t len = offsets[i + 1] - offsets[i];
        memcpy(views, &len, 4);
        if (len == 0) {
            continue;
        }
        if (len <= 12) {
            memcpy(views + 4, data + offsets[i], (size_t)len);
        } else {
            memcpy(views + 4, data + offsets[i], 4);
            memcpy(views + 12, &offsets[i], 4);
        }
    }
    int64_t data_len = (int64_t)o->values.len;
    st = pq_assemble_hand_over(as, &o->values, out, 2);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(as->a, out, 3, sizeof *sizes, &p, as->err);
    }
    if (st == GREBE_OK) {
        sizes = p;
        *sizes = data_len;
    }
    return st;
}

grebe_status pq_assemble_leaf(const struct pq_assembler *as, const struct pq_node *node, int64_t n,
                              struct pq_block *bits, struct ArrowArray *out)
{
    struct pq_out *o = pq_assembler_out(as, node);
    bool is_view = node->arrow == ARROW_STRING_VIEW || node->arrow == ARROW_BINARY_VIEW;
    grebe_status st = GREBE_OK;
    if (node->convert == PQ_CONVERT_NULL) {
        st = array_new(as->a, n, 0, 0, out, as->err);
        out->null_count = n;
        return st;
    }
    if (node->convert == PQ_CONVERT_DECIMAL_BYTES) {
        st = strings_to_decimals(as, o);
    }
    bool is_bytes = o->offset_width > 0;
    if (st == GREBE_OK && is_bytes && o->offsets.region == NULL) {
        st = pq_block_reserve(o, &o->offsets, (size_t)o->offset_width, as->err);
        if (st == GREBE_OK) {
            memset(o->offsets.region->data, 0, (size_t)o->offset_width);
            o->offsets.len = (size_t)o->offset_width;
        }
    }
    if (st == GREBE_OK && bits->region != NULL) {
        const uint8_t *b = bits->region->data;
        st = is_bytes                           ? spread_offsets(as, o, b, n)
             : node->convert == PQ_CONVERT_BOOL ? spread_bits(as, o, b, n)
                                                : pq_assemble_spread(as, o, (size_t)node->width_out,
                                                                     b, n, o->n_values);
    }
    if (st == GREBE_OK) {
        st = array_new(as->a, n, is_view ? 4 : is_bytes ? 3 : 2, 0, out, as->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (bits->region != NULL && node->is_nullable) {
        out->null_count = n - o->n_values;
        st = pq_assemble_hand_over(as, bits, out, 0);
    }
    if (st == GREBE_OK && o->view != NULL) {
        array_set_buffer(out, 1, o->view, o->view_owner);
        o->view_owner = NULL;
        return GREBE_OK;
    }
    if (st == GREBE_OK && is_view) {
        return make_views(as, o, n, out);
    }
    if (st == GREBE_OK && is_bytes) {
        st = pq_assemble_hand_over(as, &o->offsets, out, 1);
    }
    return st == GREBE_OK ? pq_assemble_hand_over(as, &o->values, out, is_bytes ? 2 : 1) : st;
}
