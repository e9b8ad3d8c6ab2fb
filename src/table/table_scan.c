/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_scan.h"

#include <assert.h>
#include <inttypes.h>

#include "arrow/arrow_stream.h"
#include "base/checked.h"

enum {
    BATCH_ROWS = 65536,
    BATCH_ROWS_MILVUS = 8192,
    PIECE_ROWS = 1 << 19 /* so many that a dictionary, which each piece decodes, does not count */
};

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
    s->piece_rows = PIECE_ROWS;
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

/* Which columns the predicate reads, which ones can wait, and where the output takes them from. */
static grebe_status plan_filter(struct scan *s, const int *where, size_t n_where, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    static const char *const nothing[1] = { NULL };
    const struct plan *p = &s->plan;
    const grebe_allocator *a = s->table->ctx->a;
    size_t n_late = 0;
    int *late = mem_alloc(a, p->n_output * sizeof *late);
    s->sources = mem_alloc_zero(a, p->n_output * sizeof *s->sources);
    if (late == NULL || s->sources == NULL) {
        st = mem_fail(err, p->n_output * sizeof *s->sources, "a plan");
        goto out;
    }
    GREBE_TRY(plan_new(s->table, nothing, 0, false, where, n_where, &s->where_plan, err));
    for (size_t i = 0; i < p->n_output; i++) {
        size_t k = 0;
        while (k < n_where && where[k] != p->columns[i].column) {
            k++;
        }
        s->sources[i] = (struct output_source){ k < n_where, -1, 0 };
        if (k < n_where) {
            s->sources[i].plan_group = s->where_plan.columns[k].plan_group;
            s->sources[i].at = s->where_plan.columns[k].at;
        } else if (p->columns[i].column >= 0) {
            late[n_late++] = p->columns[i].column;
        }
    }
    GREBE_TRY(plan_new(s->table, nothing, 0, false, late, n_late, &s->late_plan, err));
    for (size_t i = 0, k = 0; i < p->n_output; i++) {
        if (!s->sources[i].is_of_where && p->columns[i].column >= 0) {
            s->sources[i].plan_group = s->late_plan.columns[k].plan_group;
            s->sources[i].at = s->late_plan.columns[k++].at;
        }
    }
    s->prune_files = mem_alloc_zero(a, s->where_plan.n_groups * sizeof *s->prune_files);
    s->late_files = mem_alloc_zero(a, s->late_plan.n_groups * sizeof *s->late_files);
    if (s->prune_files == NULL || s->late_files == NULL) {
        st = mem_fail(err, s->where_plan.n_groups * sizeof *s->prune_files, "a plan");
    }
out:
    mem_free(a, late, p->n_output * sizeof *late);
    return st;
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
        st = expr_bind(s->where, &s->table->columns->schema, err);
        if (st != GREBE_OK && !(st == GREBE_ESCHEMA && table_is_milvus(s->table))) {
            goto out; /* the reference drops a term whose types do not fit, and gives the row */
        }
        st = GREBE_OK;
    }
    if (table_is_milvus(s->table)) {
        expr_free(s->where); /* parsed and bound, then ignored, as the reference does */
        s->where = NULL;
    }
    const int *extra = s->where == NULL ? NULL : expr_columns(s->where, &n_where);
    s->is_count = is_count;
    GREBE_TRY(plan_new(s->table, is_count ? nothing : o->columns, is_count ? 0 : o->n_columns,
                       !is_count && o->with_row_id, extra, n_where, &s->plan, err));
    GREBE_TRY(resolve_rows(s, o, err));
    if (s->where != NULL) {
        GREBE_TRY(plan_filter(s, extra, n_where, err));
    }
    if (table_is_milvus(s->table)) {
        GREBE_TRY(check_as_reference(s, err));
    }
    size_t n = s->plan.n_groups;
    s->cursors = mem_alloc_zero(a, n * sizeof *s->cursors);
    s->current = mem_alloc_zero(a, n * sizeof *s->current);
    if (s->cursors == NULL || s->current == NULL) {
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
    while (s->first_piece != NULL) {
        piece_pop(s);
    }
    for (size_t g = 0; s->prune_files != NULL && g < s->where_plan.n_groups; g++) {
        data_file_drop(s->prune_files[g]);
    }
    for (size_t g = 0; s->late_files != NULL && g < s->late_plan.n_groups; g++) {
        data_file_drop(s->late_files[g]);
    }
    mem_free(a, s->prune_files, s->where_plan.n_groups * sizeof *s->prune_files);
    mem_free(a, s->late_files, s->late_plan.n_groups * sizeof *s->late_files);
    mem_free(a, s->sources, s->plan.n_output * sizeof *s->sources);
    plan_release(&s->where_plan);
    plan_release(&s->late_plan);
    mem_free(a, s->cursors, n * sizeof *s->cursors);
    mem_free(a, s->current, n * sizeof *s->current);
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
    for (size_t g = 0; g < s->plan.n_groups; g++) {
        GREBE_TRY(cursor_wait(s, &s->cursors[g], err));
    }
    *begin = max_i64(s->pos, s->cursors[0].first->row_begin);
    *n = s->batch_rows;
    for (size_t g = 0; g < s->plan.n_groups; g++) {
        const struct chunk *head = s->cursors[g].first;
        assert(head != NULL && head->row_begin <= *begin && *begin < head->row_end);
        *n = min_i64(*n, head->row_end - *begin);
    }
    for (size_t g = 0; g < s->plan.n_groups; g++) {
        const struct chunk *head = s->cursors[g].first;
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

static grebe_status scan_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct scan *s = self;
    grebe_status st = GREBE_OK;
    int64_t begin = 0;
    int64_t n = 0;
    out->release = NULL;
    if (s->n_left == 0) {
        return GREBE_END;
    }
    if (s->where != NULL) {
        st = scan_filtered_next(s, out, err);
    } else {
        st = scan_step(s, &begin, &n, err);
        if (st == GREBE_OK) {
            st = build_batch(s, begin, n, out, err);
        }
    }
    if (st == GREBE_OK) {
        s->n_left -= min_i64(s->n_left, out->length);
    }
    return st;
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
    if (s->where == NULL) {
        *out = s->row_end - s->row_begin;
    } else {
        st = scan_filtered_count(s, out, err);
        *out = st == GREBE_OK ? *out : 0;
    }
    scan_free(s);
    return st;
}
