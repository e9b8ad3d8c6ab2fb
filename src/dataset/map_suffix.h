/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MAP_SUFFIX_H
#define GREBE_DATASET_MAP_SUFFIX_H

/* What stands behind the name of a part's file: a template with "{rank}" and "{num_proc}", ":05d" behind them allowed.
 */

#include <stdbool.h>

#include "base/buf.h"

#define MAP_SUFFIX_DEFAULT "_{rank:05d}_of_{num_proc:05d}"

/** Each of the two fields just once. GREBE_EINVAL. */
grebe_status map_suffix_check(const char *template, grebe_error *err);
/** Appended. template: checked. */
grebe_status map_suffix_put(const char *template, int32_t rank, int32_t n, struct buf *dst, grebe_error *err);
/** Whether len bytes are such a suffix, and of which part. */
bool map_suffix_parse(const char *template, const char *text, size_t len, int32_t *rank, int32_t *n);

#endif
