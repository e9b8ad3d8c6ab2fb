/* SPDX-License-Identifier: Apache-2.0 */
#include "index/graph_core.h"

#include <assert.h>
#include <string.h>

enum { ROW_LINES_MAX = 8 }; /* of longer rows the hardware fetches the rest */

grebe_status graph_init(struct graph *g, grebe_context *ctx, const struct index_config *config,
                        const struct graph_options *options, grebe_error *err)
{
    *g = (struct graph){ .ctx = ctx, .a = ctx->a, .options = *options, .removed = { .a = ctx->a } };
    pthread_mutex_init(&g->lock, NULL);
    enum cpu_simd level = cpu_simd_level();
    while ((g->run = graph_walk_of(level)) == NULL) {
        level--;
    }
    g->width = (options->degree + 15) / 16 * 16;
    assert(g->width <= GRAPH_WIDTH_MAX);
    grebe_status st = index_store_init(&g->store, g->a, config->metric, config->elem, config->dim, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (config->metric == VECTOR_HAMMING || config->metric == VECTOR_JACCARD) {
        g->options.quant = GRAPH_QUANT_NONE; /* bits are short already */
        g->options.has_no_rows = 0;
    }
    return graph_codes_init(&g->codes, &g->store, (enum graph_quant)g->options.quant, err);
}

void graph_release(struct graph *g)
{
    if (g->a == NULL) {
        return;
    }
    for (size_t i = 0; i < g->n_idle; i++) {
        graph_walk_release(&g->idle[i]);
    }
    mem_free(g->a, g->idle, g->idle_room * sizeof *g->idle);
    if (g->links_owned != NULL) {
        mem_free_aligned(g->a, g->links_owned, g->links_bytes, MEM_ALIGN_VECTOR);
    }
    graph_entries_release(&g->entries, g->a);
    index_bits_release(&g->removed);
    graph_codes_release(&g->codes);
    index_store_release(&g->store);
    pthread_mutex_destroy(&g->lock);
    *g = (struct graph){ 0 };
}

struct graph_view graph_view_of(const struct graph *g)
{
    size_t lines = (g->codes.stride + 63) / 64;
    return (struct graph_view){ .links = g->links,
                                .width = g->width,
                                .n = g->n,
                                .rows = g->codes.rows,
                                .stride = g->codes.stride,
                                .blocks = g->codes.blocks,
                                .row_lines = (uint32_t)(lines < ROW_LINES_MAX ? lines : ROW_LINES_MAX),
                                .gather = g->codes.kernels.gather };
}

grebe_status graph_walks_take(struct graph *g, struct graph_walk *walks, size_t n, uint32_t ef, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    memset(walks, 0, n * sizeof *walks);
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < n && g->n_idle > 0; i++) {
        walks[i] = g->idle[--g->n_idle];
    }
    pthread_mutex_unlock(&g->lock);
    for (size_t i = 0; st == GREBE_OK && i < n; i++) {
        st = graph_walk_reserve(&walks[i], g->a, g->n, ef, g->store.stride, g->codes.query_bytes, g->store.dim, err);
    }
    if (st != GREBE_OK) {
        graph_walks_give(g, walks, n);
    }
    return st;
}

void graph_walks_give(struct graph *g, struct graph_walk *walks, size_t n)
{
    pthread_mutex_lock(&g->lock);
    if (g->n_idle + n > g->idle_room) {
        size_t room = g->idle_room * 2 + n;
        struct graph_walk *more = mem_resize(g->a, g->idle, g->idle_room * sizeof *g->idle, room * sizeof *g->idle);
        if (more != NULL) {
            g->idle = more;
            g->idle_room = room;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (g->n_idle < g->idle_room) {
            g->idle[g->n_idle++] = walks[i];
        } else {
            graph_walk_release(&walks[i]);
        }
    }
    pthread_mutex_unlock(&g->lock);
}
