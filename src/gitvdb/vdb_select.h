/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_SELECT_H
#define GREBE_GITVDB_VDB_SELECT_H

/* Rows of a snapshot by ids and filter. */

#include "gitvdb/vdb_filter.h"
#include "gitvdb/vdb_snapshot.h"

struct vdb_selection {
    const struct vdb_id *ids; /* sorted, each once; shape [n_ids] */
    size_t n_ids;
    bool has_ids;                    /* false: every id */
    const struct vdb_filter *filter; /* NULL: none */
};

/**
 * Places of the rows that ids and filter both name, ascending by (shard, row). Ids of the shards looked at are loaded, payloads where
 * the filter needs them.
 *
 * @param out Owned: mem_free(s->a, *out, *n * sizeof **out).
 */
grebe_status vdb_select_rows(struct vdb_snapshot *s, const struct vdb_work *work, const struct vdb_selection *which,
                             struct vdb_place **out, size_t *n, grebe_error *err);

/** The order of (shard, row), for qsort() of struct vdb_place. */
int vdb_place_compare(const void *x, const void *y);
/** Put places in the order of their ids. */
grebe_status vdb_sort_places(const struct vdb_snapshot *s, struct vdb_place *places, size_t n, grebe_error *err);

/** Where an id stands in a snapshot; loads the ids of its shard. */
grebe_status vdb_find_id(struct vdb_snapshot *s, const struct vdb_id *id, struct vdb_place *at, bool *found,
                         grebe_error *err);

#endif
