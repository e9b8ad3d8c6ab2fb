/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_lsh_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "gitvdb/vdb_build.h"

/*
 * The trees of format 1. All names in one tree have the same length and are put in ascending order, which is git's order, so trees
 * are written as they are walked through.
 */

struct writer {
    struct repo_pack *pack;
    const struct vdb_built *b;
    struct lsh_point *points; /* shape [n], ascending by digest */
    size_t n;
    struct buf scratch;
};

/* An entry of one table. */
struct signed_point {
    uint64_t signature;
    uint32_t index; /* of the point: ascending by digest */
};

static grebe_status put_entry(struct buf *tree, const char *mode, const char *name, const struct repo_oid *oid,
                              grebe_error *err)
{
    grebe_status st = buf_printf(tree, err, "%s %s", mode, name);
    if (st == GREBE_OK) {
        st = buf_put_byte(tree, 0, err);
    }
    return st == GREBE_OK ? buf_put(tree, oid->bytes, sizeof oid->bytes, err) : st;
}

static const char mode_tree[] = "40000", mode_blob[] = "100644";

static grebe_status add_tree(struct writer *w, const struct buf *tree, struct repo_oid *oid, grebe_error *err)
{
    return repo_pack_add(w->pack, REPO_TREE, tree->data, tree->len, -1, oid, err);
}

/* ---- points ---- */

static grebe_status put_id(struct buf *out, const struct vdb_id *id, grebe_error *err)
{
    const struct vdb_value value = vdb_id_to_json(id);
    grebe_status st = buf_printf(out, err, "{\"type\":\"%s\",\"value\":", id->is_number ? "uint" : "string");
    if (st == GREBE_OK) {
        st = vdb_json_put(out, &value, err);
    }
    return st == GREBE_OK ? buf_put_byte(out, '}', err) : st;
}

static grebe_status write_point(struct writer *w, struct lsh_point *p, grebe_error *err)
{
    const struct vdb_part *part = w->b->parts[p->at.shard];
    const uint32_t dim = w->b->meta.config.dimension;
    const struct vdb_id id = vdb_rows_id(&part->ids, p->at.row);
    struct buf *s = &w->scratch;
    unsigned char dim_bytes[4];
    struct repo_oid oid_id, oid_payload, oid_vector;
    size_t len = 0;
    grebe_status st;

    buf_clear(s);
    GREBE_TRY(put_id(s, &id, err));
    GREBE_TRY(repo_pack_add(w->pack, REPO_BLOB, s->data, s->len, -1, &oid_id, err));
    const unsigned char *payload = vdb_rows_get(&part->payloads, p->at.row, &len);
    GREBE_TRY(repo_pack_add(w->pack, REPO_BLOB, payload, len, -1, &oid_payload, err));
    buf_clear(s);
    store_le32(dim_bytes, dim);
    GREBE_TRY(buf_put(s, lsh_vector_magic, sizeof lsh_vector_magic, err));
    GREBE_TRY(buf_put(s, dim_bytes, sizeof dim_bytes, err));
    GREBE_TRY(buf_put(s, part->vectors.values + (size_t)p->at.row * dim, dim * sizeof(float), err));
    GREBE_TRY(repo_pack_add(w->pack, REPO_BLOB, s->data, s->len, -1, &oid_vector, err));
    buf_clear(s);
    GREBE_TRY(put_entry(s, mode_blob, "id.json", &oid_id, err));
    GREBE_TRY(put_entry(s, mode_blob, "payload.json", &oid_payload, err));
    GREBE_TRY(put_entry(s, mode_blob, "vector.f32le", &oid_vector, err));
    st = add_tree(w, s, &p->tree, err);
out:
    return st;
}

static grebe_status write_points(struct writer *w, struct repo_oid *out, grebe_error *err)
{
    struct buf top = BUF_INIT(w->b->a), prefix = BUF_INIT(w->b->a);
    char name[LSH_HASH_HEX + 1], prefix_name[3];
    struct repo_oid oid;
    grebe_status st = GREBE_OK;

    for (size_t begin = 0, end = 0; begin < w->n; begin = end) {
        buf_clear(&prefix);
        for (; end < w->n && w->points[end].digest[0] == w->points[begin].digest[0]; end++) {
            GREBE_TRY(write_point(w, &w->points[end], err));
            lsh_hash_name(w->points[end].digest, name);
            GREBE_TRY(put_entry(&prefix, mode_tree, name, &w->points[end].tree, err));
        }
        GREBE_TRY(add_tree(w, &prefix, &oid, err));
        lsh_prefix_name(name, prefix_name);
        GREBE_TRY(put_entry(&top, mode_tree, prefix_name, &oid, err));
    }
    st = add_tree(w, &top, out, err);
out:
    buf_release(&prefix);
    buf_release(&top);
    return st;
}

/* ---- tables ---- */

static int compare_signed(const void *a, const void *b)
{
    const struct signed_point *x = a, *y = b;
    if (x->signature != y->signature) {
        return x->signature < y->signature ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* One table from its entries in order: buckets into prefixes, prefixes into the table. */
static grebe_status write_table(struct writer *w, const struct signed_point *e, uint32_t n_bits, struct repo_oid *out,
                                grebe_error *err)
{
    struct buf table = BUF_INIT(w->b->a), prefix = BUF_INIT(w->b->a), bucket = BUF_INIT(w->b->a);
    char hash[LSH_HASH_HEX + 1], name[LSH_SIGNATURE_HEX + 1], prefix_name[3], next_prefix[3];
    struct repo_oid oid;
    grebe_status st = GREBE_OK;

    for (size_t begin = 0, end = 0; begin < w->n; begin = end) {
        buf_clear(&bucket);
        for (; end < w->n && e[end].signature == e[begin].signature; end++) {
            lsh_hash_name(w->points[e[end].index].digest, hash);
            GREBE_TRY(put_entry(&bucket, mode_tree, hash, &w->points[e[end].index].tree, err));
        }
        GREBE_TRY(add_tree(w, &bucket, &oid, err));
        lsh_signature_name(e[begin].signature, n_bits, name);
        lsh_prefix_name(name, prefix_name);
        GREBE_TRY(put_entry(&prefix, mode_tree, name, &oid, err));
        if (end < w->n) {
            lsh_signature_name(e[end].signature, n_bits, name);
            lsh_prefix_name(name, next_prefix);
        }
        if (end == w->n || strcmp(prefix_name, next_prefix) != 0) {
            GREBE_TRY(add_tree(w, &prefix, &oid, err));
            GREBE_TRY(put_entry(&table, mode_tree, prefix_name, &oid, err));
            buf_clear(&prefix);
        }
    }
    st = add_tree(w, &table, out, err);
out:
    buf_release(&bucket);
    buf_release(&prefix);
    buf_release(&table);
    return st;
}

static grebe_status write_tables(struct writer *w, struct repo_oid *out, grebe_error *err)
{
    const struct vdb_config *c = &w->b->meta.config;
    struct vdb_lsh_planes *planes = NULL;
    struct arena ar = ARENA_INIT(w->b->a);
    struct buf tree = BUF_INIT(w->b->a);
    struct signed_point *signed_points = NULL;
    struct repo_tree_entry *entries = NULL;
    const size_t n_tables = w->n == 0 ? 0 : (size_t)c->tables;
    grebe_status st;

    GREBE_TRY(vdb_lsh_planes_new(c, w->b->a, &planes, err));
    signed_points = arena_array(&ar, w->n, sizeof *signed_points);
    entries = arena_array(&ar, n_tables, sizeof *entries);
    if (signed_points == NULL || entries == NULL) {
        st = mem_fail(err, w->n * sizeof *signed_points, "tables");
        goto out;
    }
    for (uint32_t t = 0; t < n_tables; t++) {
        char name[LSH_TABLE_NAME];
        for (size_t i = 0; i < w->n; i++) {
            const struct vdb_place at = w->points[i].at;
            const float *v = w->b->parts[at.shard]->vectors.values + (size_t)at.row * c->dimension;
            signed_points[i] = (struct signed_point){ vdb_lsh_signature(planes, t, v), (uint32_t)i };
        }
        qsort(signed_points, w->n, sizeof *signed_points, compare_signed);
        lsh_table_name(t, name);
        entries[t].mode = 040000;
        entries[t].name = arena_str(&ar, name, strlen(name));
        if (entries[t].name == NULL) {
            st = mem_fail(err, sizeof name, "tables");
            goto out;
        }
        GREBE_TRY(write_table(w, signed_points, (uint32_t)c->signature_bits, &entries[t].oid, err));
    }
    GREBE_TRY(repo_tree_encode(entries, n_tables, &tree, err));
    GREBE_TRY(add_tree(w, &tree, out, err));
    buf_clear(&tree);
    GREBE_TRY(put_entry(&tree, mode_tree, "lsh-v1", out, err));
    st = add_tree(w, &tree, out, err);
out:
    vdb_lsh_planes_free(planes);
    buf_release(&tree);
    arena_release(&ar);
    return st;
}

/* ---- all of it ---- */

static grebe_status list_points(struct writer *w, struct arena *ar, grebe_error *err)
{
    size_t n = 0;

    for (uint32_t s = 0; s < VDB_SHARDS; s++) {
        n += w->b->parts[s] == NULL ? 0 : w->b->parts[s]->n;
    }
    if (n > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "a collection of format 1: at most %" PRIu32 " points, found %zu",
                          UINT32_MAX, n);
    }
    w->points = arena_array(ar, n, sizeof *w->points);
    if (w->points == NULL) {
        return mem_fail(err, n * sizeof *w->points, "points");
    }
    for (uint32_t s = 0; s < VDB_SHARDS; s++) {
        const struct vdb_part *part = w->b->parts[s];
        for (uint32_t r = 0; part != NULL && r < part->n; r++) {
            struct lsh_point *p = &w->points[w->n++];
            const struct vdb_id id = vdb_rows_id(&part->ids, r);
            vdb_id_digest(&id, p->digest);
            p->at = (struct vdb_place){ s, r };
        }
    }
    qsort(w->points, w->n, sizeof *w->points, lsh_compare_points);
    return GREBE_OK;
}

grebe_status vdb_lsh_write(struct repo_pack *p, const struct vdb_built *points, struct repo_oid *root, grebe_error *err)
{
    struct writer w = { .pack = p, .b = points, .scratch = BUF_INIT(points->a) };
    struct arena ar = ARENA_INIT(points->a);
    struct repo_oid points_oid, index_oid, meta_oid;
    grebe_status st;

    GREBE_TRY(list_points(&w, &ar, err));
    GREBE_TRY(write_points(&w, &points_oid, err));
    GREBE_TRY(write_tables(&w, &index_oid, err));
    buf_clear(&w.scratch);
    GREBE_TRY(vdb_meta_encode(&points->meta, &w.scratch, err));
    GREBE_TRY(repo_pack_add(p, REPO_BLOB, w.scratch.data, w.scratch.len, -1, &meta_oid, err));
    buf_clear(&w.scratch);
    GREBE_TRY(put_entry(&w.scratch, mode_tree, "index", &index_oid, err));
    GREBE_TRY(put_entry(&w.scratch, mode_blob, "meta.json", &meta_oid, err));
    GREBE_TRY(put_entry(&w.scratch, mode_tree, "points", &points_oid, err));
    st = add_tree(&w, &w.scratch, root, err);
out:
    buf_release(&w.scratch);
    arena_release(&ar);
    return st;
}
