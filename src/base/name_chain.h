/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_NAME_CHAIN_H
#define GREBE_BASE_NAME_CHAIN_H

/*
 * Names to numbers in an arena, in small pieces: for names of files whose sizes bound what is allocated at once. Beyond some hundred
 * thousand names a base/name_index.h is faster.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct name_link;

/** Zeroed: empty. Lives as long as its arena. Not thread-safe while it is filled. */
struct name_chain {
    struct name_link **buckets; /* NULL: nothing was added */
};

/** @param name Borrowed. A name that is there already is found with its new number from now on. @return false: no memory. */
bool name_chain_add(struct name_chain *x, struct arena *ar, const char *name, size_t value);
/** The number that was added last for the name; SIZE_MAX: none. */
size_t name_chain_find(const struct name_chain *x, const char *name);

#endif
