/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_SAMPLE_API_H
#define GREBE_GRAPH_GRAPH_SAMPLE_API_H

/* What the two halves of grebe/graph_sample.h share: batches and epochs. */

#include "graph/graph_dataset.h"
#include "graph/graph_loader.h"
#include "grebe/graph_sample.h"

/** What callers hold: a view of a batch, and the PyG form that is made of it when it is asked for. One that was kept owns its batch. */
struct grebe_graph_batch {
    grebe_context *ctx;
    const struct graph_batch *graph;
    const struct graph_minibatch *items; /* NULL: of a sampler */
    struct graph_edge_index index;
    grebe_graph_sampler *sampler;        /* one of the two gave it */
    struct graph_loader *loader;
    bool is_kept;
};

/* Options of sampling with what their names stand for. */
struct graph_resolved {
    struct graph_hops hops;
    int64_t *fanouts;
    size_t n_fanouts;
    struct graph_weights weights;
    struct graph_times times;
};

/** Names to arrays. r must stay where it is: its parts point to one another. */
grebe_status graph_resolve(const struct graph_csc *g, const grebe_graph_sampling *given, struct graph_resolved *r, grebe_error *err);
void graph_resolved_release(grebe_context *ctx, struct graph_resolved *r);

static inline grebe_status graph_csc_of(const grebe_graph *graph, const struct graph_csc **out, grebe_error *err)
{
    *out = graph_dataset_csc(graph);
    return *out == NULL ? GREBE_FAIL(err, GREBE_ENOTFOUND, "the data set has no graph") : GREBE_OK;
}

static inline uint32_t graph_threads_of(const struct graph_csc *g, uint32_t threads)
{
    return threads == 0 ? grebe_context_threads(g->ctx) : threads;
}

#endif
