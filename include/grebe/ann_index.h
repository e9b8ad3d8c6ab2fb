/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_INDEX_H
#define GREBE_ANN_INDEX_H

/*
 * Indexes over vectors: exact, graphs, inverted files, sparse terms. Rows come from the caller's memory; a row has a
 * position (0, 1, … in the order added) and an id (int64, unique; the position where none is given).
 *
 * An index is saved as one file, which is mapped when it is opened: a search touches only what it needs. Searches of
 * one index may run on many threads at once; adding, removing and saving need it alone.
 */

#include "grebe/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_ann_index grebe_ann_index;

typedef enum grebe_ann_index_kind {
    GREBE_ANN_INDEX_FLAT = 0,  /**< every row is compared: exact */
    GREBE_ANN_INDEX_HNSW = 1,  /**< a graph over the rows */
    GREBE_ANN_INDEX_GRAPH = 2, /**< a graph walked over small codes, the best ranked again over the rows */
    GREBE_ANN_INDEX_IVF = 3,   /**< lists of rows around centres, plain or as codes */
    GREBE_ANN_INDEX_SPARSE = 4 /**< lists of rows by term, for sparse rows */
} grebe_ann_index_kind;

/** How rows are compared. Smaller is nearer for all of them. */
typedef enum grebe_metric {
    GREBE_METRIC_EUCLIDEAN = 0, /**< sqrt(sum (a-b)^2) */
    GREBE_METRIC_L2 = 1,        /**< sum (a-b)^2, not rooted */
    GREBE_METRIC_IP = 2,        /**< 1 - a.b */
    GREBE_METRIC_ANGULAR = 3,   /**< 1 - a.b / (|a||b|); exactly 1 when a or b is zero */
    GREBE_METRIC_HAMMING = 4,   /**< share of differing bits */
    GREBE_METRIC_JACCARD = 5    /**< 1 - |a and b| / |a or b| of bits; 1 when either is empty */
} grebe_metric;

/** How a component is stored. */
typedef enum grebe_elem {
    GREBE_ELEM_F32 = 0,
    GREBE_ELEM_F16 = 1,
    GREBE_ELEM_BF16 = 2,
    GREBE_ELEM_I8 = 3,
    GREBE_ELEM_U8 = 4,
    GREBE_ELEM_BIT = 5, /**< packed, most significant bit first */
    GREBE_ELEM_F64 = 6  /**< accepted and kept as float32 */
} grebe_elem;

/** @return GREBE_OK; GREBE_EINVAL names the legal ones. "cosine" is angular, "sqeuclidean" l2, "dot" ip. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_metric_parse(const char *name, grebe_metric *out, grebe_error *err);
/** @return A static name; NULL for an unknown number. */
GREBE_API const char *grebe_metric_name(grebe_metric metric);
/** @param name "flat", "hnsw", "graph", "ivf" or "sparse". @return GREBE_OK; GREBE_EINVAL names the legal ones. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_kind_parse(const char *name, grebe_ann_index_kind *out,
                                                                   grebe_error *err);
/** @return A static name; NULL for an unknown number. */
GREBE_API const char *grebe_ann_index_kind_name(grebe_ann_index_kind kind);

/** Rows of the caller, borrowed for the call: dense, or (offsets not NULL) sparse. */
typedef struct grebe_vectors {
    uint32_t struct_size;
    grebe_elem elem;
    uint64_t rows;
    uint32_t dim;      /**< components; bits for GREBE_ELEM_BIT; of no meaning for sparse rows */
    uint64_t stride;   /**< bytes from row to row; 0: packed */
    const void *data;  /**< any alignment */

    const int64_t *offsets; /**< shape [rows + 1], not descending; row i has terms [offsets[i], offsets[i+1]) */
    const uint32_t *terms;  /**< any order within a row, each once */
    const float *values;
} grebe_vectors;
#define GREBE_VECTORS_INIT                                                     \
    {                                                                          \
        sizeof(grebe_vectors), GREBE_ELEM_F32, 0, 0, 0, NULL, NULL, NULL, NULL \
    }

/**
 * Make an empty index.
 *
 * @param ctx     Borrowed; must outlive the index.
 * @param elem    How rows are kept for ranking; GREBE_ELEM_F32 for sparse rows.
 * @param params  "name=value", shape [n_params]; which there are, docs/guide/ann.md and grebe-ann(1) say for each
 *                kind ("M=16", "quant=sq8", …). Borrowed for the call.
 * @param threads Of building, unless a call says otherwise; 0: the context's.
 * @param out     Owned by the caller, grebe_ann_index_close().
 * @return GREBE_OK; GREBE_EINVAL (a parameter, a metric that the kind or the element type does not have); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_new(grebe_context *ctx, grebe_ann_index_kind kind,
                                                            grebe_metric metric, grebe_elem elem,
                                                            const char *const *params, size_t n_params,
                                                            uint32_t threads, grebe_ann_index **out, grebe_error *err);

/** @param index NULL is accepted. */
GREBE_API void grebe_ann_index_close(grebe_ann_index *index);

/**
 * Add rows. The first call fixes the number of components and trains what has to be trained (centres, codes), so it
 * should bring many rows. After a failure the index is as it was.
 *
 * The result is the same for any number of threads.
 *
 * @param ids     Shape [rows], none of them there yet and none twice; NULL: the positions.
 * @param options May be NULL. Cancel, progress (phase "add").
 * @return GREBE_OK; GREBE_EINVAL (components, a NaN or infinite component: row and component are named; under ip and
 *         angular a length beyond float32's squares, 1.8e19);
 *         GREBE_EEXISTS (an id); GREBE_ELIMIT (above 2^31 - 1 rows); GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_add(grebe_ann_index *index, const grebe_vectors *rows,
                                                            const int64_t *ids, const grebe_call_options *options,
                                                            grebe_error *err);

/**
 * Make rows unfindable. Their positions are not used again; their memory is, when the index is built anew.
 *
 * @param n_removed How many of the ids were there; may be NULL. Ids that are not there are passed over.
 * @return GREBE_OK; GREBE_ECORRUPT (ids of a file); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_remove(grebe_ann_index *index, const int64_t *ids, size_t n,
                                                               size_t *n_removed, grebe_error *err);

/** How to search. Fields beyond struct_size take their defaults. */
typedef struct grebe_ann_index_search_options {
    uint32_t struct_size;
    const char *const *params; /**< "ef=64", "nprobe=8", …; shape [n_params] */
    size_t n_params;

    /** Only rows whose bit (position i: bit i % 64 of word i / 64) is set; NULL: all. Shape [ceil(allow_bits / 64)];
     *  positions from allow_bits on are not allowed. */
    const uint64_t *allow;
    uint64_t allow_bits;

    /** Only these ids; shape [n_ids]; NULL: all. Unknown ones are passed over. Not together with allow. */
    const int64_t *ids;
    size_t n_ids;

    grebe_call_options call; /**< threads share the queries */
} grebe_ann_index_search_options;
#define GREBE_ANN_INDEX_SEARCH_OPTIONS_INIT                                                  \
    {                                                                                    \
        sizeof(grebe_ann_index_search_options), NULL, 0, NULL, 0, NULL, 0, GREBE_CALL_OPTIONS_INIT \
    }

/**
 * The k nearest rows of each query, nearest first, equal distances by the row added first. What is found does not
 * depend on threads or on how many queries a call has.
 *
 * @param ids       Shape [queries->rows][k]; -1 behind the last row that was found.
 * @param distances Shape [queries->rows][k] as the metric says; +inf behind the last.
 * @return GREBE_OK; GREBE_EINVAL (components, NaN or infinite, a parameter); GREBE_ECORRUPT (of a file);
 *         GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_search(grebe_ann_index *index, const grebe_vectors *queries,
                                                               size_t k, const grebe_ann_index_search_options *options,
                                                               int64_t *ids, float *distances, grebe_error *err);

/** Rows within a radius, of several queries: of query i those from offsets[i] to offsets[i + 1]. */
typedef struct grebe_ann_index_range {
    uint64_t queries;
    const int64_t *offsets; /**< shape [queries + 1] */
    const int64_t *ids;
    const float *distances; /**< ascending within a query */
    void *owner;
} grebe_ann_index_range;

/**
 * Every row with a distance up to and with `radius` (approximate kinds may miss some).
 *
 * @param out Owned; grebe_ann_index_range_free(). Zeroed after a failure.
 * @return As grebe_ann_index_search(); GREBE_EUNSUPPORTED when the kind has no such search.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_range_search(grebe_ann_index *index,
                                                                     const grebe_vectors *queries, float radius,
                                                                     const grebe_ann_index_search_options *options,
                                                                     grebe_ann_index_range *out, grebe_error *err);
/** Free what a range search gave; idempotent. */
GREBE_API void grebe_ann_index_range_free(grebe_ann_index_range *range);

/**
 * Save as one file with checksums. It appears whole or not at all; an older file of that name is replaced.
 * @return GREBE_OK; GREBE_EIO (err->sys is the errno); GREBE_ELIMIT (full disk); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_save(grebe_ann_index *index, const char *path, bool durable,
                                                             grebe_error *err);

/**
 * Open a saved index: the file is mapped, and must not be changed in place meanwhile.
 *
 * @param deep Verify every checksum first (small files are always verified whole).
 * @param out  Owned by the caller, grebe_ann_index_close(); NULL on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT; GREBE_EUNSUPPORTED (made by a later version); GREBE_EIO;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_open(grebe_context *ctx, const char *path, bool deep,
                                                             grebe_ann_index **out, grebe_error *err);

typedef struct grebe_ann_index_stats {
    uint32_t struct_size;
    grebe_ann_index_kind kind;
    grebe_metric metric;
    grebe_elem elem;
    uint32_t dim;          /**< 0 until the first rows; sparse: 0 */
    uint64_t rows;         /**< that can be found */
    uint64_t removed;
    uint64_t bytes_vectors, bytes_codes, bytes_links, bytes_other;
} grebe_ann_index_stats;
#define GREBE_ANN_INDEX_STATS_INIT                                                                                \
    {                                                                                                             \
        sizeof(grebe_ann_index_stats), GREBE_ANN_INDEX_FLAT, GREBE_METRIC_L2, GREBE_ELEM_F32, 0, 0, 0, 0, 0, 0, 0 \
    }
/** Kind, rows and bytes. @return GREBE_OK; GREBE_EINVAL (struct_size). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_index_get_stats(const grebe_ann_index *index,
                                                                  grebe_ann_index_stats *out, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
