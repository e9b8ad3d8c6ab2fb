/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to one piece of a scan with a predicate. The predicate's columns are read and
 * evaluated first; the others are fetched for the rows that remain only: row by row where these are
 * few, else as the ranges that hold them. Rows are fetched in parts, so that a large chunk of
 * wide columns does not have to fit in memory.
 */
#include "table/table_scan.h"

#include <assert.h>

#include "base/checked.h"
#include "base/endian.h"

enum {
    PART_BYTES = 64 << 20,  /* of late columns, by the file's word */
    PART_ROWS_MIN = 1024,   /* whatever a row takes, and however little memory is allowed */
    DENSE_ONE_OF = 4        /* when so many of the rows in a range remain, it is read as a whole */
};

/* ---- candidates and rows ---- */

/* Rows of the kept candidates in [begin, end), and which candidates they are; shape [kept] each. */
static void list_kept(const struct piece *p, int64_t begin, int64_t end, int64_t *rows,
                      int64_t *candidates)
{
    int64_t at = 0; /* candidates before the span */
    int64_t n = 0;
    for (size_t k = 0; k < p->n_spans && at < end; k++) {
        int64_t len = p->spans[k].end - p->spans[k].begin;
        int64_t last = min_i64(end, at + len);
        for (int64_t i = max_i64(begin, at); i < last; i++) {
            if ((i & 63) == 0 && last - i >= 64 && load_le64(p->keep + (i >> 3)) == 0) {
                i += 63;
                continue;
            }
            if (bit_get(p->keep, i)) {
                rows[n] = p->spans[k].begin + (i - at);
                candidates[n++] = i;
            }
        }
        at += len;
    }
}

static int64_t *list_candidates(const struct piece *p, const struct data_file *f, grebe_error *err)
{
    size_t len = (size_t)p->n_rows * sizeof(int64_t);
    int64_t *rows = mem_alloc(p->scan->table->ctx->a, len);
    int64_t *next = rows;
    if (rows == NULL) {
        (void)mem_fail(err, len, "row numbers");
        return NULL;
    }
    for (size_t k = 0; k < p->n_spans; k++) {
        for (int64_t row = p->spans[k].begin; row < p->spans[k].end; row++) {
            *next++ = f->file_row_begin + (row - f->row_begin);
        }
    }
    return rows;
}

/* ---- the predicate ---- */

static grebe_status read_where_group(struct piece *p, size_t g, const struct call *call,
                                     grebe_error *err)
{
    const struct scan *s = p->scan;
    const struct plan_group *from = &s->where_plan.groups[g];
    const struct data_file *f = p->files[g];
    int64_t *rows = NULL;
    int64_t begin = f->file_row_begin + (p->spans[0].begin - f->row_begin);
    if (p->n_spans > 1) {
        rows = list_candidates(p, f, err);
        if (rows == NULL) {
            return GREBE_ENOMEM;
        }
        begin = 0;
    }
    grebe_status st = data_file_read(s->table, f, from->columns, from->n_columns, rows, begin,
                                     begin + p->n_rows, call, &p->where[g], err);
    mem_free(f->a, rows, rows == NULL ? 0 : (size_t)p->n_rows * sizeof *rows);
    return st;
}

static grebe_status evaluate(struct piece *p, grebe_error *err)
{
    const struct scan *s = p->scan;
    const struct plan *plan = &s->where_plan;
    const grebe_allocator *a = s->table->ctx->a;
    size_t len = plan->n_columns * sizeof(struct ArrowArray *);
    const struct ArrowArray **columns = mem_alloc_zero(a, len);
    p->keep = mem_alloc_zero(a, bitmap_bytes(p->n_rows));
    if (columns == NULL || p->keep == NULL) {
        mem_free(a, columns, len);
        return mem_fail(err, bitmap_bytes(p->n_rows), "a predicate's rows");
    }
    for (size_t i = 0; i < plan->n_columns; i++) {
        const struct plan_column *c = &plan->columns[i];
        assert(c->plan_group >= 0); /* columns of the table lie in groups */
        columns[i] = p->where[c->plan_group].children[c->at];
    }
    grebe_status st = expr_eval(s->where, columns, p->n_rows, p->keep, &p->n_kept, err);
    mem_free(a, columns, len);
    for (int64_t i = p->n_rows; st == GREBE_OK && p->n_kept > p->n_wanted;) {
        i--; /* the limit: forget the last ones */
        p->n_kept -= bit_get(p->keep, i);
        bit_clear(p->keep, i);
    }
    return st;
}

/* ---- late columns ---- */

/* Bytes in memory of a row of the late columns, roughly. */
static grebe_status late_row_bytes(const struct piece *p, int64_t row, uint64_t *out,
                                   grebe_error *err)
{
    const struct scan *s = p->scan;
    double total = 1;
    for (size_t g = 0; g < s->late_plan.n_groups; g++) {
        const struct plan_group *from = &s->late_plan.groups[g];
        struct data_file *f = NULL;
        grebe_status st = scan_file_at(s, from->group, row, &f, err);
        if (st != GREBE_OK) {
            return st;
        }
        const struct format_reader *r = f->reader;
        size_t chunk = format_chunk_of(r, f->file_row_begin + (row - f->row_begin));
        uint64_t bytes = 0;
        for (size_t i = 0; i < from->n_columns; i++) {
            int field = f->field_of[s->table->columns->items[from->columns[i]].at];
            if (field >= 0) {
                bytes += r->ops->stored_bytes(f->reader, &field, 1, chunk);
            }
        }
        total += 3.0 * (double)bytes / (double)(r->chunk_begin[chunk + 1] - r->chunk_begin[chunk]);
        data_file_drop(f);
    }
    *out = total < PART_BYTES ? (uint64_t)total : PART_BYTES;
    return GREBE_OK;
}

/* Rows of the table, rows[0, n), that lie in one chunk of the file: all of them are close. */
static grebe_status read_close(const struct scan *s, const struct data_file *f,
                               const struct plan_group *from, const struct ArrowSchema *schema,
                               const int64_t *rows, int64_t n, const struct call *call,
                               struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = s->table->ctx->a;
    int64_t span = rows[n - 1] - rows[0] + 1;
    int64_t begin = f->file_row_begin + (rows[0] - f->row_begin);
    struct ArrowArray all = { 0 };
    grebe_status st = data_file_read(s->table, f, from->columns, from->n_columns, NULL, begin,
                                     begin + span, call, &all, err);
    if (st != GREBE_OK || n == span) {
        array_move(out, &all);
        return st;
    }
    uint8_t *keep = mem_alloc_zero(a, bitmap_bytes(span));
    if (keep == NULL) {
        st = mem_fail(err, bitmap_bytes(span), "rows that remain");
    } else {
        for (int64_t i = 0; i < n; i++) {
            bit_set(keep, rows[i] - rows[0]);
        }
        st = array_filter(a, schema, &all, keep, out, err);
    }
    mem_free(a, keep, bitmap_bytes(span));
    array_release(&all);
    return st;
}

struct late_parts {
    struct ArrowArray *parts;
    size_t n, capacity;
};

static struct ArrowArray *next_part(const grebe_allocator *a, struct late_parts *l)
{
    if (l->n == l->capacity) {
        size_t capacity = l->capacity == 0 ? 4 : l->capacity * 2;
        struct ArrowArray *grown = mem_resize(a, l->parts, l->capacity * sizeof *grown,
                                              capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        l->parts = grown;
        l->capacity = capacity;
    }
    memset(&l->parts[l->n], 0, sizeof *l->parts);
    return &l->parts[l->n++];
}

/* Rows of one file, rows[0, n); local: room for n. */
static grebe_status read_file_rows(const struct scan *s, const struct data_file *f,
                                   const struct plan_group *from, const struct ArrowSchema *schema,
                                   const int64_t *rows, int64_t n, int64_t *local,
                                   const struct call *call, struct late_parts *l, grebe_error *err)
{
    const grebe_allocator *a = s->table->ctx->a;
    grebe_status st = GREBE_OK;
    if ((rows[n - 1] - rows[0]) / DENSE_ONE_OF >= n) {
        struct ArrowArray *part = next_part(a, l);
        for (int64_t i = 0; i < n; i++) {
            local[i] = f->file_row_begin + (rows[i] - f->row_begin);
        }
        return part == NULL ? mem_fail(err, sizeof *part, "rows that remain")
                            : data_file_read(s->table, f, from->columns, from->n_columns, local, 0,
                                             n, call, part, err);
    }
    for (int64_t at = 0; at < n && st == GREBE_OK;) {
        int64_t end = scan_chunk_end(f, rows[at], INT64_MAX);
        int64_t first = at;
        while (at < n && rows[at] < end) {
            at++;
        }
        struct ArrowArray *part = next_part(a, l);
        st = part == NULL ? mem_fail(err, sizeof *part, "rows that remain")
                          : read_close(s, f, from, schema, rows + first, at - first, call, part,
                                       err);
    }
    return st;
}

static grebe_status join_parts(const grebe_allocator *a, const struct ArrowSchema *schema,
                               struct late_parts *l, struct ArrowArray *out, grebe_error *err)
{
    if (l->n == 1) {
        array_move(out, &l->parts[0]);
        return GREBE_OK;
    }
    const struct ArrowArray **list = mem_alloc(a, l->n * sizeof *list);
    if (list == NULL) {
        return mem_fail(err, l->n * sizeof *list, "parts");
    }
    for (size_t i = 0; i < l->n; i++) {
        list[i] = &l->parts[i];
    }
    grebe_status st = array_concat(a, schema, list, l->n, out, err);
    mem_free(a, list, l->n * sizeof *list);
    return st;
}

/* The late columns of one group for rows of the table, n >= 1. */
static grebe_status read_late(const struct scan *s, size_t g, const int64_t *rows, int64_t n,
                              const struct call *call, struct ArrowArray *out, grebe_error *err)
{
    const struct plan_group *from = &s->late_plan.groups[g];
    const struct snapshot_group *group = &s->table->snapshot->groups[from->group];
    const grebe_allocator *a = s->table->ctx->a;
    struct late_parts l = { NULL, 0, 0 };
    struct ArrowSchema schema = { 0 };
    struct data_file *f = NULL;
    grebe_status st = GREBE_OK;
    int64_t *local = mem_alloc(a, (size_t)n * sizeof *local);
    if (local == NULL) {
        return mem_fail(err, (size_t)n * sizeof *local, "row numbers");
    }
    GREBE_TRY(schema_project(a, &s->table->columns->schema, from->columns, from->n_columns, &schema,
                             err));
    for (int64_t at = 0; at < n;) {
        int64_t first = at;
        GREBE_TRY(call_check(call, err));
        GREBE_TRY(scan_file_at(s, from->group, rows[at], &f, err));
        while (at < n && rows[at] < group->row_begin[f->file + 1]) {
            at++;
        }
        GREBE_TRY(read_file_rows(s, f, from, &schema, rows + first, at - first, local, call, &l,
                                 err));
    }
    st = join_parts(a, &schema, &l, out, err);
out:
    for (size_t i = 0; i < l.n; i++) {
        array_release(&l.parts[i]);
    }
    mem_free(a, l.parts, l.capacity * sizeof *l.parts);
    schema_release(&schema);
    data_file_drop(f);
    mem_free(a, local, (size_t)n * sizeof *local);
    return st;
}

/* ---- parts ---- */

static grebe_status row_ids(const struct scan *s, const int64_t *rows, int64_t n,
                            struct ArrowArray *out, grebe_error *err)
{
    const struct snapshot *snapshot = s->table->snapshot;
    void *data = NULL;
    grebe_status st = array_new(s->table->ctx->a, n, 2, 0, out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(s->table->ctx->a, out, 1, (size_t)n * sizeof(int64_t), &data, err);
    }
    if (st != GREBE_OK) {
        array_release(out);
        return st;
    }
    int64_t *ids = data;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = snapshot->runs == NULL ? rows[i] : snapshot_id_of_row(snapshot, rows[i]);
    }
    return GREBE_OK;
}

/* The kept rows of a part on their way to the output. */
struct part {
    struct piece *p;
    int64_t n; /* kept */
    const int64_t *rows, *candidates; /* shape [n] */
    bool is_all; /* every candidate of the piece */
    struct ArrowArray *late; /* by group of the late plan */
};

static grebe_status output_column(const struct part *t, size_t i, struct ArrowArray *out,
                                  grebe_error *err)
{
    const struct scan *s = t->p->scan;
    const grebe_allocator *a = s->table->ctx->a;
    const struct output_source *from = &s->sources[i];
    const struct ArrowSchema *schema = s->plan.schema.children[i];
    if (s->plan.columns[i].column < 0) {
        return row_ids(s, t->rows, t->n, out, err);
    }
    if (from->plan_group < 0) {
        return array_nulls(a, schema, t->n, out, err);
    }
    if (!from->is_of_where) {
        array_move(out, t->late[from->plan_group].children[from->at]);
        return GREBE_OK;
    }
    struct ArrowArray *all = t->p->where[from->plan_group].children[from->at];
    if (t->is_all) {
        array_move(out, all);
        return GREBE_OK;
    }
    return array_gather(a, schema, all, t->candidates, t->n, out, err);
}

static grebe_status build_rows(const struct part *t, grebe_error *err)
{
    const struct scan *s = t->p->scan;
    const grebe_allocator *a = s->table->ctx->a;
    size_t n = s->plan.n_output;
    struct ArrowArray rows = { 0 };
    grebe_status st = GREBE_OK;
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(output_column(t, i, &columns[i], err));
    }
    GREBE_TRY(array_struct(a, t->n, columns, n, &rows, err));
    st = array_share(a, &rows, &t->p->rows, err);
out:
    array_release(&rows);
    for (size_t i = 0; i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

/* Candidate behind the last one of a part that begins at `begin` and keeps at most `most` rows, or a few more. */
static int64_t find_part_end(const struct piece *p, int64_t begin, uint64_t most, int64_t *n_kept)
{
    int64_t end = begin;
    *n_kept = 0;
    while (end < p->n_rows) {
        int64_t step = min_i64(most < PART_ROWS_MIN ? (int64_t)most : PART_ROWS_MIN, p->n_rows - end);
        int64_t n = bitmap_count(p->keep, end, step);
        if (end > begin && (uint64_t)(*n_kept + n) > most) {
            break;
        }
        *n_kept += n;
        end += step;
    }
    return end;
}

/* The rows [p->part_begin, p->part_end), of which n are kept. */
static grebe_status make_rows(struct piece *p, int64_t n, const struct call *call, grebe_error *err)
{
    const struct scan *s = p->scan;
    const grebe_allocator *a = s->table->ctx->a;
    size_t n_late = s->late_plan.n_groups;
    struct part t = { .p = p, .n = n, .is_all = n == p->n_rows };
    grebe_status st = GREBE_OK;
    int64_t *lists = mem_alloc(a, 2 * (size_t)n * sizeof *lists);
    t.late = mem_alloc_zero(a, n_late * sizeof *t.late);
    if (lists == NULL || t.late == NULL) {
        st = mem_fail(err, 2 * (size_t)n * sizeof *lists, "row numbers");
        goto out;
    }
    list_kept(p, p->part_begin, p->part_end, lists, lists + n);
    t.rows = lists;
    t.candidates = lists + n;
    for (size_t g = 0; g < n_late; g++) {
        GREBE_TRY(read_late(s, g, t.rows, n, call, &t.late[g], err));
    }
    st = build_rows(&t, err);
out:
    for (size_t g = 0; t.late != NULL && g < n_late; g++) {
        array_release(&t.late[g]);
    }
    mem_free(a, t.late, n_late * sizeof *t.late);
    mem_free(a, lists, 2 * (size_t)n * sizeof *lists);
    return st;
}

grebe_status piece_make_part(struct piece *p, int64_t begin, const struct call *call,
                             grebe_error *err)
{
    uint64_t row_bytes = 1;
    int64_t n = 0;
    grebe_status st = GREBE_OK;

    array_shared_drop(p->rows);
    p->rows = NULL;
    p->given = 0;
    p->part_begin = begin;
    if (p->scan->late_plan.n_groups > 0) {
        GREBE_TRY(late_row_bytes(p, p->spans[0].begin, &row_bytes, err));
    }
    uint64_t most = min_u64(PART_BYTES, call->memory_limit_bytes) / row_bytes;
    most = most > PART_ROWS_MIN ? most : PART_ROWS_MIN;
    for (;;) {
        p->part_end = find_part_end(p, begin, most, &n);
        st = n > 0 ? make_rows(p, n, call, err) : GREBE_OK;
        if (st != GREBE_ELIMIT || n < 2) {
            break;
        }
        most = (uint64_t)n / 2; /* what the file said of its bytes tells nothing of a dictionary's strings */
    }
out:
    return st;
}

static grebe_status run(struct piece *p, const struct call *call, grebe_error *err)
{
    const struct scan *s = p->scan;
    grebe_status st = GREBE_OK;
    for (size_t g = 0; g < s->where_plan.n_groups && st == GREBE_OK; g++) {
        st = read_where_group(p, g, call, err);
    }
    if (st == GREBE_OK) {
        st = evaluate(p, err);
    }
    if (st == GREBE_OK && !s->is_count && p->n_kept > 0) {
        st = piece_make_part(p, 0, call, err);
    }
    return st;
}

grebe_status piece_run(void *arg, grebe_error *err)
{
    struct piece *p = arg;
    struct call call = p->scan->call;
    grebe_status st = call_check(&call, err);
    if (st != GREBE_OK) {
        return st;
    }
    call.threads = p->threads;
    call.progress = NULL;
    st = run(p, &call, err);
    return st == GREBE_OK ? st
                          : error_wrap(err, st, "%s: rows [%lld, %lld)", p->scan->table->path,
                                       (long long)p->spans[0].begin,
                                       (long long)p->spans[p->n_spans - 1].end);
}

void piece_free(struct piece *p)
{
    const struct scan *s = p->scan;
    const grebe_allocator *a = s->table->ctx->a;
    for (size_t g = 0; g < s->where_plan.n_groups; g++) {
        if (p->where != NULL) {
            array_release(&p->where[g]);
        }
        if (p->files != NULL) {
            data_file_drop(p->files[g]);
        }
    }
    array_shared_drop(p->rows);
    mem_free(a, p->keep, p->keep == NULL ? 0 : bitmap_bytes(p->n_rows));
    mem_free(a, p->where, s->where_plan.n_groups * sizeof *p->where);
    mem_free(a, p->files, s->where_plan.n_groups * sizeof *p->files);
    mem_free(a, p->spans, p->n_spans_allocated * sizeof *p->spans);
    mem_free(a, p, sizeof *p);
}
