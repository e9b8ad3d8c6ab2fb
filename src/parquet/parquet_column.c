/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_column.h"

#include <assert.h>
#include <string.h>

#include "parquet/parquet_rank.h"

/* One call of pq_column_append(). */
struct appender {
    struct pq_chunk_data c;
    struct pq_dictionary dictionary;
    struct pq_scratch *s;
    struct pq_out *out;
    bool may_view;
    grebe_error *err;
};

/* ---- values in place ---- */

/* Values of `width` bytes as an Arrow buffer: the consumer loads them by their natural type. */
static bool is_aligned(const unsigned char *p, int32_t width)
{
    unsigned align = width % 8 == 0 ? 8 : width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1;
    return (uintptr_t)p % align == 0;
}

static grebe_status append_dense(struct appender *ap, const unsigned char *values,
                                 const struct pq_run *runs, size_t n_runs, uint32_t per_row)
{
    struct pq_out *out = ap->out;
    int32_t width = out->node->width_in;
    int64_t n_rows = 0;
    for (size_t i = 0; i < n_runs; i++) {
        const unsigned char *src = values + (size_t)runs[i].begin * per_row * (size_t)width;
        int64_t n = runs[i].n * per_row;
        n_rows += runs[i].n;
        if (ap->may_view && n_runs == 1 && out->n_rows == 0 && runs[i].n == out->rows_expected &&
            out->node->convert == PQ_CONVERT_COPY && is_aligned(src, width)) {
            out->view = src;
            out->view_owner = region_keep(ap->c.owner);
            out->n_values = n;
            break;
        }
        grebe_status st = pq_values_append_fixed(out, src, n, ap->err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    out->n_rows += n_rows;
    return pq_out_add_validity(out, NULL, 0, n_rows, ap->err);
}

/* Lists of this page have `len` elements: false when those before had another length. */
static bool fits_lists(struct pq_out *out, uint32_t len)
{
    if (out->list_len == 0) {
        out->list_len = len;
    }
    return out->list_len == len;
}

/* ---- values in place, nulls left out ---- */

static grebe_status append_ranked(struct appender *ap, const struct pq_page *page,
                                  const struct pq_rank *rank, const struct pq_run *runs,
                                  size_t n_runs)
{
    struct pq_out *out = ap->out;
    const unsigned char *values =
        ap->c.bytes + page->offset + page->header_len + rank->value_offset;
    size_t row_bytes = (size_t)rank->per_row * (size_t)out->node->width_in;
    bool has_nulls = rank->n_present < rank->n_rows;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n_runs && st == GREBE_OK; i++) {
        int64_t n = bitmap_count(rank->bits, runs[i].begin, runs[i].n);
        if (n > 0) {
            st = pq_values_append_fixed(
                out, values + pq_rank_before(rank, runs[i].begin) * row_bytes, n * rank->per_row,
                ap->err);
        }
        if (st == GREBE_OK) {
            st = pq_out_add_validity(out, has_nulls ? rank->bits : NULL, runs[i].begin, runs[i].n,
                                     ap->err);
            out->n_rows += runs[i].n;
        }
    }
    return st;
}

/* Single rows are worth finding out where they are; most of a page is decoded at once. */
static bool are_few(const struct pq_page *page, const struct pq_run *runs, size_t n_runs)
{
    uint64_t n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        n += (uint64_t)runs[i].n;
    }
    return n < page->n_rows / 4;
}

static bool fits_ranked(struct pq_out *out, const struct pq_rank *rank)
{
    return out->mode == PQ_OUT_FLAT || rank->n_present == 0 || fits_lists(out, rank->per_row);
}

/* ---- flat columns ---- */

/* Runs of rows as runs of the values that are not null. */
static size_t rank_runs(const uint8_t *bits, const struct pq_run *runs, size_t n_runs,
                        struct pq_run *out)
{
    int64_t at = 0, rank = 0;
    size_t n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        if (runs[i].begin >= at) {
            rank += bitmap_count(bits, at, runs[i].begin - at);
        } else {
            rank -= bitmap_count(bits, runs[i].begin, at - runs[i].begin);
        }
        int64_t count = bitmap_count(bits, runs[i].begin, runs[i].n);
        if (count > 0) {
            out[n++] = (struct pq_run){ rank, count };
        }
        rank += count;
        at = runs[i].begin + runs[i].n;
    }
    return n;
}

static grebe_status append_flat(struct appender *ap, const struct pq_page *page,
                                const struct pq_page_view *view, const struct pq_run *runs,
                                size_t n_runs)
{
    struct pq_out *out = ap->out;
    grebe_status st = GREBE_OK;
    uint32_t n_present = page->n_values;
    const struct pq_run *value_runs = runs;
    size_t n_value_runs = n_runs;
    const uint8_t *bits = NULL;

    if (!pq_levels_are_max(&view->def)) {
        uint8_t *levels = pq_space_get(ap->s, &ap->s->def, (page->n_values + 7) / 8, ap->err);
        struct pq_run *ranked =
            pq_space_get(ap->s, &ap->s->value_runs, n_runs * sizeof *ranked, ap->err);
        if (levels == NULL || ranked == NULL) {
            return GREBE_ENOMEM;
        }
        st = pq_levels_to_bits(&view->def, levels, ap->err);
        if (st != GREBE_OK) {
            return st;
        }
        int64_t n_valid = bitmap_count(levels, 0, page->n_values);
        n_present = (uint32_t)n_valid;
        if (n_present < page->n_values) {
            bits = levels;
            n_value_runs = rank_runs(levels, runs, n_runs, ranked);
            value_runs = ranked;
        }
    }
    st = pq_values_append(&ap->c, &ap->dictionary, page, view->values, view->values_len, n_present,
                          value_runs, n_value_runs, ap->s, out, ap->err);
    for (size_t i = 0; i < n_runs && st == GREBE_OK; i++) {
        bool has_nulls = bits != NULL;
        st = pq_out_add_validity(out, has_nulls ? bits : NULL, runs[i].begin, runs[i].n, ap->err);
        out->n_rows += runs[i].n;
    }
    return st;
}

/* ---- lists of one length ---- */

/* Values of the lists in the runs, which are runs of lists that are not null. */
static grebe_status append_list_values(struct appender *ap, const struct pq_page *page,
                                       const struct pq_page_view *view, uint32_t n_present,
                                       struct pq_run *runs, size_t n_runs, uint32_t len)
{
    for (size_t i = 0; i < n_runs; i++) {
        runs[i].begin *= len;
        runs[i].n *= len;
    }
    return pq_values_append(&ap->c, &ap->dictionary, page, view->values, view->values_len,
                            n_present, runs, n_runs, ap->s, ap->out, ap->err);
}

static grebe_status add_list_rows(struct appender *ap, const uint8_t *bits,
                                  const struct pq_run *runs, size_t n_runs)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n_runs && st == GREBE_OK; i++) {
        st = pq_out_add_validity(ap->out, bits, runs[i].begin, runs[i].n, ap->err);
        ap->out->n_rows += runs[i].n;
    }
    return st;
}

/* *done is false, and nothing has changed, when the page holds other lists. */
static grebe_status append_lists(struct appender *ap, const struct pq_page *page,
                                 const struct pq_page_view *view, const struct pq_run *runs,
                                 size_t n_runs, bool *done)
{
    *done = false;
    uint32_t len = page->n_rows == 0 ? 0 : page->n_values / page->n_rows;
    if (page->begins_inside_row || len == 0 || page->n_values % page->n_rows != 0 ||
        !pq_levels_are_max(&view->def) || !pq_levels_are_periodic(&view->rep, &len) ||
        !fits_lists(ap->out, len)) {
        return GREBE_OK;
    }
    struct pq_run *scaled =
        pq_space_get(ap->s, &ap->s->value_runs, n_runs * sizeof *scaled, ap->err);
    if (scaled == NULL) {
        return GREBE_ENOMEM;
    }
    memcpy(scaled, runs, n_runs * sizeof *scaled);
    *done = true;
    grebe_status st = append_list_values(ap, page, view, page->n_values, scaled, n_runs, len);
    return st == GREBE_OK ? add_list_rows(ap, NULL, runs, n_runs) : st;
}

/* ---- lists of one length among null lists ---- */

static grebe_status append_null_lists(struct appender *ap, const struct pq_page *page,
                                      const struct pq_page_view *view, const struct pq_run *runs,
                                      size_t n_runs, bool *done)
{
    struct pq_scratch *s = ap->s;
    uint32_t len = ap->out->list_len, n_lists = 0;
    *done = false;
    if (page->begins_inside_row || page->n_rows == 0) {
        return GREBE_OK;
    }
    uint8_t *rep = pq_space_get(s, &s->rep, page->n_values, ap->err);
    uint8_t *def = pq_space_get(s, &s->def, page->n_values, ap->err);
    uint8_t *bits = pq_space_get(s, &s->rows, (page->n_rows + 7) / 8, ap->err);
    struct pq_run *ranked = pq_space_get(s, &s->value_runs, n_runs * sizeof *ranked, ap->err);
    if (rep == NULL || def == NULL || bits == NULL || ranked == NULL) {
        return GREBE_ENOMEM;
    }
    grebe_status st = pq_levels_decode(&view->rep, rep, ap->err);
    if (st == GREBE_OK) {
        st = pq_levels_decode(&view->def, def, ap->err);
    }
    if (st != GREBE_OK || !pq_find_lists(ap->c.leaf, page, rep, def, bits, &len, &n_lists)) {
        return st;
    }
    *done = true;
    ap->out->list_len = len;
    size_t n_ranked = rank_runs(bits, runs, n_runs, ranked);
    st = append_list_values(ap, page, view, n_lists * len, ranked, n_ranked, len);
    return st == GREBE_OK ? add_list_rows(ap, bits, runs, n_runs) : st;
}

/* ---- levels ---- */

/* Entries of one page with their rows found. */
struct entries {
    uint8_t *rep, *def; /* rep NULL: every entry begins a row */
    uint32_t n;
    uint32_t n_present;
    uint32_t *row_begin;   /* entry where each row begins, shape [n_rows + 1] */
    uint32_t *value_begin; /* values before it, same shape */
};

static grebe_status find_rows(const struct appender *ap, const struct pq_page *page,
                              struct entries *e)
{
    uint32_t max_def = ap->c.leaf->max_def;
    uint32_t row = 0, present = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->rep == NULL || e->rep[i] == 0) {
            if (row == page->n_rows) {
                row = UINT32_MAX; /* more rows than the page has */
                break;
            }
            e->row_begin[row] = i;
            e->value_begin[row] = present;
            row++;
        }
        present += e->def == NULL || e->def[i] == max_def;
    }
    if (row != page->n_rows) {
        return GREBE_FAIL(ap->err, GREBE_ECORRUPT, "the repetition levels begin other than %u rows",
                          page->n_rows);
    }
    bool begins_inside = e->n > 0 && (page->n_rows == 0 || e->row_begin[0] != 0);
    if (begins_inside != page->begins_inside_row) {
        return GREBE_FAIL(ap->err, GREBE_ECORRUPT, "the first repetition level is not 0");
    }
    e->row_begin[row] = e->n;
    e->value_begin[row] = present;
    e->n_present = present;
    return GREBE_OK;
}

static grebe_status read_entries(struct appender *ap, const struct pq_page *page,
                                 const struct pq_page_view *view, struct entries *e)
{
    struct pq_scratch *s = ap->s;
    size_t n = page->n_values;
    size_t row_bytes = ((size_t)page->n_rows + 1) * sizeof(uint32_t);
    memset(e, 0, sizeof *e);
    e->n = page->n_values;
    e->rep = ap->c.leaf->max_rep == 0 ? NULL : pq_space_get(s, &s->rep, n, ap->err);
    e->def = pq_space_get(s, &s->def, n, ap->err);
    e->row_begin = pq_space_get(s, &s->rows, 2 * row_bytes, ap->err);
    if ((ap->c.leaf->max_rep > 0 && e->rep == NULL) || e->def == NULL || e->row_begin == NULL) {
        return GREBE_ENOMEM;
    }
    e->value_begin = e->row_begin + page->n_rows + 1;
    grebe_status st = pq_levels_decode(&view->def, e->def, ap->err);
    if (st == GREBE_OK && e->rep != NULL) {
        st = pq_levels_decode(&view->rep, e->rep, ap->err);
    }
    /* An entry that goes on with a list that is null or empty is neither slot nor element and
     * so left out in assembly: DuckDB 2 writes one for each element of a null array. */
    return st == GREBE_OK ? find_rows(ap, page, e) : st;
}

static grebe_status append_levels(struct appender *ap, const struct entries *e, uint32_t begin,
                                  uint32_t end)
{
    struct pq_out *out = ap->out;
    size_t n = end - begin;
    grebe_status st = pq_block_reserve(out, &out->def, n, ap->err);
    if (st == GREBE_OK && e->rep != NULL) {
        st = pq_block_reserve(out, &out->rep, n, ap->err);
    }
    if (st != GREBE_OK || n == 0) {
        return st;
    }
    memcpy(out->def.region->data + out->def.len, e->def + begin, n);
    out->def.len += n;
    if (e->rep != NULL) {
        memcpy(out->rep.region->data + out->rep.len, e->rep + begin, n);
        out->rep.len += n;
    }
    out->n_entries += (int64_t)n;
    return GREBE_OK;
}

/* is_head: also what stands before the first row of the page, the end of the row before. */
static grebe_status append_entries(struct appender *ap, const struct pq_page *page,
                                   const struct pq_page_view *view, const struct pq_run *runs,
                                   size_t n_runs, bool is_head)
{
    struct entries e;
    struct pq_out *out = ap->out;
    grebe_status st = pq_out_to_levels(out, ap->err);
    if (st == GREBE_OK) {
        st = read_entries(ap, page, view, &e);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct pq_run *values =
        pq_space_get(ap->s, &ap->s->value_runs, (n_runs + 1) * sizeof *values, ap->err);
    if (values == NULL) {
        return GREBE_ENOMEM;
    }
    size_t n_values = 0;
    if (is_head) {
        st = append_levels(ap, &e, 0, e.row_begin[0]);
        values[n_values++] = (struct pq_run){ 0, e.value_begin[0] };
    }
    for (size_t i = 0; i < n_runs && st == GREBE_OK; i++) {
        size_t end = (size_t)(runs[i].begin + runs[i].n);
        st = append_levels(ap, &e, e.row_begin[runs[i].begin], e.row_begin[end]);
        uint32_t value = e.value_begin[runs[i].begin];
        uint32_t n = e.value_begin[end] - value;
        if (n > 0) {
            values[n_values++] = (struct pq_run){ value, n };
        }
        out->n_rows += runs[i].n;
    }
    return st == GREBE_OK
               ? pq_values_append(&ap->c, &ap->dictionary, page, view->values, view->values_len,
                                  e.n_present, values, n_values, ap->s, out, ap->err)
               : st;
}

/* ---- pages ---- */

static grebe_status append_page(struct appender *ap, struct pq_page *page,
                                const struct pq_run *runs, size_t n_runs, bool is_head)
{
    struct pq_out *out = ap->out;
    struct pq_page_view view;
    const unsigned char *dense = NULL;
    const struct pq_rank *rank = NULL;
    grebe_status st = GREBE_OK;

    /* What is known of the page may have been found by a reader that does not compare. */
    st = pq_page_verify(&ap->c, page, ap->err);
    if (st == GREBE_OK && out->mode != PQ_OUT_LEVELS && !is_head && page->n_rows > 0) {
        st = pq_page_dense(&ap->c, page, &dense, ap->err);
        uint32_t per_row = page->n_values / page->n_rows;
        if (st == GREBE_OK && dense != NULL &&
            (out->mode == PQ_OUT_FLAT || fits_lists(out, per_row))) {
            return append_dense(ap, dense, runs, n_runs, per_row);
        }
    }
    if (st == GREBE_OK && (uint64_t)page->n_values * 8 > out->limit_bytes) {
        st = GREBE_FAIL(ap->err, GREBE_ELIMIT, "%u values in one page, the limit is %llu bytes",
                        page->n_values, (unsigned long long)out->limit_bytes);
    }
    if (st == GREBE_OK && out->mode != PQ_OUT_LEVELS && !is_head) {
        st = pq_rank_get(&ap->c, page, ap->s, are_few(page, runs, n_runs), &rank, ap->err);
        if (st == GREBE_OK && rank != NULL && fits_ranked(out, rank)) {
            return append_ranked(ap, page, rank, runs, n_runs);
        }
    }
    if (st == GREBE_OK) {
        st = pq_page_open(&ap->c, page, ap->s, &view, ap->err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (out->mode == PQ_OUT_FLAT) {
        return append_flat(ap, page, &view, runs, n_runs);
    }
    if (out->mode == PQ_OUT_LISTS && !is_head) {
        bool done = false;
        st = append_lists(ap, page, &view, runs, n_runs, &done);
        if (st == GREBE_OK && !done) {
            st = append_null_lists(ap, page, &view, runs, n_runs, &done);
        }
        if (done || st != GREBE_OK) {
            return st;
        }
    }
    return append_entries(ap, page, &view, runs, n_runs, is_head);
}

/* Rows that go over page ends are read one run at a time. */
static grebe_status append_split_run(struct appender *ap, const struct pq_run *run)
{
    struct pq_pages *p = ap->c.pages;
    int64_t end = run->begin + run->n;
    grebe_status st = GREBE_OK;
    for (uint32_t i = pq_page_of_row(p, run->begin); i < p->n && st == GREBE_OK; i++) {
        struct pq_page *page = &p->pages[i];
        int64_t first = page->first_row > run->begin ? page->first_row : run->begin;
        int64_t last = page->first_row + page->n_rows < end ? page->first_row + page->n_rows : end;
        bool is_head =
            page->begins_inside_row && page->first_row > run->begin && page->first_row <= end;
        if (page->first_row >= end && !is_head && page->n_values > 0) {
            break;
        }
        struct pq_run part = { first - page->first_row, last - first };
        bool has_rows = last > first;
        if (!has_rows && !is_head) {
            continue;
        }
        st = append_page(ap, page, &part, has_rows ? 1 : 0, is_head);
        pq_page_wrap(&ap->c, page, st, ap->err);
        if (page->first_row >= end && page->n_rows > 0) {
            break; /* the head was all that was left */
        }
    }
    return st;
}

static bool has_split_rows(const struct pq_chunk_data *c)
{
    for (uint32_t i = 0; c->leaf->max_rep > 0 && i < c->pages->n; i++) {
        if (c->pages->pages[i].begins_inside_row) {
            return true;
        }
    }
    return false;
}

static grebe_status append_runs(struct appender *ap, const struct pq_run *runs, size_t n_runs)
{
    struct pq_pages *p = ap->c.pages;
    struct pq_run *parts = pq_space_get(ap->s, &ap->s->runs, n_runs * sizeof *parts, ap->err);
    size_t r = 0;
    int64_t taken = 0; /* rows of runs[r] */
    if (parts == NULL) {
        return GREBE_ENOMEM;
    }
    while (r < n_runs) {
        struct pq_page *page = &p->pages[pq_page_of_row(p, runs[r].begin + taken)];
        int64_t page_end = page->first_row + page->n_rows;
        size_t n_parts = 0;
        while (r < n_runs && runs[r].begin + taken < page_end) {
            int64_t row = runs[r].begin + taken;
            int64_t n = runs[r].n - taken < page_end - row ? runs[r].n - taken : page_end - row;
            assert(row >= page->first_row && n > 0);
            parts[n_parts++] = (struct pq_run){ row - page->first_row, n };
            taken += n;
            if (taken < runs[r].n) {
                break; /* goes on in the next page */
            }
            r++;
            taken = 0;
        }
        grebe_status st = append_page(ap, page, parts, n_parts, false);
        if (st != GREBE_OK) {
            return pq_page_wrap(&ap->c, page, st, ap->err);
        }
    }
    return GREBE_OK;
}

grebe_status pq_column_append(struct pq_reader *r, size_t chunk, uint32_t leaf,
                              const struct pq_run *runs, size_t n_runs, bool may_view,
                              struct pq_scratch *s, struct pq_out *out, grebe_error *err)
{
    struct appender ap = { .s = s, .out = out, .may_view = may_view, .err = err };
    grebe_status st = pq_chunk_open(r, chunk, leaf, s, &ap.c, err);
    if (st == GREBE_OK) {
        if (has_split_rows(&ap.c)) {
            for (size_t i = 0; i < n_runs && st == GREBE_OK; i++) {
                st = append_split_run(&ap, &runs[i]);
            }
        } else {
            st = append_runs(&ap, runs, n_runs);
        }
    }
    pq_dictionary_release(&ap.dictionary);
    pq_chunk_close(&ap.c);
    return st == GREBE_OK ? st : error_wrap(err, st, "column %s", out->leaf->name);
}
