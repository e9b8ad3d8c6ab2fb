/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_index.h"

#include <assert.h>
#include <string.h>

#include "index/graph_build.h"

grebe_status graph_index_new(grebe_context *ctx, const struct index_config *config, const struct index_ops *ops,
                             const struct graph_options *options, const struct index_param *search_params,
                             size_t n_search_params, struct graph_index **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    struct graph_index *x = mem_alloc_zero(ctx->a, sizeof *x);
    if (x == NULL) {
        return mem_fail(err, sizeof *x, "an index");
    }
    x->head = (struct index){ .ops = ops, .ctx = ctx, .config = *config };
    x->head.config.params = NULL;
    x->head.config.n_params = 0;
    x->search_params = search_params;
    x->n_search_params = n_search_params;
    if (options->has_no_rows && options->quant == GRAPH_QUANT_NONE) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "parameter rerank=none: expected codes, found quant=none");
        goto out;
    }
    if (config->dim != 0) { /* 0: of the first rows */
        GREBE_TRY(graph_init(&x->graph, ctx, config, options, err)); /* without options that the metric has no use for */
    } else {
        x->graph.options = *options;
    }
    *out = x;
    x = NULL;
out:
    graph_index_free(x == NULL ? NULL : &x->head);
    return st;
}

void graph_index_free(struct index *ix)
{
    if (ix != NULL) {
        struct graph_index *x = (struct graph_index *)ix;
        graph_release(&x->graph);
        mem_free(ix->ctx->a, x, sizeof *x);
    }
}

/* The store and the codes as they were with n rows. */
static void take_back(struct graph *g, uint64_t n)
{
    g->store.n = n;
    g->codes.n = n;
    if (g->codes.quant == GRAPH_QUANT_NONE) {
        g->codes.rows = g->store.rows; /* which may have moved */
    }
}

/* Building compares rows: those that are kept as codes alone are made of them for as long as it takes. */
static grebe_status bring_rows_back(struct graph *g, grebe_error *err)
{
    enum { PIECE = 256 };
    size_t bytes = (size_t)PIECE * g->store.dim * sizeof(float);
    float *rows = mem_alloc(g->a, bytes);
    if (rows == NULL) {
        return mem_fail(err, bytes, "rows");
    }
    grebe_status st = GREBE_OK;
    for (uint32_t i = 0; st == GREBE_OK && i < g->n; i += PIECE) {
        uint32_t n = g->n - i < PIECE ? g->n - i : PIECE;
        for (uint32_t k = 0; k < n; k++) {
            graph_codes_decode(&g->codes, g->codes.rows + (size_t)(i + k) * g->codes.stride,
                               rows + (size_t)k * g->store.dim);
        }
        struct vector_rows part = { rows, g->store.dim * sizeof *rows, n, g->store.dim, VECTOR_F32 };
        st = index_store_append(&g->store, &part, err);
    }
    mem_free(g->a, rows, bytes);
    return st;
}

static grebe_status first_dim(struct graph_index *x, uint32_t dim, grebe_error *err)
{
    struct graph_options options = x->graph.options;
    struct index_config config = x->head.config;
    config.dim = dim;
    grebe_status st = graph_init(&x->graph, x->head.ctx, &config, &options, err);
    if (st != GREBE_OK) {
        graph_release(&x->graph);
        x->graph.options = options;
        return st;
    }
    x->head.config.dim = dim;
    return GREBE_OK;
}

grebe_status graph_index_add(struct index *ix, const struct index_rows *rows, const struct call *call, grebe_error *err)
{
    struct graph_index *x = (struct graph_index *)ix;
    struct graph *g = &x->graph;
    grebe_status st = GREBE_OK;
    if (rows->dense.n == 0) {
        return GREBE_OK;
    }
    if (g->a == NULL) {
        st = first_dim(x, rows->dense.dim, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    uint64_t old = g->n;
    if (g->options.has_no_rows && old > 0) {
        GREBE_TRY(bring_rows_back(g, err));
    }
    bool is_anew = false;
    GREBE_TRY(index_store_append(&g->store, &rows->dense, err));
    GREBE_TRY(graph_codes_append(&g->codes, &g->store, &is_anew, err));
    if (is_anew) {
        graph_entries_refresh(&g->entries, &g->codes);
    }
    GREBE_TRY(graph_build(g, call, err));
out:
    if (st != GREBE_OK) {
        take_back(g, old);
    }
    if (g->options.has_no_rows) {
        index_store_release(&g->store);
    }
    return st;
}

grebe_status graph_index_remove(struct index *ix, uint32_t position, grebe_error *err)
{
    struct graph *g = &((struct graph_index *)ix)->graph;
    assert(position < g->n);
    return index_bits_set(&g->removed, position, err);
}

static grebe_status read_options(const struct graph_index *x, const struct index_search *s,
                                 struct graph_search_options *out, grebe_error *err)
{
    return index_params_fill(x->search_params, x->n_search_params, s->params, s->n_params, out, err);
}

grebe_status graph_index_search(struct index *ix, const struct index_rows *queries, const struct index_search *s,
                                uint32_t *positions, float *distances, grebe_error *err)
{
    struct graph_index *x = (struct graph_index *)ix;
    struct graph_search_options o = { 0 };
    grebe_status st = read_options(x, s, &o, err);
    if (st != GREBE_OK) {
        return st;
    }
    return graph_search(&x->graph, &queries->dense, s, &o, positions, distances, err);
}

grebe_status graph_index_range(struct index *ix, const struct index_rows *queries, float radius,
                               const struct index_search *s, struct index_ranges *out, grebe_error *err)
{
    struct graph_index *x = (struct graph_index *)ix;
    struct graph_search_options o = { 0 };
    grebe_status st = read_options(x, s, &o, err);
    if (st != GREBE_OK) {
        return st;
    }
    return graph_range(&x->graph, &queries->dense, radius, s, &o, out, err);
}

void graph_index_info(const struct index *ix, struct index_info *out)
{
    const struct graph *g = &((const struct graph_index *)ix)->graph;
    size_t codes = g->codes.quant == GRAPH_QUANT_NONE ? 0 : g->codes.stride;
    *out = (struct index_info){ .rows = g->n - g->removed.n_set, .removed = g->removed.n_set, .dim = ix->config.dim };
    out->bytes_vectors = (uint64_t)g->store.n * g->store.stride;
    out->bytes_codes = (uint64_t)g->codes.n * codes;
    out->bytes_links = (uint64_t)g->n * g->width * sizeof(uint32_t);
    out->bytes_other = g->entries.n * (g->codes.stride + sizeof(uint32_t)) +
                       g->removed.n_words * sizeof(uint64_t);
}

const struct index_bits *graph_index_removed(const struct index *ix)
{
    return &((const struct graph_index *)ix)->graph.removed;
}
