/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_SEARCH_H
#define GREBE_GITVDB_VDB_SEARCH_H

/* Nearest points of a snapshot: exact over all rows, or through the index (format 2: the inverted file, format 1: LSH). */

#include "gitvdb/vdb_filter.h"
#include "gitvdb/vdb_snapshot.h"

enum vdb_search_mode { VDB_SEARCH_AUTO, VDB_SEARCH_EXACT, VDB_SEARCH_APPROXIMATE };

struct vdb_query {
    const float *vector; /* shape [dim], checked: finite */
    uint64_t limit;
    enum vdb_search_mode mode;
    uint64_t probes, candidate_limit; /* 0: default */
    const struct vdb_filter *filter;  /* NULL: none */
};

struct vdb_hit {
    struct vdb_place at;
    double score; /* f64; reported as (float)score. Format 1's index rounds it to float before sorting */
};

struct vdb_search_stats {
    bool is_exact;
    uint64_t collection_points, buckets_probed, candidates_discovered, vectors_scored;
    bool probe_limit_exhausted, candidate_limit_exhausted;
};

/**
 * Score descending (total order of floats), id ascending. Ids are loaded only for shards in which hits tie or are returned.
 *
 * @param hits Owned: mem_free(s->a, *hits, *n * sizeof **hits). Never more than the points.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_ECANCELLED; GREBE_ENOMEM; GREBE_EIO.
 * Cost: exact: every vector is read once, in f32; those that may be among the first `limit` are scored again in f64.
 */
grebe_status vdb_search(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_query *q,
                        struct vdb_hit **hits, size_t *n, struct vdb_search_stats *stats, grebe_error *err);

#endif
