/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_MODULE_H
#define GREBE_LOAD_LOAD_MODULE_H

/* Which loader reads the files of a folder: by the suffix that most of them have. */

#include "load/load_patterns.h"

/** A loader by name. */
struct load_module {
    const char *name;
    const char *option, *option_value; /* one that goes with the suffix: "sep" of .tsv; NULL: none */
};

/** Whether the library knows a loader of that name, whether or not this one has it. */
bool load_is_module(const char *name);

/** Suffixes of all loaders and ".zip": load_extension_fn. Media in upper case too. */
bool load_is_any_extension(const char *suffix, size_t len);

/**
 * @return GREBE_OK; GREBE_EINVAL (splits of different formats); GREBE_ENOTFOUND (no file of a known suffix).
 */
grebe_status load_module_infer(struct arena *ar, struct io_store *store, const char *base, const struct load_file_set *set,
                               struct load_module *out, grebe_error *err);

/** Leaves the files that the loader reads: its suffixes (perhaps with one behind them, ".csv.gz"), .zip, metadata files. */
void load_module_filter(const char *module, struct load_file_set *set);

#endif
