/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on what lies in files already: column groups, delete logs, statistics, indexes, LOB files. */
#include "table/txn_internal.h"

#include <inttypes.h>

/* ---- copies ---- */

static grebe_status copy_texts(struct grebe_txn *x, const char *const *texts, size_t n,
                               struct avro_list *out, grebe_error *err)
{
    manifest_text *items = arena_array(&x->arena, n, sizeof *items);
    if (items == NULL) {
        return mem_fail(err, n * sizeof *items, "texts");
    }
    for (size_t i = 0; i < n; i++) {
        grebe_status st = txn_text(x, texts[i], &items[i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    *out = (struct avro_list){ items, n };
    return GREBE_OK;
}

/* Sorted by key, of equal keys the last one: as manifests are kept. */
static grebe_status copy_properties(struct grebe_txn *x, const grebe_property *properties,
                                    size_t n, struct avro_list *out, grebe_error *err)
{
    struct avro_pair *pairs = arena_array(&x->arena, n, sizeof *pairs);
    size_t used = 0;
    if (pairs == NULL) {
        return mem_fail(err, n * sizeof *pairs, "properties");
    }
    for (size_t i = 0; i < n; i++) {
        struct avro_pair pair;
        grebe_status st = txn_text(x, properties[i].key, &pair.key, err);
        if (st == GREBE_OK) {
            st = txn_text(x, properties[i].value, &pair.value, err);
        }
        if (st != GREBE_OK) {
            return st;
        }
        size_t at = 0;
        while (at < used && strcmp(pairs[at].key.data, pair.key.data) < 0) {
            at++;
        }
        if (at == used || strcmp(pairs[at].key.data, pair.key.data) != 0) {
            memmove(&pairs[at + 1], &pairs[at], (used - at) * sizeof *pairs);
            used++;
        }
        pairs[at] = pair;
    }
    *out = (struct avro_list){ pairs, used };
    return GREBE_OK;
}

static grebe_status copy_path(struct grebe_txn *x, enum manifest_folder folder, const char *path,
                              manifest_text *out, grebe_error *err)
{
    struct buf stored = BUF_INIT(x->ctx->a);
    grebe_status st = manifest_path_relativize(&stored, x->base->path, folder, path, err);
    if (st == GREBE_OK && buf_text(&stored) == NULL) {
        st = mem_fail(err, stored.len, "a path");
    }
    if (st == GREBE_OK) {
        st = txn_text(x, buf_text(&stored), out, err);
    }
    buf_release(&stored);
    return st;
}

/* ---- files ---- */

static grebe_status copy_file(struct grebe_txn *x, const grebe_group_file *from,
                              struct manifest_file *to, grebe_error *err)
{
    if (from->path == NULL || from->path[0] == '\0' || from->row_begin < 0 ||
        from->row_end < from->row_begin) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "file \"%.128s\": expected a path and 0 <= row_begin <= row_end, found [%"
                          PRId64 ", %" PRId64 ")", from->path == NULL ? "" : from->path,
                          from->row_begin, from->row_end);
    }
    to->row_begin = from->row_begin;
    to->row_end = from->row_end;
    to->blob = (manifest_text){ "", 0 };
    grebe_status st = copy_path(x, FOLDER_DATA, from->path, &to->path, err);
    return st != GREBE_OK ? st : copy_properties(x, from->properties, from->n_properties,
                                                 &to->properties, err);
}

static grebe_status copy_group(struct grebe_txn *x, const grebe_group *from,
                               struct manifest_group *to, int64_t *n_rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *n_rows = 0;
    if (from->format == NULL || from->n_columns == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "column group: expected a format and columns");
    }
    struct manifest_file *files = arena_array(&x->arena, from->n_files, sizeof *files);
    if (files == NULL) {
        return mem_fail(err, from->n_files * sizeof *files, "files");
    }
    GREBE_TRY(txn_text(x, from->format, &to->format, err));
    GREBE_TRY(copy_texts(x, from->columns, from->n_columns, &to->columns, err));
    for (size_t i = 0; i < from->n_files; i++) {
        GREBE_TRY(copy_file(x, &from->files[i], &files[i], err));
        int64_t n = files[i].row_end - files[i].row_begin;
        if (n > INT64_MAX - *n_rows) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "more than 2^63 rows");
        }
        *n_rows += n;
    }
    to->files = (struct avro_list){ files, from->n_files };
out:
    return st;
}

/* Existing files as a staged set: types are found in the files by whoever reads. */
static grebe_status stage_files(struct grebe_txn *x, const grebe_group *groups, size_t n,
                                struct staged **out, grebe_error *err)
{
    size_t n_columns = 0;
    for (size_t i = 0; i < n; i++) {
        n_columns += groups[i].n_columns;
    }
    struct staged *s = arena_alloc_zero(&x->arena, sizeof *s);
    struct manifest_group *copies = arena_array(&x->arena, n, sizeof *copies);
    struct draft_column *columns = arena_array(&x->arena, n_columns, sizeof *columns);
    if (s == NULL || copies == NULL || columns == NULL) {
        return mem_fail(err, n * sizeof *copies + n_columns * sizeof *columns, "column groups");
    }
    for (size_t i = 0; i < n; i++) {
        int64_t n_rows = 0;
        grebe_status st = copy_group(x, &groups[i], &copies[i], &n_rows, err);
        if (st == GREBE_OK && i > 0 && n_rows != s->n_rows) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA,
                            "column groups: group 0 has %" PRId64 " rows, group %zu has %" PRId64,
                            s->n_rows, i, n_rows);
        }
        if (st != GREBE_OK) {
            return st;
        }
        s->n_rows = n_rows;
        for (size_t c = 0; c < copies[i].columns.n; c++) {
            const char *name = manifest_column_at(&copies[i], c);
            columns[s->n_columns++] = (struct draft_column){ name, name, { 0 } };
        }
    }
    s->groups = copies;
    s->n_groups = n;
    s->columns = columns;
    *out = s;
    return GREBE_OK;
}

static grebe_status push_staged(struct grebe_txn *x, struct op_list *list, const grebe_group *groups,
                                size_t n, grebe_error *err)
{
    struct staged *s = NULL;
    grebe_status st = txn_check_open(x, err);
    if (st == GREBE_OK) {
        st = stage_files(x, groups, n, &s, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct staged **slot = op_push(&x->arena, list, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "an operation");
    }
    *slot = s;
    st = txn_try_on_base(x, err);
    list->n -= st != GREBE_OK;
    return st;
}

grebe_status grebe_txn_append_files(grebe_txn *x, const grebe_group *groups, size_t n_groups,
                                    grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && groups != NULL && n_groups > 0);
    return push_staged(x, &x->appends, groups, n_groups, err);
}

grebe_status grebe_txn_add_group(grebe_txn *x, const grebe_group *group, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && group != NULL);
    return push_staged(x, &x->additions, group, 1, err);
}

/* ---- lists ---- */

grebe_status grebe_txn_add_delta_log(grebe_txn *x, const char *path, int32_t type,
                                     int64_t n_entries, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && path != NULL && type >= 0 && type <= 2 && n_entries >= 0);
    struct manifest_delta delta = { .type = type, .n_entries = n_entries };
    grebe_status st = txn_check_open(x, err);
    if (st == GREBE_OK) {
        st = copy_path(x, FOLDER_DELTA, path, &delta.path, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct manifest_delta *slot = op_push(&x->arena, &x->deltas, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "an operation");
    }
    *slot = delta;
    return GREBE_OK;
}

grebe_status grebe_txn_set_stat(grebe_txn *x, const char *key, const char *const *paths,
                                size_t n_paths, const grebe_property *metadata, size_t n_metadata,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && key != NULL && key[0] != '\0' &&
                             (paths != NULL || n_paths == 0) &&
                             (metadata != NULL || n_metadata == 0));
    struct manifest_stat stat = { 0 };
    grebe_status st = txn_check_open(x, err);
    if (st == GREBE_OK && strncmp(key, "grebe.", 6) == 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "statistics \"%.64s\": \"grebe.\" is reserved", key);
    }
    if (st == GREBE_OK) {
        st = txn_text(x, key, &stat.key, err);
    }
    manifest_text *items = arena_array(&x->arena, n_paths, sizeof *items);
    if (st == GREBE_OK && items == NULL) {
        st = mem_fail(err, n_paths * sizeof *items, "paths");
    }
    for (size_t i = 0; i < n_paths && st == GREBE_OK; i++) {
        st = copy_path(x, FOLDER_STATS, paths[i], &items[i], err);
    }
    stat.paths = (struct avro_list){ items, n_paths };
    if (st == GREBE_OK) {
        st = copy_properties(x, metadata, n_metadata, &stat.metadata, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct manifest_stat *slot = op_push(&x->arena, &x->stats, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "an operation");
    }
    *slot = stat;
    return GREBE_OK;
}

grebe_status grebe_txn_add_index(grebe_txn *x, const grebe_index *index, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && index != NULL && index->column_name != NULL &&
                             index->index_type != NULL && index->path != NULL);
    grebe_status st = txn_check_open(x, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct manifest_index copy = {
        .field_id = index->field_id,
        .index_id = index->index_id,
        .build_id = index->build_id,
        .index_version = index->index_version,
        .n_rows = index->n_rows,
        .serialized_size = index->serialized_size,
        .mem_size = index->mem_size,
        .current_index_version = index->current_index_version,
        .current_scalar_index_version = index->current_scalar_index_version,
        .index_store_path_version = index->index_store_path_version,
    };
    const char *column = index->column_name; /* manifests know the stored name only */
    for (size_t i = 0; i < x->base->columns->n; i++) {
        if (strcmp(x->base->columns->schema.children[i]->name, index->column_name) == 0) {
            column = x->base->columns->items[i].stored;
        }
    }
    GREBE_TRY(txn_text(x, column, &copy.column_name, err));
    GREBE_TRY(txn_text(x, index->index_name, &copy.index_name, err));
    GREBE_TRY(txn_text(x, index->index_type, &copy.index_type, err));
    GREBE_TRY(copy_path(x, FOLDER_INDEX, index->path, &copy.path, err));
    GREBE_TRY(copy_texts(x, index->file_keys, index->n_file_keys, &copy.file_keys, err));
    GREBE_TRY(copy_properties(x, index->properties, index->n_properties, &copy.properties, err));
    struct manifest_index *slot = op_push(&x->arena, &x->indexes, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "an operation");
    }
    *slot = copy;
out:
    return st;
}

grebe_status grebe_txn_drop_index(grebe_txn *x, int64_t index_id, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && index_id != 0);
    grebe_status st = txn_check_open(x, err);
    if (st != GREBE_OK) {
        return st;
    }
    int64_t *slot = op_push(&x->arena, &x->index_drops, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "an operation");
    }
    *slot = index_id;
    return GREBE_OK;
}

grebe_status grebe_txn_add_lob_file(grebe_txn *x, const char *path, int64_t field_id,
                                    int64_t total_rows, int64_t valid_rows,
                                    int64_t file_size_bytes, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && path != NULL && total_rows >= 0 && valid_rows >= 0 &&
                             file_size_bytes >= 0);
    struct manifest_lob lob = { { "", 0 }, field_id, total_rows, valid_rows, file_size_bytes };
    grebe_status st = txn_check_open(x, err);
    if (st == GREBE_OK) {
        st = copy_path(x, FOLDER_LOBS, path, &lob.path, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct manifest_lob *slot = op_push(&x->arena, &x->lobs, sizeof *slot);
    if (slot == NULL) {
        return mem_fail(err, sizeof *slot, "an operation");
    }
    *slot = lob;
    return GREBE_OK;
}
