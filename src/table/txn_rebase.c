/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <inttypes.h>

/*
 * Which transactions commute with what happened meanwhile: docs/format/transactions.md has the
 * table. What this file lets through is applied anew, and draft_apply() finds the rest (layouts
 * that differ, columns that are gone, row counts).
 */

static bool same_pairs(const struct avro_list *x, const struct avro_list *y)
{
    bool is_same = x->n == y->n;
    for (size_t i = 0; i < x->n && is_same; i++) {
        const struct avro_pair *p = (const struct avro_pair *)x->items + i;
        const struct avro_pair *q = (const struct avro_pair *)y->items + i;
        is_same = p->key.len == q->key.len && p->value.len == q->value.len &&
                  memcmp(p->key.data, q->key.data, p->key.len) == 0 &&
                  memcmp(p->value.data, q->value.data, p->value.len) == 0;
    }
    return is_same;
}

static bool same_stat(const struct manifest_stat *x, const struct manifest_stat *y)
{
    if (x == NULL || y == NULL) {
        return x == y;
    }
    bool is_same = x->paths.n == y->paths.n;
    for (size_t i = 0; i < x->paths.n && is_same; i++) {
        is_same = strcmp(((const manifest_text *)x->paths.items)[i].data,
                         ((const manifest_text *)y->paths.items)[i].data) == 0;
    }
    return is_same && same_pairs(&x->metadata, &y->metadata);
}

/* Staged rows were written with the types of `from`: those of `to` must be the same. */
static grebe_status check_types(const grebe_allocator *a, const struct columns *from,
                                const struct columns *to, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct name_index stored = { 0 };
    GREBE_TRY(name_index_new(a, to->n, &stored, err));
    for (size_t i = 0; i < to->n; i++) {
        GREBE_TRY(name_index_add(&stored, to->items[i].stored, i, NULL, err));
    }
    for (size_t i = 0; i < from->n; i++) {
        const struct ArrowSchema *old = from->schema.children[i];
        const size_t *found = name_index_find(&stored, from->items[i].stored);
        if (found == NULL) {
            st = GREBE_FAIL(err, GREBE_ECONFLICT, "column \"%s\" was dropped meanwhile",
                            old->name);
            goto out;
        }
        struct ArrowSchema view = *to->schema.children[*found];
        view.name = old->name; /* renamed meanwhile: files know the stored name only */
        if (!schema_equal(old, &view, SCHEMA_EQUAL_IGNORE_METADATA)) {
            st = GREBE_FAIL(err, GREBE_ECONFLICT, "column \"%s\" has another type meanwhile",
                            old->name);
            goto out;
        }
    }
    if (to->n != from->n) {
        st = GREBE_FAIL(err, GREBE_ECONFLICT,
                        "the table had %zu columns and has %zu meanwhile", from->n, to->n);
    }
out:
    name_index_release(&stored);
    return st;
}

static grebe_status check_rows(const struct snapshot *from, const struct snapshot *to,
                               const char *what, grebe_error *err)
{
    if (from->n_rows == to->n_rows && from->next_row_id == to->next_row_id) {
        return GREBE_OK;
    }
    return GREBE_FAIL(err, GREBE_ECONFLICT,
                      "%s made for %" PRId64 " rows, the table has %" PRId64 " meanwhile", what,
                      from->n_rows, to->n_rows);
}

static bool in_groups(const struct manifest *m, const char *stored)
{
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(m, g);
        for (size_t c = 0; c < group->columns.n; c++) {
            if (strcmp(manifest_column_at(group, c), stored) == 0) {
                return true;
            }
        }
    }
    return false;
}

static grebe_status check_indexed(const struct grebe_txn *x, const struct snapshot *from,
                                  const struct snapshot *to, grebe_error *err)
{
    for (size_t i = 0; i < x->indexes.n; i++) {
        const char *column =
            ((const struct manifest_index *)x->indexes.items + i)->column_name.data;
        if (in_groups(&from->manifest, column) && !in_groups(&to->manifest, column)) {
            return GREBE_FAIL(err, GREBE_ECONFLICT, "column \"%.64s\" was dropped meanwhile", column);
        }
    }
    return GREBE_OK;
}

grebe_status rebase_check(const struct grebe_txn *x, struct snapshot *from, struct snapshot *to,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    bool is_milvus = table_is_milvus(x->base) || x->profile == GREBE_PROFILE_MILVUS;
    const struct columns *old = NULL;
    const struct columns *now = NULL;
    struct io_store *store = x->base->store->store;
    if (from->version == 0) {
        return GREBE_FAIL(err, GREBE_ECONFLICT, "somebody made the table meanwhile");
    }
    if (x->appends.n > 0 || x->schema.release != NULL) {
        GREBE_TRY(snapshot_columns(from, store, is_milvus, &old, err));
        GREBE_TRY(snapshot_columns(to, store, is_milvus, &now, err));
        GREBE_TRY(check_types(x->ctx->a, old, now, err));
    }
    if (x->additions.n > 0) {
        GREBE_TRY(check_rows(from, to, "columns were", err));
    }
    if (x->indexes.n > 0) {
        GREBE_TRY(check_rows(from, to, "an index was", err));
        GREBE_TRY(check_indexed(x, from, to, err));
    }
    for (size_t i = 0; i < x->stats.n; i++) {
        const struct manifest_stat *stat = (const struct manifest_stat *)x->stats.items + i;
        if (!same_stat(manifest_stat_find(&from->manifest, stat->key.data),
                       manifest_stat_find(&to->manifest, stat->key.data))) {
            return GREBE_FAIL(err, GREBE_ECONFLICT, "statistics \"%.64s\" were set meanwhile",
                              stat->key.data);
        }
    }
out:
    return st;
}
