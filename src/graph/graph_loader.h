/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_LOADER_H
#define GREBE_GRAPH_GRAPH_LOADER_H

/*
 * Epochs of batches. Some are made ahead on the context's threads, each in memory of its own; they are handed out in order, and are
 * the same for any number of threads and any number made ahead.
 */

#include "graph/graph_minibatch.h"

struct graph_loader;

struct graph_loading {
    struct graph_share share;
    bool is_shuffled;
    uint32_t threads; /* at least 1 */
    uint32_t ahead;   /* batches made before they are asked for; 0: as many as there are threads beside the caller's */
};

/** @param recipe Borrowed until graph_loader_free(), with all that it names. Its seed is that of the orders too. */
grebe_status graph_loader_new(const struct graph_recipe *recipe, const struct graph_loading *loading, struct graph_loader **out,
                              grebe_error *err);
void graph_loader_free(struct graph_loader *l); /* NULL accepted */
/** Batches of an epoch of this process. */
int64_t graph_loader_count(const struct graph_loader *l);
/** The epoch that the next batch is of: its first. What was made ahead is dropped. */
grebe_status graph_loader_begin(struct graph_loader *l, uint64_t epoch, grebe_error *err);
uint64_t graph_loader_epoch(const struct graph_loader *l);
/**
 * Take the batch that graph_loader_next() gave out of the loader, which makes others in its place; once a batch.
 * graph_loader_give() gives it back, from any thread, before graph_loader_free().
 */
void graph_loader_take(struct graph_loader *l, const struct graph_minibatch *m);
void graph_loader_give(struct graph_loader *l, struct graph_minibatch *m);
/**
 * The next batch, valid until the next call, or until it is given back when it was taken. Begins the epoch where none is begun.
 *
 * @return GREBE_OK; GREBE_END: the epoch ends, and the number of the next is one more; a failure of the batch, which the next call makes again.
 */
grebe_status graph_loader_next(struct graph_loader *l, struct graph_minibatch **out, grebe_error *err);

#endif
