/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/dataset_internal.h"

#include <string.h>

#include "base/context_internal.h"
#include "dataset/row_set.h"

static const char no_info[] = "{\"citation\": \"\", \"description\": \"\", \"homepage\": \"\", \"license\": \"\"}";

/* ---- formats ---- */

void dataset_format_release(const grebe_allocator *a, grebe_dataset_format *f)
{
    for (size_t i = 0; f->columns != NULL && i < f->n_columns; i++) {
        str_free(a, (char *)(uintptr_t)f->columns[i]);
    }
    mem_free(a, (void *)(uintptr_t)f->columns, f->n_columns * sizeof *f->columns);
    str_free(a, (char *)(uintptr_t)f->type);
    str_free(a, (char *)(uintptr_t)f->kwargs);
    memset(f, 0, sizeof *f);
}

grebe_status dataset_format_copy(const grebe_allocator *a, const grebe_dataset_format *src, grebe_dataset_format *out,
                                 grebe_error *err)
{
    memset(out, 0, sizeof *out);
    if (src == NULL) {
        return GREBE_OK;
    }
    out->output_all_columns = src->output_all_columns;
    out->type = str_copy(a, src->type);
    out->kwargs = str_copy(a, src->kwargs);
    bool is_short = (src->type != NULL && out->type == NULL) || (src->kwargs != NULL && out->kwargs == NULL);
    if (src->columns != NULL && !is_short) {
        const char **columns = mem_alloc_zero(a, src->n_columns * sizeof *columns);
        out->columns = columns;
        out->n_columns = columns != NULL ? src->n_columns : 0;
        is_short = columns == NULL;
        for (size_t i = 0; i < out->n_columns && !is_short; i++) {
            columns[i] = str_copy(a, src->columns[i]);
            is_short = columns[i] == NULL;
        }
    }
    if (is_short) {
        dataset_format_release(a, out);
        return mem_fail(err, sizeof *out, "a format");
    }
    return GREBE_OK;
}

/* ---- making one ---- */

struct file_list {
    struct row_set known;
    struct buf paths; /* const char *, borrowed of the table */
};

static grebe_status add_file(void *arg, const char *path, grebe_error *err)
{
    struct file_list *l = arg;
    size_t i = 0;
    bool is_new = false;
    grebe_status st = row_set_put(&l->known, path, strlen(path), &i, &is_new, err);
    return st == GREBE_OK && is_new ? buf_put(&l->paths, &path, sizeof path, err) : st;
}

static grebe_status list_files(grebe_dataset *ds, grebe_error *err)
{
    struct file_list l = { .paths = BUF_INIT(ds->ctx->a) };
    row_set_init(&l.known, ds->ctx->a);
    grebe_status st = dataset_table_each_file(ds->table, add_file, &l, err);
    if (st == GREBE_OK && ds->indices != NULL && dataset_indices_path(ds->indices) != NULL) {
        st = add_file(&l, dataset_indices_path(ds->indices), err);
    }
    size_t n = l.paths.len / sizeof *ds->files;
    if (st == GREBE_OK && n > 0) {
        ds->files = mem_alloc(ds->ctx->a, n * sizeof *ds->files);
        if (ds->files == NULL) {
            st = mem_fail(err, n * sizeof *ds->files, "names of files");
        } else {
            memcpy(ds->files, l.paths.data, l.paths.len);
            ds->n_files = n;
        }
    }
    buf_release(&l.paths);
    row_set_release(&l.known);
    return st;
}

static grebe_status describe(grebe_dataset *ds, const char *info_json, const char *split, const char *fingerprint,
                             grebe_error *err)
{
    const grebe_allocator *a = ds->ctx->a;
    size_t n = ds->features->top.n_fields;
    struct buf json = BUF_INIT(a);
    grebe_status st = features_to_json(ds->features, -1, 0, &json, err);
    if (st == GREBE_OK) {
        ds->features_json = str_copy_len(a, (const char *)json.data, json.len);
        ds->info_json = str_copy(a, info_json != NULL ? info_json : no_info);
        ds->fingerprint = str_copy(a, fingerprint);
        ds->split = str_copy(a, split);
        ds->columns = mem_alloc(a, n * sizeof *ds->columns);
        if (ds->features_json == NULL || ds->info_json == NULL || ds->fingerprint == NULL || ds->columns == NULL ||
            (split != NULL && ds->split == NULL)) {
            st = mem_fail(err, json.len, "a data set");
        }
    }
    buf_release(&json);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        ds->columns[i] = ds->features->top.fields[i].name;
    }
    return st;
}

static void release_own(grebe_dataset *ds)
{
    const grebe_allocator *a = ds->ctx->a;
    str_free(a, ds->features_json);
    str_free(a, ds->info_json);
    str_free(a, ds->fingerprint);
    str_free(a, ds->split);
    dataset_format_release(a, &ds->format);
    mem_free(a, ds->columns, ds->features != NULL ? ds->features->top.n_fields * sizeof *ds->columns : 0);
    mem_free(a, ds->files, ds->n_files * sizeof *ds->files);
    schema_release(&ds->schema);
    mem_free(a, ds, sizeof *ds);
}

grebe_status dataset_new(grebe_context *ctx, struct dataset_table *table, struct dataset_indices *indices,
                         struct features *features, const char *info_json, const char *split, const char *fingerprint,
                         const grebe_dataset_format *format, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    grebe_dataset *ds = mem_alloc_zero(ctx->a, sizeof *ds);
    if (ds == NULL) {
        return mem_fail(err, sizeof *ds, "a data set");
    }
    atomic_init(&ds->refs, 1);
    ds->ctx = ctx;
    ds->table = table;
    ds->indices = indices;
    ds->features = features;
    ds->n_rows = indices != NULL ? dataset_indices_len(indices) : dataset_table_num_rows(table);
    GREBE_TRY(describe(ds, info_json, split, fingerprint, err));
    GREBE_TRY(dataset_format_copy(ctx->a, format, &ds->format, err));
    GREBE_TRY(list_files(ds, err));
    GREBE_TRY(features_to_schema(ctx->a, features, &ds->schema, err));
    *out = ds;
    ds = NULL;
out:
    if (ds != NULL) {
        release_own(ds); /* what was to be moved in stays the caller's */
    }
    return st;
}

grebe_dataset *grebe_dataset_keep(const grebe_dataset *ds)
{
    grebe_dataset *own = (grebe_dataset *)(uintptr_t)ds;
    if (own != NULL) {
        atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed);
    }
    return own;
}

void grebe_dataset_free(grebe_dataset *ds)
{
    if (ds == NULL || atomic_fetch_sub_explicit(&ds->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    struct dataset_table *table = ds->table;
    struct dataset_indices *indices = ds->indices;
    struct features *features = ds->features;
    release_own(ds);
    dataset_table_drop(table);
    dataset_indices_drop(indices);
    features_free(features);
}

/* ---- what it is ---- */

void grebe_dataset_get_info(const grebe_dataset *ds, grebe_dataset_info *out)
{
    *out = (grebe_dataset_info){
        .n_rows = ds->n_rows,
        .n_columns = ds->features->top.n_fields,
        .columns = ds->columns,
        .features = ds->features_json,
        .info = ds->info_json,
        .fingerprint = ds->fingerprint,
        .split = ds->split,
        .format = ds->format,
        .n_files = ds->n_files,
        .files = ds->files,
        .has_indices = ds->indices != NULL,
        .n_table_rows = dataset_table_num_rows(ds->table),
    };
}

grebe_status grebe_dataset_schema(const grebe_dataset *ds, struct ArrowSchema *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    return features_to_file_schema(ds->ctx->a, ds->features, NULL, out, err);
}

grebe_status grebe_dataset_num_bytes(const grebe_dataset *ds, int64_t *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && out != NULL);
    return dataset_table_num_bytes(ds->table, out, err);
}

grebe_status dataset_copy_features(const grebe_dataset *ds, struct features **out, grebe_error *err)
{
    return features_project(ds->ctx->a, ds->features, ds->columns, NULL, ds->features->top.n_fields, out, err);
}
