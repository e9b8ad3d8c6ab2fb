/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_CACHE_H
#define GREBE_LOAD_LOAD_CACHE_H

/* What lies in a cache: prepared data sets, files that transforms left in them, and what was never finished. */

#include "base/arena.h"
#include "grebe/dataset_load.h"
#include "io/io.h"

enum cache_kind { CACHE_PREPARED, CACHE_MAP, CACHE_INDICES, CACHE_UNFINISHED };

struct cache_entry {
    const char *path; /* of a folder (prepared, unfinished) or a file */
    enum cache_kind kind;
    bool is_folder;
    const char *dataset, *config; /* NULL: not to be told from the path */
    int64_t bytes, rows;          /* rows -1: not known */
    int64_t modified_us, used_us; /* the latest of its files */
    const char *reason;           /* why it is removed; NULL: it stays */
};

struct cache_entries {
    struct cache_entry *items; /* shape [n], by path */
    size_t n, capacity;
};

/** @param cache Absolute. In the arena. */
grebe_status cache_find(struct arena *ar, grebe_context *ctx, struct io_store *store, const char *cache,
                        struct cache_entries *out, grebe_error *err);
/** Rows as grebe_cache_list() gives them, of the entries that have a reason or (with_reason false) of all. */
grebe_status cache_rows(grebe_context *ctx, const struct cache_entries *entries, bool with_reason,
                        struct ArrowArrayStream *out, grebe_error *err);

#endif
