/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling and loading for callers (grebe/graph_sample.h). */
#include "graph/graph_sample_api.h"

#include <string.h>

#include "graph/graph_random.h"
#include "graph/graph_spares.h"

void graph_resolved_release(grebe_context *ctx, struct graph_resolved *r)
{
    mem_free(ctx->a, r->fanouts, r->n_fanouts * sizeof *r->fanouts);
    graph_weights_release(&r->weights);
    *r = (struct graph_resolved){ 0 };
}

static grebe_status times_named(const struct graph_attribute *list, size_t n, int64_t rows, const char *name, const int64_t **out,
                                grebe_error *err)
{
    if (name == NULL) {
        return GREBE_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            const struct tensor *t = &list[i].values;
            if (t->type != ARRAY_I64 || t->rank != 1 || t->shape[0] != (uint64_t)rows || !t->is_packed || t->is_big_endian) {
                return GREBE_FAIL(err, GREBE_ESCHEMA, "times \"%.100s\": expected int64, shape [%lld]", name, (long long)rows);
            }
            *out = (const int64_t *)(const void *)t->data;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_ENOTFOUND, "the graph has no attribute \"%.100s\" (attributes are listed in graph.feature_data)", name);
}

grebe_status graph_resolve(const struct graph_csc *g, const grebe_graph_sampling *given, struct graph_resolved *r, grebe_error *err)
{
    grebe_graph_sampling o = GREBE_GRAPH_SAMPLING_INIT;
    size_t per_layer, n;
    grebe_status st;
    *r = (struct graph_resolved){ 0 };
    GREBE_TRY(options_copy(&o, sizeof o, given, err));
    per_layer = o.n_fanouts == 0 ? 1 : o.n_fanouts;
    if (!checked_mul_size(o.n_layers, per_layer, &n) || (n > 0 && o.fanouts == NULL) || n > SIZE_MAX / 16) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "fanouts: expected %zu for each of %zu layers", per_layer, o.n_layers);
        goto out;
    }
    r->n_fanouts = n + 1;
    r->fanouts = mem_alloc_zero(g->ctx->a, r->n_fanouts * sizeof *r->fanouts);
    if (r->fanouts == NULL) {
        st = mem_fail(err, r->n_fanouts * sizeof *r->fanouts, "fanouts");
        goto out;
    }
    if (n > 0) {
        memcpy(r->fanouts, o.fanouts, n * sizeof *r->fanouts);
    }
    if (o.method != GREBE_GRAPH_LAYER && (o.layer_dependency || o.batch_dependency > 1)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "layers and batches depend on one another in layer-dependent sampling alone");
        goto out;
    }
    r->hops = (struct graph_hops){ .n_layers = o.n_layers, .keeps_duplicates = o.keeps_duplicates,
                                   .layer_dependency = o.layer_dependency, .batch_dependency = o.batch_dependency,
                                   .hop = { .fanouts = r->fanouts, .n_fanouts = per_layer, .with_replacement = o.with_replacement,
                                            .is_by_source = o.method == GREBE_GRAPH_LAYER } };
    for (size_t i = 0; i < o.n_layers; i++) {
        struct graph_sampling hop = r->hops.hop;
        hop.fanouts += i * per_layer;
        GREBE_TRY(graph_sampling_check(g, &hop, err));
    }
    if (o.weights != NULL) {
        const struct graph_attribute *a = graph_edge_attribute(g, o.weights);
        if (a == NULL) {
            st = GREBE_FAIL(err, GREBE_ENOTFOUND,
                            "the graph has no attribute \"%.100s\" of edges: weights belong into graph.feature_data of the metadata, "
                            "not into the feature_data beside it", o.weights);
            goto out;
        }
        GREBE_TRY(graph_weights_of(g, &a->values, !o.weights_unchecked, &r->weights, err));
        r->hops.hop.weights = &r->weights;
    }
    const bool has_times = o.node_times != NULL || o.edge_times != NULL;
    if (o.has_window && (!has_times || o.window < 0)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, has_times ? "window %lld: expected at least 0" : "window %lld: expected times of nodes or edges",
                        (long long)o.window);
        goto out;
    }
    if (has_times) {
        r->times = (struct graph_times){ .has_window = o.has_window, .window = o.window };
        GREBE_TRY(times_named(g->node_attributes, g->n_node_attributes, g->n_nodes, o.node_times, &r->times.of_nodes, err));
        GREBE_TRY(times_named(g->edge_attributes, g->n_edge_attributes, g->n_edges, o.edge_times, &r->times.of_edges, err));
        r->hops.hop.times = &r->times;
        r->hops.keeps_duplicates = true;
    }
out:
    if (st != GREBE_OK) {
        graph_resolved_release(g->ctx, r);
    }
    return st;
}

/* ---- one batch ---- */

struct grebe_graph_sampler {
    const struct graph_csc *g;
    struct graph_resolved how;
    struct graph_batch *batch;  /* NULL: it was kept */
    struct graph_spares spares; /* batches */
    struct graph_scratch *scratch;
    uint32_t threads;
    struct grebe_graph_batch view;
};

grebe_status grebe_graph_sampler_new(const grebe_graph *graph, const grebe_graph_sampling *sampling, uint32_t threads,
                                     grebe_graph_sampler **out, grebe_error *err)
{
    const struct graph_csc *g;
    grebe_graph_sampler *s = NULL;
    grebe_status st;
    GREBE_CHECK_ARG(err, graph != NULL && sampling != NULL && out != NULL);
    *out = NULL;
    GREBE_TRY(graph_csc_of(graph, &g, err));
    s = mem_alloc_zero(g->ctx->a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a sampler");
    }
    s->g = g;
    graph_spares_init(&s->spares, 2);
    s->threads = graph_threads_of(g, threads);
    GREBE_TRY(graph_resolve(g, sampling, &s->how, err));
    GREBE_TRY(graph_batch_new(g, &s->batch, err));
    GREBE_TRY(graph_scratch_new(g, &s->scratch, err));
    s->view = (struct grebe_graph_batch){ .ctx = g->ctx, .sampler = s };
    *out = s;
out:
    if (st != GREBE_OK) {
        grebe_graph_sampler_free(s);
    }
    return st;
}

void grebe_graph_sampler_free(grebe_graph_sampler *s)
{
    if (s != NULL) {
        grebe_context *ctx = s->g->ctx;
        graph_edge_index_release(ctx, &s->view.index);
        graph_batch_free(s->batch);
        for (void *spare; (spare = graph_spares_take(&s->spares)) != NULL;) {
            graph_batch_free(spare);
        }
        graph_spares_destroy(&s->spares);
        graph_scratch_free(s->scratch);
        graph_resolved_release(ctx, &s->how);
        mem_free(ctx->a, s, sizeof *s);
    }
}

grebe_status grebe_graph_sampler_run(grebe_graph_sampler *s, const grebe_graph_seeds *seeds, size_t n_seeds, uint64_t seed,
                                     const grebe_graph_batch **out, grebe_error *err)
{
    struct graph_hops hops;
    size_t type;
    grebe_status st = GREBE_OK;
    GREBE_CHECK_ARG(err, s != NULL && out != NULL && (n_seeds == 0 || seeds != NULL));
    *out = NULL;
    if (s->batch == NULL) {
        s->batch = graph_spares_take(&s->spares);
    }
    if (s->batch == NULL) {
        GREBE_TRY(graph_batch_new(s->g, &s->batch, err));
    }
    s->view.graph = s->batch;
    graph_batch_begin(s->batch, s->scratch);
    for (size_t i = 0; i < n_seeds; i++) {
        if (seeds[i].n < 0 || (seeds[i].n > 0 && seeds[i].ids == NULL)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "seeds %zu: expected ids", i);
        }
        if (seeds[i].type != NULL && s->g->n_node_types == 0) {
            return GREBE_FAIL(err, GREBE_EINVAL, "seeds of type \"%.200s\" in a graph without types", seeds[i].type);
        }
        GREBE_TRY(graph_seed_types(s->g, seeds[i].type, 1, &type, err));
        GREBE_TRY(graph_batch_add(s->batch, s->scratch, type, seeds[i].ids, seeds[i].times, seeds[i].n, false, NULL, err));
    }
    hops = s->how.hops;
    hops.hop.key = seed;
    GREBE_TRY(graph_batch_sample(s->batch, s->scratch, &hops, s->threads, err));
    graph_batch_finish(s->batch);
    *out = &s->view;
out:
    return st;
}

/* ---- batches that callers keep ---- */

grebe_status grebe_graph_batch_keep(const grebe_graph_batch *batch, grebe_graph_batch **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, batch != NULL && out != NULL);
    *out = NULL;
    GREBE_CHECK_ARG(err, batch->graph != NULL && !batch->is_kept);
    grebe_graph_batch *view = (grebe_graph_batch *)(uintptr_t)batch, *kept = mem_alloc(batch->ctx->a, sizeof *kept);
    if (kept == NULL) {
        return mem_fail(err, sizeof *kept, "a batch");
    }
    *kept = *view;
    kept->is_kept = true;
    if (kept->sampler != NULL) {
        kept->sampler->batch = NULL;
    } else {
        graph_loader_take(kept->loader, kept->items);
    }
    view->graph = NULL; /* no second time */
    view->items = NULL;
    view->index = (struct graph_edge_index){ 0 };
    *out = kept;
    return GREBE_OK;
}

void grebe_graph_batch_free(grebe_graph_batch *b)
{
    if (b == NULL) {
        return;
    }
    graph_edge_index_release(b->ctx, &b->index);
    if (b->sampler == NULL) {
        graph_loader_give(b->loader, (struct graph_minibatch *)(uintptr_t)b->items);
    } else {
        struct graph_batch *graph = (struct graph_batch *)(uintptr_t)b->graph;
        if (!graph_spares_give(&b->sampler->spares, graph)) {
            graph_batch_free(graph);
        }
    }
    mem_free(b->ctx->a, b, sizeof *b);
}

/* ---- what is in a batch ---- */

size_t grebe_graph_batch_n_layers(const grebe_graph_batch *b) { return b->graph->n_layers; }
int64_t grebe_graph_batch_n_edges(const grebe_graph_batch *b) { return graph_batch_n_edges(b->graph); }

const int64_t *grebe_graph_batch_nodes(const grebe_graph_batch *b, size_t type, int64_t *n)
{
    static const int64_t none = 0;
    *n = type < b->graph->n_node_types ? b->graph->nodes[type].n : 0;
    return type >= b->graph->n_node_types ? NULL : *n == 0 ? &none : b->graph->nodes[type].v;
}

void grebe_graph_batch_counts(const grebe_graph_batch *b, size_t layer, size_t type, int64_t *rows, int64_t *columns)
{
    bool is_there = layer < b->graph->n_layers && type < b->graph->n_node_types;
    *rows = is_there ? b->graph->layers[layer].n_rows[type] : 0;
    *columns = is_there ? b->graph->layers[layer].n_columns[type] : 0;
}

void grebe_graph_batch_relation(const grebe_graph_batch *b, size_t layer, size_t type, grebe_graph_relation *out)
{
    *out = (grebe_graph_relation){ 0 };
    if (layer < b->graph->n_layers && type < b->graph->n_edge_types) {
        const struct graph_relation *r = &b->graph->layers[layer].relations[type];
        *out = (grebe_graph_relation){ r->indptr.n - 1, r->edges.n, r->indptr.v, r->indices.v, r->edges.v };
    }
}

grebe_status grebe_graph_batch_edge_index(const grebe_graph_batch *b, size_t type, grebe_graph_edge_index *out, grebe_error *err)
{
    grebe_graph_batch *own = (grebe_graph_batch *)(uintptr_t)b; /* its cache, of one caller as all of the batch */
    GREBE_CHECK_ARG(err, type < b->graph->n_edge_types);
    grebe_status st = graph_edge_index_of(b->graph, type, &own->index, err);
    if (st == GREBE_OK) {
        *out = (grebe_graph_edge_index){ own->index.edges.n, own->index.sources.v, own->index.targets.v, own->index.edges.v,
                                         own->index.per_hop.v };
    }
    return st;
}

void grebe_graph_batch_nodes_per_hop(const grebe_graph_batch *b, size_t type, int64_t *per_hop)
{
    if (type < b->graph->n_node_types) {
        graph_nodes_per_hop(b->graph, type, per_hop);
    }
}

/* ---- single steps ---- */

grebe_status grebe_graph_feature_read(const grebe_graph *graph, size_t i, const int64_t *ids, int64_t n, uint32_t threads, void *dst,
                                      grebe_error *err)
{
    const struct tensor *t;
    grebe_status st;
    GREBE_CHECK_ARG(err, graph != NULL && n >= 0 && (n == 0 || (ids != NULL && dst != NULL)));
    GREBE_CHECK_ARG(err, i < graph->metadata->n_features);
    GREBE_TRY(graph_dataset_feature(graph, i, &t, err));
    st = graph_rows_gather(graph->ctx, t, ids, n, false, threads == 0 ? grebe_context_threads(graph->ctx) : threads, dst, err);
out:
    return st;
}

grebe_status grebe_graph_negatives(const int64_t *pairs, int64_t n, int64_t ratio, int64_t n_targets, uint64_t seed, int64_t *out,
                                   grebe_error *err)
{
    GREBE_CHECK_ARG(err, n >= 0 && (n == 0 || (pairs != NULL && out != NULL)));
    if (ratio < 0 || (n_targets <= 0 && n > 0 && ratio > 0)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "%s: expected a number from %d, found %lld", ratio < 0 ? "ratio" : "num_targets", ratio >= 0,
                          (long long)(ratio < 0 ? ratio : n_targets));
    }
    graph_negatives(pairs, n, ratio, n_targets, graph_draw(seed, 0), out);
    return GREBE_OK;
}
