/* SPDX-License-Identifier: Apache-2.0 */
/* Merging by id: what one side changed since the common version is taken, what both changed differently is a conflict. */
#include "gitvdb/vdb_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gitvdb/vdb_changes.h"
#include "gitvdb/vdb_select.h"
#include "gitvdb/vdb_update.h"

enum prefer { PREFER_NONE, PREFER_OURS, PREFER_THEIRS };

struct merge_job {
    const char *revision;
    enum prefer prefer;
    grebe_vdb_result *conflicts; /* made when there are any */
};

/* One attempt: the three versions, what each side changed, and what is to be done to ours. */
struct merge {
    struct vdb_step *step;
    struct merge_job *job;
    struct vdb_view *base, *theirs; /* base NULL: no common version */
    struct repo_oid base_commit;
    struct vdb_changes changes;     /* base to theirs */
    struct vdb_points set;
    struct buf gone;                /* struct vdb_place of ours */
    struct buf conflicts;           /* struct vdb_value */
};

static struct vdb_snapshot *ours_of(const struct merge *m) { return m->step->view->snapshot; }

/* Whether ours still is what the base was: at a NULL place the point is not there. */
static grebe_status is_as_base(struct merge *m, const struct vdb_id *id, const struct vdb_place *ours, bool *out,
                               grebe_error *err)
{
    struct vdb_place base = { 0, 0 };
    bool in_base = false;
    grebe_status st = GREBE_OK;
    if (m->base != NULL) {
        GREBE_TRY(vdb_find_id(m->base->snapshot, id, &base, &in_base, err));
    }
    *out = in_base == (ours != NULL);
    if (in_base && ours != NULL) {
        GREBE_TRY(vdb_snapshot_load(m->base->snapshot, base.shard, VDB_PART_ALL, err));
        *out = vdb_points_equal(m->base->snapshot, base, ours_of(m), *ours);
    }
out:
    return st;
}

static grebe_status take_theirs(struct merge *m, const struct vdb_id *id, const struct vdb_place *theirs,
                                const struct vdb_place *ours, grebe_error *err)
{
    if (theirs == NULL) {
        return ours == NULL ? GREBE_OK : buf_put(&m->gone, ours, sizeof *ours, err);
    }
    const struct vdb_shard *shard = &m->theirs->snapshot->shards[theirs->shard];
    size_t len;
    const char *payload = (const char *)vdb_rows_get(&shard->payloads, theirs->row, &len);
    return vdb_points_add(&m->set, id, shard->vectors.values + (size_t)theirs->row * shard->vectors.dim, shard->vectors.dim,
                          payload, len, err);
}

static grebe_status note_conflict(struct merge *m, const struct vdb_id *id, bool is_there, bool is_here, grebe_error *err)
{
    struct vdb_object_maker o;
    struct vdb_value v;
    grebe_status st = GREBE_OK;
    if (m->job->conflicts == NULL) {
        GREBE_TRY(vdb_result_new(m->step->vdb, &m->job->conflicts, err));
    }
    struct arena *ar = &m->job->conflicts->ar;
    struct vdb_value id_v = vdb_id_to_json(id);
    vdb_object_begin(&o, ar, 3);
    if (id_v.type == VDB_STRING) {
        id_v.s.text = arena_str(ar, id_v.s.text, id_v.s.len);
        o.is_failed = o.is_failed || id_v.s.text == NULL;
    }
    vdb_object_add(&o, "id", id_v);
    vdb_object_add(&o, "ours", vdb_text(is_here ? "set" : "deleted"));
    vdb_object_add(&o, "theirs", vdb_text(is_there ? "set" : "deleted"));
    GREBE_TRY(vdb_object_end(&o, &v, err));
    GREBE_TRY(buf_put(&m->conflicts, &v, sizeof v, err));
out:
    return st;
}

/* One point that theirs changed; `at` is a place of theirs (set) or of the base (removed). */
static grebe_status merge_point(struct merge *m, int kind, struct vdb_place at, grebe_error *err)
{
    struct vdb_snapshot *side = kind == VDB_REMOVED ? m->base->snapshot : m->theirs->snapshot, *ours = ours_of(m);
    const struct vdb_place *theirs = kind == VDB_REMOVED ? NULL : &at;
    struct vdb_place here;
    bool is_here, is_untouched, is_same = false;
    grebe_status st;
    GREBE_TRY(vdb_snapshot_load(side, at.shard, VDB_PART_ALL, err));
    struct vdb_id id = vdb_rows_id(&side->shards[at.shard].ids, at.row);
    GREBE_TRY(vdb_find_id(ours, &id, &here, &is_here, err));
    if (is_here) {
        GREBE_TRY(vdb_snapshot_load(ours, here.shard, VDB_PART_ALL, err));
    }
    GREBE_TRY(is_as_base(m, &id, is_here ? &here : NULL, &is_untouched, err));
    if (!is_untouched) {
        is_same = theirs == NULL && !is_here;
        if (theirs != NULL && is_here) {
            is_same = vdb_points_equal(m->theirs->snapshot, *theirs, ours, here);
        }
        if (!is_same && m->job->prefer == PREFER_NONE) {
            return note_conflict(m, &id, theirs != NULL, is_here, err);
        }
    }
    if (is_untouched || (!is_same && m->job->prefer == PREFER_THEIRS)) {
        st = take_theirs(m, &id, theirs, is_here ? &here : NULL, err);
    }
out:
    return st;
}

static grebe_status list_conflicts(struct merge *m, grebe_error *err)
{
    grebe_vdb_result *r = m->job->conflicts;
    struct vdb_object_maker o;
    size_t n = m->conflicts.len / sizeof(struct vdb_value);
    struct vdb_value *list = arena_array(&r->ar, n, sizeof *list);
    if (list == NULL) {
        return mem_fail(err, m->conflicts.len, "conflicts");
    }
    memcpy(list, m->conflicts.data, m->conflicts.len);
    repo_oid_hex(&ours_of(m)->root, r->root);
    r->count = n;
    vdb_object_begin(&o, &r->ar, 2);
    vdb_object_add(&o, "conflicts", vdb_list(list, n));
    vdb_object_add(&o, "root", vdb_text(r->root));
    grebe_status st = vdb_object_end(&o, &r->value, err);
    return st != GREBE_OK ? st
                          : GREBE_FAIL(err, GREBE_ECONFLICT, "%zu points changed on both sides since the common version", n);
}

/* A collection's name is its newest version, whatever else git may know by it. */
static grebe_status find_theirs(grebe_vdb *vdb, const char *revision, bool *is_commit, struct repo_oid *commit,
                                struct repo_oid *root, grebe_error *err)
{
    *is_commit = true;
    return repo_name_check(revision, NULL) == GREBE_OK && repo_ref_read(vdb->repo, revision, commit, root, NULL) == GREBE_OK
               ? GREBE_OK
               : vdb_revision(vdb, revision, is_commit, commit, root, err);
}

static grebe_status open_sides(struct merge *m, grebe_error *err)
{
    struct vdb_step *step = m->step;
    struct repo_oid theirs_root;
    struct repo_commit base;
    struct arena ar = ARENA_INIT(step->vdb->a);
    bool is_commit;
    grebe_status st;
    GREBE_TRY(find_theirs(step->vdb, m->job->revision, &is_commit, &step->second_parent, &theirs_root, err));
    if (!is_commit) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a commit to merge, found a tree");
        goto out;
    }
    step->has_second_parent = true;
    GREBE_TRY(vdb_view_open(step->vdb, &theirs_root, &m->theirs, err));
    const struct vdb_config *x = &ours_of(m)->meta.config, *y = &m->theirs->snapshot->meta.config;
    if (x->dimension != y->dimension) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a collection of dimension %u, found %u", (unsigned)x->dimension,
                        (unsigned)y->dimension);
        goto out;
    }
    st = repo_merge_base(step->vdb->repo, &step->commit, &step->second_parent, &m->base_commit, err);
    if (st == GREBE_ENOTFOUND) {
        st = GREBE_OK;
        goto out;
    }
    GREBE_TRY(st);
    GREBE_TRY(repo_commit_read(step->vdb->repo, &m->base_commit, &ar, &base, err));
    GREBE_TRY(vdb_view_open(step->vdb, &base.root, &m->base, err));
out:
    arena_release(&ar);
    return st;
}

/* Everything that theirs has, for histories that never met. */
static grebe_status all_of_theirs(struct merge *m, grebe_error *err)
{
    struct vdb_selection everything = { 0 };
    m->changes = (struct vdb_changes){ .a = m->step->vdb->a };
    return vdb_select_rows(m->theirs->snapshot, &m->step->work, &everything, &m->changes.places[VDB_ADDED],
                           &m->changes.n[VDB_ADDED], err);
}

static grebe_status write_merged(struct merge *m, grebe_error *err)
{
    struct vdb_step *step = m->step;
    struct vdb_built *from = NULL, *to = NULL;
    size_t n_gone = m->gone.len / sizeof(struct vdb_place);
    grebe_status st;
    if (n_gone != 0) {
        qsort(m->gone.data, n_gone, sizeof(struct vdb_place), vdb_place_compare);
    }
    struct vdb_change change = { &m->set, (const struct vdb_place *)(const void *)m->gone.data, n_gone };
    GREBE_TRY(vdb_built_from(ours_of(m), &step->work, &from, err));
    GREBE_TRY(vdb_built_apply(from, &step->work, &change, &to, err));
    GREBE_TRY(vdb_step_write(step, from, to, err));
    step->affected = m->set.n + n_gone;
    snprintf(step->message, sizeof step->message, "merge %.200s", m->job->revision);
out:
    vdb_built_free(to);
    vdb_built_free(from);
    return st;
}

/* One side is the common version: there is nothing to join. *is_done false: both went on. */
static grebe_status settle(struct merge *m, bool *is_done, grebe_error *err)
{
    struct vdb_step *step = m->step;
    bool is_ahead = m->base != NULL && repo_oid_equal(&m->base_commit, &step->second_parent);
    bool is_behind = m->base != NULL && repo_oid_equal(&m->base_commit, &step->commit);
    *is_done = step->is_settled = is_ahead || is_behind;
    if (is_ahead) {
        step->root = ours_of(m)->root;
        step->has_second_parent = false;
        return GREBE_OK;
    }
    if (!is_behind) {
        return GREBE_OK;
    }
    step->root = m->theirs->snapshot->root;
    grebe_status st = vdb_changes_find(m->base->snapshot, m->theirs->snapshot, &step->work, &m->changes, err);
    for (int kind = 0; kind < VDB_CHANGE_KINDS; kind++) {
        step->affected += m->changes.n[kind];
    }
    return st;
}

static grebe_status make_merge(void *arg, struct vdb_step *step, grebe_error *err)
{
    struct merge m = { .step = step, .job = arg };
    bool is_done = false;
    grebe_status st;
    m.changes = (struct vdb_changes){ .a = step->vdb->a };
    m.gone = BUF_INIT(step->vdb->a);
    m.conflicts = BUF_INIT(step->vdb->a);
    vdb_points_init(&m.set, step->vdb->a);
    grebe_vdb_result_free(m.job->conflicts);
    m.job->conflicts = NULL;
    GREBE_TRY(open_sides(&m, err));
    GREBE_TRY(settle(&m, &is_done, err));
    if (is_done) {
        goto out;
    }
    GREBE_TRY(m.base == NULL ? all_of_theirs(&m, err)
                             : vdb_changes_find(m.base->snapshot, m.theirs->snapshot, &step->work, &m.changes, err));
    for (int kind = 0; kind < VDB_CHANGE_KINDS; kind++) {
        for (size_t i = 0; i < m.changes.n[kind]; i++) {
            GREBE_TRY(merge_point(&m, kind, m.changes.places[kind][i], err));
        }
    }
    st = m.job->conflicts != NULL ? list_conflicts(&m, err) : write_merged(&m, err);
out:
    vdb_points_release(&m.set);
    buf_release(&m.gone);
    buf_release(&m.conflicts);
    vdb_changes_release(&m.changes);
    vdb_view_drop(m.base);
    vdb_view_drop(m.theirs);
    return st;
}

grebe_status grebe_vdb_merge(grebe_vdb *vdb, const char *name, const char *revision, int prefer, grebe_vdb_result **out,
                             grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && revision != NULL && out != NULL && prefer >= 0 && prefer <= 2);
    struct merge_job job = { revision, (enum prefer)prefer, NULL };
    *out = NULL;
    grebe_status st = vdb_update(vdb, name, NULL, NULL, make_merge, &job, out, err);
    if (st == GREBE_ECONFLICT && job.conflicts != NULL) {
        *out = job.conflicts;
    } else {
        grebe_vdb_result_free(job.conflicts);
    }
    return st;
}
