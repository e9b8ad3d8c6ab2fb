/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_snapshot.h"

#include <stdio.h>
#include <string.h>

#include "gitvdb/vdb_codes.h"
#include "gitvdb/vdb_lsh.h"

static const struct {
    const char *folder, *ending;
} part_names[VDB_PART_KINDS] = { { "ids", ".bin" }, { "payloads", ".bin" }, { "vectors", ".f32le" } };

/* ---- trees on the way ---- */

static grebe_status find_entry(const struct repo_tree *t, const char *path, const char *name,
                               bool is_tree, struct repo_oid *oid, grebe_error *err)
{
    const struct repo_tree_entry *e = repo_tree_find(t, name);
    const char *kind = is_tree ? "tree" : "blob";
    if (e == NULL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s%s: expected a %s, found nothing", path, name, kind);
    }
    if (repo_entry_is_tree(e) != is_tree || (!is_tree && (e->mode & 0170000) != 0100000)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s%s: expected a %s, found mode %o", path, name, kind,
                          (unsigned)e->mode);
    }
    *oid = e->oid;
    return GREBE_OK;
}

/* "03f.bin": the shard, or VDB_SHARDS for a name that no shard has. */
static uint32_t shard_from_name(const char *name, const char *ending)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(name) != 3 + strlen(ending) || strcmp(name + 3, ending) != 0 || name[0] != '0') {
        return VDB_SHARDS;
    }
    const char *high = strchr(digits, name[1]);
    const char *low = strchr(digits, name[2]);
    if (high == NULL || low == NULL || *high == 0 || *low == 0) {
        return VDB_SHARDS;
    }
    uint32_t shard = (uint32_t)(high - digits) * 16 + (uint32_t)(low - digits);
    return shard < VDB_SHARDS ? shard : VDB_SHARDS;
}

static grebe_status list_shards(struct vdb_snapshot *s, const struct repo_oid *folder, int kind,
                                uint64_t *seen, grebe_error *err)
{
    struct repo_tree t = { 0 };
    char quoted[96];
    grebe_status st;
    GREBE_TRY(error_wrap(err, repo_tree_read(s->repo, folder, &t, err), "points/%s", part_names[kind].folder));
    *seen = 0;
    for (size_t i = 0; i < t.n; i++) {
        const struct repo_tree_entry *e = &t.entries[i];
        uint32_t shard = shard_from_name(e->name, part_names[kind].ending);
        if (shard == VDB_SHARDS || (e->mode & 0170000) != 0100000) {
            error_quote(quoted, sizeof quoted, e->name, strlen(e->name));
            st = GREBE_FAIL(err, GREBE_ECORRUPT,
                            "points/%s/%s: expected blobs 000%s to 03f%s, found this name with mode %o",
                            part_names[kind].folder, quoted, part_names[kind].ending,
                            part_names[kind].ending, (unsigned)e->mode);
            goto out;
        }
        s->shards[shard].oids[kind] = e->oid;
        *seen |= UINT64_C(1) << shard;
    }
out:
    repo_tree_release(&t);
    return st;
}

static grebe_status open_points(struct vdb_snapshot *s, const struct repo_tree *points, grebe_error *err)
{
    uint64_t seen[VDB_PART_KINDS];
    grebe_status st = GREBE_OK;
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        struct repo_oid folder;
        GREBE_TRY(find_entry(points, "points/", part_names[kind].folder, true, &folder, err));
        GREBE_TRY(list_shards(s, &folder, kind, &seen[kind], err));
        if (seen[kind] != seen[0]) {
            uint32_t shard = (uint32_t)__builtin_ctzll(seen[kind] ^ seen[0]);
            int lacks = (seen[0] >> shard & 1) != 0 ? kind : 0;
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "points/%s/%03x%s: expected a blob as in points/%s, found nothing",
                            part_names[lacks].folder, (unsigned)shard, part_names[lacks].ending, part_names[kind - lacks].folder);
            goto out;
        }
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        s->shards[i].exists = (seen[0] >> i & 1) != 0;
    }
out:
    return st;
}

static grebe_status read_meta(struct vdb_snapshot *s, const struct repo_tree *top, grebe_error *err)
{
    struct repo_oid oid;
    struct region *region = NULL;
    const unsigned char *bytes;
    size_t len;
    grebe_status st;
    st = find_entry(top, "", "meta.json", false, &oid, err);
    if (st != GREBE_OK) {
        return st;
    }
    GREBE_TRY(repo_object_need(s->repo, &oid, REPO_BLOB, &region, &bytes, &len, err));
    st = vdb_meta_parse(&s->ar, bytes, len, &s->meta, err);
out:
    region_drop(region);
    return error_wrap(err, st, "meta.json");
}

static void drop_index(struct vdb_snapshot *s)
{
    size_t k = s->meta.centroid_count;
    for (size_t c = 0; s->posting_regions != NULL && c < k; c++) {
        region_drop(s->posting_regions[c]);
    }
    mem_free(s->a, s->posting_regions, k * sizeof *s->posting_regions);
    mem_free(s->a, s->postings, k * sizeof *s->postings);
    mem_free(s->a, s->posting_oids, k * sizeof *s->posting_oids);
    region_drop(s->codebook_region);
    s->posting_regions = NULL;
    s->postings = NULL;
    s->posting_oids = NULL;
    s->codebook_region = NULL;
}

grebe_status vdb_snapshot_open(struct repo *repo, const struct repo_oid *root,
                               const grebe_allocator *a, struct vdb_snapshot **out, grebe_error *err)
{
    struct repo_tree top = { 0 }, points = { 0 };
    struct repo_oid points_oid;
    grebe_status st;
    *out = NULL;
    struct vdb_snapshot *s = mem_alloc_zero(a, sizeof *s);
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a collection");
    }
    s->repo = repo;
    s->a = a;
    s->root = *root;
    s->ar = ARENA_INIT(a);
    pthread_mutex_init(&s->lock, NULL);
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        pthread_mutex_init(&s->shards[i].lock, NULL);
    }
    GREBE_TRY(repo_tree_read(repo, root, &top, err));
    GREBE_TRY(find_entry(&top, "", "points", true, &points_oid, err));
    GREBE_TRY(find_entry(&top, "", "index", true, &s->index_oid, err));
    GREBE_TRY(read_meta(s, &top, err));
    st = repo_tree_read(repo, &points_oid, &points, err);
    if (st != GREBE_OK) {
        error_wrap(err, st, "points");
        goto out;
    }
    st = s->meta.format == 1 ? vdb_lsh_load(s, &points, err) : open_points(s, &points, err);
out:
    repo_tree_release(&points);
    repo_tree_release(&top);
    if (st != GREBE_OK) {
        vdb_snapshot_close(s);
        return st;
    }
    *out = s;
    return GREBE_OK;
}

void vdb_snapshot_close(struct vdb_snapshot *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        struct vdb_shard *shard = &s->shards[i];
        for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
            region_drop(shard->regions[kind]);
        }
        pthread_mutex_destroy(&shard->lock);
    }
    drop_index(s);
    vdb_coded_free(atomic_load(&s->coded));
    pthread_mutex_destroy(&s->lock);
    arena_release(&s->ar);
    mem_free(s->a, s, sizeof *s);
}

/* ---- shards ---- */

static grebe_status check_payloads(const struct vdb_rows *rows, grebe_error *err)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        size_t len;
        const char *text = (const char *)vdb_rows_get(rows, i, &len);
        if (!vdb_json_is_canonical_object(text, len)) {
            char quoted[64];
            return GREBE_FAIL(err, GREBE_ECORRUPT, "row %u: expected a canonical JSON object, found %s",
                              (unsigned)i, error_quote(quoted, sizeof quoted, text, len));
        }
    }
    return GREBE_OK;
}

static grebe_status open_part(struct vdb_snapshot *s, struct vdb_shard *shard, int kind,
                              const unsigned char *bytes, size_t len, uint32_t *n, grebe_error *err)
{
    grebe_status st;
    switch (kind) {
    case 0:
        st = vdb_rows_open(VDB_ROWS_IDS, bytes, len, &shard->ids, err);
        *n = shard->ids.n;
        return st;
    case 1:
        st = vdb_rows_open(VDB_ROWS_PAYLOADS, bytes, len, &shard->payloads, err);
        *n = shard->payloads.n;
        return st == GREBE_OK ? check_payloads(&shard->payloads, err) : st;
    default:
        st = vdb_matrix_open(VDB_MATRIX_VECTORS, bytes, len, s->meta.config.dimension, &shard->vectors,
                             err);
        *n = shard->vectors.n;
        return st;
    }
}

static grebe_status load_part(struct vdb_snapshot *s, uint32_t index, int kind, grebe_error *err)
{
    struct vdb_shard *shard = &s->shards[index];
    struct region *region = NULL;
    const unsigned char *bytes;
    size_t len;
    uint32_t n = 0;
    grebe_status st = repo_object_need(s->repo, &shard->oids[kind], REPO_BLOB, &region, &bytes, &len, err);
    st = st == GREBE_OK ? open_part(s, shard, kind, bytes, len, &n, err) : st;
    if (st == GREBE_OK && n == 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected rows, found an empty shard");
    }
    if (st == GREBE_OK && shard->loaded != 0 && n != shard->n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected %u rows as in the other parts of the shard, found %u",
                        (unsigned)shard->n, (unsigned)n);
    }
    if (st != GREBE_OK) {
        region_drop(region);
        return error_wrap(err, st, "points/%s/%03x%s", part_names[kind].folder, (unsigned)index,
                          part_names[kind].ending);
    }
    shard->regions[kind] = region;
    if (shard->loaded == 0) { /* others may read it while a later part is loaded */
        shard->n = n;
    }
    shard->loaded |= 1u << kind;
    return GREBE_OK;
}

grebe_status vdb_snapshot_load(struct vdb_snapshot *s, uint32_t index, uint32_t parts, grebe_error *err)
{
    struct vdb_shard *shard = &s->shards[index];
    grebe_status st = GREBE_OK;
    if (!shard->exists) {
        return GREBE_OK;
    }
    pthread_mutex_lock(&shard->lock);
    for (int kind = 0; kind < VDB_PART_KINDS && st == GREBE_OK; kind++) {
        if ((parts & ~shard->loaded) >> kind & 1) {
            st = load_part(s, index, kind, err);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    return st;
}

struct load_all {
    struct vdb_snapshot *s;
    uint32_t parts;
};

static grebe_status load_one(void *arg, size_t i, grebe_error *err)
{
    struct load_all *job = arg;
    return vdb_snapshot_load(job->s, (uint32_t)i, job->parts, err);
}

grebe_status vdb_snapshot_load_all(struct vdb_snapshot *s, const struct vdb_work *work, uint32_t parts,
                                   grebe_error *err)
{
    struct load_all job = { s, parts };
    return parallel_for(work->pool, work->threads, VDB_SHARDS, load_one, &job, work->cancel, err);
}

/* ---- the index of format 2 ---- */

/* "000f.bin" for centroid 15. */
static grebe_status list_postings(struct vdb_snapshot *s, const struct repo_tree *postings, grebe_error *err)
{
    size_t k = s->meta.centroid_count;
    if (k > VDB_CENTROIDS_MAX || postings->n != k) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "index/ivf-flat-v2/postings: expected %llu blobs, one for each centroid, found %zu",
                          (unsigned long long)k, postings->n);
    }
    s->posting_oids = mem_alloc_zero(s->a, k * sizeof *s->posting_oids);
    s->posting_regions = mem_alloc_zero(s->a, k * sizeof *s->posting_regions);
    s->postings = mem_alloc_zero(s->a, k * sizeof *s->postings);
    if (s->posting_oids == NULL || s->posting_regions == NULL || s->postings == NULL) {
        return mem_fail(err, k * sizeof *s->posting_oids, "postings");
    }
    for (size_t c = 0; c < k; c++) {
        char name[16];
        snprintf(name, sizeof name, "%04x.bin", (unsigned)c);
        grebe_status st = find_entry(postings, "index/ivf-flat-v2/postings/", name, false, &s->posting_oids[c], err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status read_codebook(struct vdb_snapshot *s, const struct repo_oid *oid, grebe_error *err)
{
    const unsigned char *bytes;
    size_t len;
    grebe_status st = repo_object_need(s->repo, oid, REPO_BLOB, &s->codebook_region, &bytes, &len, err);
    st = st == GREBE_OK ? vdb_matrix_open(VDB_MATRIX_CODEBOOK, bytes, len, s->meta.config.dimension,
                                          &s->codebook, err)
                        : st;
    if (st == GREBE_OK && s->codebook.n != s->meta.centroid_count) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected %llu centroids, found %u",
                        (unsigned long long)s->meta.centroid_count, (unsigned)s->codebook.n);
    }
    return error_wrap(err, st, "index/ivf-flat-v2/codebook.bin");
}

static grebe_status open_index(struct vdb_snapshot *s, grebe_error *err)
{
    struct repo_tree index = { 0 }, ivf = { 0 }, postings = { 0 };
    struct repo_oid ivf_oid, postings_oid;
    grebe_status st;
    GREBE_TRY(error_wrap(err, repo_tree_read(s->repo, &s->index_oid, &index, err), "index"));
    GREBE_TRY(find_entry(&index, "index/", "ivf-flat-v2", true, &ivf_oid, err));
    GREBE_TRY(error_wrap(err, repo_tree_read(s->repo, &ivf_oid, &ivf, err), "index/ivf-flat-v2"));
    GREBE_TRY(find_entry(&ivf, "index/ivf-flat-v2/", "codebook.bin", false, &s->codebook_oid, err));
    GREBE_TRY(find_entry(&ivf, "index/ivf-flat-v2/", "sample.bin", false, &s->sample_oid, err));
    s->has_sample = true;
    GREBE_TRY(find_entry(&ivf, "index/ivf-flat-v2/", "postings", true, &postings_oid, err));
    GREBE_TRY(error_wrap(err, repo_tree_read(s->repo, &postings_oid, &postings, err), "index/ivf-flat-v2/postings"));
    GREBE_TRY(list_postings(s, &postings, err));
    GREBE_TRY(read_codebook(s, &s->codebook_oid, err));
out:
    repo_tree_release(&postings);
    repo_tree_release(&ivf);
    repo_tree_release(&index);
    return st;
}

grebe_status vdb_snapshot_codebook(struct vdb_snapshot *s, grebe_error *err)
{
    pthread_mutex_lock(&s->lock);
    grebe_status st = s->codebook_region != NULL ? GREBE_OK : open_index(s, err);
    if (st != GREBE_OK) {
        drop_index(s);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

grebe_status vdb_snapshot_posting(struct vdb_snapshot *s, uint32_t c, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    pthread_mutex_lock(&s->lock);
    if (s->posting_regions[c] == NULL) {
        const unsigned char *bytes;
        size_t len;
        struct region *region = NULL;
        st = repo_object_need(s->repo, &s->posting_oids[c], REPO_BLOB, &region, &bytes, &len, err);
        st = st == GREBE_OK ? vdb_posting_open(bytes, len, &s->postings[c], err) : st;
        if (st == GREBE_OK) {
            s->posting_regions[c] = region;
        } else {
            region_drop(region);
            error_wrap(err, st, "index/ivf-flat-v2/postings/%04x.bin", (unsigned)c);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}
