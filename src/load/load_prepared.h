/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_PREPARED_H
#define GREBE_LOAD_LOAD_PREPARED_H

/* A prepared data set in the cache: a folder with Arrow files and dataset_info.json, which is written last. */

#include "load/load_plan.h"

struct prepared_split {
    const char *name;
    int64_t n_rows, n_bytes;
    size_t n_shards;
    const int64_t *shard_rows; /* shape [n_shards] */
    const char *const *paths;  /* shape [n_shards] */
};

struct prepared {
    struct arena arena;
    const char *folder;
    struct features *features; /* owned */
    const char *info; /* text of dataset_info.json */
    struct prepared_split *splits; /* shape [n] */
    size_t n;
};

/** <cache>/<dataset_name>/<config_id>/0.0.0/<hash>. Appends to dst. */
grebe_status prepared_folder(const struct load_plan *p, const char *cache, struct buf *dst, grebe_error *err);
/** "<dataset_name>-<split>.arrow", "<dataset_name>-<split>-00000-of-00002.arrow". Appends to dst. */
grebe_status prepared_shard_name(struct buf *dst, const char *dataset_name, const char *split, size_t shard, size_t n_shards,
                                 grebe_error *err);

/** What dataset_info.json says. GREBE_ENOTFOUND: there is none; GREBE_ECORRUPT. */
grebe_status prepared_read(const grebe_allocator *a, struct io_store *store, const char *folder, struct prepared **out,
                           grebe_error *err);
void prepared_free(struct prepared *p); /* NULL accepted */

/** Text of dataset_info.json. Appends to dst. splits: paths are not looked at. */
grebe_status prepared_info_text(const struct load_plan *p, const struct features *features,
                                const struct prepared_split *splits, size_t n, struct buf *dst, grebe_error *err);

/** The prepared data set of the plan: found in the cache, or made (load_prepare.c). */
grebe_status load_prepare(struct load_plan *p, struct prepared **out, grebe_error *err);

#endif
