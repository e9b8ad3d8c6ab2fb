/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The Parquet writer for scripts: a shared library with one function that writes an Arrow C
 * stream to a file. tests/interop/ loads it with ctypes.
 */

#include <stdio.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "parquet/parquet_write.h"

struct driver_options {
    const char *compression; /* NULL: default */
    int64_t row_group_bytes, row_group_rows, expected_rows;
    int32_t is_milvus, threads;
};

struct driver_result {
    int64_t n_rows;
    uint64_t file_size, footer_size;
    char message[600];
};

GREBE_API int parquet_driver_write(const char *path, struct ArrowArrayStream *stream,
                                   const struct driver_options *o, struct driver_result *result);

static grebe_status write_all(struct ArrowArrayStream *stream, struct format_writer *w,
                              struct file_summary *summary, grebe_error *err)
{
    struct ArrowArray batch = {0};
    grebe_status st = GREBE_OK;

    while ((st = stream_next(stream, &batch, err)) == GREBE_OK) {
        st = w->ops->write(w, &batch, err);
        array_release(&batch);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return st == GREBE_END ? w->ops->finish(w, summary, err) : st;
}

int parquet_driver_write(const char *path, struct ArrowArrayStream *stream,
                         const struct driver_options *o, struct driver_result *result)
{
    grebe_context *ctx = NULL;
    struct io_store *store = NULL;
    struct io_writer *to = NULL;
    struct format_writer *w = NULL;
    struct ArrowSchema schema = {0};
    struct file_summary summary = {0};
    struct format_write_options options = FORMAT_WRITE_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = GREBE_OK;

    memset(result, 0, sizeof *result);
    options.compression = o->compression;
    options.row_group_bytes = o->row_group_bytes;
    options.row_group_rows = o->row_group_rows;
    options.expected_rows = o->expected_rows;
    options.is_profile_milvus = o->is_milvus != 0;
    GREBE_TRY(context_new(NULL, &ctx, &err));
    options.call = call_options_resolve(ctx, NULL);
    options.call.threads = (uint32_t)o->threads;
    GREBE_TRY(io_local_new(ctx, &store, &err));
    GREBE_TRY(io_create(store, path, false, &to, &err));
    GREBE_TRY(stream_schema(stream, &schema, &err));
    GREBE_TRY(parquet_writer_create(ctx, to, &schema, &options, &w, &err));
    GREBE_TRY(write_all(stream, w, &summary, &err));
    GREBE_TRY(io_writer_publish(to, true, &err));
out:
    if (w != NULL) {
        w->ops->free(w);
    }
    schema_release(&schema);
    stream_release(stream);
    io_writer_free(to);
    io_store_free(store);
    context_free(ctx);
    result->n_rows = summary.n_rows;
    result->file_size = summary.file_size_bytes;
    result->footer_size = summary.footer_size_bytes;
    snprintf(result->message, sizeof result->message, "%s", err.message);
    return st;
}
