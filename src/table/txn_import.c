/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_import.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/name_index.h"
#include "table/version.h"

/*
 * Existing files as rows or columns of a table. Nothing is copied: each file is opened once, its
 * columns are compared with those of the first file and with the table's, and an entry is made.
 */

/* ---- paths ---- */

/* As it is stored: what follows the table's _data, else from the root. */
static grebe_status store_path(struct import *m, const char *path, manifest_text *out,
                               grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = m->x->ctx->a;
    struct buf base = BUF_INIT(a);
    struct buf file = BUF_INIT(a);
    struct buf stored = BUF_INIT(a);
    GREBE_TRY(path_absolute(&base, m->x->base->path, err));
    GREBE_TRY(path_absolute(&file, path, err));
    if (buf_text(&base) == NULL || buf_text(&file) == NULL) {
        GREBE_TRY(mem_fail(err, file.len, "a path"));
    }
    GREBE_TRY(manifest_path_relativize(&stored, buf_text(&base), FOLDER_DATA, buf_text(&file),
                                       err));
    if (buf_text(&stored) == NULL) {
        GREBE_TRY(mem_fail(err, stored.len, "a path"));
    }
    st = txn_text(m->x, buf_text(&stored), out, err);
out:
    buf_release(&base);
    buf_release(&file);
    buf_release(&stored);
    return st;
}

/* Files that the table has: the same one again would double its rows unnoticed. */
static grebe_status list_files(struct import *m, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t g = 0; g < m->d.m.groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(&m->d.m, g);
        for (size_t f = 0; f < group->files.n && st == GREBE_OK; f++) {
            st = name_index_add(&m->listed, manifest_file_at(group, f)->path.data, 0, NULL, err);
        }
    }
    return st;
}

/* ---- one file ---- */

/* The columns that count must be those of the first file. */
static grebe_status compare_schema(struct import *m, struct format_reader *r, grebe_error *err)
{
    struct name_index index = { 0 };
    const struct ArrowSchema *found = &r->schema;
    grebe_status st = schema_index(m->x->ctx->a, found, &index, err);
    for (int64_t i = 0; i < m->schema.n_children && st == GREBE_OK; i++) {
        struct ArrowSchema *want = m->schema.children[i];
        const size_t *at = name_index_find(&index, want->name);
        if (at == NULL || *at == SIZE_MAX) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": expected it as in %.200s, found %s",
                            want->name, m->first_path, at == NULL ? "none" : "it twice");
        } else if (!schema_equal(want, found->children[*at], IMPORT_SAME_TYPE)) {
            st = import_fail_type(want->name, want, found->children[*at], err);
        } else {
            want->flags |= found->children[*at]->flags & ARROW_FLAG_NULLABLE;
            st = import_check_nulls(m, r, i, (int)*at, err);
        }
    }
    name_index_release(&index);
    if (st != GREBE_OK || m->o->columns != NULL || found->n_children == m->schema.n_children) {
        return st;
    }
    for (int64_t i = 0; i < found->n_children; i++) { /* more than the first one has */
        int at = 0;
        const char *name = found->children[i]->name;
        if (schema_find(&m->schema, name, &at, NULL) != GREBE_OK) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": %.200s has none of this name",
                              name, m->first_path);
        }
    }
    return GREBE_OK;
}

struct first_error {
    grebe_error err;
    size_t n;
};

static void note_error(void *arg, bool is_error, const char *place, const char *message)
{
    struct first_error *first = arg;
    if (is_error && first->n++ == 0) {
        (void)!GREBE_FAIL(&first->err, GREBE_ECORRUPT, "%.100s%s%.300s", place,
                          place[0] == '\0' ? "" : ": ", message);
    }
}

static grebe_status check_deep(struct import *m, struct format_reader *r, grebe_error *err)
{
    struct first_error first = { GREBE_ERROR_INIT, 0 };
    if (!m->o->is_checked || r->ops->check == NULL) {
        return GREBE_OK;
    }
    struct call call = m->call;
    call.progress = NULL;
    grebe_status st = r->ops->check(r, true, &call, note_error, &first, err);
    if (st == GREBE_OK && first.n > 0) {
        st = first.err.status;
        if (err != NULL) {
            *err = first.err;
        }
    }
    return st;
}

static grebe_status add_entry(struct import *m, const struct format_reader *r,
                              manifest_text stored, grebe_error *err)
{
    char text[24];
    struct manifest_file *file = &m->files[m->n_files];
    struct avro_pair *pair = arena_array(&m->x->arena, 1, sizeof *pair);
    if (pair == NULL) {
        return mem_fail(err, sizeof *pair, "a file entry");
    }
    if (!checked_add_i64(m->n_rows, r->n_rows, &m->n_rows)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "more than 2^63 rows");
    }
    *file = (struct manifest_file){ .path = stored, .row_end = r->n_rows, .blob = { "", 0 } };
    snprintf(text, sizeof text, "%" PRIu64, r->file_size_bytes);
    pair->key = (manifest_text){ "file_size", strlen("file_size") };
    grebe_status st = txn_text(m->x, text, &pair->value, err);
    file->properties = (struct avro_list){ pair, 1 };
    m->n_files += r->n_rows > 0; /* the reference refuses ranges without rows */
    return st;
}

static grebe_status import_file(struct import *m, const char *uri, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct io_store *store = m->x->base->store->store;
    const struct file_format *format = NULL;
    struct format_reader *r = NULL;
    struct file_hints hints = { 0, 0, false };
    manifest_text stored;
    const char *path = NULL;
    bool is_there = false;
    GREBE_TRY(table_uri_path(uri, &path, err));
    if (m->o->format != NULL) {
        GREBE_TRY(format_find(m->x->ctx, m->o->format, &format, err));
    } else {
        GREBE_TRY(format_of_file(store, path, &format, err));
    }
    GREBE_TRY(store_path(m, path, &stored, err));
    GREBE_TRY(format->open(store, path, &hints, &r, err));
    if (m->first_path == NULL) {
        m->first_path = uri;
        m->format = format;
        GREBE_TRY(import_take_schema(m, &r->schema, err));
        GREBE_TRY(import_choose_kind(m, err));
        if (m->kind == IMPORT_ROWS) {
            GREBE_TRY(import_fit_columns(m, err));
            GREBE_TRY(list_files(m, err));
        }
    } else if (format != m->format) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "expected format %s as %.200s has, found %s",
                        m->format->name, m->first_path, format->name);
        goto out;
    }
    GREBE_TRY(name_index_add(&m->listed, stored.data, 0, &is_there, err));
    if (is_there) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "the table has this file already");
        goto out;
    }
    GREBE_TRY(compare_schema(m, r, err));
    GREBE_TRY(check_deep(m, r, err));
    st = add_entry(m, r, stored, err);
out:
    if (r != NULL) {
        r->ops->close(r);
        st = error_wrap(err, st, "%.300s", path);
    }
    return st;
}

/* ---- the operation ---- */

static grebe_status name_columns(struct import *m, struct staged *s, grebe_error *err)
{
    struct grebe_txn *x = m->x;
    size_t n = (size_t)m->schema.n_children;
    manifest_text *names = arena_array(&x->arena, n, sizeof *names);
    s->columns = arena_array(&x->arena, n, sizeof *s->columns);
    if (names == NULL || s->columns == NULL) {
        return mem_fail(err, n * sizeof *s->columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        struct draft_column *c = &s->columns[i];
        grebe_status st = txn_text(x, m->schema.children[i]->name, &names[i], err);
        if (st == GREBE_OK) {
            c->name = c->stored = names[i].data;
            st = schema_copy_plain(x->ctx->a, m->schema.children[i], &c->field, err);
        }
        s->n_columns++; /* counted at once, so that a failure releases what is there */
        if (st != GREBE_OK) {
            return st;
        }
    }
    s->groups[0].columns = (struct avro_list){ names, n };
    return txn_text(x, m->format->name, &s->groups[0].format, err);
}

/* Every group of the table takes its columns from the same files. */
static grebe_status build_import(struct import *m, struct staged **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct grebe_txn *x = m->x;
    size_t n = m->kind == IMPORT_ROWS ? m->d.m.groups.n : 1;
    struct staged *s = arena_alloc_zero(&x->arena, sizeof *s);
    struct manifest_group *groups = arena_array(&x->arena, n, sizeof *groups);
    if (s == NULL || groups == NULL) {
        return mem_fail(err, n * sizeof *groups, "column groups");
    }
    s->groups = groups;
    s->n_groups = n;
    s->n_rows = m->n_rows;
    for (size_t g = 0; g < n; g++) {
        if (m->kind == IMPORT_ROWS) { /* names of the base may go before the transaction does */
            const struct manifest_group *old = manifest_group_at(&m->d.m, g);
            manifest_text *names = arena_array(&x->arena, old->columns.n, sizeof *names);
            if (names == NULL) {
                return mem_fail(err, old->columns.n * sizeof *names, "columns");
            }
            for (size_t c = 0; c < old->columns.n; c++) {
                GREBE_TRY(txn_text(x, manifest_column_at(old, c), &names[c], err));
            }
            groups[g].columns = (struct avro_list){ names, old->columns.n };
            GREBE_TRY(txn_text(x, old->format.data, &groups[g].format, err));
            if (old->columns.n == 0) {
                continue; /* the empty group of the reference's size_based policy */
            }
        }
        groups[g].files = (struct avro_list){ m->files, m->n_files };
    }
    if (m->kind != IMPORT_ROWS) {
        GREBE_TRY(name_columns(m, s, err));
    }
    *out = s;
out:
    if (st != GREBE_OK) {
        for (size_t c = 0; c < s->n_columns; c++) {
            schema_release(&s->columns[c].field);
        }
    }
    return st;
}

static grebe_status import_files(struct import *m, const char *const *paths, size_t n_paths,
                                 grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_progress progress = { .phase = "import", .bytes_total = n_paths };
    GREBE_TRY(draft_apply(m->x, m->x->base->snapshot, &m->d, err));
    m->has_draft = true;
    GREBE_TRY(name_index_new(m->x->ctx->a, m->d.n_columns, &m->names, err));
    for (size_t i = 0; i < m->d.n_columns; i++) {
        GREBE_TRY(name_index_add(&m->names, m->d.columns[i].name, i, NULL, err));
    }
    GREBE_TRY(name_index_new(m->x->ctx->a, n_paths, &m->listed, err));
    m->files = arena_array(&m->x->arena, n_paths, sizeof *m->files);
    if (m->files == NULL) {
        st = mem_fail(err, n_paths * sizeof *m->files, "files");
        goto out;
    }
    for (size_t i = 0; i < n_paths; i++) {
        GREBE_TRY(call_check(&m->call, err));
        GREBE_TRY(import_file(m, paths[i], err));
        progress.bytes_done = i + 1; /* files */
        progress.rows_done = (uint64_t)m->n_rows;
        if (m->call.progress != NULL) {
            m->call.progress(m->call.progress_ctx, &progress);
        }
    }
    if (m->kind == IMPORT_NEW && m->n_files == 0 && m->x->profile == GREBE_PROFILE_MILVUS) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "profile milvus: a table without rows has no schema");
    }
out:
    return st;
}

static void import_release(struct import *m)
{
    if (m->has_draft) {
        draft_release(&m->d);
    }
    schema_release(&m->schema);
    name_index_release(&m->names);
    name_index_release(&m->listed);
}

grebe_status grebe_txn_import(grebe_txn *x, const char *const *paths, size_t n_paths,
                              const grebe_import_options *options, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && paths != NULL && n_paths > 0);
    grebe_import_options o = GREBE_IMPORT_OPTIONS_INIT;
    struct staged *made = NULL;
    struct import m = { .x = x, .o = &o };
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK && x->state != TXN_OPEN) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "the transaction is over");
    }
    if (st != GREBE_OK) {
        return st;
    }
    m.call = call_options_resolve(x->ctx, o.call);
    GREBE_TRY(import_files(&m, paths, n_paths, err));
    GREBE_TRY(build_import(&m, &made, err));
    st = txn_record(x, m.kind == IMPORT_COLUMNS ? &x->additions : &x->appends, made, x->files.n,
                    err);
    x->n_imports += st == GREBE_OK;
out:
    import_release(&m);
    return st;
}

grebe_status grebe_table_import(grebe_context *ctx, const char *uri, const char *const *paths,
                                size_t n_paths, const grebe_import_options *options,
                                const grebe_txn_options *txn, grebe_table **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && uri != NULL && uri[0] != '\0' && paths != NULL &&
                             n_paths > 0);
    grebe_status st = GREBE_OK;
    const char *path = NULL;
    int64_t latest = 0;
    struct table_store *store = NULL;
    grebe_table *base = NULL;
    grebe_txn *x = NULL;
    grebe_table_open_options open = GREBE_TABLE_OPEN_OPTIONS_INIT;
    if (out != NULL) {
        *out = NULL;
    }
    GREBE_TRY(table_uri_path(uri, &path, err));
    GREBE_TRY(table_store_open(ctx, 0, &store, err));
    GREBE_TRY(version_latest(store->store, path, &latest, err));
    open.version = latest; /* none yet: the empty table is begun with */
    GREBE_TRY(grebe_table_open(ctx, path, &open, &base, err));
    GREBE_TRY(grebe_txn_new(base, txn, &x, err));
    GREBE_TRY(grebe_txn_import(x, paths, n_paths, options, err));
    st = grebe_txn_commit(x, NULL, out, err);
out:
    grebe_txn_free(x);
    grebe_table_close(base);
    table_store_drop(store);
    return st;
}
