/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GRAPH_GRAPH_ITEMS_H
#define GREBE_GRAPH_GRAPH_ITEMS_H

/* Item sets: columns of equal length, of one kind of seeds or of several one after another; batches of them; seeds as sampling
 * takes them. */

#include "graph/graph_array.h"
#include "graph/graph_csc.h"
#include "graph/graph_order.h"

/** Items of one type. */
struct graph_item_part {
    const char *type;             /* of node or edge, "a:b:c" of hyperlinks; NULL: the graph has no types */
    int64_t n;
    const struct tensor *columns; /* shape [n_columns]; NULL: one column, the numbers 0 … n - 1 */
};

/** Borrowed by everything that is made of it. */
struct graph_items {
    const char *const *names; /* shape [n_columns]; an entry may be NULL */
    size_t n_columns;
    const struct graph_item_part *parts;
    size_t n_parts;
};
int64_t graph_items_count(const struct graph_items *set);
/** Lengths of columns, number of parts. GREBE_ESCHEMA. */
grebe_status graph_items_check(const struct graph_items *set, grebe_error *err);

/** What a batch has of one part: rows in the order of the batch. */
struct graph_item_batch {
    struct graph_array *rows; /* by part */
    size_t n_parts;
};
grebe_status graph_item_batch_new(grebe_context *ctx, size_t n_parts, struct graph_item_batch *out, grebe_error *err);
void graph_item_batch_release(grebe_context *ctx, struct graph_item_batch *b);

/** An epoch: an order and the share of this process. */
struct graph_epoch {
    grebe_context *ctx;
    const struct graph_items *set;
    int64_t total;
    struct graph_range range;
    int64_t batch_size, n_batches;
    bool is_shuffled;
    int32_t *order; /* shape [total] when shuffled and short enough */
    int64_t *order_wide;
    int64_t *part_begins; /* shape [n_parts + 1] */
};
/**
 * @param share total is taken from the set.
 * @param seed  Of the order: seed + number of the epoch; is_shuffled false: as they stand.
 */
grebe_status graph_epoch_begin(grebe_context *ctx, const struct graph_items *set, struct graph_share share, bool is_shuffled,
                               uint64_t seed, struct graph_epoch *out, grebe_error *err);
void graph_epoch_end(struct graph_epoch *e);
/** Batch i of n_batches. */
grebe_status graph_epoch_batch(const struct graph_epoch *e, int64_t i, struct graph_item_batch *out, grebe_error *err);

/** Columns with a meaning; SIZE_MAX: there is none of the kind. */
struct graph_item_roles {
    size_t seeds;                   /* or one of the old names seed_nodes, node_pairs */
    size_t negative_sources, negative_targets; /* old names negative_srcs, negative_dsts */
    size_t labels, indexes, times;
};
struct graph_item_roles graph_items_roles(const struct graph_items *set);
/** The type of end i of seeds of type "a", "a:r:b", "a:b:c" and so many nodes: `len` bytes. NULL: so many do not fit the type. */
const char *graph_seed_type_of(const char *type, int64_t arity, int64_t i, size_t *len);

/** Seeds of one part of a batch. */
struct graph_seeds {
    struct graph_array ids; /* shape [n][arity] */
    int64_t n, arity;       /* arity 1: nodes */
    int64_t n_positives;    /* equal to n without negatives */
    int64_t ratio;          /* negatives of each positive, which stand behind all positives */
};
void graph_seeds_release(grebe_context *ctx, struct graph_seeds *s);
/** Rows of a column as int64; dst: shape [rows][width], width the product of its other dimensions. */
grebe_status graph_items_integers(grebe_context *ctx, const struct tensor *t, const struct graph_array *rows, int64_t *dst, grebe_error *err);
/** Integers of any width become int64; old negatives are put behind the pairs. */
grebe_status graph_seeds_of(grebe_context *ctx, const struct graph_items *set, const struct graph_item_roles *roles, size_t part,
                            const struct graph_array *rows, struct graph_seeds *out, grebe_error *err);

/**
 * Pairs, then for each of them `ratio` with its source and a node drawn from 0 … n_targets - 1, which may be a true edge.
 *
 * @param pairs Shape [n][2].
 * @param out   Shape [n * (1 + ratio)][2].
 */
void graph_negatives(const int64_t *pairs, int64_t n, int64_t ratio, int64_t n_targets, uint64_t key, int64_t *out);
/** 1 for the positives, then 0; either may be NULL. indexes: 0 … n - 1, then each `ratio` times. Shape [n * (1 + ratio)]. */
void graph_negative_labels(int64_t n, int64_t ratio, float *labels, int64_t *indexes);

#endif
