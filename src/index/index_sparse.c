/* SPDX-License-Identifier: Apache-2.0 */
#include "index/sparse_index.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "index/index_params.h"

static const struct index_param search_params[] = {
    { "query_prune", INDEX_PARAM_REAL, offsetof(struct sparse_params, query_prune), 0, 1, 0, NULL,
      "share of the query's mass whose lists are left out" },
    { "candidates", INDEX_PARAM_UINT, offsetof(struct sparse_params, candidates), 0, 1e9, 0, NULL,
      "rows that are ranked by their values; 0: 2 k, at least 40" },
    { "exact", INDEX_PARAM_UINT, offsetof(struct sparse_params, exact), 0, 1, 0, NULL,
      "1: every row that could be among the k nearest is ranked" },
};
enum { N_SEARCH_PARAMS = sizeof search_params / sizeof search_params[0] };

void sparse_free(struct index *ix)
{
    struct sparse_index *x = (struct sparse_index *)ix;
    const grebe_allocator *a = ix->ctx->a;
    for (size_t i = 0; i < x->n_windows; i++) {
        sparse_window_release(&x->windows[i], a);
    }
    mem_free(a, x->windows, x->n_windows * sizeof *x->windows);
    mem_free(a, x->own_offsets, (x->row_capacity + 1) * sizeof *x->own_offsets);
    mem_free(a, x->own_terms, x->value_capacity * sizeof *x->own_terms);
    mem_free(a, x->own_values, x->value_capacity * sizeof *x->own_values);
    index_bits_release(&x->removed);
    mem_free(a, x, sizeof *x);
}

grebe_status sparse_new(grebe_context *ctx, const struct index_config *config, struct sparse_index **out,
                        grebe_error *err)
{
    struct sparse_index *x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "an index of sparse rows");
    }
    x->base = (struct index){ &index_sparse_ops, ctx, *config };
    x->base.config.params = NULL;
    x->base.config.n_params = 0;
    x->removed.a = ctx->a;
    *out = x;
    return GREBE_OK;
}

static grebe_status sparse_create(grebe_context *ctx, const struct index_config *config, struct index **out,
                                  grebe_error *err)
{
    struct sparse_index *x = NULL;
    grebe_status st = index_params_fill(NULL, 0, config->params, config->n_params, NULL, err);
    st = st == GREBE_OK ? sparse_new(ctx, config, &x, err) : st;
    *out = st == GREBE_OK ? &x->base : NULL;
    return st;
}

/* ---- adding ---- */

/* Own memory for so many rows and values, with what is there in it. On failure x is as it was. */
static grebe_status reserve(struct sparse_index *x, size_t n_rows, size_t n_values, grebe_error *err)
{
    const grebe_allocator *a = x->base.ctx->a;
    bool is_mapped = x->own_offsets == NULL;
    size_t total = x->rows.n == 0 ? 0 : (size_t)x->rows.offsets[x->rows.n];
    if (!is_mapped && n_rows <= x->row_capacity && n_values <= x->value_capacity) {
        return GREBE_OK;
    }
    size_t rows = x->rows.n == 0 ? n_rows : n_rows + n_rows / 2;
    size_t values = x->rows.n == 0 ? n_values : n_values + n_values / 2;
    if (rows < n_rows || values < n_values || values > SIZE_MAX / 16 || rows > SIZE_MAX / 16) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "sparse rows: %zu values do not fit in memory", n_values);
    }
    int64_t *offsets = mem_alloc(a, (rows + 1) * sizeof *offsets);
    uint32_t *terms = mem_alloc(a, values * sizeof *terms);
    float *floats = mem_alloc(a, values * sizeof *floats);
    if (offsets == NULL || terms == NULL || floats == NULL) {
        mem_free(a, offsets, (rows + 1) * sizeof *offsets);
        mem_free(a, terms, values * sizeof *terms);
        mem_free(a, floats, values * sizeof *floats);
        return mem_fail(err, values * 8, "sparse rows");
    }
    offsets[0] = 0;
    if (x->rows.n != 0) {
        memcpy(offsets, x->rows.offsets, (size_t)(x->rows.n + 1) * sizeof *offsets);
        memcpy(terms, x->rows.terms, total * sizeof *terms);
        memcpy(floats, x->rows.values, total * sizeof *floats);
    }
    if (!is_mapped) {
        mem_free(a, x->own_offsets, (x->row_capacity + 1) * sizeof *x->own_offsets);
        mem_free(a, x->own_terms, x->value_capacity * sizeof *x->own_terms);
        mem_free(a, x->own_values, x->value_capacity * sizeof *x->own_values);
    }
    x->own_offsets = offsets;
    x->own_terms = terms;
    x->own_values = floats;
    x->row_capacity = rows;
    x->value_capacity = values;
    x->rows = (struct vector_sparse){ offsets, terms, floats, x->rows.n };
    return GREBE_OK;
}

/* Rows of a file are looked at one by one in searches; adding goes through those of the last window. */
static grebe_status check_offsets(const struct sparse_index *x, grebe_error *err)
{
    const int64_t *offsets = x->rows.offsets;
    for (uint64_t i = 0; i < x->rows.n; i++) {
        if (offsets[i] > offsets[i + 1]) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "offsets[%" PRIu64 "]: expected at least %" PRId64 ", found %" PRId64,
                              i + 1, offsets[i], offsets[i + 1]);
        }
    }
    return GREBE_OK;
}

struct build {
    const struct sparse_index *x;
    size_t first;                 /* window */
    struct sparse_window *windows; /* shape [n] */
    uint64_t n_rows;              /* the new ones included */
};

static grebe_status build_one(void *arg, size_t i, grebe_error *err)
{
    struct build *b = arg;
    uint64_t begin = (b->first + i) * SPARSE_WINDOW_ROWS, left = b->n_rows - begin;
    struct vector_sparse part = b->x->rows;
    part.offsets += begin;
    part.n = left < SPARSE_WINDOW_ROWS ? left : SPARSE_WINDOW_ROWS;
    return sparse_window_build(b->x->base.ctx->a, &part, &b->windows[i], err);
}

/* The windows from the one that the new rows begin in. */
static grebe_status build_windows(struct sparse_index *x, uint64_t n_rows, const struct call *call, grebe_error *err)
{
    const grebe_allocator *a = x->base.ctx->a;
    size_t first = (size_t)(x->rows.n / SPARSE_WINDOW_ROWS);
    size_t n = (size_t)((n_rows + SPARSE_WINDOW_ROWS - 1) / SPARSE_WINDOW_ROWS);
    struct build b = { x, first, NULL, n_rows };
    struct sparse_window *all = mem_alloc_zero(a, n * sizeof *all);
    if (all == NULL) {
        return mem_fail(err, n * sizeof *all, "windows");
    }
    b.windows = all + first;
    grebe_status st = parallel_for(x->base.ctx->pool, call->threads, n - first, build_one, &b, call->cancel, err);
    if (st != GREBE_OK) {
        for (size_t i = first; i < n; i++) {
            sparse_window_release(&all[i], a);
        }
        mem_free(a, all, n * sizeof *all);
        return st;
    }
    for (size_t i = first; i < x->n_windows; i++) {
        sparse_window_release(&x->windows[i], a);
    }
    if (first != 0) {
        memcpy(all, x->windows, first * sizeof *all);
    }
    mem_free(a, x->windows, x->n_windows * sizeof *x->windows);
    x->windows = all;
    x->n_windows = n;
    return GREBE_OK;
}

static grebe_status sparse_add(struct index *ix, const struct index_rows *rows, const struct call *call,
                               grebe_error *err)
{
    struct sparse_index *x = (struct sparse_index *)ix;
    const struct vector_sparse *r = &rows->sparse;
    size_t before = (size_t)x->rows.n, old = before == 0 ? 0 : (size_t)x->rows.offsets[before];
    size_t more = (size_t)(r->offsets[r->n] - r->offsets[0]);
    grebe_status st = x->own_offsets == NULL ? check_offsets(x, err) : GREBE_OK;
    st = st == GREBE_OK ? reserve(x, before + (size_t)r->n, old + more, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    for (uint64_t i = 0; i < r->n; i++) {
        x->own_offsets[before + i + 1] = (int64_t)old + (r->offsets[i + 1] - r->offsets[0]);
    }
    if (more != 0) {
        memcpy(x->own_terms + old, r->terms + r->offsets[0], more * sizeof *r->terms);
        memcpy(x->own_values + old, r->values + r->offsets[0], more * sizeof *r->values);
    }
    st = build_windows(x, before + r->n, call, err);
    if (st == GREBE_OK) {
        x->rows.n += r->n;
    }
    return st;
}

static grebe_status sparse_remove(struct index *ix, uint32_t position, grebe_error *err)
{
    return index_bits_set(&((struct sparse_index *)ix)->removed, position, err);
}

static grebe_status fill_params(const struct index_search *s, struct sparse_params *out, grebe_error *err)
{
    memset(out, 0, sizeof *out);
    return index_params_fill(search_params, N_SEARCH_PARAMS, s->params, s->n_params, out, err);
}

static grebe_status search(struct index *ix, const struct index_rows *queries, const struct index_search *s,
                           uint32_t *positions, float *distances, grebe_error *err)
{
    struct sparse_params params;
    grebe_status st = fill_params(s, &params, err);
    return st != GREBE_OK ? st
                          : sparse_search((struct sparse_index *)ix, &queries->sparse, s, &params, positions, distances,
                                          err);
}

static grebe_status range(struct index *ix, const struct index_rows *queries, float radius, const struct index_search *s,
                          struct index_ranges *out, grebe_error *err)
{
    struct sparse_params params;
    grebe_status st = fill_params(s, &params, err);
    return st != GREBE_OK ? st : sparse_range((struct sparse_index *)ix, &queries->sparse, radius, s, out, err);
}

static void info(const struct index *ix, struct index_info *out)
{
    const struct sparse_index *x = (const struct sparse_index *)ix;
    *out = (struct index_info){ .rows = x->rows.n - x->removed.n_set, .removed = x->removed.n_set };
    if (x->rows.n != 0) {
        out->bytes_vectors = (uint64_t)x->rows.offsets[x->rows.n] * 8 + (x->rows.n + 1) * 8;
    }
    for (size_t i = 0; i < x->n_windows; i++) {
        out->bytes_codes += x->windows[i].bytes;
    }
}

static const struct index_bits *removed(const struct index *ix)
{
    return &((const struct sparse_index *)ix)->removed;
}

const struct index_ops index_sparse_ops = {
    .name = "sparse", .kind = INDEX_SPARSE, .create = sparse_create, .free = sparse_free, .add = sparse_add,
    .remove = sparse_remove, .search = search, .range = range, .save = sparse_save, .load = sparse_load, .info = info,
    .removed = removed,
};
