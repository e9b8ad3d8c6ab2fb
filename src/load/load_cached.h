/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_CACHED_H
#define GREBE_LOAD_LOAD_CACHED_H

/* A data set of a hub that was prepared before, by `datasets` or by us: "name", "owner/name" in the cache. */

#include "load/load_prepared.h"

/** Whether a path could be a hub's name: at most one '/', no folder of this machine, no loader. */
bool load_is_hub_name(grebe_context *ctx, const char *path);

/**
 * The newest entry of the data set in the cache.
 *
 * @param plan Made for it: names alone. Owned by the caller.
 * @return GREBE_ENOTFOUND (nothing of that name, of that config); GREBE_EINVAL (several configs, none of them default).
 */
grebe_status load_cached(grebe_context *ctx, const char *name, const grebe_load_options *options, struct load_plan **plan,
                         struct prepared **out, grebe_error *err);

#endif
