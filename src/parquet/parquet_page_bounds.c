/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a column index tells of pages. It is a help and no need: anything about it or its offset
 * index that does not fit the chunk, the chunk's statistics or the page headers, and it is passed
 * over as a whole (spec 8.4: some writers mark every page as one of nulls).
 */
#include "parquet/parquet_bounds.h"

#include <string.h>

#include "base/checked.h"
#include "parquet/parquet_fetch.h"
#include "parquet/parquet_format.h"

struct page_index {
    struct pq_reader *reader;
    const struct pq_leaf *leaf;
    const struct pq_chunk *meta;
    size_t chunk;
    int64_t n_rows; /* of the row group */
    struct pq_offset_index offsets;
    struct pq_column_index columns;
};

static int64_t page_rows(const struct page_index *x, uint32_t i)
{
    int64_t end = i + 1 < x->offsets.n ? x->offsets.first_row[i + 1] : x->n_rows;
    return end - x->offsets.first_row[i];
}

/* The file may say that the chunk is one page: then its pages are not worth asking for. */
static bool is_one_page(const struct pq_chunk *c)
{
    int64_t n = 0;
    for (int32_t i = 0; i < c->n_encoding_stats; i++) {
        const struct pq_encoding_stats *e = &c->encoding_stats[i];
        n += e->page_type == PQ_PAGE_DATA || e->page_type == PQ_PAGE_DATA_V2 ? e->count : 0;
    }
    return n == 1;
}

static bool offsets_make_sense(const struct page_index *x)
{
    const struct pq_offset_index *o = &x->offsets;
    struct pq_range range = pq_chunk_range(x->reader->file, x->meta);
    uint64_t at = range.start;
    if (o->first_row[0] != 0) {
        return false;
    }
    for (uint32_t i = 0; i < o->n; i++) {
        if (page_rows(x, i) < 0 || page_rows(x, i) > x->n_rows || o->size[i] <= 0 ||
            o->offset[i] < 0 || (uint64_t)o->offset[i] < at ||
            !range_fits_u64((uint64_t)o->offset[i] - range.start, (uint64_t)o->size[i],
                            range.len)) {
            return false;
        }
        at = (uint64_t)o->offset[i] + (uint64_t)o->size[i];
    }
    return true;
}

/* Null counts against pages, against the column, and in all against the chunk's statistics. */
static bool nulls_make_sense(const struct page_index *x)
{
    const struct pq_column_index *c = &x->columns;
    bool is_required = x->leaf->max_def == 0;
    int64_t at_least = 0, total = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        int64_t rows = page_rows(x, i);
        int64_t nulls = c->null_counts == NULL ? (c->null_pages[i] ? rows : 0) : c->null_counts[i];
        if (nulls < 0 || nulls > rows || (c->null_pages[i] && (nulls != rows || is_required)) ||
            (!c->null_pages[i] && nulls == rows && rows > 0)) {
            return false;
        }
        at_least += c->null_pages[i] ? rows : 0;
        total += nulls;
    }
    const struct pq_statistics *s = &x->meta->statistics;
    if (!x->meta->has_statistics) {
        return false; /* nothing that agrees */
    }
    return s->null_count < 0 || (at_least <= s->null_count &&
                                 (c->null_counts == NULL || total == s->null_count));
}

/* The page headers say the same as the offset index. They are looked at where that costs nothing but
 * the touch: in a mapped file. */
static bool headers_agree(const struct page_index *x)
{
    struct pq_chunk_data c;
    if (x->reader->io->map == NULL) {
        return true;
    }
    struct pq_scratch *s = pq_scratch_borrow(x->reader, NULL);
    if (s == NULL) {
        return false;
    }
    uint32_t leaf = (uint32_t)(x->leaf - x->reader->file->schema.leaves);
    grebe_status st = pq_chunk_open(x->reader, x->chunk, leaf, s, &c, NULL);
    bool agree = st == GREBE_OK && c.pages->n == x->offsets.n;
    for (uint32_t i = 0; agree && i < c.pages->n; i++) {
        agree = (uint64_t)x->offsets.offset[i] == c.start + c.pages->pages[i].offset &&
                x->offsets.first_row[i] == c.pages->pages[i].first_row;
    }
    pq_chunk_close(&c);
    pq_scratch_return(x->reader, s);
    return agree;
}

/* The column index, its bytes kept in the arena; n is 0 when there is none to use. */
static grebe_status read_column_index(struct page_index *x, struct arena *ar, grebe_error *err)
{
    const unsigned char *bytes = NULL;
    struct region *owner = NULL;
    uint64_t offset = (uint64_t)x->meta->column_index_offset;
    size_t len = (size_t)x->meta->column_index_length;
    if (!range_fits_u64(offset, len, x->reader->file->footer_start)) {
        return GREBE_OK;
    }
    grebe_status st = pq_bytes_get(x->reader, offset, len, &bytes, &owner, err);
    if (st != GREBE_OK) {
        return st;
    }
    unsigned char *copy = arena_alloc(ar, len);
    if (copy == NULL) {
        st = mem_fail(err, len, "a column index");
    } else {
        memcpy(copy, bytes, len);
        st = pq_column_index_decode(ar, copy, len, &x->columns, err);
    }
    region_drop(owner);
    if (st == GREBE_ECORRUPT || st == GREBE_ELIMIT) {
        x->columns.n = 0;
        st = GREBE_OK;
    }
    return st;
}

static void fill_bounds(const struct page_index *x, bool has_order, uint32_t i,
                        struct column_bounds *out)
{
    const struct pq_column_index *c = &x->columns;
    int64_t rows = page_rows(x, i);
    out->n_values = rows;
    out->has_null_count = x->leaf->max_def == 0 || c->null_counts != NULL || c->null_pages[i];
    out->null_count = x->leaf->max_def == 0     ? 0
                      : c->null_counts != NULL ? c->null_counts[i]
                      : c->null_pages[i]       ? rows
                                               : 0;
    if (c->nan_counts != NULL && c->nan_counts[i] >= 0 && c->nan_counts[i] <= rows) {
        out->has_nan_count = true;
        out->nan_count = c->nan_counts[i];
    }
    if (has_order && !c->null_pages[i]) {
        out->has_min = pq_bound_take(x->leaf, c->min[i], true, &out->min, &out->min_len);
        out->has_max = pq_bound_take(x->leaf, c->max[i], false, &out->max, &out->max_len);
    }
}

static grebe_status make_bounds(const struct page_index *x, int column, struct page_bounds *out,
                                grebe_error *err)
{
    uint32_t n = x->offsets.n;
    struct column_bounds chunk;
    struct column_bounds *bounds = arena_array(&out->arena, n, sizeof *bounds);
    int64_t *row_begin = arena_array(&out->arena, (size_t)n + 1, sizeof *row_begin);
    if (bounds == NULL || row_begin == NULL) {
        return mem_fail(err, n * sizeof *bounds, "bounds of pages");
    }
    grebe_status st = pq_bounds(&x->reader->base, column, x->chunk, &chunk, err);
    bool has_order = pq_has_known_order(x->reader->file, x->leaf);
    for (uint32_t i = 0; i < n && st == GREBE_OK; i++) {
        row_begin[i] = x->offsets.first_row[i];
        fill_bounds(x, has_order, i, &bounds[i]);
        if (!pq_bounds_are_within(x->leaf->node->arrow, &bounds[i], &chunk)) {
            return GREBE_OK;
        }
    }
    row_begin[n] = x->n_rows;
    out->row_begin = row_begin;
    out->bounds = bounds;
    out->n = n;
    return st;
}

grebe_status pq_page_bounds(struct format_reader *base, int column, size_t chunk,
                            struct page_bounds *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct pq_reader *r = (struct pq_reader *)base;
    const struct pq_file *f = r->file;
    memset(out, 0, sizeof *out);
    out->arena = ARENA_INIT(base->ctx->a);
    if (column < 0 || (uint32_t)column >= f->schema.n_columns || chunk >= f->n_chunks) {
        return GREBE_FAIL(err, GREBE_EINVAL, "column %d, chunk %zu: out of range", column, chunk);
    }
    const struct pq_leaf *leaf = pq_leaf_of_column(f, column);
    if (leaf == NULL || leaf->max_rep > 0 || leaf->node->convert == PQ_CONVERT_NULL) {
        return GREBE_OK;
    }
    const struct pq_row_group *g = &f->footer.row_groups[f->groups[chunk].index];
    struct page_index x = { .reader = r, .leaf = leaf, .chunk = chunk, .n_rows = g->num_rows };
    x.meta = pq_chunk_of(f, chunk, leaf->node->leaf);
    if (is_one_page(x.meta) || pq_chunk_check(f, g, leaf, NULL) != GREBE_OK) {
        return GREBE_OK; /* who reads a chunk that is wrong hears of it */
    }
    if (x.meta->column_index_offset == 0 && x.meta->column_index_length == 0) {
        return pq_page_header_bounds(r, column, chunk, out, err);
    }
    if (x.meta->column_index_offset <= 0 || x.meta->column_index_length <= 0 ||
        x.meta->column_index_length > PQ_INDEX_BYTES_MAX) {
        return GREBE_OK;
    }
    GREBE_TRY(pq_offset_index_read(r, x.meta, &out->arena, &x.offsets, err));
    if (x.offsets.n < 2 || !offsets_make_sense(&x)) {
        goto out;
    }
    GREBE_TRY(read_column_index(&x, &out->arena, err));
    if (x.columns.n == x.offsets.n && nulls_make_sense(&x) && headers_agree(&x)) {
        st = make_bounds(&x, column, out, err);
    }
out:
    return st;
}
