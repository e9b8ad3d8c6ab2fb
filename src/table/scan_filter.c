/* SPDX-License-Identifier: Apache-2.0 */
/* A scan with a predicate: pieces are started ahead, and batches cut out of what they keep. */
#include "table/table_scan.h"

#include <assert.h>

#include "base/checked.h"

/* ---- reading ahead ---- */

/* What the piece will hold in memory, roughly: three times the stored bytes of its groups. */
static uint64_t piece_cost(const struct scan *s, const struct piece *p)
{
    double cost = 0;
    for (size_t g = 0; g < s->where_plan.n_groups; g++) {
        const struct data_file *f = p->files[g];
        const struct format_reader *r = f->reader;
        size_t chunk = format_chunk_of(r, f->file_row_begin + (p->spans[0].begin - f->row_begin));
        uint64_t bytes = 0;
        for (size_t i = 0; i < s->plan.n_groups; i++) {
            const struct plan_group *from = &s->plan.groups[i];
            for (size_t k = 0; from->group == f->group && k < from->n_columns; k++) {
                int field = f->field_of[s->table->columns->items[from->columns[k]].at];
                bytes += field < 0 ? 0 : r->ops->stored_bytes(f->reader, &field, 1, chunk);
            }
        }
        int64_t rows = r->chunk_begin[chunk + 1] - r->chunk_begin[chunk];
        cost += (double)bytes * 3 * (double)p->n_rows / (double)rows;
    }
    return cost < 1e15 ? (uint64_t)cost : (uint64_t)1e15; /* sizes are the file's word */
}

/*
 * Candidates of the next piece of a window that has so many left: whole batches, so that cuts make no short
 * ones; a rest that is not worth a piece goes with the last one.
 */
static int64_t piece_rows(const struct scan *s, int64_t n_left)
{
    int64_t n = s->batch_rows * max_i64(1, s->piece_rows / s->batch_rows);
    return n_left <= n || n_left - n < n / 2 ? n_left : n;
}

/*
 * The candidates of the next piece: segments of one window, the last one cut where the piece ends. What is cut
 * does not depend on threads or memory, so neither do errors. n_spans is 0 when no candidates are left.
 */
static grebe_status collect_spans(struct scan *s, struct piece *p, grebe_error *err)
{
    struct segment first;
    grebe_status st = scan_segment(s, s->next_segment, &first, err);
    if (st != GREBE_OK) {
        return st == GREBE_END ? GREBE_OK : st;
    }
    size_t end = s->next_segment; /* a window's segments are found together */
    int64_t n_left = 0;
    for (; end < s->n_segments && s->segments[end].window_end == first.window_end; end++) {
        n_left += s->segments[end].end - s->segments[end].begin;
    }
    int64_t n_wanted = piece_rows(s, n_left);
    size_t n = end - s->next_segment;
    p->spans = mem_alloc(s->table->ctx->a, n * sizeof *p->spans);
    if (p->spans == NULL) {
        return mem_fail(err, n * sizeof *p->spans, "row ranges");
    }
    p->n_spans_allocated = n;
    while (p->n_rows < n_wanted) {
        struct segment *from = &s->segments[s->next_segment];
        struct segment *span = &p->spans[p->n_spans++];
        *span = *from;
        span->end = min_i64(from->end, from->begin + (n_wanted - p->n_rows));
        p->n_rows += span->end - span->begin;
        from->begin = span->end; /* nobody else asks for a segment that is in pieces */
        s->next_segment += from->begin == from->end;
    }
    return GREBE_OK;
}

/* *started is false when no rows are left. */
static grebe_status start_piece(struct scan *s, bool *started, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->table->ctx->a;
    size_t n = s->where_plan.n_groups;
    struct piece *p = mem_alloc_zero(a, sizeof *p);
    *started = false;
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a piece of a scan");
    }
    p->scan = s;
    p->files = mem_alloc_zero(a, n * sizeof *p->files);
    p->where = mem_alloc_zero(a, n * sizeof *p->where);
    if (p->files == NULL || p->where == NULL) {
        st = mem_fail(err, n * sizeof *p->where, "a piece of a scan");
        goto out;
    }
    GREBE_TRY(collect_spans(s, p, err));
    if (p->n_spans == 0) {
        goto out;
    }
    for (size_t g = 0; g < n; g++) { /* open already: their bounds were asked for */
        GREBE_TRY(scan_file_at(s, s->where_plan.groups[g].group, p->spans[0].begin,
                               &s->prune_files[g], err));
        p->files[g] = data_file_keep(s->prune_files[g]);
    }
    p->n_wanted = s->n_left;
    p->cost_bytes = s->call.memory_limit_bytes == UINT64_MAX ? 0 : piece_cost(s, p);
    /* A piece that will be alone for a while may use all threads itself. */
    p->threads = s->n_ahead + 1 >= s->call.threads ? 1 : s->call.threads;
    *(s->first_piece == NULL ? &s->first_piece : &s->last_piece->next) = p;
    s->last_piece = p;
    s->n_ahead++;
    s->ahead_bytes += p->cost_bytes;
    task_start(s->call.threads > 1 ? s->table->ctx->pool : NULL, s->call.threads, &p->task,
               piece_run, p);
    *started = true;
    p = NULL;
out:
    if (p != NULL) {
        piece_free(p);
    }
    return st;
}

static grebe_status start_ahead(struct scan *s, grebe_error *err)
{
    size_t n_max = 1 + (s->call.threads > 1 ? s->call.threads : 0);
    bool started = true;
    grebe_status st = GREBE_OK;
    while (started && st == GREBE_OK &&
           (s->first_piece == NULL ||
            (s->n_ahead < n_max && s->ahead_bytes < s->call.memory_limit_bytes))) {
        st = start_piece(s, &started, err);
    }
    return st;
}

/* The first piece, done; *out NULL: none is left. */
static grebe_status wait_first(struct scan *s, struct piece **out, grebe_error *err)
{
    grebe_status st = start_ahead(s, err);
    struct piece *p = s->first_piece;
    *out = NULL;
    if (st != GREBE_OK || p == NULL) {
        return st;
    }
    if (!p->is_done) {
        st = task_wait_helping(&p->task, err);
        p->is_done = true; /* waited for; who fails here is not asked again (stream_export) */
    }
    *out = p;
    return st;
}

void piece_pop(struct scan *s)
{
    struct piece *p = s->first_piece;
    if (!p->is_done) {
        task_abandon(&p->task);
    }
    s->first_piece = p->next;
    s->n_ahead--;
    s->ahead_bytes -= p->cost_bytes;
    piece_free(p);
}

/* ---- batches ---- */

/* Row of the table that candidate i is, and how many candidates from it on lie next to each other. */
static int64_t row_of(const struct piece *p, int64_t i, int64_t *n_close)
{
    size_t k = 0;
    while (i >= p->spans[k].end - p->spans[k].begin) {
        i -= p->spans[k].end - p->spans[k].begin;
        k++;
    }
    *n_close = p->spans[k].end - p->spans[k].begin - i;
    return p->spans[k].begin + i;
}

/* Candidates of the next batch, at most n: no batch crosses an edge of a chunk of any group. */
static grebe_status cut_batch(struct scan *s, const struct piece *p, int64_t *n, grebe_error *err)
{
    int64_t n_close = 0;
    int64_t row = row_of(p, p->pos, &n_close);
    int64_t end = INT64_MAX;
    for (size_t g = 0; g < s->late_plan.n_groups; g++) {
        grebe_status st = scan_file_at(s, s->late_plan.groups[g].group, row, &s->late_files[g],
                                       err);
        if (st != GREBE_OK) {
            return st;
        }
        end = scan_chunk_end(s->late_files[g], row, end);
    }
    int64_t fitting = 0;
    while (fitting < *n) {
        row = row_of(p, p->pos + fitting, &n_close);
        if (row >= end) {
            break;
        }
        fitting += min_i64(n_close, end - row);
    }
    *n = min_i64(*n, fitting);
    return GREBE_OK;
}

/* The next batch of the piece; out stays empty when it keeps no more. */
static grebe_status next_of_piece(struct scan *s, struct piece *p, struct ArrowArray *out,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (p->n_kept > 0 && p->pos < p->n_rows) {
        int64_t n = min_i64(s->batch_rows, p->n_rows - p->pos);
        if (bitmap_count(p->keep, p->pos, n) == 0) {
            p->pos += n;
            continue;
        }
        if (p->pos >= p->part_end) {
            GREBE_TRY(piece_make_part(p, p->pos, &s->call, err));
        }
        n = min_i64(n, p->part_end - p->pos);
        GREBE_TRY(cut_batch(s, p, &n, err));
        assert(n > 0);
        int64_t n_true = min_i64(bitmap_count(p->keep, p->pos, n), s->n_left);
        p->pos += n;
        if (n_true > 0) {
            st = array_slice(p->rows, p->given, n_true, out, err);
            p->given += n_true;
            goto out;
        }
    }
out:
    return st;
}

grebe_status scan_filtered_next(struct scan *s, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct piece *p = NULL;
    out->release = NULL;
    while (out->release == NULL) {
        GREBE_TRY(call_check(&s->call, err));
        GREBE_TRY(wait_first(s, &p, err));
        if (p == NULL) {
            return GREBE_END;
        }
        GREBE_TRY(next_of_piece(s, p, out, err));
        if (out->release == NULL || p->pos >= p->n_rows) {
            piece_pop(s);
        }
    }
out:
    return st;
}

grebe_status scan_filtered_count(struct scan *s, int64_t *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct piece *p = NULL;
    *out = 0;
    for (;;) {
        GREBE_TRY(call_check(&s->call, err));
        GREBE_TRY(wait_first(s, &p, err));
        if (p == NULL) {
            break;
        }
        *out += p->n_kept;
        piece_pop(s);
    }
out:
    return st;
}
