/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <inttypes.h>

#include "base/checked.h"
#include "table/version.h"

/* ---- stores ---- */

grebe_status table_store_new(grebe_context *ctx, struct io_store *store, bool is_owned,
                             struct table_store **out, grebe_error *err)
{
    struct table_store *s = mem_alloc_zero(ctx->a, sizeof *s);
    *out = s;
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a store");
    }
    atomic_init(&s->refs, 1);
    s->store = store;
    s->is_owned = is_owned;
    return GREBE_OK;
}

struct table_store *table_store_keep(struct table_store *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void table_store_drop(struct table_store *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    const grebe_allocator *a = s->store->ctx->a;
    if (s->is_owned) {
        io_store_free(s->store);
    }
    mem_free(a, s, sizeof *s);
}

grebe_status table_store_open(grebe_context *ctx, size_t n_storage_options,
                              struct table_store **out, grebe_error *err)
{
    struct io_store *store = NULL;
    *out = NULL;
    if (n_storage_options > 0) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                          "storage options: this build has no object stores");
    }
    grebe_status st = io_local_new(ctx, &store, err);
    if (st == GREBE_OK) {
        st = table_store_new(ctx, store, true, out, err);
    }
    if (st != GREBE_OK) {
        io_store_free(store);
    }
    return st;
}

/* ---- names ---- */

grebe_status table_uri_path(const char *uri, const char **path, grebe_error *err)
{
    size_t scheme = path_scheme_len(uri);
    *path = uri;
    if (scheme == 0) {
        return GREBE_OK;
    }
    if (scheme == 4 && memcmp(uri, "file", 4) == 0) {
        const char *rest = uri + scheme + 3;
        if (strncmp(rest, "localhost/", 10) == 0) {
            rest += 9;
        }
        if (rest[0] != '/') {
            return GREBE_FAIL(err, GREBE_EINVAL, "\"%.200s\": expected file:///absolute/path", uri);
        }
        *path = rest;
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "\"%.200s\": this build has no store for \"%.*s\"",
                      uri, (int)min_size(scheme, 32), uri);
}

static bool parse_version(const char *text, int64_t *out)
{
    int64_t v = 0;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        int digit = *text - '0';
        if (v > (INT64_MAX - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    *out = v;
    return *text == '\0';
}

grebe_status table_resolve_at(struct io_store *store, const char *path, const char *at,
                              int64_t *out, grebe_error *err)
{
    int64_t time_us = 0;
    if (at == NULL) {
        return version_latest(store, path, out, err);
    }
    if (parse_version(at, out)) {
        return GREBE_OK;
    }
    struct tag tag = { 0 };
    grebe_status st = tag_name_check(at, NULL);
    if (st == GREBE_OK) {
        st = tag_read(store, path, at, &tag, err);
        if (st == GREBE_OK) {
            *out = tag.version;
        }
        tag_release(store->ctx->a, &tag);
        if (st != GREBE_ENOTFOUND) {
            return st;
        }
    }
    if (time_parse(at, &time_us)) {
        return version_at_time(store, path, time_us, out, err);
    }
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: no version, tag or time \"%.200s\"", path, at);
}

/* ---- tables ---- */

grebe_status table_new_for_inspection(grebe_context *ctx, struct table_store *store,
                                      const char *path, int32_t compat, struct snapshot *snapshot,
                                      grebe_table **out, grebe_error *err)
{
    static const struct columns none = { .n = 0 };
    grebe_table *t = mem_alloc_zero(ctx->a, sizeof *t);
    *out = NULL;
    if (t == NULL) {
        return mem_fail(err, sizeof *t, "a table");
    }
    t->path = str_copy(ctx->a, path);
    if (t->path == NULL) {
        mem_free(ctx->a, t, sizeof *t);
        return mem_fail(err, strlen(path), "a path");
    }
    atomic_init(&t->refs, 1);
    atomic_flag_clear(&t->files_lock);
    t->ctx = ctx;
    t->compat = compat;
    t->store = table_store_keep(store);
    t->columns_error = (grebe_error)GREBE_ERROR_INIT;
    t->columns_status = snapshot_columns(snapshot, store->store, compat == GREBE_COMPAT_MILVUS,
                                         &t->columns, &t->columns_error);
    if (t->columns_status != GREBE_OK) {
        error_wrap(&t->columns_error, t->columns_status, "%s", path);
        t->columns = &none;
    }
    t->snapshot = snapshot;
    *out = t;
    return GREBE_OK;
}

grebe_status table_check_columns(const grebe_table *t, grebe_error *err)
{
    if (t->columns_status != GREBE_OK && err != NULL) {
        *err = t->columns_error;
    }
    return t->columns_status;
}

grebe_status table_new(grebe_context *ctx, struct table_store *store, const char *path,
                       int32_t compat, struct snapshot *snapshot, grebe_table **out,
                       grebe_error *err)
{
    grebe_status st = table_new_for_inspection(ctx, store, path, compat, snapshot, out, err);
    if (st == GREBE_OK) {
        st = table_check_columns(*out, err);
    }
    if (st != GREBE_OK && *out != NULL) {
        (*out)->snapshot = NULL; /* stays the caller's */
        grebe_table_close(*out);
        *out = NULL;
    }
    return st;
}

grebe_status table_check_layout(const grebe_table *t, grebe_error *err)
{
    const struct snapshot *s = t->snapshot;
    grebe_status st = snapshot_check_rows(s, table_is_milvus(t), err);
    if (st != GREBE_OK) {
        return error_wrap(err, st, "%s: version %" PRId64, t->path, s->version);
    }
    return table_check_columns(t, err);
}

static grebe_status open_version(grebe_context *ctx, struct table_store *store, const char *path,
                                 const grebe_table_open_options *o, int64_t version,
                                 grebe_table **out, grebe_error *err)
{
    struct snapshot *snapshot = NULL;
    grebe_status st = snapshot_open(store->store, path, version, &snapshot, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = o->is_for_inspection
             ? table_new_for_inspection(ctx, store, path, o->compat, snapshot, out, err)
             : table_new(ctx, store, path, o->compat, snapshot, out, err);
    if (st != GREBE_OK) {
        snapshot_drop(snapshot);
        return st;
    }
    (*out)->skip_checksums = o->skip_checksums;
    /* The reference finds this out when it scans; a take works there all the same. */
    if (o->compat != GREBE_COMPAT_MILVUS && !o->is_for_inspection) {
        st = table_check_layout(*out, err);
        if (st != GREBE_OK) {
            grebe_table_close(*out);
            *out = NULL;
        }
    }
    return st;
}

/* Open `path`, at `at` or as the options say. GREBE_ENOTFOUND when it holds no version. */
static grebe_status open_path(grebe_context *ctx, struct table_store *store, const char *path,
                              const grebe_table_open_options *o, const char *at,
                              grebe_table **out, grebe_error *err)
{
    int64_t version = o->version;
    grebe_status st = GREBE_OK;
    if (at != NULL || version == GREBE_VERSION_LATEST) {
        st = table_resolve_at(store->store, path, at, &version, err);
        if (st == GREBE_OK && version == 0) {
            st = at != NULL ? GREBE_FAIL(err, GREBE_ENOTFOUND, "%s: version 0 is not there", path)
                            : GREBE_FAIL(err, GREBE_ENOTFOUND,
                                         "%s: expected a table, found no version", path);
        }
    }
    if (st == GREBE_OK && version < 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a version >= 0, found %" PRId64, version);
    }
    return st == GREBE_OK ? open_version(ctx, store, path, o, version, out, err) : st;
}

/* "NAME@AT" where no folder is called so: what stands behind the last '@' of the last part. */
static const char *at_mark(struct io_store *store, const char *path)
{
    struct io_info info;
    const char *mark = strrchr(path, '@');
    if (mark == NULL || mark == path || mark[-1] == '/' || mark[1] == '\0' ||
        strchr(mark, '/') != NULL || io_stat(store, path, &info, NULL) != GREBE_ENOTFOUND) {
        return NULL;
    }
    return mark;
}

static grebe_status open_in_store(struct table_store *store, const char *path,
                                  const grebe_table_open_options *options, grebe_table **out,
                                  grebe_error *err)
{
    grebe_context *ctx = store->store->ctx;
    /* Who says which version it is, be it none yet, has given the name of the folder as it is. */
    bool is_plain = options->at != NULL || options->version != GREBE_VERSION_LATEST;
    const char *mark = is_plain ? NULL : at_mark(store->store, path);
    if (mark == NULL) {
        return open_path(ctx, store, path, options, options->at, out, err);
    }
    char *name = str_copy_len(ctx->a, path, (size_t)(mark - path));
    if (name == NULL) {
        return mem_fail(err, (size_t)(mark - path), "a path");
    }
    grebe_status st = open_path(ctx, store, name, options, mark + 1, out, err);
    str_free(ctx->a, name);
    return st;
}

static grebe_status open_options(const grebe_table_open_options *options,
                                 grebe_table_open_options *out, grebe_error *err)
{
    *out = (grebe_table_open_options)GREBE_TABLE_OPEN_OPTIONS_INIT;
    grebe_status st = options_copy(out, sizeof *out, options, err);
    if (st == GREBE_OK && out->compat != GREBE_COMPAT_NONE && out->compat != GREBE_COMPAT_MILVUS) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "compat: expected 0 or 1, found %d", out->compat);
    }
    return st;
}

grebe_status table_open_in(struct io_store *store, const char *path,
                           const grebe_table_open_options *options, grebe_table **out,
                           grebe_error *err)
{
    grebe_table_open_options o;
    struct table_store *shared = NULL;
    *out = NULL;
    grebe_status st = open_options(options, &o, err);
    if (st == GREBE_OK) {
        st = table_store_new(store->ctx, store, false, &shared, err);
    }
    if (st == GREBE_OK) {
        st = open_in_store(shared, path, &o, out, err);
    }
    table_store_drop(shared);
    return st;
}

grebe_status grebe_table_open(grebe_context *ctx, const char *uri,
                              const grebe_table_open_options *options, grebe_table **out,
                              grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && uri != NULL && out != NULL);
    grebe_table_open_options o;
    struct table_store *store = NULL;
    const char *path = NULL;
    *out = NULL;
    if (uri[0] == '\0') {
        return GREBE_FAIL(err, GREBE_EINVAL, "expected a path, found an empty text");
    }
    grebe_status st = open_options(options, &o, err);
    if (st == GREBE_OK) {
        st = table_uri_path(uri, &path, err);
    }
    if (st == GREBE_OK) {
        st = table_store_open(ctx, o.n_storage_options, &store, err);
    }
    if (st == GREBE_OK) {
        st = open_in_store(store, path, &o, out, err);
    }
    table_store_drop(store);
    return st;
}

grebe_status grebe_table_open_at(const grebe_table *table, const char *at, grebe_table **out,
                                 grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    grebe_table_open_options o = GREBE_TABLE_OPEN_OPTIONS_INIT;
    o.compat = table->compat;
    o.skip_checksums = table->skip_checksums;
    *out = NULL;
    return open_path(table->ctx, table->store, table->path, &o, at, out, err);
}

grebe_table *grebe_table_keep(grebe_table *table)
{
    atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
    return table;
}

void grebe_table_close(grebe_table *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < TABLE_FILES_KEPT; i++) {
        data_file_drop(t->files[i]);
    }
    snapshot_drop(t->snapshot);
    table_store_drop(t->store);
    str_free(t->ctx->a, t->path);
    mem_free(t->ctx->a, t, sizeof *t);
}

int64_t grebe_table_version(const grebe_table *table) { return table->snapshot->version; }

const char *grebe_table_path(const grebe_table *table) { return table->path; }

int64_t grebe_table_num_rows(const grebe_table *table) { return table->snapshot->n_rows; }

int64_t grebe_table_next_row_id(const grebe_table *table)
{
    return table_is_milvus(table) ? table->snapshot->n_rows : table->snapshot->next_row_id;
}

grebe_status grebe_table_schema(const grebe_table *table, struct ArrowSchema *out,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    grebe_status st = table_check_columns(table, err);
    if (st != GREBE_OK) {
        *out = (struct ArrowSchema){ 0 };
        return st;
    }
    return schema_copy(table->ctx->a, &table->columns->schema, out, err);
}

grebe_status grebe_table_latest_version(const grebe_table *table, int64_t *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    return version_latest(table->store->store, table->path, out, err);
}

grebe_status grebe_table_versions(const grebe_table *table, int64_t **out, size_t *n,
                                  grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL && n != NULL);
    return version_list(table->ctx->a, table->store->store, table->path, out, n, err);
}

void grebe_versions_free(const grebe_table *table, int64_t *versions, size_t n)
{
    mem_free(table->ctx->a, versions, n * sizeof *versions);
}
