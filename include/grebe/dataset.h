/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_H
#define GREBE_DATASET_H

/*
 * Data sets for training: rows in memory-mapped Arrow files, perhaps seen through a mapping of indices (after a shuffle,
 * a filter, a selection). A data set is immutable: every transform gives a new one that shares the files. What a transform
 * has to write goes into cache files named by a fingerprint of what was done, and is found there the next time. The
 * folders, files, orders and fingerprints are those of the Python library `datasets` (docs/format/dataset.md).
 */

#include "grebe/arrow.h"
#include "grebe/print.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A data set. Immutable; safe from many threads; every pointer to one is an owner of its own. */
typedef struct grebe_dataset grebe_dataset;

/** Data sets by name of split, in order. */
typedef struct grebe_dataset_dict grebe_dataset_dict;

/* ---- where they come from ---- */

/** Where rows of an opened data set are held, and what is checked. Fields beyond struct_size take their defaults. */
typedef struct grebe_dataset_open_options {
    uint32_t struct_size;

    /** Files are read into memory instead of mapped. */
    bool keep_in_memory;

    /** NULL: defaults. Borrowed for the call. */
    const grebe_call_options *call;
} grebe_dataset_open_options;

#define GREBE_DATASET_OPEN_OPTIONS_INIT                     \
    {                                                       \
        sizeof(grebe_dataset_open_options), false, 0        \
    }

/**
 * A folder that save_to_disk wrote: one data set, or one for each split.
 *
 * @param path A folder with state.json and dataset_info.json, or with dataset_dict.json. Borrowed.
 * @param out  Owned by the caller, grebe_dataset_dict_free(). A single data set stands in it under the name "" .
 * @return GREBE_OK; GREBE_ENOTFOUND (neither kind of folder, a missing file); GREBE_ECORRUPT; GREBE_ESCHEMA (features
 *         and files of different types); GREBE_EUNSUPPORTED; GREBE_EIO; GREBE_ENOMEM.
 *
 * Cost: one look at the head of every record batch; values are checked when they are read first.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_load_from_disk(
    grebe_context *ctx, const char *path, const grebe_dataset_open_options *options,
    grebe_dataset_dict **out, grebe_error *err);

/**
 * Arrow IPC files (stream or file format), one after the other.
 *
 * @param paths Shape [n], n >= 1. Borrowed.
 * @param out   Owned by the caller, grebe_dataset_free().
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ECORRUPT naming file and byte; GREBE_ESCHEMA (a file of another type than the
 *         first); GREBE_EUNSUPPORTED; GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_of_files(
    grebe_context *ctx, const char *const *paths, size_t n,
    const grebe_dataset_open_options *options, grebe_dataset **out, grebe_error *err);

/**
 * Rows in memory.
 *
 * @param rows     Read to its end and released, on failure too.
 * @param features The columns' features as JSON (docs/format/features.md), rows are cast to them; NULL: from the types.
 * @param out      Owned by the caller.
 * @return GREBE_OK; GREBE_EINVAL (features); GREBE_ESCHEMA (rows that they do not fit); what the stream failed with;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_of_rows(grebe_context *ctx,
                                                              struct ArrowArrayStream *rows,
                                                              const char *features,
                                                              grebe_dataset **out,
                                                              grebe_error *err);

/**
 * Another owner of the same data set. Cannot fail.
 *
 * @return ds; NULL when it is NULL.
 */
GREBE_API grebe_dataset *grebe_dataset_keep(const grebe_dataset *ds);

/** Give up one ownership; NULL accepted. Arrays and streams stay valid. */
GREBE_API void grebe_dataset_free(grebe_dataset *ds);

/** @return Number of data sets. */
GREBE_API size_t grebe_dataset_dict_len(const grebe_dataset_dict *dict);

/** @return Name of data set i, borrowed. */
GREBE_API const char *grebe_dataset_dict_name(const grebe_dataset_dict *dict, size_t i);

/** @return Data set i, borrowed; grebe_dataset_keep() for an ownership of one's own. */
GREBE_API const grebe_dataset *grebe_dataset_dict_get(const grebe_dataset_dict *dict, size_t i);

/** NULL accepted. Data sets that are kept stay. */
GREBE_API void grebe_dataset_dict_free(grebe_dataset_dict *dict);

/* ---- what they are ---- */

/** How rows are meant to be given out by whoever has formats (the Python package); kept, carried along and saved here. */
typedef struct grebe_dataset_format {
    const char *type;           /**< "numpy", "torch", …; NULL: none */
    const char *const *columns; /**< formatted columns, shape [n_columns]; NULL: all, also those to come */
    size_t n_columns;
    const char *kwargs; /**< a JSON object; NULL: {} */
    bool output_all_columns;
} grebe_dataset_format;

/** What is known of a data set without reading rows; all borrowed from it. */
typedef struct grebe_dataset_info {
    int64_t n_rows;
    size_t n_columns;
    const char *const *columns; /**< names, shape [n_columns] */
    const char *features;       /**< JSON object, one member a column, in order */
    const char *info;           /**< JSON object: description, citation, splits, … as in dataset_info.json */
    const char *fingerprint;    /**< 16 hexadecimal digits, or what the caller gave */
    const char *split;          /**< NULL: none */
    grebe_dataset_format format;
    size_t n_files;
    const char *const *files; /**< data files, then indices files, shape [n_files] */
    bool has_indices;
    int64_t n_table_rows; /**< of the tables below the mapping */
} grebe_dataset_info;

/** What is known without reading rows. out: filled; what it points to is borrowed from ds. */
GREBE_API void grebe_dataset_get_info(const grebe_dataset *ds, grebe_dataset_info *out);

/**
 * The type of the rows.
 *
 * @param out Struct schema with the "huggingface" metadata; owned by the caller.
 * @return GREBE_OK; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_schema(const grebe_dataset *ds,
                                                             struct ArrowSchema *out,
                                                             grebe_error *err);

/**
 * Bytes of the buffers that the tables refer to (Arrow's nbytes).
 *
 * @return GREBE_OK; GREBE_ECORRUPT (columns are checked when they are looked at first); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_num_bytes(const grebe_dataset *ds,
                                                                int64_t *out, grebe_error *err);

/* ---- reading ---- */

/**
 * Rows [begin, end) as one batch. Within one record batch, and without a mapping, nothing is copied.
 *
 * @param columns Names, shape [n_columns]; NULL: all.
 * @param out     Struct array, owned by the caller; may outlive the data set, not the context.
 * @return GREBE_OK; GREBE_EINVAL (range); GREBE_ENOTFOUND (column); GREBE_ECORRUPT; GREBE_ELIMIT (more text than 32-bit
 *         offsets count); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_read(const grebe_dataset *ds, int64_t begin,
                                                           int64_t end,
                                                           const char *const *columns,
                                                           size_t n_columns,
                                                           struct ArrowArray *out,
                                                           grebe_error *err);

/**
 * Rows by position, in the order asked; -n … n - 1, duplicates allowed. As grebe_dataset_read() otherwise.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_take(const grebe_dataset *ds,
                                                           const int64_t *rows, size_t n,
                                                           const char *const *columns,
                                                           size_t n_columns,
                                                           struct ArrowArray *out,
                                                           grebe_error *err);

/**
 * All rows in order.
 *
 * @param batch_rows Rows of each batch but the last; 0: as they lie in the files (with a mapping: 1000).
 * @param call       Token (used until the stream is released) and threads; NULL: defaults.
 * @param out        Owned by the caller. Keeps the data set alive.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_EINVAL; GREBE_ENOMEM. The stream fails as grebe_dataset_read().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_scan(const grebe_dataset *ds,
                                                           const char *const *columns,
                                                           size_t n_columns, int64_t batch_rows,
                                                           const grebe_call_options *call,
                                                           struct ArrowArrayStream *out,
                                                           grebe_error *err);

/* ---- transforms ---- */

/** What every transform takes. Fields beyond struct_size take their defaults. */
typedef struct grebe_transform_options {
    uint32_t struct_size;

    /** A result that was written before is not looked for. */
    bool ignore_cache;
    /** The result is held in memory, no file is written. */
    bool keep_in_memory;
    /** Name or path of the cache file; NULL: from the fingerprint, beside the data set's first file (in memory, when it
     *  has none). */
    const char *cache_file;
    /** NULL: computed. At most 64 characters, none of <>:/\|?* . */
    const char *new_fingerprint;
    /** Rows of a batch in what is written; 0: 1000, fewer for media. */
    int64_t writer_batch_rows;
    /** Cancel, progress (rows), threads, memory; NULL: defaults. Borrowed for the call. */
    const grebe_call_options *call;
} grebe_transform_options;

#define GREBE_TRANSFORM_OPTIONS_INIT                         \
    {                                                        \
        sizeof(grebe_transform_options), false, false, 0, 0, 0, 0 \
    }

/*
 * Every transform: `ds` is borrowed, `options` NULL gives defaults, *out is owned by the caller and NULL on failure.
 * Columns that are not there: GREBE_ENOTFOUND. Arguments that make no sense: GREBE_EINVAL.
 */

/** A seed: a number of any size as 32-bit words, lowest first. n 0: drawn from the context's random source. */
typedef struct grebe_seed {
    const uint32_t *words;
    size_t n;
} grebe_seed;

/**
 * Rows by position (-n … n - 1); consecutive ones become a slice, others a mapping.
 *
 * @return GREBE_OK; GREBE_EINVAL (a row that is not there); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_select(const grebe_dataset *ds,
                                                             const int64_t *rows, size_t n,
                                                             const grebe_transform_options *options,
                                                             grebe_dataset **out,
                                                             grebe_error *err);

/**
 * Rows [begin, end), clamped to the rows there are. No file is written. skip(n), take(n) and shards are this.
 *
 * @return GREBE_OK; GREBE_EINVAL (options); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_slice(const grebe_dataset *ds, int64_t begin,
                                                            int64_t end,
                                                            const grebe_transform_options *options,
                                                            grebe_dataset **out, grebe_error *err);

/**
 * Part `index` of n: consecutive rows, or each n-th.
 *
 * @return GREBE_OK; GREBE_EINVAL (no such part); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_shard(const grebe_dataset *ds, int64_t n,
                                                            int64_t index, bool is_contiguous,
                                                            const grebe_transform_options *options,
                                                            grebe_dataset **out, grebe_error *err);

/**
 * The rows n times, n <= 0: none.
 *
 * @return GREBE_OK; GREBE_ELIMIT (too many); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_repeat(const grebe_dataset *ds, int64_t n,
                                                             const grebe_transform_options *options,
                                                             grebe_dataset **out,
                                                             grebe_error *err);

/**
 * The permutation of numpy's default_rng(seed).
 *
 * @return GREBE_OK; GREBE_EINVAL (arguments); GREBE_EIO (the cache file); GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_shuffle(const grebe_dataset *ds,
                                                              grebe_seed seed,
                                                              const grebe_transform_options *options,
                                                              grebe_dataset **out,
                                                              grebe_error *err);

typedef struct grebe_sort_key {
    const char *column;
    bool is_descending;
} grebe_sort_key;

/**
 * Stable; NaN behind every number; nulls last, or first. Source of the order: docs/format/dataset.md.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_EUNSUPPORTED (lists and structs); GREBE_ECORRUPT; GREBE_EIO;
 *         GREBE_ECANCELLED; GREBE_ELIMIT (2^32 rows); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_sort(const grebe_dataset *ds,
                                                           const grebe_sort_key *keys, size_t n,
                                                           bool are_nulls_first,
                                                           const grebe_transform_options *options,
                                                           grebe_dataset **out, grebe_error *err);

/** Fields beyond struct_size take their defaults. */
typedef struct grebe_split_options {
    uint32_t struct_size;
    /** Sizes: a fraction in (0, 1), or rows; both unset: test 0.25. Negative: not given. */
    double test_fraction, train_fraction;
    int64_t test_rows, train_rows;
    bool is_in_order;         /**< the first rows and those behind them, unshuffled */
    const char *stratify_by;  /**< a ClassLabel column; NULL: none */
    grebe_seed seed;
    const char *train_fingerprint, *test_fingerprint; /**< NULL: computed */
    const char *train_cache_file, *test_cache_file;
} grebe_split_options;

#define GREBE_SPLIT_OPTIONS_INIT                                                                \
    {                                                                                           \
        sizeof(grebe_split_options), -1, -1, -1, -1, false, 0, { 0, 0 }, 0, 0, 0, 0             \
    }

/**
 * Two data sets of different rows. No rows: both are ds.
 *
 * @param train, test Owned by the caller; NULL on failure.
 * @return GREBE_OK; GREBE_EINVAL (sizes that do not fit, classes of one row, …); GREBE_ENOTFOUND (stratify_by); GREBE_EIO;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_train_test_split(
    const grebe_dataset *ds, const grebe_split_options *split,
    const grebe_transform_options *options, grebe_dataset **train, grebe_dataset **test,
    grebe_error *err);

/**
 * Rows for which the predicate (docs/guide/where.md) is true.
 *
 * @return GREBE_OK; GREBE_EINVAL (the text, an integer overflow with its rows); GREBE_ENOTFOUND (column); GREBE_ESCHEMA (types
 *         that do not compare); GREBE_ECORRUPT; GREBE_EIO; GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_filter(const grebe_dataset *ds,
                                                             const char *where,
                                                             const grebe_transform_options *options,
                                                             grebe_dataset **out,
                                                             grebe_error *err);

/** A column that is computed: its value is an expression over the columns that there are ("length(text)", "a + b * 2"). */
typedef struct grebe_computed_column {
    const char *name;
    const char *expr;
} grebe_computed_column;

/**
 * New or replaced columns from expressions, all seen as they were before.
 *
 * @return GREBE_OK; as grebe_dataset_filter(), naming the column; GREBE_EUNSUPPORTED (values that make no column).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_map_expr(
    const grebe_dataset *ds, const grebe_computed_column *columns, size_t n,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/** A batch that a function is given. All borrowed for its call. */
typedef struct grebe_map_input {
    const struct ArrowSchema *schema; /**< struct */
    struct ArrowArray *rows;          /**< may be split by grebe_array_view() */
    int64_t first_row;                /**< position of its first row in the data set that is mapped */
    int32_t part;                     /**< which part of the rows, when they are mapped in parts; else 0 */
} grebe_map_input;

/** What becomes of the columns of a batch. */
typedef enum grebe_map_kind {
    GREBE_MAP_MERGE = 0,   /**< result columns replace those of their name, others are added behind */
    GREBE_MAP_REPLACE = 1, /**< the result is the batch */
    GREBE_MAP_NOTHING = 2  /**< no result: allowed when it is so for all batches, which leaves the data set as it is */
} grebe_map_kind;

/** What a function gives. */
typedef struct grebe_map_output {
    int32_t kind;
    struct ArrowSchema schema; /**< struct; owned by the callee once set; empty for NOTHING */
    struct ArrowArray rows;
} grebe_map_output;

typedef grebe_status (*grebe_map_fn)(void *fn_ctx, const grebe_map_input *in,
                                     grebe_map_output *out, grebe_error *err);

/** Which rows are kept. keep: shape [in->rows->length], zero or not, zero when called. */
typedef grebe_status (*grebe_filter_fn)(void *fn_ctx, const grebe_map_input *in, uint8_t *keep,
                                        grebe_error *err);

/** How a function is applied. Fields beyond struct_size take their defaults. */
typedef struct grebe_map_options {
    uint32_t struct_size;
    int64_t batch_rows;                /**< rows of a batch; 0: 1000; -1: all */
    const char *const *input_columns;  /**< columns that the function gets, shape [n_input_columns]; NULL: all */
    size_t n_input_columns;
    const char *const *remove_columns; /**< shape [n_remove_columns] */
    size_t n_remove_columns;
    bool drop_last_batch;  /**< a last batch (of each part) with fewer rows is left out */
    bool is_rows_fixed;    /**< the function gives as many rows as it gets: anything else fails */
    const char *features;  /**< of the result, JSON; the result must have just these columns; NULL: from the types */
    bool is_type_kept;     /**< an existing column keeps its type where the new values fit it */

    /** What the function is, for the fingerprint: code, captured values, parameters, as one text. NULL: unknown, then the
     *  result is not found again. Borrowed for the call. */
    const char *function_id;

    /** Rows are mapped in so many consecutive parts, each with a file of its own, on the threads of the call; a function
     *  that is not safe from several threads needs is_serial. 0: one part. */
    int32_t n_parts;
    /** Only this part is mapped, *out is that part alone; -1: all, those that were written before are taken. For workers
     *  that are processes of the caller. */
    int32_t part;
    /** Pattern of a part's name: "{rank}" and "{num_proc}" each once, ":05d" behind them allowed; NULL: "_{rank:05d}_of_{num_proc:05d}". */
    const char *suffix_template;
    /** The function is called by the calling thread alone, the parts one after another. Rows are still read ahead of it and
     *  written behind it on another thread when the call has more than one. */
    bool is_serial;
} grebe_map_options;

#define GREBE_MAP_OPTIONS_INIT                                                                        \
    {                                                                                                 \
        sizeof(grebe_map_options), 0, 0, 0, 0, 0, false, false, 0, true, 0, 0, -1, 0, false              \
    }

/**
 * Apply a function to all rows.
 *
 * @return also what the function returned; the message of a failure of its own names the rows. GREBE_ESCHEMA (columns of
 *         different lengths, types that differ between batches, NOTHING after something or the other way round).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_map(const grebe_dataset *ds, grebe_map_fn fn,
                                                          void *fn_ctx,
                                                          const grebe_map_options *map,
                                                          const grebe_transform_options *options,
                                                          grebe_dataset **out, grebe_error *err);

/**
 * Rows that a function keeps. Result: a mapping.
 *
 * @return GREBE_OK; what the function returned, with the rows; GREBE_EINVAL; GREBE_ENOTFOUND (columns); GREBE_ECORRUPT; GREBE_EIO;
 *         GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_filter_fn(
    const grebe_dataset *ds, grebe_filter_fn fn, void *fn_ctx, const grebe_map_options *map,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * Which parts a map (is_filter: a filter) would still have to compute. Parts of an earlier call with another number are
 * completed first: *n_parts may differ from what was asked.
 *
 * @param is_done Written, shape [max]; may be NULL.
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOTFOUND (columns); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_map_plan(
    const grebe_dataset *ds, bool is_filter, const grebe_map_options *map,
    const grebe_transform_options *options, int32_t *n_parts, bool *is_done, size_t max,
    grebe_error *err);

/**
 * The rows as they are seen, written anew; without a mapping nothing is written.
 *
 * @return GREBE_OK; GREBE_EINVAL (arguments); GREBE_EIO (the cache file); GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_flatten_indices(
    const grebe_dataset *ds, const grebe_transform_options *options, grebe_dataset **out,
    grebe_error *err);

/**
 * axis 0: rows one after another, columns by name; axis 1: columns side by side.
 *
 * @return GREBE_OK; GREBE_ESCHEMA (a column of two types); GREBE_EINVAL (axis 1: numbers of rows, a column twice); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_concatenate(
    const grebe_dataset *const *sets, size_t n, int32_t axis, grebe_dataset **out,
    grebe_error *err);

/** When interleaving ends. */
typedef enum grebe_stop {
    GREBE_STOP_FIRST_EXHAUSTED = 0,
    GREBE_STOP_ALL_EXHAUSTED = 1, /**< sources that end begin anew until each has ended once */
    GREBE_STOP_ALL_EXHAUSTED_WITHOUT_REPLACEMENT = 2
} grebe_stop;

/**
 * Rows of several in turn, or as drawn with probabilities (shape [n]; NULL: in turn).
 *
 * @return GREBE_OK; GREBE_EINVAL (probabilities, empty sources that they would draw); GREBE_ESCHEMA; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_interleave(
    const grebe_dataset *const *sets, size_t n, const double *probabilities, grebe_seed seed,
    grebe_stop stop, grebe_dataset **out, grebe_error *err);

/* Columns; nothing is copied. */
typedef struct grebe_column_rename {
    const char *from, *to;
} grebe_column_rename;
/**
 * Columns under other names, all at once.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL (an empty name, two columns of one name); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_rename_columns(
    const grebe_dataset *ds, const grebe_column_rename *names, size_t n,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * The other columns.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_remove_columns(
    const grebe_dataset *ds, const char *const *columns, size_t n,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * These columns in this order.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL (one of them twice); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_select_columns(
    const grebe_dataset *ds, const char *const *columns, size_t n,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * One column more; rows: a stream of one column, read and released. feature: JSON, NULL: from the type.
 *
 * @return GREBE_OK; GREBE_EINVAL (number of rows, the name is there); GREBE_ESCHEMA (values that do not fit the feature);
 *         what the stream failed with; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_add_column(
    const grebe_dataset *ds, const char *name, struct ArrowArrayStream *rows, const char *feature,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * Struct columns become columns "parent.child", up to max_depth times (0: 16).
 *
 * @return GREBE_OK; GREBE_EINVAL (two columns of one name); GREBE_ELIMIT (depth); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_flatten(const grebe_dataset *ds, int max_depth,
                                                              const grebe_transform_options *options,
                                                              grebe_dataset **out,
                                                              grebe_error *err);

/* Types; what has to change is written anew. */
/**
 * features: JSON with just the columns there are, in the order wanted. What keeps its storage is not written.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_EINVAL (features); GREBE_ESCHEMA naming column and row; GREBE_EIO;
 *         GREBE_ECANCELLED; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_cast(const grebe_dataset *ds,
                                                           const char *features,
                                                           const grebe_transform_options *options,
                                                           grebe_dataset **out, grebe_error *err);

/**
 * A column of values becomes a ClassLabel: names are the values as texts, sorted.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND; GREBE_EINVAL (no Value); GREBE_EUNSUPPORTED (times, decimals: cast them to string before);
 *         GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_class_encode_column(
    const grebe_dataset *ds, const char *column, bool include_nulls,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * Classes get other numbers. labels: a JSON object, label to id; case does not count.
 *
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_EINVAL (no ClassLabel, a label without a number); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_align_labels(
    const grebe_dataset *ds, const char *column, const char *labels,
    const grebe_transform_options *options, grebe_dataset **out, grebe_error *err);

/**
 * Rows as lists of batch_rows; or, with by_column, of consecutive rows equal in it.
 *
 * @return GREBE_OK; GREBE_EINVAL; GREBE_ENOTFOUND (column); GREBE_ELIMIT (a batch of 2^31 rows); GREBE_EIO; GREBE_ECANCELLED;
 *         GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_batch(const grebe_dataset *ds,
                                                            int64_t batch_rows,
                                                            const char *by_column,
                                                            bool drop_last_batch,
                                                            const grebe_transform_options *options,
                                                            grebe_dataset **out, grebe_error *err);

/**
 * Distinct values in the order of their first appearance.
 *
 * @param out, out_schema Owned by the caller.
 * @return GREBE_OK; GREBE_ENOTFOUND (column); GREBE_EUNSUPPORTED (unions); GREBE_ECORRUPT; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_unique(const grebe_dataset *ds,
                                                             const char *column,
                                                             struct ArrowArray *out,
                                                             struct ArrowSchema *out_schema,
                                                             grebe_error *err);

/**
 * The same rows with another format, split name, information (JSON) or fingerprint; NULL members keep what there is. But a format
 * without a fingerprint gives a new one, as set_format of `datasets` does.
 */
typedef struct grebe_dataset_labels {
    const grebe_dataset_format *format; /**< a format with type NULL: none */
    const char *split;                  /**< "": none */
    const char *info;
    const char *fingerprint;
} grebe_dataset_labels;
/** @return GREBE_OK; GREBE_EINVAL (kwargs of the format are no JSON object); GREBE_ENOMEM. */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_with(const grebe_dataset *ds,
                                                           const grebe_dataset_labels *labels,
                                                           grebe_dataset **out, grebe_error *err);

/* ---- writing ---- */

/** Fields beyond struct_size take their defaults. */
typedef struct grebe_save_options {
    uint32_t struct_size;
    int64_t max_shard_bytes; /**< 0: 500 MB; not together with n_shards */
    int64_t n_shards;        /**< 0: by size */
    bool is_durable;
    const grebe_call_options *call;
} grebe_save_options;

#define GREBE_SAVE_OPTIONS_INIT                               \
    {                                                         \
        sizeof(grebe_save_options), 0, 0, false, 0            \
    }

/**
 * Write a folder that grebe_dataset_load_from_disk(), and `datasets`, read. The folder appears whole or not at all; one
 * that is there and is a saved data set is replaced, another kind with content is refused (GREBE_EEXISTS).
 *
 * @return also GREBE_EINVAL (the folder holds files that this data set reads).
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_save_to_disk(const grebe_dataset *ds,
                                                                   const char *path,
                                                                   const grebe_save_options *options,
                                                                   grebe_error *err);

/**
 * Splits each in a folder of its name. names, sets: shape [n]. As grebe_dataset_save_to_disk() otherwise.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_save_dict(const char *const *names,
                                                                const grebe_dataset *const *sets,
                                                                size_t n, const char *path,
                                                                const grebe_save_options *options,
                                                                grebe_error *err);

/**
 * The data set as bytes that another process of this machine opens again: names of files, what memory holds, mapping.
 *
 * @param write Called on the caller's thread, any number of times.
 * @return GREBE_OK; GREBE_EIO (write failed: err->sys); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_pack(const grebe_dataset *ds,
                                                           grebe_write_fn write, void *write_ctx,
                                                           grebe_error *err);

/**
 * The data set of such bytes. out: owned by the caller.
 *
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_ENOTFOUND (a file is gone); GREBE_EIO; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_unpack(grebe_context *ctx, const void *bytes,
                                                             size_t len, grebe_dataset **out,
                                                             grebe_error *err);

/* ---- fingerprints ---- */

/**
 * The fingerprint of a transform, as `datasets` computes it for plain arguments.
 *
 * @param from      Fingerprint of what is transformed.
 * @param transform Qualified name with its version ("datasets.arrow_dataset.Dataset.shuffle").
 * @param arguments A JSON object of the arguments that count; "fingerprint_name": "new_fingerprint" is one of them
 *                  wherever the method of `datasets` gives a new data set.
 * @param out       Written: 16 digits and NUL.
 * @return GREBE_OK; GREBE_EINVAL (no JSON object); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_fingerprint(grebe_context *ctx, const char *from,
                                                          const char *transform,
                                                          const char *arguments, char out[17],
                                                          grebe_error *err);

/**
 * The hash of one plain value (JSON text).
 *
 * @return GREBE_OK; GREBE_EINVAL (no JSON); GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_fingerprint_value(grebe_context *ctx,
                                                                const char *value, char out[17],
                                                                grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
