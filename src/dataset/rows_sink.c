/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/rows_sink.h"

#include <string.h>

struct rows_sink {
    grebe_context *ctx;
    char *path;
    struct rows_writer *writer; /* NULL: memory */
    struct ArrowSchema schema;
    struct buf batches; /* struct ArrowArray */
};

grebe_status rows_sink_new(grebe_context *ctx, const char *path, const struct features *features,
                           const struct rows_writer_options *o, struct rows_sink **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct rows_sink *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a place for rows");
    }
    s->ctx = ctx;
    s->batches = BUF_INIT(ctx->a);
    GREBE_TRY(features_to_schema(ctx->a, features, &s->schema, err));
    if (path != NULL) {
        s->path = str_copy(ctx->a, path);
        if (s->path == NULL) {
            st = mem_fail(err, strlen(path), path);
            goto out;
        }
        GREBE_TRY(rows_writer_new(ctx, path, features, o, &s->writer, err));
    }
    *out = s;
    s = NULL;
out:
    rows_sink_free(s);
    return st;
}

void rows_sink_free(struct rows_sink *s)
{
    if (s == NULL) {
        return;
    }
    struct ArrowArray *items = (struct ArrowArray *)(void *)s->batches.data;
    for (size_t i = 0; i < s->batches.len / sizeof *items; i++) {
        array_release(&items[i]);
    }
    buf_release(&s->batches);
    rows_writer_free(s->writer);
    schema_release(&s->schema);
    str_free(s->ctx->a, s->path);
    mem_free(s->ctx->a, s, sizeof *s);
}

grebe_status rows_sink_put(struct rows_sink *s, struct ArrowArray *rows, grebe_error *err)
{
    if (s->writer != NULL) {
        return rows_writer_put(s->writer, rows, err);
    }
    grebe_status st = buf_put(&s->batches, rows, sizeof *rows, err);
    if (st != GREBE_OK) {
        array_release(rows);
    }
    memset(rows, 0, sizeof *rows);
    return st;
}

grebe_status rows_sink_finish(struct rows_sink *s, struct dataset_table **out, grebe_error *err)
{
    *out = NULL;
    if (s->writer != NULL) {
        const char *path = s->path;
        grebe_status st = rows_writer_finish(s->writer, err);
        return st == GREBE_OK ? dataset_table_of_files(s->ctx, &path, 1, false, out, err) : st;
    }
    struct ArrowArray *items = (struct ArrowArray *)(void *)s->batches.data;
    return dataset_table_of_batches(s->ctx, &s->schema, items, s->batches.len / sizeof *items, out, err);
}
