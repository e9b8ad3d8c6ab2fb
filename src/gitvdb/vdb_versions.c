/* SPDX-License-Identifier: Apache-2.0 */
/* Collections as references: create, drop, copy, rename, history, restore, push, pull, gc. */
#include "gitvdb/vdb_api.h"

#include <stdio.h>
#include <string.h>

#include "gitvdb/vdb_changes.h"
#include "gitvdb/vdb_update.h"

/* ---- create ---- */

static grebe_status create_commit(grebe_vdb *vdb, const char *name, struct vdb_built *b, grebe_vdb_result *r,
                                  grebe_error *err)
{
    struct vdb_work work = vdb_work_of(vdb, NULL);
    struct repo_pack *pack = NULL;
    struct repo_oid commit;
    char message[VDB_MESSAGE_MAX];
    grebe_status st;
    snprintf(message, sizeof message, "create collection %s", name);
    GREBE_TRY(repo_pack_begin(vdb->repo, &pack, err));
    GREBE_TRY(vdb_built_write(b, NULL, &work, pack, false, err));
    GREBE_TRY(repo_commit_add(pack, &b->root, NULL, 0, message, &commit, err));
    GREBE_TRY(repo_pack_publish(pack, err));
    GREBE_TRY(vdb_view_open(vdb, &b->root, &r->view, err));
    GREBE_TRY(vdb_info_value(&r->ar, name, r->view->snapshot, false, &r->value, err));
    repo_oid_hex(&b->root, r->root);
    GREBE_TRY(repo_ref_update(vdb->repo, name, NULL, &commit, err));
out:
    repo_pack_free(pack);
    return st;
}

/* That there is no such collection. */
static grebe_status check_free(grebe_vdb *vdb, const char *name, grebe_error *err)
{
    struct repo_oid commit, root;
    grebe_status st = repo_name_check(name, err);
    st = st == GREBE_OK ? repo_ref_read(vdb->repo, name, &commit, &root, err) : st;
    if (st == GREBE_OK) {
        return GREBE_FAIL(err, GREBE_EEXISTS, "collection already exists: %s", name);
    }
    return st == GREBE_ENOTFOUND ? GREBE_OK : st;
}

grebe_status grebe_vdb_create(grebe_vdb *vdb, const char *name, const grebe_vdb_config *config, grebe_vdb_result **out,
                              grebe_error *err)
{
    grebe_vdb_config given = GREBE_VDB_CONFIG_INIT(0);
    struct vdb_built *b = NULL;
    grebe_vdb_result *r = NULL;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && config != NULL && out != NULL);
    *out = NULL;
    grebe_status st;
    GREBE_TRY(options_copy(&given, sizeof given, config, err));
    GREBE_CHECK_ARG(err, given.format == 1 || given.format == 2);
    struct vdb_config c = VDB_CONFIG_INIT(given.dimension);
    c.vector_space = given.vector_space;
    c.vector_space_len = given.vector_space == NULL ? 0 : strlen(given.vector_space);
    c.full_scan_threshold = given.full_scan_threshold;
    c.default_probes = given.default_probes;
    c.default_candidate_limit = given.default_candidate_limit;
    GREBE_TRY(check_free(vdb, name, err));
    GREBE_TRY(vdb_built_new(vdb->a, &c, given.format, &b, err));
    GREBE_TRY(vdb_result_new(vdb, &r, err));
    GREBE_TRY(create_commit(vdb, name, b, r, err));
out:
    vdb_built_free(b);
    return vdb_result_end(st, &r, out);
}

/* ---- references ---- */

/* {"KEY":true,"name":…,…,"root":…}; keys as given, sorted by the caller's order. */
static grebe_status named_result(grebe_vdb *vdb, const struct repo_oid *root, const struct vdb_member *members, size_t n,
                                 grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_result *r;
    struct vdb_object_maker o;
    grebe_status st = vdb_result_new(vdb, &r, err);
    if (st == GREBE_OK) {
        vdb_object_begin(&o, &r->ar, n + 1);
        for (size_t i = 0; i < n; i++) {
            struct vdb_value v = members[i].value;
            if (v.type == VDB_STRING) {
                v.s.text = arena_str(&r->ar, v.s.text, v.s.len);
                o.is_failed = o.is_failed || v.s.text == NULL;
            }
            vdb_object_add(&o, members[i].key, v);
        }
        if (root != NULL) {
            repo_oid_hex(root, r->root);
            vdb_object_add(&o, "root", vdb_text(r->root));
        }
        st = vdb_object_end(&o, &r->value, err);
    }
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_drop(grebe_vdb *vdb, const char *name, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    struct repo_oid commit, root;
    *out = NULL;
    grebe_status st = repo_name_check(name, err);
    st = st == GREBE_OK ? repo_ref_read(vdb->repo, name, &commit, &root, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    struct vdb_member m[] = { { "deleted", 7, vdb_bool(true) }, { "name", 4, vdb_text(name) } };
    grebe_vdb_result *r;
    st = named_result(vdb, &root, m, 2, &r, err);
    st = st == GREBE_OK ? repo_ref_delete(vdb->repo, name, &commit, err) : st;
    return vdb_result_end(st, &r, out);
}

/* The commit that a revision is, of a collection that can be opened. */
static grebe_status find_version(grebe_vdb *vdb, const char *at, struct repo_oid *commit, struct repo_oid *root, grebe_error *err)
{
    struct vdb_view *view = NULL;
    bool is_commit;
    grebe_status st = vdb_revision(vdb, at, &is_commit, commit, root, err);
    if (st == GREBE_OK && !is_commit) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected a commit as the version, found a tree");
    }
    st = st == GREBE_OK ? vdb_view_open(vdb, root, &view, err) : st;
    vdb_view_drop(view);
    return st;
}

/* A second name for a commit; the result is made from the members before the reference is. */
static grebe_status point_at(grebe_vdb *vdb, const char *name, const char *at, const char *to, struct repo_oid *commit,
                             const struct vdb_member *members, grebe_vdb_result **r, grebe_error *err)
{
    struct repo_oid root;
    grebe_status st;
    *r = NULL;
    GREBE_TRY(repo_name_check(name, err));
    GREBE_TRY(repo_ref_read(vdb->repo, name, commit, &root, err));
    if (at != NULL) {
        GREBE_TRY(find_version(vdb, at, commit, &root, err));
    }
    GREBE_TRY(check_free(vdb, to, err));
    GREBE_TRY(named_result(vdb, &root, members, 3, r, err));
    GREBE_TRY(repo_ref_update(vdb->repo, to, NULL, commit, err));
out:
    return st;
}

grebe_status grebe_vdb_copy(grebe_vdb *vdb, const char *name, const char *at, const char *to, grebe_vdb_result **out,
                            grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && to != NULL && out != NULL);
    struct repo_oid commit;
    grebe_vdb_result *r;
    *out = NULL;
    struct vdb_member m[] = { { "copied", 6, vdb_bool(true) }, { "from", 4, vdb_text(name) }, { "name", 4, vdb_text(to) } };
    grebe_status st = point_at(vdb, name, at, to, &commit, m, &r, err);
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_rename(grebe_vdb *vdb, const char *name, const char *to, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && to != NULL && out != NULL);
    struct repo_oid commit;
    grebe_vdb_result *r;
    *out = NULL;
    struct vdb_member m[] = { { "from", 4, vdb_text(name) }, { "name", 4, vdb_text(to) }, { "renamed", 7, vdb_bool(true) } };
    grebe_status st = point_at(vdb, name, NULL, to, &commit, m, &r, err);
    if (st == GREBE_OK) {
        st = repo_ref_delete(vdb->repo, name, &commit, err);
        if (st != GREBE_OK) { /* somebody committed to the old name: it stays, the new one goes */
            repo_ref_delete(vdb->repo, to, &commit, NULL);
        }
    }
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_push(grebe_vdb *vdb, const char *name, const char *remote, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && remote != NULL && out != NULL);
    *out = NULL;
    grebe_vdb_result *r = NULL;
    struct vdb_member m[] = { { "collection", 10, vdb_text(name) },
                              { "pushed", 6, vdb_bool(true) },
                              { "remote", 6, vdb_text(remote) } };
    grebe_status st = repo_name_check(name, err);
    st = st == GREBE_OK ? named_result(vdb, NULL, m, 3, &r, err) : st;
    st = st == GREBE_OK ? repo_push(vdb->repo, name, remote, err) : st;
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_pull(grebe_vdb *vdb, const char *name, const char *remote, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && remote != NULL && out != NULL);
    struct repo_oid root;
    *out = NULL;
    grebe_status st = repo_name_check(name, err);
    st = st == GREBE_OK ? repo_pull(vdb->repo, name, remote, &root, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    struct vdb_member m[] = { { "collection", 10, vdb_text(name) },
                              { "pulled", 6, vdb_bool(true) },
                              { "remote", 6, vdb_text(remote) } };
    return named_result(vdb, &root, m, 3, out, err);
}

grebe_status grebe_vdb_gc(grebe_vdb *vdb, int64_t grace_seconds, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && out != NULL);
    *out = NULL;
    grebe_status st = repo_gc(vdb->repo, grace_seconds, err);
    if (st != GREBE_OK) {
        return st;
    }
    struct vdb_member m[] = { { "collected", 9, vdb_bool(true) }, { "repository", 10, vdb_text(repo_path(vdb->repo)) } };
    return named_result(vdb, NULL, m, 2, out, err);
}

/* ---- history ---- */

static grebe_status commit_value(struct arena *ar, const struct repo_commit *c, struct vdb_value *out, grebe_error *err)
{
    struct vdb_object_maker o;
    vdb_object_begin(&o, ar, 5);
    vdb_object_add(&o, "commit", vdb_oid_value(&o, &c->oid));
    vdb_object_add(&o, "message", vdb_text(c->message));
    vdb_object_add(&o, "parent", c->has_parent ? vdb_oid_value(&o, &c->parent) : vdb_null());
    vdb_object_add(&o, "root", vdb_oid_value(&o, &c->root));
    vdb_object_add(&o, "time_seconds", c->time_seconds < 0 ? (struct vdb_value){ .type = VDB_INT, .i = c->time_seconds }
                                                           : vdb_uint((uint64_t)c->time_seconds));
    return vdb_object_end(&o, out, err);
}

grebe_status grebe_vdb_history(grebe_vdb *vdb, const char *name, uint64_t limit, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    grebe_vdb_result *r = NULL;
    struct buf entries = BUF_INIT(vdb->a);
    struct vdb_object_maker o;
    struct repo_oid next, root;
    *out = NULL;
    grebe_status st;
    GREBE_TRY(repo_name_check(name, err));
    GREBE_TRY(vdb_result_new(vdb, &r, err));
    GREBE_TRY(repo_ref_read(vdb->repo, name, &next, &root, err));
    repo_oid_hex(&root, r->root);
    bool has_next = true;
    for (; r->count < limit && has_next; r->count++) {
        struct repo_commit c;
        struct vdb_value v;
        GREBE_TRY(repo_commit_read(vdb->repo, &next, &r->ar, &c, err));
        GREBE_TRY(commit_value(&r->ar, &c, &v, err));
        GREBE_TRY(buf_put(&entries, &v, sizeof v, err));
        has_next = c.has_parent;
        next = c.parent;
    }
    struct vdb_value *items = arena_array(&r->ar, (size_t)r->count, sizeof *items);
    if (items == NULL) {
        st = mem_fail(err, entries.len, "history");
        goto out;
    }
    if (entries.len != 0) {
        memcpy(items, entries.data, entries.len);
    }
    vdb_object_begin(&o, &r->ar, 2);
    vdb_object_add(&o, "history", vdb_list(items, (size_t)r->count));
    vdb_object_add(&o, "root", vdb_text(r->root));
    GREBE_TRY(vdb_object_end(&o, &r->value, err));
out:
    buf_release(&entries);
    return vdb_result_end(st, &r, out);
}

/* ---- restore ---- */

static grebe_status make_restore(void *arg, struct vdb_step *step, grebe_error *err)
{
    const char *revision = arg;
    struct repo_oid commit;
    struct vdb_view *view = NULL;
    struct vdb_changes changes = { 0 };
    bool is_commit;
    grebe_status st;
    GREBE_TRY(vdb_revision(step->vdb, revision, &is_commit, &commit, &step->root, err));
    GREBE_TRY(vdb_view_open(step->vdb, &step->root, &view, err));
    GREBE_TRY(vdb_changes_find(step->view->snapshot, view->snapshot, &step->work, &changes, err));
    step->affected = changes.n[VDB_ADDED] + changes.n[VDB_REMOVED] + changes.n[VDB_CHANGED];
    int n = snprintf(step->message, sizeof step->message, "restore %s", revision);
    if (n < 0 || (size_t)n >= sizeof step->message) {
        st = GREBE_FAIL(err, GREBE_ELIMIT, "revision: expected at most %zu bytes, found %zu", sizeof step->message - 9,
                        strlen(revision));
    }
out:
    vdb_changes_release(&changes);
    vdb_view_drop(view);
    return st;
}

grebe_status grebe_vdb_restore(grebe_vdb *vdb, const char *name, const char *revision, grebe_vdb_result **out,
                               grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && revision != NULL && out != NULL);
    char *own = str_copy(vdb->a, revision);
    *out = NULL;
    if (own == NULL) {
        return mem_fail(err, strlen(revision), "a revision");
    }
    grebe_status st = vdb_update(vdb, name, NULL, NULL, make_restore, own, out, err);
    str_free(vdb->a, own);
    return st;
}
