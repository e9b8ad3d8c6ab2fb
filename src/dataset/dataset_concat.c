/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "dataset/order.h"
#include "dataset/transform.h"
#include "wire/json_python.h"

/* ---- what they have together ---- */

static bool is_null_feature(const struct feature *f)
{
    return f->kind == FEATURE_VALUE && strcmp(f->dtype, "null") == 0;
}

/* Take the columns of `more`: new ones behind, nulls give way to a type, two types are refused. */
static grebe_status unite(const grebe_allocator *a, struct features **all, const struct features *more, size_t i,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct features *changed = NULL, *merged = NULL;
    size_t n = 0;
    const char **names = mem_alloc(a, more->top.n_fields * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, more->top.n_fields * sizeof *names, "columns");
    }
    for (size_t k = 0; k < more->top.n_fields; k++) {
        const struct feature *f = &more->top.fields[k], *known = features_find(*all, f->name);
        if (known == NULL || (is_null_feature(known) && !is_null_feature(f))) {
            names[n++] = f->name;
        } else if (!is_null_feature(f) && !feature_equal(known, f)) {
            st =
                GREBE_FAIL(err, GREBE_ESCHEMA,
                           "column \"%.64s\": its feature in data set %zu is another than in those before", f->name, i);
            goto out;
        }
    }
    if (n > 0) {
        GREBE_TRY(features_project(a, more, names, NULL, n, &changed, err));
        GREBE_TRY(features_merge(a, *all, changed, &merged, err));
        features_free(*all);
        *all = merged;
    }
out:
    features_free(changed);
    mem_free(a, names, more->top.n_fields * sizeof *names);
    return st;
}

static bool is_format_equal(const grebe_dataset_format *x, const grebe_dataset_format *y)
{
    if ((x->type == NULL) != (y->type == NULL) || (x->type != NULL && strcmp(x->type, y->type) != 0) ||
        (x->columns == NULL) != (y->columns == NULL) || x->n_columns != y->n_columns ||
        x->output_all_columns != y->output_all_columns ||
        strcmp(x->kwargs != NULL ? x->kwargs : "{}", y->kwargs != NULL ? y->kwargs : "{}") != 0) {
        return false;
    }
    for (size_t i = 0; x->columns != NULL && i < x->n_columns; i++) {
        if (strcmp(x->columns[i], y->columns[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* The texts of all, those that are not empty once, with a blank line between. */
static grebe_status merge_text(struct arena *ar, const struct json_value *const *infos, size_t n, const char *key,
                               struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf text = BUF_INIT(ar->a);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        const struct json_value *v = json_get(infos[i], key);
        bool is_new = v != NULL && v->type == JSON_STRING && v->n > 0;
        for (size_t k = 0; k < i && is_new; k++) {
            const struct json_value *before = json_get(infos[k], key);
            is_new = before == NULL || !json_is_text(before, v->text);
        }
        if (is_new) {
            st = text.len > 0 ? buf_put(&text, "\n\n", 2, err) : GREBE_OK;
            st = st == GREBE_OK ? buf_put(&text, v->text, v->n, err) : st;
        }
    }
    st = st == GREBE_OK ? json_python_string(dst, text.data != NULL ? (const char *)text.data : "", text.len, err) : st;
    buf_release(&text);
    return st;
}

static grebe_status merge_info(const grebe_dataset *const *sets, size_t n, struct buf *dst, grebe_error *err)
{
    static const char *const keys[] = { "citation", "description", "homepage", "license" };
    grebe_status st = GREBE_OK;
    struct arena ar = ARENA_INIT(sets[0]->ctx->a);
    const struct json_value **infos = arena_array(&ar, n, sizeof *infos);
    if (infos == NULL) {
        st = mem_fail(err, n * sizeof *infos, "information");
        goto out;
    }
    /* the same text a thousand times is read once */
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(sets[i]->info_json, sets[i - 1]->info_json) == 0) {
            continue;
        }
        GREBE_TRY(json_parse(&ar, sets[i]->info_json, strlen(sets[i]->info_json), &infos[m++], err));
    }
    GREBE_TRY(buf_put_byte(dst, '{', err));
    for (size_t k = 0; k < 4; k++) {
        GREBE_TRY(buf_printf(dst, err, "%s\"%s\": ", k > 0 ? ", " : "", keys[k]));
        GREBE_TRY(merge_text(&ar, infos, m, keys[k], dst, err));
    }
    GREBE_TRY(buf_put(dst, "}", 2, err));
out:
    arena_release(&ar);
    return st;
}

static grebe_status fingerprint_of(const grebe_dataset *const *sets, size_t n, int32_t axis, const char *name,
                                   char out[17], grebe_error *err)
{
    struct fingerprint f;
    struct buf all = BUF_INIT(sets[0]->ctx->a);
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        st = buf_put_text(&all, sets[i]->fingerprint, err);
    }
    st = st == GREBE_OK ? buf_put_byte(&all, 0, err) : st;
    if (st == GREBE_OK) {
        st = fingerprint_begin(&f, all.a, (const char *)all.data, name, err);
        st = st == GREBE_OK ? fingerprint_arg_int(&f, "axis", axis, err) : st;
        if (st == GREBE_OK) {
            fingerprint_end(&f, out);
        }
        fingerprint_release(&f);
    }
    buf_release(&all);
    return st;
}

/* ---- one below the other ---- */

/* The table of a set with the columns of all. */
static grebe_status widen_table(const grebe_dataset *ds, const struct features *all, const struct ArrowSchema *schema,
                                struct dataset_table **out, grebe_error *err)
{
    const grebe_allocator *a = ds->ctx->a;
    size_t n = all->top.n_fields;
    int *columns = mem_alloc(a, n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, n * sizeof *columns, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        columns[i] = dataset_find_column(ds, all->top.fields[i].name);
        /* a column of nulls has no bytes: nulls of any type stand for it */
        if (columns[i] >= 0 && is_null_feature(&ds->features->top.fields[columns[i]])) {
            columns[i] = -1;
        }
    }
    grebe_status st = dataset_table_project(ds->table, columns, schema, out, err);
    mem_free(a, columns, n * sizeof *columns);
    return st;
}

/* Mappings one after another, each moved behind the tables before it. */
static grebe_status join_indices(const grebe_dataset *const *sets, size_t n, struct dataset_indices **out,
                                 grebe_error *err)
{
    int64_t total = 0, at = 0;
    uint64_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        total += sets[i]->n_rows;
    }
    uint64_t *rows = mem_alloc(sets[0]->ctx->a, (size_t)total * sizeof *rows);
    if (rows == NULL) {
        return mem_fail(err, (size_t)total * sizeof *rows, "indices");
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *own = sets[i]->indices != NULL ? dataset_indices_rows(sets[i]->indices) : NULL;
        for (int64_t k = 0; k < sets[i]->n_rows; k++) {
            rows[at++] = offset + (own != NULL ? own[k] : (uint64_t)k);
        }
        offset += (uint64_t)dataset_table_num_rows(sets[i]->table);
    }
    return dataset_indices_new(sets[0]->ctx, rows, total, out, err);
}

static grebe_status stack(const grebe_dataset *const *sets, size_t n, const char *fingerprint, grebe_dataset **out,
                          grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset *first = sets[0];
    grebe_context *ctx = first->ctx;
    struct features *all = NULL;
    struct ArrowSchema schema = { 0 };
    struct dataset_table **tables = mem_alloc_zero(ctx->a, n * sizeof *tables), *table = NULL;
    struct dataset_indices *indices = NULL;
    struct buf info = BUF_INIT(ctx->a);
    bool is_mapped = false, is_format_common = true;
    const char *split = first->split;
    if (tables == NULL) {
        return mem_fail(err, n * sizeof *tables, "tables");
    }
    GREBE_TRY(dataset_copy_features(first, &all, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(unite(ctx->a, &all, sets[i]->features, i, err));
        is_mapped = is_mapped || sets[i]->indices != NULL;
        is_format_common = is_format_common && is_format_equal(&first->format, &sets[i]->format);
        split = split != NULL && sets[i]->split != NULL && strcmp(split, sets[i]->split) == 0 ? split : NULL;
    }
    GREBE_TRY(features_to_schema(ctx->a, all, &schema, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(widen_table(sets[i], all, &schema, &tables[i], err));
    }
    GREBE_TRY(dataset_table_stack(ctx, (const struct dataset_table *const *)tables, n, &schema, &table, err));
    if (is_mapped) {
        GREBE_TRY(join_indices(sets, n, &indices, err));
    }
    GREBE_TRY(merge_info(sets, n, &info, err));
    GREBE_TRY(dataset_new(ctx, table, indices, all, (const char *)info.data, split, fingerprint,
                          is_format_common ? &first->format : NULL, out, err));
    table = NULL;
    indices = NULL;
    all = NULL;
out:
    for (size_t i = 0; i < n; i++) {
        dataset_table_drop(tables[i]);
    }
    mem_free(ctx->a, tables, n * sizeof *tables);
    dataset_table_drop(table);
    dataset_indices_drop(indices);
    features_free(all);
    schema_release(&schema);
    buf_release(&info);
    return st;
}

/* ---- side by side ---- */

static grebe_status check_side_by_side(const grebe_dataset *const *sets, size_t n, grebe_error *err)
{
    for (size_t i = 1; i < n; i++) {
        if (sets[i]->n_rows != sets[0]->n_rows) {
            return GREBE_FAIL(err, GREBE_EINVAL, "data set %zu has %lld rows, the first %lld", i,
                              (long long)sets[i]->n_rows, (long long)sets[0]->n_rows);
        }
        for (size_t c = 0; c < sets[i]->features->top.n_fields; c++) {
            for (size_t k = 0; k < i; k++) {
                if (dataset_find_column(sets[k], sets[i]->columns[c]) >= 0) {
                    return GREBE_FAIL(err, GREBE_EINVAL, "column \"%.64s\" is in data sets %zu and %zu",
                                      sets[i]->columns[c], k, i);
                }
            }
        }
    }
    return GREBE_OK;
}

static grebe_status join(const grebe_dataset *const *sets, size_t n, const char *fingerprint, grebe_dataset **out,
                         grebe_error *err)
{
    const grebe_allocator *a = sets[0]->ctx->a;
    grebe_dataset **flat = mem_alloc_zero(a, n * sizeof *flat);
    if (flat == NULL) {
        return mem_fail(err, n * sizeof *flat, "data sets");
    }
    grebe_status st = check_side_by_side(sets, n, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        if (n > 1) {
            st = grebe_dataset_flatten_indices(sets[i], NULL, &flat[i], err);
        } else {
            flat[i] = grebe_dataset_keep(sets[i]);
        }
    }
    st = st == GREBE_OK ? dataset_join((const grebe_dataset *const *)flat, n, fingerprint, out, err) : st;
    for (size_t i = 0; i < n; i++) {
        grebe_dataset_free(flat[i]);
    }
    mem_free(a, flat, n * sizeof *flat);
    return st;
}

static grebe_status check_sets(const grebe_dataset *const *sets, size_t n, grebe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (sets[i] == NULL || sets[i]->ctx != sets[0]->ctx) {
            return GREBE_FAIL(err, GREBE_EINVAL, "data set %zu: expected one of the same context", i);
        }
    }
    return GREBE_OK;
}

grebe_status grebe_dataset_concatenate(const grebe_dataset *const *sets, size_t n, int32_t axis, grebe_dataset **out,
                                       grebe_error *err)
{
    GREBE_CHECK_ARG(err, sets != NULL && n > 0 && (axis == 0 || axis == 1) && out != NULL);
    grebe_status st = check_sets(sets, n, err);
    char fingerprint[17];
    *out = NULL;
    if (st != GREBE_OK) {
        return st;
    }
    const grebe_allocator *a = sets[0]->ctx->a;
    const grebe_dataset **used = mem_alloc(a, n * sizeof *used);
    size_t n_used = 0;
    if (used == NULL) {
        return mem_fail(err, n * sizeof *used, "data sets");
    }
    for (size_t i = 0; i < n; i++) {
        if (sets[i]->n_rows > 0) { /* no rows, no say in the columns */
            used[n_used++] = sets[i];
        }
    }
    if (n_used == 0) {
        *out = grebe_dataset_keep(sets[0]);
        goto out;
    }
    GREBE_TRY(fingerprint_of(used, n_used, axis, "concatenate_datasets", fingerprint, err));
    st = axis == 0 ? stack(used, n_used, fingerprint, out, err) : join(used, n_used, fingerprint, out, err);
out:
    mem_free(a, (void *)(uintptr_t)used, n * sizeof *used);
    return st;
}

/* ---- in turn ---- */

grebe_status grebe_dataset_interleave(const grebe_dataset *const *sets, size_t n, const double *probabilities,
                                      grebe_seed seed, grebe_stop stop, grebe_dataset **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, sets != NULL && n > 0 && out != NULL && (seed.words != NULL || seed.n == 0));
    grebe_status st = check_sets(sets, n, err);
    uint32_t drawn = 0;
    struct pcg64 g;
    grebe_dataset *all = NULL;
    *out = NULL;
    if (st != GREBE_OK) {
        return st;
    }
    grebe_context *ctx = sets[0]->ctx;
    struct buf rows = BUF_INIT(ctx->a);
    int64_t *lengths = mem_alloc(ctx->a, n * sizeof *lengths);
    if (lengths == NULL) {
        return mem_fail(err, n * sizeof *lengths, "lengths");
    }
    for (size_t i = 0; i < n; i++) {
        lengths[i] = sets[i]->n_rows;
    }
    if (seed.n == 0) {
        GREBE_TRY(context_random(ctx, &drawn, sizeof drawn, err));
        seed = (grebe_seed){ &drawn, 1 };
    }
    GREBE_TRY(pcg64_seed(ctx->a, seed.words, seed.n, &g, err));
    GREBE_TRY(order_interleave(ctx->a, &g, lengths, n, probabilities, stop, &rows, err));
    GREBE_TRY(grebe_dataset_concatenate(sets, n, 0, &all, err));
    GREBE_TRY(grebe_dataset_select(all, (const int64_t *)(const void *)rows.data, rows.len / sizeof(int64_t), NULL, out,
                                   err));
out:
    grebe_dataset_free(all);
    buf_release(&rows);
    mem_free(ctx->a, lengths, n * sizeof *lengths);
    return st;
}
