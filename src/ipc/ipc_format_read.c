/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/ipc_format.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

/* ---- life ---- */

static void ipc_reader_close(struct format_reader *base)
{
    struct ipc_reader *r = (struct ipc_reader *)base;
    const grebe_allocator *a = base->ctx->a;
    size_t n = r->file != NULL ? r->file->n_batches : 0;
    mem_free(a, r->batch_of, n * sizeof *r->batch_of);
    mem_free(a, r->chunk_begin, (n + 1) * sizeof *r->chunk_begin);
    ipc_file_close(r->file);
    schema_release(&base->schema);
    mem_free(a, r, sizeof *r);
}

/* Batches with rows are the chunks. */
static grebe_status list_chunks(struct ipc_reader *r, grebe_error *err)
{
    const grebe_allocator *a = r->base.ctx->a;
    size_t n = r->file->n_batches;
    r->batch_of = mem_alloc_zero(a, n * sizeof *r->batch_of);
    r->chunk_begin = mem_alloc_zero(a, (n + 1) * sizeof *r->chunk_begin);
    if (r->batch_of == NULL || r->chunk_begin == NULL) {
        return mem_fail(err, n * sizeof *r->chunk_begin, "batches");
    }
    for (size_t i = 0; i < n; i++) {
        int64_t n_rows = r->file->batches[i].n_rows;
        if (n_rows > 0) {
            r->batch_of[r->base.n_chunks++] = i;
            r->base.n_rows += n_rows;
            r->chunk_begin[r->base.n_chunks] = r->base.n_rows;
        }
    }
    r->base.chunk_begin = r->chunk_begin;
    return GREBE_OK;
}

/* The whole file: its map, or its bytes where the store has none. */
static grebe_status get_bytes(struct io_store *store, const char *path, struct region **out,
                              grebe_error *err)
{
    struct io_shared_file *shared = NULL;
    struct io_identity id;
    grebe_status st = io_open_shared(store, path, &shared, err);
    if (st == GREBE_OK && shared->map != NULL) {
        *out = region_keep(shared->map);
    } else if (st == GREBE_OK) {
        st = io_read_all(store, path, SIZE_MAX, out, &id, err);
    }
    io_shared_drop(shared);
    return st;
}

grebe_status ipc_format_open(struct io_store *store, const char *path,
                             const struct file_hints *hints, struct format_reader **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = store->ctx->a;
    struct region *bytes = NULL;
    (void)hints;
    *out = NULL;
    struct ipc_reader *r = mem_alloc_zero(a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, path);
    }
    r->base.ops = &ipc_reader_ops;
    r->base.format = &ipc_format;
    r->base.ctx = store->ctx;
    GREBE_TRY(get_bytes(store, path, &bytes, err));
    r->base.file_size_bytes = bytes->len;
    if (ipc_is_feather_v1(bytes->data, bytes->len)) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "%s: Feather V1 is not read: write it anew as V2", path);
        goto out;
    }
    st = ipc_file_open(a, bytes, &r->file, err);
    if (st != GREBE_OK) {
        st = error_wrap(err, st, "%s", path);
        goto out;
    }
    GREBE_TRY(schema_copy(a, &r->file->schema, &r->base.schema, err));
    GREBE_TRY(list_chunks(r, err));
    *out = &r->base;
    r = NULL;
out:
    region_drop(bytes);
    if (r != NULL) {
        ipc_reader_close(&r->base);
    }
    return st;
}

/* ---- rows ---- */

static grebe_status ipc_reader_read(struct format_reader *base, const int *columns,
                                    size_t n_columns, int64_t row_begin, int64_t row_end,
                                    const struct call *call, struct ArrowArray *out,
                                    grebe_error *err)
{
    struct ipc_reader *r = (struct ipc_reader *)base;
    struct ArrowArray whole = { 0 };
    struct array_shared *shared = NULL;
    size_t chunk = format_chunk_of(base, row_begin);
    int64_t begin = base->chunk_begin[chunk], end = base->chunk_begin[chunk + 1];
    assert(row_begin < row_end && row_end <= end);
    grebe_status st = call_check(call, err);
    if (st == GREBE_OK) {
        st = ipc_file_read(r->file, r->batch_of[chunk], columns, n_columns, &whole, err);
    }
    if (st != GREBE_OK || (row_begin == begin && row_end == end)) {
        array_move(out, &whole);
        return st;
    }
    st = array_share(base->ctx->a, &whole, &shared, err);
    if (st == GREBE_OK) {
        st = array_slice(shared, row_begin - begin, row_end - row_begin, out, err);
    }
    array_release(&whole);
    array_shared_drop(shared);
    return st;
}

static grebe_status schema_of(const struct ipc_reader *r, const int *columns, size_t n_columns,
                              struct ArrowSchema *out, grebe_error *err)
{
    const grebe_allocator *a = r->base.ctx->a;
    return columns == NULL ? schema_copy(a, &r->base.schema, out, err)
                           : schema_project(a, &r->base.schema, columns, n_columns, out, err);
}

/* The rows of one chunk: n of them from rows[0] on, chosen by `local`. */
static grebe_status take_chunk(struct ipc_reader *r, size_t chunk, const int *columns,
                               size_t n_columns, const struct ArrowSchema *schema,
                               const int64_t *local, int64_t n, struct ArrowArray *out,
                               grebe_error *err)
{
    struct ArrowArray whole;
    grebe_status st = ipc_file_read(r->file, r->batch_of[chunk], columns, n_columns, &whole, err);
    if (st == GREBE_OK) {
        st = array_gather(r->base.ctx->a, schema, &whole, local, n, out, err);
        array_release(&whole);
    }
    return st;
}

static grebe_status ipc_reader_take(struct format_reader *base, const int *columns,
                                    size_t n_columns, const int64_t *rows, int64_t n,
                                    const struct call *call, struct ArrowArray *out,
                                    grebe_error *err)
{
    struct ipc_reader *r = (struct ipc_reader *)base;
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = base->ctx->a;
    struct ArrowSchema schema = { 0 };
    struct buf parts = BUF_INIT(a), pointers = BUF_INIT(a);
    int64_t *local = mem_alloc(a, (size_t)n * sizeof *local);
    if (local == NULL) {
        return mem_fail(err, (size_t)n * sizeof *local, "rows");
    }
    GREBE_TRY(schema_of(r, columns, n_columns, &schema, err));
    for (int64_t i = 0; i < n;) {
        size_t chunk = format_chunk_of(base, rows[i]);
        int64_t begin = base->chunk_begin[chunk], end = base->chunk_begin[chunk + 1], k = 0;
        struct ArrowArray part;
        for (; i < n && rows[i] < end; i++) {
            local[k++] = rows[i] - begin;
        }
        GREBE_TRY(call_check(call, err));
        GREBE_TRY(buf_reserve(&parts, sizeof part, err));
        GREBE_TRY(take_chunk(r, chunk, columns, n_columns, &schema, local, k, &part, err));
        GREBE_TRY(buf_put(&parts, &part, sizeof part, err));
    }
    size_t n_parts = parts.len / sizeof(struct ArrowArray);
    if (n_parts == 0) {
        st = array_nulls(a, &schema, 0, out, err);
        goto out;
    }
    if (n_parts == 1) {
        memcpy(out, parts.data, sizeof *out);
        parts.len = 0;
        goto out;
    }
    for (size_t i = 0; i < n_parts; i++) {
        const struct ArrowArray *p = (struct ArrowArray *)(void *)parts.data + i;
        GREBE_TRY(buf_put(&pointers, &p, sizeof p, err));
    }
    st = array_concat(a, &schema, (const struct ArrowArray *const *)(void *)pointers.data, n_parts,
                      out, err);
out:
    for (size_t i = 0; i < parts.len / sizeof(struct ArrowArray); i++) {
        array_release((struct ArrowArray *)(void *)parts.data + i);
    }
    buf_release(&parts);
    buf_release(&pointers);
    schema_release(&schema);
    mem_free(a, local, (size_t)n * sizeof *local);
    return st;
}

static grebe_status ipc_reader_bounds(struct format_reader *base, int column, size_t chunk,
                                      struct column_bounds *out, grebe_error *err)
{
    (void)base;
    (void)column;
    (void)chunk;
    (void)err;
    *out = (struct column_bounds){ 0 };
    return GREBE_OK;
}

static uint64_t ipc_reader_stored_bytes(struct format_reader *base, const int *columns,
                                        size_t n_columns, size_t chunk)
{
    const struct ipc_reader *r = (struct ipc_reader *)base;
    uint64_t body = r->file->batches[r->batch_of[chunk]].body_len;
    uint64_t n = (uint64_t)base->schema.n_children;
    /* The footer does not say which bytes are whose: an even share. */
    return columns == NULL || n == 0 ? body : body / n * n_columns;
}

const struct format_reader_ops ipc_reader_ops = {
    .close = ipc_reader_close,
    .read = ipc_reader_read,
    .take = ipc_reader_take,
    .bounds = ipc_reader_bounds,
    .stored_bytes = ipc_reader_stored_bytes,
    .check = ipc_format_check,
    .inspect = ipc_format_inspect,
};
