/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_SEARCH_INTERNAL_H
#define GREBE_GITVDB_VDB_SEARCH_INTERNAL_H

/* What the kinds of search share; for vdb_search*.c and vdb_lsh_search.c. */

#include "gitvdb/vdb_topk.h"

/** The format's cosine of a query whose length `root` is known: the same bits as vdb_cosine(). */
double vdb_score_row(const float *query, double root, const float *row, uint32_t dim);

/** Parts that a filter looks at; NULL: none. */
uint32_t vdb_filter_parts(const struct vdb_filter *f);
/** Whether a row of a loaded shard passes. */
grebe_status vdb_filter_row(const struct vdb_filter *f, struct vdb_filter_state *state, const struct vdb_shard *shard,
                            uint32_t row, bool *is_match, grebe_error *err);

/** Search through the inverted file. */
grebe_status vdb_search_ivf(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                            struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err);

#endif
