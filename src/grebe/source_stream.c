/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are read once, in order: where their bytes come from. */
#include "grebe/source_internal.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"

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
    unsigned char head[16]; /* looked at already; [head_pos, head_len) is still to be read */
    size_t head_pos, head_len;
};

static grebe_status read_callback_bytes(void *arg, void *dst, size_t len, size_t *got,
                                        grebe_error *err)
{
    struct callback_bytes *c = arg;
    *got = min_size(len, c->head_len - c->head_pos);
    memcpy(dst, c->head + c->head_pos, *got);
    c->head_pos += *got;
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

/* Other content than an Arrow stream is told as such, not as a damaged one. */
static grebe_status look_first(struct ipc_source *bytes, grebe_error *err)
{
    struct callback_bytes *c = bytes->from;
    size_t got = 0;
    grebe_status st = read_callback_bytes(c, c->head, sizeof c->head, &got, err);
    c->head_len = got;
    if (st == GREBE_OK && got == sizeof c->head && !ipc_sniff(c->head, got)) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                        "expected an Arrow stream, found other content (--input-format csv, tsv, json or "
                        "jsonl says what text is)");
    }
    return st;
}

grebe_status source_stream_of_callback(struct grebe_source *s, grebe_read_fn read, void *read_ctx,
                                       grebe_error *err)
{
    struct ipc_source bytes = { 0 };
    grebe_status st = source_callback_bytes(s, read, read_ctx, &bytes, err);
    if (st == GREBE_OK) {
        st = look_first(&bytes, err);
    }
    if (st == GREBE_OK) {
        st = ipc_stream_open(s->ctx->a, &bytes, &s->stream, err);
    }
    if (st != GREBE_OK && bytes.free != NULL) {
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

grebe_status source_stream_scan(struct grebe_source *s, const grebe_scan_options *options,
                                struct ArrowArrayStream *out, grebe_error *err)
{
    if (s->stream.release == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the stream was read already");
    }
    return select_stream(s->ctx, &s->stream, options, out, err);
}
