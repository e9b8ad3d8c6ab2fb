/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "codec/codec_compress.h"
#include "ipc/ipc_format.h"

enum { BATCH_ROWS = 65536 }; /* most rows of a batch unless told otherwise, as pyarrow's Feather writer has it */

struct ipc_file_writer {
    struct format_writer base;
    const grebe_allocator *a;
    struct io_writer *to;
    struct ipc_writer *ipc;
    struct ArrowSchema schema;
    int64_t batch_rows;
    int64_t n_rows;
};

static grebe_status sink(void *to, const void *bytes, size_t len, grebe_error *err)
{
    return io_write(to, bytes, len, err);
}

static void ipc_file_writer_free(struct format_writer *base)
{
    struct ipc_file_writer *w = (struct ipc_file_writer *)base;
    ipc_writer_free(w->ipc);
    schema_release(&w->schema);
    mem_free(w->a, w, sizeof *w);
}

static grebe_status ipc_file_writer_write(struct format_writer *base, const struct ArrowArray *batch,
                                          grebe_error *err)
{
    struct ipc_file_writer *w = (struct ipc_file_writer *)base;
    grebe_status st = GREBE_OK;
    for (int64_t at = 0; at < batch->length && st == GREBE_OK; at += w->batch_rows) {
        struct ArrowArray part = *batch; /* shallow: never released */
        part.offset += at;
        part.length = min_i64(w->batch_rows, batch->length - at);
        if (part.length == batch->length) {
            st = ipc_writer_write(w->ipc, batch, err);
        } else {
            struct ArrowArray copy;
            const struct ArrowArray *one = &part;
            st = array_concat(w->a, &w->schema, &one, 1, &copy, err);
            if (st == GREBE_OK) {
                st = ipc_writer_write(w->ipc, &copy, err);
                array_release(&copy);
            }
        }
        w->n_rows += part.length;
    }
    return st;
}

static grebe_status ipc_file_writer_finish(struct format_writer *base, struct file_summary *out,
                                           grebe_error *err)
{
    struct ipc_file_writer *w = (struct ipc_file_writer *)base;
    grebe_status st = ipc_writer_finish(w->ipc, err);
    *out = (struct file_summary){ w->n_rows, w->to->n_written, 0 };
    return st;
}

static const struct format_writer_ops ipc_file_writer_ops = {
    .write = ipc_file_writer_write,
    .finish = ipc_file_writer_finish,
    .free = ipc_file_writer_free,
};

static grebe_status resolve(const struct format_write_options *o, struct ipc_write_options *out,
                            grebe_error *err)
{
    *out = (struct ipc_write_options){ IPC_UNCOMPRESSED, o->compression_level, true };
    if (o->compression_level == INT32_MIN) {
        out->level = CODEC_LEVEL_DEFAULT;
    }
    if (o->compression == NULL || strcmp(o->compression, "none") == 0) {
        return GREBE_OK;
    }
    if (strcmp(o->compression, "zstd") == 0) {
        out->compression = IPC_ZSTD;
        return GREBE_OK;
    }
    if (strcmp(o->compression, "lz4") == 0) {
        out->compression = IPC_LZ4_FRAME;
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_EINVAL,
                      "compression: Arrow files know none, lz4 and zstd, found \"%.32s\"",
                      o->compression);
}

static grebe_status create(grebe_context *ctx, struct io_writer *to,
                           const struct ArrowSchema *schema,
                           const struct format_write_options *options, bool is_file,
                           struct format_writer **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ipc_write_options ipc;
    *out = NULL;
    struct ipc_file_writer *w = mem_alloc_zero(ctx->a, sizeof *w);
    if (w == NULL) {
        return mem_fail(err, sizeof *w, "a writer");
    }
    w->base.ops = &ipc_file_writer_ops;
    w->a = ctx->a;
    w->to = to;
    w->batch_rows = options->row_group_rows > 0 ? options->row_group_rows : BATCH_ROWS;
    GREBE_TRY(resolve(options, &ipc, err));
    ipc.is_file = is_file;
    GREBE_TRY(schema_copy(w->a, schema, &w->schema, err));
    GREBE_TRY(ipc_writer_new(w->a, schema, &ipc, sink, to, &w->ipc, err));
    *out = &w->base;
    w = NULL;
out:
    if (w != NULL) {
        ipc_file_writer_free(&w->base);
    }
    return st;
}

grebe_status ipc_format_create(grebe_context *ctx, struct io_writer *to,
                               const struct ArrowSchema *schema,
                               const struct format_write_options *options,
                               struct format_writer **out, grebe_error *err)
{
    return create(ctx, to, schema, options, true, out, err);
}

grebe_status ipc_stream_create(grebe_context *ctx, struct io_writer *to,
                               const struct ArrowSchema *schema,
                               const struct format_write_options *options,
                               struct format_writer **out, grebe_error *err)
{
    return create(ctx, to, schema, options, false, out, err);
}
