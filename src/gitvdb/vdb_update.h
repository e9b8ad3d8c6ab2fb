/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_UPDATE_H
#define GREBE_GITVDB_VDB_UPDATE_H

/* One commit on a collection: read the reference, make a root, publish the pack, move the reference if it is still what was read. */

#include "gitvdb/vdb_api.h"
#include "gitvdb/vdb_build.h"

enum { VDB_MESSAGE_MAX = 256, VDB_UPDATE_ATTEMPTS = 500, VDB_LOCK_ATTEMPTS = 30 };

/** What an update stands on and what it makes. */
struct vdb_step {
    grebe_vdb *vdb;
    const char *name;
    struct vdb_work work;
    struct vdb_view *view;      /* the root that was read */
    struct repo_oid commit;      /* its commit */
    struct repo_pack *pack;      /* for new objects */
    /* set by the maker */
    struct repo_oid root;
    uint64_t affected;
    char message[VDB_MESSAGE_MAX];
    bool has_second_parent;     /* a merge */
    struct repo_oid second_parent;
    bool is_settled;            /* no commit is made: the reference stays, or goes on to second_parent */
};

/** Make the new root of a step. Called again, on the new state, when somebody else committed in between. */
typedef grebe_status (*vdb_make_fn)(void *arg, struct vdb_step *step, grebe_error *err);

/**
 * @param expect_root NULL: any.
 * @param out {"root":…,"affected_points":…}
 * @return What make() gives; GREBE_ENOTFOUND; GREBE_ECONFLICT: the root is not expect_root, or VDB_UPDATE_ATTEMPTS were in vain.
 */
grebe_status vdb_update(grebe_vdb *vdb, const char *name, const char *expect_root, const grebe_call_options *call,
                        vdb_make_fn make, void *arg, grebe_vdb_result **out, grebe_error *err);

/** That a text is 1 to 40 hexadecimal digits (or NULL). GREBE_EINVAL. */
grebe_status vdb_expect_check(const char *expect_root, grebe_error *err);
/** That root is the one expected (or NULL is): as text, so that short or upper-case digits never are. GREBE_ECONFLICT. */
grebe_status vdb_expect_root(const char *expect_root, const struct repo_oid *root, grebe_error *err);

/** Publish the pack, and let the reference be `commit` if it still is `old` (NULL: is not there). A conflict may be tried again:
 *  vdb_may_retry(). */
grebe_status vdb_publish(grebe_vdb *vdb, const char *name, const struct repo_oid *old, const struct repo_oid *commit,
                         struct repo_pack *pack, grebe_error *err);
/** Whether an attempt that failed with st and e is worth another. */
bool vdb_may_retry(grebe_status st, const grebe_error *e, unsigned attempt);

/** Wait before the next attempt, longer each time, by chance. GREBE_OK; GREBE_ECANCELLED. */
grebe_status vdb_back_off(grebe_vdb *vdb, const struct vdb_work *work, unsigned attempt, grebe_error *err);

/** A content that was made from `from` (NULL: nothing changed) as the step's root. */
grebe_status vdb_step_write(struct vdb_step *step, struct vdb_built *from, struct vdb_built *to, grebe_error *err);

#endif
