/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/rows_file.h"

#include <stdatomic.h>
#include <string.h>

#include "arrow/ipc_file.h"

/* What stands behind a struct rows_file. */
struct opened {
    struct rows_file head;
    atomic_uint refs;
    struct region *region;
    struct ipc_file *file;      /* NULL: batches are held */
    size_t *places;             /* shape [n_batches]: of a batch with rows among all of the file */
    int64_t *begin;             /* shape [n_batches + 1] */
    struct array_shared **held; /* shape [n_batches]: a stream whose dictionaries change, read from front to back */
    size_t capacity;            /* of the three above */
    bool *is_plain;             /* shape [columns]: types of the file are those of head.schema */
};

static struct opened *opened_of(struct rows_file *f)
{
    return (struct opened *)f;
}

/* ---- opening ---- */

static grebe_status grow(struct opened *o, grebe_error *err)
{
    const grebe_allocator *a = o->head.ctx->a;
    size_t n = o->capacity * 2 + 16;
    size_t *places = mem_alloc(a, n * sizeof *places);
    int64_t *begin = mem_alloc(a, (n + 1) * sizeof *begin);
    struct array_shared **held = mem_alloc_zero(a, n * sizeof(void *));
    if (places == NULL || begin == NULL || held == NULL) {
        mem_free(a, places, n * sizeof *places);
        mem_free(a, begin, (n + 1) * sizeof *begin);
        mem_free(a, held, n * sizeof(void *));
        return mem_fail(err, n * sizeof *begin, "batches");
    }
    begin[0] = 0;
    if (o->capacity > 0) {
        memcpy(places, o->places, o->head.n_batches * sizeof *places);
        memcpy(begin, o->begin, (o->head.n_batches + 1) * sizeof *begin);
        memcpy(held, o->held, o->head.n_batches * sizeof(void *));
        mem_free(a, o->places, o->capacity * sizeof *places);
        mem_free(a, o->begin, (o->capacity + 1) * sizeof *begin);
        mem_free(a, o->held, o->capacity * sizeof(void *));
    }
    o->places = places;
    o->begin = begin;
    o->held = held;
    o->capacity = n;
    o->head.batch_begin = begin;
    return GREBE_OK;
}

static grebe_status add_batch(struct opened *o, size_t place, int64_t n_rows, grebe_error *err)
{
    if (o->head.n_batches == o->capacity) {
        grebe_status st = grow(o, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    o->places[o->head.n_batches] = place;
    o->head.n_rows += n_rows; /* the file's reader saw that all of them can be counted */
    o->begin[++o->head.n_batches] = o->head.n_rows;
    return GREBE_OK;
}

/* Batches of a stream in which dictionaries change are made at once, in their order. */
static grebe_status hold_batches(struct opened *o, struct ArrowSchema *types, grebe_error *err)
{
    const grebe_allocator *a = o->head.ctx->a;
    struct ArrowArrayStream stream;
    struct ArrowArray rows = { 0 };
    memset(&stream, 0, sizeof stream);
    grebe_status st = ipc_stream_of_region(a, o->region, &stream, err);
    if (st == GREBE_OK) {
        st = stream_schema(&stream, types, err);
    }
    while (st == GREBE_OK && (st = stream_next(&stream, &rows, err)) == GREBE_OK) {
        if (rows.length > 0) {
            int64_t n = rows.length;
            st = add_batch(o, 0, n, err);
            if (st == GREBE_OK) {
                st = array_share(a, &rows, &o->held[o->head.n_batches - 1], err);
            }
        }
        array_release(&rows);
    }
    stream_release(&stream);
    return st == GREBE_END ? GREBE_OK : st;
}

static grebe_status list_batches(struct opened *o, grebe_error *err)
{
    grebe_status st = o->capacity == 0 ? grow(o, err) : GREBE_OK;
    for (size_t i = 0; st == GREBE_OK && i < o->file->n_batches; i++) {
        if (o->file->batches[i].n_rows > 0) {
            st = add_batch(o, i, o->file->batches[i].n_rows, err);
        }
    }
    return st;
}

static grebe_status plan_columns(struct opened *o, const struct ArrowSchema *types, grebe_error *err)
{
    const grebe_allocator *a = o->head.ctx->a;
    size_t n = (size_t)types->n_children;
    grebe_status st = schema_copy_plain(a, types, &o->head.schema, err);
    if (st != GREBE_OK) {
        return st;
    }
    o->is_plain = mem_alloc_zero(a, n);
    if (o->is_plain == NULL) {
        return mem_fail(err, n, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        o->is_plain[i] = schema_equal(types->children[i], o->head.schema.children[i], SCHEMA_EQUAL_IGNORE_METADATA);
    }
    return GREBE_OK;
}

static grebe_status read_head(void *arg, uint64_t offset, void *dst, size_t len, size_t *got, grebe_error *err)
{
    struct io_file *file = arg;
    return file->ops->read_some(file, offset, dst, len, got, err);
}

/* file: what the region is the map of; NULL: it is memory. */
static grebe_status open_region(struct opened *o, struct io_file *file, grebe_error *err)
{
    const struct ipc_heads heads = { read_head, file };
    const grebe_allocator *a = o->head.ctx->a;
    struct ArrowSchema types = { 0 };
    bool is_replaced = false;
    grebe_status st;
    if (ipc_file_sniff(o->region->data, o->region->len)) {
        st = ipc_file_open(a, o->region, &o->file, err);
    } else {
        st = ipc_file_open_mapped(a, o->region, file != NULL ? &heads : NULL, &is_replaced, &o->file, err);
    }
    if (is_replaced) {
        st = hold_batches(o, &types, err);
    }
    if (st == GREBE_OK) {
        st = plan_columns(o, is_replaced ? &types : &o->file->schema, err);
    }
    if (st == GREBE_OK && o->file != NULL) {
        st = list_batches(o, err);
    } else if (st == GREBE_OK && o->capacity == 0) {
        st = grow(o, err);
    }
    schema_release(&types);
    return st;
}

static grebe_status open_bytes(struct opened *o, struct io_file *file, grebe_error *err)
{
    if (o->region->len == 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "no Arrow file: it is empty");
    }
    return open_region(o, file, err);
}

static grebe_status open_file(struct opened *o, bool in_memory, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_file *file = NULL;
    const char *path = o->head.path;
    GREBE_TRY(io_local_new(o->head.ctx, &store, err));
    if (in_memory) {
        struct io_identity id;
        GREBE_TRY(io_read_all(store, path, UINT64_MAX, &o->region, &id, err));
    } else {
        GREBE_TRY(io_open(store, path, &file, err));
        if (file->id.size_bytes > 0 && file->ops->map != NULL) {
            GREBE_TRY(file->ops->map(file, &o->region, err));
        } else {
            GREBE_TRY(region_new(o->head.ctx->a, 0, &o->region, err));
        }
    }
    st = open_bytes(o, in_memory ? NULL : file, err);
out:
    io_close(file);
    io_store_free(store);
    return st;
}

/* region NULL: the file is mapped or read. */
static grebe_status open_named(grebe_context *ctx, const char *path, struct region *region, bool in_memory,
                               struct rows_file **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct opened *o = mem_alloc_zero(ctx->a, sizeof *o);
    if (o == NULL) {
        return mem_fail(err, sizeof *o, "an Arrow file");
    }
    atomic_init(&o->refs, 1);
    o->head.ctx = ctx;
    o->head.path = str_copy(ctx->a, path);
    if (o->head.path == NULL) {
        st = mem_fail(err, strlen(path), path);
        goto out;
    }
    if (region != NULL) {
        o->region = region_keep(region);
        GREBE_TRY(open_bytes(o, NULL, err));
    } else {
        GREBE_TRY(open_file(o, in_memory, err));
    }
    *out = &o->head;
    o = NULL;
out:
    if (o != NULL) {
        rows_file_drop(&o->head);
        bool is_named = err != NULL && strstr(err->message, path) != NULL;
        st = is_named ? st : error_wrap(err, st, "%s", path);
    }
    return st;
}

grebe_status rows_file_open(grebe_context *ctx, const char *path, bool in_memory, struct rows_file **out,
                            grebe_error *err)
{
    return open_named(ctx, path, NULL, in_memory, out, err);
}

grebe_status rows_file_of_region(grebe_context *ctx, const char *name, struct region *region, struct rows_file **out,
                                 grebe_error *err)
{
    return open_named(ctx, name, region, true, out, err);
}

struct rows_file *rows_file_keep(struct rows_file *f)
{
    atomic_fetch_add_explicit(&opened_of(f)->refs, 1, memory_order_relaxed);
    return f;
}

void rows_file_drop(struct rows_file *f)
{
    if (f == NULL || atomic_fetch_sub_explicit(&opened_of(f)->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    struct opened *o = opened_of(f);
    const grebe_allocator *a = f->ctx->a;
    size_t n_columns = f->schema.release != NULL ? (size_t)f->schema.n_children : 0;
    for (size_t i = 0; i < f->n_batches; i++) {
        array_shared_drop(o->held[i]);
    }
    mem_free(a, o->places, o->capacity * sizeof *o->places);
    mem_free(a, o->begin, o->capacity > 0 ? (o->capacity + 1) * sizeof *o->begin : 0);
    mem_free(a, o->held, o->capacity * sizeof(void *));
    mem_free(a, o->is_plain, n_columns);
    ipc_file_close(o->file);
    schema_release(&f->schema);
    region_drop(o->region);
    str_free(a, f->path);
    mem_free(a, o, sizeof *o);
}

/* ---- reading ---- */

/* The columns chosen of a batch that is held whole: views. */
static grebe_status view_held(struct opened *o, size_t i, const int *columns, size_t n, struct ArrowArray *out,
                              grebe_error *err)
{
    const grebe_allocator *a = o->head.ctx->a;
    const struct ArrowArray *rows = array_shared_get(o->held[i]);
    grebe_status st = GREBE_OK;
    struct ArrowArray *views = mem_alloc_zero(a, n * sizeof *views);
    if (views == NULL) {
        return mem_fail(err, n * sizeof *views, "columns");
    }
    for (size_t k = 0; k < n && st == GREBE_OK; k++) {
        st = array_view(o->held[i], rows->children[columns != NULL ? (size_t)columns[k] : k], 0, rows->length,
                        &views[k], err);
    }
    if (st == GREBE_OK) {
        st = array_struct(a, rows->length, views, n, out, err);
    }
    for (size_t k = 0; st != GREBE_OK && k < n; k++) {
        array_release(&views[k]);
    }
    mem_free(a, views, n * sizeof *views);
    return st;
}

/* Dictionaries and runs become their values. types: of the file, all columns. */
static grebe_status make_plain(struct opened *o, const struct ArrowSchema *types, const int *columns,
                               struct ArrowArray *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (int64_t k = 0; k < rows->n_children && st == GREBE_OK; k++) {
        size_t column = columns != NULL ? (size_t)columns[k] : (size_t)k;
        struct ArrowArray plain = { 0 };
        if (o->is_plain[column]) {
            continue;
        }
        st = array_widen(o->head.ctx->a, types->children[column], o->head.schema.children[column], rows->children[k],
                         &plain, err);
        if (st == GREBE_OK) {
            array_release(rows->children[k]);
            array_move(rows->children[k], &plain);
        }
    }
    return st;
}

/* Types of held batches: the schema of the stream, read again from its first message. */
static grebe_status held_types(struct opened *o, struct ArrowSchema *out, grebe_error *err)
{
    const unsigned char *p = o->region->data;
    return ipc_schema_decode(o->head.ctx->a, p, o->region->len, out, err);
}

grebe_status rows_file_batch(struct rows_file *f, size_t i, const int *columns, size_t n, struct ArrowArray *out,
                             grebe_error *err)
{
    struct opened *o = opened_of(f);
    struct ArrowSchema types = { 0 };
    grebe_status st;
    memset(out, 0, sizeof *out);
    n = columns != NULL ? n : (size_t)f->schema.n_children;
    if (o->file != NULL) {
        st = ipc_file_read(o->file, o->places[i], columns, n, out, err);
    } else {
        st = view_held(o, i, columns, n, out, err);
        st = st == GREBE_OK ? held_types(o, &types, err) : st;
    }
    if (st == GREBE_OK) {
        st = make_plain(o, o->file != NULL ? &o->file->schema : &types, columns, out, err);
    }
    schema_release(&types);
    if (st != GREBE_OK) {
        array_release(out);
    }
    return error_wrap(err, st, "%s", f->path);
}

grebe_status rows_file_look(struct rows_file *f, size_t i, int column, struct ArrowArray *out, bool *is_checked,
                            grebe_error *err)
{
    struct opened *o = opened_of(f);
    if (o->file == NULL || !o->is_plain[column]) { /* values are made from all of it */
        *is_checked = true;
        return rows_file_batch(f, i, &column, 1, out, err);
    }
    grebe_status st = ipc_file_look(o->file, o->places[i], column, out, is_checked, err);
    return error_wrap(err, st, "%s", f->path);
}

struct region *rows_file_bytes(const struct rows_file *f)
{
    return ((const struct opened *)f)->region;
}
