/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_PATTERNS_H
#define GREBE_LOAD_LOAD_PATTERNS_H

/*
 * Which files are the data of which split: what the caller or a README names, or the usual names of files and folders
 * (docs/format/dataset_files.md).
 */

#include "load/load_glob.h"
#include "wire/json.h"

/** A split and its patterns. */
struct load_patterns {
    const char *split;
    const char *const *patterns; /* shape [n] */
    size_t n;
};

/** Splits in order. */
struct load_pattern_set {
    struct load_patterns *splits; /* shape [n] */
    size_t n;
    bool is_default; /* usual names: a file that several patterns of a split fit is there once */
    struct load_files all; /* is_default: what the folder holds */
};

/** A split and its files. */
struct load_split_files {
    const char *split;
    struct load_files files;
};
struct load_file_set {
    struct load_split_files *splits; /* shape [n] */
    size_t n;
};

/** Whether a text is a name of a split: words joined by dots. */
bool load_is_split_name(const char *name, size_t len);

/** GREBE_EINVAL where it is none. */
grebe_status load_check_split_name(const char *name, grebe_error *err);

/** The forms of data_files: a text, a list of texts, an object of splits, a list of {"split", "path"}. GREBE_EINVAL. */
grebe_status load_patterns_of(struct arena *ar, const struct json_value *data_files, struct load_pattern_set *out,
                              grebe_error *err);

/* ---- load_patterns_default.c ---- */

/** By the usual names, the first of the attempts that finds a file. GREBE_ENOTFOUND: there are no files. */
grebe_status load_patterns_default(struct arena *ar, struct io_store *store, const char *base, struct load_pattern_set *out,
                                   grebe_error *err);

/* ---- load_files.c ---- */

/** Whether a file that a pattern fits is data: neither hidden nor of usual other use, unless the pattern names it so. */
bool load_is_data(const char *path, const char *pattern);
/** A pattern below a folder, whose own name stands for itself; NULL: no memory. */
const char *load_pattern_below(struct arena *ar, const char *base, const char *rest);

/** Whether a name has a suffix (".csv" of "a.csv.gz") that some loader reads; upper case only of media. */
typedef bool (*load_extension_fn)(const char *suffix, size_t len);

/**
 * The files of all splits, without those that are not data.
 *
 * @param base       Absolute; in front of relative patterns.
 * @param is_allowed NULL: any suffix.
 * @return GREBE_ENOTFOUND "unable to find …"; GREBE_EINVAL.
 */
grebe_status load_patterns_resolve(struct arena *ar, struct io_store *store, const char *base,
                                   const struct load_pattern_set *set, load_extension_fn is_allowed,
                                   struct load_file_set *out, grebe_error *err);

/** Sizes and times of all files. GREBE_ENOTFOUND, GREBE_EIO. */
grebe_status load_files_stat(struct io_store *store, struct load_file_set *set, grebe_error *err);

#endif
