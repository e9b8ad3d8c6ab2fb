/* SPDX-License-Identifier: Apache-2.0 */
/* Batches as PyTorch Geometric has them: one list of edges over all hops. */
#include "graph/graph_minibatch.h"

#include <string.h>

grebe_status graph_edge_index_of(const struct graph_batch *b, size_t type, struct graph_edge_index *out, grebe_error *err)
{
    const grebe_allocator *a = b->g->ctx->a;
    struct graph_array *arrays[3] = { &out->sources, &out->targets, &out->edges };
    int64_t n = 0, at = 0;
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < b->n_layers; i++) {
        n += b->layers[i].relations[type].edges.n;
    }
    for (size_t i = 0; i < 3; i++) {
        GREBE_TRY(graph_array_room(a, arrays[i], n, err));
        arrays[i]->n = n;
    }
    GREBE_TRY(graph_array_room(a, &out->per_hop, (int64_t)b->n_layers, err));
    out->per_hop.n = (int64_t)b->n_layers;
    for (size_t i = 0; i < b->n_layers; i++) {
        const struct graph_relation *r = &b->layers[b->n_layers - 1 - i].relations[type];
        out->per_hop.v[i] = r->edges.n;
        for (int64_t c = 0; c + 1 < r->indptr.n; c++) {
            for (int64_t j = r->indptr.v[c]; j < r->indptr.v[c + 1]; j++) {
                out->targets.v[at + j] = c;
            }
        }
        if (r->edges.n > 0) {
            memcpy(out->sources.v + at, r->indices.v, (size_t)r->edges.n * sizeof(int64_t));
            memcpy(out->edges.v + at, r->edges.v, (size_t)r->edges.n * sizeof(int64_t));
        }
        at += r->edges.n;
    }
out:
    return st;
}

void graph_nodes_per_hop(const struct graph_batch *b, size_t type, int64_t *per_hop)
{
    int64_t before = b->n_layers == 0 ? b->nodes[type].n : b->layers[b->n_layers - 1].n_columns[type];
    per_hop[0] = before;
    for (size_t i = 0; i < b->n_layers; i++) {
        int64_t rows = b->layers[b->n_layers - 1 - i].n_rows[type];
        per_hop[i + 1] = rows - before;
        before = rows;
    }
}

void graph_edge_index_release(grebe_context *ctx, struct graph_edge_index *x)
{
    graph_array_release(ctx->a, &x->sources);
    graph_array_release(ctx->a, &x->targets);
    graph_array_release(ctx->a, &x->edges);
    graph_array_release(ctx->a, &x->per_hop);
}
