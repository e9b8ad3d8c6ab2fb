/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_SAMPLE_H
#define GREBE_GRAPH_SAMPLE_H

/*
 * Batches of a graph for training: neighbours of seeds are sampled hop by hop, nodes get rows, features come along
 * (docs/internals/graph_sampling.md). What is drawn is a function of the seed and of the place alone, not of threads
 * (docs/format/graph_random.md).
 */

#include "grebe/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** All neighbours, in the place of a number of them. */
#define GREBE_GRAPH_ALL (-1)

typedef enum grebe_graph_method {
    GREBE_GRAPH_NEIGHBORS = 0, /**< each node draws for itself */
    GREBE_GRAPH_LAYER = 1      /**< a random number for each source, the smallest are taken: fewer nodes (LABOR) */
} grebe_graph_method;

/** How neighbours are sampled. Fields beyond struct_size take their defaults. Everything is borrowed for the call. */
typedef struct grebe_graph_sampling {
    uint32_t struct_size;
    grebe_graph_method method;
    /** Neighbours of each node: [n_layers][n_fanouts], the outermost layer first; at least 0, or GREBE_GRAPH_ALL. */
    const int64_t *fanouts;
    size_t n_layers;
    size_t n_fanouts;         /**< 0 or 1: for all types of edges together; else one for each type */
    bool with_replacement;
    bool keeps_duplicates;    /**< a node that is reached again gets another row; always so with times */
    const char *weights;      /**< attribute of edges: weights or a mask; NULL: all alike */
    bool weights_unchecked;   /**< do not look for weights that are negative, infinite or NaN */
    const char *node_times, *edge_times; /**< attributes (int64): only what is older than the seed; NULL: of any time */
    bool has_window;
    int64_t window;           /**< and younger than the time of the seed less this */
    /** GREBE_GRAPH_LAYER: all layers have the same random numbers, so that they pick much the same nodes. */
    bool layer_dependency;
    /**
     * GREBE_GRAPH_LAYER: so many batches in succession (of a loader; of a sampler: runs whose seeds are consecutive numbers) go over from
     * the random numbers of one seed to those of another, so that each picks nearly what the one before has picked. 0, 1: none does.
     */
    uint64_t batch_dependency;
} grebe_graph_sampling;
#define GREBE_GRAPH_SAMPLING_INIT                                                                                                \
    {                                                                                                                             \
        sizeof(grebe_graph_sampling), GREBE_GRAPH_NEIGHBORS, 0, 0, 0, false, false, 0, false, 0, 0, false, 0, false, 0            \
    }

/** Seeds of one type. */
typedef struct grebe_graph_seeds {
    const char *type;     /**< of nodes; NULL in a graph without types */
    const int64_t *ids;   /**< shape [n], counted from 0 in the type */
    int64_t n;
    const int64_t *times; /**< shape [n]; NULL: none */
} grebe_graph_seeds;

/** What was sampled; valid until the next call to what gave it, or kept (grebe_graph_batch_keep()). */
typedef struct grebe_graph_batch grebe_graph_batch;

typedef struct grebe_graph_sampler grebe_graph_sampler;

/**
 * What samples batches of a graph in one way.
 *
 * @param graph    Borrowed until grebe_graph_sampler_free().
 * @param sampling Borrowed for the call.
 * @param threads  For one batch; 0: the context's.
 * @param out      Owned, grebe_graph_sampler_free() before the graph is closed. Not for several threads at a time.
 * @param err      Filled on failure. NULL accepted.
 * @return GREBE_OK; GREBE_EINVAL (options, numbers of neighbours that do not fit the graph, weights); GREBE_ENOTFOUND (attribute);
 *         GREBE_ESCHEMA; GREBE_ENOMEM.
 *
 * Memory: 4 bytes for each node of the graph. Weights are read once, where they are checked.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_sampler_new(const grebe_graph *graph, const grebe_graph_sampling *sampling,
                                                               uint32_t threads, grebe_graph_sampler **out, grebe_error *err);
/** NULL accepted. */
GREBE_API void grebe_graph_sampler_free(grebe_graph_sampler *sampler);
/**
 * Sample one batch.
 *
 * @param seeds   Shape [n_seeds], borrowed for the call; of one type there may be several. A seed that is given twice has two rows.
 * @param seed    Of what is drawn: the same seeds and seed give the same batch, whatever the threads.
 * @param out     Borrowed until the next call, or kept (grebe_graph_batch_keep()). NULL on failure.
 * @param err     Filled on failure. NULL accepted.
 * @return GREBE_OK; GREBE_EINVAL names a seed that is no node (or times that only some seeds of a type have, or none where they are
 *         needed); GREBE_ECORRUPT; GREBE_ELIMIT; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_sampler_run(grebe_graph_sampler *sampler, const grebe_graph_seeds *seeds,
                                                               size_t n_seeds, uint64_t seed, const grebe_graph_batch **out,
                                                               grebe_error *err);

/**
 * Keep a batch beyond the next call to what gave it, which then makes the next in other memory. Its arrays are the keeper's alone, who may
 * write to them.
 *
 * @param batch The one that the last call gave, which was not kept yet; not to be used afterwards.
 * @param out   Owned, grebe_graph_batch_free() before its sampler or loader is freed. NULL on error, and batch is as it was.
 * @return GREBE_OK; GREBE_EINVAL (there is no batch, or it was kept); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_batch_keep(const grebe_graph_batch *batch, grebe_graph_batch **out, grebe_error *err);
/**
 * Give a kept batch back; some of them stay as memory for later batches.
 *
 * @param batch Freed. NULL accepted.
 *
 * Threads: any, also while its sampler or loader is in use by another.
 */
GREBE_API void grebe_graph_batch_free(grebe_graph_batch *batch);

/* ---- what is in a batch ---- */

/** @return Layers of edges. */
GREBE_API size_t grebe_graph_batch_n_layers(const grebe_graph_batch *batch);
/** @return Edges of all layers. */
GREBE_API int64_t grebe_graph_batch_n_edges(const grebe_graph_batch *batch);
/** Nodes of a type by row: ids counted from 0 in the type, seeds first. @return Shape [*n], borrowed; NULL beyond the last type. */
GREBE_API const int64_t *grebe_graph_batch_nodes(const grebe_graph_batch *batch, size_t node_type, int64_t *n);
/** @param rows, columns Nodes that a layer comes from and leads to: the first of those rows. Layer 0 is the outermost. */
GREBE_API void grebe_graph_batch_counts(const grebe_graph_batch *batch, size_t layer, size_t node_type, int64_t *rows, int64_t *columns);

/** Edges of one type in one layer. */
typedef struct grebe_graph_relation {
    int64_t n_columns, n_edges;
    const int64_t *indptr;  /**< shape [n_columns + 1] */
    const int64_t *indices; /**< shape [n_edges]: rows of the source type */
    const int64_t *edges;   /**< shape [n_edges]: rows of the edge file of this type; without kept ids positions in the graph */
} grebe_graph_relation;
/** What a layer has of one type; zeroed beyond the last. Arrays are borrowed from the batch. */
GREBE_API void grebe_graph_batch_relation(const grebe_graph_batch *batch, size_t layer, size_t edge_type, grebe_graph_relation *out);

/** All layers of one type of edges, hop by hop from the seeds, as PyG has them; a hop samples the nodes of earlier hops once more. */
typedef struct grebe_graph_edge_index {
    int64_t n_edges;
    const int64_t *sources, *targets; /**< shape [n_edges]: rows */
    const int64_t *edges;             /**< shape [n_edges]: "e_id" */
    const int64_t *per_hop;           /**< shape [n_layers]: "num_sampled_edges" */
} grebe_graph_edge_index;
/** @param out Borrowed from the batch until the next call of this function on it. @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_batch_edge_index(const grebe_graph_batch *batch, size_t edge_type,
                                                                    grebe_graph_edge_index *out, grebe_error *err);
/** @param per_hop Written, shape [n_layers + 1]: "num_sampled_nodes", the seeds first. */
GREBE_API void grebe_graph_batch_nodes_per_hop(const grebe_graph_batch *batch, size_t node_type, int64_t *per_hop);

/* ---- epochs of batches ---- */

/** Rows that batches bring along. */
typedef struct grebe_graph_fetch {
    const char *domain; /**< "node" or "edge" */
    const char *type;   /**< NULL: none */
    const char *name;
    uint64_t cache_bytes; /**< rows that were read are kept in so much memory; 0: none */
} grebe_graph_fetch;

typedef struct grebe_graph_loader_options {
    uint32_t struct_size;
    size_t task;
    grebe_graph_set set;
    const grebe_graph_sampling *sampling; /**< NULL: nothing is sampled; batches without fetches then have no nodes */
    int64_t batch_size;
    bool is_shuffled, drop_last;
    uint64_t seed;                  /**< of orders and of what is drawn */
    /** Several processes that share an epoch; n_replicas 0: one alone. */
    int64_t n_replicas, rank;
    bool drop_uneven;
    int64_t n_workers, worker;
    int64_t negative_ratio;         /**< drawn for each pair of nodes; 0: none */
    bool excludes_seeds;            /**< seed edges are left out of what is sampled */
    bool excludes_reverse;          /**< those of the other direction too; in a graph with types `reverse` says which types those are */
    const char *const *reverse;     /**< shape [2 * n_reverse]: types of edges, each followed by that of the other direction */
    size_t n_reverse;
    const grebe_graph_fetch *fetches;
    size_t n_fetches;
    /**
     * Batches made before they are asked for, at most 256; 0: as many as there are threads beside the caller's. Each takes the memory of a
     * batch; working memory, 4 bytes for each node of the graph, is there for each that is being made at a time.
     */
    uint32_t ahead;
    uint32_t threads;               /**< 0: the context's */
} grebe_graph_loader_options;
#define GREBE_GRAPH_LOADER_OPTIONS_INIT                                                                                           \
    {                                                                                                                             \
        sizeof(grebe_graph_loader_options), 0, GREBE_GRAPH_TRAIN, 0, 1, false, false, 0, 0, 0, false, 0, 0, 0, false, false, 0, 0, 0, 0, 0, 0 \
    }

typedef struct grebe_graph_loader grebe_graph_loader;

/**
 * What makes epochs of batches of a set.
 *
 * @param graph   Borrowed until grebe_graph_loader_free().
 * @param options Borrowed for the call.
 * @param out     Owned, grebe_graph_loader_free() before the graph is closed. Not for several threads at a time.
 * @param err     Filled on failure. NULL accepted.
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOTFOUND (set, feature, attribute); GREBE_ESCHEMA (parts that do not go together; rows of an edge
 *         feature in a graph that was preprocessed without original edge ids); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_loader_new(const grebe_graph *graph, const grebe_graph_loader_options *options,
                                                              grebe_graph_loader **out, grebe_error *err);
/** NULL accepted. */
GREBE_API void grebe_graph_loader_free(grebe_graph_loader *loader);
/** @return Batches of an epoch of this process. */
GREBE_API int64_t grebe_graph_loader_n_batches(const grebe_graph_loader *loader);
/**
 * Begin an epoch from its first batch; without this call epochs count from 0, each after the one before has come to its end.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_loader_begin(grebe_graph_loader *loader, uint64_t epoch, grebe_error *err);
/** @return The epoch of the next batch. */
GREBE_API uint64_t grebe_graph_loader_epoch(const grebe_graph_loader *loader);
/**
 * The next batch. Begins the epoch where none is begun.
 *
 * @param out Borrowed until the next call, or kept (grebe_graph_batch_keep()). NULL on failure and at the end.
 * @param err Filled on failure. NULL accepted.
 * @return GREBE_OK; GREBE_END: the epoch is over, and the next call begins the one after it; as grebe_graph_sampler_run(), and the next
 *         call makes the same batch again.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_loader_next(grebe_graph_loader *loader, const grebe_graph_batch **out,
                                                               grebe_error *err);

/** Items of a batch that are of one part (type) of the set. */
typedef struct grebe_graph_batch_items {
    const char *type;         /**< NULL: none */
    int64_t n_items;
    const int64_t *items;     /**< shape [n_items]: their numbers in the part */
    int64_t n_seeds;          /**< positives, then negatives */
    int64_t n_positives;
    int64_t ratio;            /**< negatives of each positive */
    int64_t arity;            /**< nodes of a seed */
    const int64_t *seeds;     /**< shape [n_seeds][arity] */
    const int64_t *rows;      /**< shape [n_seeds][arity]: rows of these nodes in the batch; NULL: nothing is sampled or fetched */
    const int64_t *times;     /**< shape [n_seeds]; NULL: none */
} grebe_graph_batch_items;
/** @param out Its arrays are borrowed from the batch. @return GREBE_OK; GREBE_EINVAL (a batch of no loader, no such part). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_batch_part(const grebe_graph_batch *batch, size_t part, grebe_graph_batch_items *out,
                                                              grebe_error *err);
/** Values of column i of a part. @param dst Shape [n_items][bytes of a row]. @return GREBE_OK; GREBE_EINVAL. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_batch_column(const grebe_graph_batch *batch, size_t part, size_t i, void *dst,
                                                                grebe_error *err);
/** Rows of fetch i: of the nodes of its type, or of the edges of a layer. */
typedef struct grebe_graph_rows {
    const void *data; /**< shape [n][row_bytes] */
    int64_t n;
    size_t row_bytes;
} grebe_graph_rows;
/** @param layer Of an edge feature; else not looked at. @param out Borrowed from the batch. @return GREBE_OK; GREBE_EINVAL. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_batch_rows(const grebe_graph_batch *batch, size_t fetch, size_t layer,
                                                              grebe_graph_rows *out, grebe_error *err);
/** Of a fetch with a cache. */
GREBE_API void grebe_graph_loader_cache_counts(const grebe_graph_loader *loader, size_t fetch, uint64_t *hits, uint64_t *misses,
                                              uint64_t *evictions);

/* ---- single steps ---- */

/**
 * Rows of feature i by id, which may repeat.
 *
 * @param threads 0: the context's.
 * @param dst     Shape [n][bytes of a row].
 * @return GREBE_OK; GREBE_EINVAL names the first id that is none; as grebe_graph_feature_values().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_feature_read(const grebe_graph *graph, size_t i, const int64_t *ids, int64_t n,
                                                                uint32_t threads, void *dst, grebe_error *err);

/**
 * Pairs and, behind them, `ratio` for each with its source and a destination drawn from [0, n_targets).
 *
 * @param pairs Shape [n][2].
 * @param out   Shape [n * (1 + ratio)][2].
 * @return GREBE_OK; GREBE_EINVAL.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_graph_negatives(const int64_t *pairs, int64_t n, int64_t ratio, int64_t n_targets,
                                                             uint64_t seed, int64_t *out, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
