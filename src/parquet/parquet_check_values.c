/* SPDX-License-Identifier: Apache-2.0 */
/* What the file says of its values, held against the values. */
#include "parquet/parquet_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/utf8.h"
#include "parquet/parquet_bounds.h"
#include "parquet/parquet_format.h"

/* One value as it can be compared: numbers in the member of their kind, strings as bytes. */
struct value {
    enum { VALUE_INT, VALUE_UINT, VALUE_REAL, VALUE_BYTES } kind;
    int64_t i;
    uint64_t u;
    double d;
    const unsigned char *p;
    size_t len;
};

static int compare(const struct value *x, const struct value *y)
{
    switch (x->kind) {
    case VALUE_INT: return (x->i > y->i) - (x->i < y->i);
    case VALUE_UINT: return (x->u > y->u) - (x->u < y->u);
    case VALUE_REAL: return (x->d > y->d) - (x->d < y->d);
    default: {
        int c = memcmp(x->p, y->p, min_size(x->len, y->len));
        return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
    }
    }
}

/* A value of `width` bytes; false for kinds that have no bounds. */
static bool load(enum arrow_kind kind, const unsigned char *p, size_t len, struct value *v)
{
    uint64_t bits = 0;
    memset(v, 0, sizeof *v);
    v->p = p;
    v->len = len;
    for (size_t i = 0; i < len && i < 8; i++) {
        bits |= (uint64_t)p[i] << (8 * i);
    }
    switch (kind) {
    case ARROW_FLOAT32: {
        float f;
        memcpy(&f, p, sizeof f);
        v->d = (double)f;
        v->kind = VALUE_REAL;
        return true;
    }
    case ARROW_FLOAT64:
        memcpy(&v->d, p, sizeof v->d);
        v->kind = VALUE_REAL;
        return true;
    case ARROW_BOOL:
    case ARROW_UINT8:
    case ARROW_UINT16:
    case ARROW_UINT32:
    case ARROW_UINT64:
        v->kind = VALUE_UINT;
        v->u = bits;
        return true;
    case ARROW_FLOAT16: return false;
    case ARROW_STRING:
    case ARROW_LARGE_STRING:
    case ARROW_BINARY:
    case ARROW_LARGE_BINARY:
    case ARROW_FIXED_BINARY: v->kind = VALUE_BYTES; return true;
    default: {
        if (len != 1 && len != 2 && len != 4 && len != 8) {
            return false;
        }
        unsigned shift = 64 - 8 * (unsigned)len;
        v->kind = VALUE_INT;
        v->i = (int64_t)(bits << shift) >> shift;
        return true;
    }
    }
}

static bool value_at(const struct pq_node *node, const struct ArrowArray *a, int64_t i,
                     struct value *v)
{
    const unsigned char *values = a->buffers[1];
    if (node->arrow == ARROW_BOOL) {
        unsigned char bit = bit_get(values, i);
        bool is_known = load(ARROW_BOOL, &bit, 1, v);
        v->p = NULL;
        return is_known;
    }
    if (node->convert == PQ_CONVERT_BYTES) {
        int64_t begin, end;
        if (node->arrow == ARROW_LARGE_STRING || node->arrow == ARROW_LARGE_BINARY) {
            begin = ((const int64_t *)a->buffers[1])[i];
            end = ((const int64_t *)a->buffers[1])[i + 1];
        } else if (node->arrow == ARROW_STRING || node->arrow == ARROW_BINARY) {
            begin = ((const int32_t *)a->buffers[1])[i];
            end = ((const int32_t *)a->buffers[1])[i + 1];
        } else {
            return false;
        }
        return load(node->arrow, (const unsigned char *)a->buffers[2] + begin,
                    (size_t)(end - begin), v);
    }
    return load(node->arrow, values + (size_t)i * (size_t)node->width_out, (size_t)node->width_out,
                v);
}

struct range {
    bool is_set;
    struct value min, max;
    int64_t n_nulls;
};

static bool range_of(const struct pq_node *node, const struct ArrowArray *a, int64_t begin,
                     int64_t end, struct range *r)
{
    memset(r, 0, sizeof *r);
    for (int64_t i = begin; i < end; i++) {
        struct value v;
        if (a->buffers[0] != NULL && !bit_get(a->buffers[0], i)) {
            r->n_nulls++;
            continue;
        }
        if (!value_at(node, a, i, &v)) {
            return false;
        }
        if (v.kind == VALUE_REAL && isnan(v.d)) {
            continue;
        }
        if (!r->is_set || compare(&v, &r->min) < 0) {
            r->min = v;
        }
        if (!r->is_set || compare(&v, &r->max) > 0) {
            r->max = v;
        }
        r->is_set = true;
    }
    return true;
}

static void check_bounds(const struct pq_findings *f, const char *what, enum arrow_kind kind,
                         const struct range *r, bool has_min, const void *min, size_t min_len,
                         bool is_min_exact, bool has_max, const void *max, size_t max_len,
                         bool is_max_exact)
{
    struct value v;
    if (!r->is_set) {
        return;
    }
    if (has_min && load(kind, min, min_len, &v)) {
        int c = compare(&v, &r->min);
        if (c > 0 || (is_min_exact && c != 0)) {
            pq_find(f, true, "%s: the minimum %s", what,
                    c > 0 ? "is above a value" : "is called exact and is no value");
        }
    }
    if (has_max && load(kind, max, max_len, &v)) {
        int c = compare(&v, &r->max);
        if (c < 0 || (is_max_exact && c != 0)) {
            pq_find(f, true, "%s: the maximum %s", what,
                    c < 0 ? "is below a value" : "is called exact and is no value");
        }
    }
}

static void check_statistics(const struct pq_chunk_data *c, const struct ArrowArray *a,
                             const struct pq_findings *f)
{
    const struct pq_node *node = c->leaf->node;
    struct column_bounds b;
    struct range r;
    if (pq_bounds(&c->reader->base, (int)c->leaf->column, c->chunk, &b, NULL) != GREBE_OK ||
        !range_of(node, a, 0, a->length, &r)) {
        return;
    }
    if (b.has_null_count && b.null_count != r.n_nulls) {
        pq_find(f, true, "statistics: null_count is %lld, found %lld", (long long)b.null_count,
                (long long)r.n_nulls);
    }
    check_bounds(f, "statistics", node->arrow, &r, b.has_min, b.min, b.min_len, b.is_min_exact,
                 b.has_max, b.max, b.max_len, b.is_max_exact);
}

/* ---- column index ---- */

static grebe_status read_column_index(const struct pq_chunk_data *c, struct arena *ar,
                                      struct region **owner, struct pq_column_index *out,
                                      grebe_error *err)
{
    const struct pq_chunk *m = c->meta;
    const unsigned char *bytes;
    memset(out, 0, sizeof *out);
    if (m->column_index_length <= 0 || m->column_index_length > PQ_INDEX_BYTES_MAX ||
        !range_fits_u64((uint64_t)m->column_index_offset, (uint64_t)m->column_index_length,
                        c->reader->file->footer_start)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "column index: %d bytes at %lld lie outside the data",
                          m->column_index_length, (long long)m->column_index_offset);
    }
    grebe_status st = pq_bytes_get(c->reader, (uint64_t)m->column_index_offset,
                                   (uint64_t)m->column_index_length, &bytes, owner, err);
    return st == GREBE_OK
               ? pq_column_index_decode(ar, bytes, (size_t)m->column_index_length, out, err)
               : st;
}

/* What is said of one page; null_count -1: nothing. */
struct page_claim {
    const char *place;
    uint32_t page;
    int64_t null_count;
    bool is_null_page;
    struct pq_bytes min, max; /* of a length that the type does not have: none */
};

static void check_page_claim(const struct pq_chunk_data *c, const struct ArrowArray *a,
                             const struct page_claim *x, const struct pq_findings *f)
{
    const struct pq_node *node = c->leaf->node;
    const struct pq_page *page = &c->pages->pages[x->page];
    int64_t end = page->first_row + page->n_rows;
    struct range r;
    size_t width = node->convert == PQ_CONVERT_BOOL ? 1 : (size_t)node->width_in;
    if (!range_of(node, a, page->first_row, end, &r)) {
        return;
    }
    char what[64];
    snprintf(what, sizeof what, "%s, page %u", x->place, x->page);
    if (x->null_count >= 0 && x->null_count != r.n_nulls) {
        pq_find(f, false, "%s: null count %lld, found %lld", what, (long long)x->null_count,
                (long long)r.n_nulls);
    }
    if (x->is_null_page) {
        if (r.n_nulls != page->n_rows) {
            pq_find(f, false, "%s: called a page of nulls, it has %lld values", what,
                    (long long)(page->n_rows - r.n_nulls));
        }
        return;
    }
    bool is_bytes = node->convert == PQ_CONVERT_BYTES;
    bool has_min = x->min.data != NULL && (is_bytes || x->min.len == width);
    bool has_max = x->max.data != NULL && (is_bytes || x->max.len == width);
    size_t len = width < (size_t)node->width_out ? width : (size_t)node->width_out;
    len = node->convert == PQ_CONVERT_BOOL ? 1 : len;
    check_bounds(f, what, node->arrow, &r, has_min, x->min.data, is_bytes ? x->min.len : len, false,
                 has_max, x->max.data, is_bytes ? x->max.len : len, false);
}

/* Statistics that page headers hold: rows are left out by them where there is no column index. */
static void check_page_headers(const struct pq_chunk_data *c, const struct ArrowArray *a,
                               const struct pq_findings *f)
{
    if (!pq_has_known_order(c->reader->file, c->leaf)) {
        return;
    }
    for (uint32_t i = 0; i < c->pages->n; i++) {
        const struct pq_page *page = &c->pages->pages[i];
        struct pq_page_header h;
        size_t len = 0;
        if (pq_page_header_decode(c->bytes + page->offset, page->header_len, &h, &len, NULL) ==
                GREBE_OK &&
            h.has_statistics) {
            struct page_claim x = { "page header", i, h.statistics.null_count, false,
                                    h.statistics.min_value, h.statistics.max_value };
            check_page_claim(c, a, &x, f);
        }
    }
}

static grebe_status check_column_index(const struct pq_chunk_data *c, const struct ArrowArray *a,
                                       const struct pq_findings *f, grebe_error *err)
{
    struct arena ar = ARENA_INIT(c->reader->base.ctx->a);
    struct region *owner = NULL;
    struct pq_column_index index;
    struct column_bounds b;
    grebe_error found = GREBE_ERROR_INIT;
    grebe_status st = read_column_index(c, &ar, &owner, &index, &found);
    if (st == GREBE_ECORRUPT) {
        pq_find(f, true, "%s", found.message);
        st = GREBE_OK;
    } else if (st != GREBE_OK) {
        if (err != NULL) {
            *err = found;
        }
    } else if (index.n != c->pages->n) {
        pq_find(f, true, "the column index speaks of %u pages, the chunk has %u", index.n,
                c->pages->n);
    } else if (pq_bounds(&c->reader->base, (int)c->leaf->column, c->chunk, &b, NULL) == GREBE_OK &&
               b.has_min) {
        /* Only where the chunk's own bounds can be used is the order known. */
        for (uint32_t i = 0; i < index.n; i++) {
            struct page_claim x = { "column index", i,
                                    index.null_counts == NULL ? -1 : index.null_counts[i],
                                    index.null_pages[i], index.min[i], index.max[i] };
            check_page_claim(c, a, &x, f);
        }
    }
    arena_release(&ar);
    region_drop(owner);
    return st;
}

/* ---- the whole ---- */

static void check_utf8(const struct pq_chunk_data *c, const struct ArrowArray *a,
                       const struct pq_findings *f)
{
    if (c->leaf->node->arrow != ARROW_STRING) {
        return;
    }
    const int32_t *offsets = a->buffers[1];
    const char *data = a->buffers[2];
    for (int64_t i = 0; i < a->length; i++) {
        if (!utf8_is_valid(data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]))) {
            pq_find(f, false, "row %lld of the row group is no UTF-8", (long long)i);
            return;
        }
    }
}

grebe_status pq_check_values(const struct pq_chunk_data *c, const struct call *call,
                             struct pq_findings *f, grebe_error *err)
{
    const struct pq_file *file = c->reader->file;
    int64_t n_rows = file->groups[c->chunk].n_rows;
    struct pq_run run = { 0, n_rows };
    struct pq_part part = { c->chunk, &run, 1, n_rows };
    int column = (int)c->leaf->column;
    struct ArrowArray rows;
    grebe_error found = GREBE_ERROR_INIT;

    /* A nested column is decoded as a whole, with its first leaf. */
    const struct pq_node *node = &file->schema.columns[column];
    if (node->leaf_begin != (uint32_t)(c->leaf - file->schema.leaves)) {
        return GREBE_OK;
    }
    grebe_status st = pq_fetch(c->reader, &column, 1, &part, 1, false, call, &rows, &found);
    if (st != GREBE_OK) {
        if (st == GREBE_ENOMEM || st == GREBE_EIO || st == GREBE_ECANCELLED) {
            if (err != NULL) {
                *err = found;
            }
            return st;
        }
        /* What we cannot represent (ESCHEMA: an INT96 beyond nanoseconds) is no fault of the file.
         */
        pq_find(f, st != GREBE_EUNSUPPORTED && st != GREBE_ESCHEMA, "%s", found.message);
        return GREBE_OK;
    }
    const struct ArrowArray *a = rows.children[0];
    if (node->kind == PQ_NODE_LEAF && node->convert != PQ_CONVERT_NULL) {
        check_utf8(c, a, f);
        check_statistics(c, a, f);
        check_page_headers(c, a, f);
        if (c->meta->column_index_offset > 0) {
            st = check_column_index(c, a, f, err);
        }
    }
    array_release(&rows);
    return st;
}
