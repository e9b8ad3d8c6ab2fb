/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "arrow/rows_fit.h"
#include "base/checked.h"
#include "base/pool.h"

/* Files of a group: the one being written, and those that are finished. */
struct stage_file {
    struct ArrowSchema schema; /* of the files: stored names */
    const char *path;          /* in the transaction's arena; NULL: not begun */
    const char *name;          /* the part behind the last '/' */
    struct io_writer *to;
    struct format_writer *writer; /* NULL: the next rows begin a file */
    int64_t memory_bytes;      /* of the rows written to it */
    bool is_full;              /* no more rows: to be finished */
    struct file_summary summary;
    struct op_list done;       /* struct manifest_file, in the order of the rows */
    int64_t n_rows;            /* of those */
    uint64_t n_bytes;
};

struct stage_run {
    const struct stage *s;
    struct stage_file *files; /* shape [n_groups] */
    const struct ArrowArray *rows;
    int64_t n_rows;
    const char *folder; /* of the files, made; in the arena of the transaction */
};

static void release_view(struct ArrowArray *view) { view->release = NULL; }

/* The group's columns of the batch, borrowed. */
static grebe_status write_group(void *arg, size_t g, grebe_error *err)
{
    struct stage_run *run = arg;
    const struct stage_group *group = &run->s->groups[g];
    const grebe_allocator *a = run->s->txn->ctx->a;
    if (group->n_columns == 0) {
        return GREBE_OK;
    }
    struct ArrowArray **children = mem_alloc(a, group->n_columns * sizeof *children);
    if (children == NULL) {
        return mem_fail(err, group->n_columns * sizeof *children, "a batch");
    }
    for (size_t i = 0; i < group->n_columns; i++) {
        children[i] = run->rows->children[group->columns[i]];
    }
    const void *buffers[1] = { NULL };
    struct ArrowArray view = {
        .length = run->rows->length,
        .n_buffers = 1,
        .n_children = (int64_t)group->n_columns,
        .buffers = buffers,
        .children = children,
        .release = release_view,
    };
    struct format_writer *w = run->files[g].writer;
    grebe_status st = w->ops->write(w, &view, err);
    mem_free(a, children, group->n_columns * sizeof *children);
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", run->files[g].path);
}

static grebe_status finish_group(void *arg, size_t g, grebe_error *err)
{
    struct stage_run *run = arg;
    struct stage_file *f = &run->files[g];
    if (f->writer == NULL || !f->is_full) {
        return GREBE_OK;
    }
    grebe_status st = f->writer->ops->finish(f->writer, &f->summary, err);
    if (st == GREBE_OK) {
        st = io_writer_publish(f->to, false, err);
    }
    if (st == GREBE_EUNKNOWN_OUTCOME) { /* of a commit; this file is in no version yet */
        st = GREBE_EIO;
        if (err != NULL) {
            err->status = st;
        }
    }
    return st == GREBE_OK ? st : error_wrap(err, st, "%s", f->path);
}

static grebe_status for_groups(struct stage_run *run, pool_fn fn, grebe_error *err)
{
    const struct stage *s = run->s;
    return parallel_for(s->call.threads > 1 ? s->txn->ctx->pool : NULL, s->call.threads,
                        s->n_groups, fn, run, s->call.cancel, err);
}

static grebe_status file_schema(const struct stage *s, const struct stage_group *group,
                                struct ArrowSchema *out, grebe_error *err)
{
    const grebe_allocator *a = s->txn->ctx->a;
    grebe_status st = schema_project(a, &s->schema, group->columns, group->n_columns, out, err);
    for (size_t i = 0; i < group->n_columns && st == GREBE_OK; i++) {
        const char *stored = s->stored[group->columns[i]];
        if (strcmp(out->children[i]->name, stored) != 0) {
            st = schema_set_name(a, out->children[i], stored, err);
        }
    }
    return st;
}

/* "_data/<g>_<uuid>.<format>", in the arena; recorded so that a failure removes it. */
static grebe_status name_file(struct grebe_txn *x, const struct stage_group *group,
                              struct stage_file *f, grebe_error *err)
{
    char uuid[37];
    struct buf path = BUF_INIT(x->ctx->a);
    grebe_status st = context_uuid(x->ctx, uuid, err);
    if (st == GREBE_OK) {
        st = path_join(&path, x->base->path, "_data/", err);
    }
    if (st == GREBE_OK) {
        st = buf_printf(&path, err, "%zu_%s.%s", group->number, uuid, group->format);
    }
    const char **slot = st == GREBE_OK ? op_push(&x->arena, &x->files, sizeof *slot) : NULL;
    if (st == GREBE_OK && (slot == NULL || buf_text(&path) == NULL)) {
        st = mem_fail(err, path.len, "a path");
    }
    if (st == GREBE_OK) {
        f->path = arena_str(&x->arena, buf_text(&path), path.len);
        st = f->path == NULL ? mem_fail(err, path.len, "a path") : GREBE_OK;
    }
    if (st == GREBE_OK) {
        *slot = f->path;
        f->name = path_base_name(f->path);
    } else if (slot != NULL) {
        x->files.n--;
    }
    buf_release(&path);
    return st;
}

/* Whether the name is a column, or a path below one. */
static bool is_column(const struct stage *s, const char *name)
{
    for (int64_t i = 0; i < s->schema.n_children; i++) {
        const char *column = s->schema.children[i]->name;
        const size_t len = strlen(column);
        if (strncmp(name, column, len) == 0 && (name[len] == '\0' || name[len] == '.')) {
            return true;
        }
    }
    return false;
}

static grebe_status check_named_columns(const struct stage *s, grebe_error *err)
{
    const grebe_write_options *o = s->options;
    const char *missing = NULL;
    char quoted[80];
    for (size_t i = 0; i < o->n_encodings; i++) {
        const char *name = o->encodings[i].column;
        missing = name != NULL && !is_column(s, name) ? name : missing;
    }
    for (size_t i = 0; i < o->n_bloom_columns; i++) {
        missing = is_column(s, o->bloom_columns[i]) ? missing : o->bloom_columns[i];
    }
    return missing == NULL
               ? GREBE_OK
               : GREBE_FAIL(err, GREBE_EINVAL, "encodings and bloom filters: no column \"%s\"",
                            error_quote(quoted, sizeof quoted, missing, strlen(missing)));
}

static grebe_status make_folder(struct stage_run *run, grebe_error *err)
{
    struct grebe_txn *x = run->s->txn;
    struct buf path = BUF_INIT(x->ctx->a);
    grebe_status st = path_join(&path, x->base->path, "_data", err);
    const char *folder = buf_text(&path) == NULL ? NULL : txn_name(x, buf_text(&path));
    if (st == GREBE_OK && folder == NULL) {
        st = mem_fail(err, path.len, "a path");
    }
    if (st == GREBE_OK) {
        st = txn_make_folders(x, folder, err);
    }
    run->folder = st == GREBE_OK ? folder : NULL;
    buf_release(&path);
    return st;
}

static struct format_write_options file_options(const struct stage *s)
{
    struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;
    format_write_options_from(s->options, &o);
    o.is_profile_milvus = o.is_profile_milvus || s->txn->profile == GREBE_PROFILE_MILVUS;
    o.is_without_dictionary = s->plan->is_without_dictionary;
    o.is_part = true; /* a column that the options name is in one of the files */
    o.call = s->call;
    o.call.progress = NULL;
    return o;
}

static grebe_status open_file(struct stage_run *run, size_t g, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct stage *s = run->s;
    struct grebe_txn *x = s->txn;
    const struct file_format *format = NULL;
    struct stage_file *f = &run->files[g];
    struct format_write_options o = file_options(s);
    GREBE_TRY(format_find(x->ctx, s->groups[g].format, &format, err));
    if (format->create == NULL) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "files of format \"%s\" cannot be written",
                        s->groups[g].format);
        goto out;
    }
    if (!format->is_for_tables) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "file format: tables are not written in \"%s\"",
                        format->name);
        goto out;
    }
    if (f->schema.release == NULL) {
        GREBE_TRY(file_schema(s, &s->groups[g], &f->schema, err));
    }
    GREBE_TRY(name_file(x, &s->groups[g], f, err));
    GREBE_TRY(txn_create_file(x, run->folder, f->path, &f->to, err));
    GREBE_TRY(format->create(x->ctx, f->to, &f->schema, &o, &f->writer, err));
    f->memory_bytes = 0;
    f->is_full = false;
out:
    return st;
}

/* A file for every group that has none, before rows are written. */
static grebe_status open_files(struct stage_run *run, grebe_error *err)
{
    grebe_status st = check_named_columns(run->s, err);
    if (st == GREBE_OK && run->folder == NULL) {
        st = make_folder(run, err);
    }
    for (size_t g = 0; g < run->s->n_groups && st == GREBE_OK; g++) {
        if (run->s->groups[g].n_columns > 0 && run->files[g].writer == NULL) {
            st = open_file(run, g, err);
        }
    }
    return st;
}

static void report(const struct stage_run *run)
{
    const struct call *call = &run->s->call;
    if (call->progress == NULL) {
        return;
    }
    grebe_progress progress = { "write", (uint64_t)run->n_rows, 0, 0, 0 };
    if (run->s->options->expected_rows > 0) {
        progress.rows_total = (uint64_t)run->s->options->expected_rows;
    }
    for (size_t g = 0; g < run->s->n_groups; g++) {
        const struct stage_file *f = &run->files[g];
        progress.bytes_done += f->n_bytes + (f->to != NULL ? f->to->n_written : 0);
    }
    call->progress(call->progress_ctx, &progress);
}

/* ---- the result ---- */

static grebe_status put_number(struct grebe_txn *x, struct avro_pair *pair, const char *key,
                               uint64_t value, grebe_error *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    pair->key = (manifest_text){ key, strlen(key) };
    return txn_text(x, text, &pair->value, err);
}

/* A finished file becomes an entry; the group is ready for the next file. */
static grebe_status file_entry(struct grebe_txn *x, struct stage_file *f, grebe_error *err)
{
    struct manifest_file *file = op_push(&x->arena, &f->done, sizeof *file);
    struct avro_pair *pairs = arena_array(&x->arena, 2, sizeof *pairs);
    if (file == NULL || pairs == NULL) {
        return mem_fail(err, sizeof *file, "a file entry");
    }
    file->path = (manifest_text){ f->name, strlen(f->name) };
    file->blob = (manifest_text){ "", 0 };
    file->row_end = f->summary.n_rows;
    size_t n = 0;
    grebe_status st = put_number(x, &pairs[n++], "file_size", f->summary.file_size_bytes, err);
    if (st == GREBE_OK && f->summary.footer_size_bytes > 0) {
        st = put_number(x, &pairs[n++], "footer_size", f->summary.footer_size_bytes, err);
    }
    file->properties = (struct avro_list){ pairs, n };
    f->n_rows += f->summary.n_rows;
    f->n_bytes += f->summary.file_size_bytes;
    f->writer->ops->free(f->writer);
    io_writer_free(f->to);
    f->writer = NULL;
    f->to = NULL;
    return st;
}

/* Finish the files that are full, each group's on its own. */
static grebe_status end_files(struct stage_run *run, grebe_error *err)
{
    size_t n_full = 0;
    for (size_t g = 0; g < run->s->n_groups; g++) {
        n_full += run->files[g].writer != NULL && run->files[g].is_full;
    }
    grebe_status st = n_full == 0 ? GREBE_OK : for_groups(run, finish_group, err);
    for (size_t g = 0; g < run->s->n_groups && st == GREBE_OK && n_full > 0; g++) {
        if (run->files[g].writer != NULL && run->files[g].is_full) {
            st = file_entry(run->s->txn, &run->files[g], err);
        }
    }
    return st;
}

/* ---- rows ---- */

static int64_t group_bytes(const struct stage *s, size_t g, const struct ArrowArray *rows)
{
    int64_t total = 0;
    for (size_t i = 0; i < s->groups[g].n_columns; i++) {
        int column = s->groups[g].columns[i];
        total += array_bytes(s->schema.children[column], rows->children[column], 0, rows->length);
    }
    return total;
}

static grebe_status write_piece(struct stage_run *run, const struct ArrowArray *rows,
                                grebe_error *err)
{
    int64_t limit = run->s->options->file_bytes;
    if (rows->length > INT64_MAX - run->n_rows) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "more than 2^63 rows");
    }
    grebe_status st = open_files(run, err);
    run->rows = rows;
    if (st == GREBE_OK) {
        st = for_groups(run, write_group, err);
    }
    run->rows = NULL;
    if (st != GREBE_OK || limit == 0) {
        run->n_rows += rows->length;
        return st;
    }
    run->n_rows += rows->length;
    for (size_t g = 0; g < run->s->n_groups; g++) {
        struct stage_file *f = &run->files[g];
        f->memory_bytes += group_bytes(run->s, g, rows);
        f->is_full = f->memory_bytes >= limit;
    }
    return end_files(run, err);
}

/* Pieces of at most so many rows that a file can end between them. */
static int64_t piece_rows(const struct stage *s, const struct ArrowArray *rows)
{
    enum { PIECE_BYTES_MIN = 1 << 16 };
    int64_t limit = s->options->file_bytes;
    if (limit == 0) {
        return rows->length;
    }
    int64_t total = 0;
    for (size_t g = 0; g < s->n_groups; g++) {
        total += group_bytes(s, g, rows);
    }
    int64_t piece = min_i64(s->plan->buffer_bytes, max_i64(limit, PIECE_BYTES_MIN));
    double n = (double)rows->length * (double)piece / (double)max_i64(total, 1);
    return n >= (double)rows->length ? rows->length : max_i64(1, (int64_t)n);
}

static grebe_status write_rows(struct stage_run *run, struct ArrowArray *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct array_shared *shared = NULL;
    int64_t n = rows->length;
    int64_t step = piece_rows(run->s, rows);
    if (step >= n) {
        return write_piece(run, rows, err);
    }
    GREBE_TRY(array_share(run->s->txn->ctx->a, rows, &shared, err));
    for (int64_t at = 0; at < n; at += step) {
        struct ArrowArray piece = { 0 };
        GREBE_TRY(call_check(&run->s->call, err));
        GREBE_TRY(array_slice(shared, at, min_i64(step, n - at), &piece, err));
        st = write_piece(run, &piece, err);
        array_release(&piece);
        if (st != GREBE_OK) {
            goto out;
        }
    }
out:
    array_shared_drop(shared);
    return st;
}

static grebe_status write_batch(struct stage_run *run, const struct fit *fit,
                                struct ArrowArray *batch, grebe_error *err)
{
    struct ArrowArray rows = { 0 };
    grebe_status st = call_check(&run->s->call, err);
    if (st == GREBE_OK) {
        st = fit_batch(fit, batch, &rows, err);
    }
    if (st == GREBE_OK && rows.length > 0) {
        st = write_rows(run, &rows, err);
    }
    array_release(&rows);
    array_release(batch);
    if (st == GREBE_OK) {
        report(run);
    }
    return st;
}

static grebe_status build_staged(const struct stage_run *run, struct staged **out,
                                 grebe_error *err)
{
    const struct stage *s = run->s;
    struct grebe_txn *x = s->txn;
    size_t n_columns = (size_t)s->schema.n_children;
    struct staged *made = arena_alloc_zero(&x->arena, sizeof *made);
    struct manifest_group *groups = arena_array(&x->arena, s->n_groups, sizeof *groups);
    struct draft_column *columns = arena_array(&x->arena, n_columns, sizeof *columns);
    if (made == NULL || groups == NULL || columns == NULL) {
        return mem_fail(err, n_columns * sizeof *columns, "staged rows");
    }
    for (size_t g = 0; g < s->n_groups; g++) {
        const struct stage_group *group = &s->groups[g];
        manifest_text *names = arena_array(&x->arena, group->n_columns, sizeof *names);
        if (names == NULL) {
            return mem_fail(err, group->n_columns * sizeof *names, "columns");
        }
        for (size_t c = 0; c < group->n_columns; c++) {
            grebe_status st = txn_text(x, s->stored[group->columns[c]], &names[c], err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        groups[g].columns = (struct avro_list){ names, group->n_columns };
        grebe_status st = txn_text(x, group->format, &groups[g].format, err);
        const struct stage_file *f = &run->files[g];
        assert(group->n_columns == 0 || f->n_rows == run->n_rows);
        groups[g].files = (struct avro_list){ f->done.items, f->done.n };
        if (st != GREBE_OK) {
            return st;
        }
    }
    made->groups = groups;
    made->n_groups = s->n_groups;
    made->columns = columns;
    made->n_rows = run->n_rows;
    for (size_t i = 0; i < n_columns; i++) {
        struct draft_column *c = &columns[i];
        c->name = txn_name(x, s->schema.children[i]->name);
        c->stored = txn_name(x, s->stored[i]);
        grebe_status st = c->name == NULL || c->stored == NULL ? mem_fail(err, 1, "a name")
                                                               : GREBE_OK;
        if (st == GREBE_OK) {
            /* Dictionaries and list views are one writer's way to hold values: no file keeps them. */
            st = schema_copy_plain(x->ctx->a, s->schema.children[i], &c->field, err);
        }
        made->n_columns++; /* counted at once, so that a failure releases what is there */
        if (st != GREBE_OK) {
            for (size_t k = 0; k < made->n_columns; k++) {
                schema_release(&columns[k].field);
            }
            return st;
        }
    }
    *out = made;
    return GREBE_OK;
}

static void release_files(struct stage_run *run)
{
    for (size_t g = 0; run->files != NULL && g < run->s->n_groups; g++) {
        struct stage_file *f = &run->files[g];
        if (f->writer != NULL) {
            f->writer->ops->free(f->writer);
        }
        io_writer_free(f->to);
        schema_release(&f->schema);
    }
    mem_free(run->s->txn->ctx->a, run->files, run->s->n_groups * sizeof *run->files);
}

grebe_status stage_write(struct stage *s, struct ArrowArrayStream *rows,
                         const struct ArrowSchema *rows_schema, struct ArrowArray *first,
                         struct staged **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->txn->ctx->a;
    size_t files_begin = s->txn->files.n;
    struct stage_run run = { .s = s };
    struct fit fit = { 0 };
    struct ArrowArray batch = { 0 };
    *out = NULL;
    run.files = mem_alloc_zero(a, s->n_groups * sizeof *run.files);
    if (run.files == NULL) {
        st = mem_fail(err, s->n_groups * sizeof *run.files, "files");
        goto out;
    }
    GREBE_TRY(fit_new(a, rows_schema, &s->schema, &fit, err));
    if (first->release != NULL) {
        GREBE_TRY(write_batch(&run, &fit, first, err));
        for (;;) {
            st = stream_next(rows, &batch, err);
            if (st != GREBE_OK) {
                break;
            }
            GREBE_TRY(write_batch(&run, &fit, &batch, err));
        }
        if (st != GREBE_END) {
            goto out;
        }
    }
    for (size_t g = 0; g < s->n_groups; g++) {
        run.files[g].is_full = true; /* no more rows come */
    }
    GREBE_TRY(end_files(&run, err));
    st = build_staged(&run, out, err);
out:
    release_files(&run);
    fit_release(&fit);
    array_release(&batch);
    array_release(first);
    if (st != GREBE_OK) {
        txn_remove_files(s->txn, files_begin);
    }
    return st;
}
