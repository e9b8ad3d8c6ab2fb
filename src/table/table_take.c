/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/pool.h"

/*
 * Ids become rows, rows are sorted, every file gives its rows in ascending order, and one gather
 * at the end brings them into the order asked for (none when it was ascending already).
 */

/* From so many rows on, the groups are read at the same time. */
enum { PARALLEL_ROWS_MIN = 256 };

struct take {
    const grebe_table *t;
    struct call call;
    struct plan plan;
    int64_t n;              /* rows asked for */
    int64_t n_found;        /* rows that are there: without the missing ones */
    int64_t *sorted;        /* shape [n]: rows of the table, ascending, the first n_found count */
    int64_t *gather;        /* shape [n]: place of asked row i in sorted, -1: missing; or NULL */
    struct ArrowArray *got; /* shape [plan.n_groups]: n_found rows each */
};

grebe_status table_row_of(const grebe_table *t, size_t i, int64_t id, int64_t *row,
                          grebe_error *err)
{
    const struct snapshot *s = t->snapshot;
    *row = table_is_milvus(t) ? (id >= 0 && id < s->n_rows ? id : -1) : snapshot_row_of_id(s, id);
    if (*row >= 0) {
        return GREBE_OK;
    }
    int64_t next = grebe_table_next_row_id(t);
    if (id < 0 || id >= next) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "rows[%zu]: expected 0 <= id < %" PRId64 ", found %" PRId64, i, next,
                          id);
    }
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "rows[%zu]: row id %" PRId64 " is deleted", i, id);
}

/* Translate the ids; says whether the rows ascend and none is missing. */
static grebe_status find_rows(struct take *k, const int64_t *ids, bool is_missing_null,
                              int64_t *rows, bool *is_ascending, grebe_error *err)
{
    grebe_error missing;
    *is_ascending = true;
    int64_t last = -1;
    const struct snapshot *s = k->t->snapshot;
    bool is_identity = s->runs == NULL || table_is_milvus(k->t);
    for (int64_t i = 0; i < k->n; i++) {
        if (is_identity && ids[i] >= 0 && ids[i] < s->n_rows) {
            rows[i] = ids[i];
        } else {
            grebe_status st = table_row_of(k->t, (size_t)i, ids[i], &rows[i],
                                           is_missing_null ? &missing : err);
            if (st != GREBE_OK && !is_missing_null) {
                return st;
            }
        }
        if (table_is_milvus(k->t) && i > 0 && ids[i] <= ids[i - 1]) {
            return GREBE_FAIL(err, GREBE_EINVAL,
                              "row id %" PRId64 ": expected ids in strictly ascending order, found %"
                              PRId64 " after %" PRId64, i, ids[i], ids[i - 1]);
        }
        *is_ascending &= rows[i] >= last && rows[i] >= 0;
        last = rows[i];
        k->n_found += rows[i] >= 0;
    }
    return GREBE_OK;
}

struct row_place {
    int64_t row;
    int64_t place;
};

static int compare_rows(const void *x, const void *y)
{
    const struct row_place *p = x;
    const struct row_place *q = y;
    return p->row != q->row ? (p->row > q->row) - (p->row < q->row)
                            : (p->place > q->place) - (p->place < q->place);
}

enum { RADIX_BITS = 11, RADIX_ROWS_MIN = 96 };

/* Stable sort by row, digits of 11 bits from the lowest on; places come in ascending. Gives back
 * which of the two buffers holds the result. */
static struct row_place *sort_places(struct row_place *from, struct row_place *to, size_t n,
                                     int64_t row_max)
{
    uint32_t at[1 << RADIX_BITS];
    if (n < RADIX_ROWS_MIN) {
        qsort(from, n, sizeof *from, compare_rows);
        return from;
    }
    for (unsigned shift = 0; shift < 63 && row_max >> shift > 0; shift += RADIX_BITS) {
        memset(at, 0, sizeof at);
        for (size_t i = 0; i < n; i++) {
            at[(uint64_t)from[i].row >> shift & ((1u << RADIX_BITS) - 1)]++;
        }
        uint32_t sum = 0;
        for (size_t d = 0; d < (size_t)1 << RADIX_BITS; d++) {
            uint32_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            to[at[(uint64_t)from[i].row >> shift & ((1u << RADIX_BITS) - 1)]++] = from[i];
        }
        struct row_place *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Sort the rows and remember which place each came from. Duplicates are read once. */
static grebe_status sort_rows(struct take *k, const int64_t *rows, grebe_error *err)
{
    const grebe_allocator *a = k->t->ctx->a;
    size_t n = (size_t)k->n;
    struct row_place *places = mem_alloc(a, 2 * n * sizeof *places);
    k->gather = mem_alloc(a, n * sizeof *k->gather);
    if (places == NULL || k->gather == NULL) {
        mem_free(a, places, 2 * n * sizeof *places);
        return mem_fail(err, 2 * n * sizeof *places, "row ids");
    }
    size_t found = 0;
    int64_t row_max = 0;
    for (size_t i = 0; i < n; i++) {
        k->gather[i] = -1;
        row_max = max_i64(row_max, rows[i]);
        if (rows[i] >= 0) {
            places[found++] = (struct row_place){ rows[i], (int64_t)i };
        }
    }
    assert((int64_t)found == k->n_found);
    const struct row_place *sorted = sort_places(places, places + n, found, row_max);
    int64_t n_distinct = 0;
    for (size_t i = 0; i < found; i++) {
        if (n_distinct == 0 || k->sorted[n_distinct - 1] != sorted[i].row) {
            k->sorted[n_distinct++] = sorted[i].row;
        }
        k->gather[sorted[i].place] = n_distinct - 1;
    }
    k->n_found = n_distinct;
    mem_free(a, places, 2 * n * sizeof *places);
    return GREBE_OK;
}

/* Rows of one file: sorted[begin, end). Positions inside the file go through `local`. */
static grebe_status take_file(const struct take *k, const struct plan_group *g, size_t file,
                              int64_t begin, int64_t end, int64_t *local, struct ArrowArray *out,
                              grebe_error *err)
{
    struct data_file *f = NULL;
    grebe_status st = call_check(&k->call, err);
    if (st == GREBE_OK) {
        st = table_file_open(k->t, g->group, file, &f, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    for (int64_t i = begin; i < end; i++) {
        local[i] = k->sorted[i] - f->row_begin + f->file_row_begin;
        assert(local[i] < f->file_row_end);
    }
    st = data_file_read(k->t, f, g->columns, g->n_columns, local + begin, 0, end - begin,
                        &k->call, out, err);
    data_file_drop(f);
    return st;
}

static grebe_status group_schema(const struct take *k, const struct plan_group *g,
                                 struct ArrowSchema *out, grebe_error *err)
{
    return schema_project(k->t->ctx->a, &k->t->columns->schema, g->columns, g->n_columns, out, err);
}

static grebe_status concat_parts(const struct take *k, const struct plan_group *g,
                                 const struct ArrowArray *parts, size_t n, struct ArrowArray *out,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = k->t->ctx->a;
    struct ArrowSchema schema = { 0 };
    const struct ArrowArray **list = mem_alloc(a, n * sizeof *list);
    if (list == NULL) {
        return mem_fail(err, n * sizeof *list, "parts");
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = &parts[i];
    }
    st = group_schema(k, g, &schema, err);
    if (st == GREBE_OK) {
        st = array_concat(a, &schema, list, n, out, err);
    }
    schema_release(&schema);
    mem_free(a, list, n * sizeof *list);
    return st;
}

/* All rows of one column group, file by file. */
static grebe_status take_group(void *arg, size_t i, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct take *k = arg;
    const struct plan_group *g = &k->plan.groups[i];
    const struct snapshot_group *group = &k->t->snapshot->groups[g->group];
    const grebe_allocator *a = k->t->ctx->a;
    size_t n_rows = (size_t)k->n_found;
    size_t n_parts = 0;
    size_t n_files = 0; /* that hold some of the rows */
    int64_t total = group->row_begin[group->n_files];
    for (int64_t at = 0; at < k->n_found; n_files++) {
        if (k->sorted[at] >= total) { /* groups of unequal length, read as the reference does */
            return GREBE_FAIL(err, GREBE_EINVAL, "row %" PRId64 ": group %zu has %" PRId64 " rows",
                              k->sorted[at], g->group, total);
        }
        int64_t end = group->row_begin[snapshot_file_of(group, k->sorted[at]) + 1];
        for (at++; at < k->n_found && k->sorted[at] < end; at++) {
        }
    }
    int64_t *local = mem_alloc(a, n_rows * sizeof *local);
    struct ArrowArray *parts = mem_alloc_zero(a, n_files * sizeof *parts);
    if (local == NULL || parts == NULL) {
        st = mem_fail(err, n_rows * sizeof *local, "row positions");
        goto out;
    }
    for (int64_t begin = 0; begin < k->n_found; n_parts++) {
        size_t file = snapshot_file_of(group, k->sorted[begin]);
        int64_t end = begin + 1;
        while (end < k->n_found && k->sorted[end] < group->row_begin[file + 1]) {
            end++;
        }
        GREBE_TRY(take_file(k, g, file, begin, end, local, &parts[n_parts], err));
        begin = end;
    }
    assert(n_parts == n_files);
    if (n_parts == 1) {
        array_move(&k->got[i], &parts[0]);
    } else {
        GREBE_TRY(concat_parts(k, g, parts, n_parts, &k->got[i], err));
    }
out:
    for (size_t p = 0; parts != NULL && p < n_files; p++) {
        array_release(&parts[p]);
    }
    mem_free(a, parts, n_files * sizeof *parts);
    mem_free(a, local, n_rows * sizeof *local);
    return st;
}

static grebe_status read_groups(struct take *k, grebe_error *err)
{
    size_t n = k->plan.n_groups;
    if (k->n_found == 0) {
        return GREBE_OK;
    }
    if (n > 1 && k->n_found >= PARALLEL_ROWS_MIN && k->call.threads > 1) {
        return parallel_for(k->t->ctx->pool, k->call.threads, n, take_group, k, k->call.cancel,
                            err);
    }
    for (size_t g = 0; g < n; g++) {
        grebe_status st = take_group(k, g, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status row_id_column(const struct take *k, const int64_t *ids, const int64_t *rows,
                                  struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = k->t->ctx->a;
    size_t n = (size_t)k->n;
    void *values = NULL;
    void *validity = NULL;
    bool has_nulls = false;
    grebe_status st = array_new(a, k->n, 2, 0, out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(a, out, 1, n * sizeof(int64_t), &values, err);
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        ((int64_t *)values)[i] = ids[i];
        has_nulls |= rows[i] < 0;
    }
    if (st == GREBE_OK && has_nulls) {
        st = array_alloc_buffer(a, out, 0, bitmap_bytes(k->n), &validity, err);
    }
    if (st == GREBE_OK && has_nulls) {
        memset(validity, 0, bitmap_bytes(k->n));
        for (size_t i = 0; i < n; i++) {
            if (rows[i] >= 0) {
                bit_set(validity, (int64_t)i);
            } else {
                out->null_count++;
            }
        }
    }
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status output_column(struct take *k, size_t i, const int64_t *ids,
                                  const int64_t *rows, struct ArrowArray *out, grebe_error *err)
{
    const struct plan_column *c = &k->plan.columns[i];
    const grebe_allocator *a = k->t->ctx->a;
    const struct ArrowSchema *type = k->plan.schema.children[i];
    if (c->column < 0) {
        return row_id_column(k, ids, rows, out, err);
    }
    if (c->plan_group < 0 || k->n_found == 0) {
        return array_nulls(a, type, k->n, out, err);
    }
    struct ArrowArray *from = k->got[c->plan_group].children[c->at];
    if (k->gather == NULL) {
        array_move(out, from);
        return GREBE_OK;
    }
    return array_gather(a, type, from, k->gather, k->n, out, err);
}

static grebe_status assemble(struct take *k, const int64_t *ids, const int64_t *rows,
                             struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = k->t->ctx->a;
    size_t n = k->plan.n_output;
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(output_column(k, i, ids, rows, &columns[i], err));
    }
    st = array_struct(a, k->n, columns, n, out, err);
out:
    for (size_t i = 0; i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

static grebe_status run_take(struct take *k, const int64_t *ids, const grebe_take_options *o,
                             struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = k->t->ctx->a;
    size_t n = (size_t)k->n;
    bool is_ascending = true;
    int64_t *rows = mem_alloc(a, n * sizeof *rows);
    k->sorted = mem_alloc(a, n * sizeof *k->sorted);
    k->got = mem_alloc_zero(a, k->plan.n_groups * sizeof *k->got);
    if (rows == NULL || k->sorted == NULL || k->got == NULL) {
        st = mem_fail(err, n * sizeof *rows, "row ids");
        goto out;
    }
    GREBE_TRY(find_rows(k, ids, o->missing == GREBE_MISSING_NULL, rows, &is_ascending, err));
    if (is_ascending) {
        memcpy(k->sorted, rows, n * sizeof *rows);
    } else {
        GREBE_TRY(sort_rows(k, rows, err));
    }
    GREBE_TRY(read_groups(k, err));
    st = assemble(k, ids, rows, out, err);
out:
    for (size_t g = 0; k->got != NULL && g < k->plan.n_groups; g++) {
        array_release(&k->got[g]);
    }
    mem_free(a, k->got, k->plan.n_groups * sizeof *k->got);
    mem_free(a, rows, n * sizeof *rows);
    mem_free(a, k->sorted, n * sizeof *k->sorted);
    mem_free(a, k->gather, n * sizeof *k->gather);
    return st;
}

grebe_status grebe_table_take(const grebe_table *table, const int64_t *row_ids, size_t n,
                              const grebe_take_options *options, struct ArrowArray *out,
                              struct ArrowSchema *out_schema, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL && (row_ids != NULL || n == 0));
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    struct take k = { .t = table, .n = (int64_t)n };
    out->release = NULL;
    if (out_schema != NULL) {
        out_schema->release = NULL;
    }
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) { /* the reference takes from groups of unequal length, too */
        st = table_is_milvus(table) ? table_check_columns(table, err)
                                    : table_check_layout(table, err);
    }
    if (st == GREBE_OK && n > UINT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "%zu row ids, at most 4294967295 are taken", n);
    }
    if (st != GREBE_OK) {
        return st;
    }
    k.call = call_options_resolve(table->ctx, o.call);
    st = plan_new(table, o.columns, o.n_columns, o.with_row_id, NULL, 0, &k.plan, err);
    if (st == GREBE_OK && o.missing == GREBE_MISSING_NULL) {
        for (size_t i = 0; i < k.plan.n_output; i++) {
            k.plan.schema.children[i]->flags |= ARROW_FLAG_NULLABLE;
        }
    }
    if (st == GREBE_OK) {
        st = run_take(&k, row_ids, &o, out, err);
    }
    if (st == GREBE_OK && out_schema != NULL) {
        schema_move(out_schema, &k.plan.schema);
    }
    plan_release(&k.plan);
    return st;
}
