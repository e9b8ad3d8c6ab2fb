/* SPDX-License-Identifier: Apache-2.0 */
#include "source/matrix_reader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "arrow/arrow_array.h"
#include "base/checked.h"
#include "wire/json.h"

enum { CHUNK_BYTES = 8 << 20, CHUNK_ROWS_MAX = 1 << 20 };

struct matrix_reader {
    struct format_reader base;
    struct matrix m;
    int64_t *chunk_begin; /* shape [n_chunks + 1] */
    size_t n_begin;
};

size_t matrix_element_bytes(char format)
{
    switch (format) {
    case 'b':
    case 'c':
    case 'C': return 1;
    case 's':
    case 'S':
    case 'e': return 2;
    case 'i':
    case 'I':
    case 'f': return 4;
    case 'l':
    case 'L':
    case 'g': return 8;
    default: return 0;
    }
}

static size_t row_bytes(const struct matrix_column *c) { return (size_t)c->width * matrix_element_bytes(c->format); }

/* ---- life ---- */

static void matrix_close(struct format_reader *base)
{
    struct matrix_reader *r = (struct matrix_reader *)base;
    const grebe_allocator *a = base->ctx->a;
    if (r->m.file != NULL) {
        r->m.close(r->m.file);
    }
    region_drop(r->m.map);
    schema_release(&base->schema);
    mem_free(a, r->chunk_begin, r->n_begin * sizeof *r->chunk_begin);
    mem_free(a, r, sizeof *r);
}

static grebe_status make_schema(struct matrix_reader *r, grebe_error *err)
{
    const grebe_allocator *a = r->base.ctx->a;
    grebe_status st = schema_new(a, "+s", "", false, (int64_t)r->m.n_columns, &r->base.schema, err);
    for (size_t i = 0; i < r->m.n_columns && st == GREBE_OK; i++) {
        const struct matrix_column *c = &r->m.columns[i];
        char element[2] = { c->format, '\0' }, list[32];
        struct ArrowSchema *field = r->base.schema.children[i];
        if (!c->is_list) {
            st = schema_new(a, element, c->name, true, 0, field, err);
            continue;
        }
        snprintf(list, sizeof list, "+w:%llu", (unsigned long long)c->width);
        st = schema_new(a, list, c->name, true, 1, field, err);
        if (st == GREBE_OK) {
            st = schema_new(a, element, "item", true, 0, field->children[0], err);
        }
    }
    return st;
}

static grebe_status make_chunks(struct matrix_reader *r, grebe_error *err)
{
    size_t bytes = 0;
    uint64_t rows = r->m.chunk_rows;
    for (size_t i = 0; i < r->m.n_columns; i++) {
        bytes += row_bytes(&r->m.columns[i]);
    }
    if (rows == 0) {
        rows = CHUNK_BYTES / max_size(bytes, 1);
        rows = rows < 1 ? 1 : rows > CHUNK_ROWS_MAX ? CHUNK_ROWS_MAX : rows;
    }
    uint64_t n = r->m.n_rows / rows + (r->m.n_rows % rows != 0);
    if (n >= SIZE_MAX / sizeof *r->chunk_begin) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%llu rows are too many", (unsigned long long)r->m.n_rows);
    }
    r->n_begin = (size_t)n + 1;
    r->chunk_begin = mem_alloc(r->base.ctx->a, r->n_begin * sizeof *r->chunk_begin);
    if (r->chunk_begin == NULL) {
        return mem_fail(err, r->n_begin * sizeof *r->chunk_begin, "chunks");
    }
    for (size_t i = 0; i < n; i++) {
        r->chunk_begin[i] = (int64_t)(i * rows);
    }
    r->chunk_begin[n] = (int64_t)r->m.n_rows;
    r->base.chunk_begin = r->chunk_begin;
    r->base.n_chunks = (size_t)n;
    r->base.n_rows = (int64_t)r->m.n_rows;
    return GREBE_OK;
}

/* ---- rows ---- */

static grebe_status prepare(struct matrix_reader *r, const struct call *call, grebe_error *err)
{
    grebe_status st = call_check(call, err);
    return st == GREBE_OK && r->m.prepare != NULL ? r->m.prepare(r->m.file, call, err) : st;
}

/* Bytes 0 and not 0 to bits. */
static grebe_status pack_bits(const grebe_allocator *a, const unsigned char *bytes, size_t n, struct ArrowArray *out,
                              grebe_error *err)
{
    void *bits = NULL;
    grebe_status st = array_alloc_buffer(a, out, 1, bitmap_bytes((int64_t)n), &bits, err);
    if (st == GREBE_OK) {
        memset(bits, 0, bitmap_bytes((int64_t)n));
        for (size_t i = 0; i < n; i++) {
            if (bytes[i] != 0) {
                bit_set(bits, (int64_t)i);
            }
        }
    }
    return st;
}

/* Values of a column as an array of elements; fill(dst) writes the packed rows. NULL: they are at `mapped`. */
static grebe_status column_array(struct matrix_reader *r, const struct matrix_column *c, int64_t n, struct region *values,
                                 const unsigned char *data, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = r->base.ctx->a;
    struct ArrowArray elements = { 0 };
    int64_t n_elements = n * (int64_t)c->width;
    grebe_status st = array_new(a, n_elements, 2, 0, &elements, err);
    if (st == GREBE_OK && c->format == 'b') {
        st = pack_bits(a, data, (size_t)n_elements, &elements, err);
    } else if (st == GREBE_OK) {
        array_set_buffer(&elements, 1, data, region_keep(values));
    }
    if (st == GREBE_OK && c->is_list) {
        st = array_new(a, n, 1, 1, out, err);
        if (st == GREBE_OK) {
            array_move(out->children[0], &elements);
        }
    } else if (st == GREBE_OK) {
        array_move(out, &elements);
    }
    array_release(&elements);
    return st;
}

static bool is_mapped(const struct matrix_reader *r, const struct matrix_column *c)
{
    return r->m.map != NULL && c->row_0 != NULL && (uintptr_t)c->row_0 % matrix_element_bytes(c->format) == 0;
}

/* Columns, each made by `make`, as rows. */
struct wanted {
    uint64_t begin;      /* of a read */
    const int64_t *rows; /* of a take */
    int64_t n;
    bool is_copied;      /* pages of a map count as memory as well: a file above the limit is read instead */
};

static grebe_status fetch(struct matrix_reader *r, size_t column, const struct wanted *w, unsigned char *dst,
                          grebe_error *err)
{
    const struct matrix_column *c = &r->m.columns[column];
    size_t row = row_bytes(c);
    grebe_status st = GREBE_OK;
    if (w->rows == NULL) {
        return r->m.read(r->m.file, column, w->begin, (uint64_t)w->n, dst, err);
    }
    for (int64_t i = 0; i < w->n && st == GREBE_OK;) {
        int64_t run = 1; /* neighbours are read together */
        while (i + run < w->n && w->rows[i + run] == w->rows[i] + run) {
            run++;
        }
        unsigned char *to = dst + (size_t)i * row;
        if (r->m.map != NULL && c->row_0 != NULL) {
            memcpy(to, c->row_0 + (size_t)w->rows[i] * row, (size_t)run * row);
        } else {
            st = r->m.read(r->m.file, column, (uint64_t)w->rows[i], (uint64_t)run, to, err);
        }
        i += run;
    }
    return st;
}

static grebe_status make_column(struct matrix_reader *r, size_t column, const struct wanted *w, struct ArrowArray *out,
                                grebe_error *err)
{
    const struct matrix_column *c = &r->m.columns[column];
    struct region *block = NULL;
    size_t bytes = 0;
    if (w->rows == NULL && !w->is_copied && is_mapped(r, c)) {
        return column_array(r, c, w->n, r->m.map, c->row_0 + w->begin * row_bytes(c), out, err);
    }
    if (!checked_mul_size((size_t)w->n, row_bytes(c), &bytes)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%lld rows of %zu bytes are too many", (long long)w->n, row_bytes(c));
    }
    grebe_status st = region_new(r->base.ctx->a, bytes, &block, err);
    if (st == GREBE_OK && w->n > 0) {
        st = fetch(r, column, w, block->data, err);
    }
    if (st == GREBE_OK) {
        st = column_array(r, c, w->n, block, block->data, out, err);
    }
    region_drop(block);
    return st;
}

static grebe_status make_rows(struct matrix_reader *r, const int *columns, size_t n_columns, const struct wanted *w,
                              struct ArrowArray *out, grebe_error *err)
{
    struct ArrowArray made[MATRIX_COLUMNS_MAX * 2] = { { 0 } };
    grebe_status st = GREBE_OK;
    size_t n = columns == NULL ? r->m.n_columns : n_columns;
    if (n > sizeof made / sizeof made[0]) {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected at most %zu columns, found %zu", sizeof made / sizeof made[0], n);
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = make_column(r, columns == NULL ? i : (size_t)columns[i], w, &made[i], err);
    }
    if (st == GREBE_OK) {
        st = array_struct(r->base.ctx->a, w->n, made, n, out, err);
    }
    for (size_t i = 0; i < n; i++) {
        array_release(&made[i]);
    }
    return st;
}

static grebe_status matrix_read(struct format_reader *base, const int *columns, size_t n_columns, int64_t row_begin,
                                int64_t row_end, const struct call *call, struct ArrowArray *out, grebe_error *err)
{
    bool is_copied = base->file_size_bytes > call->memory_limit_bytes;
    struct wanted w = { (uint64_t)row_begin, NULL, row_end - row_begin, is_copied };
    grebe_status st = prepare((struct matrix_reader *)base, call, err);
    return st != GREBE_OK ? st : make_rows((struct matrix_reader *)base, columns, n_columns, &w, out, err);
}

static grebe_status matrix_take(struct format_reader *base, const int *columns, size_t n_columns, const int64_t *rows,
                                int64_t n, const struct call *call, struct ArrowArray *out, grebe_error *err)
{
    struct wanted w = { 0, rows, n, false };
    grebe_status st = prepare((struct matrix_reader *)base, call, err);
    return st != GREBE_OK ? st : make_rows((struct matrix_reader *)base, columns, n_columns, &w, out, err);
}

/* ---- what the file tells ---- */

static grebe_status matrix_bounds(struct format_reader *base, int column, size_t chunk, struct column_bounds *out,
                                  grebe_error *err)
{
    (void)base;
    (void)column;
    (void)chunk;
    (void)err;
    *out = (struct column_bounds){ 0 };
    return GREBE_OK;
}

static uint64_t matrix_stored_bytes(struct format_reader *base, const int *columns, size_t n_columns, size_t chunk)
{
    const struct matrix_reader *r = (struct matrix_reader *)base;
    uint64_t bytes = 0, rows = (uint64_t)(base->chunk_begin[chunk + 1] - base->chunk_begin[chunk]);
    size_t n = columns == NULL ? r->m.n_columns : n_columns;
    for (size_t i = 0; i < n; i++) {
        bytes += rows * row_bytes(&r->m.columns[columns == NULL ? i : (size_t)columns[i]]);
    }
    return bytes;
}

static grebe_status matrix_check(struct format_reader *base, bool is_deep, const struct call *call, check_fn fn, void *arg,
                                 grebe_error *err)
{
    for (size_t i = 0; is_deep && i < base->n_chunks; i++) {
        struct ArrowArray rows = { 0 };
        grebe_error found = GREBE_ERROR_INIT;
        grebe_status st = matrix_read(base, NULL, 0, base->chunk_begin[i], base->chunk_begin[i + 1], call, &rows, &found);
        array_release(&rows);
        if (st == GREBE_ENOMEM || st == GREBE_ECANCELLED) {
            return GREBE_FAIL(err, st, "%s", found.message);
        }
        if (st != GREBE_OK) {
            char place[64];
            snprintf(place, sizeof place, "rows from %lld", (long long)base->chunk_begin[i]);
            fn(arg, true, place, found.message);
        }
    }
    return GREBE_OK;
}

static grebe_status matrix_inspect(struct format_reader *base, struct buf *dst, grebe_error *err)
{
    struct buf schema = BUF_INIT(base->ctx->a);
    struct json_writer w;
    grebe_status st = schema_to_json(&schema, &base->schema, err);
    if (st == GREBE_OK) {
        json_begin(&w, dst, 0, err);
        json_open_object(&w);
        json_key(&w, "format");
        json_text(&w, base->format->name);
        json_key(&w, "file_size");
        json_uint(&w, base->file_size_bytes);
        json_key(&w, "rows");
        json_uint(&w, (uint64_t)base->n_rows);
        json_key(&w, "schema");
        json_raw(&w, (const char *)schema.data, schema.len);
        json_close_object(&w);
        st = json_end(&w);
    }
    buf_release(&schema);
    return st;
}

static const struct format_reader_ops matrix_ops = {
    .close = matrix_close,
    .read = matrix_read,
    .take = matrix_take,
    .bounds = matrix_bounds,
    .stored_bytes = matrix_stored_bytes,
    .check = matrix_check,
    .inspect = matrix_inspect,
};

grebe_status matrix_reader_new(grebe_context *ctx, const struct file_format *format, const struct matrix *m,
                               struct format_reader **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    for (size_t i = 0; i < m->n_columns; i++) {
        if (m->columns[i].width > INT32_MAX || m->n_rows > INT64_MAX / 64) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "expected at most 2^31 numbers in a row, found %llu",
                              (unsigned long long)m->columns[i].width);
        }
        assert(matrix_element_bytes(m->columns[i].format) > 0 && (m->columns[i].is_list || m->columns[i].width == 1));
    }
    struct matrix_reader *r = mem_alloc_zero(ctx->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a reader");
    }
    r->base.ops = &matrix_ops;
    r->base.format = format;
    r->base.ctx = ctx;
    r->base.file_size_bytes = m->file_size_bytes;
    r->m = *m;
    r->m.file = NULL; /* the caller's until all has gone well */
    r->m.map = region_keep(m->map);
    GREBE_TRY(make_schema(r, err));
    GREBE_TRY(make_chunks(r, err));
    r->m.file = m->file;
    *out = &r->base;
    r = NULL;
out:
    if (r != NULL) {
        matrix_close(&r->base);
    }
    return st;
}
