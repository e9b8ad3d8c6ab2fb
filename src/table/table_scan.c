/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_scan.h"

#include <assert.h>
#include <inttypes.h>

#include "arrow/arrow_stream.h"
#include "base/checked.h"

enum { BATCH_ROWS = 65536, BATCH_ROWS_MILVUS = 8192 };

/* ---- life ---- */

grebe_status scan_options_check(const grebe_scan_options *o, grebe_error *err)
{
    if (o->row_begin < 0 || o->row_end < o->row_begin) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "rows: expected 0 <= begin <= end, found [%" PRId64 ", %" PRId64 ")",
                          o->row_begin, o->row_end);
    }
    if (o->limit < -1 || o->batch_rows < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "expected limit >= -1 and batch_rows >= 0, found %" PRId64
                          " and %" PRId64, o->limit, o->batch_rows);
    }
    return GREBE_OK;
}

static grebe_status resolve_rows(struct scan *s, const grebe_scan_options *o, grebe_error *err)
{
    const struct snapshot *snapshot = s->table->snapshot;
    grebe_status st = scan_options_check(o, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (table_is_milvus(s->table)) {
        s->row_begin = min_i64(o->row_begin, snapshot->n_rows);
        s->row_end = min_i64(o->row_end, snapshot->n_rows);
    } else {
        s->row_begin = snapshot_row_lower_bound(snapshot, o->row_begin);
        s->row_end = snapshot_row_lower_bound(snapshot, o->row_end);
    }
    s->n_left = o->limit < 0 ? INT64_MAX : o->limit;
    if (s->where == NULL && s->n_left < s->row_end - s->row_begin) {
        s->row_end = s->row_begin + s->n_left;
    }
    s->batch_rows = o->batch_rows != 0          ? o->batch_rows
                    : table_is_milvus(s->table) ? BATCH_ROWS_MILVUS
                                                : BATCH_ROWS;
    s->pos = s->row_begin;
    s->pruned_to = s->row_begin;
    return GREBE_OK;
}

/* What the reference refuses when it scans (loon.md 2.1, 5.2). */
static grebe_status check_as_reference(const struct scan *s, grebe_error *err)
{
    for (size_t i = 0; i < s->plan.n_groups; i++) {
        const struct snapshot_group *g = &s->table->snapshot->groups[s->plan.groups[i].group];
        if (g->n_files == 0) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "group %zu: expected files, found none",
                              s->plan.groups[i].group);
        }
        for (size_t f = 0; f < g->n_files; f++) {
            if (g->row_begin[f + 1] == g->row_begin[f]) {
                return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected rows, found none",
                                  manifest_file_at(g->manifest, f)->path.data);
            }
        }
    }
    return GREBE_OK;
}

static grebe_status scan_open(struct scan *s, const grebe_scan_options *o, bool is_count,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->table->ctx->a;
    static const char *const nothing[1] = { NULL };
    size_t n_where = 0;
    s->call = call_options_resolve(s->table->ctx, o->call);
    GREBE_TRY(table_check_layout(s->table, err));
    if (o->where != NULL) {
        GREBE_TRY(expr_parse(a, o->where, &s->where, err));
        GREBE_TRY(expr_bind(s->where, &s->table->columns->schema, err));
    }
    if (table_is_milvus(s->table)) {
        expr_free(s->where); /* parsed and bound, then ignored, as the reference does */
        s->where = NULL;
    }
    const int *extra = s->where == NULL ? NULL : expr_columns(s->where, &n_where);
    s->n_where = n_where;
    GREBE_TRY(plan_new(s->table, is_count ? nothing : o->columns, is_count ? 0 : o->n_columns,
                       !is_count && o->with_row_id, extra, n_where, &s->plan, err));
    GREBE_TRY(resolve_rows(s, o, err));
    if (table_is_milvus(s->table)) {
        GREBE_TRY(check_as_reference(s, err));
    }
    size_t n = s->plan.n_groups;
    s->cursors = mem_alloc_zero(a, n * sizeof *s->cursors);
    s->current = mem_alloc_zero(a, n * sizeof *s->current);
    s->prune_files = mem_alloc_zero(a, n * sizeof *s->prune_files);
    if (s->cursors == NULL || s->current == NULL || s->prune_files == NULL) {
        st = mem_fail(err, n * sizeof *s->cursors, "a scan");
        goto out;
    }
    for (size_t g = 0; g < n; g++) {
        s->cursors[g].group = s->plan.groups[g].group;
        s->cursors[g].next_row = s->row_begin;
    }
out:
    return st;
}

grebe_status scan_new(const grebe_table *t, const grebe_scan_options *options, bool is_count,
                      struct scan **out, grebe_error *err)
{
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    *out = NULL;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct scan *s = mem_alloc_zero(t->ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a scan");
    }
    s->table = grebe_table_keep((grebe_table *)t);
    st = scan_open(s, &o, is_count, err);
    if (st != GREBE_OK) {
        scan_free(s);
        return st;
    }
    *out = s;
    return GREBE_OK;
}

static void release_current(struct scan *s)
{
    for (size_t g = 0; s->current != NULL && g < s->plan.n_groups; g++) {
        array_release(&s->current[g]);
    }
}

void scan_free(struct scan *s)
{
    if (s == NULL) {
        return;
    }
    const grebe_allocator *a = s->table->ctx->a;
    size_t n = s->plan.n_groups;
    release_current(s);
    for (size_t g = 0; s->cursors != NULL && g < n; g++) {
        while (s->cursors[g].first != NULL) {
            cursor_pop(s, &s->cursors[g]);
        }
        data_file_drop(s->cursors[g].file);
    }
    for (size_t g = 0; s->prune_files != NULL && g < n; g++) {
        data_file_drop(s->prune_files[g]);
    }
    mem_free(a, s->cursors, n * sizeof *s->cursors);
    mem_free(a, s->current, n * sizeof *s->current);
    mem_free(a, s->prune_files, n * sizeof *s->prune_files);
    mem_free(a, s->segments, s->segments_capacity * sizeof *s->segments);
    plan_release(&s->plan);
    expr_free(s->where);
    grebe_table_close(s->table);
    mem_free(a, s, sizeof *s);
}

/* ---- steps ---- */

/* No column is read: rows are only counted out. */
static grebe_status step_without_groups(struct scan *s, int64_t *begin, int64_t *n,
                                        grebe_error *err)
{
    struct segment segment;
    for (;;) {
        grebe_status st = scan_segment(s, s->pos_segment, &segment, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (s->pos < segment.end) {
            break;
        }
        s->pos_segment++;
    }
    *begin = max_i64(s->pos, segment.begin);
    *n = min_i64(segment.end - *begin, s->batch_rows);
    s->pos = *begin + *n;
    return GREBE_OK;
}

grebe_status scan_step(struct scan *s, int64_t *begin, int64_t *n, grebe_error *err)
{
    grebe_status st = call_check(&s->call, err);
    release_current(s);
    if (st != GREBE_OK) {
        return st;
    }
    if (s->plan.n_groups == 0) {
        return step_without_groups(s, begin, n, err);
    }
    GREBE_TRY(scan_read_ahead(s, err));
    if (s->cursors[0].first == NULL) {
        return GREBE_END;
    }
    *begin = max_i64(s->pos, s->cursors[0].first->row_begin);
    *n = s->batch_rows;
    for (size_t g = 0; g < s->plan.n_groups; g++) {
        struct chunk *head = s->cursors[g].first;
        assert(head != NULL && head->row_begin <= *begin && *begin < head->row_end);
        *n = min_i64(*n, head->row_end - *begin);
    }
    for (size_t g = 0; g < s->plan.n_groups; g++) {
        struct chunk *head = s->cursors[g].first;
        GREBE_TRY(chunk_wait(head, err));
        GREBE_TRY(array_slice(head->rows, *begin - head->row_begin, *n, &s->current[g], err));
    }
    s->pos = *begin + *n;
    for (size_t g = 0; g < s->plan.n_groups; g++) {
        if (s->cursors[g].first->row_end == s->pos) {
            cursor_pop(s, &s->cursors[g]);
        }
    }
out:
    return st;
}

grebe_status scan_eval(const struct scan *s, int64_t n, uint8_t *keep, int64_t *n_true,
                       grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct plan *p = &s->plan;
    const grebe_allocator *a = s->table->ctx->a;
    const struct ArrowArray **columns = mem_alloc_zero(a, s->n_where * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, s->n_where * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < s->n_where; i++) {
        const struct plan_column *c = &p->columns[p->n_columns - s->n_where + i];
        assert(c->plan_group >= 0); /* columns of the table lie in groups */
        columns[i] = s->current[c->plan_group].children[c->at];
    }
    st = expr_eval(s->where, columns, n, keep, n_true, err);
    mem_free(a, columns, s->n_where * sizeof *columns);
    return st;
}

/* ---- batches ---- */

/* The output columns of a step, moved out of the groups' rows. */
static grebe_status build_batch(struct scan *s, int64_t begin, int64_t n, struct ArrowArray *out,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct plan *p = &s->plan;
    const grebe_allocator *a = s->table->ctx->a;
    struct ArrowArray *columns = mem_alloc_zero(a, p->n_output * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, p->n_output * sizeof *columns, "a batch");
    }
    for (size_t i = 0; i < p->n_output; i++) {
        const struct plan_column *c = &p->columns[i];
        if (c->column < 0) {
            GREBE_TRY(plan_row_ids(s->table, begin, n, &columns[i], err));
        } else if (c->plan_group < 0) {
            GREBE_TRY(array_nulls(a, p->schema.children[i], n, &columns[i], err));
        } else {
            array_move(&columns[i], s->current[c->plan_group].children[c->at]);
        }
    }
    st = array_struct(a, n, columns, p->n_output, out, err);
out:
    for (size_t i = 0; i < p->n_output; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, p->n_output * sizeof *columns);
    return st;
}

/* Rows that the predicate keeps; out stays empty when it keeps none. */
static grebe_status filter_batch(struct scan *s, int64_t begin, int64_t n, uint8_t *keep,
                                 struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    int64_t n_true = 0;
    struct ArrowArray all = { 0 };
    const grebe_allocator *a = s->table->ctx->a;
    GREBE_TRY(scan_eval(s, n, keep, &n_true, err));
    if (n_true == 0) {
        goto out;
    }
    for (int64_t i = n; n_true > s->n_left;) { /* the limit: forget the last ones */
        i--;
        n_true -= bit_get(keep, i);
        bit_clear(keep, i);
    }
    GREBE_TRY(build_batch(s, begin, n, &all, err));
    if (n_true == n) {
        array_move(out, &all);
    } else {
        GREBE_TRY(array_filter(a, &s->plan.schema, &all, keep, out, err));
    }
out:
    array_release(&all);
    return st;
}

static grebe_status scan_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct scan *s = self;
    const grebe_allocator *a = s->table->ctx->a;
    out->release = NULL;
    while (out->release == NULL && s->n_left > 0) {
        int64_t begin = 0;
        int64_t n = 0;
        grebe_status st = scan_step(s, &begin, &n, err);
        if (st == GREBE_OK && s->where == NULL) {
            st = build_batch(s, begin, n, out, err);
        } else if (st == GREBE_OK) {
            uint8_t *keep = mem_alloc_zero(a, bitmap_bytes(n));
            st = keep == NULL ? mem_fail(err, bitmap_bytes(n), "a bitmap")
                              : filter_batch(s, begin, n, keep, out, err);
            mem_free(a, keep, bitmap_bytes(n));
        }
        if (st != GREBE_OK) {
            return st;
        }
    }
    if (out->release == NULL) {
        return GREBE_END;
    }
    s->n_left -= min_i64(s->n_left, out->length);
    return GREBE_OK;
}

static grebe_status scan_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    const struct scan *s = self;
    return schema_copy(s->table->ctx->a, &s->plan.schema, out, err);
}

static void scan_release(void *self) { scan_free(self); }

grebe_status grebe_table_scan(const grebe_table *table, const grebe_scan_options *options,
                              struct ArrowArrayStream *out, grebe_error *err)
{
    static const struct stream_ops ops = { scan_schema, scan_next, scan_release };
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    struct scan *s = NULL;
    out->release = NULL;
    grebe_status st = scan_new(table, options, false, &s, err);
    if (st == GREBE_OK) {
        st = stream_export(table->ctx->a, &ops, s, out, err);
    }
    if (st != GREBE_OK && s != NULL) {
        scan_free(s);
    }
    return st;
}

grebe_status grebe_table_count(const grebe_table *table, const grebe_scan_options *options,
                               int64_t *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    struct scan *s = NULL;
    const grebe_allocator *a = table->ctx->a;
    *out = 0;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    o.limit = -1;
    if (st == GREBE_OK) {
        st = scan_new(table, &o, true, &s, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    int64_t total = 0;
    if (s->where == NULL) {
        total = s->row_end - s->row_begin;
        goto out;
    }
    for (;;) {
        int64_t begin = 0;
        int64_t n = 0;
        int64_t n_true = 0;
        st = scan_step(s, &begin, &n, err);
        if (st != GREBE_OK) {
            break;
        }
        uint8_t *keep = mem_alloc_zero(a, bitmap_bytes(n));
        st = keep == NULL ? mem_fail(err, bitmap_bytes(n), "a bitmap")
                          : scan_eval(s, n, keep, &n_true, err);
        mem_free(a, keep, bitmap_bytes(n));
        if (st != GREBE_OK) {
            break;
        }
        total += n_true;
    }
    st = st == GREBE_END ? GREBE_OK : st;
out:
    *out = st == GREBE_OK ? total : 0;
    scan_free(s);
    return st;
}
