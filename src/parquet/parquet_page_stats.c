/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What page headers tell of pages, for chunks without a column index: pyarrow leaves the index out by
 * default and writes statistics into each header. No checksum covers them, so they are believed only
 * where they add up to the chunk's own statistics; else they are passed over as a whole.
 */
#include "parquet/parquet_bounds.h"

#include <string.h>

#include "parquet/parquet_fetch.h"
#include "parquet/parquet_format.h"

struct header_bounds {
    const struct pq_chunk_data *c;
    const struct column_bounds *chunk; /* what the footer says of all pages */
    struct arena *arena;               /* keeps what bounds point to */
    struct column_bounds *bounds;      /* by page */
};

/* The value, borrowed so far, gets memory of its own. */
static grebe_status keep_value(struct arena *ar, const void **value, size_t len, grebe_error *err)
{
    void *copy = arena_alloc(ar, len);
    if (copy == NULL) {
        return mem_fail(err, len, "bounds of pages");
    }
    if (len > 0) {
        memcpy(copy, *value, len);
    }
    *value = copy;
    return GREBE_OK;
}

/* Null count of the page; false: it cannot be. */
static bool count_nulls(const struct pq_leaf *leaf, const struct pq_page_header *h,
                        struct column_bounds *out)
{
    int64_t stated = h->has_statistics ? h->statistics.null_count : -1;
    bool is_v2 = h->type == PQ_PAGE_DATA_V2;
    if (is_v2 && stated >= 0 && stated != h->num_nulls) {
        return false;
    }
    out->has_null_count = stated >= 0 || is_v2 || leaf->max_def == 0;
    out->null_count = is_v2 ? h->num_nulls : stated >= 0 ? stated : 0;
    return out->null_count >= 0 && out->null_count <= out->n_values &&
           (leaf->max_def > 0 || out->null_count == 0);
}

/* *is_right is false when the header of page i says what cannot be. */
static grebe_status fill_page(const struct header_bounds *x, uint32_t i, bool *is_right,
                              grebe_error *err)
{
    const struct pq_leaf *leaf = x->c->leaf;
    const struct pq_page *page = &x->c->pages->pages[i];
    struct column_bounds *b = &x->bounds[i];
    struct pq_page_header h;
    size_t len = 0;
    *is_right = false;
    if (pq_page_header_decode(x->c->bytes + page->offset, page->header_len, &h, &len, NULL) !=
        GREBE_OK) {
        return GREBE_OK;
    }
    b->n_values = page->n_rows;
    if (!count_nulls(leaf, &h, b)) {
        return GREBE_OK;
    }
    *is_right = true;
    if (!h.has_statistics) {
        return GREBE_OK; /* a page may be without */
    }
    const struct pq_statistics *s = &h.statistics;
    if (s->nan_count >= 0 && s->nan_count <= b->n_values) {
        b->has_nan_count = true;
        b->nan_count = s->nan_count;
    }
    grebe_status st = GREBE_OK;
    b->has_min = pq_bound_take(leaf, s->min_value, true, &b->min, &b->min_len);
    b->has_max = pq_bound_take(leaf, s->max_value, false, &b->max, &b->max_len);
    if (b->has_min) {
        st = keep_value(x->arena, &b->min, b->min_len, err);
    }
    if (b->has_max && st == GREBE_OK) {
        st = keep_value(x->arena, &b->max, b->max_len, err);
    }
    bool is_null = b->has_null_count && b->n_values > 0 && b->null_count == b->n_values;
    *is_right = !(is_null && (b->has_min || b->has_max)) &&
                pq_bounds_are_within(leaf->node->arrow, b, x->chunk);
    return st;
}

static bool is_same(const void *a, size_t a_len, const void *b, size_t b_len)
{
    return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

/* The pages together are what the footer says: its bounds are those of some page, its nulls theirs. */
static bool add_up(const struct header_bounds *x, uint32_t n)
{
    const struct column_bounds *chunk = x->chunk;
    bool has_min = false, has_max = false, has_nulls = true;
    int64_t n_nulls = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct column_bounds *b = &x->bounds[i];
        has_min = has_min || (b->has_min && is_same(b->min, b->min_len, chunk->min, chunk->min_len));
        has_max = has_max || (b->has_max && is_same(b->max, b->max_len, chunk->max, chunk->max_len));
        has_nulls = has_nulls && b->has_null_count;
        n_nulls += b->null_count;
    }
    return has_min && has_max &&
           (!has_nulls || !chunk->has_null_count || n_nulls == chunk->null_count);
}

static grebe_status fill_pages(const struct pq_chunk_data *c, const struct column_bounds *chunk,
                               int64_t n_rows, struct page_bounds *out, grebe_error *err)
{
    uint32_t n = c->pages->n;
    struct header_bounds x = { .c = c, .chunk = chunk, .arena = &out->arena };
    x.bounds = arena_array(&out->arena, n, sizeof *x.bounds);
    int64_t *row_begin = arena_array(&out->arena, (size_t)n + 1, sizeof *row_begin);
    if (x.bounds == NULL || row_begin == NULL) {
        return mem_fail(err, n * sizeof *x.bounds, "bounds of pages");
    }
    for (uint32_t i = 0; i < n; i++) {
        bool is_right = false;
        grebe_status st = fill_page(&x, i, &is_right, err);
        if (st != GREBE_OK || !is_right) {
            return st;
        }
        row_begin[i] = c->pages->pages[i].first_row;
    }
    row_begin[n] = n_rows;
    if (add_up(&x, n)) {
        out->row_begin = row_begin;
        out->bounds = x.bounds;
        out->n = n;
    }
    return GREBE_OK;
}

grebe_status pq_page_header_bounds(struct pq_reader *r, int column, size_t chunk,
                                   struct page_bounds *out, grebe_error *err)
{
    const struct pq_leaf *leaf = pq_leaf_of_column(r->file, column);
    struct column_bounds whole;
    struct pq_chunk_data c;
    if (r->io->map == NULL || !pq_has_known_order(r->file, leaf)) {
        return GREBE_OK; /* without a map the chunk's bytes would be fetched twice */
    }
    grebe_status st = pq_bounds(&r->base, column, chunk, &whole, err);
    if (st != GREBE_OK || !whole.has_min || !whole.has_max) {
        return st;
    }
    struct pq_scratch *s = pq_scratch_borrow(r, err);
    if (s == NULL) {
        return GREBE_ENOMEM;
    }
    st = pq_chunk_open(r, chunk, leaf->node->leaf, s, &c, NULL);
    if (st == GREBE_OK && c.pages->n > 1) {
        st = fill_pages(&c, &whole, r->file->groups[chunk].n_rows, out, err);
    } else if (st != GREBE_OK) {
        st = GREBE_OK; /* who reads a chunk that is wrong hears of it */
    }
    pq_chunk_close(&c);
    pq_scratch_return(r, s);
    return st;
}
