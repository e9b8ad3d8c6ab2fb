/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const grebe_table *t;
    grebe_check_options o;
    struct call call;
    size_t n_errors;
    const char *place; /* file that a format's findings are about */
};

static void finding(struct check *c, bool is_error, const char *place, const char *fmt, ...)
    GREBE_PRINTF(4, 5);

static void finding(struct check *c, bool is_error, const char *place, const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    c->n_errors += is_error;
    if (c->o.on_finding != NULL) {
        c->o.on_finding(c->o.arg, is_error, place, message);
    }
}

/* Failures that say something about the machine, not about the table, end the check. */
static bool is_finding(grebe_status st)
{
    return st != GREBE_OK && st != GREBE_ENOMEM && st != GREBE_ECANCELLED;
}

static void format_finding(void *arg, bool is_error, const char *place, const char *message)
{
    struct check *c = arg;
    char where[512];
    snprintf(where, sizeof where, "%.400s%s%.100s", c->place, place[0] == '\0' ? "" : ": ", place);
    finding(c, is_error, where, "%s", message);
}

/* ---- files ---- */

static grebe_status check_columns(struct check *c, const struct manifest_group *group,
                                  const struct format_reader *reader, const char *path,
                                  grebe_error *err)
{
    struct name_index index;
    grebe_status st = schema_index(c->t->ctx->a, &reader->schema, &index, err);
    for (size_t i = 0; i < group->columns.n && st == GREBE_OK; i++) {
        int field = 0;
        if (table_find_field(c->t, &reader->schema, &index, manifest_column_at(group, i), &field,
                             NULL) != GREBE_OK) {
            finding(c, false, path, "column \"%.64s\" is not in the file: it reads as null",
                    manifest_column_at(group, i));
        }
    }
    name_index_release(&index);
    return st;
}

static grebe_status check_reader(struct check *c, const struct manifest_group *group,
                                 const struct manifest_file *file, struct format_reader *reader,
                                 const char *path, grebe_error *err)
{
    uint64_t size = manifest_file_size(file, "file_size");
    if (size != 0 && size != reader->file_size_bytes) {
        finding(c, true, path, "expected %" PRIu64 " bytes, found %" PRIu64, size,
                reader->file_size_bytes);
    }
    if (file->row_end > reader->n_rows) {
        finding(c, true, path, "expected rows [%" PRId64 ", %" PRId64 "), found %" PRId64,
                file->row_begin, file->row_end, reader->n_rows);
    }
    grebe_status st = check_columns(c, group, reader, path, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (reader->ops->memory_bytes != NULL) {
        uint64_t unused = 0;
        grebe_error found = GREBE_ERROR_INIT;
        st = reader->ops->memory_bytes(reader, NULL, 0, SIZE_MAX, &unused, &found);
        if (st != GREBE_OK) {
            finding(c, true, path, "%s", found.message);
        }
    }
    c->place = path;
    return reader->ops->check == NULL
               ? GREBE_OK
               : reader->ops->check(reader, c->o.is_deep, &c->call, format_finding, c, err);
}

static grebe_status check_file(struct check *c, size_t g, size_t f, grebe_error *err)
{
    const struct manifest_group *group = c->t->snapshot->groups[g].manifest;
    const struct manifest_file *file = manifest_file_at(group, f);
    struct format_reader *reader = NULL;
    grebe_error found = GREBE_ERROR_INIT;
    struct buf path = BUF_INIT(c->t->ctx->a);
    const char *base = c->t->snapshot->base;
    struct io_store *store = c->t->store->store;
    grebe_status st = manifest_path_resolve(&path, base, FOLDER_DATA, file->path.data, err);
    if (st == GREBE_OK && buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, "a path");
    }
    if (st != GREBE_OK) {
        goto out;
    }
    st = data_reader_open(c->t->ctx, store, base, group, file, &reader, &found);
    if (st == GREBE_OK) {
        st = check_reader(c, group, file, reader, buf_text(&path), &found);
        reader->ops->close(reader);
    }
    if (is_finding(st)) {
        finding(c, true, buf_text(&path), "%s", found.message);
        st = GREBE_OK;
    } else if (st != GREBE_OK && err != NULL) {
        *err = found;
    }
out:
    buf_release(&path);
    return st;
}

/* Types of all files of a group fit the table's: what a reader would find out one by one. */
static grebe_status check_types(struct check *c, size_t g, size_t f, grebe_error *err)
{
    struct data_file *file = NULL;
    grebe_error found = GREBE_ERROR_INIT;
    grebe_status st = table_file_open(c->t, g, f, &file, &found);
    data_file_drop(file);
    if (st == GREBE_ESCHEMA) {
        finding(c, true, manifest_file_at(c->t->snapshot->groups[g].manifest, f)->path.data, "%s",
                found.message);
    }
    if (st == GREBE_OK || is_finding(st)) {
        return GREBE_OK; /* everything else was found by check_file */
    }
    if (err != NULL) {
        *err = found;
    }
    return st;
}

/* ---- the manifest ---- */

struct named_column {
    const char *name;
    size_t group, place; /* place among all columns: qsort is not stable */
};

static int compare_columns(const void *a, const void *b)
{
    const struct named_column *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);
    return by_name != 0 ? by_name : (x->place > y->place) - (x->place < y->place);
}

/* Each column against the one of its name before it: a manifest can name thousands. */
static grebe_status check_duplicates(struct check *c, grebe_error *err)
{
    const struct manifest *m = &c->t->snapshot->manifest;
    size_t n = 0, at = 0;
    for (size_t g = 0; g < m->groups.n; g++) {
        n += manifest_group_at(m, g)->columns.n; /* they are in memory: no overflow */
    }
    if (n == 0) {
        return GREBE_OK;
    }
    struct named_column *all = mem_alloc(c->t->ctx->a, n * sizeof *all);
    if (all == NULL) {
        return mem_fail(err, n * sizeof *all, "column names");
    }
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(m, g);
        for (size_t i = 0; i < group->columns.n; i++, at++) {
            all[at] = (struct named_column){ manifest_column_at(group, i), g, at };
        }
    }
    qsort(all, n, sizeof *all, compare_columns);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(all[i - 1].name, all[i].name) == 0) {
            finding(c, true, c->t->path, "column \"%.64s\" is in groups %zu and %zu", all[i].name,
                    all[i - 1].group, all[i].group);
        }
    }
    mem_free(c->t->ctx->a, all, n * sizeof *all);
    return GREBE_OK;
}

static grebe_status check_path(struct check *c, enum manifest_folder folder, const char *stored,
                               const char *what, grebe_error *err)
{
    struct buf path = BUF_INIT(c->t->ctx->a);
    struct io_info info;
    grebe_status st = call_check(&c->call, err);
    if (st == GREBE_OK) {
        st = manifest_path_probe(&path, c->t->store->store, c->t->snapshot->base, folder, stored,
                                 err);
    }
    if (st == GREBE_OK && buf_text(&path) == NULL) {
        st = mem_fail(err, path.len, "a path");
    }
    if (st == GREBE_OK && path_scheme_len(buf_text(&path)) == 0 &&
        io_stat(c->t->store->store, buf_text(&path), &info, NULL) == GREBE_ENOTFOUND) {
        finding(c, true, buf_text(&path), "%s is missing", what);
    }
    buf_release(&path);
    return st;
}

static grebe_status check_entries(struct check *c, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct manifest *m = &c->t->snapshot->manifest;
    for (size_t i = 0; i < m->delta_logs.n && st == GREBE_OK; i++) {
        const struct manifest_delta *d = manifest_delta_at(m, i);
        st = check_path(c, FOLDER_DELTA, d->path.data, "delete log", err);
        if (d->type < 0 || d->type > 2 || d->n_entries < 0) {
            finding(c, true, d->path.data, "delete log of type %d with %" PRId64 " entries",
                    d->type, d->n_entries);
        }
    }
    for (size_t i = 0; i < m->stats.n && st == GREBE_OK; i++) {
        const struct manifest_stat *s = manifest_stat_at(m, i);
        for (size_t k = 0; k < s->paths.n && st == GREBE_OK; k++) {
            st = check_path(c, FOLDER_STATS, ((const manifest_text *)s->paths.items)[k].data,
                            "statistics file", err);
        }
    }
    for (size_t i = 0; i < m->indexes.n && st == GREBE_OK; i++) {
        const struct manifest_index *x = manifest_index_at(m, i);
        st = check_path(c, FOLDER_INDEX, x->path.data, "index", err);
        if (x->n_rows != 0 && x->n_rows != c->t->snapshot->n_rows) {
            finding(c, false, x->path.data, "index covers %" PRId64 " rows of %" PRId64, x->n_rows,
                    c->t->snapshot->n_rows);
        }
    }
    for (size_t i = 0; i < m->lob_files.n && st == GREBE_OK; i++) {
        st = check_path(c, FOLDER_LOBS, manifest_lob_at(m, i)->path.data, "LOB file", err);
    }
    return st;
}

grebe_status grebe_table_check(const grebe_table *table, const grebe_check_options *options,
                               size_t *n_errors, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL);
    struct check c = { .t = table, .o = GREBE_CHECK_OPTIONS_INIT };
    grebe_status st = options_copy(&c.o, sizeof c.o, options, err);
    if (n_errors != NULL) {
        *n_errors = 0;
    }
    if (st != GREBE_OK) {
        return st;
    }
    const struct snapshot *s = table->snapshot;
    c.call = call_options_resolve(table->ctx, c.o.call);
    if (s->layout_status != GREBE_OK) {
        finding(&c, true, table->path, "%s", s->layout_error.message);
    }
    if (s->ids_status != GREBE_OK) {
        finding(&c, true, table->path, "%s", s->ids_error.message);
    }
    st = check_duplicates(&c, err);
    grebe_progress progress = { .phase = "check" };
    for (size_t g = 0; g < s->manifest.groups.n; g++) {
        progress.bytes_total += s->groups[g].n_files;
    }
    for (size_t g = 0; g < s->manifest.groups.n && st == GREBE_OK; g++) {
        for (size_t f = 0; f < s->groups[g].n_files && st == GREBE_OK; f++) {
            st = call_check(&c.call, err);
            if (st == GREBE_OK) {
                st = check_file(&c, g, f, err);
            }
            if (st == GREBE_OK && s->layout_status == GREBE_OK &&
                table->columns_status == GREBE_OK) {
                st = check_types(&c, g, f, err);
            }
            progress.bytes_done++; /* files; rows are not counted */
            if (c.call.progress != NULL) {
                c.call.progress(c.call.progress_ctx, &progress);
            }
        }
    }
    if (st == GREBE_OK && c.n_errors == 0 && table->columns_status != GREBE_OK) {
        finding(&c, true, table->path, "%s", table->columns_error.message);
    }
    if (st == GREBE_OK) {
        st = check_entries(&c, err);
    }
    if (n_errors != NULL) {
        *n_errors = c.n_errors;
    }
    return st;
}
