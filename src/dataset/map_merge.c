/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/map_merge.h"

#include <string.h>

/* The columns of a batch while they are put together. */
struct merge {
    struct map_job *j;
    const grebe_allocator *a;
    struct ArrowArray *in;     /* what the function got */
    struct ArrowArray carried; /* columns that it did not get */
    const struct ArrowSchema *given_schema;
    struct ArrowArray given; /* what it gave */
    bool *is_used;           /* shape [columns given] */
    size_t n, capacity;
    const struct ArrowSchema **types; /* borrowed */
    struct ArrowArray *columns;
    bool *is_untouched;
    int64_t length;
    grebe_error *err;
};

static grebe_status merge_new(struct merge *m, size_t capacity)
{
    size_t n_given = (size_t)m->given.n_children;
    m->capacity = capacity;
    m->types = mem_alloc_zero(m->a, capacity * sizeof *m->types);
    m->columns = mem_alloc_zero(m->a, capacity * sizeof *m->columns);
    m->is_untouched = mem_alloc_zero(m->a, capacity);
    m->is_used = mem_alloc_zero(m->a, n_given);
    return m->types == NULL || m->columns == NULL || m->is_untouched == NULL || m->is_used == NULL
               ? mem_fail(m->err, capacity * sizeof *m->columns, "columns")
               : GREBE_OK;
}

static void merge_release(struct merge *m)
{
    size_t n_given = m->is_used != NULL ? (size_t)m->given_schema->n_children : 0;
    for (size_t i = 0; m->columns != NULL && i < m->capacity; i++) {
        array_release(&m->columns[i]);
    }
    mem_free(m->a, (void *)(uintptr_t)m->types, m->capacity * sizeof *m->types);
    mem_free(m->a, m->columns, m->capacity * sizeof *m->columns);
    mem_free(m->a, m->is_untouched, m->capacity);
    mem_free(m->a, m->is_used, n_given);
    array_release(&m->carried);
    array_release(&m->given);
}

static void put_given(struct merge *m, int i)
{
    m->types[m->n] = m->given_schema->children[i];
    array_move(&m->columns[m->n++], m->given.children[i]);
    m->is_used[i] = true;
}

/* A column of the data set that stays. */
static grebe_status put_untouched(struct merge *m, int column)
{
    const grebe_dataset *ds = m->j->t.ds;
    struct ArrowArray *from = NULL;
    for (size_t k = 0; k < m->j->n_input && from == NULL; k++) {
        from = m->j->input[k] == column ? m->in->children[k] : NULL;
    }
    for (size_t k = 0; k < m->j->n_carried && from == NULL; k++) {
        from = m->j->carried[k] == column ? m->carried.children[k] : NULL;
    }
    if (from == NULL || from->length != m->length) {
        return GREBE_FAIL(
            m->err, GREBE_ESCHEMA,
            "the function gave %lld rows for %lld, but column \"%.64s\" stays: remove it (remove_columns)",
            (long long)m->length, (long long)(from != NULL ? from->length : 0), ds->columns[column]);
    }
    m->types[m->n] = ds->schema.children[column];
    m->is_untouched[m->n] = true;
    array_move(&m->columns[m->n++], from);
    return GREBE_OK;
}

/* Columns that stay in their order, those given of their name in their place, new ones behind. */
static grebe_status merge_columns(struct merge *m, int64_t begin, int64_t end)
{
    struct map_job *j = m->j;
    const grebe_dataset *ds = j->t.ds;
    size_t n = ds->features->top.n_fields;
    grebe_status st = merge_new(m, n + (size_t)m->given.n_children);
    m->length = m->given.n_children > 0 ? m->given.length : end - begin;
    if (st == GREBE_OK && j->n_carried > 0) {
        st = dataset_read_rows(ds, begin, end, j->carried, j->n_carried, &m->carried, m->err);
    }
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        int k = schema_child(m->given_schema, ds->columns[i]);
        if (j->is_removed[i]) {
            continue; /* given again, it comes behind */
        }
        if (k >= 0 && !m->is_used[k]) {
            put_given(m, k);
        } else {
            st = put_untouched(m, (int)i);
        }
    }
    for (int64_t k = 0; k < m->given_schema->n_children && st == GREBE_OK; k++) {
        if (!m->is_used[k]) {
            put_given(m, (int)k);
        }
    }
    return st;
}

static grebe_status replace_columns(struct merge *m)
{
    grebe_status st = merge_new(m, (size_t)m->given.n_children + 1);
    m->length = m->given.length;
    for (int64_t k = 0; k < m->given_schema->n_children && st == GREBE_OK; k++) {
        put_given(m, (int)k);
    }
    return st;
}

static grebe_status finish(struct merge *m, struct map_batch *out)
{
    grebe_status st = schema_struct(m->a, m->types, m->n, &out->schema, m->err);
    bool *flags = st == GREBE_OK ? mem_alloc(m->a, m->n) : NULL;
    if (st == GREBE_OK && flags == NULL) {
        st = mem_fail(m->err, m->n, "columns");
    }
    if (st == GREBE_OK) {
        memcpy(flags, m->is_untouched, m->n);
        out->is_untouched = flags;
        for (size_t i = 0; i < m->n && st == GREBE_OK; i++) {
            if (m->columns[i].length != m->length) {
                st = GREBE_FAIL(m->err, GREBE_ESCHEMA, "column \"%.64s\": %lld rows, others have %lld",
                                m->types[i]->name, (long long)m->columns[i].length, (long long)m->length);
            }
        }
    }
    return st == GREBE_OK ? array_struct(m->a, m->length, m->columns, m->n, &out->rows, m->err) : st;
}

/* What the function gave, as normal rows. */
static grebe_status check_given(const struct map_job *j, struct map_call *c, grebe_error *err)
{
    const grebe_allocator *a = j->t.ds->ctx->a;
    const struct ArrowSchema *schema = &c->given.schema;
    struct ArrowArray rows = { 0 };
    int64_t n_in = c->end - c->begin;
    if (schema->release == NULL || c->given.rows.release == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "the function gave no rows, and did not say so");
    }
    grebe_status st = schema_check(schema, err);
    st = st == GREBE_OK ? array_import_rows(a, schema, &c->given.rows, &rows, err) : st;
    if (st == GREBE_OK && j->m.is_rows_fixed && rows.n_children > 0 && rows.length != n_in) {
        st = GREBE_FAIL(err, GREBE_ESCHEMA, "the function gave %lld rows for %lld", (long long)rows.length, (long long)n_in);
    }
    for (int64_t i = 0; i < schema->n_children && st == GREBE_OK; i++) {
        if (schema_child(schema, schema->children[i]->name) != (int)i) {
            st = GREBE_FAIL(err, GREBE_ESCHEMA, "the function gave column \"%.64s\" twice", schema->children[i]->name);
        }
    }
    st = st == GREBE_OK ? array_share(a, &rows, &c->result, err) : st;
    array_release(&rows);
    return st;
}

static grebe_status fail_rows(const struct map_call *c, grebe_status st, grebe_error *err)
{
    return st == GREBE_OK ? st : error_wrap(err, st, "rows %lld to %lld", (long long)c->begin, (long long)c->end - 1);
}

grebe_status map_call_read(struct map_job *j, int64_t begin, int64_t end, int32_t part, struct map_call *c, grebe_error *err)
{
    *c = (struct map_call){ .begin = begin, .end = end };
    return fail_rows(c, map_job_read(j, begin, end, part, &c->rows, &c->in, err), err);
}

grebe_status map_call_apply(struct map_job *j, struct map_call *c, grebe_error *err)
{
    c->in.rows = &c->rows; /* c may have moved */
    grebe_status st = j->map(j->fn_ctx, &c->in, &c->given, err);
    if (st == GREBE_OK && c->given.kind != GREBE_MAP_NOTHING) {
        st = check_given(j, c, err);
    }
    return fail_rows(c, st, err);
}

grebe_status map_call_merge(struct map_job *j, struct map_call *c, struct map_batch *out, grebe_error *err)
{
    struct merge m = { .j = j, .a = j->t.ds->ctx->a, .in = &c->rows, .given_schema = &c->given.schema, .err = err };
    memset(out, 0, sizeof *out);
    out->first_row = c->begin;
    out->is_nothing = c->given.kind == GREBE_MAP_NOTHING;
    grebe_status st = GREBE_OK;
    if (!out->is_nothing) {
        const struct ArrowArray *whole = array_shared_get(c->result);
        st = array_slice(c->result, 0, whole->length, &m.given, err);
        if (st == GREBE_OK) {
            st = c->given.kind == GREBE_MAP_MERGE ? merge_columns(&m, c->begin, c->end) : replace_columns(&m);
        }
        st = st == GREBE_OK ? finish(&m, out) : st;
    }
    merge_release(&m);
    if (st != GREBE_OK) {
        map_batch_release(j, out);
    }
    array_release(&c->rows);
    return fail_rows(c, st, err);
}

void map_call_release(struct map_call *c)
{
    array_release(&c->rows);
    array_release(&c->given.rows);
    schema_release(&c->given.schema);
    array_shared_drop(c->result);
    memset(c, 0, sizeof *c);
}

void map_batch_release(const struct map_job *j, struct map_batch *b)
{
    mem_free(j->t.ds->ctx->a, b->is_untouched, b->is_untouched != NULL ? (size_t)b->schema.n_children : 0);
    schema_release(&b->schema);
    array_release(&b->rows);
    memset(b, 0, sizeof *b);
}

/* ---- features ---- */

static bool is_open(const struct feature *f)
{
    switch (f->kind) {
    case FEATURE_VALUE: return strcmp(f->dtype, "null") == 0;
    case FEATURE_LIST:
    case FEATURE_LARGE_LIST: return is_open(f->child);
    case FEATURE_STRUCT:
        for (size_t i = 0; i < f->n_fields; i++) {
            if (is_open(&f->fields[i])) {
                return true;
            }
        }
        return false;
    default: return false;
    }
}

bool map_features_are_open(const struct features *f)
{
    return is_open(&f->top);
}

/* Whether the values fit the feature that the column had. */
static bool fits(const struct map_job *j, const struct feature *f, const struct ArrowSchema *type,
                 const struct ArrowArray *column)
{
    struct ArrowArray cast = { 0 };
    struct feature_cast_options o = { .is_trial = true };
    bool is_good = feature_cast(j->t.ds->ctx->a, f, type, column, &o, &cast, NULL) == GREBE_OK;
    array_release(&cast);
    return is_good;
}

/* Columns of the batch whose features are those of `from`, put over *features. */
static grebe_status put_over(const grebe_allocator *a, const struct features *from, const char *const *names, size_t n,
                             struct features **features, grebe_error *err)
{
    struct features *some = NULL, *merged = NULL;
    if (n == 0) {
        return GREBE_OK;
    }
    grebe_status st = features_project(a, from, names, NULL, n, &some, err);
    st = st == GREBE_OK ? features_merge(a, *features, some, &merged, err) : st;
    if (st == GREBE_OK) {
        features_free(*features);
        *features = merged;
    }
    features_free(some);
    return st;
}

grebe_status map_batch_features(struct map_job *j, const struct map_batch *b, struct features **features,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset *ds = j->t.ds;
    const grebe_allocator *a = ds->ctx->a;
    struct ArrowSchema plain = { 0 };
    struct features *own = NULL;
    size_t n = (size_t)b->schema.n_children, n_old = 0;
    const char **names = mem_alloc(a, n * sizeof *names);
    if (names == NULL) {
        return mem_fail(err, n * sizeof *names, "columns");
    }
    GREBE_TRY(schema_copy_plain(a, &b->schema, &plain, err));
    GREBE_TRY(features_from_schema(a, &plain, true, &own, err));
    for (size_t i = 0; i < n; i++) {
        int column = dataset_find_column(ds, b->schema.children[i]->name);
        if (column >= 0 &&
            (b->is_untouched[i] || (j->m.is_type_kept && fits(j, &ds->features->top.fields[column],
                                                              b->schema.children[i], b->rows.children[i])))) {
            names[n_old++] = b->schema.children[i]->name;
        }
    }
    GREBE_TRY(put_over(a, ds->features, names, n_old, &own, err));
    if (*features == NULL) {
        *features = own;
        own = NULL;
        goto out;
    }
    /* columns that were open take what is known now */
    size_t n_closed = 0;
    for (size_t i = 0; i < own->top.n_fields; i++) {
        const struct feature *known = features_find(*features, own->top.fields[i].name);
        if (known != NULL && is_open(known)) {
            names[n_closed++] = own->top.fields[i].name;
        }
    }
    GREBE_TRY(put_over(a, own, names, n_closed, features, err));
out:
    schema_release(&plain);
    features_free(own);
    mem_free(a, names, n * sizeof *names);
    return st;
}
