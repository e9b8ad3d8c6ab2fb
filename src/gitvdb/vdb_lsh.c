/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_lsh.h"

static grebe_status not_yet(grebe_error *err)
{
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "collections of format 1 are not built in");
}

grebe_status vdb_lsh_load(struct vdb_snapshot *s, const struct vdb_tree *points, grebe_error *err)
{
    (void)s, (void)points;
    return not_yet(err);
}

grebe_status vdb_lsh_search(struct vdb_snapshot *s, const struct vdb_query *q, struct vdb_hit **hits, size_t *n,
                            struct vdb_search_stats *stats, grebe_error *err)
{
    (void)s, (void)q, (void)stats;
    *hits = NULL;
    *n = 0;
    return not_yet(err);
}

grebe_status vdb_lsh_write(struct vdb_pack *p, const struct vdb_built *points, struct vdb_oid *root, grebe_error *err)
{
    (void)p, (void)points, (void)root;
    return not_yet(err);
}

grebe_status vdb_lsh_validate(struct vdb_snapshot *s, bool is_full, uint64_t *checked, grebe_error *err)
{
    (void)s, (void)is_full;
    *checked = 0;
    return not_yet(err);
}
