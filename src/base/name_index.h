/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_NAME_INDEX_H
#define GREBE_BASE_NAME_INDEX_H

/* Names to numbers: tables have tens of thousands of columns and files, and each is looked up. */

#include <stdbool.h>

#include "base/alloc.h"
#include "grebe/status.h"

struct name_slot {
    const char *name; /* borrowed; NULL: free */
    size_t value;
};

/** Not thread-safe while it is filled; free to read from any thread afterwards. */
struct name_index {
    const grebe_allocator *a;
    struct name_slot *slots; /* shape [n_slots], a power of two */
    size_t n_slots;
    size_t n;
};

/**
 * An empty index.
 *
 * @param n_expected Names that will come; more of them make it grow.
 * @param out        Owned; name_index_release(). Empty on failure.
 */
grebe_status name_index_new(const grebe_allocator *a, size_t n_expected, struct name_index *out,
                            grebe_error *err);
void name_index_release(struct name_index *x); /* an empty one is accepted */

/**
 * Add a name; one that is there keeps its number.
 *
 * @param name     Borrowed as long as the index lives.
 * @param is_there Whether the name was there already. May be NULL.
 */
grebe_status name_index_add(struct name_index *x, const char *name, size_t value, bool *is_there,
                            grebe_error *err);

/** The number of the name; NULL: it is not there. Valid until the next name is added. */
size_t *name_index_find(const struct name_index *x, const char *name);

#endif
