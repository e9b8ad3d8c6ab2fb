/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns of a source are like, one row a column. */
#include <math.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "arrow/column_stats.h"
#include "grebe/made_rows.h"
#include "grebe/source_internal.h"
#include "text/text_value.h"

static const struct made_layout layout[] = {
    { "column", "u", false }, { "type", "u", false },  { "rows", "l", false },
    { "nulls", "l", false },  { "nans", "l", true },   { "distinct", "l", true },
    { "min", "u", true },     { "max", "u", true },    { "mean", "g", true },
    { "std", "g", true },
};
enum { N_COLUMNS = sizeof layout / sizeof *layout };

/* The one value as text; none: null. */
static grebe_status put_value(struct made_rows *rows, const struct column_stats *s,
                              const struct ArrowArray *one, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct text_column column;
    bool is_null = false;
    struct buf text = BUF_INIT(rows->a);
    if (one->release == NULL) {
        return made_text(rows, NULL, 0, err);
    }
    st = text_column_init(rows->a, &s->plain, &column, err);
    if (st == GREBE_OK) {
        st = text_put_plain(&text, &column, one, 0, &is_null, err);
        text_column_release(rows->a, &column);
    }
    if (st == GREBE_OK) {
        st = made_text(rows, is_null ? NULL : text.len > 0 ? (const char *)text.data : "", text.len, err);
    }
    buf_release(&text);
    return st;
}

static grebe_status put_column(struct made_rows *rows, const struct column_stats *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf type = BUF_INIT(rows->a);
    bool has_nans = s->plain.format[0] == 'e' || s->plain.format[0] == 'f' || s->plain.format[0] == 'g';
    bool has_mean = s->is_numeric && s->n_values > 0;
    double deviation = column_stats_deviation(s);
    GREBE_TRY(type_print(&type, s->schema, err));
    GREBE_TRY(made_text(rows, s->schema->name, strlen(s->schema->name), err));
    GREBE_TRY(made_text(rows, (const char *)type.data, type.len, err));
    GREBE_TRY(made_int(rows, s->n_rows, true, err));
    GREBE_TRY(made_int(rows, s->n_nulls, true, err));
    GREBE_TRY(made_int(rows, s->n_nans, has_nans, err));
    GREBE_TRY(made_int(rows, (int64_t)(column_stats_distinct(s) + 0.5), s->is_ordered, err));
    GREBE_TRY(put_value(rows, s, &s->min, err));
    GREBE_TRY(put_value(rows, s, &s->max, err));
    GREBE_TRY(made_real(rows, s->mean, has_mean && !isnan(s->mean), err));
    GREBE_TRY(made_real(rows, deviation, has_mean && !isnan(deviation), err));
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
    struct made_rows made = { 0 };
    struct column_stats *stats = NULL;
    size_t n = 0, n_ready = 0;
    memset(out, 0, sizeof *out);
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
    GREBE_TRY(made_rows_init(a, layout, N_COLUMNS, &made, err));
    GREBE_TRY(gather(a, &call, &rows, stats, n, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(put_column(&made, &stats[i], err));
    }
    st = made_rows_finish(&made, out, err);
out:
    for (size_t i = 0; i < n_ready; i++) {
        column_stats_release(&stats[i]);
    }
    made_rows_release(&made);
    mem_free(a, stats, n * sizeof *stats);
    schema_release(&schema);
    stream_release(&rows);
    return st;
}
