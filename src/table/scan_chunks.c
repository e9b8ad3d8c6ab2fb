/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_scan.h"

#include <assert.h>

#include "base/checked.h"

grebe_status cursor_peek(struct scan *s, struct cursor *c, int64_t *out, grebe_error *err)
{
    struct segment segment;
    *out = INT64_MAX;
    for (;;) {
        grebe_status st = scan_segment(s, c->segment, &segment, err);
        if (st != GREBE_OK) {
            return st == GREBE_END ? GREBE_OK : st;
        }
        if (c->next_row < segment.end) {
            *out = max_i64(c->next_row, segment.begin);
            return GREBE_OK;
        }
        c->segment++;
    }
}

static grebe_status read_chunk(void *arg, grebe_error *err)
{
    struct chunk *c = arg;
    const struct plan_group *g = &c->scan->plan.groups[c->plan_group];
    const struct data_file *f = c->file;
    struct ArrowArray rows = { 0 };
    struct call call = c->scan->call;
    call.threads = c->threads;
    call.progress = NULL;
    int64_t local = f->file_row_begin + (c->row_begin - f->row_begin);
    grebe_status st = data_file_read(c->scan->table, f, g->columns, g->n_columns, NULL, local,
                                     local + (c->row_end - c->row_begin), &call, &rows, err);
    if (st == GREBE_OK) {
        st = array_share(f->a, &rows, &c->rows, err);
    }
    array_release(&rows);
    return st;
}

static const double COST_MAX = 1e15; /* so that the chunks of many threads add up */

/* What the chunk will hold in memory, roughly: three times its stored bytes. */
static uint64_t chunk_cost(const struct scan *s, const struct chunk *c)
{
    const struct plan_group *g = &s->plan.groups[c->plan_group];
    const struct data_file *f = c->file;
    int64_t local = f->file_row_begin + (c->row_begin - f->row_begin);
    size_t chunk = format_chunk_of(f->reader, local);
    uint64_t bytes = 0;
    for (size_t i = 0; i < g->n_columns; i++) {
        int field = f->field_of[s->table->columns->items[g->columns[i]].at];
        if (field >= 0) {
            bytes += f->reader->ops->stored_bytes(f->reader, &field, 1, chunk);
        }
    }
    int64_t rows = f->reader->chunk_begin[chunk + 1] - f->reader->chunk_begin[chunk];
    double cost = (double)bytes * 3 * (double)(c->row_end - c->row_begin) / (double)rows;
    return cost < COST_MAX ? (uint64_t)cost : (uint64_t)COST_MAX; /* sizes are the file's word */
}

static grebe_status start_chunk(struct scan *s, size_t plan_group, int64_t row, grebe_error *err)
{
    struct cursor *cursor = &s->cursors[plan_group];
    const grebe_allocator *a = s->table->ctx->a;
    struct segment segment;
    grebe_status st = scan_segment(s, cursor->segment, &segment, err);
    if (st == GREBE_OK) {
        st = scan_file_at(s, cursor->group, row, &cursor->file, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct chunk *c = mem_alloc_zero(a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "a chunk");
    }
    c->scan = s;
    c->plan_group = plan_group;
    c->file = data_file_keep(cursor->file);
    c->row_begin = row;
    c->row_end = scan_chunk_end(c->file, row, segment.end);
    c->cost_bytes = s->call.memory_limit_bytes == UINT64_MAX ? 0 : chunk_cost(s, c);
    /* A chunk that will be alone for a while may use all threads itself. */
    c->threads = s->n_ahead + 1 >= s->call.threads ? 1 : s->call.threads;
    cursor->next_row = c->row_end;
    *(cursor->first == NULL ? &cursor->first : &cursor->last->next) = c;
    cursor->last = c;
    s->n_ahead++;
    s->ahead_bytes += c->cost_bytes;
    task_start(s->call.threads > 1 ? s->table->ctx->pool : NULL, s->call.threads, &c->task,
               read_chunk, c);
    return GREBE_OK;
}

grebe_status scan_read_ahead(struct scan *s, grebe_error *err)
{
    size_t n_max = s->plan.n_groups + (s->call.threads > 1 ? s->call.threads : 0);
    for (;;) {
        size_t first = SIZE_MAX; /* the group whose next chunk begins first */
        int64_t first_row = INT64_MAX;
        for (size_t g = 0; g < s->plan.n_groups; g++) {
            int64_t row = 0;
            grebe_status st = cursor_peek(s, &s->cursors[g], &row, err);
            if (st != GREBE_OK) {
                return st;
            }
            if (row < first_row) {
                first_row = row;
                first = g;
            }
        }
        if (first == SIZE_MAX) {
            return GREBE_OK;
        }
        bool is_needed = s->cursors[first].first == NULL;
        if (!is_needed &&
            (s->n_ahead >= n_max || s->ahead_bytes >= s->call.memory_limit_bytes)) {
            return GREBE_OK;
        }
        grebe_status st = start_chunk(s, first, first_row, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
}

/* The first chunk is cut in two, to be read one after the other. */
static grebe_status cut_first(struct scan *s, struct cursor *cursor, grebe_error *err)
{
    struct chunk *c = cursor->first;
    struct chunk *rest = mem_alloc_zero(s->table->ctx->a, sizeof *rest);
    if (rest == NULL) {
        return mem_fail(err, sizeof *rest, "a chunk");
    }
    rest->scan = s;
    rest->plan_group = c->plan_group;
    rest->file = data_file_keep(c->file);
    rest->row_begin = c->row_begin + (c->row_end - c->row_begin) / 2;
    rest->row_end = c->row_end;
    rest->threads = c->threads;
    rest->cost_bytes = c->cost_bytes / 2;
    rest->next = c->next;
    c->row_end = rest->row_begin;
    c->cost_bytes -= rest->cost_bytes;
    c->next = rest;
    c->is_read = false;
    if (cursor->last == c) {
        cursor->last = rest;
    }
    s->n_ahead++;
    task_start(NULL, 1, &c->task, read_chunk, c);
    task_start(NULL, 1, &rest->task, read_chunk, rest);
    return GREBE_OK;
}

grebe_status cursor_wait(struct scan *s, struct cursor *cursor, grebe_error *err)
{
    struct chunk *c = cursor->first;
    while (!c->is_read) {
        grebe_status st = task_wait_helping(&c->task, err);
        c->is_read = true; /* waited for; who fails here is not asked again (stream_export) */
        if (st == GREBE_ELIMIT && c->row_end - c->row_begin > 1) {
            st = cut_first(s, cursor, err); /* strings of all rows are too many for one array */
        }
        if (st != GREBE_OK) {
            return error_wrap(err, st, "%s: rows [%lld, %lld)", c->scan->table->path,
                              (long long)c->row_begin, (long long)c->row_end);
        }
    }
    assert(c->rows != NULL);
    return GREBE_OK;
}

void cursor_pop(struct scan *s, struct cursor *cursor)
{
    struct chunk *c = cursor->first;
    if (!c->is_read) {
        task_abandon(&c->task);
    }
    cursor->first = c->next;
    s->n_ahead--;
    s->ahead_bytes -= c->cost_bytes;
    array_shared_drop(c->rows);
    data_file_drop(c->file);
    mem_free(s->table->ctx->a, c, sizeof *c);
}
