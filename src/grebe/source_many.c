/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/source_many.h"

#include <string.h>

#include "arrow/rows_fit.h"
#include "arrow/schema_union.h"
#include "base/checked.h"
#include "base/name_index.h"
#include "expr/expr.h"
#include "grebe/text_layout.h"

enum { OPEN_PARTS_MAX = 16 }; /* that stay open: a process may open few files */

/* ---- life ---- */

static grebe_status keep_options(struct source_many *m, const grebe_source_options *o,
                                 grebe_error *err)
{
    m->options = *o;
    m->options.read = NULL;
    m->options.table = NULL;
    m->options.call = NULL;
    if (o->text != NULL) {
        grebe_status st = text_layout_keep(&m->arena, o->text, &m->text, &m->text_schema, err);
        if (st != GREBE_OK) {
            return st;
        }
        m->options.text = &m->text;
    }
    if (o->format != NULL) {
        m->options.format = arena_str(&m->arena, o->format, strlen(o->format));
        if (m->options.format == NULL) {
            return mem_fail(err, strlen(o->format), "a name");
        }
    }
    return GREBE_OK;
}

/* A text file of no bytes says nothing of columns, and has no rows to miss. */
static bool is_empty_text(grebe_context *ctx, const char *uri)
{
    struct io_store *store = NULL;
    struct io_info info;
    bool is_empty = source_text_format_of(uri) != NULL && io_local_new(ctx, &store, NULL) == GREBE_OK &&
                    io_stat(store, uri, &info, NULL) == GREBE_OK && info.kind == IO_FILE &&
                    info.id.size_bytes == 0;
    io_store_free(store);
    return is_empty;
}

static grebe_status add_part(struct source_many *m, const char *uri,
                             const grebe_source_options *options, grebe_error *err)
{
    struct source_part *part = &m->parts[m->n_parts];
    struct ArrowSchema schema = { 0 };
    grebe_status st = GREBE_OK;
    if (strcmp(uri, "-") == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "standard input cannot be one of several sources");
    }
    part->uri = arena_str(&m->arena, uri, strlen(uri));
    if (part->uri == NULL) {
        return mem_fail(err, strlen(uri), "a path");
    }
    if (options->format == NULL && is_empty_text(m->ctx, uri)) {
        return GREBE_OK;
    }
    GREBE_TRY(source_open_one(m->ctx, uri, options, &part->source, err));
    m->n_parts++;
    part->n_rows = grebe_source_num_rows(part->source);
    part->format = grebe_source_format(part->source);
    part->file_format = part->source->file_format;
    const char *path = buf_text(&part->source->path);
    part->path = arena_str(&m->arena, path, strlen(path));
    if (part->path == NULL) {
        GREBE_TRY(mem_fail(err, strlen(path), "a path"));
    }
    GREBE_TRY(grebe_source_schema(part->source, &schema, err));
    if (grebe_source_is_text(part->source)) {
        GREBE_TRY(schema_copy(m->ctx->a, &schema, &part->text_schema, err));
    }
    bool is_same = m->n_parts > 1 &&
                   schema_equal(&schema, &m->schema, SCHEMA_EQUAL_IGNORE_METADATA);
    m->is_one_schema = m->n_parts == 1 || (m->is_one_schema && is_same);
    GREBE_TRY(many_meet(m, &schema, grebe_source_is_text(part->source), err));
    if (m->n_parts == 1) {
        schema_move(&m->schema, &schema);
    } else if (!is_same) {
        st = schema_unite(m->ctx->a, &m->schema, &schema, err);
        st = error_wrap(err, st, "%s", uri);
    }
    if (grebe_source_kind_of(part->source) == GREBE_SOURCE_STREAM || m->n_parts > OPEN_PARTS_MAX) {
        grebe_source_close(part->source);
        part->source = NULL;
    }
out:
    schema_release(&schema);
    return st;
}

grebe_status source_many_new(grebe_context *ctx, const char *const *uris, size_t n,
                             const grebe_source_options *options, struct source_many **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct source_many *m = mem_alloc_zero(ctx->a, sizeof *m);
    if (m == NULL) {
        return mem_fail(err, sizeof *m, "sources");
    }
    atomic_init(&m->refs, 1);
    m->ctx = ctx;
    m->arena = ARENA_INIT(ctx->a);
    m->is_text = BUF_INIT(ctx->a);
    m->parts = arena_array(&m->arena, n, sizeof *m->parts);
    if (m->parts == NULL) {
        GREBE_TRY(mem_fail(err, n * sizeof *m->parts, "sources"));
    }
    GREBE_TRY(keep_options(m, options, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(add_part(m, uris[i], options, err));
    }
    if (m->n_parts == 0) {
        GREBE_TRY(schema_new(ctx->a, "+s", "", false, 0, &m->schema, err));
    }
    *out = m;
    m = NULL;
out:
    source_many_drop(m);
    return st;
}

void source_many_drop(struct source_many *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (size_t i = 0; i < m->n_parts; i++) {
        grebe_source_close(m->parts[i].source);
        schema_release(&m->parts[i].text_schema);
    }
    schema_release(&m->schema);
    schema_release(&m->text_schema);
    buf_release(&m->is_text);
    const grebe_allocator *a = m->ctx->a;
    arena_release(&m->arena);
    mem_free(a, m, sizeof *m);
}

int64_t source_many_rows(const struct source_many *m)
{
    int64_t n = 0;
    for (size_t i = 0; i < m->n_parts; i++) {
        if (m->parts[i].n_rows < 0 || n > INT64_MAX - m->parts[i].n_rows) {
            return -1;
        }
        n += m->parts[i].n_rows;
    }
    return n;
}

/* ---- one part after the other ---- */

struct many_scan {
    struct source_many *m;
    struct ArrowSchema schema; /* needed columns of the union */
    const char *where;         /* given to the parts that can; NULL: none */
    struct expr *bound;        /* where, bound to m->schema */
    grebe_call_options call;
    int64_t batch_rows;
    struct buf where_text;

    size_t next; /* part */
    grebe_source *opened; /* the part's, when it does not stay open */
    struct ArrowSchema part_schema;
    struct ArrowArrayStream rows; /* of the part; released: none is being read */
    struct fit fit;
};

static void end_part(struct many_scan *s)
{
    stream_release(&s->rows);
    fit_release(&s->fit);
    schema_release(&s->part_schema);
    grebe_source_close(s->opened);
    s->opened = NULL;
}

static void many_free(void *self)
{
    struct many_scan *s = self;
    struct source_many *m = s->m;
    const grebe_allocator *a = m->ctx->a;
    end_part(s);
    schema_release(&s->schema);
    expr_free(s->bound);
    buf_release(&s->where_text);
    mem_free(a, s, sizeof *s);
    source_many_drop(m);
}

static grebe_status many_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct many_scan *s = self;
    return schema_copy(s->m->ctx->a, &s->schema, out, err);
}

/* Whether the predicate means the same in the part as in the union: its columns are of one type. */
static bool can_push_where(const struct many_scan *s, const struct ArrowSchema *part)
{
    size_t n = 0;
    const int *columns = s->where == NULL ? NULL : expr_columns(s->bound, &n);
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *column = s->m->schema.children[columns[i]];
        int at = 0;
        if (schema_find(part, column->name, &at, NULL) != GREBE_OK ||
            !schema_equal(part->children[at], column,
                          SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_METADATA)) {
            return false;
        }
    }
    return s->where != NULL;
}

static grebe_status begin_part(struct many_scan *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->m->ctx->a;
    struct source_part *part = &s->m->parts[s->next++];
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowSchema whole = { 0 };
    grebe_source *source = part->source;
    size_t n = (size_t)s->schema.n_children;
    struct name_index in_whole = { 0 };
    int at = 0;
    const char **names = mem_alloc_zero(a, n * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "names");
    }
    if (source == NULL) {
        GREBE_TRY(many_reopen(s->m, part, &s->opened, err));
        source = s->opened;
    }
    GREBE_TRY(grebe_source_schema(source, &whole, err));
    GREBE_TRY(schema_index(a, &whole, &in_whole, err));
    for (size_t i = 0; i < n; i++) {
        const char *name = s->schema.children[i]->name;
        if (schema_find_maybe(&whole, &in_whole, name, &at, NULL) == GREBE_OK) {
            names[o.n_columns++] = name;
        }
    }
    o.columns = names;
    o.where = can_push_where(s, &whole) ? s->where : NULL;
    o.batch_rows = s->batch_rows;
    o.call = &s->call;
    GREBE_TRY(grebe_source_scan(source, &o, &s->rows, err));
    GREBE_TRY(many_cast(s->m, &s->schema, &s->rows, err));
    GREBE_TRY(stream_schema(&s->rows, &s->part_schema, err));
    GREBE_TRY(fit_new(a, &s->part_schema, &s->schema, &s->fit, err));
out:
    name_index_release(&in_whole);
    schema_release(&whole);
    mem_free(a, names, n * sizeof *names);
    return error_wrap(err, st, "%s", part->uri);
}

static grebe_status many_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct many_scan *s = self;
    for (;;) {
        struct ArrowArray batch = { 0 };
        grebe_status st = GREBE_OK;
        if (s->rows.release == NULL) {
            if (s->next == s->m->n_parts) {
                return GREBE_END;
            }
            st = begin_part(s, err);
        }
        if (st == GREBE_OK) {
            st = stream_next(&s->rows, &batch, err);
        }
        if (st == GREBE_END) {
            end_part(s);
            continue;
        }
        if (st == GREBE_OK) {
            st = fit_batch(&s->fit, &batch, out, err);
        }
        if (st == GREBE_OK) {
            return st;
        }
        const char *uri = s->m->parts[s->next - 1].uri;
        bool is_named = err != NULL && strncmp(err->message, uri, strlen(uri)) == 0;
        return is_named ? st : error_wrap(err, st, "%s", uri);
    }
}

static const struct stream_ops many_ops = { many_schema, many_next, many_free };

/* The union's columns that the options and the predicate name, each once. */
static grebe_status needed_columns(struct many_scan *s, const grebe_scan_options *o,
                                   grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->m->ctx->a;
    const struct ArrowSchema *all = &s->m->schema;
    size_t n_all = (size_t)all->n_children, n = 0, n_where = 0;
    const int *where = s->bound == NULL ? NULL : expr_columns(s->bound, &n_where);
    bool *is_needed = mem_alloc_zero(a, n_all * sizeof *is_needed);
    int *columns = mem_alloc_zero(a, n_all * sizeof *columns);
    if (is_needed == NULL || columns == NULL) {
        st = mem_fail(err, n_all * sizeof *columns, "columns");
        goto out;
    }
    for (size_t i = 0; o->columns != NULL && i < o->n_columns; i++) {
        int at = 0;
        GREBE_TRY(schema_find(all, o->columns[i], &at, err));
        is_needed[at] = true;
    }
    for (size_t i = 0; i < n_where; i++) {
        is_needed[where[i]] = true;
    }
    for (size_t i = 0; i < n_all; i++) {
        if (o->columns == NULL || is_needed[i]) {
            columns[n++] = (int)i;
        }
    }
    st = schema_project(a, all, columns, n, &s->schema, err);
out:
    mem_free(a, is_needed, n_all * sizeof *is_needed);
    mem_free(a, columns, n_all * sizeof *columns);
    return st;
}

static grebe_status many_open(struct source_many *m, const grebe_scan_options *o,
                              struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = m->ctx->a;
    struct many_scan *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a scan");
    }
    s->m = m;
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    s->where_text = BUF_INIT(a);
    s->call = (grebe_call_options)GREBE_CALL_OPTIONS_INIT;
    s->batch_rows = o->batch_rows;
    if (o->call != NULL) {
        GREBE_TRY(options_copy(&s->call, sizeof s->call, o->call, err));
    }
    if (o->where != NULL) {
        GREBE_TRY(expr_parse(a, o->where, &s->bound, err));
        GREBE_TRY(expr_bind(s->bound, &m->schema, err));
        /* Positions count rows that the predicate drops, so parts may drop them only when nobody counts. */
        if (!o->with_row_id && o->row_begin == 0 && o->row_end == INT64_MAX) {
            GREBE_TRY(buf_put_text(&s->where_text, o->where, err));
            s->where = buf_text(&s->where_text);
        }
    }
    GREBE_TRY(needed_columns(s, o, err));
    GREBE_TRY(stream_export(a, &many_ops, s, out, err));
    s = NULL;
out:
    if (s != NULL) {
        many_free(s);
    }
    return st;
}

grebe_status source_many_scan(struct source_many *m, const grebe_scan_options *options,
                              struct ArrowArrayStream *out, grebe_error *err)
{
    struct ArrowArrayStream all = { 0 };
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) {
        st = many_open(m, &o, &all, err);
    }
    if (st == GREBE_OK) {
        st = select_stream(m->ctx, &all, &o, out, err);
    }
    stream_release(&all);
    return st;
}
