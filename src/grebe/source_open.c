/* SPDX-License-Identifier: Apache-2.0 */
/* What a name is: a table, a file of a format known by its content, or a stream. */
#include "grebe/source_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arrow/ipc.h"
#include "grebe/source_dataset.h"
#include "grebe/source_graph.h"
#include "grebe/source_many.h"
#include "grebe/source_vdb.h"
#include "ipc/ipc_format.h"

enum { SNIFF_BYTES = 64 };

/* The format that the ending of the name stands for; NULL: none. */
static const struct file_format *format_of_name(const grebe_context *ctx, const char *path)
{
    const char *dot = strrchr(path_base_name(path), '.');
    const struct file_format *const *formats = ctx->registry->formats;
    for (size_t i = 0; dot != NULL && formats[i] != NULL; i++) {
        for (size_t j = 0; formats[i]->extensions[j] != NULL; j++) {
            if (strcmp(formats[i]->extensions[j], dot + 1) == 0) {
                return formats[i];
            }
        }
    }
    return NULL;
}

/* Length of FILE in "FILE#PART"; 0: the path is no such name. */
static size_t part_file_len(struct io_store *store, const char *path)
{
    struct io_info info;
    char file[1024];
    const char *hash = strrchr(path, '#');
    size_t n = hash == NULL ? 0 : (size_t)(hash - path);
    if (n == 0 || n >= sizeof file || io_stat(store, path, &info, NULL) == GREBE_OK) {
        return 0;
    }
    memcpy(file, path, n);
    file[n] = '\0';
    return io_stat(store, file, &info, NULL) == GREBE_OK && info.kind == IO_FILE ? n : 0;
}

/*
 * The format whose signature the file bears, else that of its name, so that what is damaged beyond
 * recognition is reported as such; NULL: none.
 */
static grebe_status sniff(struct io_store *store, const char *path, const struct file_format **out,
                          bool *is_ipc, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_file *f = NULL;
    unsigned char head[SNIFF_BYTES], tail[SNIFF_BYTES];
    char file[1024];
    size_t len = part_file_len(store, path);
    *out = NULL;
    *is_ipc = false;
    if (len > 0) {
        memcpy(file, path, len);
        file[len] = '\0';
        path = file;
    }
    GREBE_TRY(io_open(store, path, &f, err));
    uint64_t size = f->id.size_bytes;
    size_t n = size < SNIFF_BYTES ? (size_t)size : SNIFF_BYTES;
    GREBE_TRY(io_read(f, 0, head, n, err));
    GREBE_TRY(io_read(f, size - n, tail, n, err));
    const struct file_format *const *formats = store->ctx->registry->formats;
    for (size_t i = 0; formats[i] != NULL && *out == NULL; i++) {
        if (formats[i]->sniff(head, n, tail, n)) {
            *out = formats[i];
        }
    }
    const struct file_format *named = *out == NULL ? format_of_name(store->ctx, path) : NULL;
    *is_ipc = *out == NULL && !(named != NULL && named->is_known_by_name) && ipc_sniff(head, n);
    if (*out == NULL && !*is_ipc) {
        *out = named;
    }
out:
    io_close(f);
    return st;
}

static grebe_status unknown_content(const grebe_context *ctx, const char *path, grebe_error *err)
{
    char known[160];
    size_t len = 0;
    known[0] = '\0';
    for (size_t i = 0; ctx->registry->formats[i] != NULL && len < sizeof known - 32; i++) {
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", i == 0 ? "" : ", ",
                                ctx->registry->formats[i]->name);
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                      "%s: expected a file of a known format (%s), or a name that ends in .csv, .tsv, .json "
                      "or .jsonl, found other content (csv:PATH says what a file is)", path, known);
}

const char *source_forced_format(const grebe_context *ctx, const char *uri, char *name,
                                 size_t name_len)
{
    size_t n = strcspn(uri, ":/");
    if (uri[n] != ':' || n == 0 || n >= name_len || strncmp(uri + n, "://", 3) == 0) {
        return NULL;
    }
    memcpy(name, uri, n);
    name[n] = '\0';
    const struct file_format *ignored = NULL;
    bool is_known = strcmp(name, "arrow") == 0 || source_text_format(name) != NULL ||
                    format_find(ctx, name, &ignored, NULL) == GREBE_OK;
    return is_known ? uri + n + 1 : NULL;
}

/* A file with two columns of one name, which no table has, as a stream. */
static grebe_status open_as_stream(struct grebe_source *s, struct io_store *store, const char *path,
                                   const struct file_format *format,
                                   const grebe_source_options *o, grebe_error *err)
{
    struct format_reader *reader = NULL;
    struct file_hints hints = { 0, 0, o->is_int96_us };
    grebe_status st = format->open(store, path, &hints, &reader, err);
    if (st == GREBE_OK) {
        reader->skip_checksums = o->table != NULL && o->table->skip_checksums;
        st = source_stream_of_reader(s, reader, err);
        if (st != GREBE_OK) {
            reader->ops->close(reader);
        }
    }
    s->kind = GREBE_SOURCE_STREAM;
    s->file_format = NULL;
    return st;
}

/* What has random access: a file of a format, a part of a graph. */
static grebe_status open_rows_file(struct grebe_source *s, struct table_store *store, const char *path,
                                   const struct file_format *format, const grebe_source_options *o, grebe_error *err)
{
    s->kind = GREBE_SOURCE_FILE;
    s->format = format->name;
    s->file_format = format;
    struct buf part = BUF_INIT(s->ctx->a);
    grebe_status st = buf_put_text(&s->path, path, err);
    if (st == GREBE_OK && format == &graph_part_format) {
        st = source_graph_path(store->store, path, &part, err);
        path = (const char *)part.data;
    }
    st = st == GREBE_OK ? table_of_files(store, &path, 1, format, o->is_int96_us, &s->table, err) : st;
    if (st == GREBE_EINVAL) {
        st = open_as_stream(s, store->store, path, format, o, err);
    } else if (st == GREBE_OK) {
        s->table->skip_checksums = o->table->skip_checksums;
    }
    buf_release(&part);
    return st;
}

static grebe_status open_file(struct grebe_source *s, struct table_store *store, const char *path,
                              const char *format_name, const grebe_source_options *o,
                              grebe_error *err)
{
    const struct file_format *format = NULL;
    const char *text = format_name != NULL ? source_text_format(format_name) : NULL;
    bool is_ipc = false;
    grebe_status st = GREBE_OK;
    if (format_name != NULL && strcmp(format_name, "arrow") == 0) {
        GREBE_TRY(sniff(store->store, path, &format, &is_ipc, err));
        is_ipc = format != &ipc_format;
    } else if (format_name != NULL && text == NULL) {
        GREBE_TRY(format_find(s->ctx, format_name, &format, err));
    } else if (text == NULL) {
        GREBE_TRY(sniff(store->store, path, &format, &is_ipc, err));
        text = format == NULL && !is_ipc ? source_text_format_of(path) : NULL;
    }
    if (text != NULL) {
        s->kind = GREBE_SOURCE_STREAM;
        s->format = text;
        st = source_text_of_file(s, path, text, o, err);
        goto out;
    }
    if (is_ipc) {
        s->kind = GREBE_SOURCE_STREAM;
        s->format = "arrow";
        st = source_stream_of_file(s, store->store, path, err);
        goto out;
    }
    if (format == NULL) {
        st = unknown_content(s->ctx, path, err);
        goto out;
    }
    st = open_rows_file(s, store, path, format, o, err);
out:
    return st;
}

/* A collection is read in order, as often as one likes. */
static grebe_status open_collection(struct grebe_source *s, const char *uri, const char *name, grebe_error *err)
{
    if (name == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "gitvdb:%s: expected REPOSITORY#COLLECTION, found no '#'", uri);
    }
    s->kind = GREBE_SOURCE_STREAM;
    s->format = "gitvdb";
    return source_vdb_open(s->ctx, uri, name, &s->vdb, err);
}

/* A saved data set is read in order, as often as one likes. */
static grebe_status open_dataset(struct grebe_source *s, struct io_store *store, const char *uri, grebe_error *err)
{
    s->kind = GREBE_SOURCE_STREAM;
    s->format = "dataset";
    return source_dataset_open(s->ctx, store, uri, &s->dataset, err);
}

static grebe_status open_any(struct grebe_source *s, struct table_store *store, const char *uri,
                             const grebe_source_options *options, grebe_error *err)
{
    char name[32];
    struct io_info info;
    const char *path = NULL;
    const char *format = options->format;
    grebe_table_open_options t = GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_source_options with_table = *options, *o = &with_table;
    grebe_status st =
        options->table == NULL ? GREBE_OK : options_copy(&t, sizeof t, options->table, err);
    o->table = &t;
    if (st != GREBE_OK) {
        return st;
    }
    if (uri[0] == '\0') {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected a path, found an empty text");
    }
    if (strcmp(uri, "-") == 0) {
        if (o->read == NULL) {
            return GREBE_FAIL(err, GREBE_EINVAL, "\"-\" is standard input, and there is none here");
        }
        const char *text = format != NULL ? source_text_format(format) : NULL;
        if (format != NULL && text == NULL && strcmp(format, "arrow") != 0) {
            return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                              "standard input: expected format arrow, csv, tsv, json or jsonl, found "
                              "\"%s\": other formats are read from files", format);
        }
        s->kind = GREBE_SOURCE_STREAM;
        if (text != NULL) {
            s->format = text;
            return source_text_of_callback(s, text, o, err);
        }
        s->format = "arrow";
        return source_stream_of_callback(s, o->read, o->read_ctx, err);
    }
    if (format == NULL && io_stat(store->store, uri, &info, NULL) != GREBE_OK) {
        const char *packed = source_packed_paths(uri);
        const char *forced = strncmp(uri, "gitvdb:", 7) == 0 ? uri + 7 : NULL;
        const char *collection = source_vdb_name(store->store, forced != NULL ? forced : uri, forced != NULL);
        if (collection == NULL && forced == NULL && part_file_len(store->store, uri) > 0) {
            return open_file(s, store, uri, NULL, o, err);
        }
        if (collection != NULL || forced != NULL) {
            return open_collection(s, forced != NULL ? forced : uri, collection, err);
        }
        if (source_is_dataset(store->store, uri)) {
            return open_dataset(s, store->store, uri, err);
        }
        if (source_graph_part(store->store, uri) != NULL) {
            return open_rows_file(s, store, uri, &graph_part_format, o, err);
        }
        const char *rest = source_forced_format(s->ctx, uri, name, sizeof name);
        if (packed != NULL) {
            return source_packed_open(s, store->store, packed, err);
        }
        if (rest != NULL) {
            return open_file(s, store, rest, name, o, err);
        }
    }
    st = table_uri_path(uri, &path, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (format != NULL) {
        return open_file(s, store, path, format, o, err);
    }
    bool is_there = io_stat(store->store, path, &info, NULL) == GREBE_OK;
    if (is_there && info.kind != IO_FOLDER) {
        return open_file(s, store, path, NULL, o, err);
    }
    if (is_there && source_is_dataset(store->store, path)) {
        return open_dataset(s, store->store, path, err);
    }
    if (is_there && source_is_graph(store->store, path)) {
        return open_rows_file(s, store, path, &graph_part_format, o, err);
    }
    if (!is_there && strchr(path, '@') == NULL) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no such file or folder", path);
    }
    s->kind = GREBE_SOURCE_TABLE;
    s->format = "table";
    return grebe_table_open(s->ctx, uri, options->table, &s->table, err);
}

grebe_status source_open_one(grebe_context *ctx, const char *uri,
                             const grebe_source_options *options, grebe_source **out,
                             grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct table_store *store = NULL;
    *out = NULL;
    struct grebe_source *s = mem_alloc_zero(ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, uri);
    }
    s->ctx = ctx;
    s->path = BUF_INIT(ctx->a);
    GREBE_TRY(table_store_open(ctx, 0, &store, err));
    GREBE_TRY(open_any(s, store, uri, options, err));
    *out = s;
    s = NULL;
out:
    table_store_drop(store);
    grebe_source_close(s);
    return st;
}

grebe_status grebe_source_open(grebe_context *ctx, const char *uri,
                               const grebe_source_options *options, grebe_source **out,
                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && uri != NULL && out != NULL);
    return grebe_source_open_many(ctx, &uri, 1, options, out, err);
}

void grebe_source_close(grebe_source *source)
{
    if (source != NULL) {
        stream_release(&source->stream);
        source_vdb_close(source->vdb);
        source_dataset_close(source->dataset);
        source_many_drop(source->many);
        grebe_table_close(source->table);
        buf_release(&source->path);
        mem_free(source->ctx->a, source, sizeof *source);
    }
}

grebe_source_kind grebe_source_kind_of(const grebe_source *source) { return source->kind; }

const char *grebe_source_format(const grebe_source *source) { return source->format; }

bool grebe_source_is_text(const grebe_source *source)
{
    return source_text_format(source->format) != NULL;
}

const grebe_table *grebe_source_table(const grebe_source *source) { return source->table; }

int64_t grebe_source_num_rows(const grebe_source *source)
{
    return source->table != NULL  ? grebe_table_num_rows(source->table)
           : source->many != NULL ? source_many_rows(source->many)
           : source->vdb != NULL  ? source_vdb_rows(source->vdb)
           : source->dataset != NULL ? source_dataset_rows(source->dataset)
                                  : -1;
}

grebe_status grebe_source_schema(grebe_source *source, struct ArrowSchema *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, source != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    return source->table != NULL  ? grebe_table_schema(source->table, out, err)
           : source->many != NULL ? schema_copy(source->ctx->a, &source->many->schema, out, err)
           : source->vdb != NULL  ? source_vdb_schema(source->vdb, out, err)
           : source->dataset != NULL ? source_dataset_schema(source->dataset, out, err)
                                  : source_stream_schema(source, out, err);
}

grebe_status grebe_source_scan(grebe_source *source, const grebe_scan_options *options,
                               struct ArrowArrayStream *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, source != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    return source->table != NULL  ? grebe_table_scan(source->table, options, out, err)
           : source->many != NULL ? source_many_scan(source->many, options, out, err)
           : source->vdb != NULL  ? source_vdb_scan(source->vdb, options, out, err)
           : source->dataset != NULL ? source_dataset_scan(source->dataset, options, out, err)
                                  : source_stream_scan(source, options, out, err);
}

grebe_status grebe_source_take(grebe_source *source, const int64_t *row_ids, size_t n,
                               const grebe_take_options *options, struct ArrowArray *out,
                               struct ArrowSchema *out_schema, grebe_error *err)
{
    GREBE_CHECK_ARG(err, source != NULL && out != NULL);
    memset(out, 0, sizeof *out);
    if (source->table != NULL) {
        return grebe_table_take(source->table, row_ids, n, options, out, out_schema, err);
    }
    GREBE_CHECK_ARG(err, n == 0 || row_ids != NULL);
    if (source->many != NULL && source_many_rows(source->many) >= 0 &&
        (options == NULL || !options->with_row_id)) {
        return source_many_take(source->many, row_ids, n, options, out, out_schema, err);
    }
    return source_take_from_scan(source, row_ids, n, options, out, out_schema, err);
}

grebe_status grebe_source_count(grebe_source *source, const grebe_scan_options *options,
                                int64_t *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, source != NULL && out != NULL);
    *out = 0;
    if (source->table != NULL) {
        return grebe_table_count(source->table, options, out, err);
    }
    grebe_status st = GREBE_OK;
    static const char *const nothing[1] = { NULL };
    struct ArrowArrayStream rows = { 0 };
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    if (options != NULL) {
        GREBE_TRY(options_copy(&o, sizeof o, options, err));
    }
    o.limit = -1; /* as for tables: what is counted does not depend on it */
    o.columns = NULL;
    o.n_columns = 0;
    if (source->many != NULL) { /* whose parts need not give what nobody looks at */
        o.columns = nothing;
    }
    if (o.where == NULL && o.row_begin == 0 && o.row_end == INT64_MAX &&
        grebe_source_num_rows(source) >= 0) {
        *out = grebe_source_num_rows(source);
        goto out;
    }
    GREBE_TRY(grebe_source_scan(source, &o, &rows, err));
    for (;;) {
        struct ArrowArray batch = { 0 };
        st = stream_next(&rows, &batch, err);
        if (st != GREBE_OK) {
            break;
        }
        *out += batch.length;
        array_release(&batch);
    }
    st = st == GREBE_END ? GREBE_OK : st;
out:
    stream_release(&rows);
    return st;
}

grebe_status source_format_of(grebe_context *ctx, struct io_store *store, const char *path,
                              const char *format_name, const struct file_format **out,
                              grebe_error *err)
{
    bool is_ipc = false;
    *out = NULL;
    bool is_arrow = format_name != NULL && strcmp(format_name, "arrow") == 0;
    if (format_name == NULL || is_arrow) {
        return sniff(store, path, out, &is_ipc, err);
    }
    return source_text_format(format_name) != NULL ? GREBE_OK
                                                   : format_find(ctx, format_name, out, err);
}
