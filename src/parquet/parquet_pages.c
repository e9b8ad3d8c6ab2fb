/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a chunk: one walk over its page headers when the chunk is first touched.
 * It is cheap where bytes are mapped, and it makes every later access independent of what an
 * offset index claims: the index is believed only where it agrees with the headers.
 */
#include "parquet/parquet_page.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

struct walk {
    const struct pq_chunk_data *c;
    struct pq_pages *pages; /* room for `capacity` */
    size_t capacity;
    uint64_t at;      /* offset in the chunk */
    int64_t n_values; /* seen so far */
};

static size_t directory_bytes(size_t n)
{
    return sizeof(struct pq_pages) + n * sizeof(struct pq_page);
}

static grebe_status grow(struct walk *w, grebe_error *err)
{
    const grebe_allocator *a = w->c->reader->file->a;
    if (w->pages != NULL && w->pages->n < w->capacity) {
        return GREBE_OK;
    }
    size_t capacity = w->capacity == 0 ? 1 : w->capacity * 2;
    size_t old_bytes = w->pages == NULL ? 0 : directory_bytes(w->capacity);
    struct pq_pages *p = mem_resize(a, w->pages, old_bytes, directory_bytes(capacity));
    if (p == NULL) {
        return mem_fail(err, directory_bytes(capacity), "a page directory");
    }
    if (w->pages == NULL) {
        memset(p, 0, sizeof *p);
    }
    w->pages = p;
    w->capacity = capacity;
    p->size_bytes = directory_bytes(capacity);
    return GREBE_OK;
}

static void fill_page(struct pq_page *page, const struct pq_page_header *h, uint64_t offset,
                      size_t header_len)
{
    memset(page, 0, sizeof *page);
    page->offset = offset;
    page->header_len = (uint32_t)header_len;
    page->body_len = (uint32_t)h->compressed_size;
    page->raw_len = (uint32_t)h->uncompressed_size;
    page->crc = h->crc;
    page->has_crc = h->has_crc;
    page->n_values = (uint32_t)h->num_values;
    page->encoding = h->encoding >= 0 && h->encoding < 255 ? (uint8_t)h->encoding : 255;
    page->def_encoding = h->definition_encoding == PQ_RLE ? PQ_RLE : PQ_BIT_PACKED;
    page->rep_encoding = h->repetition_encoding == PQ_RLE ? PQ_RLE : PQ_BIT_PACKED;
    page->is_compressed = true;
    atomic_init(&page->facts, h->has_crc ? 0 : PQ_PAGE_CRC_IS_RIGHT);
    atomic_init(&page->rank, NULL);
}

static grebe_status add_dictionary(struct walk *w, const struct pq_page_header *h,
                                   size_t header_len, grebe_error *err)
{
    if (w->pages->has_dictionary || w->pages->n > 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          w->pages->has_dictionary ? "a second dictionary page"
                                                   : "a dictionary page behind a data page");
    }
    if (h->encoding != PQ_PLAIN && h->encoding != PQ_PLAIN_DICTIONARY) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "the dictionary page has the encoding %s",
                          pq_encoding_name(h->encoding));
    }
    w->pages->has_dictionary = true;
    fill_page(&w->pages->dictionary, h, w->at, header_len);
    return GREBE_OK;
}

static grebe_status add_data(struct walk *w, const struct pq_page_header *h, size_t header_len,
                             grebe_error *err)
{
    int64_t n_left = w->c->meta->num_values - w->n_values;
    if (h->num_values > n_left) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%d values, only %lld are left of the column's %lld",
                          h->num_values, (long long)n_left, (long long)w->c->meta->num_values);
    }
    grebe_status st = grow(w, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct pq_page *page = &w->pages->pages[w->pages->n];
    fill_page(page, h, w->at, header_len);
    page->n_rows = page->n_values;
    if (h->type == PQ_PAGE_DATA_V2) {
        if (h->definition_length < 0 || h->repetition_length < 0 || h->num_rows < 0 ||
            h->num_rows > h->num_values) {
            return GREBE_FAIL(err, GREBE_ECORRUPT,
                              "%d rows in %d values, %d and %d bytes of levels", h->num_rows,
                              h->num_values, h->repetition_length, h->definition_length);
        }
        page->is_v2 = true;
        page->is_compressed = h->is_compressed;
        page->def_len = (uint32_t)h->definition_length;
        page->rep_len = (uint32_t)h->repetition_length;
        page->n_rows = w->c->leaf->max_rep == 0 ? page->n_values : (uint32_t)h->num_rows;
    }
    w->pages->n++;
    w->n_values += h->num_values;
    return GREBE_OK;
}

static grebe_status read_page(struct walk *w, grebe_error *err)
{
    const struct pq_chunk_data *c = w->c;
    size_t left = c->len - (size_t)w->at;
    struct pq_page_header h;
    size_t header_len = 0;
    size_t window = min_size(left, PQ_PAGE_HEADER_BYTES_MAX);
    grebe_status st = pq_page_header_decode(c->bytes + w->at, window, &h, &header_len, err);
    if (st == GREBE_END) {
        return window < left
                   ? GREBE_FAIL(err, GREBE_ELIMIT, "page header: more than %zu bytes", window)
                   : GREBE_FAIL(
                         err, GREBE_ECORRUPT,
                         "the chunk ends inside a page header; %lld of %lld values were seen",
                         (long long)w->n_values, (long long)c->meta->num_values);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if ((size_t)h.compressed_size > left - header_len) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "page of %d bytes, %zu remain in the chunk",
                          h.compressed_size, left - header_len);
    }
    switch (h.type) {
    case PQ_PAGE_DATA:
    case PQ_PAGE_DATA_V2: st = add_data(w, &h, header_len, err); break;
    case PQ_PAGE_DICTIONARY: st = add_dictionary(w, &h, header_len, err); break;
    default: break; /* index pages and kinds unknown to us */
    }
    w->at += header_len + (size_t)h.compressed_size;
    return st;
}

/* ---- rows ---- */

grebe_status pq_offset_index_read(struct pq_reader *r, const struct pq_chunk *meta,
                                  struct arena *ar, struct pq_offset_index *out, grebe_error *err)
{
    const unsigned char *bytes;
    struct region *owner = NULL;
    memset(out, 0, sizeof *out);
    if (meta->offset_index_offset <= 0 || meta->offset_index_length <= 0 ||
        meta->offset_index_length > PQ_INDEX_BYTES_MAX ||
        !range_fits_u64((uint64_t)meta->offset_index_offset, (uint64_t)meta->offset_index_length,
                        r->file->footer_start)) {
        return GREBE_OK;
    }
    grebe_status st = pq_bytes_get(r, (uint64_t)meta->offset_index_offset,
                                   (uint64_t)meta->offset_index_length, &bytes, &owner, err);
    if (st == GREBE_OK) {
        st = pq_offset_index_decode(ar, bytes, (size_t)meta->offset_index_length, out, err);
        if (st == GREBE_ECORRUPT) {
            memset(out, 0, sizeof *out); /* an index is a help, never a need */
            st = GREBE_OK;
        }
    }
    region_drop(owner); /* numbers only: nothing of it points into the bytes */
    return st;
}

/* Rows by the offset index; false when it says other things than the page headers. */
static bool take_rows(struct pq_pages *p, const struct pq_offset_index *index,
                      const struct pq_chunk_data *c, int64_t n_rows)
{
    if (index->n != p->n || p->n == 0 || index->first_row[0] != 0) {
        return false;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        const struct pq_page *page = &p->pages[i];
        int64_t end = i + 1 < p->n ? index->first_row[i + 1] : n_rows;
        int64_t rows = end - index->first_row[i];
        if (index->offset[i] < 0 || (uint64_t)index->offset[i] != c->start + page->offset ||
            index->size[i] < 0 ||
            (uint64_t)index->size[i] != (uint64_t)page->header_len + page->body_len ||
            end > n_rows || rows < 0 || rows > page->n_values ||
            (rows == 0 && page->n_values > 0)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t end = i + 1 < p->n ? index->first_row[i + 1] : n_rows;
        p->pages[i].n_rows = (uint32_t)(end - index->first_row[i]);
    }
    return true;
}

static grebe_status count_rows(const struct pq_chunk_data *c, struct pq_pages *p,
                               struct pq_scratch *s, grebe_error *err)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct pq_page_view view;
        struct pq_page *page = &p->pages[i];
        bool begins_row = true;
        uint32_t n_rows = 0;
        if (page->n_values == 0) {
            page->n_rows = 0;
            continue;
        }
        grebe_status st = pq_page_open(c, page, s, &view, err);
        if (st == GREBE_OK) {
            st = pq_levels_count_zero(&view.rep, &n_rows, &begins_row, err);
        }
        if (st != GREBE_OK) {
            return pq_page_wrap(c, page, st, err);
        }
        page->n_rows = n_rows;
        page->begins_inside_row = !begins_row;
        if (i == 0 && !begins_row) {
            return pq_page_wrap(
                c, page, GREBE_FAIL(err, GREBE_ECORRUPT, "the first repetition level is not 0"),
                err);
        }
    }
    return GREBE_OK;
}

/* v1 pages of a repeated column do not say how many rows begin in them. */
static grebe_status find_rows(const struct pq_chunk_data *c, struct pq_pages *p,
                              struct pq_scratch *s, grebe_error *err)
{
    struct pq_group *g = &c->reader->file->groups[c->chunk];
    struct arena ar = ARENA_INIT(c->reader->file->a);
    struct pq_offset_index index;
    bool is_known = true;
    grebe_status st = GREBE_OK;

    for (uint32_t i = 0; i < p->n; i++) {
        is_known = is_known && p->pages[i].is_v2;
    }
    if (c->leaf->max_rep > 0 && !is_known) {
        /* Where the levels lie open, counting them costs less than trusting. */
        if (c->codec != CODEC_NONE) {
            st = pq_offset_index_read(c->reader, c->meta, &ar, &index, err);
            is_known = st == GREBE_OK && take_rows(p, &index, c, g->n_rows);
        }
        if (st == GREBE_OK && !is_known) {
            st = count_rows(c, p, s, err);
        }
        arena_release(&ar);
        if (st != GREBE_OK) {
            return st;
        }
    }
    int64_t row = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        p->pages[i].first_row = row;
        row += p->pages[i].n_rows;
    }
    if (row != g->n_rows) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%lld rows in the pages, the row group has %lld",
                          (long long)row, (long long)g->n_rows);
    }
    return GREBE_OK;
}

static grebe_status check_magic(const struct pq_chunk_data *c, grebe_error *err)
{
    const struct region *map = c->reader->io->map;
    if (map != NULL && map->len >= 4 && memcmp(map->data, "PAR1", 4) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "the file does not begin with \"PAR1\"");
    }
    return GREBE_OK;
}

grebe_status pq_pages_build(const struct pq_chunk_data *c, struct pq_scratch *s,
                            struct pq_pages **out, grebe_error *err)
{
    struct walk w = { .c = c };
    grebe_status st = GREBE_OK;
    *out = NULL;
    GREBE_TRY(check_magic(c, err));
    GREBE_TRY(grow(&w, err));
    while (w.n_values < c->meta->num_values) {
        uint64_t at = w.at;
        st = read_page(&w, err);
        if (st != GREBE_OK) {
            error_at(err, st, c->start + at);
            error_wrap(err, st, "page at %llu", (unsigned long long)(c->start + at));
            goto out;
        }
    }
    GREBE_TRY(find_rows(c, w.pages, s, err));
    *out = w.pages;
    w.pages = NULL;
out:
    if (w.pages != NULL) {
        mem_free(c->reader->file->a, w.pages, w.pages->size_bytes);
    }
    return st;
}
