/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_column.h"

#include <assert.h>
#include <string.h>

void pq_out_init(struct pq_out *o, const grebe_allocator *a, const struct pq_leaf *leaf,
                 int64_t rows_expected, uint64_t limit_bytes, struct pq_budget *budget)
{
    memset(o, 0, sizeof *o);
    o->a = a;
    o->leaf = leaf;
    o->node = leaf->node;
    o->rows_expected = rows_expected;
    o->limit_bytes = limit_bytes;
    o->budget = budget;
    const struct pq_node *n = leaf->node;
    bool is_bytes = n->convert == PQ_CONVERT_BYTES || n->convert == PQ_CONVERT_DECIMAL_BYTES;
    if (is_bytes) {
        bool is_large = n->arrow == ARROW_LARGE_STRING || n->arrow == ARROW_LARGE_BINARY;
        o->offset_width = is_large ? 8 : 4;
    }
    o->mode = n->is_row_field ? PQ_OUT_FLAT : leaf->is_list_element ? PQ_OUT_LISTS : PQ_OUT_LEVELS;
}

grebe_status pq_budget_take(struct pq_budget *b, uint64_t bytes, grebe_error *err)
{
    uint64_t taken = atomic_fetch_add_explicit(&b->taken_bytes, bytes, memory_order_relaxed);
    if (bytes <= b->limit_bytes && taken <= b->limit_bytes - bytes) {
        return GREBE_OK;
    }
    pq_budget_return(b, bytes);
    return GREBE_FAIL(err, GREBE_ELIMIT,
                      "needs %llu bytes more than the %llu of this call, the limit is %llu",
                      (unsigned long long)bytes, (unsigned long long)taken,
                      (unsigned long long)b->limit_bytes);
}

void pq_budget_return(struct pq_budget *b, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&b->taken_bytes, bytes, memory_order_relaxed);
}

uint64_t pq_out_bytes(const struct pq_out *o)
{
    const struct pq_block *const blocks[] = { &o->values, &o->offsets, &o->validity, &o->rep,
                                              &o->def };
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        sum += blocks[i]->region == NULL ? 0 : blocks[i]->region->len;
    }
    return sum;
}

static void block_release(struct pq_block *b)
{
    region_drop(b->region);
    *b = (struct pq_block){ NULL, 0 };
}

void pq_out_release(struct pq_out *o)
{
    block_release(&o->values);
    block_release(&o->offsets);
    block_release(&o->validity);
    block_release(&o->rep);
    block_release(&o->def);
    region_drop(o->view_owner);
    o->view_owner = NULL;
    o->view = NULL;
}

grebe_status pq_block_reserve(struct pq_out *o, struct pq_block *b, uint64_t bytes,
                              grebe_error *err)
{
    size_t capacity = b->region == NULL ? 0 : b->region->len;
    if (b->region != NULL && bytes <= capacity - b->len) {
        return GREBE_OK;
    }
    uint64_t wanted = b->len + bytes;
    if (wanted < bytes || wanted > o->limit_bytes) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "needs %llu bytes at once, the limit is %llu",
                          (unsigned long long)wanted, (unsigned long long)o->limit_bytes);
    }
    if (wanted < capacity + capacity / 2) {
        wanted = capacity + capacity / 2;
    }
    struct region *r = NULL;
    grebe_status st = pq_budget_take(o->budget, wanted - capacity, err);
    if (st == GREBE_OK) {
        st = region_new(o->a, (size_t)wanted, &r, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (b->len > 0) {
        memcpy(r->data, b->region->data, b->len);
    }
    region_drop(b->region);
    b->region = r;
    return GREBE_OK;
}

/* A bitmap of n_entries bits exists from now on; what came before is valid. */
static grebe_status begin_validity(struct pq_out *o, int64_t n, grebe_error *err)
{
    int64_t total = o->n_entries + n;
    int64_t expected = o->rows_expected > total ? o->rows_expected : total;
    size_t old_bytes = o->validity.len;
    size_t bytes = bitmap_bytes(total);
    grebe_status st = pq_block_reserve(
        o, &o->validity, bitmap_bytes(o->validity.region == NULL ? expected : total) - old_bytes,
        err);
    if (st != GREBE_OK) {
        return st;
    }
    if (bytes > old_bytes) {
        memset(o->validity.region->data + old_bytes, 0, bytes - old_bytes);
    }
    if (old_bytes == 0) {
        bitmap_fill(o->validity.region->data, 0, o->n_entries, true);
    }
    o->validity.len = bytes;
    return GREBE_OK;
}

grebe_status pq_out_add_validity(struct pq_out *o, const uint8_t *bits, int64_t begin, int64_t n,
                                 grebe_error *err)
{
    assert(o->mode != PQ_OUT_LEVELS);
    if (n > 0 && (bits != NULL || o->validity.region != NULL)) {
        grebe_status st = begin_validity(o, n, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (bits == NULL) {
            bitmap_fill(o->validity.region->data, o->n_entries, n, true);
        } else {
            bitmap_copy(o->validity.region->data, o->n_entries, bits, begin, n);
        }
    }
    o->n_entries += n;
    return GREBE_OK;
}

static grebe_status append_bytes(struct pq_out *o, struct pq_block *b, const void *bytes, size_t n,
                                 grebe_error *err)
{
    grebe_status st = pq_block_reserve(o, b, n, err);
    if (st == GREBE_OK && n > 0) {
        memcpy(b->region->data + b->len, bytes, n);
        b->len += n;
    }
    return st;
}

grebe_status pq_out_to_levels(struct pq_out *o, grebe_error *err)
{
    if (o->mode == PQ_OUT_LEVELS) {
        return GREBE_OK;
    }
    assert(o->mode == PQ_OUT_LISTS && o->view == NULL);
    const uint8_t *bits = o->validity.region == NULL ? NULL : o->validity.region->data;
    int64_t n_lists = bits == NULL ? o->n_rows : bitmap_count(bits, 0, o->n_rows);
    uint64_t n = (uint64_t)o->n_values + (uint64_t)(o->n_rows - n_lists);
    grebe_status st = pq_block_reserve(o, &o->rep, n, err);
    if (st == GREBE_OK) {
        st = pq_block_reserve(o, &o->def, n, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    size_t at = 0;
    for (int64_t row = 0; row < o->n_rows; row++) {
        bool is_list = bits == NULL || bit_get(bits, row);
        size_t len = is_list ? o->list_len : 1;
        memset(o->rep.region->data + at, 1, len);
        o->rep.region->data[at] = 0;
        /* a null list: one level below that of a list without elements */
        memset(o->def.region->data + at, is_list ? o->leaf->max_def : o->node->def_slot - 2, len);
        at += len;
    }
    assert(at == n);
    o->rep.len = at;
    o->def.len = at;
    o->n_entries = (int64_t)at;
    block_release(&o->validity);
    o->mode = PQ_OUT_LEVELS;
    return GREBE_OK;
}

static grebe_status append_offsets(struct pq_out *o, const struct pq_out *from, int64_t base,
                                   grebe_error *err)
{
    int w = o->offset_width;
    size_t n = (size_t)from->n_values;
    bool is_first = o->offsets.len == 0;
    grebe_status st = pq_block_reserve(o, &o->offsets, (n + is_first) * (size_t)w, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (is_first) {
        memset(o->offsets.region->data, 0, (size_t)w);
        o->offsets.len = (size_t)w;
    }
    if (from->offsets.region == NULL) {
        return GREBE_OK;
    }
    if (w == 8) {
        int64_t *dst = (int64_t *)(void *)(o->offsets.region->data + o->offsets.len);
        const int64_t *src = (const int64_t *)(const void *)from->offsets.region->data + 1;
        for (size_t i = 0; i < n; i++) {
            dst[i] = src[i] + base;
        }
    } else {
        int32_t *dst = (int32_t *)(void *)(o->offsets.region->data + o->offsets.len);
        const int32_t *src = (const int32_t *)(const void *)from->offsets.region->data + 1;
        if ((uint64_t)base + from->values.len > INT32_MAX) {
            return GREBE_FAIL(err, GREBE_ELIMIT,
                              "%llu bytes of strings at once, 32-bit offsets end at %d",
                              (unsigned long long)base + from->values.len, INT32_MAX);
        }
        for (size_t i = 0; i < n; i++) {
            dst[i] = src[i] + (int32_t)base;
        }
    }
    o->offsets.len += n * (size_t)w;
    return GREBE_OK;
}

grebe_status pq_out_append(struct pq_out *o, const struct pq_out *from, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct pq_out *other = (struct pq_out *)(uintptr_t)from;

    assert(o->leaf == from->leaf && o->view == NULL && from->view == NULL);
    if (from->n_rows == 0) {
        return GREBE_OK;
    }
    if (o->mode == PQ_OUT_LISTS && from->mode == PQ_OUT_LISTS) {
        /* 0: only null lists so far */
        o->list_len = o->list_len == 0 ? from->list_len : o->list_len;
        other->list_len = from->list_len == 0 ? o->list_len : from->list_len;
    }
    if (o->mode != from->mode || o->list_len != from->list_len) {
        GREBE_TRY(pq_out_to_levels(o, err));
        GREBE_TRY(pq_out_to_levels(other, err));
    }
    if (o->mode != PQ_OUT_LEVELS) {
        GREBE_TRY(pq_out_add_validity(
            o, from->validity.region == NULL ? NULL : from->validity.region->data, 0, from->n_rows,
            err));
    } else {
        GREBE_TRY(append_bytes(o, &o->rep, from->rep.region == NULL ? NULL : from->rep.region->data,
                               from->rep.len, err));
        GREBE_TRY(append_bytes(o, &o->def, from->def.region == NULL ? NULL : from->def.region->data,
                               from->def.len, err));
        o->n_entries += from->n_entries;
    }
    if (o->offset_width > 0) {
        GREBE_TRY(append_offsets(o, from, (int64_t)o->values.len, err));
    }
    if (o->node->convert == PQ_CONVERT_BOOL) {
        size_t bytes = bitmap_bytes(o->n_values + from->n_values);
        GREBE_TRY(pq_block_reserve(o, &o->values, bytes - o->values.len, err));
        if (from->n_values > 0) {
            bitmap_copy(o->values.region->data, o->n_values, from->values.region->data, 0,
                        from->n_values);
        }
        o->values.len = bytes;
    } else {
        GREBE_TRY(append_bytes(o, &o->values,
                               from->values.region == NULL ? NULL : from->values.region->data,
                               from->values.len, err));
    }
    o->n_values += from->n_values;
    o->n_rows += from->n_rows;
out:
    return st;
}
