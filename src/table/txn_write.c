/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "arrow/arrow_stream.h"
#include "base/checked.h"
#include "table/version.h"

/* What a stream has to say before its rows are written. */
struct incoming {
    struct ArrowSchema schema;
    struct ArrowArray first; /* empty: the stream has no batch */
};

static grebe_status check_names(const grebe_allocator *a, const struct ArrowSchema *schema,
                                grebe_error *err)
{
    struct name_index names;
    grebe_status st = schema_index(a, schema, &names, err);
    for (int64_t i = 0; st == GREBE_OK && i < schema->n_children; i++) {
        const char *name = schema->children[i]->name;
        if (name[0] == '\0' || *name_index_find(&names, name) == SIZE_MAX) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "rows: %s name \"%.64s\"",
                            name[0] == '\0' ? "a column has the" : "two columns have the", name);
        }
    }
    name_index_release(&names);
    return st;
}

static grebe_status read_head(const grebe_allocator *a, struct ArrowArrayStream *rows,
                              struct incoming *in, grebe_error *err)
{
    grebe_status st = stream_schema(rows, &in->schema, err);
    if (st == GREBE_OK) {
        st = schema_check(&in->schema, err);
    }
    if (st == GREBE_OK && strcmp(in->schema.format, "+s") != 0) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "rows: expected a struct type, found \"%.32s\"",
                        in->schema.format);
    }
    if (st == GREBE_OK) {
        st = check_names(a, &in->schema, err);
    }
    if (st == GREBE_OK) {
        st = stream_next(rows, &in->first, err);
        st = st == GREBE_END ? GREBE_OK : st;
    }
    if (st == GREBE_OK && in->first.release != NULL) { /* groups are chosen by what is in it */
        st = array_check(&in->schema, &in->first, false, err);
    }
    return st;
}

static void stage_release(struct stage *s)
{
    const grebe_allocator *a = s->txn->ctx->a;
    size_t n = (size_t)s->schema.n_children;
    for (size_t g = 0; s->groups != NULL && g < s->n_groups; g++) {
        mem_free(a, s->groups[g].columns, s->groups[g].n_columns * sizeof(int));
    }
    mem_free(a, s->groups, s->n_groups * sizeof *s->groups);
    mem_free(a, s->stored, n * sizeof *s->stored);
    schema_release(&s->schema);
}

static grebe_status stage_init(struct stage *s, grebe_txn *x, const struct write_plan *plan,
                               grebe_error *err)
{
    const grebe_write_options *options = &plan->o;
    *s = (struct stage){ .txn = x, .options = options, .plan = plan };
    s->call = call_options_resolve(x->ctx, options->call);
    if (options->profile != GREBE_PROFILE_OPEN && options->profile != GREBE_PROFILE_MILVUS) {
        return GREBE_FAIL(err, GREBE_EINVAL, "profile: expected 0 or 1, found %d",
                          options->profile);
    }
    return GREBE_OK;
}

static grebe_status alloc_groups(struct stage *s, size_t n_groups, grebe_error *err)
{
    const grebe_allocator *a = s->txn->ctx->a;
    size_t n = (size_t)s->schema.n_children;
    s->stored = mem_alloc_zero(a, n * sizeof *s->stored);
    s->groups = mem_alloc_zero(a, n_groups * sizeof *s->groups);
    s->n_groups = s->groups == NULL ? 0 : n_groups;
    return s->stored == NULL || s->groups == NULL
               ? mem_fail(err, n_groups * sizeof *s->groups, "column groups")
               : GREBE_OK;
}

static grebe_status alloc_columns(struct stage *s, size_t g, size_t n, grebe_error *err)
{
    s->groups[g].columns = mem_alloc_zero(s->txn->ctx->a, n * sizeof(int));
    s->groups[g].n_columns = s->groups[g].columns == NULL ? 0 : n;
    return s->groups[g].columns == NULL ? mem_fail(err, n * sizeof(int), "columns") : GREBE_OK;
}

/* A name for new values of a column: another one where an earlier column, renamed since, still
 * has this one in its files. It is taken from then on. */
static grebe_status stored_name(grebe_txn *x, struct name_index *taken, const char *name,
                                const char **out, grebe_error *err)
{
    char number[24];
    struct buf text = BUF_INIT(x->ctx->a);
    grebe_status st = buf_put_text(&text, name, err);
    for (unsigned i = 2; st == GREBE_OK && buf_text(&text) != NULL &&
                         name_index_find(taken, buf_text(&text)) != NULL; i++) {
        buf_clear(&text);
        snprintf(number, sizeof number, ".%u", i);
        st = buf_put_text(&text, name, err);
        if (st == GREBE_OK) {
            st = buf_put_text(&text, number, err);
        }
    }
    if (st == GREBE_OK) {
        *out = buf_text(&text) == NULL ? NULL : txn_name(x, buf_text(&text));
        st = *out == NULL ? mem_fail(err, text.len, "a name")
                          : name_index_add(taken, *out, 0, NULL, err);
    }
    buf_release(&text);
    return st;
}

/* New columns: the schema is the stream's, groups as the options say. */
static grebe_status plan_new_columns(struct stage *s, const struct draft *d,
                                     const struct incoming *in, size_t first_number,
                                     grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = s->txn->ctx->a;
    size_t n = (size_t)in->schema.n_children;
    size_t n_groups = 0;
    struct name_index taken = { 0 };
    const char *format = s->options->file_format != NULL ? s->options->file_format : "parquet";
    int *group_of = mem_alloc_zero(a, n * sizeof *group_of);
    const char **formats = mem_alloc_zero(a, n * sizeof *formats);
    if (group_of == NULL || formats == NULL) {
        st = mem_fail(err, n * sizeof *formats, "column groups");
        goto out;
    }
    GREBE_TRY(schema_copy(a, &in->schema, &s->schema, err));
    GREBE_TRY(group_columns(a, &in->schema, &in->first, s->options, group_of, formats, &n_groups,
                            err));
    GREBE_TRY(alloc_groups(s, n_groups, err));
    for (size_t i = 0; i < n; i++) {
        s->groups[group_of[i]].n_columns++;
    }
    for (size_t g = 0; g < n_groups; g++) {
        GREBE_TRY(alloc_columns(s, g, s->groups[g].n_columns, err));
        s->groups[g].number = first_number + g;
        s->groups[g].format = format;
    }
    for (size_t i = n; i-- > 0;) { /* from the last column on; n_filled of each group counts down */
        struct stage_group *g = &s->groups[group_of[i]];
        g->columns[g->n_columns - ++g->n_filled] = (int)i;
        g->format = formats[i] != NULL ? formats[i] : g->format;
    }
    GREBE_TRY(draft_index_stored(d, &taken, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(stored_name(s->txn, &taken, in->schema.children[i]->name, &s->stored[i], err));
    }
out:
    name_index_release(&taken);
    mem_free(a, group_of, n * sizeof *group_of);
    mem_free(a, formats, n * sizeof *formats);
    return st;
}

/* Rows for the table's columns: schema and groups are the table's. */
static grebe_status plan_old_columns(struct stage *s, const struct draft *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct name_index stored = { 0 };
    const grebe_allocator *a = s->txn->ctx->a;
    GREBE_TRY(schema_new(a, "+s", "", false, (int64_t)d->n_columns, &s->schema, err));
    for (size_t i = 0; i < d->n_columns; i++) {
        if (d->columns[i].field.release == NULL) {
            st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                            "column \"%s\" comes with files of this transaction: commit them first",
                            d->columns[i].name);
            goto out;
        }
        GREBE_TRY(schema_copy(a, &d->columns[i].field, s->schema.children[i], err));
    }
    GREBE_TRY(alloc_groups(s, d->m.groups.n, err));
    GREBE_TRY(name_index_new(a, d->n_columns, &stored, err));
    for (size_t i = 0; i < d->n_columns; i++) {
        s->stored[i] = d->columns[i].stored;
        GREBE_TRY(name_index_add(&stored, s->stored[i], i, NULL, err));
    }
    for (size_t g = 0; g < d->m.groups.n; g++) {
        const struct manifest_group *group = manifest_group_at(&d->m, g);
        GREBE_TRY(alloc_columns(s, g, group->columns.n, err));
        s->groups[g].number = g;
        s->groups[g].format = group->format.data;
        for (size_t c = 0; c < group->columns.n; c++) {
            const size_t *k = name_index_find(&stored, manifest_column_at(group, c));
            if (k == NULL) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT, "column \"%.64s\" of group %zu has no type",
                                manifest_column_at(group, c), g);
                goto out;
            }
            s->groups[g].columns[c] = (int)*k;
        }
    }
out:
    name_index_release(&stored);
    return st;
}

grebe_status txn_record(grebe_txn *x, struct op_list *list, struct staged *made,
                        size_t files_begin, grebe_error *err)
{
    struct draft d;
    struct staged **slot = op_push(&x->arena, list, sizeof *slot);
    grebe_status st = slot == NULL ? mem_fail(err, sizeof *slot, "an operation") : GREBE_OK;
    if (st == GREBE_OK) {
        *slot = made;
        st = draft_apply(x, x->base->snapshot, &d, err);
    }
    if (st == GREBE_OK) {
        draft_release(&d);
        return st;
    }
    list->n -= slot != NULL;
    for (size_t c = 0; c < made->n_columns; c++) {
        schema_release(&made->columns[c].field);
    }
    txn_remove_files(x, files_begin);
    return st;
}

static grebe_status append_rows(grebe_txn *x, struct ArrowArrayStream *rows,
                                const struct write_plan *plan, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct incoming in = { 0 };
    struct draft d = { .a = x->ctx->a };
    struct stage s = { .txn = x };
    struct staged *made = NULL;
    size_t files_begin = x->files.n;
    if (x->additions.n > 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "append: rows come before new columns in one transaction");
    }
    GREBE_TRY(stage_init(&s, x, plan, err));
    GREBE_TRY(read_head(x->ctx->a, rows, &in, err));
    GREBE_TRY(draft_apply(x, x->base->snapshot, &d, err));
    if (d.m.groups.n == 0) {
        GREBE_TRY(plan_new_columns(&s, &d, &in, 0, err));
    } else {
        GREBE_TRY(plan_old_columns(&s, &d, err));
    }
    GREBE_TRY(stage_write(&s, rows, &in.schema, &in.first, &made, err));
    if (made->n_rows == 0 && d.m.groups.n == 0 && x->profile == GREBE_PROFILE_MILVUS) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "profile milvus: a table without rows has no schema");
        for (size_t c = 0; c < made->n_columns; c++) {
            schema_release(&made->columns[c].field);
        }
        goto out;
    }
    st = txn_record(x, &x->appends, made, files_begin, err);
out:
    stage_release(&s);
    if (d.columns != NULL || d.base != NULL) {
        draft_release(&d);
    }
    array_release(&in.first);
    schema_release(&in.schema);
    return st;
}

static grebe_status add_new_columns(grebe_txn *x, struct ArrowArrayStream *rows,
                                    const struct write_plan *plan, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct incoming in = { 0 };
    struct draft d = { .a = x->ctx->a };
    struct stage s = { .txn = x };
    struct staged *made = NULL;
    struct name_index names = { 0 };
    size_t files_begin = x->files.n;
    GREBE_TRY(stage_init(&s, x, plan, err));
    GREBE_TRY(read_head(x->ctx->a, rows, &in, err));
    GREBE_TRY(draft_apply(x, x->base->snapshot, &d, err));
    GREBE_TRY(schema_index(x->ctx->a, &in.schema, &names, err));
    for (size_t i = 0; i < d.n_columns; i++) {
        if (name_index_find(&names, d.columns[i].name) != NULL) {
            st = GREBE_FAIL(err, GREBE_EEXISTS, "column \"%s\" is there already",
                            d.columns[i].name);
            goto out;
        }
    }
    if (in.schema.n_children == 0) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "add columns: expected at least one, found none");
        goto out;
    }
    GREBE_TRY(plan_new_columns(&s, &d, &in, d.m.groups.n, err));
    GREBE_TRY(stage_write(&s, rows, &in.schema, &in.first, &made, err));
    st = txn_record(x, &x->additions, made, files_begin, err);
out:
    name_index_release(&names);
    stage_release(&s);
    if (d.columns != NULL || d.base != NULL) {
        draft_release(&d);
    }
    array_release(&in.first);
    schema_release(&in.schema);
    return st;
}

grebe_status grebe_txn_append(grebe_txn *x, struct ArrowArrayStream *rows,
                              const grebe_write_options *options, grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && rows != NULL && rows->release != NULL);
    struct write_plan plan;
    grebe_status st = write_plan_new(&x->arena, options, &plan, err);
    if (st == GREBE_OK && x->state != TXN_OPEN) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "the transaction is over");
    }
    if (st == GREBE_OK) {
        st = append_rows(x, rows, &plan, err);
    }
    stream_release(rows);
    return st;
}

grebe_status grebe_txn_add_columns(grebe_txn *x, struct ArrowArrayStream *rows, int64_t row_begin,
                                   int64_t row_end, const grebe_write_options *options,
                                   grebe_error *err)
{
    GREBE_CHECK_ARG(err, x != NULL && rows != NULL && rows->release != NULL);
    struct write_plan plan;
    grebe_status st = write_plan_new(&x->arena, options, &plan, err);
    int64_t n_rows = x->base->snapshot->n_rows;
    if (st == GREBE_OK && x->state != TXN_OPEN) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "the transaction is over");
    }
    if (st == GREBE_OK && (row_begin < 0 || row_end < row_begin)) {
        st = GREBE_FAIL(err, GREBE_EINVAL,
                        "rows: expected 0 <= begin <= end, found [%" PRId64 ", %" PRId64 ")",
                        row_begin, row_end);
    }
    if (st == GREBE_OK && (row_begin != 0 || row_end < n_rows)) {
        st = GREBE_FAIL(err, GREBE_EUNSUPPORTED,
                        "add columns: rows [%" PRId64 ", %" PRId64 ") of %" PRId64
                        ": a part of the rows cannot be filled yet", row_begin,
                        min_i64(row_end, n_rows), n_rows);
    }
    if (st == GREBE_OK) {
        st = add_new_columns(x, rows, &plan, err);
    }
    stream_release(rows);
    return st;
}

grebe_status grebe_table_create(grebe_context *ctx, const char *uri, struct ArrowArrayStream *rows,
                                const grebe_table_create_options *options, grebe_table **out,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && uri != NULL && uri[0] != '\0' && rows != NULL &&
                             rows->release != NULL);
    grebe_table_create_options o = GREBE_TABLE_CREATE_OPTIONS_INIT;
    const char *path = NULL;
    struct table_store *store = NULL;
    if (out != NULL) {
        *out = NULL;
    }
    grebe_status st = options_copy(&o, sizeof o, options, err);
    if (st == GREBE_OK) {
        st = table_uri_path(uri, &path, err);
    }
    if (st == GREBE_OK) {
        st = table_store_open(ctx, o.n_storage_options, &store, err);
    }
    if (st == GREBE_OK) {
        st = table_create_in(store, path, rows, &o, out, err);
    }
    table_store_drop(store);
    if (rows->release != NULL) {
        stream_release(rows);
    }
    return st;
}

grebe_status table_create_in(struct table_store *store, const char *path,
                             struct ArrowArrayStream *rows, const grebe_table_create_options *o,
                             grebe_table **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    grebe_context *ctx = store->store->ctx;
    struct snapshot *empty = NULL;
    grebe_table *base = NULL;
    grebe_txn *x = NULL;
    int64_t latest = 0;
    grebe_txn_options to = GREBE_TXN_OPTIONS_INIT;
    grebe_write_options w = GREBE_WRITE_OPTIONS_INIT;
    GREBE_TRY(options_copy(&w, sizeof w, o->write, err));
    GREBE_TRY(version_latest(store->store, path, &latest, err));
    if (latest != 0) {
        st = GREBE_FAIL(err, GREBE_EEXISTS, "%s: there is a table already, at version %" PRId64,
                        path, latest);
        goto out;
    }
    GREBE_TRY(snapshot_open(store->store, path, 0, &empty, err));
    st = table_new(ctx, store, path, GREBE_COMPAT_NONE, empty, &base, err);
    if (st != GREBE_OK) {
        snapshot_drop(empty);
        goto out;
    }
    to.on_conflict = GREBE_ON_CONFLICT_FAIL;
    to.is_not_durable = o->is_not_durable;
    to.message = o->message;
    to.operation = "create";
    to.profile = w.profile;
    GREBE_TRY(grebe_txn_new(base, &to, &x, err));
    GREBE_TRY(grebe_txn_append(x, rows, &w, err));
    st = grebe_txn_commit(x, NULL, out, err);
    if (st == GREBE_ECONFLICT) {
        st = GREBE_EEXISTS;
        if (err != NULL) {
            err->status = st;
        }
        error_wrap(err, st, "%s: somebody made the table at the same time", path);
    }
out:
    grebe_txn_free(x);
    grebe_table_close(base);
    return st;
}
