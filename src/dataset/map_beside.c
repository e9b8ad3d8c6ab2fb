/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/map_beside.h"

#include <string.h>

bool map_beside_allowed(const struct map_job *j)
{
    const struct transform *t = &j->t;
    return t->ds->indices == NULL && t->o.cache_file == NULL && (!t->o.keep_in_memory || t->ds->n_files == 0);
}

bool map_beside_fits(const struct map_job *j, const struct map_batch *b, const struct features *features)
{
    const grebe_dataset *ds = j->t.ds;
    bool does_one_stay = false;
    for (int64_t i = 0; i < b->schema.n_children; i++) {
        const char *name = b->schema.children[i]->name;
        if (!b->is_untouched[i]) {
            continue;
        }
        const struct feature *f = features_find(features, name), *own = features_find(ds->features, name);
        if (f == NULL || own == NULL || !feature_equal(f, own)) {
            return false; /* asked for as another feature: it has to be cast */
        }
        does_one_stay = true;
    }
    return does_one_stay;
}

/* ---- what is written ---- */

grebe_status map_beside_given(const struct map_job *j, struct map_batch *b, struct map_batch *given, grebe_error *err)
{
    const grebe_allocator *a = j->t.ds->ctx->a;
    size_t n = (size_t)b->schema.n_children, n_given = 0;
    const struct ArrowSchema **types = mem_alloc(a, (n + 1) * sizeof *types);
    struct ArrowArray *columns = mem_alloc_zero(a, (n + 1) * sizeof *columns);
    grebe_status st = types == NULL || columns == NULL ? mem_fail(err, n * sizeof *columns, "columns") : GREBE_OK;
    memset(given, 0, sizeof *given);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        if (!b->is_untouched[i]) {
            types[n_given] = b->schema.children[i];
            array_move(&columns[n_given++], b->rows.children[i]);
        }
    }
    st = st == GREBE_OK ? schema_struct(a, types, n_given, &given->schema, err) : st;
    st = st == GREBE_OK ? array_struct(a, b->rows.length, columns, n_given, &given->rows, err) : st;
    for (size_t i = 0; columns != NULL && i < n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, (n + 1) * sizeof *columns);
    mem_free(a, (void *)(uintptr_t)types, (n + 1) * sizeof *types);
    map_batch_release(j, b);
    return st;
}

grebe_status map_beside_given_features(const struct map_job *j, const struct map_batch *b, const struct features *features,
                                       struct features **out, grebe_error *err)
{
    const grebe_allocator *a = j->t.ds->ctx->a;
    size_t n = (size_t)b->schema.n_children, n_given = 0;
    const char **names = mem_alloc(a, (n + 1) * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        if (!b->is_untouched[i]) {
            names[n_given++] = b->schema.children[i]->name;
        }
    }
    grebe_status st = features_project(a, features, names, NULL, n_given, out, err);
    mem_free(a, names, (n + 1) * sizeof *names);
    return st;
}

bool map_beside_is_alike(const struct map_batch *b, const struct features *given)
{
    size_t n_given = 0;
    for (int64_t i = 0; i < b->schema.n_children; i++) {
        if (!b->is_untouched[i]) {
            n_given++;
            if (features_find(given, b->schema.children[i]->name) == NULL) {
                return false;
            }
        }
    }
    return n_given == given->top.n_fields;
}

/* ---- the table of both ---- */

/* Columns that stay in their order, those given of their name in their place, new ones behind (map_merge.c). */
static grebe_status result_features(const struct map_job *j, const struct features *given, struct features **out,
                                    grebe_error *err)
{
    const grebe_dataset *ds = j->t.ds;
    const grebe_allocator *a = ds->ctx->a;
    size_t n = ds->features->top.n_fields, n_kept = 0;
    struct features *kept = NULL;
    const char **names = mem_alloc(a, (n + 1) * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        if (!j->is_removed[i]) {
            names[n_kept++] = ds->columns[i];
        }
    }
    grebe_status st = n_kept > 0 ? features_project(a, ds->features, names, NULL, n_kept, &kept, err)
                                 : GREBE_FAIL(err, GREBE_ESCHEMA, "no column of the data set stays");
    st = st == GREBE_OK ? features_merge(a, kept, given, out, err) : st;
    features_free(kept);
    mem_free(a, names, (n + 1) * sizeof *names);
    return st;
}

/* Columns of both side by side, picked into the order of the result. */
static grebe_status pick(const struct map_job *j, const struct dataset_table *const *tables, const struct features *features,
                         struct dataset_table **out, grebe_error *err)
{
    grebe_context *ctx = j->t.ds->ctx;
    const struct ArrowSchema *own = dataset_table_schema(tables[0]), *given = dataset_table_schema(tables[1]);
    size_t n_own = (size_t)own->n_children, n_all = n_own + (size_t)given->n_children, n = features->top.n_fields;
    grebe_status st = GREBE_OK;
    struct ArrowSchema all = { 0 }, schema = { 0 };
    struct dataset_table *joined = NULL;
    const struct ArrowSchema **types = mem_alloc(ctx->a, n_all * sizeof *types);
    int *columns = mem_alloc(ctx->a, n * sizeof *columns);
    if (types == NULL || columns == NULL) {
        st = mem_fail(err, n_all * sizeof *types, "columns");
        goto out;
    }
    for (size_t i = 0; i < n_all; i++) {
        types[i] = i < n_own ? own->children[i] : given->children[i - n_own];
    }
    for (size_t i = 0; i < n; i++) {
        int k = schema_child(given, features->top.fields[i].name);
        columns[i] = k >= 0 ? (int)n_own + k : schema_child(own, features->top.fields[i].name);
    }
    GREBE_TRY(schema_struct(ctx->a, types, n_all, &all, err));
    GREBE_TRY(features_to_schema(ctx->a, features, &schema, err));
    GREBE_TRY(dataset_table_join(ctx, tables, 2, &all, &joined, err));
    GREBE_TRY(dataset_table_project(joined, columns, &schema, out, err));
out:
    dataset_table_drop(joined);
    schema_release(&all);
    schema_release(&schema);
    mem_free(ctx->a, (void *)(uintptr_t)types, n_all * sizeof *types);
    mem_free(ctx->a, columns, n * sizeof *columns);
    return st;
}

grebe_status map_beside_join(const struct map_job *j, int64_t begin, int64_t n_rows, const struct dataset_table *given,
                             const struct features *given_features, struct features **features, struct dataset_table **out,
                             grebe_error *err)
{
    struct dataset_table *own = NULL;
    *out = NULL;
    if (dataset_table_num_rows(given) != n_rows) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "columns of a map: expected %lld rows, found %lld", (long long)n_rows,
                          (long long)dataset_table_num_rows(given));
    }
    grebe_status st = result_features(j, given_features, features, err);
    st = st == GREBE_OK ? dataset_table_slice(j->t.ds->table, begin, begin + n_rows, &own, err) : st;
    if (st == GREBE_OK) {
        st = pick(j, (const struct dataset_table *const[]){ own, given }, *features, out, err);
    }
    dataset_table_drop(own);
    return st;
}
