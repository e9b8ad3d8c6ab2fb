/* SPDX-License-Identifier: Apache-2.0 */
/* Text files and streams as sources: CSV, TSV, JSON and JSON lines. */
#include "grebe/source_internal.h"

#include <string.h>

#include "base/ascii.h"
#include "grebe/text_layout.h"
#include "text/text_csv.h"
#include "text/text_json.h"

static const char *const text_formats[] = { "csv", "tsv", "json", "jsonl", "ndjson" };

const char *source_text_format(const char *name)
{
    for (size_t i = 0; i < sizeof text_formats / sizeof text_formats[0]; i++) {
        if (strcmp(text_formats[i], name) == 0) {
            return text_formats[i];
        }
    }
    return NULL;
}

const char *source_text_format_of(const char *path)
{
    static const char *const packed[] = { ".gz", ".zst" };
    const char *base = path_base_name(path);
    size_t len = strlen(base);
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        size_t n = strlen(packed[i]);
        if (len > n && ascii_equal(base + len - n, packed[i])) {
            len -= n;
            break;
        }
    }
    for (size_t i = 0; i < sizeof text_formats / sizeof text_formats[0]; i++) {
        size_t n = strlen(text_formats[i]);
        if (len > n && base[len - n - 1] == '.' &&
            ascii_equal_n(base + len - n, text_formats[i], n)) {
            return text_formats[i];
        }
    }
    return NULL;
}

static struct text_sizes sizes_of(const grebe_text_options *o)
{
    struct text_sizes sizes = { 0 };
    sizes.sample_lines = o->sample_rows > 0 ? (uint64_t)o->sample_rows : 0;
    sizes.is_sample_all = o->sample_rows == 0;
    return sizes;
}

static grebe_status open_text(struct grebe_source *s, struct text_input *in, const char *format,
                              const grebe_source_options *options, grebe_error *err)
{
    grebe_text_options o = GREBE_TEXT_OPTIONS_INIT;
    grebe_status st = text_layout_options(&o, options->text, err);
    if (st != GREBE_OK) {
        return st;
    }
    in->is_latin1 = o.encoding == GREBE_ENCODING_LATIN1;
    in->call = options->call;
    if (strstr(format, "json") != NULL) {
        struct text_json_options json = TEXT_JSON_OPTIONS_INIT;
        json.is_lines = strcmp(format, "json") != 0;
        json.sizes = sizes_of(&o);
        json.schema = o.schema;
        json.is_schema_loose = o.is_schema_loose;
        return text_json_open(s->ctx, in, &json, &s->stream, err);
    }
    struct text_csv_options csv = TEXT_CSV_OPTIONS_INIT;
    struct text_csv_layout layout = TEXT_CSV_LAYOUT_INIT;
    layout.delimiter = strcmp(format, "tsv") == 0 ? '\t' : 0;
    st = text_layout_of(&o, &layout, err);
    if (st == GREBE_OK) {
        st = text_layout_char(o.escape, "escape", &csv.escape, err);
    }
    if (st == GREBE_OK) {
        st = text_layout_char(o.comment, "comment", &csv.comment, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    csv.delimiter = layout.delimiter;
    csv.quote = layout.quote;
    csv.header = (enum text_header)o.header;
    csv.ragged = (enum text_ragged)o.ragged;
    csv.is_decimal_comma = o.is_decimal_comma;
    csv.is_trimmed = o.is_trimmed;
    csv.skip_lines = o.skip_lines;
    csv.nulls = o.nulls;
    csv.n_nulls = o.n_nulls;
    csv.schema = o.schema;
    csv.is_schema_loose = o.is_schema_loose;
    csv.sizes = sizes_of(&o);
    return text_csv_open(s->ctx, in, &csv, &s->stream, err);
}

grebe_status source_text_of_file(struct grebe_source *s, const char *path, const char *format,
                                 const grebe_source_options *o, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = NULL;
    struct io_file *file = NULL;
    struct text_input in = { .name = path };
    GREBE_TRY(io_local_new(s->ctx, &store, err));
    GREBE_TRY(io_open(store, path, &file, err));
    if (file->id.size_bytes == 0) { /* which cannot be mapped */
        GREBE_TRY(region_new(s->ctx->a, 0, &in.map, err));
    } else {
        GREBE_TRY(file->ops->map(file, &in.map, err));
    }
    st = open_text(s, &in, format, o, err);
out:
    region_drop(in.map); /* the stream has its own reference */
    io_close(file);
    io_store_free(store);
    return st;
}

grebe_status source_text_of_callback(struct grebe_source *s, const char *format,
                                     const grebe_source_options *o, grebe_error *err)
{
    struct ipc_source bytes = { 0 };
    grebe_status st = source_callback_bytes(s, o->read, o->read_ctx, &bytes, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct text_input in = { .name = "standard input", .read = bytes.read, .free = bytes.free,
                             .arg = bytes.from };
    st = open_text(s, &in, format, o, err);
    if (st != GREBE_OK) {
        bytes.free(bytes.from);
    }
    return st;
}
