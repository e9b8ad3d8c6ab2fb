/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_batch.h"

#include <string.h>

#include "graph/graph_random.h"
#include "graph/graph_split.h"
#include "graph/graph_stages.h"
#include "graph/graph_types.h"

enum { AHEAD = 64, BLOCK_EDGES = GRAPH_MERGE_BLOCK };

/* One hop: from the nodes that are there to their neighbours. */
struct hop {
    struct graph_batch *b;
    struct graph_scratch *s;
    struct graph_layer *layer;
    const struct graph_hops *hops;
    const int64_t *columns, *column_times; /* all types, one after another */
    int64_t n_columns;
};

static grebe_status layers_room(struct graph_batch *b, size_t n, grebe_error *err)
{
    const grebe_allocator *a = b->g->ctx->a;
    if (n > b->layer_capacity) {
        struct graph_layer *grown = mem_resize(a, b->layers, b->layer_capacity * sizeof *grown, n * sizeof *grown);
        if (grown == NULL) {
            return mem_fail(err, n * sizeof *grown, "layers of a batch");
        }
        b->layers = grown;
        memset(grown + b->layer_capacity, 0, (n - b->layer_capacity) * sizeof *grown);
        b->layer_capacity = n;
    }
    for (size_t i = 0; i < n; i++) {
        struct graph_layer *l = &b->layers[i];
        if (l->relations == NULL) {
            l->relations = mem_alloc_zero(a, b->n_edge_types * sizeof *l->relations);
        }
        if (l->n_rows == NULL) {
            l->n_rows = mem_alloc_zero(a, b->n_node_types * sizeof *l->n_rows);
        }
        if (l->n_columns == NULL) {
            l->n_columns = mem_alloc_zero(a, b->n_node_types * sizeof *l->n_columns);
        }
        if (l->relations == NULL || l->n_rows == NULL || l->n_columns == NULL) {
            return mem_fail(err, b->n_edge_types * sizeof *l->relations, "layers of a batch");
        }
    }
    return GREBE_OK;
}

/* The nodes of all types as one list. */
static grebe_status gather_columns(struct hop *h, grebe_error *err)
{
    struct graph_batch *b = h->b;
    const grebe_allocator *a = b->g->ctx->a;
    bool has_times = h->hops->hop.times != NULL;
    h->n_columns = 0;
    for (size_t t = 0; t < b->n_node_types; t++) {
        h->layer->n_columns[t] = b->nodes[t].n;
        h->n_columns += b->nodes[t].n;
        if (has_times && b->times[t].n != b->nodes[t].n) {
            return GREBE_FAIL(err, GREBE_EINVAL, "sampling by time needs a time for each seed");
        }
    }
    if (b->n_node_types == 1) {
        h->columns = b->nodes[0].v;
        h->column_times = has_times ? b->times[0].v : NULL;
        return GREBE_OK;
    }
    grebe_status st;
    GREBE_TRY(graph_array_room(a, &h->s->columns, h->n_columns, err));
    GREBE_TRY(graph_array_room(a, &h->s->column_times, has_times ? h->n_columns : 0, err));
    int64_t at = 0;
    for (size_t t = 0; t < b->n_node_types; t++) {
        size_t size = (size_t)b->nodes[t].n * sizeof(int64_t);
        if (size > 0) {
            memcpy(h->s->columns.v + at, b->nodes[t].v, size);
        }
        if (has_times && size > 0) {
            memcpy(h->s->column_times.v + at, b->times[t].v, size);
        }
        at += b->nodes[t].n;
    }
    h->columns = h->s->columns.v;
    h->column_times = has_times ? h->s->column_times.v : NULL;
out:
    return st;
}

/* From the picked positions of one relation to sources with rows and to ids of the edge file. */
struct reached {
    struct hop *h;
    struct graph_relation *relation;
    struct graph_array *rows;      /* nodes of the source type */
    int64_t first_node;            /* of this type */
    uint64_t n_nodes;
    const struct tensor *edge_ids; /* NULL: positions stay */
};

/* Sources of a block of edges; every one is a node of its type. Ids of the edge file come in the place of positions. */
static grebe_status gather_block(void *arg, size_t block, grebe_error *err)
{
    const struct reached *x = arg;
    const struct graph_ids *all = &x->h->b->g->indices;
    int64_t begin = (int64_t)block * BLOCK_EDGES, end = min_i64(begin + BLOCK_EDGES, x->relation->edges.n), bad = -1;
    int64_t *sources = x->relation->indices.v, *edges = x->relation->edges.v;
    size_t width = all->is_wide ? 8 : 4, id_width = x->edge_ids == NULL ? 0 : tensor_type_bytes(x->edge_ids->type);
    const char *ids = x->edge_ids == NULL ? NULL : (const char *)x->edge_ids->data;
    for (int64_t i = begin; i < end; i++) {
        size_t later = (size_t)edges[i + AHEAD < end ? i + AHEAD : i];
        __builtin_prefetch((const char *)all->data + later * width);
        if (id_width != 0) {
            __builtin_prefetch(ids + later * id_width);
        }
        int64_t edge = edges[i], source = graph_id(all, edge);
        sources[i] = source;
        bad = (uint64_t)(source - x->first_node) < x->n_nodes ? bad : edge;
        if (id_width == 4) {
            edges[i] = ((const int32_t *)(const void *)ids)[edge];
        } else if (id_width == 8) {
            edges[i] = ((const int64_t *)(const void *)ids)[edge];
        }
    }
    if (bad >= 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "edge %lld of the graph comes from node %lld, which is none of its type",
                          (long long)bad, (long long)graph_id(all, bad));
    }
    return GREBE_OK;
}

/* Rows of the sources of a block, in the order in which they were first reached. */
static grebe_status map_block(void *arg, size_t block, grebe_error *err)
{
    const struct reached *x = arg;
    int64_t begin = (int64_t)block * BLOCK_EDGES, end = min_i64(begin + BLOCK_EDGES, x->relation->edges.n);
    int64_t *sources = x->relation->indices.v + begin;
    return graph_map_rows(x->h->s->map, sources, end - begin, x->rows, sources, err);
}

/* The sources of a block, and where each belongs. */
static grebe_status deal_block(void *arg, size_t block, grebe_error *err)
{
    const struct reached *x = arg;
    int64_t begin = (int64_t)block * BLOCK_EDGES, end = min_i64(begin + BLOCK_EDGES, x->relation->edges.n);
    grebe_status st = gather_block(arg, block, err);
    if (st == GREBE_OK) {
        graph_merge_deal(&x->h->s->merge, block, x->relation->indices.v + begin, end - begin);
    }
    return st;
}

/* Gathering and rows, each on all threads. */
static grebe_status merge_sources(struct reached *x, size_t n_blocks, bool is_last, uint32_t threads, grebe_error *err)
{
    struct graph_scratch *s = x->h->s;
    const grebe_allocator *a = s->g->ctx->a;
    struct graph_array *sources = &x->relation->indices;
    grebe_status st;
    GREBE_TRY(graph_merge_begin(&s->merge, a, sources->n, err));
    GREBE_TRY(parallel_for(s->g->ctx->pool, threads, n_blocks, deal_block, x, NULL, err));
    GREBE_TRY(graph_merge_rows(&s->merge, a, s->map, sources->v, sources->n, is_last, threads, s->g->ctx->pool, x->rows, err));
out:
    return st;
}

static grebe_status reach_sources(struct hop *h, size_t type, const struct tensor *edge_ids, uint32_t threads, grebe_error *err)
{
    const struct graph_csc *g = h->b->g;
    size_t source_type = graph_edge_source_type(g, type);
    struct reached x = { .h = h, .relation = &h->layer->relations[type], .rows = &h->b->nodes[source_type],
                         .first_node = graph_type_begin(g, source_type), .n_nodes = (uint64_t)graph_type_count(g, source_type),
                         .edge_ids = edge_ids };
    int64_t n = x.relation->edges.n;
    size_t n_blocks = (size_t)((n + BLOCK_EDGES - 1) / BLOCK_EDGES);
    struct pool *pool = threads > 1 ? g->ctx->pool : NULL;
    grebe_status st;
    GREBE_TRY(graph_array_room(g->ctx->a, &x.relation->indices, n, err));
    x.relation->indices.n = n;
    if (h->hops->keeps_duplicates) {
        st = parallel_for(pool, threads, n_blocks, gather_block, &x, NULL, err);
    } else if (graph_merge_pays(h->s->map, x.rows, n, threads)) {
        bool is_last = h->layer == h->b->layers && type + 1 == h->b->n_edge_types;
        st = merge_sources(&x, n_blocks, is_last, threads, err);
    } else {
        st = graph_stages(g->ctx->a, pool, threads, n_blocks, gather_block, map_block, &x, err);
    }
out:
    return st;
}

/* A row for each source, whether it has been reached before or not. */
static grebe_status append_sources(struct hop *h, size_t type, grebe_error *err)
{
    const struct graph_csc *g = h->b->g;
    const grebe_allocator *a = g->ctx->a;
    struct graph_relation *r = &h->layer->relations[type];
    size_t source_type = graph_edge_source_type(g, type), target_type = graph_edge_target_type(g, type);
    struct graph_array *nodes = &h->b->nodes[source_type], *times = &h->b->times[source_type];
    int64_t first = nodes->n;
    grebe_status st;
    GREBE_TRY(graph_array_room(a, nodes, first + r->indices.n, err));
    for (int64_t i = 0; i < r->indices.n; i++) {
        nodes->v[first + i] = r->indices.v[i];
        r->indices.v[i] = first + i;
    }
    nodes->n = first + r->indices.n;
    if (h->hops->hop.times != NULL) {
        int64_t before = 0; /* columns of the types in front */
        for (size_t t = 0; t < target_type; t++) {
            before += h->layer->n_columns[t];
        }
        GREBE_TRY(graph_array_room(a, times, nodes->n, err));
        /* times of columns: a copy, or this very list, whose front stays where it is */
        const int64_t *of_columns = h->b->n_node_types == 1 ? times->v : h->column_times + before;
        for (int64_t c = 0; c + 1 < r->indptr.n; c++) {
            for (int64_t i = r->indptr.v[c]; i < r->indptr.v[c + 1]; i++) {
                times->v[first + i] = of_columns[c];
            }
        }
        times->n = nodes->n;
    }
out:
    return st;
}

static grebe_status sample_hop(struct hop *h, const struct graph_sampling *how, const struct tensor *edge_ids, uint32_t threads,
                               grebe_error *err)
{
    const struct graph_csc *g = h->b->g;
    grebe_status st;
    GREBE_TRY(gather_columns(h, err));
    GREBE_TRY(graph_sample(g, h->columns, h->column_times, h->n_columns, how, threads, &h->s->picks, err));
    GREBE_TRY(graph_split_types(h->s, h->layer, threads, err));
    for (size_t r = 0; r < h->b->n_edge_types; r++) {
        GREBE_TRY(reach_sources(h, r, edge_ids, threads, err));
        if (h->hops->keeps_duplicates) {
            GREBE_TRY(append_sources(h, r, err));
        }
    }
    for (size_t t = 0; t < h->b->n_node_types; t++) {
        h->layer->n_rows[t] = h->b->nodes[t].n;
    }
out:
    return st;
}

/* Batches [group * n, (group + 1) * n) go from the seed of their group to that of the next. */
static struct graph_blend blend_of_batch(uint64_t number, uint64_t n)
{
    uint64_t group = number / n;
    return graph_blend_of(graph_draw(group, 0), graph_draw(group + 1, 0), (float)((double)(number % n) / (double)n));
}

/* The random numbers of hop i, counted from the seeds. */
static void choose_numbers(const struct graph_hops *hops, uint64_t i, struct graph_sampling *how, struct graph_blend *blend)
{
    if (!how->is_by_source) {
        how->key = graph_draw(how->key, i);
        return;
    }
    uint64_t step = hops->layer_dependency ? 0 : i;
    if (how->blend != NULL) {
        *blend = *how->blend;
    } else if (hops->batch_dependency > 1) {
        *blend = blend_of_batch(how->key, hops->batch_dependency);
    } else {
        how->key += step;
        return;
    }
    blend->keys[0] += step;
    blend->keys[1] += step;
    how->blend = blend;
}

grebe_status graph_batch_sample(struct graph_batch *b, struct graph_scratch *s, const struct graph_hops *hops, uint32_t threads,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (hops->hop.times != NULL && !hops->keeps_duplicates) {
        return GREBE_FAIL(err, GREBE_EINVAL, "sampling by time keeps duplicates: a node may be reached at several times");
    }
    const struct tensor *edge_ids = graph_edge_ids(b->g); /* what each edge is in the edge file of its type */
    GREBE_TRY(layers_room(b, hops->n_layers, err));
    b->n_layers = hops->n_layers;
    graph_map_begin(s->map);
    for (size_t t = 0; !hops->keeps_duplicates && t < b->n_node_types; t++) {
        GREBE_TRY(graph_map_keep(s->map, &b->nodes[t], err));
    }
    for (size_t i = 0; i < hops->n_layers; i++) {
        size_t at = hops->n_layers - 1 - i; /* the last of the list is the nearest */
        struct graph_sampling how = hops->hop;
        struct graph_blend blend;
        struct hop h = { .b = b, .s = s, .layer = &b->layers[at], .hops = hops };
        how.fanouts += at * how.n_fanouts;
        choose_numbers(hops, i, &how, &blend);
        GREBE_TRY(sample_hop(&h, &how, edge_ids, threads, err));
    }
out:
    if (st != GREBE_OK) {
        b->n_layers = 0;
    }
    return st;
}
