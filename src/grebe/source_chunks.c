/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "grebe/source_internal.h"

struct chunk_stream {
    struct format_reader *reader; /* owned */
    size_t next;                  /* chunk */
    struct call call;
};

static void chunks_free(void *self)
{
    struct chunk_stream *s = self;
    const grebe_allocator *a = s->reader->ctx->a;
    s->reader->ops->close(s->reader);
    mem_free(a, s, sizeof *s);
}

static grebe_status chunks_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    struct chunk_stream *s = self;
    return schema_copy(s->reader->ctx->a, &s->reader->schema, out, err);
}

static grebe_status chunks_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct chunk_stream *s = self;
    struct format_reader *r = s->reader;
    memset(out, 0, sizeof *out);
    if (s->next == r->n_chunks) {
        return GREBE_END;
    }
    size_t chunk = s->next++;
    return r->ops->read(r, NULL, 0, r->chunk_begin[chunk], r->chunk_begin[chunk + 1], &s->call, out,
                        err);
}

static const struct stream_ops chunk_ops = { chunks_schema, chunks_next, chunks_free };

grebe_status source_stream_of_reader(struct grebe_source *source, struct format_reader *reader,
                                     grebe_error *err)
{
    struct chunk_stream *s = mem_alloc_zero(source->ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a stream");
    }
    s->call = call_options_resolve(source->ctx, NULL);
    s->reader = reader;
    grebe_status st = stream_export(source->ctx->a, &chunk_ops, s, &source->stream, err);
    if (st != GREBE_OK) {
        mem_free(source->ctx->a, s, sizeof *s);
    }
    return st;
}
