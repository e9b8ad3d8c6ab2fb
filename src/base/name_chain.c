/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_chain.h"

#include <string.h>

#include "base/hash.h"

struct name_link {
    struct name_link *older;
    const char *name;
    size_t value;
};

enum { BUCKETS = 4096 };

static size_t bucket_of(const char *name) { return (size_t)hash_bytes(name, strlen(name), 0) & (BUCKETS - 1); }

bool name_chain_add(struct name_chain *x, struct arena *ar, const char *name, size_t value)
{
    if (x->buckets == NULL) {
        x->buckets = arena_array(ar, BUCKETS, sizeof(struct name_link *));
    }
    struct name_link *link = arena_alloc(ar, sizeof *link);
    if (x->buckets == NULL || link == NULL) {
        return false;
    }
    struct name_link **bucket = &x->buckets[bucket_of(name)];
    *link = (struct name_link){ *bucket, name, value };
    *bucket = link;
    return true;
}

size_t name_chain_find(const struct name_chain *x, const char *name)
{
    const struct name_link *link = x->buckets == NULL ? NULL : x->buckets[bucket_of(name)];
    while (link != NULL && strcmp(link->name, name) != 0) {
        link = link->older;
    }
    return link != NULL ? link->value : SIZE_MAX;
}
