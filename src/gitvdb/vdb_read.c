/* SPDX-License-Identifier: Apache-2.0 */
/* Reading points: get, count, search, and deleting those that a selection names. */
#include "gitvdb/vdb_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gitvdb/vdb_select.h"
#include "gitvdb/vdb_update.h"

/* ---- points as values ---- */

static grebe_status vector_value(struct arena *ar, const struct vdb_matrix *m, uint32_t row, struct vdb_value *out,
                                 grebe_error *err)
{
    struct vdb_value *items = arena_array(ar, m->dim, sizeof *items);
    if (items == NULL) {
        return mem_fail(err, m->dim * sizeof *items, "a vector");
    }
    for (uint32_t d = 0; d < m->dim; d++) {
        items[d] = (struct vdb_value){ .type = VDB_FLOAT32, .f = m->values[(size_t)row * m->dim + d] };
    }
    *out = vdb_list(items, m->dim);
    return GREBE_OK;
}

grebe_status vdb_point_value(struct arena *ar, struct vdb_snapshot *s, struct vdb_place at, const double *score,
                             const grebe_vdb_read_options *o, struct vdb_value *out, grebe_error *err)
{
    const struct vdb_shard *shard = &s->shards[at.shard];
    struct vdb_object_maker point;
    struct vdb_value v;
    uint32_t parts = VDB_PART_IDS | (o->with_payload ? VDB_PART_PAYLOADS : 0) | (o->with_vector ? VDB_PART_VECTORS : 0);
    grebe_status st;
    GREBE_TRY(vdb_snapshot_load(s, at.shard, parts, err));
    struct vdb_id id = vdb_rows_id(&shard->ids, at.row);
    vdb_object_begin(&point, ar, 4);
    vdb_object_add(&point, "id", vdb_id_to_json(&id));
    if (score != NULL) {
        vdb_object_add(&point, "score", (struct vdb_value){ .type = VDB_FLOAT32, .f = (double)(float)*score });
    }
    if (o->with_payload) {
        size_t len;
        const char *text = (const char *)vdb_rows_get(&shard->payloads, at.row, &len);
        v = (struct vdb_value){ .type = VDB_RAW, .s = { text, len } };
        if (o->n_fields != 0) {
            GREBE_TRY(vdb_project(ar, text, len, o->fields, o->n_fields, &v, err));
        }
        vdb_object_add(&point, "payload", v);
    }
    if (o->with_vector) {
        GREBE_TRY(vector_value(ar, &shard->vectors, at.row, &v, err));
        vdb_object_add(&point, "vector", v);
    }
    GREBE_TRY(vdb_object_end(&point, out, err));
out:
    return st;
}

/* ---- selections ---- */

grebe_status vdb_selection_of(const grebe_vdb *vdb, const grebe_vdb_select *select, struct arena *ar,
                              struct vdb_selection *out, struct vdb_filter **filter, grebe_error *err)
{
    struct vdb_id *ids;
    *out = (struct vdb_selection){ 0 };
    grebe_status st = vdb_ids_of(ar, select, &ids, &out->n_ids, err);
    st = st == GREBE_OK ? vdb_filter_of(vdb, select, filter, err) : st;
    out->ids = ids;
    out->has_ids = select != NULL && select->ids != NULL;
    out->filter = *filter;
    return st;
}

static grebe_status get_points(grebe_vdb *vdb, grebe_vdb_result *r, const grebe_vdb_select *select,
                               const grebe_vdb_read_options *o, grebe_error *err)
{
    struct vdb_snapshot *s = r->view->snapshot;
    struct vdb_work work = vdb_work_of(vdb, o->call);
    struct vdb_selection which;
    struct vdb_filter *filter = NULL;
    struct vdb_place *places = NULL;
    struct vdb_object_maker object;
    size_t n = 0;
    grebe_status st;
    GREBE_TRY(vdb_selection_of(vdb, select, &r->ar, &which, &filter, err));
    GREBE_TRY(vdb_select_rows(s, &work, &which, &places, &n, err));
    GREBE_TRY(vdb_sort_places(s, places, n, err));
    size_t first = o->offset < n ? (size_t)o->offset : n;
    size_t count = o->limit < n - first ? (size_t)o->limit : n - first;
    struct vdb_value *points = arena_array(&r->ar, count + 1, sizeof *points);
    if (points == NULL) {
        st = mem_fail(err, count * sizeof *points, "points");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        GREBE_TRY(vdb_point_value(&r->ar, s, places[first + i], NULL, o, &points[i], err));
    }
    points[count] = vdb_list(points, count);
    r->points = &points[count];
    r->ids_are_json = o->ids_are_json;
    r->n_lists = 1;
    r->count = count;
    vdb_object_begin(&object, &r->ar, 2);
    vdb_object_add(&object, "root", vdb_text(r->root));
    vdb_object_add(&object, "points", points[count]);
    GREBE_TRY(vdb_object_end(&object, &r->value, err));
out:
    mem_free(s->a, places, n * sizeof *places);
    vdb_filter_free(filter);
    return st;
}

static grebe_status begin_read(grebe_vdb *vdb, const char *name, const grebe_vdb_read_options *given,
                               grebe_vdb_read_options *o, grebe_vdb_result **r, grebe_error *err)
{
    grebe_status st = vdb_read_options_of(given, o, err);
    *r = NULL;
    st = st == GREBE_OK ? vdb_result_new(vdb, r, err) : st;
    st = st == GREBE_OK ? vdb_view_of(vdb, name, o->at, &(*r)->view, err) : st;
    if (st == GREBE_OK) {
        repo_oid_hex(&(*r)->view->snapshot->root, (*r)->root);
    }
    return st;
}

grebe_status grebe_vdb_get(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                           const grebe_vdb_read_options *options, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    grebe_vdb_read_options o;
    grebe_vdb_result *r;
    grebe_status st = begin_read(vdb, name, options, &o, &r, err);
    if (st == GREBE_OK) {
        st = error_wrap(err, get_points(vdb, r, select, &o, err), "collection %s", name);
    }
    return vdb_result_end(st, &r, out);
}

grebe_status grebe_vdb_count(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                             const grebe_vdb_read_options *options, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    grebe_vdb_read_options o;
    grebe_vdb_result *r;
    struct vdb_selection which;
    struct vdb_filter *filter = NULL;
    struct vdb_object_maker object;
    grebe_status st;
    GREBE_TRY(begin_read(vdb, name, options, &o, &r, err));
    r->count = r->view->snapshot->meta.point_count;
    GREBE_TRY(vdb_selection_of(vdb, select, &r->ar, &which, &filter, err));
    if (which.has_ids || filter != NULL) {
        struct vdb_work work = vdb_work_of(vdb, o.call);
        struct vdb_place *places = NULL;
        size_t n = 0;
        st = vdb_select_rows(r->view->snapshot, &work, &which, &places, &n, err);
        mem_free(vdb->a, places, n * sizeof *places);
        r->count = n;
        GREBE_TRY(error_wrap(err, st, "collection %s", name));
    }
    vdb_object_begin(&object, &r->ar, 2);
    vdb_object_add(&object, "root", vdb_text(r->root));
    vdb_object_add(&object, "count", vdb_uint(r->count));
    GREBE_TRY(vdb_object_end(&object, &r->value, err));
out:
    vdb_filter_free(filter);
    return vdb_result_end(st, &r, out);
}

/* ---- delete ---- */

struct delete_job {
    struct vdb_selection ids, matching;
};

/* Rows that either names, each once. */
static grebe_status unite_rows(struct delete_job *job, struct vdb_step *step, struct buf *rows, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    const struct vdb_selection *both[] = { &job->ids, &job->matching };
    for (int i = 0; i < 2 && st == GREBE_OK; i++) {
        struct vdb_place *places = NULL;
        size_t n = 0;
        if (both[i]->has_ids || both[i]->filter != NULL) {
            st = vdb_select_rows(step->view->snapshot, &step->work, both[i], &places, &n, err);
            st = st == GREBE_OK ? buf_put(rows, places, n * sizeof *places, err) : st;
            mem_free(step->vdb->a, places, n * sizeof *places);
        }
    }
    struct vdb_place *all = (struct vdb_place *)(void *)rows->data;
    size_t n = rows->len / sizeof *all, kept = 0;
    if (st == GREBE_OK && n != 0) {
        qsort(all, n, sizeof *all, vdb_place_compare);
        for (size_t i = 0; i < n; i++) {
            if (i == 0 || vdb_place_compare(&all[i], &all[kept - 1]) != 0) {
                all[kept++] = all[i];
            }
        }
        rows->len = kept * sizeof *all;
    }
    return st;
}

static grebe_status make_delete(void *arg, struct vdb_step *step, grebe_error *err)
{
    struct vdb_built *from = NULL, *to = NULL;
    struct buf rows = BUF_INIT(step->vdb->a);
    grebe_status st;
    GREBE_TRY(unite_rows(arg, step, &rows, err));
    GREBE_TRY(vdb_built_from(step->view->snapshot, &step->work, &from, err));
    struct vdb_change change = { NULL, (const struct vdb_place *)(const void *)rows.data, rows.len / sizeof(struct vdb_place) };
    GREBE_TRY(vdb_built_apply(from, &step->work, &change, &to, err));
    GREBE_TRY(vdb_step_write(step, from, to, err));
    step->affected = change.n_gone;
    snprintf(step->message, sizeof step->message, "delete %zu points", change.n_gone);
out:
    vdb_built_free(to);
    vdb_built_free(from);
    buf_release(&rows);
    return st;
}

grebe_status grebe_vdb_delete(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                              const grebe_vdb_write_options *options, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    grebe_vdb_write_options o;
    struct delete_job job = { 0 };
    struct vdb_filter *filter = NULL;
    struct arena ar = ARENA_INIT(vdb->a);
    grebe_status st;
    *out = NULL;
    GREBE_TRY(vdb_write_options_of(options, &o, err));
    GREBE_TRY(vdb_selection_of(vdb, select, &ar, &job.ids, &filter, err));
    job.matching.filter = filter;
    job.ids.filter = NULL;
    if (!job.ids.has_ids && filter == NULL) {
        st = GREBE_FAIL(err, GREBE_EINVAL, "expected ids or a filter, found neither");
        goto out;
    }
    GREBE_TRY(vdb_update(vdb, name, o.expect_root, o.call, make_delete, &job, out, err));
out:
    vdb_filter_free(filter);
    arena_release(&ar);
    return st;
}
