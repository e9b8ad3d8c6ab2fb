/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of any source of rows as a file of edges. */
#include <string.h>

#include "array/tensor.h"
#include "arrow/arrow_array.h"
#include "arrow/arrow_schema.h"
#include "arrow/arrow_stream.h"
#include "grebe/graph_init_internal.h"
#include "grebe/source.h"

static bool value_at(const char *format, const void *data, int64_t i, int64_t *out)
{
    uint64_t u = 0;
    switch (format[0]) {
    case 'c': *out = ((const int8_t *)data)[i]; return true;
    case 'C': *out = ((const uint8_t *)data)[i]; return true;
    case 's': *out = ((const int16_t *)data)[i]; return true;
    case 'S': *out = ((const uint16_t *)data)[i]; return true;
    case 'i': *out = ((const int32_t *)data)[i]; return true;
    case 'I': *out = ((const uint32_t *)data)[i]; return true;
    case 'l': *out = ((const int64_t *)data)[i]; return true;
    default:
        u = ((const uint64_t *)data)[i];
        *out = (int64_t)u;
        return u <= (uint64_t)INT64_MAX;
    }
}

/* One column of a batch, behind what was written. */
static grebe_status put_batch(grebe_context *ctx, struct io_writer *w, const char *column, const char *format,
                              const struct ArrowArray *batch, int64_t row, grebe_error *err)
{
    const struct ArrowArray *a = batch->children[0];
    const int64_t n = batch->length, at = batch->offset + a->offset;
    const uint8_t *valid = a->null_count != 0 ? a->buffers[0] : NULL;
    grebe_status st = GREBE_OK;
    int64_t *ids = mem_alloc(ctx->a, ((size_t)n + 1) * sizeof *ids);
    if (ids == NULL) {
        return mem_fail(err, (size_t)n * sizeof *ids, "edges");
    }
    for (int64_t i = 0; i < n; i++) {
        const bool is_null = valid != NULL && (valid[(at + i) / 8] >> ((at + i) % 8) & 1) == 0;
        if (is_null || !value_at(format, a->buffers[1], at + i, &ids[i])) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.100s\", row %lld: expected the id of a node, found %s", column,
                            (long long)(row + i), is_null ? "null" : "a number above 2^63 - 1");
            goto out;
        }
    }
    st = io_write(w, ids, (size_t)n * sizeof *ids, err);
out:
    mem_free(ctx->a, ids, ((size_t)n + 1) * sizeof *ids);
    return st;
}

/* All of one column; *n_rows: -1 before the first, else the number that must come. */
static grebe_status put_column(grebe_context *ctx, const char *uri, const char *column, const grebe_call_options *call,
                               struct io_writer *w, int64_t n_rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_source_options open = GREBE_SOURCE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    int64_t n = 0;
    open.call = call;
    scan.columns = &column;
    scan.n_columns = 1;
    scan.call = call;
    GREBE_TRY(grebe_source_open(ctx, uri, &open, &source, err));
    GREBE_TRY(grebe_source_scan(source, &scan, &rows, err));
    GREBE_TRY(stream_schema(&rows, &schema, err));
    const char *format = schema.children[0]->format;
    if (strlen(format) != 1 || strchr("cCsSiIlL", format[0]) == NULL || schema.children[0]->dictionary != NULL) {
        char type[100];
        grebe_type_name(ctx, schema.children[0], type, sizeof type);
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.100s\": expected ids of nodes, integers from 0, found %s", column, type);
        goto out;
    }
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, err);
        st = st == GREBE_OK ? put_batch(ctx, w, column, format, &batch, n, err) : st;
        n += st == GREBE_OK ? batch.length : 0;
        array_release(&batch);
        if (st != GREBE_OK) {
            break;
        }
    }
    st = st == GREBE_END ? GREBE_OK : st;
    if (st == GREBE_OK && n != n_rows) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%.100s\": expected %lld rows, found %lld", column, (long long)n_rows, (long long)n);
    }
out:
    schema_release(&schema);
    stream_release(&rows);
    grebe_source_close(source);
    return st;
}

grebe_status graph_init_columns(grebe_context *ctx, struct io_store *store, const grebe_graph_edge_file *edges,
                                const grebe_call_options *call, const char *path, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    grebe_source_options open = GREBE_SOURCE_OPTIONS_INIT;
    int64_t n_rows = 0;
    uint64_t shape[2] = { 2, 0 };
    struct buf head = BUF_INIT(ctx->a);
    struct io_writer *w = NULL;
    open.call = call;
    GREBE_TRY(grebe_source_open(ctx, edges->path, &open, &source, err));
    GREBE_TRY(grebe_source_count(source, NULL, &n_rows, err));
    shape[1] = (uint64_t)n_rows;
    GREBE_TRY(tensor_npy_header(&head, ARRAY_I64, shape, 2, err));
    GREBE_TRY(io_create(store, path, false, &w, err));
    GREBE_TRY(io_write(w, head.data, head.len, err));
    GREBE_TRY(put_column(ctx, edges->path, edges->source, call, w, n_rows, err));
    GREBE_TRY(put_column(ctx, edges->path, edges->target, call, w, n_rows, err));
    GREBE_TRY(io_writer_publish(w, true, err));
out:
    io_writer_free(w);
    buf_release(&head);
    grebe_source_close(source);
    return error_wrap(err, st, "%s", edges->path);
}
