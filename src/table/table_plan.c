/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_internal.h"

#include <assert.h>

grebe_status row_id_schema(const grebe_allocator *a, bool is_nullable, struct ArrowSchema *out,
                           grebe_error *err)
{
    return schema_new(a, "l", ROW_ID_COLUMN, is_nullable, 0, out, err);
}

grebe_status plan_row_ids(const grebe_table *t, int64_t begin, int64_t n, struct ArrowArray *out,
                          grebe_error *err)
{
    void *data = NULL;
    const grebe_allocator *a = t->ctx->a;
    grebe_status st = array_new(a, n, 2, 0, out, err);
    if (st == GREBE_OK) {
        st = array_alloc_buffer(a, out, 1, (size_t)n * sizeof(int64_t), &data, err);
    }
    if (st != GREBE_OK) {
        array_release(out);
        return st;
    }
    int64_t *ids = data;
    const struct snapshot *s = t->snapshot;
    if (s->runs == NULL) {
        for (int64_t i = 0; i < n; i++) {
            ids[i] = begin + i;
        }
        return GREBE_OK;
    }
    for (int64_t i = 0; i < n;) { /* run by run */
        int64_t id = snapshot_id_of_row(s, begin + i);
        int64_t next = i + 1;
        while (next < n && next - i < 1024 && snapshot_id_of_row(s, begin + next) == id + next - i) {
            next++;
        }
        for (; i < next; i++) {
            ids[i] = id++;
        }
    }
    return GREBE_OK;
}

/* Which group of the plan reads the column, which child of it; added when it is new. */
static grebe_status place_column(const grebe_table *t, struct plan *p, int column,
                                 struct plan_column *out, size_t n_max, grebe_error *err)
{
    int32_t group = t->columns->items[column].group;
    size_t g = 0;
    *out = (struct plan_column){ column, -1, 0 };
    if (group < 0) {
        return GREBE_OK;
    }
    while (g < p->n_groups && p->groups[g].group != (size_t)group) {
        g++;
    }
    struct plan_group *to = &p->groups[g];
    if (g == p->n_groups) {
        to->group = (size_t)group;
        to->columns = mem_alloc(p->a, n_max * sizeof *to->columns);
        if (to->columns == NULL) {
            return mem_fail(err, n_max * sizeof *to->columns, "a plan");
        }
        p->n_groups++;
    }
    out->plan_group = (int)g;
    for (size_t i = 0; i < to->n_columns; i++) {
        if (to->columns[i] == column) {
            out->at = (int)i;
            return GREBE_OK;
        }
    }
    out->at = (int)to->n_columns;
    to->columns[to->n_columns++] = column;
    return GREBE_OK;
}

/* From so many names on they are looked up through an index. */
enum { MANY_NAMES = 64 };

static grebe_status add_named(const grebe_table *t, struct plan *p, const struct name_index *index,
                              const char *name, size_t n_max, grebe_error *err)
{
    int column = 0;
    grebe_status st = index != NULL
                          ? schema_find_indexed(&t->columns->schema, index, name, &column, err)
                          : schema_find(&t->columns->schema, name, &column, err);
    for (size_t i = 0; i < p->n_columns && st == GREBE_OK; i++) {
        if (p->columns[i].column == column) {
            return GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" is asked for twice", name);
        }
    }
    if (st == GREBE_OK) {
        st = place_column(t, p, column, &p->columns[p->n_columns], n_max, err);
    }
    p->n_columns += st == GREBE_OK;
    return st;
}

static grebe_status output_schema(const grebe_table *t, struct plan *p, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct ArrowSchema *all = &t->columns->schema;
    struct ArrowSchema row_id = { 0 };
    const struct ArrowSchema **fields = mem_alloc(p->a, p->n_output * sizeof *fields);
    if (fields == NULL) {
        return mem_fail(err, p->n_output * sizeof *fields, "a schema");
    }
    for (size_t i = 0; i < p->n_output; i++) {
        if (p->columns[i].column >= 0) {
            fields[i] = all->children[p->columns[i].column];
        } else {
            GREBE_TRY(row_id_schema(p->a, false, &row_id, err));
            fields[i] = &row_id;
        }
    }
    st = schema_struct(p->a, fields, p->n_output, &p->schema, err);
out:
    schema_release(&row_id);
    mem_free(p->a, fields, p->n_output * sizeof *fields);
    return st;
}

grebe_status plan_new(const grebe_table *t, const char *const *names, size_t n_names,
                      bool with_row_id, const int *extra, size_t n_extra, struct plan *out,
                      grebe_error *err)
{
    grebe_status st = GREBE_OK;
    size_t n_all = t->columns->n;
    size_t n_wanted = names == NULL ? n_all : n_names;
    size_t n_max = n_wanted + n_extra + 1;
    *out = (struct plan){ .a = t->ctx->a, .n_max = n_max };
    struct plan *p = out;
    struct name_index index = { 0 };
    bool is_wide = names != NULL && n_names >= MANY_NAMES;
    p->columns = mem_alloc_zero(p->a, n_max * sizeof *p->columns);
    p->groups = mem_alloc_zero(p->a, n_max * sizeof *p->groups);
    if (p->columns == NULL || p->groups == NULL) {
        st = mem_fail(err, n_max * sizeof *p->columns, "a plan");
        goto out;
    }
    if (with_row_id) {
        int clash = 0;
        for (size_t i = 0; names != NULL && i < n_names; i++) {
            clash |= strcmp(names[i], ROW_ID_COLUMN) == 0;
        }
        clash |= names == NULL &&
                 schema_find(&t->columns->schema, ROW_ID_COLUMN, &(int){ 0 }, NULL) == GREBE_OK;
        if (clash) {
            st = GREBE_FAIL(err, GREBE_EINVAL, "column \"%s\" cannot be read with row ids",
                            ROW_ID_COLUMN);
            goto out;
        }
        p->columns[p->n_columns++] = (struct plan_column){ -1, -1, 0 };
    }
    if (is_wide) {
        GREBE_TRY(schema_index(p->a, &t->columns->schema, &index, err));
    }
    for (size_t i = 0; i < n_wanted; i++) {
        if (names != NULL) {
            GREBE_TRY(add_named(t, p, is_wide ? &index : NULL, names[i], n_max, err));
        } else {
            GREBE_TRY(place_column(t, p, (int)i, &p->columns[p->n_columns], n_max, err));
            p->n_columns++;
        }
    }
    p->n_output = p->n_columns;
    for (size_t i = 0; i < n_extra; i++) {
        GREBE_TRY(place_column(t, p, extra[i], &p->columns[p->n_columns], n_max, err));
        p->n_columns++;
    }
    st = output_schema(t, p, err);
out:
    name_index_release(&index);
    if (st != GREBE_OK) {
        plan_release(out);
    }
    return st;
}

void plan_release(struct plan *p)
{
    if (p->a == NULL) {
        return;
    }
    size_t n_max = p->n_max;
    for (size_t g = 0; g < p->n_groups; g++) {
        mem_free(p->a, p->groups[g].columns, n_max * sizeof(int));
    }
    mem_free(p->a, p->columns, n_max * sizeof *p->columns);
    mem_free(p->a, p->groups, n_max * sizeof *p->groups);
    schema_release(&p->schema);
    *p = (struct plan){ 0 };
}
