/* SPDX-License-Identifier: Apache-2.0 */
/* The anatomy of a file: as JSON, and as rows, one for each column of a row group (or each batch). */
#include <string.h>

#include "grebe/made_rows.h"
#include "grebe/source_internal.h"
#include "wire/json.h"

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    json_key(w, key);
    json_text(w, text);
}

/* What has no footer: its format and the columns. */
static grebe_status inspect_stream(struct grebe_source *s, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct ArrowSchema schema = { 0 };
    struct json_writer w;
    struct buf fields = BUF_INIT(s->ctx->a);
    GREBE_TRY(grebe_source_schema(s, &schema, err));
    GREBE_TRY(schema_to_json(&fields, &schema, err));
    json_begin(&w, dst, 0, err);
    json_open_object(&w);
    put_text(&w, "format", s->format);
    put_text(&w, "kind", "stream");
    json_key(&w, "schema");
    json_raw(&w, (const char *)fields.data, fields.len);
    json_close_object(&w);
    st = json_end(&w);
out:
    schema_release(&schema);
    buf_release(&fields);
    return st;
}

static grebe_status inspect(grebe_context *ctx, const char *path, const char *format_name,
                            struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_source_options o = GREBE_SOURCE_OPTIONS_INIT;
    struct format_reader *reader = NULL;
    struct io_store *store = NULL;
    struct io_info info;
    grebe_source *source = NULL;
    struct file_hints hints = { 0, 0, false };
    const struct file_format *format = NULL;
    o.format = format_name;
    GREBE_TRY(io_local_new(ctx, &store, err));
    GREBE_TRY(io_stat(store, path, &info, err));
    if (info.kind == IO_FOLDER) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a file, found a folder", path);
        goto out;
    }
    GREBE_TRY(source_format_of(ctx, store, path, format_name, &format, err));
    if (format != NULL) {
        GREBE_TRY(format->open(store, path, &hints, &reader, err));
        st = reader->ops->inspect(reader, dst, err);
        goto out;
    }
    GREBE_TRY(grebe_source_open(ctx, path, &o, &source, err));
    st = inspect_stream(source, dst, err);
out:
    grebe_source_close(source);
    if (reader != NULL) {
        reader->ops->close(reader);
    }
    io_store_free(store);
    return st;
}

grebe_status grebe_file_inspect(grebe_context *ctx, const char *path, const char *format,
                                grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && write != NULL);
    struct buf text = BUF_INIT(ctx->a);
    grebe_status st = inspect(ctx, path, format, &text, err);
    int failed = st == GREBE_OK ? write(write_ctx, text.data, text.len) : 0;
    if (failed != 0) {
        st = GREBE_FAIL_SYS(err, status_from_errno(failed), failed, "cannot write the output");
    }
    buf_release(&text);
    return st;
}

/* ---- as rows ---- */

static const struct made_layout column_layout[] = {
    { "row_group", "l", false },   { "column", "u", false },    { "type", "u", true },
    { "codec", "u", true },        { "encodings", "u", true },  { "values", "l", true },
    { "nulls", "l", true },        { "stored_bytes", "l", true }, { "raw_bytes", "l", true },
    { "pages", "l", true },        { "index", "u", false },     { "min", "u", true },
    { "max", "u", true },
};
static const struct made_layout batch_layout[] = {
    { "batch", "l", false },     { "offset", "l", true },      { "rows", "l", true },
    { "metadata_bytes", "l", true }, { "body_bytes", "l", true }, { "compression", "u", true },
};
static const struct made_layout field_layout[] = {
    { "column", "u", false }, { "type", "u", true },
};

/* Strings as they are, numbers and the rest as they stand in the JSON. */
static grebe_status put_member(struct made_rows *rows, const struct json_value *v, grebe_error *err)
{
    bool is_text = v != NULL && (v->type == JSON_STRING || v->type == JSON_NUMBER);
    if (v != NULL && v->type == JSON_BOOL) {
        return made_text(rows, v->boolean ? "true" : "false", v->boolean ? 4 : 5, err);
    }
    return made_text(rows, is_text ? v->text : NULL, is_text ? v->n : 0, err);
}

static grebe_status put_number(struct made_rows *rows, const struct json_value *v, grebe_error *err)
{
    int64_t n = 0;
    bool is_there = v != NULL && json_i64(v, &n);
    return made_int(rows, n, is_there, err);
}

/* "PLAIN,RLE" */
static grebe_status put_list(struct made_rows *rows, const struct json_value *v, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf text = BUF_INIT(rows->a);
    for (size_t i = 0; v != NULL && v->type == JSON_ARRAY && i < v->n && st == GREBE_OK; i++) {
        st = i > 0 ? buf_put_byte(&text, ',', err) : GREBE_OK;
        st = st == GREBE_OK ? buf_put(&text, v->items[i].text, v->items[i].n, err) : st;
    }
    if (st == GREBE_OK) {
        st = made_text(rows, text.len > 0 ? (const char *)text.data : NULL, text.len, err);
    }
    buf_release(&text);
    return st;
}

static bool is_set(const struct json_value *column, const char *key)
{
    const struct json_value *v = json_get(column, key);
    return v != NULL && v->type == JSON_BOOL && v->boolean;
}

static grebe_status put_index(struct made_rows *rows, const struct json_value *column, grebe_error *err)
{
    char text[32] = "";
    static const char *const keys[][2] = { { "has_offset_index", "offset" },
                                           { "has_column_index", "column" },
                                           { "has_bloom_filter", "bloom" } };
    for (size_t i = 0; i < 3; i++) {
        if (is_set(column, keys[i][0])) {
            strcat(strcat(text, text[0] != '\0' ? "," : ""), keys[i][1]);
        }
    }
    return made_text(rows, text, strlen(text), err);
}

static grebe_status put_column(struct made_rows *rows, int64_t group, const struct json_value *c,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct json_value *statistics = json_get(c, "statistics"), *pages = json_get(c, "pages");
    bool has_pages = pages != NULL && pages->type == JSON_ARRAY;
    GREBE_TRY(made_int(rows, group, true, err));
    GREBE_TRY(put_member(rows, json_get(c, "path"), err));
    GREBE_TRY(put_member(rows, json_get(c, "type"), err));
    GREBE_TRY(put_member(rows, json_get(c, "codec"), err));
    GREBE_TRY(put_list(rows, json_get(c, "encodings"), err));
    GREBE_TRY(put_number(rows, json_get(c, "values"), err));
    GREBE_TRY(put_number(rows, json_get(statistics, "null_count"), err));
    GREBE_TRY(put_number(rows, json_get(c, "stored_bytes"), err));
    GREBE_TRY(put_number(rows, json_get(c, "raw_bytes"), err));
    GREBE_TRY(made_int(rows, has_pages ? (int64_t)pages->n : 0, has_pages, err));
    GREBE_TRY(put_index(rows, c, err));
    GREBE_TRY(put_member(rows, json_get(statistics, "min"), err));
    GREBE_TRY(put_member(rows, json_get(statistics, "max"), err));
out:
    return st;
}

static grebe_status rows_of_groups(struct made_rows *rows, const struct json_value *groups,
                                   grebe_error *err)
{
    for (size_t g = 0; g < groups->n; g++) {
        const struct json_value *columns = json_get(&groups->items[g], "columns");
        for (size_t i = 0; columns != NULL && columns->type == JSON_ARRAY && i < columns->n; i++) {
            grebe_status st = put_column(rows, (int64_t)g, &columns->items[i], err);
            if (st != GREBE_OK) {
                return st;
            }
        }
    }
    return GREBE_OK;
}

static grebe_status rows_of_batches(struct made_rows *rows, const struct json_value *batches,
                                    grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < batches->n; i++) {
        const struct json_value *b = &batches->items[i];
        GREBE_TRY(made_int(rows, (int64_t)i, true, err));
        GREBE_TRY(put_number(rows, json_get(b, "offset"), err));
        GREBE_TRY(put_number(rows, json_get(b, "rows"), err));
        GREBE_TRY(put_number(rows, json_get(b, "metadata_bytes"), err));
        GREBE_TRY(put_number(rows, json_get(b, "body_bytes"), err));
        GREBE_TRY(put_member(rows, json_get(b, "compression"), err));
    }
out:
    return st;
}

static grebe_status rows_of_fields(struct made_rows *rows, const struct json_value *fields,
                                   grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; fields != NULL && fields->type == JSON_ARRAY && i < fields->n; i++) {
        GREBE_TRY(put_member(rows, json_get(&fields->items[i], "name"), err));
        GREBE_TRY(put_member(rows, json_get(&fields->items[i], "type"), err));
    }
out:
    return st;
}

#define LAYOUT(l) l, sizeof l / sizeof *l

grebe_status grebe_file_inspect_rows(grebe_context *ctx, const char *path, const char *format,
                                     struct ArrowArrayStream *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    struct arena arena = ARENA_INIT(ctx->a);
    struct buf text = BUF_INIT(ctx->a);
    struct made_rows rows = { 0 };
    const struct json_value *v = NULL;
    memset(out, 0, sizeof *out);
    GREBE_TRY(inspect(ctx, path, format, &text, err));
    GREBE_TRY(json_parse(&arena, (const char *)text.data, text.len, &v, err));
    const struct json_value *groups = json_get(v, "row_groups"), *batches = json_get(v, "batches");
    if (groups != NULL && groups->type == JSON_ARRAY) {
        GREBE_TRY(made_rows_init(ctx->a, LAYOUT(column_layout), &rows, err));
        GREBE_TRY(rows_of_groups(&rows, groups, err));
    } else if (batches != NULL && batches->type == JSON_ARRAY) {
        GREBE_TRY(made_rows_init(ctx->a, LAYOUT(batch_layout), &rows, err));
        GREBE_TRY(rows_of_batches(&rows, batches, err));
    } else {
        GREBE_TRY(made_rows_init(ctx->a, LAYOUT(field_layout), &rows, err));
        GREBE_TRY(rows_of_fields(&rows, json_get(json_get(v, "schema"), "fields"), err));
    }
    st = made_rows_finish(&rows, out, err);
out:
    made_rows_release(&rows);
    buf_release(&text);
    arena_release(&arena);
    return st;
}
