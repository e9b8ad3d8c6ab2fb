/* SPDX-License-Identifier: Apache-2.0 */
/* A stream into one file, in the format that its name ends in. */
#include "grebe/write_file.h"

#include <string.h>

#include "arrow/arrow_stream.h"
#include "codec/codec_compress.h"
#include "grebe/print.h"
#include "grebe/text_layout.h"
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

/* Forms that are printed: the ending, the form, and what is between fields. */
static const struct printed {
    const char *ending;
    grebe_print_format form;
    const char *delimiter;
} printed[] = { { "csv", GREBE_PRINT_CSV, NULL },
                { "tsv", GREBE_PRINT_CSV, "\t" },
                { "json", GREBE_PRINT_JSON, NULL },
                { "jsonl", GREBE_PRINT_JSONL, NULL },
                { "ndjson", GREBE_PRINT_JSONL, NULL } };

/* The ending before .gz or .zst, which text can have; *packed: the codec that it names. */
static const struct printed *printed_form(const char *path, enum codec_id *packed)
{
    static const struct {
        const char *ending;
        enum codec_id codec;
    } codecs[] = { { ".gz", CODEC_GZIP }, { ".zst", CODEC_ZSTD } };
    const char *base = path_base_name(path);
    size_t len = strlen(base);
    *packed = CODEC_NONE;
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        size_t n = strlen(codecs[i].ending);
        if (len > n && strcmp(base + len - n, codecs[i].ending) == 0) {
            *packed = codecs[i].codec;
            len -= n;
            break;
        }
    }
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        size_t n = strlen(printed[i].ending);
        if (len > n && base[len - n - 1] == '.' &&
            memcmp(base + len - n, printed[i].ending, n) == 0) {
            return &printed[i];
        }
    }
    return NULL;
}

/* Text that waits to be packed: a member or frame of its own, one after another. */
enum { PACK_BYTES = 4 << 20 };

struct print_target {
    struct io_writer *to;
    enum codec_id packed;
    int level;
    struct buf plain, bytes;
    struct codec_workspace workspace;
    grebe_error err;
};

static grebe_status pack(struct print_target *t)
{
    buf_clear(&t->bytes);
    grebe_status st = codec_compress(t->packed, t->level, t->plain.data, t->plain.len, &t->bytes,
                                     &t->workspace, &t->err);
    buf_clear(&t->plain);
    return st == GREBE_OK ? io_write(t->to, t->bytes.data, t->bytes.len, &t->err) : st;
}

static int write_printed_bytes(void *write_ctx, const void *bytes, size_t len)
{
    struct print_target *t = write_ctx;
    grebe_status st = t->packed == CODEC_NONE ? io_write(t->to, bytes, len, &t->err)
                                              : buf_put(&t->plain, bytes, len, &t->err);
    if (st == GREBE_OK && t->plain.len >= PACK_BYTES) {
        st = pack(t);
    }
    return st == GREBE_OK ? 0 : 5 /* EIO; t->err tells more */;
}

static grebe_status write_printed(grebe_context *ctx, struct ArrowArrayStream *rows,
                                  struct io_writer *to, const struct printed *form,
                                  enum codec_id packed, const grebe_write_options *given,
                                  int64_t *n_rows, grebe_error *err)
{
    struct print_target target = { .to = to, .packed = packed, .level = given->compression_level,
                                   .plain = BUF_INIT(ctx->a), .bytes = BUF_INIT(ctx->a),
                                   .workspace = CODEC_WORKSPACE_INIT(ctx->a),
                                   .err = GREBE_ERROR_INIT };
    grebe_print_options o = GREBE_PRINT_OPTIONS_INIT;
    grebe_text_options text = GREBE_TEXT_OPTIONS_INIT;
    grebe_status st = text_layout_options(&text, given->text, err);
    text.delimiter = text.delimiter == NULL ? form->delimiter : text.delimiter;
    o.format = form->form;
    o.call = given->call;
    o.text = &text;
    if (st == GREBE_OK) {
        st = grebe_print_rows(ctx, rows, &o, write_printed_bytes, &target, n_rows, err);
    }
    if (st == GREBE_OK && packed != CODEC_NONE) {
        st = pack(&target);
    }
    if (target.err.status != GREBE_OK) {
        st = target.err.status;
        if (err != NULL) {
            *err = target.err;
        }
    }
    codec_workspace_release(&target.workspace);
    buf_release(&target.plain);
    buf_release(&target.bytes);
    return st;
}

/* Options that would do nothing are no options. */
static grebe_status check_text_options(const char *path, const grebe_write_options *o, grebe_error *err)
{
    if (o->compression != NULL && strcmp(o->compression, "none") != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "%s: text is packed by the ending of its name, .gz or .zst, not by compression \"%.32s\"",
                          path, o->compression);
    }
    if (o->n_encodings > 0 || o->n_bloom_columns > 0 || o->page_bytes != 0 || o->page_rows != 0 ||
        o->data_page_version != 0 || o->is_without_statistics || o->is_without_page_index ||
        o->is_without_checksums) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: options of Parquet files say nothing about text", path);
    }
    return GREBE_OK;
}

/* How a file of that name is written. */
struct writing {
    grebe_write_options given;
    const struct printed *form; /* NULL: of format */
    const struct file_format *format;
    enum codec_id packed;
};

static grebe_status choose(const grebe_context *ctx, const char *path, const grebe_write_options *options, struct writing *out,
                           grebe_error *err)
{
    const char *ending = ending_of(path);
    *out = (struct writing){ .given = GREBE_WRITE_OPTIONS_INIT, .format = format_of_ending(ctx, ending) };
    out->form = printed_form(path, &out->packed);
    grebe_status st = options_copy(&out->given, sizeof out->given, options, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (out->given.policy != GREBE_POLICY_DEFAULT || out->given.file_bytes != 0 || out->given.n_properties != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: one file has no policy, file_bytes or properties", path);
    }
    if (out->form == NULL && out->format == NULL) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                          "%s: expected a name that ends in .parquet, .arrow, .arrows, .csv, .tsv, .json or "
                          ".jsonl (text also with .gz or .zst), found \".%s\"", path, ending);
    }
    return out->form != NULL ? check_text_options(path, &out->given, err) : GREBE_OK;
}

static grebe_status write_as(grebe_context *ctx, const struct writing *x, struct ArrowArrayStream *rows, struct io_writer *to,
                             int64_t *n, grebe_error *err)
{
    if (x->form != NULL) {
        return write_printed(ctx, rows, to, x->form, x->packed, &x->given, n, err);
    }
    const struct format_write_options o = format_options(ctx, &x->given);
    return write_format(ctx, x->format, rows, to, &o, n, err);
}

grebe_status write_file_rows(grebe_context *ctx, struct io_writer *to, struct ArrowArrayStream *rows,
                             const grebe_write_options *options, int64_t *n_rows, grebe_error *err)
{
    struct writing x;
    int64_t n = 0;
    grebe_status st = choose(ctx, to->path, options, &x, err);
    st = st == GREBE_OK ? write_as(ctx, &x, rows, to, &n, err) : st;
    stream_release(rows);
    if (n_rows != NULL) {
        *n_rows = st == GREBE_OK ? n : 0;
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
    struct writing x;
    int64_t n = 0;
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && rows != NULL);
    GREBE_TRY(choose(ctx, path, options, &x, err));
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_create(store, path, is_durable, &to, err));
    GREBE_TRY(write_as(ctx, &x, rows, to, &n, err));
    GREBE_TRY(io_writer_publish(to, true, err));
out:
    stream_release(rows);
    io_writer_free(to);
    io_store_free(store);
    if (n_rows != NULL) {
        *n_rows = st == GREBE_OK ? n : 0;
    }
    return st;
}
