/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ITERABLE_H
#define GREBE_ITERABLE_H

/*
 * Data sets that are read as a stream: a tree of steps over sources that are cut into shards. Orders are those of the
 * Python library `datasets` for the same seeds; the state of an iteration resumes it exactly, in another process too
 * (docs/format/dataset_state.md).
 */

#include "grebe/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A stream of rows that has not begun. Immutable, but for nothing; safe from many threads; each pointer owns. */
typedef struct grebe_iterable grebe_iterable;

/** Another owner of the same stream. @return It; cannot fail. */
GREBE_API grebe_iterable *grebe_iterable_keep(const grebe_iterable *it);
/** One owner less; iterators stay valid. NULL accepted. */
GREBE_API void grebe_iterable_free(grebe_iterable *it);

/* ---- sources ---- */

/**
 * Rows of a data set in consecutive parts.
 *
 * @param n_shards 1 … rows (of a data set without rows: 1).
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_of_dataset(const grebe_dataset *ds,
                                                                  int64_t n_shards,
                                                                  grebe_iterable **out,
                                                                  grebe_error *err);

/**
 * Rows of one shard of a source of the caller, from row `skip` of the shard on.
 *
 * @param shard Number of the shard in the order that the source was made with.
 * @param out   Set by the callee.
 */
typedef grebe_status (*grebe_shard_fn)(void *fn_ctx, int64_t shard, int64_t skip,
                                       struct ArrowArrayStream *out, grebe_error *err);

/**
 * Rows of shards that a function gives.
 *
 * @param n_shards At least 1.
 * @param is_table The unit of shuffling is a table; else a row (docs/format/dataset_state.md): what a generator of rows is.
 * @param features JSON; NULL: unknown before rows were read.
 * @param free     Called with fn_ctx when the last owner is gone; also on failure of this call. May be NULL.
 * @return GREBE_OK; GREBE_EINVAL (n_shards, features); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_of_function(
    grebe_context *ctx, grebe_shard_fn fn, void *fn_ctx, void (*free)(void *), int64_t n_shards,
    bool is_table, const char *features, grebe_iterable **out, grebe_error *err);

/* ---- steps: `it` is borrowed, *out is owned by the caller ---- */

typedef struct grebe_iterable_shuffle_options {
    uint32_t struct_size;
    grebe_seed seed;
    int64_t buffer_rows;      /**< 0: 1000 */
    int64_t max_input_shards; /**< shards whose rows are in the buffer together; 0: 10 */
} grebe_iterable_shuffle_options;
#define GREBE_ITERABLE_SHUFFLE_OPTIONS_INIT                                  \
    {                                                                        \
        sizeof(grebe_iterable_shuffle_options), { 0, 0 }, 0, 0               \
    }
/**
 * Shards in another order, and rows mixed by a buffer: the order of `datasets` for the same seed.
 *
 * @param options NULL: defaults. Without a seed one is drawn.
 * @return GREBE_OK; GREBE_EINVAL (negative sizes); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_shuffle(
    const grebe_iterable *it, const grebe_iterable_shuffle_options *options, grebe_iterable **out,
    grebe_error *err);

/** All but the first n rows; n <= 0: all. @return GREBE_OK; GREBE_ELIMIT (steps); GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_skip(const grebe_iterable *it, int64_t n,
                                                            grebe_iterable **out,
                                                            grebe_error *err);
/** The first n rows; n <= 0: none. @return As grebe_iterable_skip(). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_take(const grebe_iterable *it, int64_t n,
                                                            grebe_iterable **out,
                                                            grebe_error *err);
/** n times; negative: without end. @return As grebe_iterable_skip(). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_repeat(const grebe_iterable *it, int64_t n,
                                                              grebe_iterable **out,
                                                              grebe_error *err);
/** Of the shards, part `index` of n. @return GREBE_OK; GREBE_EINVAL (index); GREBE_ELIMIT; GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_shard(const grebe_iterable *it, int64_t n,
                                                             int64_t index, bool is_contiguous,
                                                             grebe_iterable **out,
                                                             grebe_error *err);
/**
 * Smaller shards where the source has them (row groups of Parquet); the order stays.
 *
 * @return GREBE_OK; what opening a file gives.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_reshard(const grebe_iterable *it,
                                                               grebe_iterable **out,
                                                               grebe_error *err);

typedef enum grebe_node_split {
    GREBE_NODE_AUTO = 0, /**< by shards where their number is a multiple, else by rows */
    GREBE_NODE_SHARDS = 1,
    GREBE_NODE_EXAMPLES = 2
} grebe_node_split;
/**
 * What node `rank` of `world` reads; of a node that was split already, a part.
 *
 * @return GREBE_OK; GREBE_EINVAL (rank, fewer shards than nodes); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_split_by_node(const grebe_iterable *it,
                                                                     int64_t rank, int64_t world,
                                                                     grebe_node_split how,
                                                                     grebe_iterable **out,
                                                                     grebe_error *err);
/**
 * What worker `id` of n of a data loader reads: random numbers differ from those of no worker, as in
 * `datasets`. The epoch stays.
 *
 * @return GREBE_OK; GREBE_EINVAL (id); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_for_worker(const grebe_iterable *it,
                                                                  int64_t id, int64_t n,
                                                                  grebe_iterable **out,
                                                                  grebe_error *err);
/**
 * The pass of that number: another order for each. Every later step gives epoch 0 again.
 *
 * @return GREBE_OK; GREBE_EINVAL (negative); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_set_epoch(const grebe_iterable *it,
                                                                 int64_t epoch,
                                                                 grebe_iterable **out,
                                                                 grebe_error *err);

/**
 * As grebe_dataset_map(), nothing cached. fn is called on the thread that reads (with a prefetch behind it: on another).
 * Without map->features those of the result are not known before rows are read.
 *
 * @param is_by_row The function is one of rows (docs/format/dataset_state.md: which unit is shuffled behind it).
 * @param free      Called with fn_ctx when the last owner is gone; also on failure. May be NULL.
 * @return GREBE_OK; GREBE_ENOTFOUND (a column that is known not to be there); GREBE_EINVAL; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_map(const grebe_iterable *it,
                                                           grebe_map_fn fn, void *fn_ctx,
                                                           void (*free)(void *),
                                                           const grebe_map_options *map,
                                                           bool is_by_row, grebe_iterable **out,
                                                           grebe_error *err);
/** Rows that a function keeps; parameters as of grebe_iterable_map(). @return As grebe_iterable_map(). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_filter_fn(const grebe_iterable *it,
                                                                 grebe_filter_fn fn, void *fn_ctx,
                                                                 void (*free)(void *),
                                                                 const grebe_map_options *map,
                                                                 bool is_by_row,
                                                                 grebe_iterable **out,
                                                                 grebe_error *err);
/**
 * Rows for which the condition (docs/format/expr.md) is true.
 *
 * @return GREBE_OK; what parsing it gives, and where columns are known, binding.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_filter(const grebe_iterable *it,
                                                              const char *where,
                                                              grebe_iterable **out,
                                                              grebe_error *err);
/**
 * Columns from expressions, all seen as they were before; n >= 1.
 *
 * @return As grebe_iterable_filter(); GREBE_EINVAL (a name twice).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_map_expr(const grebe_iterable *it,
                                                                const grebe_computed_column *columns,
                                                                size_t n, grebe_iterable **out,
                                                                grebe_error *err);

/**
 * These columns, in this order.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND, where columns are known, else when rows are read; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_select_columns(const grebe_iterable *it,
                                                                      const char *const *columns,
                                                                      size_t n,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);
/** All columns but these. @return As grebe_iterable_select_columns(). */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_remove_columns(const grebe_iterable *it,
                                                                      const char *const *columns,
                                                                      size_t n,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);
/**
 * Columns under other names.
 *
 * @return As grebe_iterable_select_columns(); GREBE_EINVAL (an empty name, one that is there).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_rename_columns(const grebe_iterable *it,
                                                                      const grebe_column_rename *names,
                                                                      size_t n,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);
/**
 * Columns of other types; features: JSON. is_partial: the named columns alone, others stay.
 *
 * @return GREBE_OK; GREBE_EINVAL (features, other columns); GREBE_ENOTFOUND; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_cast(const grebe_iterable *it,
                                                            const char *features, bool is_partial,
                                                            grebe_iterable **out,
                                                            grebe_error *err);
/**
 * Rows as lists.
 *
 * @param batch_rows Rows of a list; not looked at with by_column.
 * @param by_column  Lists of consecutive rows that are equal in it; NULL: of batch_rows.
 * @return GREBE_OK; GREBE_EINVAL (batch_rows); GREBE_ENOTFOUND (by_column); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_batch(const grebe_iterable *it,
                                                             int64_t batch_rows,
                                                             const char *by_column,
                                                             bool drop_last_batch,
                                                             grebe_iterable **out,
                                                             grebe_error *err);
/**
 * axis 0: one after the other, columns by name, those that one lacks are null; 1: side by side, as many rows each.
 *
 * @return GREBE_OK; GREBE_EINVAL (n, axis, streams of other nodes, a column twice); GREBE_ESCHEMA (a column of two types); or what
 *         reading the first rows of a stream of unknown columns gives.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_concatenate(
    const grebe_iterable *const *its, size_t n, int32_t axis, grebe_iterable **out,
    grebe_error *err);
/**
 * Rows in turn, or as drawn with probabilities (shape [n]).
 *
 * @param seed Of the draws; without one it is drawn itself.
 * @return As grebe_iterable_concatenate(); GREBE_EINVAL (probabilities).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_interleave(
    const grebe_iterable *const *its, size_t n, const double *probabilities, grebe_seed seed,
    grebe_stop stop, grebe_iterable **out, grebe_error *err);
/**
 * Rows are read ahead on another thread, at most so many batches; 0: not.
 *
 * @return GREBE_OK; GREBE_EINVAL (negative); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_prefetch(const grebe_iterable *it,
                                                                int32_t batches,
                                                                grebe_iterable **out,
                                                                grebe_error *err);
/**
 * Whether a format is set: decides the unit of shuffling where the features are not known before reading, as in
 * `datasets`.
 *
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_with_formatted(const grebe_iterable *it,
                                                                      bool is_formatted,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);

/* ---- what they are ---- */

/** Shards that this node and worker read. @return 0 … */
GREBE_API int64_t grebe_iterable_num_shards(const grebe_iterable *it);
/** @return As grebe_iterable_set_epoch() set it; 0. */
GREBE_API int64_t grebe_iterable_epoch(const grebe_iterable *it);
/** What columns are. @return JSON, borrowed; NULL: not known before rows are read. */
GREBE_API const char *grebe_iterable_features(const grebe_iterable *it);

/* ---- reading ---- */

/** One pass over the rows. One thread at a time. */
typedef struct grebe_iterator grebe_iterator;

/**
 * @param state As grebe_iterator_state() gave it; NULL: from the beginning. Of another epoch: from the beginning.
 * @param call  Token and threads, used until the iterator is freed; NULL: defaults.
 * @return also GREBE_EINVAL (the state of another tree, or of another version).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterator_new(const grebe_iterable *it,
                                                           const char *state,
                                                           const grebe_call_options *call,
                                                           grebe_iterator **out,
                                                           grebe_error *err);
/** NULL accepted; batches that were given out stay valid. */
GREBE_API void grebe_iterator_free(grebe_iterator *iter);

/**
 * The next rows.
 *
 * @param batch_rows As many rows, fewer only at the end; 0: as they come.
 * @param out        Struct array, owned by the caller; left released at the end.
 * @param schema     Its schema, owned by the caller; may differ between batches where types are not known.
 * @return GREBE_OK (out->release NULL: the end), and failures.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterator_next(grebe_iterator *iter,
                                                            int64_t batch_rows,
                                                            struct ArrowArray *out,
                                                            struct ArrowSchema *schema,
                                                            grebe_error *err);

/**
 * The next rows as an Arrow stream, for whoever reads these.
 *
 * @param iter       Borrowed until the stream is released; it is used by nothing else meanwhile, and stands behind the rows that
 *                   the stream gave out afterwards.
 * @param batch_rows As for grebe_iterator_next().
 * @param max_rows   Rows at most; -1: all.
 * @param out        Owned by the caller. Rows of other types than the first ones are widened to these, or fail with GREBE_ESCHEMA.
 * @return GREBE_OK; what reading the first rows gives.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterator_scan(grebe_iterator *iter, int64_t batch_rows,
                                                            int64_t max_rows,
                                                            struct ArrowArrayStream *out,
                                                            grebe_error *err);

/**
 * Where the iteration stands: JSON. After a failure of grebe_iterator_next(): where it stood before, behind the rows that were
 * given out.
 *
 * @param rows_back Rows at the end of the last batch that do not count as read (0 … its length): whoever gives out rows one
 *                  by one has the state behind each of them.
 * @param write     Called on the caller's thread, once.
 * @return GREBE_OK; GREBE_EINVAL (rows_back); GREBE_EIO (write failed); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterator_state(const grebe_iterator *iter,
                                                             int64_t rows_back,
                                                             grebe_write_fn write, void *write_ctx,
                                                             grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
