/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/print.h"

#include <string.h>

#include "arrow/ipc.h"
#include "base/context_internal.h"
#include "grebe/text_layout.h"
#include "text/text_print.h"

/* A sink over the caller's callback. */
struct callback_sink {
    struct text_sink sink;
    grebe_write_fn write;
    void *write_ctx;
};

static grebe_status sink_write(struct text_sink *sink, const void *bytes, size_t len,
                               grebe_error *err)
{
    struct callback_sink *c = (struct callback_sink *)sink;
    int failed = c->write(c->write_ctx, bytes, len);
    return failed == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "cannot write the output");
}

static grebe_status sink_write_ipc(void *arg, const void *bytes, size_t len, grebe_error *err)
{
    return sink_write(arg, bytes, len, err);
}

struct step {
    const struct call *call;
    grebe_progress progress;
};

static grebe_status after_batch(void *arg, int64_t n_rows, grebe_error *err)
{
    struct step *s = arg;
    s->progress.rows_done = (uint64_t)n_rows;
    if (s->call->progress != NULL) {
        s->call->progress(s->call->progress_ctx, &s->progress);
    }
    return call_check(s->call, err);
}

static grebe_status print_ipc(struct text_print *p, struct ArrowArrayStream *rows,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct ipc_writer *w = NULL;
    GREBE_TRY(stream_schema(rows, &schema, err));
    GREBE_TRY(ipc_writer_new(p->a, &schema, NULL, sink_write_ipc, p->sink, &w, err));
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(rows, &batch, err);
        if (st == GREBE_END) {
            st = ipc_writer_finish(w, err);
            break;
        }
        if (st == GREBE_OK) {
            p->n_rows += batch.length;
            st = ipc_writer_write(w, &batch, err);
        }
        array_release(&batch);
        if (st == GREBE_OK) {
            st = p->step(p->step_arg, p->n_rows, err);
        }
        if (st != GREBE_OK) {
            break;
        }
    }
out:
    ipc_writer_free(w);
    schema_release(&schema);
    return st;
}

grebe_status grebe_print_rows(grebe_context *ctx, struct ArrowArrayStream *rows,
                              const grebe_print_options *options, grebe_write_fn write,
                              void *write_ctx, int64_t *n_rows, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && rows != NULL && write != NULL);
    grebe_print_options o = GREBE_PRINT_OPTIONS_INIT;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st != GREBE_OK) {
        stream_release(rows);
        return st;
    }
    grebe_text_options text = GREBE_TEXT_OPTIONS_INIT;
    struct text_csv_layout layout = TEXT_CSV_LAYOUT_INIT;
    st = text_layout_options(&text, o.text, err);
    st = st == GREBE_OK ? text_layout_of(&text, &layout, err) : st;
    if (st != GREBE_OK) {
        stream_release(rows);
        return st;
    }
    struct call call = call_options_resolve(ctx, o.call);
    struct callback_sink sink = { { sink_write }, write, write_ctx };
    struct step step = { &call, { "print", 0, 0, 0, 0 } };
    struct text_print p = { ctx->a, &sink.sink, after_batch, &step, 0 };
    switch (o.format) {
    case GREBE_PRINT_TABLE: st = text_print_table(&p, rows, o.width, o.is_colored, err); break;
    case GREBE_PRINT_JSON: st = text_print_json(&p, rows, false, err); break;
    case GREBE_PRINT_JSONL: st = text_print_json(&p, rows, true, err); break;
    case GREBE_PRINT_CSV: st = text_print_csv(&p, rows, &layout, err); break;
    case GREBE_PRINT_ARROW: st = print_ipc(&p, rows, err); break;
    default: st = GREBE_FAIL(err, GREBE_EINVAL, "print format: expected 0 to 4, found %d", o.format);
    }
    stream_release(rows);
    if (n_rows != NULL) {
        *n_rows = p.n_rows;
    }
    return st;
}

grebe_status grebe_schema_print_json(grebe_context *ctx, const struct ArrowSchema *schema,
                                     grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && schema != NULL && write != NULL);
    struct buf b = BUF_INIT(ctx->a);
    struct callback_sink sink = { { sink_write }, write, write_ctx };
    grebe_status st = schema_to_json(&b, schema, err);
    if (st == GREBE_OK) {
        st = sink_write(&sink.sink, b.data, b.len, err);
    }
    buf_release(&b);
    return st;
}

grebe_status grebe_schema_parse_json(grebe_context *ctx, const char *json, size_t len,
                                     struct ArrowSchema *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && json != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    return schema_from_json(ctx->a, json, len, out, err);
}

size_t grebe_type_name(grebe_context *ctx, const struct ArrowSchema *field, char *dst,
                       size_t dst_len)
{
    struct buf b = BUF_INIT(ctx->a);
    size_t n = 0;
    if (dst_len > 0) {
        dst[0] = '\0';
    }
    if (type_print(&b, field, NULL) == GREBE_OK) {
        n = b.len;
        if (dst_len > 0) {
            size_t keep = n < dst_len ? n : dst_len - 1;
            memcpy(dst, b.data, keep);
            dst[keep] = '\0';
        }
    }
    buf_release(&b);
    return n;
}
