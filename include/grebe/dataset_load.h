/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_LOAD_H
#define GREBE_DATASET_LOAD_H

/*
 * Local files as data sets: by path, folder or pattern, with splits, converted once into a cache of Arrow files, or read
 * as a stream (docs/format/dataset_files.md). And the cache: what lies in it, and its removal.
 */

#include "grebe/dataset.h"
#include "grebe/iterable.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grebe_load_mode {
    GREBE_LOAD_REUSE = 0, /**< what the cache has is taken */
    GREBE_LOAD_AGAIN = 1  /**< is made anew */
} grebe_load_mode;

/** What is loaded. Fields beyond struct_size take their defaults. Everything is borrowed for the call. */
typedef struct grebe_load_options {
    uint32_t struct_size;

    /** Name of the configuration; NULL: the default one. */
    const char *config;
    /** Folder of the data below the path, or, where the path names a format, of anywhere; NULL: none. */
    const char *data_dir;
    /** Files: JSON, a text, an array of texts, an object of splits, or an array of {"split", "path"}; NULL: by the usual names. */
    const char *data_files;
    /** Split grammar ("train", "train[:10%]+test"); NULL: all splits, each under its name. */
    const char *split;
    /** Folder of the cache; NULL: as the environment says (HF_DATASETS_CACHE, HF_HOME, …). */
    const char *cache_dir;
    /** Features that columns shall have, JSON; NULL: from the files. */
    const char *features;
    /** Options of the format ("sep", "columns", "field", …), a JSON object; NULL: none. */
    const char *format_options;
    grebe_load_mode mode;
    /** Sizes of splits that the folder tells of are not compared. */
    bool skip_verification;
    bool keep_in_memory;
    int64_t max_shard_bytes; /**< 0: 500 MB */
    /** Processes or threads that work side by side, files at most; 0: by the call's threads. */
    int32_t n_jobs;
    const grebe_call_options *call;
} grebe_load_options;

#define GREBE_LOAD_OPTIONS_INIT                                                                          \
    {                                                                                                    \
        sizeof(grebe_load_options), 0, 0, 0, 0, 0, 0, 0, GREBE_LOAD_REUSE, false, false, 0, 0, 0             \
    }

/**
 * @param path "csv", "json", "parquet", "arrow", "text", "imagefolder", "audiofolder", "videofolder", "webdataset", "conll",
 *             "xml", or a folder.
 * @param out  One data set a split; with options->split one alone, under its canonical spelling. Owned by the caller.
 * @return GREBE_OK; GREBE_EINVAL (arguments, a saved data set: use grebe_dataset_load_from_disk()); GREBE_ENOTFOUND (folder,
 *         file, pattern, configuration, split); GREBE_ESCHEMA (files of different columns, values that do not fit, recorded
 *         sizes); GREBE_ECORRUPT (with file, line, column); GREBE_EUNSUPPORTED; GREBE_ELIMIT; GREBE_EIO; GREBE_ENOMEM.
 *
 * Processes: several may load the same; one prepares, the others wait.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_dataset_load(grebe_context *ctx, const char *path,
                                                           const grebe_load_options *options,
                                                           grebe_dataset_dict **out,
                                                           grebe_error *err);

/** Streams by name of split. */
typedef struct grebe_iterable_dict grebe_iterable_dict;
/** @return How many streams. */
GREBE_API size_t grebe_iterable_dict_len(const grebe_iterable_dict *dict);
/** @return The name of stream i. Borrowed. */
GREBE_API const char *grebe_iterable_dict_name(const grebe_iterable_dict *dict, size_t i);
/** @return Stream i, which the dict owns. */
GREBE_API const grebe_iterable *grebe_iterable_dict_get(const grebe_iterable_dict *dict, size_t i);
/** @param dict NULL is accepted. */
GREBE_API void grebe_iterable_dict_free(grebe_iterable_dict *dict); /**< NULL accepted. Streams that were kept stay. */

/**
 * The same files read as they are, without a cache. Recorded numbers of rows are compared when the last file of a split was read.
 *
 * @param options split: a name, names joined by '+', or "all"; n_jobs: none.
 * @param out     Owned by the caller, grebe_iterable_dict_free(); NULL on failure.
 * @return as grebe_dataset_load().
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_iterable_load(grebe_context *ctx, const char *path,
                                                            const grebe_load_options *options,
                                                            grebe_iterable_dict **out,
                                                            grebe_error *err);

/* ---- the cache ---- */

/**
 * What lies in a cache: one row a file or prepared data set, with
 *   path, kind ("prepared", "map", "indices", "unfinished"), dataset, config, split, bytes, rows, modified (timestamp[us, UTC]).
 *
 * @param cache_dir NULL: as the environment says. Borrowed.
 * @param out       Owned by the caller.
 * @return GREBE_OK (a cache that is not there is empty); GREBE_EINVAL; GREBE_EIO; GREBE_ELIMIT; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_cache_list(grebe_context *ctx, const char *cache_dir,
                                                         struct ArrowArrayStream *out,
                                                         grebe_error *err);

/** What is removed. Fields beyond struct_size take their defaults. */
typedef struct grebe_cache_remove_options {
    uint32_t struct_size;
    const char *path;            /**< only below this path, or this file; NULL: anything */
    int64_t max_bytes;           /**< oldest first until so much is left; -1: no such limit */
    int64_t older_than_us;       /**< not used for so long; -1: any age */
    bool is_unfinished_only;
    bool is_dry_run;
} grebe_cache_remove_options;

#define GREBE_CACHE_REMOVE_OPTIONS_INIT                                \
    {                                                                  \
        sizeof(grebe_cache_remove_options), 0, -1, -1, false, false    \
    }

/**
 * Remove from a cache. What somebody is making, and temporary files younger than an hour, stay; locks go with their folders.
 *
 * @param options Borrowed; NULL: everything.
 * @param out     What was (is_dry_run: would be) removed, and why: rows as grebe_cache_list() gives, and reason. Owned by the caller.
 * @return GREBE_OK; GREBE_EINVAL (a path outside of the cache); GREBE_EIO; GREBE_ELIMIT; GREBE_ENOMEM.
 */
GREBE_API GREBE_MUST_CHECK grebe_status grebe_cache_remove(
    grebe_context *ctx, const char *cache_dir, const grebe_cache_remove_options *options,
    struct ArrowArrayStream *out, grebe_error *err);

#ifdef __cplusplus
}
#endif
#endif
