/* SPDX-License-Identifier: Apache-2.0 */
/* A stream into one file, in the format that its name ends in. */
#include <string.h>

#include "arrow/arrow_stream.h"
#include "grebe/print.h"
#include "ipc/ipc_format.h"
#include "source/source.h"

static const char *ending_of(const char *path)
{
    const char *dot = strrchr(path_base_name(path), '.');
    return dot == NULL ? "" : dot + 1;
}

static const struct file_format *format_of_ending(const grebe_context *ctx, const char *ending)
{
    if (strcmp(ending, ipc_stream_format.extensions[0]) == 0) {
        return &ipc_stream_format;
    }
    for (size_t i = 0; ctx->registry->formats[i] != NULL; i++) {
        const struct file_format *f = ctx->registry->formats[i];
        for (size_t j = 0; f->create != NULL && f->extensions[j] != NULL; j++) {
            if (strcmp(f->extensions[j], ending) == 0) {
                return f;
            }
        }
    }
    return NULL;
}

static struct format_write_options format_options(const grebe_context *ctx,
                                                  const grebe_write_options *o)
{
    struct format_write_options f = FORMAT_WRITE_OPTIONS_INIT;
    format_write_options_from(o, &f);
    f.is_bulk = true;
    f.call = call_options_resolve(ctx, o->call);
    return f;
}

/* One batch after the other into the writer; *n_rows counts. */
static grebe_status write_batches(struct ArrowArrayStream *rows, struct format_writer *w,
                                  const struct call *call, int64_t *n_rows, grebe_error *err)
{
    grebe_progress progress = { "write", 0, 0, 0, 0 };
    for (;;) {
        struct ArrowArray batch = { 0 };
        grebe_status st = call_check(call, err);
        if (st == GREBE_OK) {
            st = stream_next(rows, &batch, err);
        }
        if (st == GREBE_END) {
            return GREBE_OK;
        }
        if (st == GREBE_OK) {
            *n_rows += batch.length;
            st = w->ops->write(w, &batch, err);
        }
        array_release(&batch);
        if (st != GREBE_OK) {
            return st;
        }
        progress.rows_done = (uint64_t)*n_rows;
        if (call->progress != NULL) {
            call->progress(call->progress_ctx, &progress);
        }
    }
}

static grebe_status write_format(grebe_context *ctx, const struct file_format *format,
                                 struct ArrowArrayStream *rows, struct io_writer *to,
                                 const struct format_write_options *options, int64_t *n_rows,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct format_writer *w = NULL;
    struct file_summary summary;
    GREBE_TRY(stream_schema(rows, &schema, err));
    GREBE_TRY(format->create(ctx, to, &schema, options, &w, err));
    GREBE_TRY(write_batches(rows, w, &options->call, n_rows, err));
    GREBE_TRY(w->ops->finish(w, &summary, err));
out:
    if (w != NULL) {
        w->ops->free(w);
    }
    schema_release(&schema);
    return st;
}

/* Forms that are printed: the ending, and the form. */
static const struct {
    const char *ending;
    grebe_print_format form;
} printed[] = { { "csv", GREBE_PRINT_CSV },
                { "json", GREBE_PRINT_JSON },
                { "jsonl", GREBE_PRINT_JSONL } };

static const grebe_print_format *printed_form(const char *ending)
{
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        if (strcmp(printed[i].ending, ending) == 0) {
            return &printed[i].form;
        }
    }
    return NULL;
}

struct print_target {
    struct io_writer *to;
    grebe_error err;
};

static int write_printed_bytes(void *write_ctx, const void *bytes, size_t len)
{
    struct print_target *t = write_ctx;
    return io_write(t->to, bytes, len, &t->err) == GREBE_OK ? 0 : 5 /* EIO; t->err tells more */;
}

static grebe_status write_printed(grebe_context *ctx, struct ArrowArrayStream *rows,
                                  struct io_writer *to, grebe_print_format form,
                                  const grebe_call_options *call, int64_t *n_rows,
                                  grebe_error *err)
{
    struct print_target target = { to, GREBE_ERROR_INIT };
    grebe_print_options o = GREBE_PRINT_OPTIONS_INIT;
    o.format = form;
    o.call = call;
    grebe_status st = grebe_print_rows(ctx, rows, &o, write_printed_bytes, &target, n_rows, err);
    if (target.err.status != GREBE_OK) {
        if (err != NULL) {
            *err = target.err;
        }
        return target.err.status;
    }
    return st;
}

grebe_status grebe_write_file(grebe_context *ctx, const char *path, struct ArrowArrayStream *rows,
                              const grebe_write_options *options, bool is_durable, int64_t *n_rows,
                              grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_writer *to = NULL;
    int64_t n = 0;
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && rows != NULL);

    const char *ending = ending_of(path);
    const grebe_print_format *form = printed_form(ending);
    const struct file_format *format = format_of_ending(ctx, ending);
    grebe_write_options given = GREBE_WRITE_OPTIONS_INIT;
    GREBE_TRY(options_copy(&given, sizeof given, options, err));
    struct format_write_options o = format_options(ctx, &given);
    if (given.policy != GREBE_POLICY_DEFAULT || given.file_bytes != 0 || given.n_properties != 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: one file has no policy, file_bytes or properties",
                        path);
        goto out;
    }
    if (form == NULL && format == NULL) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                        "%s: expected a name that ends in .parquet, .arrow, .arrows, .csv, .json or .jsonl, "
                        "found \".%s\"", path, ending);
        goto out;
    }
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_create(store, path, is_durable, &to, err));
    st = form != NULL
             ? write_printed(ctx, rows, to, *form, given.call, &n, err)
             : write_format(ctx, format, rows, to, &o, &n, err);
    if (st == GREBE_OK) {
        st = io_writer_publish(to, true, err);
    }
out:
    stream_release(rows);
    io_writer_free(to);
    io_store_free(store);
    if (n_rows != NULL) {
        *n_rows = st == GREBE_OK ? n : 0;
    }
    return st;
}
