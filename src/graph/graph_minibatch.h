/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_MINIBATCH_H
#define GREBE_GRAPH_GRAPH_MINIBATCH_H

/* From items to what a training step needs: seeds, negatives, sampled layers, rows of features. */

#include "graph/graph_batch.h"
#include "graph/graph_items.h"
#include "graph/graph_rows.h"

/** Rows that a batch brings along. */
struct graph_fetch {
    const struct tensor *values;
    bool is_edge;                   /* of the edges of every layer; else of the nodes of the outermost */
    size_t type;                    /* of nodes or edges */
    bool by_page;                   /* a mapped file that may not be in memory */
    struct graph_row_cache *cache;  /* NULL: none; used from one thread, when the batch is handed out */
};

/** What is done with items; borrowed. */
struct graph_recipe {
    const struct graph_csc *g;
    const struct graph_items *items;
    struct graph_hops hops;        /* hop.key is not looked at */
    uint64_t seed;
    int64_t negative_ratio;        /* 0: none are drawn */
    bool excludes_seeds;           /* seed edges are left out of the layers */
    bool excludes_reverse;         /* and those of the other direction: */
    const size_t *reverse_types;   /* by type of edge: that of the other direction, SIZE_MAX: none; NULL in graphs without types */
    const struct graph_fetch *fetches;
    size_t n_fetches;
};

/** Fetched rows; one entry for each layer of edges. */
struct graph_rows {
    unsigned char *bytes;
    int64_t n;
    size_t row_bytes, capacity;
};

/** A batch; keeps its memory from one to the next. */
struct graph_minibatch {
    const struct graph_recipe *recipe;
    int64_t index;
    struct graph_item_batch items;
    struct graph_seeds *seeds;       /* by part */
    struct graph_array *compacted;   /* by part: rows of the seeds, shape as theirs; of node seeds too */
    struct graph_array *times;       /* by part; empty without a column "timestamp" */
    struct graph_batch *graph;       /* without nodes where nothing is sampled or fetched */
    struct graph_scratch *scratch;   /* owned; NULL: none yet. Needed while it is made, and then may serve another batch */
    struct graph_rows *fetched;      /* shape [n_fetches][max(n_layers, 1)] */
    struct graph_array columns[3];   /* working memory */
};

/** Types of nodes that the seeds of a part are of, "a", "a:r:b", "a:b:c"; arity at most GRAPH_ARITY_MAX. */
enum { GRAPH_ARITY_MAX = 64 };
grebe_status graph_seed_types(const struct graph_csc *g, const char *type, int64_t arity, size_t *types, grebe_error *err);

/** Whether the items have what is asked of them, which is known before the first batch. GREBE_ESCHEMA, GREBE_EINVAL. */
grebe_status graph_recipe_check(const struct graph_recipe *r, grebe_error *err);
grebe_status graph_minibatch_new(const struct graph_recipe *recipe, struct graph_minibatch **out, grebe_error *err);
void graph_minibatch_free(struct graph_minibatch *m); /* NULL accepted */
/** Whether batches have nodes; else they are items and seeds alone, and need no working memory of sampling. */
static inline bool graph_recipe_has_nodes(const struct graph_recipe *r) { return r->hops.n_layers > 0 || r->n_fetches > 0; }
/**
 * @param epoch    The batch is a function of recipe, order, number of the epoch and of the batch.
 * @param threads  For this batch alone.
 */
grebe_status graph_minibatch_make(struct graph_minibatch *m, const struct graph_epoch *e, uint64_t epoch, int64_t index, uint32_t threads,
                                  grebe_error *err);
/** Rows of the fetches with a cache. */
grebe_status graph_minibatch_fetch_cached(struct graph_minibatch *m, uint32_t threads, grebe_error *err);

/** All layers of one type of edges as PyG has them: hop by hop from the seeds. */
struct graph_edge_index {
    struct graph_array sources, targets; /* rows of the nodes */
    struct graph_array edges;            /* original ids */
    struct graph_array per_hop;          /* shape [n_layers]: edges */
};
grebe_status graph_edge_index_of(const struct graph_batch *b, size_t type, struct graph_edge_index *out, grebe_error *err);
/** Nodes of a type that each hop added, the seeds first. per_hop: shape [n_layers + 1]. */
void graph_nodes_per_hop(const struct graph_batch *b, size_t type, int64_t *per_hop);
void graph_edge_index_release(grebe_context *ctx, struct graph_edge_index *x);

#endif
