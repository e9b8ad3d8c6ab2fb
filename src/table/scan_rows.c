/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_scan.h"

#include <assert.h>

#include "base/checked.h"

grebe_status scan_file_at(const struct scan *s, size_t group, int64_t row,
                          struct data_file **file, grebe_error *err)
{
    const struct snapshot_group *g = &s->table->snapshot->groups[group];
    struct data_file *known = *file;
    if (known != NULL && row >= known->row_begin && row < g->row_begin[known->file + 1]) {
        return GREBE_OK;
    }
    *file = NULL;
    data_file_drop(known);
    return table_file_open(s->table, group, snapshot_file_of(g, row), file, err);
}

int64_t scan_chunk_end(const struct data_file *f, int64_t row, int64_t limit)
{
    int64_t local = f->file_row_begin + (row - f->row_begin);
    assert(local >= f->file_row_begin && local < f->file_row_end);
    size_t chunk = format_chunk_of(f->reader, local);
    int64_t end = min_i64(f->reader->chunk_begin[chunk + 1], f->file_row_end);
    return min_i64(row + (end - local), limit);
}

/* The predicate's columns at a row, as bounds and filters are asked for. */
struct prune_arg {
    struct scan *s;
    int64_t row;
    const struct page_bounds *pages; /* by column of the predicate; NULL: chunks are asked about */
    const size_t *page;              /* the page of each that holds the row */
};

/* The field of the file that is column i of the predicate; NULL: nothing is known in the table's
 * own type. */
static const struct data_file *find_field(const struct scan *s, size_t i, int64_t row, int *field,
                                          size_t *chunk)
{
    const struct plan_column *c = &s->where_plan.columns[i];
    if (c->plan_group < 0) {
        return NULL;
    }
    const struct data_file *f = s->prune_files[c->plan_group];
    int32_t at = s->table->columns->items[c->column].at;
    *field = f->field_of[at];
    *chunk = format_chunk_of(f->reader, f->file_row_begin + (row - f->row_begin));
    return *field < 0 || f->widens[at] ? NULL : f;
}

static grebe_status bounds_at(void *arg, size_t i, struct column_bounds *out, grebe_error *err)
{
    const struct prune_arg *a = arg;
    int field = 0;
    size_t chunk = 0;
    *out = (struct column_bounds){ 0 };
    if (a->pages != NULL && a->pages[i].n > 0) {
        *out = a->pages[i].bounds[a->page[i]];
        return GREBE_OK;
    }
    const struct data_file *f = find_field(a->s, i, a->row, &field, &chunk);
    return f == NULL ? GREBE_OK : f->reader->ops->bounds(f->reader, field, chunk, out, err);
}

static grebe_status may_contain(void *arg, size_t i, const void *value, size_t len, bool *may,
                                grebe_error *err)
{
    const struct prune_arg *a = arg;
    int field = 0;
    size_t chunk = 0;
    *may = true;
    const struct data_file *f = find_field(a->s, i, a->row, &field, &chunk);
    if (f == NULL || f->reader->ops->may_contain == NULL) {
        return GREBE_OK;
    }
    return f->reader->ops->may_contain(f->reader, field, chunk, value, len, may, err);
}

enum { WINDOW_ROWS_MAX = 1 << 20 }; /* of a predicate without columns */

/* Whether rows from `row` on can match, and up to where that was found out. */
static grebe_status look_at(struct scan *s, int64_t row, int64_t *end, enum expr_answer *answer,
                            grebe_error *err)
{
    const struct plan *p = &s->where_plan;
    struct prune_arg arg = { .s = s, .row = row };
    *end = p->n_groups == 0 ? min_i64(s->row_end, row + WINDOW_ROWS_MAX) : s->row_end;
    for (size_t g = 0; g < p->n_groups; g++) {
        grebe_status st = scan_file_at(s, p->groups[g].group, row, &s->prune_files[g], err);
        if (st != GREBE_OK) {
            return st;
        }
        *end = scan_chunk_end(s->prune_files[g], row, *end);
    }
    grebe_status st = expr_prune(s->where, bounds_at, &arg, answer, err);
    if (st == GREBE_OK && *answer == EXPR_SOME) { /* filters cost a look into the file */
        st = expr_prune_values(s->where, bounds_at, may_contain, &arg, answer, err);
    }
    return st;
}

/* Joined with the one before where it goes on with it in the same window. */
static grebe_status add_segment(struct scan *s, int64_t begin, int64_t end, int64_t window_end,
                                grebe_error *err)
{
    const grebe_allocator *a = s->table->ctx->a;
    struct segment *last = s->n_segments == 0 ? NULL : &s->segments[s->n_segments - 1];
    if (last != NULL && last->end == begin && last->window_end == window_end) {
        last->end = end;
        return GREBE_OK;
    }
    if (s->n_segments == s->segments_capacity) {
        size_t capacity = s->segments_capacity == 0 ? 8 : s->segments_capacity * 2;
        struct segment *grown = mem_resize(a, s->segments,
                                           s->segments_capacity * sizeof *grown,
                                           capacity * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "row ranges");
        }
        s->segments = grown;
        s->segments_capacity = capacity;
    }
    s->segments[s->n_segments++] = (struct segment){ begin, end, window_end };
    return GREBE_OK;
}

/* ---- pages ---- */

/* Pages of the predicate's columns in one window. */
struct page_walk {
    struct page_bounds *pages; /* shape [n] */
    size_t *page;              /* where each column stands, same shape */
    int64_t *chunk_row;        /* row of the table where its chunk begins */
    size_t n;
};

static grebe_status read_page_bounds(struct scan *s, int64_t row, struct page_walk *w, bool *is_told,
                                     grebe_error *err)
{
    *is_told = false;
    for (size_t i = 0; i < w->n; i++) {
        int field = 0;
        size_t chunk = 0;
        const struct data_file *f = find_field(s, i, row, &field, &chunk);
        if (f == NULL || f->reader->ops->page_bounds == NULL) {
            continue;
        }
        grebe_status st = f->reader->ops->page_bounds(f->reader, field, chunk, &w->pages[i], err);
        if (st != GREBE_OK) {
            return st;
        }
        w->chunk_row[i] = f->row_begin + (f->reader->chunk_begin[chunk] - f->file_row_begin);
        *is_told = *is_told || w->pages[i].n > 0;
    }
    return GREBE_OK;
}

/* Pages of different columns need not align: between any two edges every column lies in one page. */
static grebe_status walk_pages(struct scan *s, int64_t begin, int64_t end, struct page_walk *w,
                               grebe_error *err)
{
    for (int64_t row = begin; row < end;) {
        int64_t next = end;
        for (size_t i = 0; i < w->n; i++) {
            const struct page_bounds *p = &w->pages[i];
            int64_t at = row - w->chunk_row[i];
            while (w->page[i] + 1 < p->n && p->row_begin[w->page[i] + 1] <= at) {
                w->page[i]++;
            }
            if (p->n > 0) {
                next = min_i64(next, w->chunk_row[i] + p->row_begin[w->page[i] + 1]);
            }
        }
        assert(next > row);
        struct prune_arg arg = { s, row, w->pages, w->page };
        enum expr_answer answer = EXPR_SOME;
        grebe_status st = expr_prune(s->where, bounds_at, &arg, &answer, err);
        if (st == GREBE_OK && answer != EXPR_NONE) {
            st = add_segment(s, row, next, end, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        row = next;
    }
    return GREBE_OK;
}

static grebe_status add_pages(struct scan *s, int64_t begin, int64_t end, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_told = false;
    const grebe_allocator *a = s->table->ctx->a;
    struct page_walk w = { .n = s->where_plan.n_columns };
    size_t row_len = w.n * (sizeof *w.page + sizeof *w.chunk_row);
    w.pages = mem_alloc_zero(a, w.n * sizeof *w.pages);
    w.chunk_row = mem_alloc_zero(a, row_len);
    if (w.pages == NULL || w.chunk_row == NULL) {
        st = mem_fail(err, row_len, "pages");
        goto out;
    }
    w.page = (size_t *)(void *)(w.chunk_row + w.n);
    GREBE_TRY(read_page_bounds(s, begin, &w, &is_told, err));
    st = is_told ? walk_pages(s, begin, end, &w, err) : add_segment(s, begin, end, end, err);
out:
    for (size_t i = 0; w.pages != NULL && i < w.n; i++) {
        page_bounds_release(&w.pages[i]);
    }
    mem_free(a, w.pages, w.n * sizeof *w.pages);
    mem_free(a, w.chunk_row, row_len);
    return st;
}

/* ---- segments ---- */

/* Find the next rows that the predicate cannot rule out. */
static grebe_status find_segment(struct scan *s, grebe_error *err)
{
    size_t n_before = s->n_segments;
    if (s->where == NULL) {
        int64_t begin = s->pruned_to;
        s->pruned_to = s->row_end;
        return begin < s->row_end ? add_segment(s, begin, s->row_end, s->row_end, err) : GREBE_END;
    }
    while (s->pruned_to < s->row_end) {
        int64_t begin = s->pruned_to;
        int64_t end = 0;
        enum expr_answer answer = EXPR_SOME;
        grebe_status st = call_check(&s->call, err); /* files are opened only to be ruled out */
        if (st == GREBE_OK) {
            st = look_at(s, begin, &end, &answer, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        assert(end > begin);
        s->pruned_to = end;
        if (answer == EXPR_ALL) {
            st = add_segment(s, begin, end, end, err);
        } else if (answer == EXPR_SOME) {
            st = add_pages(s, begin, end, err);
        }
        if (st != GREBE_OK || s->n_segments > n_before) {
            return st;
        }
    }
    return GREBE_END;
}

grebe_status scan_segment(struct scan *s, size_t i, struct segment *out, grebe_error *err)
{
    while (i >= s->n_segments) {
        grebe_status st = find_segment(s, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    *out = s->segments[i];
    return GREBE_OK;
}
