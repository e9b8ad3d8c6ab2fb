/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/arrow_stream.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct stream_private {
    const grebe_allocator *a;
    const struct stream_ops *ops;
    void *self;
    grebe_error err; /* of the last call; status GREBE_OK when it went well */
    grebe_status ended; /* GREBE_END, or the failure of `next`: what every later call gives too */
    grebe_error failure;
};

/* errno values that the C stream interface hands to consumers that do not know our statuses. */
static int errno_of(grebe_status st)
{
    switch (st) {
    case GREBE_OK:
    case GREBE_END: return 0;
    case GREBE_ENOMEM: return ENOMEM;
    case GREBE_EINVAL:
    case GREBE_ESCHEMA: return EINVAL;
    case GREBE_ENOTFOUND: return ENOENT;
    case GREBE_EUNSUPPORTED: return ENOSYS;
    case GREBE_ECANCELLED: return ECANCELED;
    default: return EIO;
    }
}

static grebe_status status_of(int code)
{
    switch (code) {
    case ENOMEM: return GREBE_ENOMEM;
    case EINVAL: return GREBE_EINVAL;
    case ENOSYS: return GREBE_EUNSUPPORTED;
    case ECANCELED:
    case EINTR: return GREBE_ECANCELLED;
    default: return GREBE_EIO;
    }
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct stream_private *p = stream->private_data;
    memset(out, 0, sizeof *out);
    memset(&p->err, 0, sizeof p->err);
    return errno_of(p->ops->schema(p->self, out, &p->err));
}

/* A producer is not asked again once it ended: what a failed step left half done is not looked at,
 * and no rows are passed over. */
static grebe_status next_batch(struct stream_private *p, struct ArrowArray *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    if (p->ended == GREBE_OK) {
        memset(&p->failure, 0, sizeof p->failure);
        p->ended = p->ops->next(p->self, out, &p->failure);
        assert(p->ended == GREBE_OK || out->release == NULL);
    }
    if (p->ended < 0 && err != NULL) {
        *err = p->failure;
    }
    return p->ended;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream_private *p = stream->private_data;
    memset(&p->err, 0, sizeof p->err);
    return errno_of(next_batch(p, out, &p->err));
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const struct stream_private *p = stream->private_data;
    return p->err.status != GREBE_OK ? p->err.message : NULL;
}

static void stream_end(struct ArrowArrayStream *stream)
{
    struct stream_private *p = stream->private_data;
    p->ops->free(p->self);
    mem_free(p->a, p, sizeof *p);
    memset(stream, 0, sizeof *stream);
}

grebe_status stream_export(const grebe_allocator *a, const struct stream_ops *ops, void *self,
                           struct ArrowArrayStream *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    struct stream_private *p = mem_alloc_zero(a, sizeof *p);
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a stream");
    }
    p->a = a;
    p->ops = ops;
    p->self = self;
    out->get_schema = get_schema;
    out->get_next = get_next;
    out->get_last_error = get_last_error;
    out->release = stream_end;
    out->private_data = p;
    return GREBE_OK;
}

static grebe_status released(grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_EINVAL, "a stream was released before it was used");
}

static grebe_status foreign_failure(struct ArrowArrayStream *stream, int code, grebe_error *err)
{
    const char *text = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
    return GREBE_FAIL(err, status_of(code), "%s", text != NULL ? text : "the producer failed");
}

grebe_status stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out,
                           grebe_error *err)
{
    memset(out, 0, sizeof *out);
    if (stream->release == NULL) {
        return released(err);
    }
    if (stream->release == stream_end) {
        struct stream_private *p = stream->private_data;
        return p->ops->schema(p->self, out, err);
    }
    int code = stream->get_schema(stream, out);
    if (code != 0) {
        memset(out, 0, sizeof *out);
        return foreign_failure(stream, code, err);
    }
    return GREBE_OK;
}

grebe_status stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out,
                         grebe_error *err)
{
    memset(out, 0, sizeof *out);
    if (stream->release == NULL) {
        return released(err);
    }
    if (stream->release == stream_end) {
        return next_batch(stream->private_data, out, err);
    }
    int code = stream->get_next(stream, out);
    if (code != 0) {
        memset(out, 0, sizeof *out);
        return foreign_failure(stream, code, err);
    }
    return out->release != NULL ? GREBE_OK : GREBE_END;
}

void stream_release(struct ArrowArrayStream *stream)
{
    if (stream != NULL && stream->release != NULL) {
        stream->release(stream);
        memset(stream, 0, sizeof *stream);
    }
}

void stream_move(struct ArrowArrayStream *dst, struct ArrowArrayStream *src)
{
    *dst = *src;
    memset(src, 0, sizeof *src);
}

const grebe_error *stream_last_error(struct ArrowArrayStream *stream)
{
    if (stream->release != stream_end) {
        return NULL;
    }
    const struct stream_private *p = stream->private_data;
    return p->err.status != GREBE_OK ? &p->err : NULL;
}

/* ---- batches in memory ---- */

struct batches {
    const grebe_allocator *a;
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    size_t n, next;
};

static grebe_status batches_schema(void *self, struct ArrowSchema *out, grebe_error *err)
{
    const struct batches *b = self;
    return schema_copy(b->a, &b->schema, out, err);
}

static grebe_status batches_next(void *self, struct ArrowArray *out, grebe_error *err)
{
    struct batches *b = self;
    (void)err;
    if (b->next == b->n) {
        memset(out, 0, sizeof *out);
        return GREBE_END;
    }
    array_move(out, &b->batches[b->next++]);
    return GREBE_OK;
}

static void batches_free(void *self)
{
    struct batches *b = self;
    for (size_t i = b->next; i < b->n; i++) {
        array_release(&b->batches[i]);
    }
    mem_free(b->a, b->batches, b->n * sizeof *b->batches);
    schema_release(&b->schema);
    mem_free(b->a, b, sizeof *b);
}

static const struct stream_ops batches_ops = { batches_schema, batches_next, batches_free };

grebe_status stream_from_batches(const grebe_allocator *a, const struct ArrowSchema *schema,
                                 struct ArrowArray *batches, size_t n,
                                 struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct batches *b = NULL;

    memset(out, 0, sizeof *out);
    b = mem_alloc_zero(a, sizeof *b);
    if (b == NULL) {
        return mem_fail(err, sizeof *b, "a stream");
    }
    b->a = a;
    GREBE_TRY(schema_copy(a, schema, &b->schema, err));
    if (n > 0) {
        b->batches = mem_alloc_zero(a, n * sizeof *b->batches);
        if (b->batches == NULL) {
            st = mem_fail(err, n * sizeof *b->batches, "a stream");
            goto out;
        }
        b->n = n;
    }
    GREBE_TRY(stream_export(a, &batches_ops, b, out, err));
    for (size_t i = 0; i < n; i++) {
        array_move(&b->batches[i], &batches[i]);
    }
    b = NULL;
out:
    if (b != NULL) {
        batches_free(b);
    }
    return st;
}
