/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_TRUTH_INTERNAL_H
#define GREBE_ANN_ANN_TRUTH_INTERNAL_H

/* The nearest rows of one query in float64, and the work on one block of base rows. */

#include "ann/ann_truth.h"
#include "vector/tile.h"

struct truth_item {
    double distance; /* +inf: not a number (a zero row under angular, NaN components) */
    uint64_t row;
};

/** Nearest first, equal distances by lower row. Memory is the caller's: items has room for k. */
struct truth_list {
    struct truth_item *items;
    size_t n, k;
};

void truth_list_push(struct truth_list *l, double distance, uint64_t row);
/** To results: the rest is padded with -1 and +inf. `shift` is added to every distance. */
void truth_list_write(const struct truth_list *l, double shift, int64_t *ids, float *distances);

enum { TRUTH_PIECES = 16, TRUTH_PIECE_BYTES = 1 << 20, TRUTH_CHUNK_MAX = 96 };

/** A batch of queries; everything but rows stays for all blocks. */
struct truth_work {
    grebe_context *ctx;
    const struct call *call;
    enum vector_metric metric;
    enum vector_elem elem;
    uint32_t dim;
    size_t k, n;                  /* queries of the batch */
    const unsigned char *stored;  /* queries as they are stored, shape [n][row bytes] */
    const int64_t *labels;        /* of the queries; NULL: unfiltered */
    uint32_t *order;              /* queries by label, shape [n] */
    float *queries;               /* by `order`: float32, unit length under angular; shape [n][dim]; BIT: NULL */
    double *norms;                /* of these; by `order` */
    bool is_integral;             /* all queries are whole numbers */
    struct truth_list *lists;     /* shape [n], by `order` */
    struct truth_item *items;     /* shape [n][k] */
    struct topk_item *candidates; /* shape [n][room] */
    size_t n_candidates, room;
    struct tile_rows pieces[TRUTH_PIECES];
    size_t piece_rows;
};

/** Rows of a block that a group of queries [query_begin, query_end) (by `order`) may find. */
struct truth_group {
    struct truth_work *w;
    const unsigned char *rows; /* packed rows of the block */
    uint64_t first_row;        /* of the block */
    const uint32_t *positions; /* in the block; NULL: all */
    size_t n_rows;
    size_t query_begin, query_end, chunk;
    size_t at, n_here, n_pieces; /* rows [at, at + n_here) are in the pieces */
    bool is_exact;               /* values of tiles are the exact ones */
    float norm_max;
};

/** Search the rows of a block for a group of queries. */
grebe_status truth_search_group(struct truth_group *g, grebe_error *err);

/** Sets and sparse rows by inverted lists. */
grebe_status truth_fill_terms(const struct ann_dataset *d, size_t k, const int64_t *base_labels,
                              const int64_t *query_labels, const struct call *call, int64_t *ids, float *distances,
                              grebe_error *err);
grebe_status truth_fill_multi(const struct ann_dataset *d, size_t k, const int64_t *base_labels,
                              const int64_t *query_labels, const struct call *call, int64_t *ids, float *distances,
                              grebe_error *err);

/**
 * Call fn(arg, i) for n_chunks pieces of queries, some at a time, so that the caller hears of them: piece *first + i.
 */
grebe_status truth_in_steps(const struct ann_dataset *d, const struct call *call, size_t n_chunks, size_t chunk_queries,
                            pool_fn fn, void *arg, size_t *first, grebe_error *err);

/** Tell the caller how far the search is. */
void truth_progress(const struct call *call, uint64_t rows_done, uint64_t rows_total);

#endif
