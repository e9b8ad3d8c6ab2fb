/* SPDX-License-Identifier: Apache-2.0 */
#include "grebe/source_vdb.h"

#include <stdio.h>
#include <string.h>

#include "base/context_internal.h"
#include "grebe/source_internal.h"

struct source_vdb {
    grebe_context *ctx;
    grebe_vdb *vdb;
    struct buf name;
    char root[64]; /* of the tree, which scans read */
    int64_t n_rows;
};

/* ---- names ---- */

static bool is_there(struct io_store *store, const struct buf *folder, const char *entry)
{
    char path[4096];
    struct io_info info;
    int n = snprintf(path, sizeof path, "%.*s/%s", (int)folder->len, (const char *)folder->data, entry);
    return n > 0 && (size_t)n < sizeof path && io_stat(store, path, &info, NULL) == GREBE_OK;
}

/* By what git itself looks for; a folder in between is a repository whose folder .git is. */
static bool is_repository(struct io_store *store, const char *path, size_t len)
{
    struct buf folder = { .data = (unsigned char *)(uintptr_t)path, .len = len };
    return len > 0 && (is_there(store, &folder, ".git") ||
                       (is_there(store, &folder, "HEAD") && is_there(store, &folder, "objects")));
}

const char *source_vdb_name(struct io_store *store, const char *uri, bool is_forced)
{
    for (const char *at = strchr(uri, '#'); at != NULL; at = strchr(at + 1, '#')) {
        if (is_repository(store, uri, (size_t)(at - uri))) {
            return at + 1;
        }
    }
    const char *last = is_forced ? strrchr(uri, '#') : NULL;
    return last == NULL ? NULL : last + 1;
}

/* ---- opening ---- */

static grebe_status open_collection(struct source_vdb *v, const char *uri, const char *name, grebe_error *err)
{
    const char *revision = strchr(name, '@');
    struct buf path = BUF_INIT(v->ctx->a);
    grebe_vdb_result *info = NULL;
    grebe_status st;
    GREBE_TRY(buf_put(&path, uri, (size_t)(name - 1 - uri), err));
    GREBE_TRY(buf_put_byte(&path, '\0', err));
    GREBE_TRY(buf_put(&v->name, name, revision == NULL ? strlen(name) : (size_t)(revision - name), err));
    GREBE_TRY(buf_put_byte(&v->name, '\0', err));
    GREBE_TRY(grebe_vdb_open(v->ctx, (const char *)path.data, GREBE_VDB_EXISTING, &v->vdb, err));
    GREBE_TRY(grebe_vdb_info(v->vdb, (const char *)v->name.data, revision == NULL ? NULL : revision + 1, &info, err));
    snprintf(v->root, sizeof v->root, "%s", grebe_vdb_result_root(info));
    uint64_t n = grebe_vdb_result_count(info);
    v->n_rows = n > INT64_MAX ? INT64_MAX : (int64_t)n;
out:
    grebe_vdb_result_free(info);
    buf_release(&path);
    return error_wrap(err, st, "%s", uri);
}

grebe_status source_vdb_open(grebe_context *ctx, const char *uri, const char *name, struct source_vdb **out,
                             grebe_error *err)
{
    *out = NULL;
    struct source_vdb *v = mem_alloc_zero(ctx->a, sizeof *v);
    if (v == NULL) {
        return mem_fail(err, sizeof *v, uri);
    }
    v->ctx = ctx;
    v->name = BUF_INIT(ctx->a);
    grebe_status st = open_collection(v, uri, name, err);
    if (st != GREBE_OK) {
        source_vdb_close(v);
        return st;
    }
    *out = v;
    return GREBE_OK;
}

void source_vdb_close(struct source_vdb *v)
{
    if (v != NULL) {
        grebe_vdb_close(v->vdb); /* streams have references of their own */
        buf_release(&v->name);
        mem_free(v->ctx->a, v, sizeof *v);
    }
}

/* ---- reading ---- */

int64_t source_vdb_rows(const struct source_vdb *v) { return v->n_rows; }

static bool is_wanted(const grebe_scan_options *o, const char *column)
{
    bool is_wanted = o == NULL || o->columns == NULL || o->where != NULL;
    for (size_t i = 0; !is_wanted && i < o->n_columns; i++) {
        is_wanted = strcmp(o->columns[i], column) == 0;
    }
    return is_wanted;
}

static grebe_status scan_columns(struct source_vdb *v, const grebe_scan_options *given, struct ArrowArrayStream *out,
                                 grebe_error *err)
{
    grebe_vdb_read_options o = GREBE_VDB_READ_OPTIONS_INIT;
    o.at = v->root;
    o.with_payload = is_wanted(given, "payload");
    o.with_vector = is_wanted(given, "vector");
    o.call = given == NULL ? NULL : given->call;
    return grebe_vdb_scan(v->vdb, (const char *)v->name.data, NULL, &o, out, err);
}

grebe_status source_vdb_schema(struct source_vdb *v, struct ArrowSchema *out, grebe_error *err)
{
    struct ArrowArrayStream rows = { 0 };
    grebe_status st = scan_columns(v, NULL, &rows, err);
    st = st == GREBE_OK ? stream_schema(&rows, out, err) : st;
    stream_release(&rows);
    return st;
}

grebe_status source_vdb_scan(struct source_vdb *v, const grebe_scan_options *options, struct ArrowArrayStream *out,
                             grebe_error *err)
{
    grebe_scan_options o = GREBE_SCAN_OPTIONS_INIT;
    struct ArrowArrayStream rows = { 0 };
    grebe_status st = options == NULL ? GREBE_OK : options_copy(&o, sizeof o, options, err);
    /* columns that nobody has are named by who selects them, which needs the names of all */
    for (size_t i = 0; st == GREBE_OK && o.columns != NULL && i < o.n_columns; i++) {
        const char *column = o.columns[i];
        if (strcmp(column, "id") != 0 && strcmp(column, "vector") != 0 && strcmp(column, "payload") != 0) {
            options = NULL;
        }
    }
    st = st == GREBE_OK ? scan_columns(v, options == NULL ? NULL : &o, &rows, err) : st;
    st = st == GREBE_OK ? select_stream(v->ctx, &rows, &o, out, err) : st;
    stream_release(&rows);
    return st;
}
