/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a root tree. */
#include "gitvdb/vdb_build.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gitvdb/vdb_history.h"
#include "gitvdb/vdb_lsh.h"

enum { NAME_MAX_BYTES = 16, MODE_TREE = 040000, MODE_BLOB = 0100644 };

/* A tree while it is filled. */
struct folder {
    struct repo_tree_entry entries[VDB_CENTROIDS_MAX];
    char names[VDB_CENTROIDS_MAX][NAME_MAX_BYTES];
    size_t n;
};

static void folder_add(struct folder *f, uint32_t mode, const struct repo_oid *oid, const char *name)
{
    snprintf(f->names[f->n], NAME_MAX_BYTES, "%s", name);
    f->entries[f->n] = (struct repo_tree_entry){ mode, f->names[f->n], *oid };
    f->n++;
}

/* A blob such as "03f.f32le": `digits` hexadecimal digits and an ending. */
static void folder_add_numbered(struct folder *f, const struct repo_oid *oid, int digits, uint32_t number,
                                const char *ending)
{
    char name[NAME_MAX_BYTES];
    snprintf(name, sizeof name, "%0*x%s", digits, (unsigned)number, ending);
    folder_add(f, MODE_BLOB, oid, name);
}

/* Puts the tree into the pack and empties the folder. */
static grebe_status folder_end(struct folder *f, struct repo_pack *p, struct buf *scratch, struct repo_oid *out,
                               grebe_error *err)
{
    buf_clear(scratch);
    grebe_status st = repo_tree_encode(f->entries, f->n, scratch, err);
    const unsigned char *nul = st == GREBE_OK && f->n > 0 ? memchr(scratch->data, 0, scratch->len) : NULL;
    size_t stride = nul == NULL ? 0 : (size_t)(nul - scratch->data) + 1 + sizeof out->bytes; /* names are of one length */
    f->n = 0;
    return st == GREBE_OK ? repo_pack_add(p, REPO_TREE, scratch->data, scratch->len, REPO_RECORDS(stride), out, err) : st;
}

/* ---- shards ---- */

static grebe_status hash_part(void *arg, size_t i, grebe_error *err)
{
    struct vdb_built *b = arg;
    struct vdb_part *part = b->parts[i / VDB_PART_KINDS];
    size_t kind = i % VDB_PART_KINDS;
    (void)err;
    if (part != NULL && !part->has_oids) {
        repo_oid_of(REPO_BLOB, part->regions[kind]->data, part->regions[kind]->len, &part->oids[kind]);
    }
    return GREBE_OK;
}

static struct repo_pack_threads threads_of(const struct vdb_work *work)
{
    return (struct repo_pack_threads){ work->a, work->pool, work->threads, work->cancel };
}

/* The blobs of these parts, shape [n]; NULL among them: no part. */
static grebe_status store_parts(struct vdb_part *const *parts, size_t n, const struct vdb_work *work,
                                struct repo_pack *p, bool is_small, grebe_error *err)
{
    struct repo_pack_item items[VDB_SHARDS * VDB_PART_KINDS];
    struct repo_pack_threads threads = threads_of(work);
    size_t n_items = 0;
    assert(n <= VDB_SHARDS);
    for (size_t i = 0; i < n; i++) {
        for (int kind = 0; kind < VDB_PART_KINDS && parts[i] != NULL && !parts[i]->is_stored; kind++) {
            int level = kind == 2 && is_small ? REPO_RECORDS(0) : -1;
            items[n_items++] = (struct repo_pack_item){ parts[i]->regions[kind]->data, parts[i]->regions[kind]->len,
                                                       level, parts[i]->has_oids, parts[i]->oids[kind] };
        }
    }
    grebe_status st = repo_pack_add_all(p, REPO_BLOB, items, n_items, &threads, err);
    for (size_t i = 0; i < n && st == GREBE_OK; i++) {
        if (parts[i] != NULL) {
            parts[i]->is_stored = true;
        }
    }
    return st;
}

static grebe_status write_parts(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                                struct repo_pack *p, bool is_chain, grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(parallel_for(work->pool, work->threads, (size_t)VDB_SHARDS * VDB_PART_KINDS, hash_part, b, work->cancel,
                           err));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        struct vdb_part *old = from == NULL ? NULL : from->parts[i];
        if (old != NULL && !old->is_stored && old != b->parts[i]) { /* pending: an older version of what follows */
            GREBE_TRY(b->parts[i] == NULL ? store_parts(&old, 1, work, p, true, err)
                                          : vdb_history_part(p, old, b->parts[i], err));
        }
        if (b->parts[i] != NULL) {
            b->parts[i]->has_oids = true;
        }
    }
    st = is_chain ? GREBE_OK : store_parts(b->parts, VDB_SHARDS, work, p, false, err);
out:
    return st;
}

static grebe_status write_points(struct vdb_built *b, struct repo_pack *p, struct folder *f, struct buf *scratch,
                                 struct repo_oid *out, grebe_error *err)
{
    static const char *const folders[] = { "ids", "payloads", "vectors" };
    struct repo_oid trees[VDB_PART_KINDS];
    grebe_status st;
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        for (uint32_t i = 0; i < VDB_SHARDS; i++) {
            if (b->parts[i] != NULL) {
                folder_add_numbered(f, &b->parts[i]->oids[kind], 3, i, kind == 2 ? ".f32le" : ".bin");
            }
        }
        GREBE_TRY(folder_end(f, p, scratch, &trees[kind], err));
    }
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        folder_add(f, MODE_TREE, &trees[kind], folders[kind]);
    }
    GREBE_TRY(folder_end(f, p, scratch, out, err));
out:
    return st;
}

/* ---- the index ---- */

static grebe_status write_sample(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                                 struct repo_pack *p, bool is_chain, grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(vdb_index_sample(b, work, &b->sample_blob, err));
    repo_oid_of(REPO_BLOB, b->sample_blob.data, b->sample_blob.len, &b->sample_oid);
    if (from != NULL && from->sample_blob.len != 0 && !repo_oid_equal(&from->sample_oid, &b->sample_oid)) {
        GREBE_TRY(vdb_history_sample(p, from, b, err));
    }
    if (!is_chain) {
        GREBE_TRY(repo_pack_add(p, REPO_BLOB, b->sample_blob.data, b->sample_blob.len, -1, &b->sample_oid, err));
        buf_release(&b->sample_blob);
    }
out:
    return st;
}

static grebe_status write_postings(struct vdb_built *b, const struct vdb_work *work, struct repo_pack *p,
                                   struct folder *f, struct buf *scratch, struct repo_oid *out, grebe_error *err)
{
    struct buf blobs = BUF_INIT(b->a);
    struct repo_pack_threads threads = threads_of(work);
    size_t *end = mem_alloc(b->a, b->k * sizeof *end);
    struct repo_pack_item *items = mem_alloc(b->a, b->k * sizeof *items);
    grebe_status st = GREBE_OK;
    if (end == NULL || items == NULL) {
        st = mem_fail(err, b->k * sizeof *items, "postings");
        goto out;
    }
    GREBE_TRY(vdb_index_postings(b, &blobs, end, err));
    for (uint32_t c = 0; c < b->k; c++) {
        size_t start = c == 0 ? 0 : end[c - 1];
        items[c] = (struct repo_pack_item){ blobs.data + start, end[c] - start, REPO_RECORDS(6), false, { { 0 } } };
    }
    GREBE_TRY(repo_pack_add_all(p, REPO_BLOB, items, b->k, &threads, err));
    for (uint32_t c = 0; c < b->k; c++) {
        folder_add_numbered(f, &items[c].oid, 4, c, ".bin");
    }
    GREBE_TRY(folder_end(f, p, scratch, out, err));
out:
    mem_free(b->a, items, b->k * sizeof *items);
    mem_free(b->a, end, b->k * sizeof *end);
    buf_release(&blobs);
    return st;
}

static grebe_status write_index(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                                struct repo_pack *p, bool is_chain, struct folder *f, struct buf *scratch,
                                struct repo_oid *out, grebe_error *err)
{
    struct repo_oid codebook, postings, ivf;
    grebe_status st;
    GREBE_TRY(write_sample(b, from, work, p, is_chain, err));
    GREBE_TRY(write_postings(b, work, p, f, scratch, &postings, err));
    buf_clear(scratch);
    GREBE_TRY(vdb_matrix_encode(VDB_MATRIX_CODEBOOK, b->codebook, b->k, b->meta.config.dimension, scratch, err));
    GREBE_TRY(repo_pack_add(p, REPO_BLOB, scratch->data, scratch->len, REPO_RECORDS(0), &codebook, err));
    folder_add(f, MODE_BLOB, &codebook, "codebook.bin");
    folder_add(f, MODE_TREE, &postings, "postings");
    folder_add(f, MODE_BLOB, &b->sample_oid, "sample.bin");
    GREBE_TRY(folder_end(f, p, scratch, &ivf, err));
    folder_add(f, MODE_TREE, &ivf, "ivf-flat-v2");
    GREBE_TRY(folder_end(f, p, scratch, out, err));
out:
    return st;
}

grebe_status vdb_built_write(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                             struct repo_pack *p, bool is_chain, grebe_error *err)
{
    struct buf scratch = BUF_INIT(b->a);
    struct repo_oid points, index, meta;
    grebe_status st;
    b->meta.point_count = b->n;
    if (b->meta.format == 1) {
        st = vdb_built_load_all(b, work, VDB_PART_ALL, err);
        return st == GREBE_OK ? vdb_lsh_write(p, b, &b->root, err) : st;
    }
    struct folder *f = mem_alloc(b->a, sizeof *f);
    if (f == NULL) {
        return mem_fail(err, sizeof *f, "a tree");
    }
    f->n = 0;
    GREBE_TRY(vdb_index_build(b, from, work, err));
    GREBE_TRY(write_parts(b, from, work, p, is_chain, err));
    GREBE_TRY(write_points(b, p, f, &scratch, &points, err));
    GREBE_TRY(write_index(b, from, work, p, is_chain, f, &scratch, &index, err));
    buf_clear(&scratch);
    GREBE_TRY(vdb_meta_encode(&b->meta, &scratch, err));
    GREBE_TRY(repo_pack_add(p, REPO_BLOB, scratch.data, scratch.len, -1, &meta, err));
    folder_add(f, MODE_TREE, &index, "index");
    folder_add(f, MODE_BLOB, &meta, "meta.json");
    folder_add(f, MODE_TREE, &points, "points");
    GREBE_TRY(folder_end(f, p, &scratch, &b->root, err));
out:
    mem_free(b->a, f, sizeof *f);
    buf_release(&scratch);
    return st;
}

uint64_t vdb_built_pending(const struct vdb_built *b)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        for (int kind = 0; kind < VDB_PART_KINDS && b->parts[i] != NULL && !b->parts[i]->is_stored; kind++) {
            bytes += b->parts[i]->regions[kind]->len;
        }
    }
    return bytes;
}

grebe_status vdb_built_finish(struct vdb_built *b, const struct vdb_work *work, struct repo_pack *p, bool is_small,
                              grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(store_parts(b->parts, VDB_SHARDS, work, p, is_small, err));
    if (b->sample_blob.len != 0) {
        GREBE_TRY(repo_pack_add(p, REPO_BLOB, b->sample_blob.data, b->sample_blob.len, -1, &b->sample_oid, err));
    }
out:
    return st;
}
