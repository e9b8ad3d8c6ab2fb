/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_import.h"

#include <inttypes.h>

#include "arrow/type_text.h"

/* ---- what the files are to the table ---- */

grebe_status import_fail_type(const char *name, const struct ArrowSchema *expected,
                              const struct ArrowSchema *found, grebe_error *err)
{
    char want[128];
    char got[128];
    type_quote(want, sizeof want, expected);
    type_quote(got, sizeof got, found);
    return GREBE_FAIL(err, GREBE_ESCHEMA, "column \"%.64s\": expected %s, found %s", name, want,
                      got);
}

/* The columns that count of the first file. */
grebe_status import_take_schema(struct import *m, const struct ArrowSchema *all, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = m->x->ctx->a;
    struct name_index index = { 0 };
    size_t n = m->o->columns == NULL ? (size_t)all->n_children : m->o->n_columns;
    int *columns = mem_alloc_zero(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    GREBE_TRY(schema_index(a, all, &index, err));
    for (size_t i = 0; i < n; i++) {
        const char *name = m->o->columns == NULL ? all->children[i]->name : m->o->columns[i];
        st = schema_find_indexed(all, &index, name, &columns[i], err);
        st = st == GREBE_EINVAL ? GREBE_ESCHEMA : st; /* nobody's argument: two have the name */
        if (st == GREBE_OK && name[0] == '\0') {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "column %zu has no name", i);
        }
        if (st != GREBE_OK) {
            goto out;
        }
    }
    if (n == 0) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "expected columns, found none");
        goto out;
    }
    st = schema_project(a, all, columns, n, &m->schema, err);
out:
    mem_free(a, columns, n * sizeof *columns);
    name_index_release(&index);
    if (st == GREBE_ESCHEMA && err != NULL) {
        err->status = st;
    }
    return st;
}

grebe_status import_choose_kind(struct import *m, grebe_error *err)
{
    int64_t n = m->schema.n_children;
    int64_t n_known = 0;
    const char *unknown = "";
    if (m->d.m.groups.n == 0) {
        m->kind = IMPORT_NEW;
        return GREBE_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *name = m->schema.children[i]->name;
        if (name_index_find(&m->names, name) != NULL) {
            n_known++;
        } else if (unknown[0] == '\0') {
            unknown = name;
        }
    }
    m->kind = n_known > 0 ? IMPORT_ROWS : IMPORT_COLUMNS;
    if (n_known > 0 && n_known < n) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column \"%.64s\": the table has %" PRId64 " of the file's columns, and "
                          "none of this name", unknown, n_known);
    }
    if (m->kind == IMPORT_ROWS && m->x->additions.n > 0) {
        return GREBE_FAIL(err, GREBE_EINVAL,
                          "import: rows come before new columns in one transaction");
    }
    return GREBE_OK;
}

/* A column of the table against the files: its type must fit as it is, since nothing is cast on
 * the way in. */
static grebe_status fit_column(struct import *m, const struct draft_column *c,
                               const struct name_index *index, grebe_error *err)
{
    int at = 0;
    grebe_status st = schema_find_indexed(&m->schema, index, c->name, &at, NULL);
    if (c->field.release == NULL) {
        return GREBE_OK; /* of files of this transaction that nobody opened yet */
    }
    if (st != GREBE_OK && (c->field.flags & ARROW_FLAG_NULLABLE) == 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column \"%.64s\": expected it (it is not nullable), found none", c->name);
    }
    if (st != GREBE_OK) {
        return GREBE_OK;
    }
    if (strcmp(c->name, c->stored) != 0) {
        return GREBE_FAIL(err, GREBE_ESCHEMA,
                          "column \"%.64s\": renamed since, files must call it \"%.64s\": append "
                          "the rows instead", c->name, c->stored);
    }
    const struct ArrowSchema *found = m->schema.children[at];
    struct ArrowSchema to = c->field; /* shallow */
    to.flags = (to.flags & ~(int64_t)ARROW_FLAG_NULLABLE) | (found->flags & ARROW_FLAG_NULLABLE);
    if (schema_equal(found, &to, IMPORT_SAME_TYPE | SCHEMA_EQUAL_IGNORE_CHILD_NAMES)) {
        return GREBE_OK;
    }
    /* A table without a stored schema is read by programs that do not widen. */
    bool is_cast = txn_writes_entries(m->x, m->x->base->snapshot);
    return is_cast && schema_widens(found, &to, NULL) == GREBE_OK
               ? GREBE_OK
               : import_fail_type(c->name, &c->field, found, err);
}

grebe_status import_fit_columns(struct import *m, grebe_error *err)
{
    struct name_index index;
    grebe_status st = schema_index(m->x->ctx->a, &m->schema, &index, err);
    for (size_t i = 0; i < m->d.n_columns && st == GREBE_OK; i++) {
        st = fit_column(m, &m->d.columns[i], &index, err);
    }
    for (size_t g = 0; g < m->d.m.groups.n && st == GREBE_OK; g++) {
        const struct manifest_group *group = manifest_group_at(&m->d.m, g);
        if (group->columns.n > 0 && strcmp(group->format.data, m->format->name) != 0) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA,
                            "group %zu (\"%.64s\", …): expected files of format %.32s, found %s", g,
                            manifest_column_at(group, 0), group->format.data, m->format->name);
        }
    }
    name_index_release(&index);
    return st;
}

/* ---- nulls where the table allows none ---- */

static grebe_status count_nulls(struct import *m, struct format_reader *r, int field,
                                int64_t *n_nulls, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *n_nulls = 0;
    for (size_t c = 0; c < r->n_chunks && st == GREBE_OK; c++) {
        struct column_bounds bounds = { 0 };
        struct ArrowArray rows = { 0 };
        if (r->ops->bounds != NULL) {
            GREBE_TRY(r->ops->bounds(r, field, c, &bounds, err));
        }
        if (bounds.has_null_count) {
            *n_nulls += bounds.null_count;
            continue;
        }
        GREBE_TRY(call_check(&m->call, err));
        GREBE_TRY(r->ops->read(r, &field, 1, r->chunk_begin[c], r->chunk_begin[c + 1], &m->call,
                               &rows, err));
        *n_nulls += array_null_count(rows.children[0]);
        array_release(&rows);
    }
out:
    return st;
}

grebe_status import_check_nulls(struct import *m, struct format_reader *r, int64_t column,
                                int field, grebe_error *err)
{
    const char *name = m->schema.children[column]->name;
    const size_t *at = name_index_find(&m->names, name);
    bool is_free = m->kind != IMPORT_ROWS || at == NULL ||
                   (m->d.columns[*at].field.flags & ARROW_FLAG_NULLABLE) != 0 ||
                   m->d.columns[*at].field.release == NULL;
    if (is_free || (r->schema.children[field]->flags & ARROW_FLAG_NULLABLE) == 0) {
        return GREBE_OK;
    }
    int64_t n_nulls = 0;
    grebe_status st = count_nulls(m, r, field, &n_nulls, err);
    if (st == GREBE_OK && n_nulls > 0) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA,
                        "column \"%.64s\": expected no nulls (it is not nullable), found %" PRId64,
                        name, n_nulls);
    }
    return st;
}
