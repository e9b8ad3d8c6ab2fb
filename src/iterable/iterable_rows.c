/* SPDX-License-Identifier: Apache-2.0 */
#include "iterable/iterable_rows.h"

#include <string.h>

#include "arrow/array_select.h"
#include "arrow/rows_fit.h"
#include "arrow/schema_union.h"
#include "base/checked.h"
#include "iterable/iterable_pick.h"

grebe_status rows_type_new(const grebe_allocator *a, struct ArrowSchema *schema, struct rows_type **out,
                           grebe_error *err)
{
    struct rows_type *t = mem_alloc_zero(a, sizeof *t);
    if (t == NULL) {
        return mem_fail(err, sizeof *t, "a schema");
    }
    atomic_init(&t->refs, 1);
    t->a = a;
    schema_move(&t->schema, schema);
    *out = t;
    return GREBE_OK;
}

struct rows_type *rows_type_keep(struct rows_type *t)
{
    if (t != NULL) {
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    }
    return t;
}

void rows_type_drop(struct rows_type *t)
{
    if (t != NULL && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
        schema_release(&t->schema);
        mem_free(t->a, t, sizeof *t);
    }
}

void rows_release(struct rows *r)
{
    if (r->data != NULL) {
        array_shared_drop(r->data);
    }
    rows_type_drop(r->type);
    memset(r, 0, sizeof *r);
}

void rows_move(struct rows *dst, struct rows *src)
{
    *dst = *src;
    memset(src, 0, sizeof *src);
}

struct rows rows_view(const struct rows *r, int64_t begin, int64_t n)
{
    return (struct rows){ rows_type_keep(r->type), array_shared_keep(r->data), r->begin + begin, n };
}

grebe_status rows_of(const grebe_allocator *a, struct rows_type *type, struct ArrowArray *array, struct rows *out,
                     grebe_error *err)
{
    int64_t n = array->length;
    struct array_shared *data = NULL;
    grebe_status st = array_share(a, array, &data, err);
    if (st != GREBE_OK) {
        array_release(array);
        return st;
    }
    *out = (struct rows){ rows_type_keep(type), data, 0, n };
    return GREBE_OK;
}

grebe_status rows_array(const struct rows *r, struct ArrowArray *out, grebe_error *err)
{
    return array_slice(r->data, r->begin, r->n, out, err);
}

/* ---- picking ---- */

/* Neighbours that continue each other become one pick, unless none of the first ones do: then few will. */
static size_t merge_picks(struct pick *picks, size_t n)
{
    enum { SAMPLE = 64 };
    size_t kept = 0, some = n < SAMPLE ? n : SAMPLE, n_pairs = 0;
    for (size_t i = 1; i < some; i++) {
        n_pairs += picks[i].source == picks[i - 1].source && picks[i].begin == picks[i - 1].begin + picks[i - 1].n;
    }
    if (n_pairs == 0) {
        return n;
    }
    for (size_t i = 1; i < n; i++) {
        struct pick *last = &picks[kept];
        if (picks[i].source == last->source && picks[i].begin == last->begin + last->n &&
            last->n <= INT32_MAX - picks[i].n) {
            last->n += picks[i].n;
        } else {
            picks[++kept] = picks[i];
        }
    }
    return n == 0 ? 0 : kept + 1;
}

/* The type of all sources; *is_one when they have the same. */
static grebe_status common_type(const grebe_allocator *a, const struct rows *sources, size_t n, struct rows_type **out,
                                bool *is_one, grebe_error *err)
{
    *is_one = true;
    for (size_t i = 1; i < n && *is_one; i++) {
        *is_one = sources[i].type == sources[0].type ||
                  schema_equal(&sources[i].type->schema, &sources[0].type->schema, SCHEMA_EQUAL_IGNORE_METADATA);
    }
    if (*is_one) {
        *out = rows_type_keep(sources[0].type);
        return GREBE_OK;
    }
    struct ArrowSchema all = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(schema_copy(a, &sources[0].type->schema, &all, err));
    for (size_t i = 1; i < n; i++) {
        if (sources[i].type != sources[i - 1].type) {
            GREBE_TRY(schema_unite(a, &all, &sources[i].type->schema, err));
        }
    }
    GREBE_TRY(rows_type_new(a, &all, out, err));
out:
    schema_release(&all);
    return st;
}

static grebe_status fit_source(const grebe_allocator *a, const struct rows *from, struct rows_type *type,
                               struct rows *out, grebe_error *err)
{
    struct fit fit = { 0 };
    struct ArrowArray whole = { 0 }, fitted = { 0 };
    grebe_status st = GREBE_OK;
    GREBE_TRY(fit_new(a, &from->type->schema, &type->schema, &fit, err));
    GREBE_TRY(rows_array(from, &whole, err));
    GREBE_TRY(fit_batch(&fit, &whole, &fitted, err));
    GREBE_TRY(rows_of(a, type, &fitted, out, err));
out:
    fit_release(&fit);
    return st;
}

/* Picks as they are selected: neighbours of one source together, row by row where they are single rows mostly, else as ranges. */
struct selecting {
    struct selection *sels;   /* shape [n] */
    struct row_range *ranges; /* shape [n]; or NULL */
    int64_t *rows;            /* shape [n_rows] */
    size_t n, n_sels;
    int64_t n_rows;
};

static void selecting_release(const grebe_allocator *a, struct selecting *x)
{
    mem_free(a, x->sels, x->n * sizeof *x->sels);
    mem_free(a, x->ranges, x->n * sizeof *x->ranges);
    mem_free(a, x->rows, (size_t)x->n_rows * sizeof *x->rows);
}

/* Whether most picks are of one row. */
static bool are_single(const struct pick *picks, size_t n)
{
    int64_t n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        n_rows += picks[i].n;
    }
    return n_rows / 2 < (int64_t)n;
}

static grebe_status selecting_init(const grebe_allocator *a, const struct rows *sources, const struct pick *picks, size_t n,
                                   struct selecting *x, grebe_error *err)
{
    *x = (struct selecting){ .n = n };
    for (size_t i = 0; i < n; i++) {
        x->n_rows += picks[i].n;
    }
    bool by_row = are_single(picks, n);
    x->sels = mem_alloc(a, n * sizeof *x->sels);
    x->ranges = by_row ? NULL : mem_alloc(a, n * sizeof *x->ranges);
    x->rows = by_row ? mem_alloc(a, (size_t)x->n_rows * sizeof *x->rows) : NULL;
    if (x->sels == NULL || (x->ranges == NULL && x->rows == NULL)) {
        selecting_release(a, x);
        return mem_fail(err, n * sizeof *x->sels, "rows");
    }
    int64_t *row = x->rows;
    for (size_t i = 0; i < n; i++) {
        const struct rows *from = &sources[picks[i].source];
        const struct ArrowArray *src = array_shared_get(from->data);
        int64_t begin = from->begin + picks[i].begin;
        size_t count = by_row ? (size_t)picks[i].n : 1;
        if (x->n_sels == 0 || x->sels[x->n_sels - 1].src != src) {
            x->sels[x->n_sels++] = (struct selection){ src, row, by_row ? NULL : &x->ranges[i], 0, 0, false };
        }
        x->sels[x->n_sels - 1].n += count;
        if (!by_row) {
            x->ranges[i] = (struct row_range){ begin, picks[i].n };
        }
        for (size_t k = 0; by_row && k < count; k++) {
            *row++ = begin + (int64_t)k;
        }
    }
    return GREBE_OK;
}

/* Picks of sources of one type. */
static grebe_status pick_same(const grebe_allocator *a, const struct rows *sources, size_t n_sources, struct rows_type *type,
                              const struct pick *picks, size_t n, struct rows *out, grebe_error *err)
{
    struct ArrowArray array = { 0 };
    struct selecting x;
    grebe_status st = GREBE_OK;
    bool is_done = false;
    if (are_single(picks, n)) {
        st = rows_pick_flat(a, sources, n_sources, &type->schema, picks, n, &array, &is_done, err);
    }
    if (st != GREBE_OK || is_done) {
        return st == GREBE_OK ? rows_of(a, type, &array, out, err) : st;
    }
    st = selecting_init(a, sources, picks, n, &x, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct select s = { a, x.sels, x.n_sels, x.n_rows, false, 0, err };
    st = select_node(&s, &type->schema, &array);
    if (st == GREBE_OK) {
        st = rows_of(a, type, &array, out, err);
    }
    selecting_release(a, &x);
    return st;
}

grebe_status rows_pick(const grebe_allocator *a, const struct rows *sources, size_t n_sources, struct pick *picks,
                       size_t n, struct rows *out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct rows_type *type = NULL;
    struct rows *fitted = NULL;
    bool is_one = true;
    n = merge_picks(picks, n);
    if (n == 1) {
        *out = rows_view(&sources[picks[0].source], picks[0].begin, picks[0].n);
        return GREBE_OK;
    }
    GREBE_TRY(common_type(a, sources, n_sources, &type, &is_one, err));
    if (is_one) {
        st = pick_same(a, sources, n_sources, type, picks, n, out, err);
        goto out;
    }
    GREBE_TRY(mem_alloc_bounded(a, n_sources, sizeof *fitted, n_sources, "rows", (void **)&fitted, err));
    for (size_t i = 0; i < n_sources; i++) {
        GREBE_TRY(fit_source(a, &sources[i], type, &fitted[i], err));
    }
    st = pick_same(a, fitted, n_sources, type, picks, n, out, err);
out:
    for (size_t i = 0; fitted != NULL && i < n_sources; i++) {
        rows_release(&fitted[i]);
    }
    mem_free(a, fitted, n_sources * sizeof *fitted);
    rows_type_drop(type);
    return st;
}

grebe_status rows_join(const grebe_allocator *a, const struct rows *sources, size_t n, struct rows *out,
                       grebe_error *err)
{
    struct pick *picks = NULL;
    grebe_status st = mem_alloc_bounded(a, n, sizeof *picks, n, "rows", (void **)&picks, err);
    if (st != GREBE_OK) {
        return st;
    }
    size_t n_picks = 0;
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        if (sources[i].n > INT32_MAX) {
            st = GREBE_FAIL(err, GREBE_ELIMIT, "%lld rows in one batch", (long long)sources[i].n);
        } else if (sources[i].n > 0) {
            picks[n_picks++] = (struct pick){ (int32_t)i, (int32_t)sources[i].n, 0 };
        }
    }
    if (st == GREBE_OK && n_picks == 0) {
        *out = rows_view(&sources[0], 0, 0);
    } else if (st == GREBE_OK) {
        st = rows_pick(a, sources, n, picks, n_picks, out, err);
    }
    mem_free(a, picks, n * sizeof *picks);
    return st;
}
