/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>

enum { RETRIES_DEFAULT = 100, TEXT_MAX = 1 << 20 };

/* ---- life ---- */

grebe_status grebe_txn_new(const grebe_table *table, const grebe_txn_options *options,
                           grebe_txn **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, table != NULL && out != NULL);
    grebe_txn_options o = GREBE_TXN_OPTIONS_INIT;
    *out = NULL;
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) {
        st = table_check_columns(table, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    if (o.on_conflict < GREBE_ON_CONFLICT_REBASE || o.on_conflict > GREBE_ON_CONFLICT_OVERWRITE ||
        o.retries_max < -1 ||
        (o.profile != GREBE_PROFILE_OPEN && o.profile != GREBE_PROFILE_MILVUS)) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "transaction: on_conflict %d, retries_max %d, profile %d", o.on_conflict,
                          o.retries_max, o.profile);
    }
    grebe_context *ctx = table->ctx;
    grebe_txn *x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "a transaction");
    }
    x->ctx = ctx;
    x->base = grebe_table_keep((grebe_table *)table);
    x->arena = ARENA_INIT(ctx->a);
    x->on_conflict = o.on_conflict;
    x->retries_max = o.retries_max < 0 ? RETRIES_DEFAULT : o.retries_max;
    x->profile = o.profile;
    x->is_durable = !o.is_not_durable;
    x->message = str_copy(ctx->a, o.message);
    x->operation = str_copy(ctx->a, o.operation);
    if ((o.message != NULL && x->message == NULL) ||
        (o.operation != NULL && x->operation == NULL)) {
        grebe_txn_free(x);
        return mem_fail(err, strlen(o.message != NULL ? o.message : o.operation), "a message");
    }
    *out = x;
    return GREBE_OK;
}

static void release_staged(const struct op_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct staged *s = ((struct staged *const *)list->items)[i];
        for (size_t c = 0; c < s->n_columns; c++) {
            schema_release(&s->columns[c].field);
        }
    }
}

void grebe_txn_free(grebe_txn *x)
{
    if (x == NULL) {
        return;
    }
    const grebe_allocator *a = x->ctx->a;
    if (x->state == TXN_OPEN) {
        txn_remove_files(x, 0);
    }
    release_staged(&x->appends);
    release_staged(&x->additions);
    schema_release(&x->schema);
    arena_release(&x->arena);
    str_free(a, x->message);
    str_free(a, x->operation);
    grebe_table_close(x->base);
    mem_free(a, x, sizeof *x);
}

void txn_remove_files(struct grebe_txn *x, size_t begin)
{
    for (size_t i = begin; i < x->files.n; i++) {
        (void)!io_remove(x->base->store->store, ((const char *const *)x->files.items)[i], NULL);
    }
    x->files.n = begin < x->files.n ? begin : x->files.n;
    while (begin == 0 && x->folders.n > 0) { /* those that somebody put something into stay */
        const char *folder = ((const char *const *)x->folders.items)[--x->folders.n];
        (void)!io_remove(x->base->store->store, folder, NULL);
    }
}

/* Note the folders of the path that are not there, the outer ones first. */
static grebe_status note_folders(struct grebe_txn *x, const char *path, grebe_error *err)
{
    struct io_info info;
    size_t n = strlen(path);
    size_t first = x->folders.n;
    while (n > 0) {
        const char *folder = arena_str(&x->arena, path, n);
        if (folder == NULL) {
            return mem_fail(err, n, "a path");
        }
        if (io_stat(x->base->store->store, folder, &info, NULL) != GREBE_ENOTFOUND) {
            break;
        }
        const char **slot = op_push(&x->arena, &x->folders, sizeof *slot);
        if (slot == NULL) {
            return mem_fail(err, sizeof *slot, "a path");
        }
        *slot = folder;
        while (n > 0 && path[n - 1] != '/') {
            n--;
        }
        while (n > 0 && path[n - 1] == '/') {
            n--;
        }
    }
    const char **items = x->folders.items;
    for (size_t i = first, k = x->folders.n; i + 1 < k; i++) {
        const char *swap = items[i];
        items[i] = items[--k];
        items[k] = swap;
    }
    return GREBE_OK;
}

grebe_status txn_make_folders(struct grebe_txn *x, const char *path, grebe_error *err)
{
    grebe_status st = note_folders(x, path, err);
    return st == GREBE_OK ? io_make_folders(x->base->store->store, path, x->is_durable, err) : st;
}

bool txn_has_changes(const struct grebe_txn *x)
{
    return x->drops.n + x->renames.n + x->deltas.n + x->stats.n + x->index_drops.n +
                   x->indexes.n + x->lobs.n + x->appends.n + x->additions.n >
               0 ||
           x->schema.release != NULL;
}

/* ---- copies ---- */

void *op_push(struct arena *arena, struct op_list *list, size_t size)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity == 0 ? 4 : list->capacity * 2;
        void *grown = arena_array(arena, capacity, size);
        if (grown == NULL) {
            return NULL;
        }
        if (list->n > 0) {
            memcpy(grown, list->items, list->n * size);
        }
        list->items = grown;
        list->capacity = capacity;
    }
    return memset((char *)list->items + size * list->n++, 0, size);
}

const char *txn_name(struct grebe_txn *x, const char *text)
{
    return arena_str(&x->arena, text, strlen(text));
}

grebe_status txn_text(struct grebe_txn *x, const char *text, manifest_text *out, grebe_error *err)
{
    const char *from = text == NULL ? "" : text;
    out->len = strlen(from);
    if (out->len > TEXT_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "text of %zu bytes, at most %d fit", out->len,
                          TEXT_MAX);
    }
    out->data = arena_str(&x->arena, from, out->len);
    return out->data == NULL ? mem_fail(err, out->len, "a text") : GREBE_OK;
}

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

static grebe_status check_open(const struct grebe_txn *x, grebe_error *err)
{
    if (x->state != TXN_OPEN) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the transaction is over");
    }
    return GREBE_OK;
}

/* Try everything on the base; an operation that does not fit is taken back by the caller. */
static grebe_status try_on_base(const struct grebe_txn *x, grebe_error *err)
{
    struct draft d;
    grebe_status st = draft_apply(x, x->base->snapshot, &d, err);
    if (st == GREBE_OK) {
        draft_release(&d);
    }
    return st;
}

/* ---- columns ---- */

grebe_status grebe_txn_drop_column(grebe_txn *x, const char *name, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && name != NULL);
    struct draft d;
    grebe_status st = check_open(x, err);
    if (st == GREBE_OK) {
        st = draft_apply(x, x->base->snapshot, &d, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    /* The reference takes an unknown name for nothing to do. */
    bool is_lenient = x->profile == GREBE_PROFILE_MILVUS || table_is_milvus(x->base);
    if (draft_find(&d, name) == NULL && !is_lenient) {
        int found = 0;
        st = schema_find(&x->base->columns->schema, name, &found, err);
        if (st == GREBE_OK) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there any more", name);
        }
    }
    draft_release(&d);
    if (st != GREBE_OK) {
        return st;
    }
    const char **slot = op_push(&x->arena, &x->drops, sizeof *slot);
    const char *copy = txn_name(x, name);
    if (slot == NULL || copy == NULL) {
        x->drops.n -= slot != NULL;
        return mem_fail(err, strlen(name), "a name");
    }
    *slot = copy;
    return GREBE_OK;
}

grebe_status grebe_txn_rename_column(grebe_txn *x, const char *old_name, const char *new_name,
                                     grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && old_name != NULL && new_name != NULL && new_name[0] != '\0');
    grebe_status st = check_open(x, err);
    if (st == GREBE_OK &&
        (x->profile == GREBE_PROFILE_MILVUS || table_is_milvus(x->base))) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                        "rename: in profile milvus a column is called as in its files");
    }
    if (st != GREBE_OK) {
        return st;
    }
    struct rename_op op = { txn_name(x, old_name), txn_name(x, new_name) };
    struct rename_op *slot = op_push(&x->arena, &x->renames, sizeof *slot);
    if (slot == NULL || op.old_name == NULL || op.new_name == NULL) {
        x->renames.n -= slot != NULL;
        return mem_fail(err, strlen(old_name), "a name");
    }
    *slot = op;
    st = try_on_base(x, err);
    if (st == GREBE_ENOTFOUND) {
        int found = 0;
        (void)!schema_find(&x->base->columns->schema, old_name, &found, err); /* names the nearest */
    }
    x->renames.n -= st != GREBE_OK;
    return st;
}

grebe_status grebe_txn_set_schema(grebe_txn *x, const struct ArrowSchema *schema, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && schema != NULL && schema->release != NULL);
    struct ArrowSchema old = { 0 };
    grebe_status st = check_open(x, err);
    if (st == GREBE_OK && (x->profile == GREBE_PROFILE_MILVUS || table_is_milvus(x->base))) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED, "profile milvus stores no schema");
    }
    if (st == GREBE_OK) {
        st = schema_check(schema, err);
    }
    if (st != GREBE_OK) {
        return st;
    }
    schema_move(&old, &x->schema);
    st = schema_copy(x->ctx->a, schema, &x->schema, err);
    if (st == GREBE_OK) {
        st = try_on_base(x, err);
    }
    if (st != GREBE_OK) {
        schema_release(&x->schema);
        schema_move(&x->schema, &old);
    }
    schema_release(&old);
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
    grebe_status st = check_open(x, err);
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
    st = try_on_base(x, err);
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
    grebe_status st = check_open(x, err);
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
    grebe_status st = check_open(x, err);
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
    grebe_status st = check_open(x, err);
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
    grebe_status st = check_open(x, err);
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
    grebe_status st = check_open(x, err);
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
