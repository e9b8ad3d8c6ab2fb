/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable/iterable_merge.h"

#include <string.h>

#include "base/buf.h"

static bool is_named(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Columns of a result put together. */
struct merging {
    const grebe_allocator *a;
    struct buf fields; /* const struct ArrowSchema *: borrowed */
    struct buf arrays; /* struct ArrowArray: owned */
};

static grebe_status merge_put(struct merging *m, const struct ArrowSchema *field, struct array_shared *data,
                              int64_t child, int64_t begin, int64_t n, grebe_error *err)
{
    struct ArrowArray one = { 0 };
    grebe_status st = array_view(data, array_shared_get(data)->children[child], begin, n, &one, err);
    if (st == GREBE_OK) {
        st = buf_put(&m->arrays, &one, sizeof one, err);
        if (st != GREBE_OK) {
            array_release(&one);
            return st;
        }
        st = buf_put(&m->fields, &field, sizeof field, err);
    }
    return st;
}

/* Columns that stay, in their places; those of the result over them or behind. result: n rows. */
static grebe_status merge_columns(struct merging *m, const struct rows *in, const char *const *removed,
                                  size_t n_removed, const struct ArrowSchema *schema, struct array_shared *result,
                                  int64_t n, grebe_error *err)
{
    const struct ArrowSchema *old = &in->type->schema;
    grebe_status st = GREBE_OK;
    for (int i = 0; i < old->n_children; i++) {
        const char *name = old->children[i]->name;
        if (is_named(removed, n_removed, name)) {
            continue;
        }
        int at = schema_child(schema, name);
        if (at < 0 && n != in->n) {
            return GREBE_FAIL(err, GREBE_ESCHEMA,
                              "a function gave %lld rows for %lld, and column \"%s\" stays: remove it", (long long)n,
                              (long long)in->n, name);
        }
        GREBE_TRY(at >= 0 ? merge_put(m, schema->children[at], result, at, 0, n, err)
                          : merge_put(m, old->children[i], in->data, i, in->begin, n, err));
    }
    for (int i = 0; i < schema->n_children; i++) {
        int at = schema_child(old, schema->children[i]->name);
        if (at < 0 || is_named(removed, n_removed, schema->children[i]->name)) {
            GREBE_TRY(merge_put(m, schema->children[i], result, i, 0, n, err));
        }
    }
out:
    return st;
}

grebe_status rows_merge(const grebe_allocator *a, const struct rows *in, const char *const *removed, size_t n_removed,
                        const struct ArrowSchema *schema, struct ArrowArray *result, struct rows *out, grebe_error *err)
{
    struct merging m = { a, BUF_INIT(a), BUF_INIT(a) };
    struct array_shared *shared = NULL;
    struct ArrowArray all = { 0 };
    struct ArrowSchema merged = { 0 };
    struct rows_type *type = NULL;
    /* without columns nothing was said of the rows: they stay, where something of them does */
    int64_t n = schema->n_children > 0 || n_removed >= (size_t)in->type->schema.n_children ? result->length : in->n;
    grebe_status st = array_share(a, result, &shared, err);
    if (st != GREBE_OK) {
        array_release(result);
        return st;
    }
    GREBE_TRY(merge_columns(&m, in, removed, n_removed, schema, shared, n, err));
    size_t n_columns = m.fields.len / sizeof(struct ArrowSchema *);
    GREBE_TRY(
        schema_struct(a, (const struct ArrowSchema *const *)(const void *)m.fields.data, n_columns, &merged, err));
    GREBE_TRY(array_struct(a, n, (struct ArrowArray *)(void *)m.arrays.data, n_columns, &all, err));
    buf_clear(&m.arrays);
    GREBE_TRY(rows_type_new(a, &merged, &type, err));
    st = rows_of(a, type, &all, out, err);
out:
    for (size_t i = 0; i < m.arrays.len / sizeof all; i++) {
        array_release(&((struct ArrowArray *)(void *)m.arrays.data)[i]);
    }
    buf_release(&m.arrays);
    buf_release(&m.fields);
    array_shared_drop(shared);
    array_release(&all);
    schema_release(&merged);
    rows_type_drop(type);
    return st;
}
