/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_rank.h"

#include <string.h>

#include "arrow/arrow_array.h"

/* Whether n bytes are all `value`. */
static bool bytes_are(const uint8_t *p, size_t n, uint8_t value)
{
    return n == 0 || (p[0] == value && memcmp(p, p + 1, n - 1) == 0);
}

bool pq_find_lists(const struct pq_leaf *leaf, const struct pq_page *page, const uint8_t *rep,
                   const uint8_t *def, uint8_t *bits, uint32_t *len, uint32_t *n_lists)
{
    uint8_t list_def = (uint8_t)(leaf->node->def_slot - 1);
    uint32_t n = page->n_values;
    uint32_t i = 0;
    memset(bits, 0, (page->n_rows + 7) / 8);
    *n_lists = 0;
    for (uint32_t row = 0; row < page->n_rows; row++) {
        if (i == n || rep[i] != 0) {
            return false;
        }
        if (def[i] < list_def) {
            /* Null; entries that go on with it are DuckDB's and stand for nothing. */
            for (i++; i < n && rep[i] == 1 && def[i] < list_def; i++) {
            }
            continue;
        }
        if (*len == 0) {
            uint32_t end = i + 1;
            while (end < n && rep[end] == 1) {
                end++;
            }
            *len = end - i;
        }
        if (n - i < *len || !bytes_are(def + i, *len, leaf->max_def) ||
            !bytes_are(rep + i + 1, *len - 1, 1)) {
            return false;
        }
        bits[row / 8] |= (uint8_t)(1u << row % 8);
        ++*n_lists;
        i += *len;
    }
    return i == n;
}

/* The rows that hold something; *is_ranked false: the page holds other things than it may. */
static grebe_status find_rows(const struct pq_chunk_data *c, const struct pq_page *page,
                              const struct pq_page_view *view, struct pq_scratch *s, uint8_t *bits,
                              uint32_t *per_row, uint32_t *n_present, bool *is_ranked,
                              grebe_error *err)
{
    *is_ranked = false;
    *per_row = 1;
    if (c->leaf->max_rep == 0) {
        grebe_status st = pq_levels_to_bits(&view->def, bits, err);
        if (st == GREBE_OK) {
            *n_present = (uint32_t)bitmap_count(bits, 0, page->n_rows);
            *is_ranked = true;
        }
        return st;
    }
    uint8_t *rep = pq_space_get(s, &s->rep, page->n_values, err);
    uint8_t *def = pq_space_get(s, &s->def, page->n_values, err);
    if (rep == NULL || def == NULL) {
        return GREBE_ENOMEM;
    }
    grebe_status st = pq_levels_decode(&view->rep, rep, err);
    if (st == GREBE_OK) {
        st = pq_levels_decode(&view->def, def, err);
    }
    *per_row = 0;
    *is_ranked = st == GREBE_OK && pq_find_lists(c->leaf, page, rep, def, bits, per_row, n_present);
    return st;
}

/* Kinds of pages that can be looked at; the rest is seen from the levels. */
static bool may_be_ranked(const struct pq_chunk_data *c, const struct pq_page *page)
{
    const struct pq_node *node = c->leaf->node;
    bool is_open = c->codec == CODEC_NONE || (page->is_v2 && !page->is_compressed);
    return is_open && page->encoding == PQ_PLAIN && node->width_in > 0 &&
           node->convert != PQ_CONVERT_NULL && !page->begins_inside_row && page->n_rows > 0 &&
           c->leaf->max_def > 0 &&
           (c->leaf->max_rep == 0 ? node->is_row_field && c->leaf->max_def == 1
                                  : c->leaf->is_list_element);
}

static grebe_status make(const struct pq_chunk_data *c, const struct pq_page *page,
                         const struct pq_page_view *view, uint32_t value_offset,
                         struct pq_scratch *s, struct pq_rank **out, grebe_error *err)
{
    const grebe_allocator *a = c->reader->file->a;
    size_t n_blocks = (size_t)page->n_rows / PQ_RANK_BLOCK + 1;
    size_t bits_len = ((size_t)page->n_rows + 7) / 8;
    size_t size = sizeof(struct pq_rank) + n_blocks * sizeof(uint32_t) + bits_len;
    struct pq_rank *r = mem_alloc(a, size);
    bool is_ranked = false;
    if (r == NULL) {
        return mem_fail(err, size, "rows of a page");
    }
    uint8_t *bits = (uint8_t *)(r->before + n_blocks);
    *r = (struct pq_rank){ .size_bytes = size,
                           .n_rows = page->n_rows,
                           .value_offset = value_offset,
                           .bits = bits };
    grebe_status st =
        find_rows(c, page, view, s, bits, &r->per_row, &r->n_present, &is_ranked, err);
    uint64_t width = (uint32_t)c->leaf->node->width_in;
    if (st != GREBE_OK || !is_ranked ||
        (uint64_t)r->n_present * r->per_row * width != view->values_len) {
        /* More bytes than values, or fewer: the decoder knows what to make of it. */
        mem_free(a, r, size);
        return st;
    }
    uint32_t n = 0;
    for (size_t i = 0; i < n_blocks; i++) {
        int64_t begin = (int64_t)i * PQ_RANK_BLOCK;
        int64_t left = (int64_t)page->n_rows - begin;
        r->before[i] = n;
        n += (uint32_t)bitmap_count(bits, begin, left < PQ_RANK_BLOCK ? left : PQ_RANK_BLOCK);
    }
    *out = r;
    return GREBE_OK;
}

grebe_status pq_rank_get(const struct pq_chunk_data *c, struct pq_page *page,
                         struct pq_scratch *s, bool may_make, const struct pq_rank **out,
                         grebe_error *err)
{
    struct pq_rank *r = atomic_load_explicit(&page->rank, memory_order_acquire);
    struct pq_page_view view;
    *out = r;
    if (r != NULL || !may_make || !may_be_ranked(c, page) ||
        (atomic_load_explicit(&page->facts, memory_order_acquire) & PQ_PAGE_IS_NOT_RANKED) != 0) {
        return GREBE_OK;
    }
    grebe_status st = pq_page_open(c, page, s, &view, err);
    if (st != GREBE_OK) {
        return st;
    }
    const unsigned char *body = c->bytes + page->offset + page->header_len;
    st = make(c, page, &view, (uint32_t)(view.values - body), s, &r, err);
    if (st == GREBE_OK && r == NULL) {
        atomic_fetch_or_explicit(&page->facts, PQ_PAGE_IS_NOT_RANKED, memory_order_release);
    } else if (st == GREBE_OK) {
        struct pq_rank *other = NULL;
        if (!atomic_compare_exchange_strong(&page->rank, &other, r)) {
            mem_free(c->reader->file->a, r, r->size_bytes); /* somebody was faster */
            r = other;
        }
        *out = r;
    }
    return st;
}

uint32_t pq_rank_before(const struct pq_rank *r, int64_t row)
{
    int64_t block = row / PQ_RANK_BLOCK;
    int64_t begin = block * PQ_RANK_BLOCK;
    return r->before[block] + (uint32_t)bitmap_count(r->bits, begin, row - begin);
}
