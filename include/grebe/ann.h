/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_H
#define GREBE_ANN_H

/*
 * Benchmark data sets for nearest-neighbour search: base vectors, queries, and the true neighbours of each query, in
 * the HDF5 files of VSAG and of ann-benchmarks (docs/format/ann.md). Open, check, write; make one from vectors.
 */

#include "grebe/context.h"
#include "grebe/ann_index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data sets ---- */

typedef enum grebe_ann_layout {
    GREBE_ANN_DENSE = 0,
    GREBE_ANN_SPARSE = 1, /**< terms with values: VSAG's packed records */
    GREBE_ANN_MULTI = 2,  /**< documents of several vectors, compared by MaxSim */
    GREBE_ANN_SETS = 3    /**< sets of items: ann-benchmarks' jaccard files */
} grebe_ann_layout;

/** What a reader accepts. */
typedef enum grebe_ann_profile {
    GREBE_ANN_READ = 0, /**< everything that has one meaning */
    GREBE_ANN_VSAG = 1, /**< what VSAG's eval_performance loads, and evaluates rightly */
    GREBE_ANN_ANNB = 2  /**< what ann-benchmarks reads */
} grebe_ann_profile;

typedef enum grebe_ann_level { GREBE_ANN_NOTICE = 0, GREBE_ANN_WARNING = 1, GREBE_ANN_ERROR = 2 } grebe_ann_level;

/**
 * Something that was found. The texts are valid during the call.
 *
 * @param place   "neighbors[3,0]", "attribute distance", "train", "file".
 * @param message What is wrong, with what was expected and what was found.
 */
typedef void (*grebe_ann_finding_fn)(void *finding_ctx, grebe_ann_level level, const char *place, const char *message);

/** One side: base vectors or queries. What a layout does not have is NULL. */
typedef struct grebe_ann_side {
    uint64_t n;             /**< vectors; MULTI: documents; SETS: sets */
    uint32_t dim;           /**< DENSE, MULTI: components (bits); SPARSE: most terms of a row */
    grebe_elem elem;        /**< DENSE */
    const void *vectors;    /**< DENSE: shape [n][dim], packed; MULTI: float32 [offsets[n]][dim] */
    const int64_t *offsets; /**< SPARSE, SETS, MULTI: shape [n + 1], from 0 */
    const uint32_t *terms;  /**< SPARSE, SETS: ascending in a row */
    const float *values;    /**< SPARSE */
    const int64_t *token_offsets; /**< SPARSE, optional: shape [n + 1] */
    const uint32_t *tokens;
    const int64_t *labels;  /**< shape [n]; of both sides or of none */
} grebe_ann_side;

typedef struct grebe_ann_data grebe_ann_data;

/** A whole data set. */
typedef struct grebe_ann_content {
    uint32_t struct_size;
    grebe_ann_layout layout;
    const char *distance; /**< the file's word: euclidean, ip, angular, hamming, jaccard */
    grebe_ann_side base, queries;
    uint64_t k;               /**< columns of the truth */
    const int64_t *neighbors; /**< shape [queries.n][k]: rows of base, nearest first; -1 where there are fewer */
    const float *distances;   /**< shape [queries.n][k], ascending: L2, 1 - ip, 1 - cos, share of bits, 1 - jaccard */
    const float *valid_ratios; /**< share of base rows by label; shape [n_valid_ratios] */
    uint64_t n_valid_ratios;
    bool is_int8_negated_ip;  /**< distances of int8 inner products are -ip, as VSAG's code has them */
    bool is_maxsim_plain_l2;  /**< MULTI euclidean: distances are summed, not their squares */
    /** DENSE with base.vectors NULL: they are not in memory but read from here by rows, as often as they are needed. Set by
     *  grebe_ann_content_of() for data that was read or made with is_base_by_rows. Borrowed; one thread at a time. */
    const grebe_ann_data *base_rows_of;
} grebe_ann_content;
#define GREBE_ANN_SIDE_INIT                                           \
    {                                                                 \
        0, 0, GREBE_ELEM_F32, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
    }
#define GREBE_ANN_CONTENT_INIT                                                                                     \
    {                                                                                                              \
        sizeof(grebe_ann_content), GREBE_ANN_DENSE, NULL, GREBE_ANN_SIDE_INIT, GREBE_ANN_SIDE_INIT, 0, NULL, NULL, \
            NULL, 0, false, false, NULL                                                                            \
    }

/** Options of opening and checking. Fields beyond struct_size take their defaults. */
typedef struct grebe_ann_read_options {
    uint32_t struct_size;
    grebe_ann_profile profile;
    bool allow_padding;           /**< -1 at the end of a row of neighbours is a warning, not an error */
    bool is_without_vectors;      /**< truth and labels only, where rows can be counted without them */
    grebe_ann_finding_fn finding; /**< NULL: findings are not wanted */
    void *finding_ctx;
    const grebe_call_options *call; /**< Borrowed for the call; NULL: defaults */
    bool is_base_by_rows; /**< DENSE: base vectors above half of the call's memory limit stay in the file; see grebe_ann_content */
} grebe_ann_read_options;
#define GREBE_ANN_READ_OPTIONS_INIT                                                           \
    {                                                                                         \
        sizeof(grebe_ann_read_options), GREBE_ANN_READ, false, false, NULL, NULL, NULL, false \
    }

/**
 * Read a data set into memory: float16, bfloat16, float64 and wider integers become float32.
 *
 * @param options NULL: defaults. Findings are notices and warnings; what keeps a file from being read is the error.
 * @param out     Owned by the caller, grebe_ann_close(); NULL on failure.
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT naming data set, row, expected and found; GREBE_EUNSUPPORTED (a
 *         filter that is not there); GREBE_ELIMIT (memory); GREBE_ENOMEM; GREBE_EIO;
 *         GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_open(grebe_context *ctx, const char *path,
                                                       const grebe_ann_read_options *options, grebe_ann_data **out,
                                                       grebe_error *err);
/** @param data NULL is accepted. */
GREBE_API void grebe_ann_close(grebe_ann_data *data);
/**
 * What is in it.
 *
 * @param out Written up to out->struct_size; pointers are borrowed until grebe_ann_close().
 * @return GREBE_OK; GREBE_EINVAL (struct_size).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_content_of(const grebe_ann_data *data, grebe_ann_content *out,
                                                             grebe_error *err);

/**
 * Check a file by every rule of docs/format/ann.md: what keeps it from loading, and what makes its content wrong
 * (distances of another convention are named; the truth is recomputed for some queries).
 *
 * @param n_errors Findings of level GREBE_ANN_ERROR.
 * @return GREBE_OK, also with findings; GREBE_ENOTFOUND; GREBE_EIO; GREBE_ENOMEM; GREBE_ELIMIT; GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_check(grebe_context *ctx, const char *path,
                                                        const grebe_ann_read_options *options, uint64_t *n_errors,
                                                        grebe_error *err);

/**
 * Write a data set as VSAG lays it out (bits and sets as ann-benchmarks does). Equal content gives equal bytes; a
 * file of that name is replaced when everything is written.
 *
 * @param content Borrowed for the call. k, neighbors and distances must be set.
 * @param call    NULL: defaults.
 * @return GREBE_OK; GREBE_EINVAL (something is missing; ids of a sparse row that do not ascend; neighbours of no
 *         row; NaN or infinite numbers); GREBE_EUNSUPPORTED;
 *         GREBE_ELIMIT (no space); GREBE_EIO; GREBE_ENOMEM; GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_write(grebe_context *ctx, const char *path,
                                                        const grebe_ann_content *content, bool is_durable,
                                                        const grebe_call_options *call, grebe_error *err);

/* ---- making them ---- */

/** What becomes of queries with fewer matching base rows than k. */
typedef enum grebe_ann_short {
    GREBE_ANN_SHORT_SHRINK = 0, /**< k is lowered to the fewest (at least 1); told as a notice */
    GREBE_ANN_SHORT_PAD = 1,    /**< rows end in -1, which VSAG refuses */
    GREBE_ANN_SHORT_FAIL = 2
} grebe_ann_short;

/** How a data set is made. Names are sources (grebe/source.h), csr files or files of documents. */
typedef struct grebe_ann_make_options {
    uint32_t struct_size;
    const char *base;         /**< vectors */
    const char *queries;      /**< NULL: `split` rows of base */
    uint64_t split;           /**< that many rows are drawn from base by `seed` and are no longer in it */
    uint64_t seed;
    const char *column;       /**< of vectors; NULL: the only one */
    const char *metric;       /**< euclidean, ip, angular, hamming; NULL: ip for sparse rows, hamming for bits, else an error */
    uint64_t k;               /**< neighbours of a query; 0: 100, or all rows when there are fewer */
    const char *base_labels;  /**< a source with one column of integers; NULL: none */
    const char *query_labels; /**< with a split they come from base_labels */
    bool is_filtered;         /**< only rows with the query's label are its neighbours */
    grebe_ann_short short_rows;
    bool is_uint8_kept;       /**< uint8 stays; otherwise it becomes float32 */
    bool is_int8_negated_ip, is_maxsim_plain_l2; /**< as in grebe_ann_content */
    grebe_ann_finding_fn finding; /**< NULL: notices are not wanted */
    void *finding_ctx;
    const grebe_call_options *call;
    bool is_base_by_rows; /**< dense base vectors above half of the call's memory limit stay in their source, which is
                               read again when they are needed; see grebe_ann_content */
    /** A source of lists of ids: the neighbours that another program found, which are kept (-1 ends a short row). Distances
     *  are computed anew. Findings are those of grebe_ann_check(); errors among them do not fail the call. With queries
     *  alone. NULL: neighbours are searched. */
    const char *neighbors;
    const char *distances; /**< that program's distances: findings name their convention; NULL: those in a .gt or .knn file */
} grebe_ann_make_options;
#define GREBE_ANN_MAKE_OPTIONS_INIT                                                                              \
    {                                                                                                            \
        sizeof(grebe_ann_make_options), NULL, NULL, 0, 1, NULL, NULL, 0, NULL, NULL, false,                      \
            GREBE_ANN_SHORT_SHRINK, false, false, false, NULL, NULL, NULL, false, NULL, NULL                     \
    }

/**
 * Read vectors, and find the true neighbours of the queries: exact in float64, ties to the lower row.
 *
 * @param out Owned by the caller, grebe_ann_close(); write it with grebe_ann_write() or grebe_ann_export().
 * @return GREBE_OK; GREBE_EINVAL (options; k above the number of rows; a query without any match); GREBE_ESCHEMA (dimensions,
 *         types, labels, a NaN or infinite component); what reading gives; GREBE_ENOMEM; GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_make(grebe_context *ctx, const grebe_ann_make_options *options,
                                                       grebe_ann_data **out, grebe_error *err);

/**
 * Find the true neighbours of a data set that was read anew: neighbors and distances are replaced. Pointers of
 * grebe_ann_content_of() to the old ones stay valid.
 *
 * @param options k, is_filtered, short_rows, finding and call count; NULL: defaults.
 * @return As grebe_ann_make(); GREBE_EINVAL also when the data set was read without vectors.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_refill(grebe_ann_data *data, const grebe_ann_make_options *options,
                                                         grebe_error *err);

/**
 * True neighbours of vectors in memory; see grebe_ann_make().
 *
 * @param content   layout, distance, base and queries count; labels when is_filtered. Borrowed.
 * @param ids       Written, shape [queries.n][k]; -1 behind the matches of a query that has fewer than k.
 * @param distances Written, shape [queries.n][k]; +inf there.
 * @return GREBE_OK; GREBE_EINVAL (k, layout, distance, terms or offsets out of order, NaN or infinite numbers);
 *         GREBE_ESCHEMA; GREBE_ENOMEM; GREBE_ECANCELLED.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_groundtruth(grebe_context *ctx, const grebe_ann_content *content,
                                                              uint64_t k, bool is_filtered, const grebe_call_options *call,
                                                              int64_t *ids, float *distances, grebe_error *err);

/** What grebe_ann_export() writes. */
typedef enum grebe_ann_part {
    GREBE_ANN_PART_BASE = 0,
    GREBE_ANN_PART_QUERIES = 1,
    GREBE_ANN_PART_NEIGHBORS = 2, /**< .npy, .ivecs, .ibin; .gt and .knn have the distances behind the ids */
    GREBE_ANN_PART_DISTANCES = 3, /**< .npy, .fvecs, .fbin */
    GREBE_ANN_PART_BASE_LABELS = 4,
    GREBE_ANN_PART_QUERY_LABELS = 5 /**< .npy */
} grebe_ann_part;

/**
 * Write a part of a data set as the kind of file that the name ends in: dense rows as .npy, .fvecs, .bvecs, .fbin,
 * .u8bin, .i8bin, sparse rows as .csr, documents as .multi. Values are written as they are, never converted.
 *
 * @return GREBE_OK; GREBE_EINVAL (the data set has no such part); GREBE_ESCHEMA (the kind of file cannot hold it);
 *         GREBE_EUNSUPPORTED (the ending); GREBE_EIO; GREBE_ELIMIT (no space; ids beyond 32 bits); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_ann_export(grebe_context *ctx, const grebe_ann_content *content,
                                                         grebe_ann_part part, const char *path, bool is_durable,
                                                         grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
