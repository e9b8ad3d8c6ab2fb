/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>

#include "base/checked.h"

/*
 * The order is fixed (loon.md 4.3): drops, renames, indexes, delete logs, statistics, LOB files,
 * appends, new columns. Nothing that the base or the transaction owns is changed: lists that
 * change are copied into the draft's arena first.
 */

void draft_release(struct draft *d)
{
    for (size_t i = 0; i < d->n_columns; i++) {
        schema_release(&d->columns[i].field);
    }
    mem_free(d->a, d->columns, d->columns_capacity * sizeof *d->columns);
    manifest_release(&d->m);
    d->columns = NULL;
    d->n_columns = 0;
    d->columns_capacity = 0;
}

struct draft_column *draft_find(const struct draft *d, const char *name)
{
    for (size_t i = 0; i < d->n_columns; i++) {
        if (strcmp(d->columns[i].name, name) == 0) {
            return &d->columns[i];
        }
    }
    return NULL;
}

grebe_status draft_index_stored(const struct draft *d, struct name_index *out, grebe_error *err)
{
    grebe_status st = name_index_new(d->a, d->n_columns, out, err);
    for (size_t g = 0; g < d->m.groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(&d->m, g);
        for (size_t c = 0; c < group->columns.n && st == GREBE_OK; c++) {
            st = name_index_add(out, manifest_column_at(group, c), g, NULL, err);
        }
    }
    return st;
}

/* dst = old items, then n_more of more; in the draft's arena. */
static grebe_status concat_list(struct draft *d, const struct avro_list *old, const void *more,
                                size_t n_more, size_t size, struct avro_list *dst,
                                grebe_error *err)
{
    size_t n = old->n + n_more;
    char *items = arena_array(&d->m.arena, n, size);
    if (items == NULL) {
        return mem_fail(err, n * size, "a manifest");
    }
    if (old->n > 0) {
        memcpy(items, old->items, old->n * size);
    }
    if (n_more > 0) {
        memcpy(items + old->n * size, more, n_more * size);
    }
    *dst = (struct avro_list){ items, n };
    return GREBE_OK;
}

static grebe_status add_column(struct draft *d, const char *name, const char *stored,
                               const struct ArrowSchema *field, grebe_error *err)
{
    if (d->n_columns == d->columns_capacity) {
        size_t capacity = d->columns_capacity == 0 ? 16 : d->columns_capacity * 2;
        struct draft_column *grown = mem_resize(d->a, d->columns,
                                                d->columns_capacity * sizeof *grown,
                                                capacity * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, capacity * sizeof *grown, "columns");
        }
        d->columns = grown;
        d->columns_capacity = capacity;
    }
    struct draft_column *c = &d->columns[d->n_columns];
    *c = (struct draft_column){ name, stored, { 0 } };
    if (field != NULL && field->release != NULL) {
        grebe_status st = schema_copy(d->a, field, &c->field, err);
        if (st == GREBE_OK && strcmp(c->field.name, name) != 0) {
            st = schema_set_name(d->a, &c->field, name, err);
        }
        if (st != GREBE_OK) {
            schema_release(&c->field);
            return st;
        }
    }
    d->n_columns++;
    return GREBE_OK;
}

static grebe_status draft_init(const struct grebe_txn *x, struct snapshot *base,
                               struct draft *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct columns *columns = NULL;
    bool is_milvus = table_is_milvus(x->base) || x->profile == GREBE_PROFILE_MILVUS;
    d->a = x->ctx->a;
    d->base = base;
    d->n_rows = base->n_rows;
    manifest_init(&d->m, x->ctx->a);
    GREBE_TRY(snapshot_columns(base, x->base->store->store, is_milvus, &columns, err));
    GREBE_TRY(concat_list(d, &base->manifest.groups, NULL, 0, sizeof(struct manifest_group),
                          &d->m.groups, err));
    d->m.delta_logs = base->manifest.delta_logs;
    d->m.stats = base->manifest.stats;
    d->m.indexes = base->manifest.indexes;
    d->m.lob_files = base->manifest.lob_files;
    for (size_t i = 0; i < columns->n; i++) {
        const struct ArrowSchema *field = columns->schema.children[i];
        GREBE_TRY(add_column(d, field->name, columns->items[i].stored, field, err));
    }
out:
    return st;
}

/* ---- columns ---- */

static void remove_indexes(struct draft *d, const char *stored, int64_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < d->m.indexes.n; i++) {
        struct manifest_index *index = manifest_index_at(&d->m, i);
        bool is_hit = stored != NULL ? strcmp(index->column_name.data, stored) == 0
                                     : index->index_id == id;
        if (!is_hit) {
            *manifest_index_at(&d->m, n++) = *index;
        }
    }
    d->m.indexes.n = n;
}

/* Lists of columns of the draft's own: removing compacts them in place, however many go. */
static grebe_status own_columns(struct draft *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t g = 0; g < d->m.groups.n && st == GREBE_OK; g++) {
        struct manifest_group *group = manifest_group_at(&d->m, g);
        st = concat_list(d, &group->columns, NULL, 0, sizeof(manifest_text), &group->columns, err);
    }
    return st;
}

/* Take the column out of its group; a group left without columns goes. */
static void remove_from_groups(struct draft *d, const char *stored)
{
    size_t n_groups = 0;
    for (size_t g = 0; g < d->m.groups.n; g++) {
        struct manifest_group group = *manifest_group_at(&d->m, g);
        manifest_text *columns = group.columns.items;
        size_t n_before = group.columns.n;
        size_t n = 0;
        for (size_t c = 0; c < n_before; c++) {
            if (strcmp(columns[c].data, stored) != 0) {
                columns[n++] = columns[c];
            }
        }
        if (n == n_before || n > 0) {
            group.columns.n = n;
            *manifest_group_at(&d->m, n_groups++) = group;
        }
    }
    d->m.groups.n = n_groups;
}

static void apply_drop(struct draft *d, const char *name)
{
    struct draft_column *c = draft_find(d, name);
    if (c == NULL) {
        return; /* somebody else dropped it meanwhile */
    }
    const char *stored = c->stored;
    schema_release(&c->field);
    size_t at = (size_t)(c - d->columns);
    memmove(c, c + 1, (d->n_columns - at - 1) * sizeof *c);
    d->n_columns--;
    remove_indexes(d, stored, 0);
    remove_from_groups(d, stored);
}

static grebe_status apply_rename(struct draft *d, const struct rename_op *op, grebe_error *err)
{
    struct draft_column *c = draft_find(d, op->old_name);
    if (c == NULL) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "column \"%s\" is not there", op->old_name);
    }
    if (draft_find(d, op->new_name) != NULL) {
        return GREBE_FAIL(err, GREBE_EEXISTS, "column \"%s\" is there already", op->new_name);
    }
    c->name = op->new_name;
    return c->field.release == NULL ? GREBE_OK
                                    : schema_set_name(d->a, &c->field, op->new_name, err);
}

/* ---- lists ---- */

static bool same_index(const struct manifest_index *x, const struct manifest_index *y)
{
    if (x->index_id != 0 || y->index_id != 0) {
        return x->index_id == y->index_id;
    }
    return strcmp(x->column_name.data, y->column_name.data) == 0 &&
           strcmp(x->index_type.data, y->index_type.data) == 0;
}

static grebe_status apply_indexes(const struct grebe_txn *x, struct draft *d, grebe_error *err)
{
    for (size_t i = 0; i < x->appends.n; i++) {
        const struct staged *s = ((struct staged *const *)x->appends.items)[i];
        for (size_t g = 0; g < s->n_groups; g++) {
            const struct manifest_group *group = &s->groups[g];
            for (size_t c = 0; c < group->columns.n && group->files.n > 0; c++) {
                remove_indexes(d, manifest_column_at(group, c), 0);
            }
        }
    }
    for (size_t i = 0; i < x->index_drops.n; i++) {
        remove_indexes(d, NULL, ((const int64_t *)x->index_drops.items)[i]);
    }
    for (size_t i = 0; i < x->indexes.n; i++) {
        const struct manifest_index *index = (const struct manifest_index *)x->indexes.items + i;
        size_t n = 0;
        for (size_t k = 0; k < d->m.indexes.n; k++) {
            if (!same_index(manifest_index_at(&d->m, k), index)) {
                *manifest_index_at(&d->m, n++) = *manifest_index_at(&d->m, k);
            }
        }
        d->m.indexes.n = n;
        grebe_status st = concat_list(d, &d->m.indexes, index, 1, sizeof *index, &d->m.indexes,
                                      err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

grebe_status draft_set_stat(struct draft *d, const struct manifest_stat *stat, grebe_error *err)
{
    size_t at = 0;
    while (at < d->m.stats.n && strcmp(manifest_stat_at(&d->m, at)->key.data, stat->key.data) < 0) {
        at++;
    }
    bool is_there = at < d->m.stats.n &&
                    strcmp(manifest_stat_at(&d->m, at)->key.data, stat->key.data) == 0;
    struct avro_list grown;
    grebe_status st = concat_list(d, &d->m.stats, stat, is_there ? 0 : 1, sizeof *stat, &grown,
                                  err);
    if (st != GREBE_OK) {
        return st;
    }
    struct manifest_stat *items = grown.items;
    if (!is_there) {
        memmove(items + at + 1, items + at, (d->m.stats.n - at) * sizeof *items);
    }
    items[at] = *stat;
    d->m.stats = grown;
    return GREBE_OK;
}

static grebe_status apply_lists(const struct grebe_txn *x, struct draft *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    /* Removing compacts in place: the list must be the draft's own. */
    GREBE_TRY(concat_list(d, &d->m.indexes, NULL, 0, sizeof(struct manifest_index),
                          &d->m.indexes, err));
    if (x->drops.n > 0) {
        GREBE_TRY(own_columns(d, err));
    }
    for (size_t i = 0; i < x->drops.n; i++) {
        apply_drop(d, ((const char *const *)x->drops.items)[i]);
    }
    if (d->m.groups.n == 0 && d->n_rows > 0) {
        d->is_emptied = true;
        d->n_rows = 0;
    }
    for (size_t i = 0; i < x->renames.n; i++) {
        GREBE_TRY(apply_rename(d, (const struct rename_op *)x->renames.items + i, err));
    }
    GREBE_TRY(apply_indexes(x, d, err));
    GREBE_TRY(concat_list(d, &d->m.delta_logs, x->deltas.items, x->deltas.n,
                          sizeof(struct manifest_delta), &d->m.delta_logs, err));
    for (size_t i = 0; i < x->stats.n; i++) {
        GREBE_TRY(draft_set_stat(d, (const struct manifest_stat *)x->stats.items + i, err));
    }
    GREBE_TRY(concat_list(d, &d->m.lob_files, x->lobs.items, x->lobs.n,
                          sizeof(struct manifest_lob), &d->m.lob_files, err));
out:
    return st;
}

/* ---- rows ---- */

/* Whether the two groups have the same columns, in any order. */
static grebe_status same_columns(const grebe_allocator *a, const struct manifest_group *x,
                                 const struct manifest_group *y, bool *out, grebe_error *err)
{
    struct name_index names = { 0 };
    grebe_status st = GREBE_OK;
    *out = x->columns.n == y->columns.n;
    bool is_equal = *out;
    for (size_t c = 0; c < x->columns.n && is_equal; c++) {
        is_equal = strcmp(manifest_column_at(x, c), manifest_column_at(y, c)) == 0;
    }
    if (!*out || is_equal) {
        return GREBE_OK;
    }
    st = name_index_new(a, x->columns.n, &names, err);
    for (size_t c = 0; c < x->columns.n && st == GREBE_OK; c++) {
        st = name_index_add(&names, manifest_column_at(x, c), 0, NULL, err);
    }
    size_t n_names = names.n;
    for (size_t c = 0; c < y->columns.n && st == GREBE_OK && *out; c++) {
        bool is_there = false;
        st = name_index_add(&names, manifest_column_at(y, c), 1, &is_there, err);
        size_t *seen = st == GREBE_OK ? name_index_find(&names, manifest_column_at(y, c)) : NULL;
        n_names -= seen != NULL && *seen == 0; /* each of x once: of y the same distinct names */
        *out = is_there;
        if (seen != NULL) {
            *seen = 1;
        }
    }
    *out = *out && n_names == 0;
    name_index_release(&names);
    return st;
}

/* Same number of groups; at each position the same format and set of columns. */
static grebe_status check_layout(const struct draft *d, const struct staged *s, grebe_error *err)
{
    if (s->n_groups != d->m.groups.n) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "append: expected %zu column groups, found %zu",
                          d->m.groups.n, s->n_groups);
    }
    for (size_t g = 0; g < s->n_groups; g++) {
        const struct manifest_group *old = manifest_group_at(&d->m, g);
        const struct manifest_group *more = &s->groups[g];
        if (strcmp(old->format.data, more->format.data) != 0) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "append: group %zu: expected format \"%.32s\", found \"%.32s\"", g,
                              old->format.data, more->format.data);
        }
        bool is_same = false;
        grebe_status st = same_columns(d->a, old, more, &is_same, err);
        if (st != GREBE_OK) {
            return st;
        }
        if (!is_same) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "append: group %zu: expected the %zu columns of the table "
                              "(\"%.64s\", …), found %zu (\"%.64s\", …)", g, old->columns.n,
                              old->columns.n > 0 ? manifest_column_at(old, 0) : "",
                              more->columns.n,
                              more->columns.n > 0 ? manifest_column_at(more, 0) : "");
        }
    }
    return GREBE_OK;
}

static grebe_status add_columns_of(struct draft *d, const struct staged *s, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct name_index names = { 0 }, stored = { 0 };
    bool is_there = false, is_stored = false;
    GREBE_TRY(draft_index_stored(d, &stored, err));
    GREBE_TRY(name_index_new(d->a, d->n_columns + s->n_columns, &names, err));
    for (size_t i = 0; i < d->n_columns; i++) {
        GREBE_TRY(name_index_add(&names, d->columns[i].name, i, NULL, err));
    }
    for (size_t i = 0; i < s->n_columns; i++) {
        const struct draft_column *c = &s->columns[i];
        GREBE_TRY(name_index_add(&names, c->name, i, &is_there, err));
        if (is_there) {
            st = GREBE_FAIL(err, GREBE_EEXISTS, "column \"%s\" is there already", c->name);
            goto out;
        }
        GREBE_TRY(name_index_add(&stored, c->stored, i, &is_stored, err));
        if (is_stored) { /* one of two would be lost: files are asked for columns by this name */
            st = GREBE_FAIL(err, GREBE_EEXISTS,
                            "column \"%s\" is called \"%s\" in its files, as another column is "
                            "in its own", c->name, c->stored);
            goto out;
        }
        GREBE_TRY(add_column(d, c->name, c->stored, &c->field, err));
    }
    st = concat_list(d, &d->m.groups, s->groups, s->n_groups, sizeof(struct manifest_group),
                     &d->m.groups, err);
out:
    name_index_release(&names);
    name_index_release(&stored);
    return st;
}

/* The files of all appends behind those of group g, in one step: a transaction may have
 * thousands. The first append may be the one that defined the groups (`first` is 1 then). */
static grebe_status append_group_files(struct draft *d, const struct op_list *appends,
                                       size_t first, size_t g, grebe_error *err)
{
    struct staged *const *staged = appends->items;
    struct manifest_group *group = manifest_group_at(&d->m, g);
    struct avro_list grown = { NULL, group->files.n };
    for (size_t i = first; i < appends->n; i++) {
        grown.n += staged[i]->groups[g].files.n;
    }
    struct manifest_file *files = arena_array(&d->m.arena, grown.n, sizeof *files);
    if (files == NULL) {
        return mem_fail(err, grown.n * sizeof *files, "a manifest");
    }
    grown.items = files;
    const struct avro_list *part = &group->files;
    for (size_t i = first; i <= appends->n; i++) {
        if (part->n > 0) {
            memcpy(files, part->items, part->n * sizeof *files);
            files += part->n;
        }
        part = i < appends->n ? &staged[i]->groups[g].files : NULL;
    }
    group->files = grown;
    return GREBE_OK;
}

static grebe_status apply_appends(struct draft *d, const struct op_list *appends,
                                  grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct staged *const *staged = appends->items;
    size_t first = 0;
    if (appends->n > 0 && d->m.groups.n == 0) {
        GREBE_TRY(add_columns_of(d, staged[0], err));
        first = 1;
    }
    for (size_t i = first; i < appends->n; i++) {
        GREBE_TRY(check_layout(d, staged[i], err));
    }
    for (size_t g = 0; first < appends->n && g < d->m.groups.n; g++) {
        GREBE_TRY(append_group_files(d, appends, first, g, err));
    }
    for (size_t i = 0; i < appends->n; i++) {
        if (!checked_add_i64(d->n_rows, staged[i]->n_rows, &d->n_rows)) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "more than 2^63 rows");
            goto out;
        }
    }
out:
    return st;
}

static grebe_status apply_addition(struct draft *d, const struct staged *s, grebe_error *err)
{
    bool has_rows = d->m.groups.n > 0;
    if (has_rows && s->n_rows != d->n_rows) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column \"%s\": expected %" PRId64 " rows as the table has, found %"
                          PRId64, s->n_columns > 0 ? s->columns[0].name : "", d->n_rows,
                          s->n_rows);
    }
    d->n_rows = s->n_rows;
    return add_columns_of(d, s, err);
}

static grebe_status apply_schema(const struct grebe_txn *x, struct draft *d, grebe_error *err)
{
    size_t n = (size_t)x->schema.n_children;
    if (n != d->n_columns) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "schema: expected %zu columns, found %zu",
                          d->n_columns, n);
    }
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *field = x->schema.children[i];
        size_t k = i; /* mostly where it was */
        while (k < n && strcmp(d->columns[k].name, field->name) != 0) {
            k++;
        }
        if (k == n) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "schema: column \"%s\" is not in the table",
                              field->name);
        }
        struct draft_column c = d->columns[k];
        memmove(&d->columns[i + 1], &d->columns[i], (k - i) * sizeof c);
        d->columns[i] = c;
        bool is_narrower = c.field.release != NULL &&
                           (c.field.flags & ARROW_FLAG_NULLABLE) != 0 &&
                           (field->flags & ARROW_FLAG_NULLABLE) == 0 && d->n_rows > 0;
        if (c.field.release != NULL &&
            (is_narrower || !schema_equal(&c.field, field, SCHEMA_EQUAL_IGNORE_NULLABLE |
                                                               SCHEMA_EQUAL_IGNORE_METADATA))) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "schema: column \"%s\": %s", field->name,
                              is_narrower ? "a nullable column stays nullable"
                                          : "expected the type that the table has");
        }
        struct ArrowSchema copy = { 0 };
        grebe_status st = schema_copy(d->a, field, &copy, err);
        if (st != GREBE_OK) {
            return st;
        }
        schema_release(&d->columns[i].field);
        schema_move(&d->columns[i].field, &copy);
    }
    return GREBE_OK;
}

/* Every group gives the same number of rows: what a reader insists on. */
static grebe_status check_totals(const struct draft *d, grebe_error *err)
{
    for (size_t g = 0; g < d->m.groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(&d->m, g);
        int64_t total = 0;
        for (size_t f = 0; f < group->files.n; f++) {
            const struct manifest_file *file = manifest_file_at(group, f);
            if (!checked_add_i64(total, file->row_end - file->row_begin, &total)) {
                return GREBE_FAIL(err, GREBE_ELIMIT, "group %zu: more than 2^63 rows", g);
            }
        }
        if (total != d->n_rows && group->columns.n > 0) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "group %zu (\"%.64s\", …): expected %" PRId64 " rows, found %" PRId64,
                              g, manifest_column_at(group, 0), d->n_rows, total);
        }
    }
    return GREBE_OK;
}

grebe_status draft_apply(const struct grebe_txn *x, struct snapshot *base, struct draft *out,
                         grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(out, 0, sizeof *out);
    GREBE_TRY(draft_init(x, base, out, err));
    GREBE_TRY(apply_lists(x, out, err));
    GREBE_TRY(apply_appends(out, &x->appends, err));
    for (size_t i = 0; i < x->additions.n; i++) {
        GREBE_TRY(apply_addition(out, ((struct staged *const *)x->additions.items)[i], err));
    }
    if (x->schema.release != NULL) {
        GREBE_TRY(apply_schema(x, out, err));
    }
    st = check_totals(out, err);
out:
    if (st != GREBE_OK) {
        draft_release(out);
    }
    return st;
}
