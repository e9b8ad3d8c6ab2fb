/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns of a source are like, one row a column. */
#include <math.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "arrow/column_stats.h"
#include "grebe/source_internal.h"
#include "text/text_value.h"

/* ---- the table that is made ---- */

enum stats_column { NAME, TYPE, ROWS, NULLS, NANS, DISTINCT, MIN, MAX, MEAN, DEVIATION, N_COLUMNS };

static const struct {
    const char *name, *format;
    bool is_nullable;
} layout[N_COLUMNS] = {
    { "column", "u", false }, { "type", "u", false },  { "rows", "l", false },
    { "nulls", "l", false },  { "nans", "l", true },   { "distinct", "l", true },
    { "min", "u", true },     { "max", "u", true },    { "mean", "g", true },
    { "std", "g", true },
};

/* One column being made: 8-byte values, or texts by their ends. */
struct made {
    struct buf values, ends, valid; /* valid: one byte a row */
};

static grebe_status put(struct made *m, const void *bytes, size_t len, bool is_valid, grebe_error *err)
{
    grebe_status st = buf_put(&m->values, bytes, len, err);
    int32_t end = (int32_t)m->values.len;
    if (st == GREBE_OK && m->values.len > INT32_MAX) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "texts of more than 2 GiB");
    }
    if (st == GREBE_OK) {
        st = buf_put(&m->ends, &end, sizeof end, err);
    }
    return st == GREBE_OK ? buf_put_byte(&m->valid, is_valid, err) : st;
}

static grebe_status put_int(struct made *m, int64_t v, bool is_valid, grebe_error *err)
{
    return put(m, &v, sizeof v, is_valid, err);
}

static grebe_status put_real(struct made *m, double v, bool is_valid, grebe_error *err)
{
    return put(m, &v, sizeof v, is_valid && !isnan(v), err);
}

static grebe_status fill_buffer(const grebe_allocator *a, struct ArrowArray *out, int64_t i,
                                const void *bytes, size_t len, grebe_error *err)
{
    void *p = NULL;
    grebe_status st = array_alloc_buffer(a, out, i, len, &p, err);
    if (st == GREBE_OK && len > 0) {
        memcpy(p, bytes, len);
    }
    return st;
}

static grebe_status finish_column(const grebe_allocator *a, const struct made *m, bool is_text,
                                  int64_t n, struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    void *p = NULL;
    GREBE_TRY(array_new(a, n, is_text ? 3 : 2, 0, out, err));
    GREBE_TRY(array_alloc_buffer(a, out, 0, bitmap_bytes(n), &p, err));
    memset(p, 0, bitmap_bytes(n));
    for (int64_t i = 0; i < n; i++) {
        if (m->valid.data[i]) {
            bit_set(p, i);
        }
        out->null_count += m->valid.data[i] == 0;
    }
    if (is_text) {
        GREBE_TRY(array_alloc_buffer(a, out, 1, ((size_t)n + 1) * 4, &p, err));
        memset(p, 0, 4);
        memcpy((char *)p + 4, m->ends.data, (size_t)n * 4);
    }
    st = fill_buffer(a, out, is_text ? 2 : 1, m->values.data, m->values.len, err);
out:
    if (st != GREBE_OK) {
        array_release(out);
    }
    return st;
}

static grebe_status stats_schema(const grebe_allocator *a, struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_new(a, "+s", "", false, N_COLUMNS, out, err);
    for (int i = 0; i < N_COLUMNS && st == GREBE_OK; i++) {
        st = schema_new(a, layout[i].format, layout[i].name, layout[i].is_nullable, 0,
                        out->children[i], err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

static grebe_status finish_table(const grebe_allocator *a, const struct made *made, int64_t n,
                                 struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray columns[N_COLUMNS] = { { 0 } }, batch = { 0 };
    for (int i = 0; i < N_COLUMNS; i++) {
        GREBE_TRY(finish_column(a, &made[i], layout[i].format[0] == 'u', n, &columns[i], err));
    }
    GREBE_TRY(stats_schema(a, &schema, err));
    GREBE_TRY(array_struct(a, n, columns, N_COLUMNS, &batch, err));
    GREBE_TRY(stream_from_batches(a, &schema, &batch, 1, out, err));
out:
    for (int i = 0; i < N_COLUMNS; i++) {
        array_release(&columns[i]);
    }
    array_release(&batch);
    schema_release(&schema);
    return st;
}

/* ---- what goes into it ---- */

/* The one value as text; none: null. */
static grebe_status put_value(const grebe_allocator *a, struct made *m, const struct column_stats *s,
                              const struct ArrowArray *one, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_column column;
    bool is_null = false;
    struct buf text = BUF_INIT(a);
    if (one->release == NULL) {
        return put(m, "", 0, false, err);
    }
    st = text_column_init(a, &s->plain, &column, err);
    if (st == GREBE_OK) {
        st = text_put_plain(&text, &column, one, 0, &is_null, err);
        text_column_release(a, &column);
    }
    if (st == GREBE_OK) {
        st = put(m, text.data, text.len, !is_null, err);
    }
    buf_release(&text);
    return st;
}

static grebe_status put_column(const grebe_allocator *a, struct made *made,
                               const struct column_stats *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf type = BUF_INIT(a);
    bool has_nans = s->plain.format[0] == 'e' || s->plain.format[0] == 'f' || s->plain.format[0] == 'g';
    bool has_values = s->n_values > 0;
    GREBE_TRY(type_print(&type, s->schema, err));
    GREBE_TRY(put(&made[NAME], s->schema->name, strlen(s->schema->name), true, err));
    GREBE_TRY(put(&made[TYPE], type.data, type.len, true, err));
    GREBE_TRY(put_int(&made[ROWS], s->n_rows, true, err));
    GREBE_TRY(put_int(&made[NULLS], s->n_nulls, true, err));
    GREBE_TRY(put_int(&made[NANS], s->n_nans, has_nans, err));
    GREBE_TRY(put_int(&made[DISTINCT], (int64_t)(column_stats_distinct(s) + 0.5), s->is_ordered, err));
    GREBE_TRY(put_value(a, &made[MIN], s, &s->min, err));
    GREBE_TRY(put_value(a, &made[MAX], s, &s->max, err));
    GREBE_TRY(put_real(&made[MEAN], s->mean, s->is_numeric && has_values, err));
    GREBE_TRY(put_real(&made[DEVIATION], column_stats_deviation(s), s->is_numeric && has_values, err));
out:
    buf_release(&type);
    return st;
}

static grebe_status gather(const grebe_allocator *a, const struct call *call,
                           struct ArrowArrayStream *rows, struct column_stats *stats, size_t n,
                           grebe_error *err)
{
    grebe_progress progress = { "stats", 0, 0, 0, 0 };
    for (;;) {
        struct ArrowArray batch = { 0 };
        grebe_status st = call_check(call, err);
        if (st == GREBE_OK) {
            st = stream_next(rows, &batch, err);
        }
        for (size_t i = 0; i < n && st == GREBE_OK; i++) {
            st = column_stats_add(a, &stats[i], batch.children[i], err);
        }
        progress.rows_done += st == GREBE_OK ? (uint64_t)batch.length : 0;
        array_release(&batch);
        if (st != GREBE_OK) {
            return st == GREBE_END ? GREBE_OK : st;
        }
        if (call->progress != NULL) {
            call->progress(call->progress_ctx, &progress);
        }
    }
}

grebe_status grebe_source_stats(grebe_source *source, const grebe_scan_options *options,
                                struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, source != NULL && out != NULL);
    const grebe_allocator *a = source->ctx->a;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    struct made made[N_COLUMNS];
    struct column_stats *stats = NULL;
    size_t n = 0, n_ready = 0;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < N_COLUMNS; i++) {
        made[i] = (struct made){ BUF_INIT(a), BUF_INIT(a), BUF_INIT(a) };
    }
    struct call call = call_options_resolve(source->ctx, options != NULL ? options->call : NULL);
    GREBE_TRY(grebe_source_scan(source, options, &rows, err));
    GREBE_TRY(stream_schema(&rows, &schema, err));
    n = (size_t)schema.n_children;
    stats = mem_alloc_zero(a, n * sizeof *stats);
    if (stats == NULL) {
        GREBE_TRY(mem_fail(err, n * sizeof *stats, "statistics"));
    }
    for (; n_ready < n; n_ready++) {
        GREBE_TRY(column_stats_init(a, schema.children[n_ready], &stats[n_ready], err));
    }
    GREBE_TRY(gather(a, &call, &rows, stats, n, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(put_column(a, made, &stats[i], err));
    }
    st = finish_table(a, made, (int64_t)n, out, err);
out:
    for (size_t i = 0; i < n_ready; i++) {
        column_stats_release(&stats[i]);
    }
    for (int i = 0; i < N_COLUMNS; i++) {
        buf_release(&made[i].values);
        buf_release(&made[i].ends);
        buf_release(&made[i].valid);
    }
    mem_free(a, stats, n * sizeof *stats);
    schema_release(&schema);
    stream_release(&rows);
    return st;
}
