/* SPDX-License-Identifier: Apache-2.0 */
/* A file of CSV: its header and first row, and chunks of rows. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "builder/builder_csv.h"

enum { FILL_BYTES = 1 << 20 };

void csv_file_release(struct csv_file *f)
{
    if (f->b != NULL) {
        csv_chunk_release(&f->chunk);
        text_reader_release(&f->reader);
        arena_release(&f->arena);
    }
    memset(f, 0, sizeof *f);
}

static grebe_status fail_line(const struct csv_file *f, size_t at, const char *what, grebe_error *err)
{
    uint64_t line = f->reader.line + text_count_lines(f->reader.data + f->reader.at, at - f->reader.at);
    return GREBE_FAIL(err, GREBE_ECORRUPT, "%s:%llu: %s", f->reader.name, (unsigned long long)line, what);
}

/* More text ahead; what there was is read again. */
static grebe_status read_on(struct csv_file *f, grebe_error *err)
{
    size_t ahead = f->reader.end - f->reader.at;
    if (ahead > 2 * (size_t)TEXT_RECORD_MAX) {
        return text_reader_too_long(&f->reader, err);
    }
    return text_reader_fill(&f->reader, max_size(2 * ahead, FILL_BYTES), err);
}

static bool is_line_skipped(const struct csv_file *f, int64_t line)
{
    const struct json_value *list = f->o->skip_list;
    int64_t v = 0;
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        if (json_i64(&list->items[i], &v) && v == line) {
            return true;
        }
    }
    return false;
}

/**
 * The line at *at, of text that is there: its row is put behind those of the chunk. *what CSV_MORE: the reader has to read
 * on, and the caller to begin anew.
 */
static grebe_status take_line(struct csv_file *f, size_t *at, int64_t *line, enum csv_line *what, grebe_error *err)
{
    const struct text_reader *r = &f->reader;
    size_t used = 0;
    grebe_status st = GREBE_OK;
    if (is_line_skipped(f, *line)) {
        *what = csv_skip_line(&f->o->format, r->data, r->end, *at, r->is_over, &used);
    } else {
        st = csv_take_line(&f->o->format, r->data, r->end, *at, r->is_over, &f->chunk, &used, what, err);
    }
    if (st == GREBE_OK && *what == CSV_OPEN_QUOTE) {
        st = fail_line(f, *at, "a quoted field does not end", err);
    } else if (st == GREBE_OK && *what == CSV_OPEN_ESCAPE) {
        st = fail_line(f, *at, "nothing behind an escape", err);
    }
    *at += used;
    *line += *what != CSV_MORE && used > 0;
    return st;
}

/* Up to n more rows behind those of the chunk; *n_done fewer at the end. The reader's place is not moved. */
static grebe_status take_rows(struct csv_file *f, size_t *at, int64_t *line, size_t n, bool *is_end, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const size_t before = f->reader.at, n_before = csv_chunk_rows(&f->chunk);
    const int64_t line_before = *line;
    const size_t at_before = *at - before;
    *is_end = false;
    while (st == GREBE_OK && csv_chunk_rows(&f->chunk) < n && !*is_end) {
        enum csv_line what = CSV_ROW;
        st = take_line(f, at, line, &what, err);
        *is_end = what == CSV_END;
        if (st == GREBE_OK && what == CSV_MORE) {
            st = read_on(f, err); /* the text may have moved */
            csv_chunk_clear(&f->chunk, n_before);
            *at = f->reader.at + at_before;
            *line = line_before;
        }
    }
    return st;
}

/* ---- opening ---- */

static grebe_status skip_lines(struct csv_file *f, int64_t n, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    while (n > 0 && st == GREBE_OK) {
        struct text_reader *r = &f->reader;
        size_t used = 0;
        enum csv_line what = csv_skip_line(&f->o->format, r->data, r->end, r->at, r->is_over, &used);
        if (what == CSV_MORE) {
            st = read_on(f, err);
            continue;
        }
        if (what == CSV_END) {
            break;
        }
        text_reader_skip(r, used);
        f->line++;
        n--;
    }
    return st;
}

/* The header, and the first row, which may have more fields than it. */
static grebe_status find_columns(struct csv_file *f, grebe_error *err)
{
    const bool has_header = f->o->header >= 0;
    const size_t n_header = has_header ? (size_t)f->o->header + 1 : 0;
    size_t at = f->reader.at, first_at = 0, n_first = 0;
    int64_t line = f->line, first_line = 0;
    bool is_end = false;
    grebe_status st = take_rows(f, &at, &line, n_header, &is_end, err);
    if (st == GREBE_OK && has_header && csv_chunk_rows(&f->chunk) < n_header) {
        return fail_line(f, at, "no columns to parse", err);
    }
    first_at = at - f->reader.at;
    first_line = line;
    st = st == GREBE_OK ? take_rows(f, &at, &line, n_header + 1, &is_end, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    const size_t n_rows = csv_chunk_rows(&f->chunk);
    size_t n_named = has_header ? csv_row_end(&f->chunk, n_header - 1) - csv_row_begin(&f->chunk, n_header - 1) : 0;
    if (n_rows > n_header) {
        n_first = csv_row_end(&f->chunk, n_header) - csv_row_begin(&f->chunk, n_header);
    } else if (!has_header) {
        return fail_line(f, at, "no columns to parse", err);
    }
    size_t n_names = f->o->names != NULL ? f->o->names->n : has_header ? n_named : n_first;
    size_t n_fields = max_size(n_names, n_first);
    if (n_fields == 0) {
        return fail_line(f, at, "no columns to parse", err);
    }
    size_t n_leading = f->o->is_index_off || f->o->index_col != NULL || f->o->usecols != NULL ? 0 : n_fields - n_names;
    const char **names = arena_array(&f->arena, n_names + 1, sizeof *names);
    if (names == NULL) {
        return mem_fail(err, 0, "names");
    }
    st = csv_make_names(f, has_header, n_header - 1, n_names, names, err);
    st = st == GREBE_OK ? csv_choose_columns(f, names, n_names, n_leading, err) : st;
    f->n_fields = n_fields;
    csv_chunk_clear(&f->chunk, 0);
    text_reader_skip(&f->reader, first_at);
    f->first_at = f->reader.at;
    f->line = first_line;
    return st;
}

/* Rows of the whole file, for a footer that is left out. */
static grebe_status count_rows(struct csv_file *f, int64_t *out, grebe_error *err)
{
    struct text_reader *r = &f->reader;
    grebe_status st = text_reader_fill(r, SIZE_MAX / 4, err);
    size_t at = r->at;
    int64_t line = f->line, n = 0;
    enum csv_line what = CSV_ROW;
    while (st == GREBE_OK && what != CSV_END) {
        st = take_line(f, &at, &line, &what, err);
        n += what == CSV_ROW;
        csv_chunk_clear(&f->chunk, 0);
    }
    *out = n;
    return st;
}

grebe_status csv_file_open(struct builder_base *b, const struct csv_options *o, struct region *bytes, const char *name,
                           struct shard_place place, struct csv_file *f, grebe_error *err)
{
    const grebe_allocator *a = b->b.ctx->a;
    grebe_status st = GREBE_OK;
    memset(f, 0, sizeof *f);
    f->o = o;
    f->b = b;
    f->arena = ARENA_INIT(a);
    f->chunk = (struct csv_chunk){ NULL, BUF_INIT(a), BUF_INIT(a), BUF_INIT(a) };
    f->row = place.row;
    f->n_rows = o->n_rows;
    GREBE_TRY(builder_text_reader(b, &o->encoding, bytes, name, 0, &f->reader, &f->is_plain, err));
    f->is_plain = f->is_plain && o->skip_list == NULL; /* lines are counted from the start */
    GREBE_TRY(text_reader_fill(&f->reader, FILL_BYTES, err));
    if (f->reader.end - f->reader.at >= 3 && memcmp(f->reader.data + f->reader.at, "\xef\xbb\xbf", 3) == 0) {
        f->reader.at += 3;
    }
    GREBE_TRY(skip_lines(f, o->skip_rows, err));
    GREBE_TRY(find_columns(f, err));
    if (o->skip_footer > 0) {
        int64_t n = 0;
        GREBE_TRY(count_rows(f, &n, err));
        n = max_i64(n - o->skip_footer, 0);
        f->n_rows = f->n_rows >= 0 ? min_i64(n, f->n_rows) : n;
    }
    if (place.at > 0) {
        if (!f->is_plain || place.at < f->first_at || place.at > f->reader.end) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a place in the rows, found byte %llu", name,
                            (unsigned long long)place.at);
            goto out;
        }
        text_reader_skip(&f->reader, (size_t)place.at - f->reader.at);
    }
out:
    return st;
}

/* ---- rows ---- */

/* A row with more fields than there can be is gone, or an error. */
static grebe_status check_row(struct csv_file *f, size_t at, grebe_error *err)
{
    const size_t row = csv_chunk_rows(&f->chunk) - 1, n = csv_row_end(&f->chunk, row) - csv_row_begin(&f->chunk, row);
    char what[96];
    if (n <= f->n_fields || f->o->usecols != NULL) {
        return GREBE_OK;
    }
    snprintf(what, sizeof what, "expected %zu fields, found %zu", f->n_fields, n);
    if (f->o->on_bad == CSV_BAD_ERROR) {
        return fail_line(f, at, what, err);
    }
    if (f->o->on_bad == CSV_BAD_WARN) {
        context_log(f->b->b.ctx, GREBE_LOG_WARNING, "%s: a line is left out: %s", f->reader.name, what);
    }
    csv_chunk_clear(&f->chunk, row);
    return GREBE_OK;
}

grebe_status csv_file_chunk(struct csv_file *f, grebe_error *err)
{
    size_t wanted = (size_t)f->o->chunk_rows, at = f->reader.at;
    int64_t line = f->line;
    grebe_status st = GREBE_OK;
    enum csv_line what = CSV_ROW;
    if (f->n_rows >= 0) {
        wanted = (size_t)min_i64(f->o->chunk_rows, max_i64(f->n_rows - f->row, 0));
    }
    csv_chunk_clear(&f->chunk, 0);
    while (st == GREBE_OK && csv_chunk_rows(&f->chunk) < wanted && what != CSV_END) {
        const size_t begin = at;
        st = take_line(f, &at, &line, &what, err);
        if (st == GREBE_OK && what == CSV_ROW) {
            st = check_row(f, begin, err);
        } else if (st == GREBE_OK && what == CSV_MORE) {
            st = read_on(f, err);
            csv_chunk_clear(&f->chunk, 0);
            at = f->reader.at;
            line = f->line;
        }
    }
    if (st == GREBE_OK) {
        struct text_block block = { f->reader.data + f->reader.at, at - f->reader.at, f->reader.line, f->reader.column };
        st = builder_text_check(f->reader.name, &block, err);
        text_reader_skip(&f->reader, block.len);
        f->line = line;
    }
    return st == GREBE_OK && csv_chunk_rows(&f->chunk) == 0 ? GREBE_END : st;
}

struct column_work {
    const struct csv_file *f;
    enum csv_type *types;
    struct ArrowArray *columns;
};

static grebe_status read_column(void *arg, size_t i, grebe_error *err)
{
    struct column_work *w = arg;
    return csv_read_column(w->f->b->b.ctx->a, w->f->o, &w->f->chunk, &w->f->columns[i], &w->types[i], &w->columns[i], err);
}

static grebe_status make_schema(const struct csv_file *f, const enum csv_type *types, struct ArrowSchema *out,
                                grebe_error *err)
{
    const grebe_allocator *a = f->b->b.ctx->a;
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)f->n, out, err);
    for (size_t i = 0; i < f->n && st == GREBE_OK; i++) {
        st = schema_new(a, csv_type_format(types[i]), f->columns[i].name, true, 0, out->children[i], err);
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status csv_file_rows(struct csv_file *f, enum csv_type *types, struct ArrowSchema *schema, struct ArrowArray *out,
                           grebe_error *err)
{
    enum { FIELDS_PER_THREAD = 20000 };
    const grebe_allocator *a = f->b->b.ctx->a;
    const size_t bytes = (f->n + 1) * sizeof(struct ArrowArray), types_bytes = (f->n + 1) * sizeof(enum csv_type);
    struct column_work w = { f, mem_alloc_zero(a, types_bytes), mem_alloc_zero(a, bytes) };
    grebe_status st = GREBE_OK;
    if (w.columns == NULL || w.types == NULL) {
        st = mem_fail(err, bytes, "columns");
        goto out;
    }
    const bool is_small = f->chunk.fields.len / sizeof(struct csv_field) < FIELDS_PER_THREAD;
    GREBE_TRY(
        parallel_for(f->b->b.ctx->pool, is_small ? 1 : f->b->call.threads, f->n, read_column, &w, f->b->call.cancel, err));
    GREBE_TRY(make_schema(f, w.types, schema, err));
    if (types != NULL) {
        memcpy(types, w.types, f->n * sizeof *types);
    }
    const int64_t n_rows = (int64_t)csv_chunk_rows(&f->chunk);
    st = array_struct(a, n_rows, w.columns, f->n, out, err);
    f->row += n_rows;
out:
    for (size_t i = 0; w.columns != NULL && i < f->n; i++) {
        array_release(&w.columns[i]);
    }
    mem_free(a, w.columns, w.columns != NULL ? bytes : 0);
    mem_free(a, w.types, w.types != NULL ? types_bytes : 0);
    if (st != GREBE_OK) {
        error_wrap(err, st, "%s, rows from %lld on", f->reader.name, (long long)f->row);
        schema_release(schema);
    }
    return st;
}
