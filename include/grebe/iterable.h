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

GREBE_API grebe_iterable *grebe_iterable_keep(const grebe_iterable *it);
GREBE_API void grebe_iterable_free(grebe_iterable *it); /**< NULL accepted. */

/* ---- sources ---- */

/** Rows of a data set in n_shards consecutive parts (1 … rows). */
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
 * @param n_shards At least 1.
 * @param is_table The unit of shuffling is a table; else a row (docs/format/dataset_state.md): what a generator of rows is.
 * @param features JSON; NULL: unknown before rows were read.
 * @param free     Called with fn_ctx when the last owner is gone; also on failure of this call. May be NULL.
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
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_shuffle(
    const grebe_iterable *it, const grebe_iterable_shuffle_options *options, grebe_iterable **out,
    grebe_error *err);

GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_skip(const grebe_iterable *it, int64_t n,
                                                            grebe_iterable **out,
                                                            grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_take(const grebe_iterable *it, int64_t n,
                                                            grebe_iterable **out,
                                                            grebe_error *err);
/** n times; negative: without end. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_repeat(const grebe_iterable *it, int64_t n,
                                                              grebe_iterable **out,
                                                              grebe_error *err);
/** Of the shards, part `index` of n. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_shard(const grebe_iterable *it, int64_t n,
                                                             int64_t index, bool is_contiguous,
                                                             grebe_iterable **out,
                                                             grebe_error *err);
/** Smaller shards where the source has them (row groups of Parquet); the order stays. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_reshard(const grebe_iterable *it,
                                                               grebe_iterable **out,
                                                               grebe_error *err);

typedef enum grebe_node_split {
    GREBE_NODE_AUTO = 0, /**< by shards where their number is a multiple, else by rows */
    GREBE_NODE_SHARDS = 1,
    GREBE_NODE_EXAMPLES = 2
} grebe_node_split;
/** What node `rank` of `world` reads. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_split_by_node(const grebe_iterable *it,
                                                                     int64_t rank, int64_t world,
                                                                     grebe_node_split how,
                                                                     grebe_iterable **out,
                                                                     grebe_error *err);
/** What worker `id` of n of a data loader reads: random numbers differ from those of no worker, as in `datasets`. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_for_worker(const grebe_iterable *it,
                                                                  int64_t id, int64_t n,
                                                                  grebe_iterable **out,
                                                                  grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_set_epoch(const grebe_iterable *it,
                                                                 int64_t epoch,
                                                                 grebe_iterable **out,
                                                                 grebe_error *err);

/**
 * As grebe_dataset_map(), nothing cached. fn is called on the thread that reads (with a prefetch behind it: on another).
 *
 * @param is_by_row The function is one of rows (docs/format/dataset_state.md: which unit is shuffled behind it).
 * @param free      Called with fn_ctx when the last owner is gone; also on failure. May be NULL.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_map(const grebe_iterable *it,
                                                           grebe_map_fn fn, void *fn_ctx,
                                                           void (*free)(void *),
                                                           const grebe_map_options *map,
                                                           bool is_by_row, grebe_iterable **out,
                                                           grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_filter_fn(const grebe_iterable *it,
                                                                 grebe_filter_fn fn, void *fn_ctx,
                                                                 void (*free)(void *),
                                                                 const grebe_map_options *map,
                                                                 bool is_by_row,
                                                                 grebe_iterable **out,
                                                                 grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_filter(const grebe_iterable *it,
                                                              const char *where,
                                                              grebe_iterable **out,
                                                              grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_map_expr(const grebe_iterable *it,
                                                                const grebe_computed_column *columns,
                                                                size_t n, grebe_iterable **out,
                                                                grebe_error *err);

GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_select_columns(const grebe_iterable *it,
                                                                      const char *const *columns,
                                                                      size_t n,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_remove_columns(const grebe_iterable *it,
                                                                      const char *const *columns,
                                                                      size_t n,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_rename_columns(const grebe_iterable *it,
                                                                      const grebe_column_rename *names,
                                                                      size_t n,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);
/** features: JSON. is_partial: the named columns alone, others stay. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_cast(const grebe_iterable *it,
                                                            const char *features, bool is_partial,
                                                            grebe_iterable **out,
                                                            grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_batch(const grebe_iterable *it,
                                                             int64_t batch_rows,
                                                             const char *by_column,
                                                             bool drop_last_batch,
                                                             grebe_iterable **out,
                                                             grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_concatenate(
    const grebe_iterable *const *its, size_t n, int32_t axis, grebe_iterable **out,
    grebe_error *err);
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_interleave(
    const grebe_iterable *const *its, size_t n, const double *probabilities, grebe_seed seed,
    grebe_stop stop, grebe_iterable **out, grebe_error *err);
/** Rows are read ahead on another thread, at most so many batches. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_prefetch(const grebe_iterable *it,
                                                                int32_t batches,
                                                                grebe_iterable **out,
                                                                grebe_error *err);
/** Whether a format is set: decides the unit of shuffling where the features are not known before reading, as in `datasets`. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_with_formatted(const grebe_iterable *it,
                                                                      bool is_formatted,
                                                                      grebe_iterable **out,
                                                                      grebe_error *err);

/* ---- what they are ---- */

GREBE_API int64_t grebe_iterable_num_shards(const grebe_iterable *it);
GREBE_API int64_t grebe_iterable_epoch(const grebe_iterable *it);
/** JSON, borrowed; NULL: not known before rows are read. */
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
GREBE_API void grebe_iterator_free(grebe_iterator *iter); /**< NULL accepted. */

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
 * @param out        Owned by the caller. Rows of other types than the first ones fail with GREBE_ESCHEMA.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterator_scan(grebe_iterator *iter, int64_t batch_rows,
                                                            int64_t max_rows,
                                                            struct ArrowArrayStream *out,
                                                            grebe_error *err);

/**
 * Where the iteration stands: JSON.
 *
 * @param rows_back Rows at the end of the last batch that do not count as read (0 … its length): whoever gives out rows one
 *                  by one has the state behind each of them.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterator_state(const grebe_iterator *iter,
                                                             int64_t rows_back,
                                                             grebe_write_fn write, void *write_ctx,
                                                             grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
