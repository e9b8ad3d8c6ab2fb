/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_EXACT_INTERNAL_H
#define GREBE_INDEX_INDEX_EXACT_INTERNAL_H

/* One batch of queries of an exact search. */

#include "index/index_exact.h"

struct exact_job {
    grebe_context *ctx;
    const struct index_store *store;
    const struct index_list *rows;
    const struct index_search *s;
    size_t k, n;                  /* k: at most the rows of the list; queries of the batch */
    const unsigned char *queries; /* in the store's form, shape [n][store->stride] */
    uint32_t *positions;          /* results, shape [n][s->k] */
    float *distances;
};

/** How many queries a batch may have, so that selections and queries stay within some megabytes. */
size_t exact_batch(const struct index_store *store, size_t k);

/** Row by row: rows [begin, end) of the list, n queries into their selections. */
void exact_scan(const struct exact_job *job, size_t begin, size_t end, size_t query, size_t n, struct topk *tops);

grebe_status exact_by_rows(const struct exact_job *job, grebe_error *err);
grebe_status exact_by_tiles(const struct exact_job *job, grebe_error *err);

static inline const void *exact_query(const struct exact_job *job, size_t i)
{
    return job->queries + i * job->store->stride;
}

static inline uint32_t exact_position(const struct index_list *l, size_t i)
{
    return l->positions == NULL ? (uint32_t)i : l->positions[i];
}

#endif
