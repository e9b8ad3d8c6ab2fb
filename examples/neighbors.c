/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph for training, from C: the folder that metadata.yaml describes is preprocessed (once), opened, and an epoch of batches runs over its
 * train set: shuffled members, at most five neighbours of each and three of each of those, features of all of them, labels.
 *
 *     neighbors FOLDER
 */
#include <stdio.h>

#include "grebe/grebe.h"

#define LABELS 1 /* column 1 of the set, after the seeds: int64 */

static grebe_status print_batch(const grebe_graph_batch *batch, grebe_error *err)
{
    grebe_graph_batch_items items;
    grebe_graph_rows degrees;
    int64_t labels[8], n_nodes = 0;
    const int64_t *nodes = grebe_graph_batch_nodes(batch, 0, &n_nodes);
    grebe_status st = grebe_graph_batch_part(batch, 0, &items, err);
    st = st == GREBE_OK ? grebe_graph_batch_column(batch, 0, LABELS, labels, err) : st;
    st = st == GREBE_OK ? grebe_graph_batch_rows(batch, 0, 0, &degrees, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    printf("%lld nodes, %lld edges:", (long long)n_nodes, (long long)grebe_graph_batch_n_edges(batch));
    for (int64_t i = 0; i < items.n_seeds; i++) {
        const int64_t row = items.rows[i];
        const float *degree = (const float *)degrees.data + 2 * row;
        printf(" %lld(club %lld, meets %.0f)", (long long)nodes[row], (long long)labels[i], (double)degree[0]);
    }
    printf("\n");
    return GREBE_OK;
}

static grebe_status run_epoch(const grebe_graph *graph, grebe_error *err)
{
    const int64_t fanouts[] = { 3, 5 };
    const grebe_graph_fetch degrees = { "node", NULL, "degrees", 0 };
    grebe_graph_sampling sampling = GREBE_GRAPH_SAMPLING_INIT;
    grebe_graph_loader_options options = GREBE_GRAPH_LOADER_OPTIONS_INIT;
    grebe_graph_loader *loader = NULL;
    const grebe_graph_batch *batch = NULL;
    sampling.fanouts = fanouts;
    sampling.n_layers = 2;
    options.set = GREBE_GRAPH_TRAIN;
    options.sampling = &sampling;
    options.batch_size = 8;
    options.is_shuffled = true;
    options.seed = 42;
    options.fetches = &degrees;
    options.n_fetches = 1;
    grebe_status st = grebe_graph_loader_new(graph, &options, &loader, err);
    while (st == GREBE_OK) {
        st = grebe_graph_loader_next(loader, &batch, err);
        st = st == GREBE_OK ? print_batch(batch, err) : st;
    }
    grebe_graph_loader_free(loader);
    return st == GREBE_END ? GREBE_OK : st;
}

int main(int argc, char **argv)
{
    grebe_error err = GREBE_ERROR_INIT;
    grebe_context *ctx = NULL;
    grebe_graph *graph = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: neighbors FOLDER\n");
        return 2;
    }
    grebe_status st = grebe_context_new(NULL, &ctx, &err);
    st = st == GREBE_OK ? grebe_graph_preprocess(ctx, argv[1], NULL, NULL, &err) : st;
    st = st == GREBE_OK ? grebe_graph_open(ctx, argv[1], &graph, &err) : st;
    st = st == GREBE_OK ? run_epoch(graph, &err) : st;
    grebe_graph_close(graph);
    grebe_context_free(ctx);
    if (st != GREBE_OK) {
        fprintf(stderr, "neighbors: %s\n", err.message);
        return 1;
    }
    return 0;
}
