/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of a table's columns: built, named by a version, dropped. */
#include "search/search_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "search/search_column.h"

bool search_is_ours(const grebe_index_info *index, const char *column)
{
    return strcmp(index->column_name, column) == 0 &&
           strncmp(index->index_type, SEARCH_TYPE_PREFIX, strlen(SEARCH_TYPE_PREFIX)) == 0;
}

grebe_status search_index_path(const grebe_allocator *a, const char *folder, struct buf *out, grebe_error *err)
{
    *out = BUF_INIT(a);
    grebe_status st = buf_put(out, folder, strlen(folder), err);
    return st == GREBE_OK ? buf_put(out, "/" SEARCH_INDEX_FILE, sizeof "/" SEARCH_INDEX_FILE, err) : st;
}

/* The column of every row that is there, into an index whose ids are row ids. */
static grebe_status fill_index(const grebe_table *table, const char *column, const struct call *call,
                               const grebe_column_index_options *o, grebe_ann_index **out, grebe_error *err)
{
    grebe_context *ctx = table->ctx;
    struct ArrowArrayStream rows = { 0 };
    struct search_column c = { 0 };
    grebe_scan_options scan = GREBE_SCAN_OPTIONS_INIT;
    grebe_vectors v = GREBE_VECTORS_INIT;
    grebe_status st = GREBE_OK;
    scan.columns = &column;
    scan.n_columns = 1;
    scan.with_row_id = true;
    scan.call = o->call;
    GREBE_TRY(grebe_table_scan(table, &scan, &rows, err));
    GREBE_TRY(search_column_read(ctx->a, &rows, column, "_rowid", (size_t)grebe_table_num_rows(table), call, &c, err));
    GREBE_TRY(grebe_ann_index_new(ctx, o->kind, o->metric, (grebe_elem)c.elem, o->params, o->n_params, call->threads, out, err));
    v.elem = (grebe_elem)c.elem;
    v.rows = c.n;
    v.dim = c.dim;
    v.data = c.rows;
    st = c.n == 0 ? GREBE_OK : grebe_ann_index_add(*out, &v, c.ids, o->call, err);
out:
    stream_release(&rows);
    search_column_release(&c);
    return st;
}

/* A fresh folder for the index, "<table>/_index/<uuid>". */
static grebe_status make_folder(const grebe_table *table, bool is_durable, struct buf *out, grebe_error *err)
{
    char uuid[37];
    struct io_store *store = table->store->store;
    grebe_status st = context_uuid(table->ctx, uuid, err);
    *out = BUF_INIT(table->ctx->a);
    GREBE_TRY(st);
    GREBE_TRY(buf_put(out, table->path, strlen(table->path), err));
    GREBE_TRY(buf_put(out, "/_index/", 8, err));
    GREBE_TRY(buf_put(out, uuid, sizeof uuid, err));
    st = io_make_folders(store, (const char *)out->data, is_durable, err);
out:
    return st;
}

static grebe_status commit_index(const grebe_table *table, const char *column, const char *folder,
                                 const grebe_column_index_options *o, const grebe_ann_index_stats *stats,
                                 const grebe_txn_options *options, grebe_table **out, grebe_error *err)
{
    grebe_txn *txn = NULL;
    uint64_t id = 0;
    char type[64], version[32];
    const char *file = SEARCH_INDEX_FILE;
    grebe_table_info *info = NULL;
    grebe_property properties[2] = { { "metric", grebe_metric_name(o->metric) }, { "version", version } };
    grebe_status st = GREBE_OK;
    snprintf(type, sizeof type, "%s%s", SEARCH_TYPE_PREFIX, grebe_ann_index_kind_name(o->kind));
    snprintf(version, sizeof version, "%" PRId64, grebe_table_version(table));
    GREBE_TRY(context_random(table->ctx, &id, sizeof id, err));
    grebe_index entry = { .column_name = column, .index_name = o->name != NULL ? o->name : column, .index_type = type,
                          .path = folder, .index_id = (int64_t)(id >> 1) | 1, .n_rows = (int64_t)stats->rows,
                          .serialized_size = (int64_t)(stats->bytes_vectors + stats->bytes_codes + stats->bytes_links +
                                                       stats->bytes_other),
                          .file_keys = &file, .n_file_keys = 1, .properties = properties, .n_properties = 2 };
    GREBE_TRY(grebe_txn_new(table, options, &txn, err));
    GREBE_TRY(grebe_table_info_get(table, &info, err));
    for (size_t i = 0; i < info->n_indexes; i++) {
        if (search_is_ours(&info->indexes[i], column) && info->indexes[i].index_id != 0) {
            GREBE_TRY(grebe_txn_drop_index(txn, info->indexes[i].index_id, err));
        }
    }
    GREBE_TRY(grebe_txn_add_index(txn, &entry, err));
    st = grebe_txn_commit(txn, NULL, out, err);
out:
    grebe_table_info_free(info);
    grebe_txn_free(txn);
    return st;
}

grebe_status grebe_table_build_index(const grebe_table *table, const char *column,
                                     const grebe_column_index_options *options, grebe_table **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && column != NULL && out != NULL);
    grebe_column_index_options o = GREBE_COLUMN_INDEX_OPTIONS_INIT;
    grebe_txn_options txn = GREBE_TXN_OPTIONS_INIT;
    grebe_ann_index *index = NULL;
    grebe_ann_index_stats stats = GREBE_ANN_INDEX_STATS_INIT;
    struct buf folder = BUF_INIT(table->ctx->a), path = BUF_INIT(table->ctx->a);
    grebe_status st = GREBE_OK;
    *out = NULL;
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    GREBE_TRY(options_copy(&txn, sizeof txn, o.txn, err));
    txn.operation = txn.operation != NULL ? txn.operation : "build index";
    struct call call = call_options_resolve(table->ctx, o.call);
    GREBE_TRY(fill_index(table, column, &call, &o, &index, err));
    GREBE_TRY(grebe_ann_index_get_stats(index, &stats, err));
    GREBE_TRY(make_folder(table, !txn.is_not_durable, &folder, err));
    GREBE_TRY(search_index_path(table->ctx->a, (const char *)folder.data, &path, err));
    GREBE_TRY(grebe_ann_index_save(index, (const char *)path.data, !txn.is_not_durable, err));
    st = commit_index(table, column, (const char *)folder.data, &o, &stats, &txn, out, err);
    if (st != GREBE_OK && st != GREBE_EUNKNOWN_OUTCOME) { /* nobody names it */
        grebe_error ignored = GREBE_ERROR_INIT;
        grebe_status gone = io_remove(table->store->store, (const char *)path.data, &ignored);
        gone = gone == GREBE_OK ? io_remove(table->store->store, (const char *)folder.data, &ignored) : gone;
        (void)gone;
    }
out:
    grebe_ann_index_close(index);
    buf_release(&folder);
    buf_release(&path);
    return st == GREBE_OK ? st : error_wrap(err, st, "index of column %s", column);
}

grebe_status grebe_table_drop_index(const grebe_table *table, const char *column, const grebe_txn_options *txn,
                                    grebe_table **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && column != NULL && out != NULL);
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    grebe_txn *x = NULL;
    grebe_table_info *info = NULL;
    bool is_any = false;
    grebe_status st = GREBE_OK;
    *out = NULL;
    GREBE_TRY(options_copy(&o, sizeof o, txn, err));
    o.operation = o.operation != NULL ? o.operation : "drop index";
    GREBE_TRY(grebe_txn_new(table, &o, &x, err));
    GREBE_TRY(grebe_table_info_get(table, &info, err));
    for (size_t i = 0; i < info->n_indexes; i++) {
        if (search_is_ours(&info->indexes[i], column) && info->indexes[i].index_id != 0) {
            GREBE_TRY(grebe_txn_drop_index(x, info->indexes[i].index_id, err));
            is_any = true;
        }
    }
    if (!is_any) {
        st = GREBE_FAIL(err, GREBE_ENOTFOUND, "column %s: expected an index, version %" PRId64 " has none", column,
                        grebe_table_version(table));
        goto out;
    }
    st = grebe_txn_commit(x, NULL, out, err);
out:
    grebe_table_info_free(info);
    grebe_txn_free(x);
    return st;
}
