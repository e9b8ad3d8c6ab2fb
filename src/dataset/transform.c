/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/transform.h"

#include <string.h>

#include "base/checked.h"
#include "dataset/rows_sink.h"

enum { REWRITE_ROWS = 1000 };

grebe_status transform_begin(struct transform *t, const grebe_dataset *ds, const grebe_transform_options *options,
                             const char *name, grebe_error *err)
{
    memset(t, 0, sizeof *t);
    t->ds = ds;
    t->o = (grebe_transform_options)GREBE_TRANSFORM_OPTIONS_INIT;
    t->path = BUF_INIT(ds->ctx->a);
    t->f.text = BUF_INIT(ds->ctx->a);
    grebe_status st = options_copy(&t->o, sizeof t->o, options, err);
    if (st == GREBE_OK) {
        t->call = call_options_resolve(ds->ctx, t->o.call);
        if (t->o.writer_batch_rows < 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "writer_batch_rows %lld", (long long)t->o.writer_batch_rows);
        }
        if (t->o.keep_in_memory && t->o.cache_file != NULL) {
            return GREBE_FAIL(err, GREBE_EINVAL, "keep_in_memory and a cache file: expected one of them");
        }
        st = fingerprint_begin(&t->f, ds->ctx->a, ds->fingerprint, name, err);
    }
    return st;
}

void transform_end(struct transform *t)
{
    fingerprint_release(&t->f);
    buf_release(&t->path);
}

grebe_status transform_seal(struct transform *t, const char *given, grebe_error *err)
{
    given = given != NULL ? given : t->o.new_fingerprint;
    if (given == NULL) {
        fingerprint_end(&t->f, t->fingerprint);
        return GREBE_OK;
    }
    grebe_status st = fingerprint_check(given, err);
    if (st == GREBE_OK) {
        memcpy(t->fingerprint, given, strlen(given) + 1);
    }
    return st;
}

grebe_status transform_arg_name(struct transform *t, grebe_error *err)
{
    return fingerprint_arg_text(&t->f, "fingerprint_name", "new_fingerprint", err);
}

grebe_status transform_arg_memory(struct transform *t, grebe_error *err)
{
    return t->o.keep_in_memory ? fingerprint_arg_bool(&t->f, "keep_in_memory", true, err) : GREBE_OK;
}

grebe_status transform_arg_batch(struct transform *t, grebe_error *err)
{
    enum { BATCH_DEFAULT = 1000 };
    return t->o.writer_batch_rows > 0 && t->o.writer_batch_rows != BATCH_DEFAULT
               ? fingerprint_arg_int(&t->f, "writer_batch_size", t->o.writer_batch_rows, err)
               : GREBE_OK;
}

/* A file that the set reads would be taken for the result, or be written over while it is read. */
static grebe_status check_not_read(const grebe_dataset *ds, const char *path, grebe_error *err)
{
    struct io_store *store = NULL;
    struct io_info target, info;
    grebe_status st = io_local_new(ds->ctx, &store, err);
    if (st == GREBE_OK && io_stat(store, path, &target, NULL) == GREBE_OK) {
        for (size_t i = 0; i < ds->n_files && st == GREBE_OK; i++) {
            if (io_stat(store, ds->files[i], &info, NULL) == GREBE_OK && info.id.device == target.id.device &&
                info.id.inode == target.id.inode) {
                st = GREBE_FAIL(err, GREBE_EINVAL, "cache file \"%.200s\": this data set reads it: give another name", path);
            }
        }
    }
    io_store_free(store);
    return st;
}

grebe_status transform_path(struct transform *t, const char *given, const char *suffix, const char **out,
                            grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    given = given != NULL ? given : t->o.cache_file;
    *out = NULL;
    buf_clear(&t->path);
    if (t->o.keep_in_memory || (given == NULL && ds->n_files == 0)) {
        return GREBE_OK;
    }
    grebe_status st;
    if (given != NULL) {
        const char *dot = strrchr(path_base_name(given), '.');
        if (dot == NULL) {
            return GREBE_FAIL(err, GREBE_EINVAL, "cache file \"%.200s\": expected a name with an extension", given);
        }
        st = buf_put(&t->path, given, (size_t)(dot - given), err);
        st = st == GREBE_OK ? buf_printf(&t->path, err, "%s%s", suffix, dot) : st;
    } else {
        const char *slash = strrchr(ds->files[0], '/');
        int n = slash != NULL ? (int)(slash - ds->files[0] + 1) : 0;
        st = buf_printf(&t->path, err, "%.*scache-%s%s.arrow", n, ds->files[0], t->fingerprint, suffix);
    }
    if (st == GREBE_OK && buf_text(&t->path) == NULL) {
        st = mem_fail(err, t->path.len, "a path");
    }
    if (st == GREBE_OK && given != NULL) {
        st = check_not_read(ds, buf_text(&t->path), err);
    }
    *out = st == GREBE_OK ? buf_text(&t->path) : NULL;
    return st;
}

bool transform_finds(const struct transform *t, const char *path)
{
    struct io_store *store = NULL;
    struct io_info info;
    bool is_there = !t->o.ignore_cache && path != NULL && io_local_new(t->ds->ctx, &store, NULL) == GREBE_OK &&
                    io_stat(store, path, &info, NULL) == GREBE_OK && info.kind == IO_FILE;
    io_store_free(store);
    return is_there;
}

grebe_status transform_check(struct transform *t, grebe_error *err)
{
    return call_check(&t->call, err);
}

void transform_progress(const struct transform *t, const char *phase, int64_t done, int64_t total)
{
    if (t->call.progress != NULL) {
        grebe_progress p = { .phase = phase, .rows_done = (uint64_t)done, .rows_total = (uint64_t)total };
        t->call.progress(t->call.progress_ctx, &p);
    }
}

/* ---- a data set like the one before ---- */

/* Formatted columns after columns came and went. */
static grebe_status follow_format(const grebe_dataset *ds, const struct features *f, grebe_dataset_format *out,
                                  const char ***owned, size_t *n_owned, grebe_error *err)
{
    *out = ds->format;
    *owned = NULL;
    if (out->columns == NULL) {
        return GREBE_OK;
    }
    *n_owned = f->top.n_fields;
    *owned = mem_alloc(ds->ctx->a, *n_owned * sizeof **owned);
    if (*owned == NULL) {
        return mem_fail(err, *n_owned * sizeof **owned, "columns of a format");
    }
    size_t n = 0;
    for (size_t i = 0; i < ds->format.n_columns; i++) {
        if (features_find(f, ds->format.columns[i]) != NULL && n < *n_owned) {
            (*owned)[n++] = ds->format.columns[i];
        }
    }
    for (size_t i = 0; i < f->top.n_fields; i++) {
        if (dataset_find_column(ds, f->top.fields[i].name) < 0 && n < *n_owned) {
            (*owned)[n++] = f->top.fields[i].name;
        }
    }
    out->columns = *owned;
    out->n_columns = n;
    return GREBE_OK;
}

grebe_status dataset_derive(const grebe_dataset *ds, struct derived *d, const char *fingerprint, grebe_dataset **out,
                            grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char **owned = NULL;
    size_t n_owned = 0;
    grebe_dataset_format format = ds->format;
    struct dataset_table *table = d->table != NULL ? d->table : dataset_table_keep(ds->table);
    struct dataset_indices *indices = d->are_rows_new ? d->indices : dataset_indices_keep(ds->indices);
    struct features *features = d->features;
    *out = NULL;
    if (features == NULL) {
        GREBE_TRY(dataset_copy_features(ds, &features, err));
    }
    if (d->format != NULL) {
        format = *d->format;
    } else {
        GREBE_TRY(follow_format(ds, features, &format, &owned, &n_owned, err));
    }
    GREBE_TRY(dataset_new(ds->ctx, table, indices, features, ds->info_json, ds->split, fingerprint, &format, out, err));
    table = NULL;
    indices = NULL;
    features = NULL;
out:
    mem_free(ds->ctx->a, owned, n_owned * sizeof *owned);
    dataset_table_drop(table);
    dataset_indices_drop(indices);
    features_free(features);
    memset(d, 0, sizeof *d);
    return st;
}

/* ---- rows written anew ---- */

grebe_status transform_take_file(struct transform *t, const char *path, const struct features *to, grebe_dataset **out,
                              grebe_error *err)
{
    struct derived d = { .are_rows_new = true };
    size_t n = to->top.n_fields;
    const char **names = mem_alloc(t->ds->ctx->a, n * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = to->top.fields[i].name;
    }
    grebe_status st = features_project(t->ds->ctx->a, to, names, NULL, n, &d.features, err);
    st = st == GREBE_OK ? dataset_table_of_files(t->ds->ctx, &path, 1, false, &d.table, err) : st;
    st = st == GREBE_OK ? dataset_check_types(t->ds->ctx, to, dataset_table_schema(d.table), err) : st;
    st = st == GREBE_OK ? st : error_wrap(err, st, "%s", path);
    if (st == GREBE_OK) {
        st = dataset_derive(t->ds, &d, t->fingerprint, out, err);
    }
    dataset_table_drop(d.table);
    features_free(d.features);
    mem_free(t->ds->ctx->a, names, n * sizeof *names);
    return st;
}

static grebe_status rewrite_all(struct transform *t, struct rows_sink *sink, rewrite_fn fn, void *arg, grebe_error *err)
{
    const grebe_dataset *ds = t->ds;
    grebe_status st = GREBE_OK;
    for (int64_t row = 0; row < ds->n_rows && st == GREBE_OK;) {
        struct ArrowArray rows = { 0 }, changed = { 0 };
        int64_t end = dataset_batch_end(ds, row, REWRITE_ROWS);
        st = transform_check(t, err);
        st = st == GREBE_OK ? dataset_read_some(ds, row, &end, NULL, 0, &rows, err) : st;
        if (st == GREBE_OK && fn != NULL) {
            st = fn(arg, &rows, row, &changed, err);
        } else if (st == GREBE_OK) {
            array_move(&changed, &rows);
        }
        st = st == GREBE_OK ? rows_sink_put(sink, &changed, err) : st;
        row = end;
        transform_progress(t, "write", row, ds->n_rows);
    }
    return st;
}

grebe_status dataset_rewrite(struct transform *t, const struct features *to, rewrite_fn fn, void *arg,
                             grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const char *path = NULL;
    struct rows_sink *sink = NULL;
    struct derived d = { .are_rows_new = true };
    struct rows_writer_options o = { t->fingerprint, t->o.writer_batch_rows, false, false };
    size_t n = to->top.n_fields;
    const char **names = NULL;
    GREBE_TRY(transform_path(t, NULL, "", &path, err));
    if (transform_finds(t, path)) {
        return transform_take_file(t, path, to, out, err);
    }
    GREBE_TRY(rows_sink_new(t->ds->ctx, path, to, &o, &sink, err));
    GREBE_TRY(rewrite_all(t, sink, fn, arg, err));
    names = mem_alloc(t->ds->ctx->a, n * sizeof *names);
    if (names == NULL) {
        st = mem_fail(err, n * sizeof *names, "columns");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = to->top.fields[i].name;
    }
    GREBE_TRY(features_project(t->ds->ctx->a, to, names, NULL, n, &d.features, err));
    GREBE_TRY(rows_sink_finish(sink, &d.table, err));
    GREBE_TRY(dataset_derive(t->ds, &d, t->fingerprint, out, err));
out:
    rows_sink_free(sink);
    dataset_table_drop(d.table);
    features_free(d.features);
    mem_free(t->ds->ctx->a, names, n * sizeof *names);
    return st;
}
