/* SPDX-License-Identifier: Apache-2.0 */
#include "table/packed.h"

#include <inttypes.h>
#include <stdio.h>

#include "table/txn_internal.h"

struct packed_file {
    int *columns; /* into the schema of the rows, shape [n_columns] */
    size_t n_columns;
    struct ArrowSchema schema;
    struct io_writer *to;
    struct format_writer *writer;
};

struct packed_writer {
    grebe_context *ctx;
    struct io_store *store;
    struct call call;
    struct ArrowSchema schema;
    struct packed_file *files; /* shape [n_files] */
    size_t n_files;
    struct buf group_list; /* value of group_field_id_list */
    const struct ArrowArray *rows;
};

static void writer_release(struct packed_writer *w)
{
    const grebe_allocator *a = w->ctx->a;
    for (size_t i = 0; w->files != NULL && i < w->n_files; i++) {
        struct packed_file *f = &w->files[i];
        if (f->writer != NULL) {
            f->writer->ops->free(f->writer);
        }
        io_writer_free(f->to);
        schema_release(&f->schema);
        mem_free(a, f->columns, (size_t)w->schema.n_children * sizeof *f->columns);
    }
    mem_free(a, w->files, w->n_files * sizeof *w->files);
    schema_release(&w->schema);
    buf_release(&w->group_list);
    io_store_free(w->store);
}

/* Every field has a number of its own. */
static grebe_status check_numbers(const struct ArrowSchema *schema, grebe_error *err)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        int64_t id = 0;
        int64_t other = 0;
        const struct ArrowSchema *field = schema->children[i];
        if (!packed_field_id(field, &id)) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": expected a number in %s",
                              field->name, PACKED_FIELD_ID);
        }
        for (int64_t k = 0; k < i; k++) {
            if (packed_field_id(schema->children[k], &other) && other == id) {
                return GREBE_FAIL(err, GREBE_ESCHEMA, "columns \"%.64s\" and \"%.64s\" have number %"
                                  PRId64, schema->children[k]->name, field->name, id);
            }
        }
    }
    return schema->n_children > 0 ? GREBE_OK
                                  : GREBE_FAIL(err, GREBE_ESCHEMA, "expected columns, found none");
}

static grebe_status plan_files(struct packed_writer *w, const grebe_group_spec *groups,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n = (size_t)w->schema.n_children;
    const grebe_allocator *a = w->ctx->a;
    int *group_of = mem_alloc_zero(a, n * sizeof *group_of);
    const char **formats = mem_alloc_zero(a, n * sizeof *formats);
    grebe_write_options o = GREBE_WRITE_OPTIONS_INIT;
    size_t n_groups = 0;
    if (group_of == NULL || formats == NULL) {
        st = mem_fail(err, n * sizeof *formats, "column groups");
        goto out;
    }
    o.is_single_group = true;
    o.groups = groups;
    o.n_groups = groups == NULL ? 0 : w->n_files;
    GREBE_TRY(group_columns(a, &w->schema, NULL, &o, group_of, formats, &n_groups, err));
    if (n_groups != w->n_files) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "packed files: %zu paths for %zu groups of columns%s",
                        w->n_files, n_groups,
                        groups != NULL ? ": every column belongs to one of them" : "");
        goto out;
    }
    for (size_t g = 0; g < w->n_files; g++) {
        w->files[g].columns = mem_alloc_zero(a, n * sizeof(int));
        if (w->files[g].columns == NULL) {
            st = mem_fail(err, n * sizeof(int), "columns");
            goto out;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct packed_file *f = &w->files[group_of[i]];
        f->columns[f->n_columns++] = (int)i;
    }
    for (size_t g = 0; g < w->n_files; g++) {
        struct packed_file *f = &w->files[g];
        GREBE_TRY(schema_project(a, &w->schema, f->columns, f->n_columns, &f->schema, err));
        for (size_t c = 0; c < f->n_columns; c++) {
            int64_t id = 0;
            bool has_number = packed_field_id(f->schema.children[c], &id);
            GREBE_TRY(buf_printf(&w->group_list, err, "%s%" PRId64, c > 0 ? "," : g > 0 ? ";" : "",
                                 has_number ? id : -1));
        }
    }
out:
    mem_free(a, group_of, n * sizeof *group_of);
    mem_free(a, formats, n * sizeof *formats);
    return st;
}

static grebe_status open_files(struct packed_writer *w, const char *const *paths,
                               const grebe_write_options *options, bool is_durable,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct file_format *format = NULL;
    const char *list = buf_text(&w->group_list);
    struct key_value pair = { "group_field_id_list", strlen("group_field_id_list"), list,
                              w->group_list.len };
    struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;
    if (list == NULL) {
        return mem_fail(err, w->group_list.len, "a list of groups");
    }
    o.compression = options->compression;
    o.compression_level = options->compression_level;
    o.row_group_bytes = options->row_group_bytes;
    o.row_group_rows = options->row_group_rows;
    o.expected_rows = options->expected_rows;
    o.is_profile_milvus = true;
    o.metadata = &pair;
    o.n_metadata = 1;
    o.call = w->call;
    o.call.progress = NULL;
    GREBE_TRY(format_find(w->ctx, "parquet", &format, err));
    for (size_t g = 0; g < w->n_files; g++) {
        struct packed_file *f = &w->files[g];
        GREBE_TRY(io_create(w->store, paths[g], is_durable, &f->to, err));
        GREBE_TRY(format->create(w->ctx, f->to, &f->schema, &o, &f->writer, err));
    }
out:
    return st;
}

static void release_view(struct ArrowArray *view) { view->release = NULL; }

static grebe_status write_file(void *arg, size_t g, grebe_error *err)
{
    struct packed_writer *w = arg;
    struct packed_file *f = &w->files[g];
    const grebe_allocator *a = w->ctx->a;
    const void *buffers[1] = { NULL };
    struct ArrowArray **children = mem_alloc(a, f->n_columns * sizeof *children);
    if (children == NULL) {
        return mem_fail(err, f->n_columns * sizeof *children, "a batch");
    }
    for (size_t i = 0; i < f->n_columns; i++) {
        children[i] = w->rows->children[f->columns[i]];
    }
    struct ArrowArray view = {
        .length = w->rows->length,
        .n_buffers = 1,
        .n_children = (int64_t)f->n_columns,
        .buffers = buffers,
        .children = children,
        .release = release_view,
    };
    grebe_status st = f->writer->ops->write(f->writer, &view, err);
    mem_free(a, children, f->n_columns * sizeof *children);
    return st;
}

static grebe_status finish_file(void *arg, size_t g, grebe_error *err)
{
    struct file_summary summary;
    struct packed_file *f = &((struct packed_writer *)arg)->files[g];
    return f->writer->ops->finish(f->writer, &summary, err);
}

static grebe_status for_files(struct packed_writer *w, pool_fn fn, grebe_error *err)
{
    return parallel_for(w->call.threads > 1 ? w->ctx->pool : NULL, w->call.threads, w->n_files, fn,
                        w, w->call.cancel, err);
}

static grebe_status write_stream(struct packed_writer *w, struct ArrowArrayStream *rows,
                                 int64_t *n_rows, grebe_error *err)
{
    grebe_progress progress = { .phase = "write" };
    for (;;) {
        struct ArrowArray batch = { 0 };
        struct ArrowArray fit = { 0 };
        grebe_status st = call_check(&w->call, err);
        if (st == GREBE_OK) {
            st = stream_next(rows, &batch, err);
        }
        if (st != GREBE_OK) {
            return st == GREBE_END ? for_files(w, finish_file, err) : st;
        }
        st = array_import_rows(w->ctx->a, &w->schema, &batch, &fit, err);
        if (st == GREBE_OK && fit.length > 0) {
            w->rows = &fit;
            st = for_files(w, write_file, err);
            w->rows = NULL;
            *n_rows += fit.length;
        }
        array_release(&fit);
        array_release(&batch);
        if (st != GREBE_OK) {
            return st;
        }
        progress.rows_done = (uint64_t)*n_rows;
        if (w->call.progress != NULL) {
            w->call.progress(w->call.progress_ctx, &progress);
        }
    }
}

grebe_status grebe_packed_write(grebe_context *ctx, const char *const *paths, size_t n_paths,
                                struct ArrowArrayStream *rows, const grebe_group_spec *groups,
                                const grebe_write_options *options, bool is_durable,
                                int64_t *n_rows, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && paths != NULL && n_paths > 0 && rows != NULL &&
                             rows->release != NULL);
    grebe_status st = GREBE_OK;
    int64_t n = 0;
    grebe_write_options o = GREBE_WRITE_OPTIONS_INIT;
    struct packed_writer w = { .ctx = ctx, .n_files = n_paths, .group_list = BUF_INIT(ctx->a) };
    w.files = mem_alloc_zero(ctx->a, n_paths * sizeof *w.files);
    if (w.files == NULL) {
        st = mem_fail(err, n_paths * sizeof *w.files, "files");
        goto out;
    }
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    w.call = call_options_resolve(ctx, o.call);
    GREBE_TRY(io_local_new(ctx, &w.store, err));
    GREBE_TRY(stream_schema(rows, &w.schema, err));
    GREBE_TRY(schema_check(&w.schema, err));
    GREBE_TRY(check_numbers(&w.schema, err));
    GREBE_TRY(plan_files(&w, groups, err));
    GREBE_TRY(open_files(&w, paths, &o, is_durable, err));
    GREBE_TRY(write_stream(&w, rows, &n, err));
    for (size_t g = 0; g < n_paths; g++) {
        GREBE_TRY(io_writer_publish(w.files[g].to, true, err));
    }
out:
    writer_release(&w);
    stream_release(rows);
    if (n_rows != NULL) {
        *n_rows = st == GREBE_OK ? n : 0;
    }
    return st;
}
