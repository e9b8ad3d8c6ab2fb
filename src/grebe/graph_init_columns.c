/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of any source of rows as a file of edges or seeds. */
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

/* Ids of one column of a batch, to every step-th place of dst. */
static grebe_status read_ids(const struct ArrowArray *batch, size_t child, const char *column, const char *format, int64_t row,
                             int64_t *dst, size_t step, grebe_error *err)
{
    const struct ArrowArray *a = batch->children[child];
    const int64_t at = batch->offset + a->offset;
    const uint8_t *valid = a->null_count != 0 ? a->buffers[0] : NULL;
    for (int64_t i = 0; i < batch->length; i++) {
        const bool is_null = valid != NULL && (valid[(at + i) / 8] >> ((at + i) % 8) & 1) == 0;
        if (is_null || !value_at(format, a->buffers[1], at + i, &dst[(size_t)i * step])) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.100s\", row %lld: expected the id of a node, found %s", column,
                              (long long)(row + i), is_null ? "null" : "a number above 2^63 - 1");
        }
    }
    return GREBE_OK;
}

/* Columns of the batch, rows one after another, behind what was written. */
static grebe_status put_batch(grebe_context *ctx, struct io_writer *w, const char *const *columns, size_t n,
                              const struct ArrowSchema *schema, const struct ArrowArray *batch, int64_t row, grebe_error *err)
{
    const size_t n_ids = (size_t)batch->length * n, bytes = (n_ids + 1) * sizeof(int64_t);
    grebe_status st = GREBE_OK;
    int64_t *ids = mem_alloc(ctx->a, bytes);
    if (ids == NULL) {
        return mem_fail(err, bytes, "ids");
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(read_ids(batch, i, columns[i], schema->children[i]->format, row, ids + i, n, err));
    }
    st = io_write(w, ids, n_ids * sizeof *ids, err);
out:
    mem_free(ctx->a, ids, bytes);
    return st;
}

static grebe_status check_types(grebe_context *ctx, const struct ArrowSchema *schema, const char *const *columns, size_t n,
                                grebe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *format = schema->children[i]->format;
        if (strlen(format) != 1 || strchr("cCsSiIlL", format[0]) == NULL || schema->children[i]->dictionary != NULL) {
            char type[100];
            grebe_type_name(ctx, schema->children[i], type, sizeof type);
            return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.100s\": expected ids of nodes, integers from 0, found %s", columns[i],
                              type);
        }
    }
    return GREBE_OK;
}

/* All rows of columns, of which there must be n_rows. */
static grebe_status put_columns(grebe_context *ctx, const char *uri, const char *const *columns, size_t n_columns,
                                const grebe_call_options *call, struct io_writer *w, int64_t n_rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source *source = NULL;
    struct ArrowArrayStream rows = { 0 };
    struct ArrowSchema schema = { 0 };
    grebe_source_options open = GREBE_SOURCE_OPTIONS_INIT;
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    int64_t n = 0;
    open.call = call;
    scan.columns = columns;
    scan.n_columns = n_columns;
    scan.call = call;
    GREBE_TRY(grebe_source_open(ctx, uri, &open, &source, err));
    GREBE_TRY(grebe_source_scan(source, &scan, &rows, err));
    GREBE_TRY(stream_schema(&rows, &schema, err));
    GREBE_TRY(check_types(ctx, &schema, columns, n_columns, err));
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, err);
        st = st == GREBE_OK ? put_batch(ctx, w, columns, n_columns, &schema, &batch, n, err) : st;
        n += st == GREBE_OK ? batch.length : 0;
        array_release(&batch);
        if (st != GREBE_OK) {
            break;
        }
    }
    st = st == GREBE_END ? GREBE_OK : st;
    if (st == GREBE_OK && n != n_rows) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%.100s\": expected %lld rows, found %lld", columns[0], (long long)n_rows,
                        (long long)n);
    }
out:
    schema_release(&schema);
    stream_release(&rows);
    grebe_source_close(source);
    return st;
}

grebe_status graph_init_columns(struct graph_initing *k, const char *uri, const char *const *columns, size_t n, bool is_by_row,
                                struct io_writer *w, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = k->ctx;
    const grebe_call_options *call = k->options.call;
    grebe_source *source = NULL;
    grebe_source_options open = GREBE_SOURCE_OPTIONS_INIT;
    int64_t n_rows = 0;
    struct buf head = BUF_INIT(ctx->a);
    open.call = call;
    GREBE_TRY(grebe_source_open(ctx, uri, &open, &source, err));
    GREBE_TRY(grebe_source_count(source, NULL, &n_rows, err));
    const uint64_t shape[2] = { is_by_row ? (uint64_t)n_rows : n, is_by_row ? n : (uint64_t)n_rows };
    GREBE_TRY(tensor_npy_header(&head, ARRAY_I64, shape, is_by_row && n == 1 ? 1 : 2, err));
    GREBE_TRY(io_write(w, head.data, head.len, err));
    for (size_t i = 0; i < (is_by_row ? 1 : n); i++) {
        GREBE_TRY(put_columns(ctx, uri, columns + i, is_by_row ? n : 1, call, w, n_rows, err));
    }
    GREBE_TRY(io_writer_flush(w, err));
out:
    buf_release(&head);
    grebe_source_close(source);
    return error_wrap(err, st, "%s", uri);
}
