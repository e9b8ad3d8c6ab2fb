/* SPDX-License-Identifier: Apache-2.0 */
/* diff and stats: what two roots share, what one holds. */
#include "gitvdb/vdb_api.h"

#include <string.h>

#include "gitvdb/vdb_changes.h"
#include "gitvdb/vdb_reach.h"

/* ---- diff ---- */

static grebe_status ids_value(struct arena *ar, const struct vdb_snapshot *s, const struct vdb_place *places, size_t n,
                              struct vdb_value *out, grebe_error *err)
{
    struct vdb_value *items = arena_array(ar, n, sizeof *items);
    if (items == NULL) {
        return mem_fail(err, n * sizeof *items, "ids");
    }
    for (size_t i = 0; i < n; i++) {
        struct vdb_id id = vdb_rows_id(&s->shards[places[i].shard].ids, places[i].row);
        items[i] = vdb_id_to_json(&id);
        if (items[i].type == VDB_STRING) { /* the snapshot may go before the result */
            items[i].s.text = arena_str(ar, items[i].s.text, items[i].s.len);
            if (items[i].s.text == NULL) {
                return mem_fail(err, items[i].s.len, "an id");
            }
        }
    }
    *out = vdb_list(items, n);
    return GREBE_OK;
}

struct tally {
    uint64_t objects, bytes;
};

static grebe_status tally_value(struct arena *ar, const struct tally *t, struct vdb_value *out, grebe_error *err)
{
    struct vdb_object_maker o;
    vdb_object_begin(&o, ar, 2);
    vdb_object_add(&o, "objects", vdb_uint(t->objects));
    vdb_object_add(&o, "bytes", vdb_uint(t->bytes));
    return vdb_object_end(&o, out, err);
}

/* Both are sorted by id: shared, left only, right only. */
static void tally_sides(const struct vdb_reach *x, const struct vdb_reach *y, struct tally out[3])
{
    size_t i = 0, j = 0, n = vdb_reach_count(x), m = vdb_reach_count(y);
    memset(out, 0, 3 * sizeof *out);
    while (i < n || j < m) {
        int order = i == n ? 1 : j == m ? -1 : memcmp(&vdb_reach_at(x, i)->oid, &vdb_reach_at(y, j)->oid, sizeof(struct repo_oid));
        struct tally *t = &out[order == 0 ? 0 : order < 0 ? 1 : 2];
        t->objects++;
        t->bytes += order <= 0 ? vdb_reach_at(x, i)->bytes : vdb_reach_at(y, j)->bytes;
        i += order <= 0;
        j += order >= 0;
    }
}

static bool is_same_config(const struct vdb_config *x, const struct vdb_config *y)
{
    bool is_same_space = x->vector_space == NULL || y->vector_space == NULL
                             ? x->vector_space == y->vector_space
                             : x->vector_space_len == y->vector_space_len &&
                                   memcmp(x->vector_space, y->vector_space, x->vector_space_len) == 0;
    return is_same_space && x->dimension == y->dimension && x->tables == y->tables &&
           x->signature_bits == y->signature_bits && x->projection_seed == y->projection_seed &&
           x->full_scan_threshold == y->full_scan_threshold && x->default_probes == y->default_probes &&
           x->default_candidate_limit == y->default_candidate_limit;
}

static grebe_status diff_value(grebe_vdb *vdb, grebe_vdb_result *r, struct vdb_snapshot *x, struct vdb_snapshot *y,
                               grebe_error *err)
{
    static const char *const names[] = { "added", "removed", "changed" };
    static const char *const sides[] = { "shared", "left_unique", "right_unique" };
    struct vdb_work work = vdb_work_of(vdb, NULL);
    struct vdb_changes changes = { .a = vdb->a };
    struct vdb_reach left = { .a = vdb->a }, right = { .a = vdb->a };
    struct vdb_object_maker o;
    struct tally tallies[3];
    struct vdb_value v;
    grebe_status st;
    GREBE_TRY(vdb_changes_find(x, y, &work, &changes, err));
    GREBE_TRY(vdb_reach_walk(vdb->repo, vdb->a, &x->root, &left, err));
    GREBE_TRY(vdb_reach_walk(vdb->repo, vdb->a, &y->root, &right, err));
    tally_sides(&left, &right, tallies);
    vdb_object_begin(&o, &r->ar, 10);
    vdb_object_add(&o, "left_root", vdb_oid_value(&o, &x->root));
    vdb_object_add(&o, "right_root", vdb_oid_value(&o, &y->root));
    for (int kind = 0; kind < VDB_CHANGE_KINDS; kind++) {
        GREBE_TRY(ids_value(&r->ar, kind == VDB_REMOVED ? x : y, changes.places[kind], changes.n[kind], &v, err));
        vdb_object_add(&o, names[kind], v);
        r->count += changes.n[kind];
    }
    vdb_object_add(&o, "configuration_changed", vdb_bool(!is_same_config(&x->meta.config, &y->meta.config)));
    vdb_object_add(&o, "buckets_changed", vdb_bool(!repo_oid_equal(&x->index_oid, &y->index_oid)));
    for (int i = 0; i < 3; i++) {
        GREBE_TRY(tally_value(&r->ar, &tallies[i], &v, err));
        vdb_object_add(&o, sides[i], v);
    }
    GREBE_TRY(vdb_object_end(&o, &r->value, err));
out:
    vdb_changes_release(&changes);
    vdb_reach_release(&left);
    vdb_reach_release(&right);
    return st;
}

grebe_status grebe_vdb_diff(grebe_vdb *vdb, const char *name, const char *left, const char *right, grebe_vdb_result **out,
                            grebe_error *err)
{
    grebe_vdb_result *r = NULL;
    struct vdb_view *x = NULL, *y = NULL;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && left != NULL && right != NULL && out != NULL);
    *out = NULL;
    grebe_status st;
    GREBE_TRY(vdb_result_new(vdb, &r, err));
    GREBE_TRY(vdb_view_of(vdb, name, left, &x, err));
    GREBE_TRY(vdb_view_of(vdb, name, right, &y, err));
    GREBE_TRY(error_wrap(err, diff_value(vdb, r, x->snapshot, y->snapshot, err), "collection %s", name));
out:
    vdb_view_drop(x);
    vdb_view_drop(y);
    return vdb_result_end(st, &r, out);
}

/* ---- stats ---- */

/* Bytes of the blobs of one kind. */
static grebe_status part_bytes(struct vdb_snapshot *s, int kind, uint64_t *out, grebe_error *err)
{
    *out = 0;
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        enum repo_object type;
        uint64_t size = 0;
        if (!s->shards[i].exists) {
            continue;
        }
        if (s->meta.format == 1) {
            size = s->shards[i].regions[kind]->len;
        } else {
            grebe_status st = repo_object_stat(s->repo, &s->shards[i].oids[kind], &type, &size, err);
            if (st != GREBE_OK) {
                return st;
            }
        }
        *out += size;
    }
    return GREBE_OK;
}

static grebe_status postings_value(struct vdb_snapshot *s, struct arena *ar, struct vdb_value *out, grebe_error *err)
{
    uint64_t least = UINT64_MAX, most = 0, empty = 0;
    struct vdb_object_maker o;
    grebe_status st;
    GREBE_TRY(vdb_snapshot_codebook(s, err));
    for (uint32_t c = 0; c < s->meta.centroid_count; c++) {
        GREBE_TRY(vdb_snapshot_posting(s, c, err));
        uint64_t n = s->postings[c].n;
        least = n < least ? n : least;
        most = n > most ? n : most;
        empty += n == 0;
    }
    vdb_object_begin(&o, ar, 4);
    vdb_object_add(&o, "centroids", vdb_uint(s->meta.centroid_count));
    vdb_object_add(&o, "empty", vdb_uint(empty));
    vdb_object_add(&o, "largest", vdb_uint(most));
    vdb_object_add(&o, "smallest", vdb_uint(most == 0 ? 0 : least));
    st = vdb_object_end(&o, out, err);
out:
    return st;
}

static grebe_status stats_value(grebe_vdb *vdb, grebe_vdb_result *r, grebe_error *err)
{
    static const char *const names[] = { "ids", "payloads", "vectors" };
    struct vdb_snapshot *s = r->view->snapshot;
    struct vdb_reach reach = { .a = vdb->a };
    struct vdb_object_maker o, b;
    struct vdb_value bytes, postings = vdb_null();
    uint64_t total = 0, shards = 0;
    grebe_status st;
    GREBE_TRY(vdb_reach_walk(vdb->repo, vdb->a, &s->root, &reach, err));
    for (size_t i = 0; i < vdb_reach_count(&reach); i++) {
        total += vdb_reach_at(&reach, i)->bytes;
    }
    vdb_object_begin(&b, &r->ar, 4);
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        uint64_t size;
        GREBE_TRY(part_bytes(s, kind, &size, err));
        vdb_object_add(&b, names[kind], vdb_uint(size));
    }
    vdb_object_add(&b, "all", vdb_uint(total));
    GREBE_TRY(vdb_object_end(&b, &bytes, err));
    if (s->meta.format == 2) {
        GREBE_TRY(postings_value(s, &r->ar, &postings, err));
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        shards += s->shards[i].exists;
    }
    vdb_object_begin(&o, &r->ar, 8);
    vdb_object_add(&o, "root", vdb_text(r->root));
    vdb_object_add(&o, "format_version", vdb_uint(s->meta.format));
    vdb_object_add(&o, "point_count", vdb_uint(s->meta.point_count));
    vdb_object_add(&o, "dimension", vdb_uint(s->meta.config.dimension));
    vdb_object_add(&o, "shards", vdb_uint(shards));
    vdb_object_add(&o, "objects", vdb_uint(vdb_reach_count(&reach)));
    vdb_object_add(&o, "bytes", bytes);
    vdb_object_add(&o, "postings", postings);
    GREBE_TRY(vdb_object_end(&o, &r->value, err));
    r->count = s->meta.point_count;
out:
    vdb_reach_release(&reach);
    return st;
}

grebe_status grebe_vdb_stats(grebe_vdb *vdb, const char *name, const char *at, grebe_vdb_result **out, grebe_error *err)
{
    grebe_vdb_result *r = NULL;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    *out = NULL;
    grebe_status st = vdb_result_new(vdb, &r, err);
    st = st == GREBE_OK ? vdb_view_of(vdb, name, at, &r->view, err) : st;
    if (st == GREBE_OK) {
        repo_oid_hex(&r->view->snapshot->root, r->root);
        st = error_wrap(err, stats_value(vdb, r, err), "collection %s", name);
    }
    return vdb_result_end(st, &r, out);
}
