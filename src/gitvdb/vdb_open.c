/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a repository, views of roots, and the calls on whole collections. */
#include "gitvdb/vdb_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

grebe_status grebe_vdb_open(grebe_context *ctx, const char *path, grebe_vdb_mode mode, grebe_vdb **out,
                            grebe_error *err)
{
    static const enum repo_mode modes[] = { REPO_EXISTING, REPO_CREATE, REPO_INIT, REPO_INIT_BARE };
    GREBE_CHECK_ARG(err, ctx != NULL && path != NULL && out != NULL);
    *out = NULL;
    GREBE_CHECK_ARG(err, mode >= GREBE_VDB_EXISTING && mode <= GREBE_VDB_INIT_BARE);
    grebe_vdb *vdb = mem_alloc_zero(ctx->caller_allocator, sizeof *vdb);
    if (vdb == NULL) {
        return mem_fail(err, sizeof *vdb, "a repository");
    }
    atomic_init(&vdb->refs, 1);
    vdb->ctx = ctx;
    vdb->a = ctx->caller_allocator; /* blobs grow a little with each version: blocks kept by size would pile up */
    pthread_mutex_init(&vdb->lock, NULL);
    grebe_status st = repo_open(ctx, path, modes[mode], &vdb->repo, err);
    if (st != GREBE_OK) {
        grebe_vdb_close(vdb);
        return st;
    }
    *out = vdb;
    return GREBE_OK;
}

void grebe_vdb_close(grebe_vdb *vdb)
{
    if (vdb == NULL || atomic_fetch_sub(&vdb->refs, 1) != 1) {
        return;
    }
    for (int i = 0; i < VDB_VIEWS; i++) {
        vdb_view_drop(vdb->views[i]);
    }
    repo_close(vdb->repo);
    pthread_mutex_destroy(&vdb->lock);
    mem_free(vdb->a, vdb, sizeof *vdb);
}

grebe_vdb *vdb_retain(grebe_vdb *vdb)
{
    atomic_fetch_add(&vdb->refs, 1);
    return vdb;
}

/* ---- views ---- */

void vdb_view_drop(struct vdb_view *v)
{
    if (v != NULL && atomic_fetch_sub(&v->refs, 1) == 1) {
        const grebe_allocator *a = v->snapshot->a;
        vdb_snapshot_close(v->snapshot);
        mem_free(a, v, sizeof *v);
    }
}

/* Move view i to the front; the lock is held. */
static struct vdb_view *use_view(grebe_vdb *vdb, int i)
{
    struct vdb_view *v = vdb->views[i];
    memmove(vdb->views + 1, vdb->views, (size_t)i * sizeof vdb->views[0]);
    vdb->views[0] = v;
    atomic_fetch_add(&v->refs, 1);
    return v;
}

grebe_status vdb_view_open(grebe_vdb *vdb, const struct repo_oid *root, struct vdb_view **out, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    *out = NULL;
    pthread_mutex_lock(&vdb->lock);
    for (int i = 0; i < VDB_VIEWS && *out == NULL; i++) {
        if (vdb->views[i] != NULL && repo_oid_equal(&vdb->views[i]->snapshot->root, root)) {
            *out = use_view(vdb, i);
        }
    }
    if (*out == NULL) {
        struct vdb_view *v = mem_alloc_zero(vdb->a, sizeof *v);
        st = v == NULL ? mem_fail(err, sizeof *v, "a view")
                       : vdb_snapshot_open(vdb->repo, root, vdb->a, &v->snapshot, err);
        if (st == GREBE_OK) {
            atomic_init(&v->refs, 1);
            vdb_view_drop(vdb->views[VDB_VIEWS - 1]);
            vdb->views[VDB_VIEWS - 1] = v;
            *out = use_view(vdb, VDB_VIEWS - 1);
        } else {
            mem_free(vdb->a, v, sizeof *v);
        }
    }
    pthread_mutex_unlock(&vdb->lock);
    return st;
}

/* "words~2" is no revision, but that of the collection "words" may be meant. */
static void hint_at_collection(grebe_vdb *vdb, const char *text, grebe_error *err)
{
    char name[130];
    size_t len = strcspn(text, "~^@:");
    struct repo_oid commit, root;
    if (err == NULL || len >= sizeof name) {
        return;
    }
    memcpy(name, text, len);
    name[len] = '\0';
    if (repo_name_check(name, NULL) == GREBE_OK && repo_ref_read(vdb->repo, name, &commit, &root, NULL) == GREBE_OK) {
        size_t at = strlen(err->message);
        snprintf(err->message + at, sizeof err->message - at, "; did you mean refs/git-vdb/collections/%s?", text);
    }
}

grebe_status vdb_revision(grebe_vdb *vdb, const char *text, bool *is_commit, struct repo_oid *commit, struct repo_oid *root,
                          grebe_error *err)
{
    grebe_status st = repo_revision(vdb->repo, text, is_commit, commit, root, err);
    if (st == GREBE_ENOTFOUND || st == GREBE_EINVAL) {
        hint_at_collection(vdb, text, err);
    }
    return st;
}

grebe_status vdb_resolve(grebe_vdb *vdb, const char *name, const char *at, struct repo_oid *root, grebe_error *err)
{
    struct repo_oid commit;
    bool is_commit;
    grebe_status st = repo_name_check(name, err);
    st = st == GREBE_OK ? repo_ref_read(vdb->repo, name, &commit, root, err) : st;
    if (st == GREBE_OK && at != NULL) {
        st = vdb_revision(vdb, at, &is_commit, &commit, root, err);
    }
    return st;
}

grebe_status vdb_view_of(grebe_vdb *vdb, const char *name, const char *at, struct vdb_view **out, grebe_error *err)
{
    struct repo_oid root;
    *out = NULL;
    grebe_status st = vdb_resolve(vdb, name, at, &root, err);
    return st == GREBE_OK ? error_wrap(err, vdb_view_open(vdb, &root, out, err), "collection %s", name) : st;
}

/* ---- options ---- */

struct vdb_work vdb_work_of(const grebe_vdb *vdb, const grebe_call_options *call)
{
    struct call c = call_options_resolve(vdb->ctx, call);
    return (struct vdb_work){ vdb->a, vdb->ctx->pool, c.threads, c.cancel };
}

grebe_status vdb_write_options_of(const grebe_vdb_write_options *given, grebe_vdb_write_options *out, grebe_error *err)
{
    *out = (grebe_vdb_write_options)GREBE_VDB_WRITE_OPTIONS_INIT;
    grebe_status st = options_copy(out, sizeof *out, given, err);
    out->batch_size = out->batch_size == 0 ? 1000 : out->batch_size;
    out->name = out->name == NULL ? "input" : out->name;
    out->id_column = out->id_column == NULL ? "id" : out->id_column;
    out->vector_column = out->vector_column == NULL ? "vector" : out->vector_column;
    return st;
}

grebe_status vdb_read_options_of(const grebe_vdb_read_options *given, grebe_vdb_read_options *out, grebe_error *err)
{
    *out = (grebe_vdb_read_options)GREBE_VDB_READ_OPTIONS_INIT;
    return options_copy(out, sizeof *out, given, err);
}

grebe_status vdb_filter_of(const grebe_vdb *vdb, const grebe_vdb_select *select, struct vdb_filter **out, grebe_error *err)
{
    *out = NULL;
    if (select == NULL || select->filter == NULL) {
        return GREBE_OK;
    }
    return vdb_filter_parse(vdb->a, select->filter, select->filter_len, select->is_lenient, out, err);
}

static int compare_ids(const void *x, const void *y) { return vdb_id_compare(x, y); }

grebe_status vdb_ids_of(struct arena *ar, const grebe_vdb_select *select, struct vdb_id **out, size_t *n, grebe_error *err)
{
    size_t n_ids = select == NULL ? 0 : select->n_ids;
    struct vdb_id *ids = arena_array(ar, n_ids, sizeof *ids);
    *n = 0;
    *out = ids;
    if (ids == NULL) {
        return mem_fail(err, n_ids * sizeof *ids, "ids");
    }
    for (size_t i = 0; i < n_ids; i++) {
        grebe_status st = vdb_id_from_word(ar, select->ids[i], strlen(select->ids[i]), &ids[i], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    qsort(ids, n_ids, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n_ids; i++) {
        if (i == 0 || vdb_id_compare(&ids[i], &ids[*n - 1]) != 0) {
            ids[(*n)++] = ids[i];
        }
    }
    return GREBE_OK;
}

/* ---- collections ---- */

grebe_status grebe_vdb_describe(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && out != NULL);
    grebe_vdb_result *r;
    struct vdb_object_maker o;
    *out = NULL;
    grebe_status st = vdb_result_new(vdb, &r, err);
    if (st == GREBE_OK) {
        const char *path = repo_path(vdb->repo);
        char *own = arena_str(&r->ar, path, strlen(path));
        r->is_one_row = true;
        vdb_object_begin(&o, &r->ar, 3);
        o.is_failed = o.is_failed || own == NULL;
        vdb_object_add(&o, "bare", vdb_bool(repo_is_bare(vdb->repo)));
        vdb_object_add(&o, "collections", vdb_list(NULL, 0));
        vdb_object_add(&o, "repository", vdb_text(own == NULL ? "" : own));
        st = vdb_object_end(&o, &r->value, err);
    }
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_info(grebe_vdb *vdb, const char *name, const char *at, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    grebe_vdb_result *r = NULL;
    *out = NULL;
    grebe_status st = vdb_result_new(vdb, &r, err);
    st = st == GREBE_OK ? vdb_view_of(vdb, name, at, &r->view, err) : st;
    if (st == GREBE_OK) {
        repo_oid_hex(&r->view->snapshot->root, r->root);
        r->count = r->view->snapshot->meta.point_count;
        st = vdb_info_value(&r->ar, name, r->view->snapshot, at != NULL, &r->value, err);
    }
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_list(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && out != NULL);
    grebe_vdb_result *r = NULL;
    const char *const *names;
    struct vdb_value *infos = NULL;
    struct vdb_object_maker o;
    struct vdb_view *view = NULL;
    size_t n = 0;
    *out = NULL;
    grebe_status st = vdb_result_new(vdb, &r, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(repo_ref_list(vdb->repo, &r->ar, &names, &n, err));
    infos = arena_array(&r->ar, n, sizeof *infos);
    if (infos == NULL) {
        st = mem_fail(err, n * sizeof *infos, "a list of collections");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(vdb_view_of(vdb, names[i], NULL, &view, err));
        GREBE_TRY(vdb_info_value(&r->ar, names[i], view->snapshot, false, &infos[i], err));
        vdb_view_drop(view);
        view = NULL;
    }
    vdb_object_begin(&o, &r->ar, 1);
    vdb_object_add(&o, "collections", vdb_list(infos, n));
    GREBE_TRY(vdb_object_end(&o, &r->value, err));
    GREBE_TRY(vdb_value_sort(&r->ar, &r->value, err));
    r->count = n;
out:
    vdb_view_drop(view);
    return vdb_result_end(st, &r, out);
}
