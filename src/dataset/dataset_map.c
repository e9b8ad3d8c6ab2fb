/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/map_part.h"

static bool is_null_feature(const struct feature *f)
{
    return f->kind == FEATURE_VALUE && strcmp(f->dtype, "null") == 0;
}

/* The features of all parts together: nulls give way to a type. */
static grebe_status unite(struct map_part *parts, size_t n, const struct features **first, struct features **out,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = parts[0].j->t.ds->ctx->a;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        const struct features *f = parts[i].features;
        if (dataset_table_num_rows(parts[i].table) == 0 && i + 1 < n && *first == NULL) {
            continue; /* types of no rows count only when there are none */
        }
        if (*first == NULL) {
            *first = f;
            st = features_merge(a, f, f, out, err);
            continue;
        }
        for (size_t k = 0; k < f->top.n_fields && st == GREBE_OK && dataset_table_num_rows(parts[i].table) > 0; k++) {
            const struct feature *own = &f->top.fields[k], *known = features_find(*out, own->name);
            if (known == NULL || f->top.n_fields != (*out)->top.n_fields ||
                (!feature_equal(known, own) && !is_null_feature(known) && !is_null_feature(own))) {
                st = GREBE_FAIL(err, GREBE_ESCHEMA,
                                "column \"%.64s\": its type in part %zu is another than in those before", own->name, i);
            } else if (is_null_feature(known) && !is_null_feature(own)) {
                struct features *merged = NULL, *one = NULL;
                const char *name = own->name;
                st = features_project(a, f, &name, NULL, 1, &one, err);
                st = st == GREBE_OK ? features_merge(a, *out, one, &merged, err) : st;
                features_free(one);
                if (st == GREBE_OK) {
                    features_free(*out);
                    *out = merged;
                }
            }
        }
    }
    return st;
}

/* The table of a part with the columns of all. */
static grebe_status fit_table(const struct map_part *p, const struct features *all, const struct ArrowSchema *schema,
                              struct dataset_table **out, grebe_error *err)
{
    const grebe_allocator *a = p->j->t.ds->ctx->a;
    size_t n = all->top.n_fields;
    int *columns = mem_alloc(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        columns[i] = -1;
        for (size_t k = 0; k < p->features->top.n_fields; k++) {
            const struct feature *f = &p->features->top.fields[k];
            bool is_same = strcmp(f->name, all->top.fields[i].name) == 0 && feature_equal(f, &all->top.fields[i]);
            columns[i] = is_same ? (int)k : columns[i];
        }
    }
    grebe_status st = dataset_table_project(p->table, columns, schema, out, err);
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

static grebe_status join_parts(struct map_job *j, struct map_part *parts, size_t n, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = j->t.ds->ctx->a;
    struct derived d = { .are_rows_new = true };
    const struct features *first = NULL;
    struct ArrowSchema schema = { 0 };
    struct dataset_table **tables = mem_alloc_zero(a, n * sizeof *tables);
    if (tables == NULL) {
        return mem_fail(err, n * sizeof *tables, "tables");
    }
    GREBE_TRY(unite(parts, n, &first, &d.features, err));
    GREBE_TRY(features_to_schema(a, d.features, &schema, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(fit_table(&parts[i], d.features, &schema, &tables[i], err));
    }
    GREBE_TRY(
        dataset_table_stack(j->t.ds->ctx, (const struct dataset_table *const *)tables, n, &schema, &d.table, err));
    GREBE_TRY(
        dataset_derive(j->t.ds, &d, n == 1 ? (const char *)parts[0].fingerprint.data : j->t.fingerprint, out, err));
out:
    for (size_t i = 0; i < n; i++) {
        dataset_table_drop(tables[i]);
    }
    mem_free(a, tables, n * sizeof *tables);
    schema_release(&schema);
    features_free(d.features);
    dataset_table_drop(d.table);
    return st;
}

static grebe_status check_kinds(const struct map_part *parts, size_t n, bool *is_nothing, grebe_error *err)
{
    int64_t nothing = -1, something = -1;
    for (size_t i = 0; i < n; i++) {
        nothing = parts[i].nothing_row >= 0 && nothing < 0 ? parts[i].nothing_row : nothing;
        something = parts[i].something_row >= 0 && something < 0 ? parts[i].something_row : something;
    }
    *is_nothing = nothing >= 0 && something < 0;
    return nothing < 0 || something < 0
               ? GREBE_OK
               : GREBE_FAIL(err, GREBE_ESCHEMA, "row %lld: the function gave nothing, at row %lld it gave something",
                            (long long)nothing, (long long)something);
}

static grebe_status map_parts(struct map_job *j, grebe_dataset **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset *ds = j->t.ds;
    size_t n = j->m.part >= 0 ? 1 : (size_t)j->n_parts;
    bool is_nothing = false;
    struct map_part *parts = mem_alloc_zero(ds->ctx->a, n * sizeof *parts);
    if (parts == NULL) {
        return mem_fail(err, n * sizeof *parts, "parts");
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct map_part){
            .j = j, .i = j->m.part >= 0 ? j->m.part : (int32_t)i, .nothing_row = -1, .something_row = -1
        };
        parts[i].pending = parts[i].path = parts[i].path_beside = parts[i].fingerprint = BUF_INIT(ds->ctx->a);
    }
    GREBE_TRY(parallel_for(ds->ctx->pool, j->m.is_serial ? 1 : j->t.call.threads, n, map_part_run, parts, j->t.call.cancel, err));
    GREBE_TRY(check_kinds(parts, n, &is_nothing, err));
    if (is_nothing) {
        *out = grebe_dataset_keep(ds);
    } else {
        st = join_parts(j, parts, n, out, err);
    }
out:
    for (size_t i = 0; i < n; i++) {
        map_part_release(&parts[i]);
    }
    mem_free(ds->ctx->a, parts, n * sizeof *parts);
    return st;
}

grebe_status grebe_dataset_map(const grebe_dataset *ds, grebe_map_fn fn, void *fn_ctx, const grebe_map_options *map,
                               const grebe_transform_options *options, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && fn != NULL && out != NULL);
    struct map_job j;
    *out = NULL;
    grebe_status st = map_job_begin(&j, ds, false, map, options, err);
    j.map = fn;
    j.fn_ctx = fn_ctx;
    if (st == GREBE_OK && ds->n_rows == 0) {
        st = j.m.n_remove_columns > 0
                 ? grebe_dataset_remove_columns(ds, j.m.remove_columns, j.m.n_remove_columns, options, out, err)
                 : GREBE_OK;
        *out = st == GREBE_OK && *out == NULL ? grebe_dataset_keep(ds) : *out;
    } else if (st == GREBE_OK) {
        st = map_parts(&j, out, err);
    }
    map_job_end(&j);
    return st;
}
