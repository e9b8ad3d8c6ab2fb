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

struct prune_arg {
    struct scan *s;
    int64_t row;
};

static grebe_status bounds_at(void *arg, size_t i, struct column_bounds *out, grebe_error *err)
{
    struct prune_arg *a = arg;
    const struct plan *p = &a->s->plan;
    const struct plan_column *c = &p->columns[p->n_columns - a->s->n_where + i];
    *out = (struct column_bounds){ 0 };
    if (c->plan_group < 0) {
        return GREBE_OK;
    }
    const struct data_file *f = a->s->prune_files[c->plan_group];
    int32_t at = a->s->table->columns->items[c->column].at;
    if (f->field_of[at] < 0 || f->widens[at]) {
        return GREBE_OK; /* nothing known in the table's own type */
    }
    int64_t local = f->file_row_begin + (a->row - f->row_begin);
    return f->reader->ops->bounds(f->reader, f->field_of[at], format_chunk_of(f->reader, local),
                                  out, err);
}

/* Whether rows from `row` on can match, and up to where that was found out. */
static grebe_status look_at(struct scan *s, int64_t row, int64_t *end, bool *may_match,
                            grebe_error *err)
{
    const struct plan *p = &s->plan;
    *end = s->row_end;
    for (size_t i = p->n_columns - s->n_where; i < p->n_columns; i++) {
        int g = p->columns[i].plan_group;
        if (g < 0) {
            continue;
        }
        grebe_status st = scan_file_at(s, p->groups[g].group, row, &s->prune_files[g], err);
        if (st != GREBE_OK) {
            return st;
        }
        *end = scan_chunk_end(s->prune_files[g], row, *end);
    }
    struct prune_arg arg = { s, row };
    enum expr_answer answer = EXPR_SOME;
    grebe_status st = expr_prune(s->where, bounds_at, &arg, &answer, err);
    *may_match = answer != EXPR_NONE;
    return st;
}

static grebe_status add_segment(struct scan *s, int64_t begin, int64_t end, grebe_error *err)
{
    const grebe_allocator *a = s->table->ctx->a;
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
    s->segments[s->n_segments++] = (struct segment){ begin, end };
    return GREBE_OK;
}

/* Find the next rows that the predicate cannot rule out. */
static grebe_status find_segment(struct scan *s, grebe_error *err)
{
    if (s->where == NULL) {
        int64_t begin = s->pruned_to;
        s->pruned_to = s->row_end;
        return begin < s->row_end ? add_segment(s, begin, s->row_end, err) : GREBE_END;
    }
    while (s->pruned_to < s->row_end) {
        int64_t begin = s->pruned_to;
        int64_t end = 0;
        bool may_match = true;
        grebe_status st = call_check(&s->call, err); /* files are opened only to be ruled out */
        if (st == GREBE_OK) {
            st = look_at(s, begin, &end, &may_match, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        assert(end > begin);
        s->pruned_to = end;
        if (may_match) {
            return add_segment(s, begin, end, err);
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
