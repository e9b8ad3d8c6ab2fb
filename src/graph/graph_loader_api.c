/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of batches for callers (grebe/graph_sample.h). */
#include "graph/graph_sample_api.h"

#include <string.h>

struct grebe_graph_loader {
    const struct graph_csc *g;
    struct graph_resolved how;
    struct graph_items items;
    struct graph_item_part *parts;
    const char **names;
    struct tensor *columns;   /* shape [n_parts][n_columns]: views */
    struct graph_fetch *fetches;
    size_t *reverse;
    struct graph_recipe recipe;
    struct graph_loader *loader;
    struct grebe_graph_batch view;
};

static grebe_status open_items(const grebe_graph *graph, const grebe_graph_loader_options *o, grebe_graph_loader *l, grebe_error *err)
{
    const grebe_allocator *a = l->g->ctx->a;
    size_t n = grebe_graph_set_parts(graph, o->task, o->set), n_columns;
    const char *type;
    grebe_status st = GREBE_OK;
    n_columns = n == 0 ? 0 : grebe_graph_set_part(graph, o->task, o->set, 0, &type);
    if (n == 0 || n_columns == 0) {
        return GREBE_FAIL(err, GREBE_ENOTFOUND, "task %zu has no such set of items", o->task);
    }
    l->items.n_parts = n;
    l->items.n_columns = n_columns;
    l->parts = mem_alloc_zero(a, n * sizeof *l->parts);
    l->names = mem_alloc_zero(a, n_columns * sizeof *l->names);
    l->columns = mem_alloc_zero(a, n * n_columns * sizeof *l->columns);
    l->items.parts = l->parts;
    l->items.names = l->names;
    if (l->parts == NULL || l->names == NULL || l->columns == NULL) {
        return mem_fail(err, n * n_columns * sizeof *l->columns, "a set of items");
    }
    for (size_t p = 0; p < n; p++) {
        if (grebe_graph_set_part(graph, o->task, o->set, p, &l->parts[p].type) != n_columns) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "parts of a set with other numbers of arrays");
        }
        l->parts[p].columns = l->columns + p * n_columns;
        for (size_t i = 0; i < n_columns; i++) {
            const struct tensor *t;
            grebe_graph_array array;
            const char *name;
            GREBE_TRY(graph_dataset_set_array(graph, o->task, (size_t)o->set, p, i, &t, err));
            GREBE_TRY(grebe_graph_set_values(graph, o->task, o->set, p, i, &name, &array, err));
            l->columns[p * n_columns + i] = *t;
            if (p == 0) {
                l->names[i] = name;
            }
        }
        l->parts[p].n = l->parts[p].columns[0].rank == 0 ? 0 : (int64_t)l->parts[p].columns[0].shape[0];
    }
out:
    return st;
}

static grebe_status type_index(const char *const *names, size_t n, const char *name, size_t *out, grebe_error *err)
{
    *out = 0;
    if (n == 0) {
        return GREBE_OK;
    }
    for (size_t i = 0; name != NULL && i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = i;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "\"%.100s\" is no type of this graph", name == NULL ? "" : name);
}

static grebe_status open_fetches(const grebe_graph *graph, const grebe_graph_loader_options *o, grebe_graph_loader *l, grebe_error *err)
{
    const struct graph_csc *g = l->g;
    grebe_status st = GREBE_OK;
    l->fetches = mem_alloc_zero(g->ctx->a, (o->n_fetches + 1) * sizeof *l->fetches);
    if (l->fetches == NULL) {
        return mem_fail(err, (o->n_fetches + 1) * sizeof *l->fetches, "features of a loader");
    }
    l->recipe.n_fetches = o->n_fetches;
    for (size_t i = 0; i < o->n_fetches; i++) {
        const grebe_graph_fetch *f = &o->fetches[i];
        bool is_edge = f->domain != NULL && strcmp(f->domain, "edge") == 0;
        if (f->domain == NULL || f->name == NULL || (!is_edge && strcmp(f->domain, "node") != 0)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "feature %zu: expected a domain, node or edge, and a name", i);
        }
        size_t at = graph_dataset_find_feature(graph, is_edge ? GRAPH_EDGE : GRAPH_NODE, f->type, f->name);
        if (at == graph->metadata->n_features) {
            return GREBE_FAIL(err, GREBE_ENOTFOUND, "there is no %s feature \"%.100s\" of type \"%.100s\"", f->domain, f->name,
                              f->type == NULL ? "" : f->type);
        }
        if (is_edge && graph_edge_ids(g) == NULL) {
            return GREBE_FAIL(err, GREBE_ESCHEMA, "rows of edge feature \"%.100s\" cannot be found: the graph was preprocessed without original edge ids",
                              f->name);
        }
        l->fetches[i].is_edge = is_edge;
        l->fetches[i].by_page = !graph->metadata->features[at].file.is_in_memory;
        GREBE_TRY(type_index(is_edge ? g->edge_types : g->node_types, is_edge ? g->n_edge_types : g->n_node_types, f->type,
                             &l->fetches[i].type, err));
        GREBE_TRY(graph_dataset_feature(graph, at, &l->fetches[i].values, err));
        if (f->cache_bytes > 0) {
            GREBE_TRY(graph_row_cache_new(g->ctx, l->fetches[i].values, f->cache_bytes, &l->fetches[i].cache, err));
        }
    }
out:
    return st;
}

static grebe_status open_reverse(const grebe_graph_loader_options *o, grebe_graph_loader *l, grebe_error *err)
{
    const struct graph_csc *g = l->g;
    size_t from, to;
    grebe_status st = GREBE_OK;
    if (o->excludes_reverse && g->n_edge_types > 0 && o->n_reverse == 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "edges of the other direction are of another type in a graph with types: expected pairs in `reverse`");
    }
    l->reverse = mem_alloc(g->ctx->a, (g->n_edge_types + 1) * sizeof *l->reverse);
    if (l->reverse == NULL) {
        return mem_fail(err, (g->n_edge_types + 1) * sizeof *l->reverse, "types of edges");
    }
    for (size_t i = 0; i <= g->n_edge_types; i++) {
        l->reverse[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < o->n_reverse; i++) {
        GREBE_TRY(type_index(g->edge_types, g->n_edge_types, o->reverse[2 * i], &from, err));
        GREBE_TRY(type_index(g->edge_types, g->n_edge_types, o->reverse[2 * i + 1], &to, err));
        l->reverse[from] = to;
    }
out:
    return st;
}

static grebe_status begin_loader(const grebe_graph_loader_options *o, grebe_graph_loader *l, grebe_error *err)
{
    struct graph_recipe *r = &l->recipe;
    r->g = l->g;
    r->items = &l->items;
    r->hops = l->how.hops;
    r->seed = o->seed;
    r->negative_ratio = o->negative_ratio;
    r->excludes_seeds = o->excludes_seeds || o->excludes_reverse;
    r->excludes_reverse = o->excludes_reverse;
    r->reverse_types = l->reverse;
    r->fetches = l->fetches;
    struct graph_loading loading = {
        .share = { .is_distributed = o->n_replicas > 0, .n_replicas = o->n_replicas, .rank = o->rank, .n_workers = o->n_workers,
                   .worker = o->worker, .batch_size = o->batch_size, .drop_last = o->drop_last, .drop_uneven = o->drop_uneven },
        .is_shuffled = o->is_shuffled, .threads = graph_threads_of(l->g, o->threads), .ahead = o->ahead };
    return graph_loader_new(r, &loading, &l->loader, err);
}

grebe_status grebe_graph_loader_new(const grebe_graph *graph, const grebe_graph_loader_options *options, grebe_graph_loader **out,
                                    grebe_error *err)
{
    grebe_graph_loader_options o = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_sampling nothing = GREBE_GRAPH_SAMPLING_INIT;
    const struct graph_csc *g;
    grebe_graph_loader *l = NULL;
    grebe_status st;
    GREBE_CHECK_ARG(err, graph != NULL && options != NULL && out != NULL);
    *out = NULL;
    GREBE_TRY(options_copy(&o, sizeof o, options, err));
    if (o.negative_ratio < 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "negative_ratio: expected a number from 0, found %lld", (long long)o.negative_ratio);
    }
    GREBE_CHECK_ARG(err, (o.n_fetches == 0 || o.fetches != NULL) && (o.n_reverse == 0 || o.reverse != NULL));
    GREBE_TRY(graph_csc_of(graph, &g, err));
    l = mem_alloc_zero(g->ctx->a, sizeof *l);
    if (l == NULL) {
        return mem_fail(err, sizeof *l, "a loader");
    }
    l->g = g;
    GREBE_TRY(graph_resolve(g, o.sampling == NULL ? &nothing : o.sampling, &l->how, err));
    GREBE_TRY(open_items(graph, &o, l, err));
    GREBE_TRY(open_fetches(graph, &o, l, err));
    GREBE_TRY(open_reverse(&o, l, err));
    GREBE_TRY(begin_loader(&o, l, err));
    *out = l;
out:
    if (st != GREBE_OK) {
        grebe_graph_loader_free(l);
    }
    return st;
}

void grebe_graph_loader_free(grebe_graph_loader *l)
{
    if (l == NULL) {
        return;
    }
    grebe_context *ctx = l->g->ctx;
    graph_loader_free(l->loader);
    for (size_t i = 0; l->fetches != NULL && i < l->recipe.n_fetches; i++) {
        graph_row_cache_free(l->fetches[i].cache);
    }
    mem_free(ctx->a, l->fetches, (l->recipe.n_fetches + 1) * sizeof *l->fetches);
    mem_free(ctx->a, l->parts, l->items.n_parts * sizeof *l->parts);
    mem_free(ctx->a, l->names, l->items.n_columns * sizeof *l->names);
    mem_free(ctx->a, l->columns, l->items.n_parts * l->items.n_columns * sizeof *l->columns);
    mem_free(ctx->a, l->reverse, (l->g->n_edge_types + 1) * sizeof *l->reverse);
    graph_edge_index_release(ctx, &l->view.index);
    graph_resolved_release(ctx, &l->how);
    mem_free(ctx->a, l, sizeof *l);
}

int64_t grebe_graph_loader_n_batches(const grebe_graph_loader *l) { return graph_loader_count(l->loader); }
uint64_t grebe_graph_loader_epoch(const grebe_graph_loader *l) { return graph_loader_epoch(l->loader); }

grebe_status grebe_graph_loader_begin(grebe_graph_loader *l, uint64_t epoch, grebe_error *err)
{
    return graph_loader_begin(l->loader, epoch, err);
}

grebe_status grebe_graph_loader_next(grebe_graph_loader *l, const grebe_graph_batch **out, grebe_error *err)
{
    struct graph_minibatch *m;
    *out = NULL;
    grebe_status st = graph_loader_next(l->loader, &m, err);
    if (st == GREBE_OK) {
        l->view.graph = m->graph;
        l->view.items = m;
        l->view.loader = l->loader;
        l->view.ctx = l->g->ctx;
        *out = &l->view;
    }
    return st;
}

grebe_status grebe_graph_batch_part(const grebe_graph_batch *b, size_t part, grebe_graph_batch_items *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, b->items != NULL && part < b->items->items.n_parts);
    const struct graph_minibatch *m = b->items;
    const struct graph_seeds *s = &m->seeds[part];
    *out = (grebe_graph_batch_items){ m->recipe->items->parts[part].type, m->items.rows[part].n, m->items.rows[part].v, s->n,
                                      s->n_positives, s->ratio, s->arity, s->ids.v, m->compacted[part].v,
                                      m->times[part].n > 0 ? m->times[part].v : NULL };
    return GREBE_OK;
}

grebe_status grebe_graph_batch_column(const grebe_graph_batch *b, size_t part, size_t i, void *dst, grebe_error *err)
{
    GREBE_CHECK_ARG(err, b->items != NULL && part < b->items->items.n_parts && i < b->items->recipe->items->n_columns);
    const struct graph_item_part *p = &b->items->recipe->items->parts[part];
    const struct graph_array *rows = &b->items->items.rows[part];
    return graph_rows_gather(b->graph->g->ctx, &p->columns[i], rows->v, rows->n, false, 1, dst, err);
}

grebe_status grebe_graph_batch_rows(const grebe_graph_batch *b, size_t fetch, size_t layer, grebe_graph_rows *out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, b->items != NULL && fetch < b->items->recipe->n_fetches);
    const struct graph_recipe *r = b->items->recipe;
    size_t n_layers = r->hops.n_layers == 0 ? 1 : r->hops.n_layers;
    GREBE_CHECK_ARG(err, layer < n_layers);
    const struct graph_rows *x = &b->items->fetched[fetch * n_layers + (r->fetches[fetch].is_edge ? layer : 0)];
    *out = (grebe_graph_rows){ x->bytes, x->n, x->row_bytes };
    return GREBE_OK;
}

void grebe_graph_loader_cache_counts(const grebe_graph_loader *l, size_t fetch, uint64_t *hits, uint64_t *misses, uint64_t *evictions)
{
    struct graph_row_counts c = { 0 };
    if (fetch < l->recipe.n_fetches && l->fetches[fetch].cache != NULL) {
        c = graph_row_cache_counts(l->fetches[fetch].cache);
    }
    *hits = c.hits;
    *misses = c.misses;
    *evictions = c.evictions;
}
