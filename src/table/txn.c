/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>

enum { RETRIES_DEFAULT = 100, FOLDER_RETRIES = 8, TEXT_MAX = 1 << 20 };

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

grebe_status txn_create_file(struct grebe_txn *x, const char *folder, const char *path,
                             struct io_writer **out, grebe_error *err)
{
    grebe_error found = GREBE_ERROR_INIT;
    grebe_status st = io_create(x->base->store->store, path, x->is_durable, out, &found);
    for (int i = 0; i < FOLDER_RETRIES && st == GREBE_ENOTFOUND; i++) {
        found = (grebe_error)GREBE_ERROR_INIT;
        st = txn_make_folders(x, folder, &found);
        if (st == GREBE_OK) {
            st = io_create(x->base->store->store, path, x->is_durable, out, &found);
        }
    }
    if (st != GREBE_OK && err != NULL) {
        *err = found;
    }
    return st;
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

grebe_status txn_check_open(const struct grebe_txn *x, grebe_error *err)
{
    if (x->state != TXN_OPEN) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the transaction is over");
    }
    return GREBE_OK;
}

/* Try everything on the base; an operation that does not fit is taken back by the caller. */
grebe_status txn_try_on_base(const struct grebe_txn *x, grebe_error *err)
{
    struct draft d;
    grebe_status st = draft_apply(x, x->base->snapshot, &d, err);
    if (st == GREBE_OK) {
        draft_release(&d);
    }
    return st;
}

/* ---- columns ---- */

/* Drops come before everything else: what is dropped is a column of the version begun at, and
 * nothing that follows counts on it. Found now, because a commit that fails takes along everything
 * that was written; without applying everything, because columns go by the thousands. */
static grebe_status check_drop(const struct grebe_txn *x, const char *name, grebe_error *err)
{
    int found = 0;
    for (size_t i = 0; i < x->drops.n; i++) {
        if (strcmp(((const char *const *)x->drops.items)[i], name) == 0) {
            return GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there any more", name);
        }
    }
    for (size_t i = 0; i < x->renames.n; i++) {
        if (strcmp(((const struct rename_op *)x->renames.items)[i].old_name, name) == 0) {
            return GREBE_FAIL(err, GREBE_ENOTFOUND,
                              "column \"%s\" is not there any more: it was renamed", name);
        }
    }
    grebe_status st = schema_find(&x->base->columns->schema, name, &found, err);
    if (st == GREBE_OK && (x->appends.n > 0 || x->schema.release != NULL)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\": drops come before %s in one transaction",
                        name, x->appends.n > 0 ? "rows" : "a schema");
    }
    return st;
}

grebe_status grebe_txn_drop_column(grebe_txn *x, const char *name, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && name != NULL);
    grebe_status st = txn_check_open(x, err);
    /* The reference takes an unknown name for nothing to do. */
    bool is_lenient = x->profile == GREBE_PROFILE_MILVUS || table_is_milvus(x->base);
    if (st == GREBE_OK && !is_lenient) {
        st = check_drop(x, name, err);
    }
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
    grebe_status st = txn_check_open(x, err);
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
    st = txn_try_on_base(x, err);
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
    grebe_status st = txn_check_open(x, err);
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
        st = txn_try_on_base(x, err);
    }
    if (st != GREBE_OK) {
        schema_release(&x->schema);
        schema_move(&x->schema, &old);
    }
    schema_release(&old);
    return st;
}
