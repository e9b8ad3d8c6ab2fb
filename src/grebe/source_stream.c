/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources that are read once, in order: projection, filter, range and limit over any Arrow
 * stream. The row id of a row is its position.
 */
#include "grebe/source_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ipc.h"
#include "base/checked.h"
#include "expr/expr.h"

/* ---- where the bytes come from ---- */

struct file_bytes {
    const grebe_allocator *a;
    struct io_file *file;
    struct io_store *store; /* owned */
    uint64_t at;
};

static grebe_status read_file_bytes(void *arg, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct file_bytes *f = arg;
    uint64_t left = f->file->id.size_bytes - f->at;
    *got = left < len ? (size_t)left : len;
    grebe_status st = *got == 0 ? GREBE_OK : io_read(f->file, f->at, dst, *got, err);
    f->at += *got;
    return st;
}

static void free_file_bytes(void *arg)
{
    struct file_bytes *f = arg;
    io_close(f->file);
    io_store_free(f->store);
    mem_free(f->a, f, sizeof *f);
}

grebe_status source_stream_of_file(struct grebe_source *s, struct io_store *store,
                                   const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    (void)store; /* the stream may outlive the source, so it has a store of its own */
    struct file_bytes *f = mem_alloc_zero(s->ctx->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, path);
    }
    f->a = s->ctx->a;
    GREBE_TRY(io_local_new(s->ctx, &f->store, err));
    GREBE_TRY(io_open(f->store, path, &f->file, err));
    struct ipc_source bytes = { read_file_bytes, free_file_bytes, f };
    GREBE_TRY(ipc_stream_open(s->ctx->a, &bytes, &s->stream, err));
    f = NULL;
out:
    if (f != NULL) {
        free_file_bytes(f);
    }
    return error_wrap(err, st, "%s", path);
}

struct callback_bytes {
    const grebe_allocator *a;
    grebe_read_fn read;
    void *read_ctx;
};

static grebe_status read_callback_bytes(void *arg, void *dst, size_t len, size_t *got,
                                        grebe_error *err)
{
    struct callback_bytes *c = arg;
    *got = 0;
    while (*got < len) {
        size_t part = 0;
        int failed = c->read(c->read_ctx, (char *)dst + *got, len - *got, &part);
        if (failed == EINTR) {
            return GREBE_FAIL(err, GREBE_ECANCELLED, "interrupted while the input was read");
        }
        if (failed != 0) {
            return GREBE_FAIL_SYS(err, GREBE_EIO, failed, "cannot read the input");
        }
        if (part == 0) {
            break;
        }
        *got += part;
    }
    return GREBE_OK;
}

static void free_callback_bytes(void *arg)
{
    struct callback_bytes *c = arg;
    mem_free(c->a, c, sizeof *c);
}

grebe_status source_callback_bytes(struct grebe_source *s, grebe_read_fn read, void *read_ctx,
                                   struct ipc_source *out, grebe_error *err)
{
    struct callback_bytes *c = mem_alloc_zero(s->ctx->a, sizeof *c);
    if (c == NULL) {
        return mem_fail(err, sizeof *c, "standard input");
    }
    c->a = s->ctx->a;
    c->read = read;
    c->read_ctx = read_ctx;
    *out = (struct ipc_source){ read_callback_bytes, free_callback_bytes, c };
    return GREBE_OK;
}

grebe_status source_stream_of_callback(struct grebe_source *s, grebe_read_fn read, void *read_ctx,
                                       grebe_error *err)
{
    struct ipc_source bytes = { 0 };
    grebe_status st = source_callback_bytes(s, read, read_ctx, &bytes, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = ipc_stream_open(s->ctx->a, &bytes, &s->stream, err);
    if (st != GREBE_OK) {
        bytes.free(bytes.from);
    }
    return error_wrap(err, st, "standard input");
}

grebe_status source_stream_schema(struct grebe_source *s, struct ArrowSchema *out,
                                  grebe_error *err)
{
    if (s->stream.release == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the stream was read already");
    }
    return stream_schema(&s->stream, out, err);
}

/* ---- selection ---- */

struct selection {
    grebe_context *ctx;
    struct ArrowArrayStream input;
    struct ArrowSchema input_schema, schema;
    int *columns; /* of the input, shape [n_columns] */
    size_t n_columns;
    struct expr *where; /* NULL: all rows */
    bool with_row_id;
    int64_t at; /* rows read so far */
    int64_t row_begin, row_end, left;
    struct call call;
};

static void selection_free(void *self)
{
    struct selection *s = self;
    stream_release(&s->input);
    schema_release(&s->input_schema);
    schema_release(&s->schema);
    expr_free(s->where);
    mem_free(s->ctx->a, s->columns, s->n_columns * sizeof *s->columns);
    mem_free(s->ctx->a, s, sizeof *s);
}

static grebe_status selection_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct selection *s = self;
    return schema_copy(s->ctx->a, &s->schema, out, err);
}

/* Positions [first, first + n) as an int64 column. */
static grebe_status positions(const grebe_allocator *a, int64_t first, int64_t n,
                              struct ArrowArray *out, grebe_error *err)
{
    void *data = NULL;
    grebe_status st = array_new(a, n, 2, 0, out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(a, out, 1, (size_t)n * 8, &data, err);
    }
    if (st != GREBE_OK) {
        array_release(out);
        return st;
    }
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)data)[i] = first + i;
    }
    return GREBE_OK;
}

/* The columns asked for, of all rows of the batch. */
static grebe_status project(struct selection *s, struct ArrowArray *batch, struct ArrowArray *out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    size_t n = (size_t)s->schema.n_children, k = 0;
    int64_t length = batch->length;
    struct ArrowArray *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    if (s->with_row_id) {
        GREBE_TRY(positions(a, s->at, length, &columns[k++], err));
    }
    for (size_t i = 0; i < s->n_columns; i++) {
        /* Each child is a node of its own: it moves, and an asked-for column comes once. */
        array_move(&columns[k++], batch->children[s->columns[i]]);
    }
    st = array_struct(a, length, columns, n, out, err);
out:
    for (size_t i = 0; st != GREBE_OK && i < k; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

/* Bits of the rows to give: inside the range, true under the predicate, within the limit. */
static grebe_status choose(struct selection *s, const struct ArrowArray *batch, uint8_t *keep,
                           int64_t *n_kept, grebe_error *err)
{
    if (s->where != NULL) {
        grebe_status st = expr_eval_rows(s->where, batch, keep, NULL, err);
        if (st != GREBE_OK) {
            return st;
        }
    } else {
        memset(keep, 0, bitmap_bytes(batch->length));
        bitmap_fill(keep, 0, batch->length, true);
    }
    int64_t begin = min_i64(max_i64(s->row_begin - s->at, 0), batch->length);
    int64_t end = min_i64(max_i64(s->row_end - s->at, begin), batch->length);
    bitmap_fill(keep, 0, begin, false);
    bitmap_fill(keep, end, batch->length - end, false);
    *n_kept = bitmap_count(keep, 0, batch->length);
    if (s->left >= 0 && *n_kept > s->left) {
        int64_t n = 0;
        for (int64_t i = 0; i < batch->length; i++) {
            n += bit_get(keep, i);
            if (n > s->left) {
                bitmap_fill(keep, i, batch->length - i, false);
                break;
            }
        }
        *n_kept = s->left;
    }
    return GREBE_OK;
}

static grebe_status select_rows(struct selection *s, struct ArrowArray *batch,
                                struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    int64_t length = batch->length, n_kept = 0;
    size_t keep_bytes = bitmap_bytes(length) + 1;
    struct ArrowArray whole = { 0 };
    uint8_t *keep = mem_alloc_zero(a, keep_bytes);
    if (keep == NULL) {
        return mem_fail(err, keep_bytes, "a selection");
    }
    GREBE_TRY(choose(s, batch, keep, &n_kept, err));
    GREBE_TRY(project(s, batch, &whole, err));
    if (n_kept == length) {
        array_move(out, &whole);
    } else {
        GREBE_TRY(array_filter(a, &s->schema, &whole, keep, out, err));
    }
    if (s->left >= 0) {
        s->left -= n_kept;
    }
out:
    array_release(&whole);
    mem_free(a, keep, keep_bytes);
    return st;
}

static grebe_status selection_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct selection *s = self;
    for (;;) {
        struct ArrowArray batch = { 0 };
        if (s->left == 0 || s->at >= s->row_end) {
            return GREBE_END;
        }
        grebe_status st = call_check(&s->call, err);
        if (st == GREBE_OK) {
            st = stream_next(&s->input, &batch, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        int64_t length = batch.length;
        st = select_rows(s, &batch, out, err);
        array_release(&batch);
        s->at += length;
        if (st != GREBE_OK || out->length > 0) {
            return st;
        }
        array_release(out);
    }
}

static const struct stream_ops selection_ops = { selection_schema, selection_next, selection_free };

/* Schema of the output, and which columns of the input it takes. */
static grebe_status plan_columns(struct selection *s, const grebe_scan_options *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->ctx->a;
    struct ArrowSchema chosen = { 0 }, id = { 0 };
    size_t n = o->columns != NULL ? o->n_columns : (size_t)s->input_schema.n_children;
    s->columns = mem_alloc_zero(a, n * sizeof *s->columns);
    if (s->columns == NULL) {
        return mem_fail(err, n * sizeof *s->columns, "columns");
    }
    s->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        s->columns[i] = (int)i;
        const char *name = o->columns != NULL ? o->columns[i] : s->input_schema.children[i]->name;
        if (s->with_row_id && name != NULL && strcmp(name, ROW_ID_COLUMN) == 0) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" cannot be read with row ids",
                            ROW_ID_COLUMN);
            goto out;
        }
        if (o->columns == NULL) {
            continue;
        }
        GREBE_TRY(schema_find(&s->input_schema, o->columns[i], &s->columns[i], err));
        for (size_t j = 0; j < i; j++) {
            if (s->columns[j] == s->columns[i]) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" is asked for twice",
                                o->columns[i]);
                goto out;
            }
        }
    }
    GREBE_TRY(schema_project(a, &s->input_schema, s->columns, n, &chosen, err));
    if (!s->with_row_id) {
        schema_move(&s->schema, &chosen);
        goto out;
    }
    GREBE_TRY(row_id_schema(a, false, &id, err));
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)n + 1, &s->schema, err));
    schema_move(s->schema.children[0], &id);
    for (size_t i = 0; i < n; i++) {
        schema_move(s->schema.children[i + 1], chosen.children[i]);
    }
out:
    schema_release(&chosen);
    schema_release(&id);
    return st;
}

grebe_status source_stream_scan(struct grebe_source *source, const grebe_scan_options *options,
                                struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    if (source->stream.release == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the stream was read already");
    }
    st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) {
        st = scan_options_check(&o, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct selection *s = mem_alloc_zero(source->ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a selection");
    }
    s->ctx = source->ctx;
    s->row_begin = o.row_begin;
    s->row_end = o.row_end;
    s->left = o.limit;
    s->with_row_id = o.with_row_id;
    s->call = call_options_resolve(s->ctx, o.call);
    GREBE_TRY(stream_schema(&source->stream, &s->input_schema, err));
    GREBE_TRY(plan_columns(s, &o, err));
    if (o.where != NULL) {
        GREBE_TRY(expr_parse(s->ctx->a, o.where, &s->where, err));
        GREBE_TRY(expr_bind(s->where, &s->input_schema, err));
    }
    GREBE_TRY(stream_export(s->ctx->a, &selection_ops, s, out, err));
    stream_move(&s->input, &source->stream);
    s = NULL;
out:
    if (s != NULL) {
        selection_free(s);
    }
    return st;
}

/* ---- rows by position ---- */

struct wanted {
    int64_t row;
    size_t place;
};

static int by_row(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row)
                            : (a->place > b->place) - (a->place < b->place);
}

/* What a take collects: the wanted rows of each batch, and where they go. */
struct collection {
    const grebe_allocator *a;
    struct wanted *wanted;
    int64_t *rows, *order; /* shape [n] each */
    size_t n, n_found;
    struct buf parts; /* struct ArrowArray, one a batch with wanted rows */
};

static void collection_release(struct collection *c)
{
    for (size_t at = 0; at < c->parts.len; at += sizeof(struct ArrowArray)) {
        struct ArrowArray part;
        memcpy(&part, c->parts.data + at, sizeof part);
        array_release(&part);
    }
    buf_release(&c->parts);
    mem_free(c->a, c->wanted, c->n * sizeof *c->wanted);
    mem_free(c->a, c->rows, c->n * sizeof *c->rows);
    mem_free(c->a, c->order, c->n * sizeof *c->order);
}

static grebe_status collect(struct collection *c, struct ArrowArrayStream *rows,
                            const struct ArrowSchema *schema, grebe_error *err)
{
    int64_t at = 0;
    size_t next = 0;
    for (;;) {
        struct ArrowArray batch = { 0 }, part = { 0 };
        /* Nothing behind the last row asked for is read: a stream may go on for ever. */
        grebe_status st = next == c->n ? GREBE_END : stream_next(rows, &batch, err);
        if (st == GREBE_END) {
            c->n_found = next;
            return GREBE_OK;
        }
        if (st != GREBE_OK) {
            return st;
        }
        size_t n = 0;
        for (; next < c->n && c->wanted[next].row < at + batch.length; next++) {
            c->rows[n++] = c->wanted[next].row - at;
        }
        at += batch.length;
        if (n > 0) {
            st = array_gather(c->a, schema, &batch, c->rows, (int64_t)n, &part, err);
        }
        array_release(&batch);
        if (st == GREBE_OK && n > 0) {
            st = buf_put(&c->parts, &part, sizeof part, err);
        }
        if (st != GREBE_OK) {
            array_release(&part);
            return st;
        }
    }
}

/* The collected parts in the order asked for; missing rows are nulls. */
static grebe_status assemble(struct collection *c, const struct ArrowSchema *schema,
                             struct ArrowArray *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowArray all = { 0 };
    size_t n_parts = c->parts.len / sizeof(struct ArrowArray);
    const struct ArrowArray **parts = mem_alloc_zero(c->a, n_parts * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, n_parts * sizeof *parts, "batches");
    }
    for (size_t i = 0; i < n_parts; i++) {
        parts[i] = (const struct ArrowArray *)(void *)c->parts.data + i;
    }
    for (size_t i = 0; i < c->n; i++) {
        c->order[c->wanted[i].place] = i < c->n_found ? (int64_t)i : -1;
    }
    if (n_parts == 0) {
        st = array_nulls(c->a, schema, (int64_t)c->n, out, err);
        goto out;
    }
    GREBE_TRY(array_concat(c->a, schema, parts, n_parts, &all, err));
    st = array_gather(c->a, schema, &all, c->order, (int64_t)c->n, out, err);
out:
    array_release(&all);
    mem_free(c->a, parts, n_parts * sizeof *parts);
    return st;
}

grebe_status source_stream_take(struct grebe_source *source, const int64_t *row_ids, size_t n,
                                const grebe_take_options *options, struct ArrowArray *out,
                                struct ArrowSchema *out_schema, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = source->ctx->a;
    grebe_take_options o = GREBE_TAKE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    struct collection c = { .a = a, .n = n, .parts = BUF_INIT(a) };
    GREBE_CHECK_ARG(err, n == 0 || row_ids != NULL);
    if (options != NULL) {
        st = options_copy(&o, sizeof o, options, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    c.wanted = mem_alloc_zero(a, n * sizeof *c.wanted);
    c.rows = mem_alloc_zero(a, n * sizeof *c.rows);
    c.order = mem_alloc_zero(a, n * sizeof *c.order);
    if (c.wanted == NULL || c.rows == NULL || c.order == NULL) {
        st = mem_fail(err, n * sizeof *c.wanted, "row ids");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_negative = row_ids[i] < 0;
        if (is_negative && o.missing != GREBE_MISSING_NULL) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "rows[%zu]: expected an id of at least 0, found %lld", i,
                            (long long)row_ids[i]);
            goto out;
        }
        c.wanted[i] = (struct wanted){ is_negative ? INT64_MAX : row_ids[i], i };
    }
    qsort(c.wanted, n, sizeof *c.wanted, by_row);
    scan.columns = o.columns;
    scan.n_columns = o.n_columns;
    scan.with_row_id = o.with_row_id;
    scan.call = o.call;
    GREBE_TRY(source_stream_scan(source, &scan, &rows, err));
    GREBE_TRY(stream_schema(&rows, &schema, err));
    GREBE_TRY(collect(&c, &rows, &schema, err));
    if (c.n_found < n && o.missing != GREBE_MISSING_NULL) {
        const struct wanted *w = &c.wanted[c.n_found];
        st = GREBE_FAIL(err, GREBE_EINVAL, "rows[%zu]: row id %lld: the stream ends before it",
                        w->place, (long long)w->row);
        goto out;
    }
    if (c.n_found < n) {
        for (int64_t i = 0; i < schema.n_children; i++) {
            schema.children[i]->flags |= ARROW_FLAG_NULLABLE;
        }
    }
    GREBE_TRY(assemble(&c, &schema, out, err));
    if (out_schema != NULL) {
        schema_move(out_schema, &schema);
    }
out:
    stream_release(&rows);
    schema_release(&schema);
    collection_release(&c);
    return st;
}
