/* SPDX-License-Identifier: Apache-2.0 */
/* A stream into one file, in the format that its name ends in. */
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
    enum codec_id packed = CODEC_NONE;
    const struct printed *form = printed_form(path, &packed);
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
                        "%s: expected a name that ends in .parquet, .arrow, .arrows, .csv, .tsv, .json or "
                        ".jsonl (text also with .gz or .zst), found \".%s\"", path, ending);
        goto out;
    }
    if (form != NULL) {
        GREBE_TRY(check_text_options(path, &given, err));
    }
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_create(store, path, is_durable, &to, err));
    st = form != NULL
             ? write_printed(ctx, rows, to, form, packed, &given, &n, err)
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
