/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_PLAN_H
#define GREBE_LOAD_LOAD_PLAN_H

/* What a call of the loaders means: loader, files of each split, options, features, and the names of it all in the cache. */

#include "builder/builder.h"
#include "grebe/dataset_load.h"
#include "load/load_card.h"
#include "load/load_module.h"

enum { LOAD_HASH_LEN = 16 };

struct load_plan {
    grebe_context *ctx;
    struct arena arena;
    struct io_store *store;
    grebe_load_options options; /* every default filled in; texts borrowed from the caller */
    const struct builder_kind *kind;
    const char *base; /* absolute: what patterns and paths in metadata are relative to */
    const char *dataset_name, *config_name;
    struct load_file_set files;
    const struct json_value *format_options; /* an object */
    struct features *features;               /* owned; NULL: from the files */
    struct load_card *card;                  /* owned; NULL: the path names a format */
    const struct load_info *info;            /* of the card; NULL: nothing is said */
    const char *config_id;                   /* config_name and 16 digits */
    char hash[LOAD_HASH_LEN + 1];            /* of the files, their sizes and times */
};

/** GREBE_EINVAL, GREBE_ENOTFOUND, GREBE_EUNSUPPORTED as grebe_dataset_load() has them. */
grebe_status load_plan_new(grebe_context *ctx, const char *path, const grebe_load_options *options, struct load_plan **out,
                           grebe_error *err);
void load_plan_free(struct load_plan *p); /* NULL accepted */

/** A loader for the plan; the request's memory is the plan's. threads: of one reader. */
grebe_status load_plan_builder(struct load_plan *p, const grebe_call_options *call, struct builder **out, grebe_error *err);

/** The cache's folder: as asked, or as the environment says. In the arena. */
grebe_status load_cache_folder(struct arena *ar, const char *asked, const char **out, grebe_error *err);

/** snake_case of a folder's name: what a data set is called. Appends to dst. */
grebe_status load_dataset_name(struct buf *dst, const char *folder, grebe_error *err);

#endif
