/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_ITERABLE_INTERNAL_H
#define GREBE_ITERABLE_ITERABLE_INTERNAL_H

/*
 * Streams of rows as trees. A *node* says what is to be done and never changes: epochs, shards, nodes and workers make
 * new trees of it. A *reader* is opened from a node for one pass and hands out batches; a *mark* is where a reader
 * stands.
 */

#include "base/context_internal.h"
#include "base/pcg64.h"
#include "builder/builder.h"
#include "grebe/iterable.h"
#include "iterable/iterable_mark.h"
#include "iterable/iterable_rows.h"

enum {
    READ_ROWS = 1000,      /* rows of a batch where nobody asks for more or fewer */
    READ_ROWS_MAX = 65536, /* and at most */
    NODE_DEPTH_MAX = 400   /* of a tree: it is walked by recursion */
};

/* ---- things that nodes share ---- */

/** Head of what several nodes refer to. */
struct held {
    atomic_uint refs;
    void (*free)(struct held *h);
};
void held_keep(struct held *h); /* NULL accepted */
void held_drop(struct held *h); /* NULL accepted */

/* ---- nodes ---- */

struct node;
struct reader;

/** For whom readers are opened. */
struct reading {
    grebe_context *ctx;
    struct call call;
    bool are_tables; /* the unit of nodes that take units is a table (docs/format/dataset_state.md), else a row */
};

struct node_ops {
    const char *name;
    /* NULL in the following: as the only child; of a new node, the child's new node below a copy. */
    int64_t (*n_shards)(const struct node *n);
    bool (*yields_tables)(const struct node *n);
    /** Whether sources may be shuffled: not below a take or a skip. */
    bool (*is_shufflable)(const struct node *n);
    /** Sources shuffled, each by a copy of g. */
    grebe_status (*shuffle)(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err);
    /** What taker i of `takers` reads. */
    grebe_status (*part)(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                         grebe_error *err);
    /** The node's own generator moved on by an epoch or a worker: changed in place, the node is new. */
    void (*shift)(struct node *n, int64_t value);
    grebe_status (*reshard)(const struct node *n, struct node **out, grebe_error *err);
    /** What else tells the tree from others, for the signature. */
    grebe_status (*describe)(const struct node *n, struct buf *dst, grebe_error *err);
    grebe_status (*open)(const struct node *n, const struct reading *r, struct reader **out, grebe_error *err);
};

struct node {
    atomic_uint refs;
    grebe_context *ctx;
    const struct node_ops *ops;
    struct node **kids; /* owned references, shape [n_kids] */
    size_t n_kids;
    int depth;
    /* Parameters; which of them mean something is said where the kind is. */
    int64_t rows, at;
    bool is_set, is_typed;
    int32_t mode;
    struct pcg64 rng;
    struct held *held;
    int64_t *shards; /* leaves: numbers of shards of the source, shape [n_shards] */
    int64_t n_shards;
};

/** @param kids Shape [n]; references are taken. */
grebe_status node_new(grebe_context *ctx, const struct node_ops *ops, struct node *const *kids, size_t n,
                      struct node **out, grebe_error *err);
/** The same parameters over other children, which are moved in (also on failure). */
grebe_status node_with_kids(const struct node *n, struct node **kids, size_t n_kids, struct node **out,
                            grebe_error *err);
struct node *node_keep(struct node *n);
void node_drop(struct node *n); /* NULL accepted */

int64_t node_n_shards(const struct node *n);
bool node_yields_tables(const struct node *n);
bool node_is_shufflable(const struct node *n);
grebe_status node_shuffle(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err);
grebe_status node_part(const struct node *n, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                       grebe_error *err);
/** A copy over its children shuffled, or over parts of the first n_kids of them; its own parameters as they are. */
grebe_status node_shuffle_kids(const struct node *n, const struct pcg64 *g, struct node **out, grebe_error *err);
grebe_status node_part_kids(const struct node *n, size_t n_kids, int64_t takers, int64_t i, bool is_contiguous, struct node **out,
                            grebe_error *err);
grebe_status node_shift(const struct node *n, int64_t value, struct node **out, grebe_error *err);
grebe_status node_reshard(const struct node *n, struct node **out, grebe_error *err);
/** Appended: a text that is equal for trees that a state fits. */
grebe_status node_describe(const struct node *n, struct buf *dst, grebe_error *err);
grebe_status node_open(const struct node *n, const struct reading *r, struct reader **out, grebe_error *err);
/** A generator moved on by an epoch or a worker. */
void rng_shift(struct pcg64 *g, int64_t value);

/** Which of k shards taker i of n gets: `count` of them, first, first + step, … */
struct shard_run {
    int64_t first, step, count;
};
struct shard_run shard_run_of(int64_t k, int64_t n, int64_t i, bool is_contiguous);

/* ---- kinds of nodes: each takes a reference of its children ---- */

/** Where leaves read. Head of the three kinds of sources. */
struct shard_source {
    struct held held;
    const char *name;
    bool are_tables;
    int64_t n_shards;
    /** Rows of a shard from a place on. */
    grebe_status (*open)(struct shard_source *s, const struct reading *r, int64_t shard, struct shard_place place,
                         struct shard_reader *out, grebe_error *err);
    /** Shards that each shard can be cut into, in order; NULL: none. */
    grebe_status (*reshard)(struct shard_source *s, const int64_t *shards, int64_t n, struct shard_source **out,
                            grebe_error *err);
    grebe_status (*describe)(const struct shard_source *s, struct buf *dst, grebe_error *err);
};
/** @param source Moved in, also on failure. */
grebe_status leaf_new(grebe_context *ctx, struct shard_source *source, struct node **out, grebe_error *err);

/** Rows as tables of n: only the units that nodes above take are other ones. */
grebe_status rebatch_new(struct node *kid, int64_t n, struct node **out, grebe_error *err);
/** Rows of a unit that the node gives to those that take units. */
int64_t node_unit(const struct node *n, const struct reading *r);
/** @param probabilities Shape [n]; NULL: in turn. g: used with probabilities only. */
grebe_status cycle_new(grebe_context *ctx, struct node *const *kids, size_t n, const double *probabilities,
                       const struct pcg64 *g, grebe_stop stop, struct node **out, grebe_error *err);
/** Shards in at most n groups, which are read in turn. */
grebe_status groups_new(struct node *kid, int64_t n, struct node **out, grebe_error *err);
grebe_status buffer_new(struct node *kid, int64_t n, const struct pcg64 *g, struct node **out, grebe_error *err);
/** is_split: takers of shards share n. */
grebe_status limit_new(struct node *kid, int64_t n, bool is_take, bool is_split, struct node **out, grebe_error *err);
grebe_status repeat_new(struct node *kid, int64_t n, struct node **out, grebe_error *err);
/** Each n-th row from row `at` on. */
grebe_status step_new(struct node *kid, int64_t n, int64_t at, struct node **out, grebe_error *err);
grebe_status chain_new(grebe_context *ctx, struct node *const *kids, size_t n, struct node **out, grebe_error *err);
grebe_status beside_new(grebe_context *ctx, struct node *const *kids, size_t n, struct node **out, grebe_error *err);
grebe_status prefetch_new(struct node *kid, int64_t batches, struct node **out, grebe_error *err);

/**
 * Rows in batches through a function of this library.
 *
 * @param self Moved in, also on failure. is_typed: rows come as tables where the child has them.
 */
struct batch_step {
    struct held held;
    const char *name;
    int64_t batch_rows; /* rows of one call; 0: as they come; -1: all */
    bool is_last_dropped;
    bool is_by_row; /* behind it the unit is a row */
    /** Rows that come out: none: *out stays empty. `in` is borrowed. first: rows before it. */
    grebe_status (*run)(struct batch_step *self, grebe_context *ctx, const struct rows *in, int64_t first,
                        struct rows *out, grebe_error *err);
    grebe_status (*describe)(const struct batch_step *self, struct buf *dst, grebe_error *err);
};
grebe_status apply_new(struct node *kid, struct batch_step *self, bool is_typed, struct node **out, grebe_error *err);
/** Columns cast to the features, in their order: those that rows lack become null, others are left out. */
grebe_status cast_new(struct node *kid, const struct features *features, bool is_typed, struct node **out,
                      grebe_error *err);
/** Rows as lists of rows equal in a column. */
grebe_status groups_by_new(struct node *kid, const char *column, bool is_typed, struct node **out, grebe_error *err);

/* ---- readers ---- */

struct reader_ops {
    /** Next rows, about `want` of them, at least one; GREBE_END. */
    grebe_status (*produce)(struct reader *r, int64_t want, struct rows *out, grebe_error *err);
    /** Where the reader stands behind all rows that it produced. */
    grebe_status (*save)(struct reader *r, struct mark **out, grebe_error *err);
    /** Stand there. m NULL: at the beginning. */
    grebe_status (*load)(struct reader *r, const struct mark *m, grebe_error *err);
    void (*free)(struct reader *r);
};

/** Head of every reader. Rows that were produced and not yet taken wait in it. */
struct reader {
    const struct reader_ops *ops;
    struct reading env;
    struct rows pending;
    int64_t given;       /* rows of pending that were taken */
    struct mark *before; /* where the reader stood before pending was produced */
    /** Where nothing is pending: some of *n rows left out without being produced, *n: the others. NULL: none can be. */
    grebe_status (*skip)(struct reader *r, int64_t *n, grebe_error *err);
};

/** A place between two rows: behind `given` rows from the mark on. */
struct place {
    struct mark *mark; /* one reference */
    int64_t given;
};
void place_release(struct place *p);

/** Memory for a reader of `size` bytes, zeroed but for its head. */
grebe_status reader_alloc(size_t size, const struct reader_ops *ops, const struct reading *env, struct reader **out,
                          grebe_error *err);
void reader_free(struct reader *r); /* NULL accepted */
/** Frees what the head holds and the memory: for the end of ops->free. */
void reader_dealloc(struct reader *r, size_t size);

/** Whether there is one more row; it is produced then. */
grebe_status reader_has_more(struct reader *r, int64_t want, bool *has, grebe_error *err);
/** 1 … max rows as they come; GREBE_END. */
grebe_status reader_next(struct reader *r, int64_t want, int64_t max, struct rows *out, grebe_error *err);
/** n rows (n < 0: all), fewer only at the end; GREBE_END when none. */
grebe_status reader_read(struct reader *r, int64_t n, struct rows *out, grebe_error *err);
/** Leave out n rows; *n is what is left to be left out at the end. */
grebe_status reader_skip(struct reader *r, int64_t *n, grebe_error *err);
grebe_status reader_place(struct reader *r, struct place *out, grebe_error *err);
/** mark NULL: the beginning. GREBE_EINVAL when the mark is none of this reader, or there are not so many rows. */
grebe_status reader_load(struct reader *r, const struct mark *mark, int64_t given, grebe_error *err);

/* What marks of nodes with one child have: its place, put behind the words. */
grebe_status place_put(struct mark_builder *b, struct reader *kid, grebe_error *err);
/** Child i of m, whose `given` is word w, as the place of the reader. */
grebe_status place_get(struct reader *kid, const struct mark *m, size_t i, size_t w, grebe_error *err);

/* ---- the public object ---- */

struct grebe_iterable {
    atomic_uint refs;
    grebe_context *ctx;
    struct node *root;
    int64_t epoch;
    int64_t rank, world; /* world 0: one node reads all */
    grebe_node_split how;
    int64_t worker, n_workers; /* n_workers 0: none */
    bool is_typed;             /* features were known before reading */
    bool is_formatted;
    struct features *features; /* NULL: unknown */
    char *features_json;
};

/** A stream over a tree as `like` (NULL: a new source) has it, of epoch 0. root, features moved in, also on failure. */
grebe_status iterable_new(grebe_context *ctx, const grebe_iterable *like, struct node *root, struct features *features,
                          bool is_typed, grebe_iterable **out, grebe_error *err);
/** The tree that a pass reads: of its epoch, node and worker. *are_tables: how. */
grebe_status iterable_pass(const grebe_iterable *it, struct node **out, bool *are_tables, grebe_error *err);
/** The generator of a seed; without words one is drawn. */
grebe_status iterable_seed(grebe_context *ctx, grebe_seed seed, struct pcg64 *out, grebe_error *err);
/** Features of the rows: where they are unknown, from the first ones. */
grebe_status iterable_resolve(const grebe_iterable *it, struct features **out, grebe_error *err);
/** Whether a step behind this stream is given tables. */
static inline bool iterable_is_typed(const grebe_iterable *it)
{
    return it->is_typed || it->is_formatted;
}

grebe_context *iterator_context(const grebe_iterator *iter);
/** Columns of the rows without reading: a struct without fields where they are unknown. */
grebe_status iterator_schema(const grebe_iterator *iter, struct ArrowSchema *out, grebe_error *err);

/** Files of one split, a shard each, as the loader of their kind reads them. */
struct iterable_files {
    struct builder *builder; /* borrowed until `free` is called */
    size_t split, n_files;
    bool are_features_given; /* by the caller, not by the kind of file: the unit of shuffling depends on it */
    /** Called when the last owner is gone, also on failure: frees the builder and what its request borrows. */
    void (*free)(void *arg);
    void *arg;
};
grebe_status iterable_of_files(const struct iterable_files *files, grebe_iterable **out, grebe_error *err);

#endif
