/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_ROW_SET_H
#define GREBE_DATASET_ROW_SET_H

/* Distinct values in the order of their first appearance, by their keys (row_key.h). */

#include <stdbool.h>

#include "base/buf.h"

struct row_set {
    const grebe_allocator *a;
    struct buf keys; /* all keys, one after another */
    struct buf ends; /* size_t: where each ends */
    size_t *slots;   /* number of the key + 1; 0: free; shape [mask + 1] */
    size_t mask, n;
};

void row_set_init(struct row_set *s, const grebe_allocator *a);
void row_set_release(struct row_set *s);
/** @param i Number of the key among the distinct ones. @param is_new Written. */
grebe_status row_set_put(struct row_set *s, const void *key, size_t len, size_t *i, bool *is_new, grebe_error *err);

#endif
