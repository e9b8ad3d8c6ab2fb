/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a root: one finding ends it, or all are listed. */
#include "gitvdb/vdb_api.h"

#include <stdio.h>
#include <string.h>

#include "gitvdb/vdb_build.h"
#include "gitvdb/vdb_lsh.h"

struct check {
    grebe_vdb *vdb;
    struct vdb_work work;
    struct vdb_snapshot *s;
    struct arena *ar;
    bool is_full, wants_all;
    struct buf findings; /* struct vdb_value: texts */
    uint64_t checked_buckets;
};

/* Note a finding and go on, or stop with it. Anything but corruption always stops. */
static grebe_status note(struct check *c, grebe_status st, grebe_error *err)
{
    if (st != GREBE_ECORRUPT || !c->wants_all || err == NULL) {
        return st;
    }
    const char *text = arena_str(c->ar, err->message, strlen(err->message));
    if (text == NULL) {
        return mem_fail(err, strlen(err->message), "a finding");
    }
    struct vdb_value v = vdb_text(text);
    return buf_put(&c->findings, &v, sizeof v, err);
}

/* ---- trees ---- */

/* A tree has exactly the entries named; names with "/" at the end are trees. Ids are written. */
static grebe_status exact_entries(struct check *c, const struct repo_oid *oid, const char *path, const char *const *names,
                                  size_t n, struct repo_oid *oids, grebe_error *err)
{
    struct repo_tree t = { 0 };
    grebe_status st = repo_tree_read(c->vdb->repo, oid, &t, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        size_t len = strcspn(names[i], "/");
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)len, names[i]);
        const struct repo_tree_entry *e = repo_tree_find(&t, name);
        if (e == NULL || repo_entry_is_tree(e) != (names[i][len] == '/') ||
            (!repo_entry_is_tree(e) && (e->mode & 0170000) != 0100000)) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a %s %s, found %s", path, names[i][len] == '/' ? "tree" : "blob",
                            name, e == NULL ? "nothing" : "something else");
        } else if (oids != NULL) {
            oids[i] = e->oid;
        }
    }
    if (st == GREBE_OK && t.n != n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected %zu entries, found %zu", path, n, t.n);
    }
    repo_tree_release(&t);
    return st;
}

static grebe_status check_trees(struct check *c, grebe_error *err)
{
    static const char *const top[] = { "index/", "meta.json", "points/" };
    static const char *const points[] = { "ids/", "payloads/", "vectors/" };
    static const char *const index[] = { "ivf-flat-v2/" };
    static const char *const ivf[] = { "codebook.bin", "postings/", "sample.bin" };
    struct repo_oid oids[3], ivf_oid;
    grebe_status st;
    GREBE_TRY(exact_entries(c, &c->s->root, "root", top, 3, oids, err));
    GREBE_TRY(exact_entries(c, &oids[2], "points", points, 3, NULL, err));
    GREBE_TRY(exact_entries(c, &oids[0], "index", index, 1, &ivf_oid, err));
    GREBE_TRY(exact_entries(c, &ivf_oid, "index/ivf-flat-v2", ivf, 3, NULL, err));
out:
    return st;
}

/* ---- points ---- */

static grebe_status check_part(struct vdb_snapshot *s, uint32_t i, int kind, grebe_error *err)
{
    const struct vdb_shard *shard = &s->shards[i];
    grebe_status st = vdb_snapshot_load(s, i, 1u << kind, err);
    if (kind != 0) {
        return st;
    }
    for (uint32_t row = 0; st == GREBE_OK && shard->exists && row < shard->n; row++) {
        unsigned char digest[VDB_DIGEST_BYTES];
        struct vdb_id id = vdb_rows_id(&shard->ids, row);
        vdb_id_digest(&id, digest);
        if (vdb_shard_of(digest) != i) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "points/ids/%03x.bin: row %u: expected an id of this shard, found one of %03x",
                            (unsigned)i, (unsigned)row, (unsigned)vdb_shard_of(digest));
        }
    }
    return st;
}

struct shard_results {
    struct vdb_snapshot *s;
    grebe_status status[VDB_SHARDS][VDB_PART_KINDS];
    grebe_error error[VDB_SHARDS][VDB_PART_KINDS];
};

static grebe_status try_shard(void *arg, size_t i, grebe_error *err)
{
    struct shard_results *r = arg;
    (void)err;
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        r->status[i][kind] = check_part(r->s, (uint32_t)i, kind, &r->error[i][kind]);
    }
    return GREBE_OK;
}

static grebe_status check_points(struct check *c, grebe_error *err)
{
    uint64_t n = 0;
    bool is_readable = true;
    grebe_status st;
    struct shard_results *r = mem_alloc_zero(c->vdb->a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "results of shards");
    }
    r->s = c->s;
    GREBE_TRY(parallel_for(c->work.pool, c->work.threads, VDB_SHARDS, try_shard, r, c->work.cancel, err));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        n += c->s->shards[i].exists ? c->s->shards[i].n : 0;
        for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
            if (r->status[i][kind] != GREBE_OK) {
                if (err != NULL) {
                    *err = r->error[i][kind];
                }
                is_readable = false;
                GREBE_TRY(note(c, r->status[i][kind], err));
            }
        }
    }
    if (is_readable && n != c->s->meta.point_count) {
        st = note(c, GREBE_FAIL(err, GREBE_ECORRUPT, "meta.json: expected point_count %llu as the shards have, found %llu",
                                (unsigned long long)n, (unsigned long long)c->s->meta.point_count), err);
    }
out:
    mem_free(c->vdb->a, r, sizeof *r);
    return st;
}

/* ---- the index of format 2 ---- */

static grebe_status check_meta(struct check *c, grebe_error *err)
{
    const struct vdb_meta *m = &c->s->meta;
    grebe_error inner = GREBE_ERROR_INIT;
    if (vdb_config_check(&m->config, m->format, &inner) != GREBE_OK) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "meta.json: %s", inner.message);
    }
    if (m->format == 2 && (m->shard_bits != VDB_SHARD_BITS || m->training_iterations != VDB_ROUNDS ||
                           m->training_sample_limit != VDB_SAMPLE_MAX ||
                           m->centroid_count != vdb_centroid_count(m->point_count))) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "meta.json: ivf: expected shard_bits 6, training_iterations 4, training_sample_limit 8192 and "
                          "centroid_count %u, found %llu, %llu, %llu and %llu",
                          (unsigned)vdb_centroid_count(m->point_count), (unsigned long long)m->shard_bits,
                          (unsigned long long)m->training_iterations, (unsigned long long)m->training_sample_limit,
                          (unsigned long long)m->centroid_count);
    }
    return GREBE_OK;
}

/* Behind check_sample(), which opened the index or said what is wrong with it. */
static grebe_status check_postings(struct check *c, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    if (c->s->posting_oids == NULL) {
        return st;
    }
    for (uint32_t k = 0; st == GREBE_OK && k < c->s->meta.centroid_count; k++) {
        st = note(c, vdb_snapshot_posting(c->s, k, err), err);
    }
    return st;
}

static grebe_status check_sample(struct check *c, grebe_error *err)
{
    struct region *region = NULL;
    const unsigned char *bytes;
    size_t len;
    grebe_status st = note(c, vdb_snapshot_codebook(c->s, err), err);
    if (st != GREBE_OK || !c->s->has_sample) {
        return st;
    }
    st = repo_object_need(c->vdb->repo, &c->s->sample_oid, REPO_BLOB, &region, &bytes, &len, err);
    st = st == GREBE_OK ? vdb_sample_check(bytes, len, c->s->meta.point_count, err) : st;
    region_drop(region);
    return error_wrap(err, st, "index/ivf-flat-v2/sample.bin");
}

static grebe_status compare_postings(struct check *c, const struct vdb_built *b, grebe_error *err)
{
    struct buf blobs = BUF_INIT(c->vdb->a);
    size_t *end = mem_alloc(c->vdb->a, b->k * sizeof *end);
    grebe_status st = end == NULL ? mem_fail(err, b->k * sizeof *end, "postings") : vdb_index_postings(b, &blobs, end, err);
    for (uint32_t k = 0; st == GREBE_OK && k < b->k; k++) {
        size_t start = k == 0 ? 0 : end[k - 1];
        struct repo_oid oid;
        repo_oid_of(REPO_BLOB, blobs.data + start, end[k] - start, &oid);
        if (!repo_oid_equal(&oid, &c->s->posting_oids[k])) {
            st = note(c, GREBE_FAIL(err, GREBE_ECORRUPT,
                                    "index/ivf-flat-v2/postings/%04x.bin: expected the posting of the points, found another",
                                    (unsigned)k), err);
        }
    }
    mem_free(c->vdb->a, end, b->k * sizeof *end);
    buf_release(&blobs);
    return st;
}

/* The index computed from the points is the one that is stored. */
static grebe_status check_computed(struct check *c, grebe_error *err)
{
    struct vdb_built *b = NULL;
    struct buf blob = BUF_INIT(c->vdb->a);
    struct repo_oid oid;
    grebe_status st;
    GREBE_TRY(vdb_built_from(c->s, &c->work, &b, err));
    GREBE_TRY(vdb_index_build(b, NULL, &c->work, err));
    if (b->k != c->s->meta.centroid_count) {
        goto out; /* noted with meta.json */
    }
    GREBE_TRY(vdb_matrix_encode(VDB_MATRIX_CODEBOOK, b->codebook, b->k, b->meta.config.dimension, &blob, err));
    repo_oid_of(REPO_BLOB, blob.data, blob.len, &oid);
    if (!repo_oid_equal(&oid, &c->s->codebook_oid)) {
        GREBE_TRY(note(c, GREBE_FAIL(err, GREBE_ECORRUPT, "index/ivf-flat-v2/codebook.bin: expected the centroids of the "
                                                          "points, found others"), err));
    }
    GREBE_TRY(compare_postings(c, b, err));
    buf_clear(&blob);
    GREBE_TRY(vdb_index_sample(b, &c->work, &blob, err));
    repo_oid_of(REPO_BLOB, blob.data, blob.len, &oid);
    if (!repo_oid_equal(&oid, &c->s->sample_oid)) {
        GREBE_TRY(note(c, GREBE_FAIL(err, GREBE_ECORRUPT, "index/ivf-flat-v2/sample.bin: expected the training sample of "
                                                          "the points, found another"), err));
    }
out:
    buf_release(&blob);
    vdb_built_free(b);
    return st;
}

static grebe_status check_root(struct check *c, grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(note(c, check_meta(c, err), err));
    if (c->s->meta.format == 1) {
        return note(c, vdb_lsh_validate(c->s, c->is_full, &c->checked_buckets, err), err);
    }
    GREBE_TRY(note(c, check_trees(c, err), err));
    GREBE_TRY(check_points(c, err));
    GREBE_TRY(note(c, check_sample(c, err), err));
    GREBE_TRY(note(c, check_postings(c, err), err));
    if (c->is_full && c->findings.len == 0) { /* what cannot be read cannot be computed from */
        GREBE_TRY(note(c, check_computed(c, err), err));
        c->checked_buckets = c->s->meta.centroid_count;
    }
out:
    return st;
}

/* ---- the calls ---- */

static grebe_status validate_value(struct check *c, grebe_vdb_result *r, grebe_error *err)
{
    struct vdb_object_maker o;
    size_t n = c->findings.len / sizeof(struct vdb_value);
    vdb_object_begin(&o, &r->ar, 6);
    vdb_object_add(&o, "root", vdb_text(r->root));
    vdb_object_add(&o, "full", vdb_bool(c->is_full));
    vdb_object_add(&o, "point_count", c->s == NULL ? vdb_null() : vdb_uint(c->s->meta.point_count));
    vdb_object_add(&o, "checked_buckets", vdb_uint(c->checked_buckets));
    if (n != 0) {
        struct vdb_value *list = arena_array(&r->ar, n, sizeof *list);
        o.is_failed = o.is_failed || list == NULL;
        if (list != NULL) {
            memcpy(list, c->findings.data, c->findings.len);
        }
        vdb_object_add(&o, "problems", vdb_list(list, n));
    }
    vdb_object_add(&o, "valid", vdb_bool(n == 0));
    r->count = n;
    return vdb_object_end(&o, &r->value, err);
}

grebe_status grebe_vdb_validate(grebe_vdb *vdb, const char *name, const char *at, bool is_full, bool all_problems,
                                grebe_vdb_result **out, grebe_error *err)
{
    struct check c = { .vdb = vdb, .is_full = is_full, .wants_all = all_problems };
    grebe_vdb_result *r = NULL;
    struct repo_oid root;
    grebe_error own = GREBE_ERROR_INIT;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && out != NULL);
    *out = NULL;
    err = err == NULL ? &own : err;
    c.findings = BUF_INIT(vdb->a);
    c.work = vdb_work_of(vdb, NULL);
    grebe_status st;
    GREBE_TRY(vdb_result_new(vdb, &r, err));
    GREBE_TRY(vdb_resolve(vdb, name, at, &root, err));
    repo_oid_hex(&root, r->root);
    c.ar = &r->ar;
    GREBE_TRY(error_wrap(err, note(&c, vdb_view_open(vdb, &root, &r->view, err), err), "collection %s", name));
    if (r->view != NULL) {
        c.s = r->view->snapshot;
        GREBE_TRY(error_wrap(err, check_root(&c, err), "collection %s", name));
    }
    GREBE_TRY(validate_value(&c, r, err));
out:
    buf_release(&c.findings);
    if (st == GREBE_OK && r->count != 0) {
        *out = r;
        return GREBE_FAIL(err, GREBE_ECORRUPT, "collection %s: %llu problems", name, (unsigned long long)r->count);
    }
    return vdb_result_end(st, &r, out);
}

/* {name, points, root, valid} or {error, name, valid}. */
static grebe_status report_value(grebe_vdb *vdb, struct arena *ar, const char *name, struct vdb_value *out, bool *is_valid,
                                 grebe_error *err)
{
    grebe_error inner = GREBE_ERROR_INIT;
    grebe_vdb_result *r = NULL;
    struct vdb_object_maker o;
    grebe_status st = grebe_vdb_validate(vdb, name, NULL, false, false, &r, &inner);
    *is_valid = st == GREBE_OK;
    vdb_object_begin(&o, ar, 4);
    if (*is_valid) {
        char *root = arena_str(ar, r->root, REPO_OID_HEX);
        o.is_failed = o.is_failed || root == NULL;
        vdb_object_add(&o, "name", vdb_text(name));
        vdb_object_add(&o, "points", vdb_uint(r->view->snapshot->meta.point_count));
        vdb_object_add(&o, "root", root == NULL ? vdb_null() : vdb_text(root));
    } else {
        char *text = arena_str(ar, inner.message, strlen(inner.message));
        o.is_failed = o.is_failed || text == NULL;
        vdb_object_add(&o, "error", text == NULL ? vdb_null() : vdb_text(text));
        vdb_object_add(&o, "name", vdb_text(name));
    }
    vdb_object_add(&o, "valid", vdb_bool(*is_valid));
    grebe_vdb_result_free(r);
    return st == GREBE_ENOMEM || st == GREBE_ECANCELLED ? GREBE_FAIL(err, st, "%s", inner.message)
                                                        : vdb_object_end(&o, out, err);
}

grebe_status grebe_vdb_doctor(grebe_vdb *vdb, grebe_vdb_result **out, grebe_error *err)
{
    GREBE_CHECK_ARG(err, vdb != NULL && out != NULL);
    grebe_vdb_result *r = NULL;
    const char *const *names;
    struct vdb_object_maker o;
    size_t n = 0, n_bad = 0;
    *out = NULL;
    grebe_status st;
    GREBE_TRY(vdb_result_new(vdb, &r, err));
    GREBE_TRY(repo_ref_list(vdb->repo, &r->ar, &names, &n, err));
    struct vdb_value *reports = arena_array(&r->ar, n, sizeof *reports);
    const char *path = repo_path(vdb->repo);
    path = arena_str(&r->ar, path, strlen(path));
    if (reports == NULL || path == NULL) {
        st = mem_fail(err, n * sizeof *reports, "reports");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_valid;
        GREBE_TRY(report_value(vdb, &r->ar, names[i], &reports[i], &is_valid, err));
        n_bad += !is_valid;
    }
    vdb_object_begin(&o, &r->ar, 4);
    vdb_object_add(&o, "collections", vdb_uint(n));
    vdb_object_add(&o, "database", vdb_text(path));
    vdb_object_add(&o, "reports", vdb_list(reports, n));
    vdb_object_add(&o, "valid", vdb_bool(n_bad == 0));
    GREBE_TRY(vdb_object_end(&o, &r->value, err));
    r->count = n;
out:
    if (st == GREBE_OK && n_bad != 0) {
        *out = r;
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%zu of %zu collections have problems", n_bad, n);
    }
    return vdb_result_end(st, &r, out);
}
