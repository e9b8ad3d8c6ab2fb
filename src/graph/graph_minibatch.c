/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_minibatch.h"

#include <string.h>

#include "graph/graph_random.h"
#include "graph/graph_types.h"

/* Draws of a batch that are not those of its layers, which count from 0. */
#define NEGATIVES_AT (UINT64_C(1) << 32)

/* ---- memory ---- */

static size_t n_blocks(const struct graph_recipe *r)
{
    return r->n_fetches * (r->hops.n_layers == 0 ? 1 : r->hops.n_layers);
}

void graph_minibatch_free(struct graph_minibatch *m)
{
    if (m == NULL) {
        return;
    }
    const struct graph_recipe *r = m->recipe;
    grebe_context *ctx = r->g->ctx;
    size_t n = r->items->n_parts;
    for (size_t i = 0; i < n; i++) {
        if (m->seeds != NULL) {
            graph_seeds_release(ctx, &m->seeds[i]);
        }
        if (m->compacted != NULL) {
            graph_array_release(ctx->a, &m->compacted[i]);
        }
        if (m->times != NULL) {
            graph_array_release(ctx->a, &m->times[i]);
        }
    }
    for (size_t i = 0; m->fetched != NULL && i < n_blocks(r); i++) {
        mem_free(ctx->a, m->fetched[i].bytes, m->fetched[i].capacity);
    }
    for (size_t i = 0; i < 3; i++) {
        graph_array_release(ctx->a, &m->columns[i]);
    }
    mem_free(ctx->a, m->seeds, (n + 1) * sizeof *m->seeds);
    mem_free(ctx->a, m->compacted, (n + 1) * sizeof *m->compacted);
    mem_free(ctx->a, m->times, (n + 1) * sizeof *m->times);
    mem_free(ctx->a, m->fetched, (n_blocks(r) + 1) * sizeof *m->fetched);
    graph_item_batch_release(ctx, &m->items);
    graph_batch_free(m->graph);
    graph_scratch_free(m->scratch);
    mem_free(ctx->a, m, sizeof *m);
}

grebe_status graph_minibatch_new(const struct graph_recipe *recipe, struct graph_minibatch **out, grebe_error *err)
{
    grebe_context *ctx = recipe->g->ctx;
    struct graph_minibatch *m = mem_alloc_zero(ctx->a, sizeof *m);
    size_t n = recipe->items->n_parts + 1; /* never 0 */
    grebe_status st;
    *out = NULL;
    if (m == NULL) {
        return mem_fail(err, sizeof *m, "a batch");
    }
    m->recipe = recipe;
    m->seeds = mem_alloc_zero(ctx->a, n * sizeof *m->seeds);
    m->compacted = mem_alloc_zero(ctx->a, n * sizeof *m->compacted);
    m->times = mem_alloc_zero(ctx->a, n * sizeof *m->times);
    m->fetched = mem_alloc_zero(ctx->a, (n_blocks(recipe) + 1) * sizeof *m->fetched);
    if (m->seeds == NULL || m->compacted == NULL || m->times == NULL || m->fetched == NULL) {
        st = mem_fail(err, n * sizeof *m->seeds, "a batch");
        goto out;
    }
    GREBE_TRY(graph_item_batch_new(ctx, recipe->items->n_parts, &m->items, err));
    GREBE_TRY(graph_batch_new(recipe->g, &m->graph, err));
    *out = m;
out:
    if (st != GREBE_OK) {
        graph_minibatch_free(m);
    }
    return st;
}

grebe_status graph_recipe_check(const struct graph_recipe *r, grebe_error *err)
{
    const struct graph_item_roles roles = graph_items_roles(r->items);
    if (roles.seeds == SIZE_MAX && (r->hops.n_layers > 0 || r->negative_ratio > 0)) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "an item set without a column \"seeds\" cannot be sampled");
    }
    if (roles.times == SIZE_MAX && r->hops.hop.times != NULL) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "an item set without a column \"timestamp\" cannot be sampled by time");
    }
    for (size_t p = 0; p < r->items->n_parts && r->negative_ratio > 0; p++) {
        const struct tensor *t = r->items->parts[p].columns == NULL ? NULL : &r->items->parts[p].columns[roles.seeds];
        const uint64_t arity = t == NULL || t->rank < 2 ? 1 : t->shape[1];
        if (arity != 2) {
            return GREBE_FAIL(err, GREBE_EINVAL, "negatives are drawn for pairs of nodes, not for seeds of %llu", (unsigned long long)arity);
        }
    }
    return GREBE_OK;
}

/* ---- types of seeds ---- */

static grebe_status node_type_named(const struct graph_csc *g, const char *name, size_t len, size_t *out, grebe_error *err)
{
    for (size_t i = 0; i < g->n_node_types; i++) {
        if (strlen(g->node_types[i]) == len && memcmp(g->node_types[i], name, len) == 0) {
            *out = i;
            return GREBE_OK;
        }
    }
    return GREBE_FAIL(err, GREBE_EINVAL, "\"%.*s\" is no type of nodes of this graph", len > 200 ? 200 : (int)len, name);
}

grebe_status graph_seed_types(const struct graph_csc *g, const char *type, int64_t arity, size_t *types, grebe_error *err)
{
    if (arity < 1 || arity > GRAPH_ARITY_MAX) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "seeds of %lld nodes: expected 1 to %d", (long long)arity, GRAPH_ARITY_MAX);
    }
    memset(types, 0, (size_t)arity * sizeof *types);
    if (g->n_node_types == 0) {
        return GREBE_OK;
    }
    if (type == NULL) {
        return GREBE_FAIL(err, GREBE_EINVAL, "seeds without a type in a graph with types");
    }
    for (int64_t i = 0; i < arity; i++) {
        size_t len;
        const char *name = graph_seed_type_of(type, arity, i, &len);
        if (name == NULL) {
            size_t n_parts = 1;
            for (const char *p = type; *p != '\0'; p++) {
                n_parts += *p == ':';
            }
            return GREBE_FAIL(err, GREBE_EINVAL, "type \"%.200s\" has %zu parts, expected %lld or %lld for seeds of %lld nodes", type,
                              n_parts, (long long)arity, (long long)(2 * arity - 1), (long long)arity);
        }
        grebe_status st = node_type_named(g, name, len, &types[i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

/* ---- seeds ---- */

/* Pairs get negatives behind them. */
static grebe_status draw_negatives(struct graph_minibatch *m, size_t part, uint64_t key, grebe_error *err)
{
    const struct graph_recipe *r = m->recipe;
    struct graph_seeds *s = &m->seeds[part];
    struct graph_array drawn = { 0 };
    size_t types[GRAPH_ARITY_MAX];
    int64_t size;
    grebe_status st;
    if (s->arity != 2 || s->ratio != 0) {
        return GREBE_FAIL(err, GREBE_EINVAL, "negatives are drawn for pairs of nodes, not for seeds of %lld", (long long)s->arity);
    }
    GREBE_TRY(graph_seed_types(r->g, r->items->parts[part].type, 2, types, err));
    int64_t n_targets = graph_type_count(r->g, types[1]);
    if (n_targets == 0 || __builtin_mul_overflow(s->n * 2, 1 + r->negative_ratio, &size)) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "%lld negatives for each of %lld pairs, of %lld nodes", (long long)r->negative_ratio,
                        (long long)s->n, (long long)n_targets);
        goto out;
    }
    GREBE_TRY(graph_array_room(r->g->ctx->a, &drawn, size, err));
    graph_negatives(s->ids.v, s->n, r->negative_ratio, n_targets, key, drawn.v);
    drawn.n = size;
    struct graph_array t = s->ids;
    s->ids = drawn;
    drawn = t;
    s->ratio = r->negative_ratio;
    s->n = size / 2;
out:
    graph_array_release(r->g->ctx->a, &drawn);
    return st;
}

/* Times of seeds; a negative has that of its positive. */
static grebe_status read_times(struct graph_minibatch *m, size_t part, size_t column, grebe_error *err)
{
    const struct graph_item_part *p = &m->recipe->items->parts[part];
    const struct tensor *t = p->columns == NULL ? NULL : &p->columns[column];
    struct graph_array *times = &m->times[part];
    int64_t n = m->items.rows[part].n;
    grebe_status st;
    if (t == NULL || t->rank != 1) {
        return GREBE_FAIL(err, GREBE_ESCHEMA, "\"timestamp\" has one number for each seed");
    }
    GREBE_TRY(graph_array_room(m->recipe->g->ctx->a, times, m->seeds[part].n, err));
    GREBE_TRY(error_wrap(err, graph_items_integers(m->recipe->g->ctx, t, &m->items.rows[part], times->v, err), "timestamp"));
    for (int64_t i = n; i < m->seeds[part].n; i++) {
        times->v[i] = times->v[(i - n) / m->seeds[part].ratio];
    }
    times->n = m->seeds[part].n;
out:
    return st;
}

/* One node of each seed, `step` numbers apart, to the batch; rows of theirs to `compacted`. A seed with a time keeps a row of its own,
 * whether times are sampled by or not: so GraphBolt has it. */
static grebe_status add_column(struct graph_minibatch *m, size_t part, size_t type, int64_t first, int64_t step, bool has_times,
                               grebe_error *err)
{
    const struct graph_seeds *s = &m->seeds[part];
    const grebe_allocator *a = m->recipe->g->ctx->a;
    int64_t n = step == 0 ? s->ids.n : s->n; /* step 0: all of them */
    int64_t repeat = step == 0 ? s->arity : 1, stride = step == 0 ? 1 : step;
    grebe_status st;
    for (int i = 0; i < 3; i++) {
        GREBE_TRY(graph_array_room(a, &m->columns[i], n, err));
    }
    for (int64_t i = 0; i < n; i++) {
        m->columns[0].v[i] = s->ids.v[first + i * stride];
        m->columns[1].v[i] = has_times ? m->times[part].v[i / repeat] : 0;
    }
    GREBE_TRY(graph_batch_add(m->graph, m->scratch, type, m->columns[0].v, has_times ? m->columns[1].v : NULL, n,
                              s->arity > 1 && !has_times, m->columns[2].v, err));
    for (int64_t i = 0; i < n; i++) {
        m->compacted[part].v[first + i * stride] = m->columns[2].v[i];
    }
out:
    return st;
}

static grebe_status add_part(struct graph_minibatch *m, size_t part, bool has_times, grebe_error *err)
{
    const struct graph_csc *g = m->recipe->g;
    const struct graph_seeds *s = &m->seeds[part];
    size_t types[GRAPH_ARITY_MAX];
    grebe_status st;
    GREBE_TRY(graph_seed_types(g, m->recipe->items->parts[part].type, s->arity, types, err));
    GREBE_TRY(graph_array_room(g->ctx->a, &m->compacted[part], s->ids.n, err));
    m->compacted[part].n = s->ids.n;
    if (g->n_node_types == 0) {
        return add_column(m, part, 0, 0, 0, has_times, err); /* seed by seed */
    }
    for (int64_t i = 0; i < s->arity; i++) {
        GREBE_TRY(add_column(m, part, types[i], i, s->arity, has_times, err));
    }
out:
    return st;
}

static grebe_status add_seeds(struct graph_minibatch *m, uint64_t key, grebe_error *err)
{
    const struct graph_recipe *r = m->recipe;
    struct graph_item_roles roles = graph_items_roles(r->items);
    bool has_nodes = graph_recipe_has_nodes(r);
    grebe_status st = GREBE_OK;
    if (has_nodes) {
        if (m->scratch == NULL) {
            GREBE_TRY(graph_scratch_new(r->g, &m->scratch, err));
        }
        graph_batch_begin(m->graph, m->scratch);
    }
    for (size_t p = 0; p < r->items->n_parts; p++) {
        bool has_times = roles.times != SIZE_MAX;
        m->compacted[p].n = 0;
        m->times[p].n = 0;
        if (roles.seeds == SIZE_MAX && r->hops.n_layers == 0) {
            continue; /* items alone */
        }
        GREBE_TRY(graph_seeds_of(r->g->ctx, r->items, &roles, p, &m->items.rows[p], &m->seeds[p], err));
        if (r->negative_ratio > 0 && m->seeds[p].n > 0) {
            GREBE_TRY(draw_negatives(m, p, graph_draw(key, NEGATIVES_AT + p), err));
        }
        if (has_times) {
            GREBE_TRY(read_times(m, p, roles.times, err));
        }
        if (has_nodes) {
            GREBE_TRY(add_part(m, p, has_times, err));
        }
    }
out:
    return st;
}

/* ---- seed edges that are left out ---- */

static size_t edge_type_named(const struct graph_csc *g, const char *name)
{
    for (size_t i = 0; name != NULL && i < g->n_edge_types; i++) {
        if (strcmp(g->edge_types[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX - 1; /* of no edge */
}

static grebe_status leave_out_part(struct graph_minibatch *m, size_t part, grebe_error *err)
{
    const struct graph_recipe *r = m->recipe;
    const struct graph_seeds *s = &m->seeds[part];
    const grebe_allocator *a = r->g->ctx->a;
    size_t types[GRAPH_ARITY_MAX], type = 0, reverse = 0;
    grebe_status st;
    if (s->n == 0) {
        return GREBE_OK;
    }
    if (s->arity != 2) {
        return GREBE_FAIL(err, GREBE_EINVAL, "seed edges are pairs of nodes, not seeds of %lld", (long long)s->arity);
    }
    GREBE_TRY(graph_seed_types(r->g, r->items->parts[part].type, 2, types, err));
    if (r->g->n_node_types != 0) {
        type = edge_type_named(r->g, r->items->parts[part].type);
        reverse = type < r->g->n_edge_types && r->reverse_types != NULL ? r->reverse_types[type] : SIZE_MAX;
        reverse = reverse == SIZE_MAX ? SIZE_MAX - 1 : reverse;
    }
    GREBE_TRY(graph_array_room(a, &m->columns[0], s->n, err));
    GREBE_TRY(graph_array_room(a, &m->columns[1], s->n, err));
    for (int64_t i = 0; i < s->n; i++) {
        m->columns[0].v[i] = s->ids.v[2 * i] + graph_type_begin(r->g, types[0]);
        m->columns[1].v[i] = s->ids.v[2 * i + 1] + graph_type_begin(r->g, types[1]);
    }
    struct graph_pairs pairs[2] = { { type, m->columns[0].v, m->columns[1].v, s->n },
                                    { reverse, m->columns[1].v, m->columns[0].v, s->n } };
    GREBE_TRY(graph_batch_exclude(m->graph, pairs, r->excludes_reverse ? 2 : 1, err));
out:
    return st;
}

/* ---- rows ---- */

static grebe_status fetch_ids(struct graph_minibatch *m, const struct graph_fetch *f, const struct graph_array *ids, uint32_t threads,
                              struct graph_rows *out, grebe_error *err)
{
    grebe_context *ctx = m->recipe->g->ctx;
    size_t size;
    out->n = ids->n;
    out->row_bytes = graph_row_bytes(f->values);
    if (!checked_mul_size(out->row_bytes, (size_t)ids->n, &size)) {
        return mem_fail(err, SIZE_MAX, "rows of a batch");
    }
    if (size > out->capacity) {
        mem_free(ctx->a, out->bytes, out->capacity);
        out->capacity = 0;
        out->bytes = mem_alloc(ctx->a, size + size / 8);
        if (out->bytes == NULL) {
            return mem_fail(err, size, "rows of a batch");
        }
        out->capacity = size + size / 8;
        mem_wish_large_pages(out->bytes, out->capacity);
    }
    return f->cache != NULL ? graph_row_cache_gather(f->cache, ids->v, ids->n, threads, out->bytes, err)
                            : graph_rows_gather(ctx, f->values, ids->v, ids->n, f->by_page, threads, out->bytes, err);
}

static grebe_status fetch(struct graph_minibatch *m, bool cached, uint32_t threads, grebe_error *err)
{
    const struct graph_recipe *r = m->recipe;
    size_t n_layers = r->hops.n_layers == 0 ? 1 : r->hops.n_layers;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < r->n_fetches; i++) {
        const struct graph_fetch *f = &r->fetches[i];
        struct graph_rows *rows = m->fetched + i * n_layers;
        if ((f->cache != NULL) != cached) {
            continue;
        }
        if (f->type >= (f->is_edge ? m->graph->n_edge_types : m->graph->n_node_types)) {
            return GREBE_FAIL(err, GREBE_EINVAL, "rows of a type that the graph has not");
        }
        if (!f->is_edge) {
            GREBE_TRY(fetch_ids(m, f, &m->graph->nodes[f->type], threads, rows, err));
            continue;
        }
        for (size_t l = 0; l < m->graph->n_layers; l++) {
            GREBE_TRY(fetch_ids(m, f, &m->graph->layers[l].relations[f->type].edges, threads, &rows[l], err));
        }
    }
out:
    return st;
}

grebe_status graph_minibatch_fetch_cached(struct graph_minibatch *m, uint32_t threads, grebe_error *err)
{
    return fetch(m, true, threads, err);
}

grebe_status graph_minibatch_make(struct graph_minibatch *m, const struct graph_epoch *e, uint64_t epoch, int64_t index, uint32_t threads,
                                  grebe_error *err)
{
    const struct graph_recipe *r = m->recipe;
    struct graph_hops hops = r->hops;
    grebe_status st;
    /* by its first item, so that processes which share an epoch draw other numbers */
    uint64_t first = (uint64_t)(e->range.begin + index * e->batch_size);
    uint64_t key = graph_draw(graph_draw(r->seed, epoch), first);
    m->index = index;
    /* batches that depend on one another are numbered */
    hops.hop.key = hops.batch_dependency > 1 ? graph_draw(graph_draw(r->seed, epoch), (uint64_t)e->range.begin) + (uint64_t)index : key;
    GREBE_TRY(graph_epoch_batch(e, index, &m->items, err));
    GREBE_TRY(add_seeds(m, key, err));
    if (!graph_recipe_has_nodes(r)) {
        goto out;
    }
    GREBE_TRY(graph_batch_sample(m->graph, m->scratch, &hops, threads, err));
    for (size_t p = 0; r->excludes_seeds && p < r->items->n_parts; p++) {
        GREBE_TRY(leave_out_part(m, p, err));
    }
    graph_batch_finish(m->graph);
    GREBE_TRY(fetch(m, false, threads, err));
out:
    return st;
}
