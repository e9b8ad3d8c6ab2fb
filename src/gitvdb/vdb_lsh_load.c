/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_lsh_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

/*
 * points/<2 digits>/<64 digits>/{id.json, payload.json, vector.f32le}: all points are read and put into the blobs that the 64
 * shards of format 2 would have.
 */

/* A point between its tree and its shard. */
struct read_point {
    struct vdb_id id; /* text in the arena of the loader */
    size_t index;     /* among all, in the order of hashes */
    size_t payload_at, payload_len;
    uint32_t shard;
};

struct loader {
    struct vdb_snapshot *s;
    struct arena ar;      /* texts of ids */
    struct buf read;      /* struct read_point each */
    struct buf points;    /* struct lsh_point each */
    struct buf payloads, floats;
};

static grebe_status read_blob(struct loader *l, const struct repo_tree *t, const char *name, struct region **region,
                              const unsigned char **bytes, size_t *len, grebe_error *err)
{
    const struct repo_tree_entry *e = repo_tree_find(t, name);

    if (e == NULL || (e->mode & 0170000) != 0100000) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected a blob, found %s", name,
                          e == NULL ? "nothing" : "something else");
    }
    return repo_object_need(l->s->repo, &e->oid, REPO_BLOB, region, bytes, len, err);
}

/* {"type":"string","value":"…"} or {"type":"uint","value":N}, and nothing else: printed again it has the same bytes. */
static grebe_status parse_id(struct loader *l, const unsigned char *bytes, size_t len, struct vdb_id *id,
                             grebe_error *err)
{
    const struct vdb_value *root = NULL;
    struct buf again = BUF_INIT(l->s->a);

    grebe_status st = vdb_json_parse(&l->ar, (const char *)bytes, len, &root, err);
    if (st == GREBE_EINVAL) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "id.json: expected JSON");
    }
    GREBE_TRY(st);
    const struct vdb_value *type = vdb_json_get(root, "type", 4);
    const struct vdb_value *value = vdb_json_get(root, "value", 5);
    const bool is_text = type != NULL && type->type == VDB_STRING && type->s.len == 6 &&
                         memcmp(type->s.text, "string", 6) == 0;
    const bool is_number = type != NULL && type->type == VDB_STRING && type->s.len == 4 &&
                           memcmp(type->s.text, "uint", 4) == 0;
    if (value == NULL || !((is_text && value->type == VDB_STRING) || (is_number && value->type == VDB_UINT)) ||
        root->object.n != 2) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "id.json: expected a type of string or uint and its value");
        goto out;
    }
    GREBE_TRY(vdb_json_put(&again, root, err));
    if (again.len != len || memcmp(again.data, bytes, len) != 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "id.json: expected canonical JSON");
        goto out;
    }
    GREBE_TRY(vdb_id_from_json(value, id, err));
out:
    buf_release(&again);
    return st;
}

/* "GTVDBV01" | dim: u32 | floats. */
static grebe_status take_vector(struct loader *l, const unsigned char *bytes, size_t len, grebe_error *err)
{
    const size_t dim = l->s->meta.config.dimension;
    const uint32_t exponent = UINT32_C(0x7f800000);

    if (len < LSH_VECTOR_HEADER || memcmp(bytes, lsh_vector_magic, sizeof lsh_vector_magic) != 0) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "vector.f32le: expected the magic GTVDBV01 in %zu bytes", len);
    }
    if (load_le32(bytes + 8) != dim || len - LSH_VECTOR_HEADER != dim * sizeof(float)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT,
                          "vector.f32le: expected dimension %zu, found %" PRIu32 " and %zu bytes", dim,
                          load_le32(bytes + 8), len - LSH_VECTOR_HEADER);
    }
    for (size_t d = 0; d < dim; d++) {
        if ((load_le32(bytes + LSH_VECTOR_HEADER + 4 * d) & exponent) == exponent) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "vector.f32le: component %zu: expected a finite number", d);
        }
    }
    return buf_put(&l->floats, bytes + LSH_VECTOR_HEADER, dim * sizeof(float), err);
}

static grebe_status take_payload(struct loader *l, const unsigned char *bytes, size_t len, struct read_point *p,
                                 grebe_error *err)
{
    if (!vdb_json_is_canonical_object((const char *)bytes, len)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "payload.json: expected a canonical JSON object");
    }
    p->payload_at = l->payloads.len;
    p->payload_len = len;
    return buf_put(&l->payloads, bytes, len, err);
}

/* One point tree. The hash in its path is that of its id. */
static grebe_status take_point(struct loader *l, const struct repo_tree_entry *e, grebe_error *err)
{
    struct repo_tree t = { 0 };
    struct region *regions[3] = { NULL };
    const unsigned char *bytes = NULL;
    size_t len = 0;
    struct read_point p = { .index = l->read.len / sizeof p };
    struct lsh_point point = { .tree = e->oid };
    char name[LSH_HASH_HEX + 1];
    grebe_status st = GREBE_OK;

    if (!repo_entry_is_tree(e)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "expected a tree, found mode %o", (unsigned)e->mode);
    }
    GREBE_TRY(repo_tree_read(l->s->repo, &e->oid, &t, err));
    GREBE_TRY(read_blob(l, &t, "id.json", &regions[0], &bytes, &len, err));
    GREBE_TRY(parse_id(l, bytes, len, &p.id, err));
    vdb_id_digest(&p.id, point.digest);
    lsh_hash_name(point.digest, name);
    if (strcmp(name, e->name) != 0) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected the hash of its id, %s, as its name", name);
        goto out;
    }
    GREBE_TRY(read_blob(l, &t, "payload.json", &regions[1], &bytes, &len, err));
    GREBE_TRY(take_payload(l, bytes, len, &p, err));
    GREBE_TRY(read_blob(l, &t, "vector.f32le", &regions[2], &bytes, &len, err));
    GREBE_TRY(take_vector(l, bytes, len, err));
    p.shard = vdb_shard_of(point.digest);
    GREBE_TRY(buf_put(&l->read, &p, sizeof p, err));
    GREBE_TRY(buf_put(&l->points, &point, sizeof point, err));
out:
    for (int i = 0; i < 3; i++) {
        region_drop(regions[i]);
    }
    repo_tree_release(&t);
    return st;
}

static grebe_status take_prefix(struct loader *l, const struct repo_tree *points, const char *prefix, grebe_error *err)
{
    struct repo_tree t = { 0 };
    bool is_there = false;
    char quoted[80];

    grebe_status st = lsh_subtree(l->s->repo, points, prefix, &t, &is_there, err);
    for (size_t i = 0; st == GREBE_OK && i < t.n; i++) {
        const char *name = t.entries[i].name;
        st = take_point(l, &t.entries[i], err);
        if (st == GREBE_OK && strncmp(name, prefix, 2) != 0) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected a hash that begins with %s", prefix);
        }
        error_wrap(err, st, "%s/%s", prefix, error_quote(quoted, sizeof quoted, name, strlen(name)));
    }
    repo_tree_release(&t);
    return st;
}

/* ---- into shards ---- */

static int compare_read(const void *a, const void *b)
{
    const struct read_point *x = a, *y = b;
    return x->shard != y->shard ? (x->shard < y->shard ? -1 : 1) : vdb_id_compare(&x->id, &y->id);
}

static grebe_status to_region(const struct buf *b, const grebe_allocator *a, struct region **out, grebe_error *err)
{
    grebe_status st = region_new(a, b->len, out, err);
    if (st == GREBE_OK) {
        memcpy((*out)->data, b->data, b->len);
    }
    return st;
}

/* The blobs of one shard from its points in order. */
static grebe_status fill_shard(struct loader *l, uint32_t shard, const struct read_point *rows, uint32_t n,
                               grebe_error *err)
{
    struct vdb_shard *sh = &l->s->shards[shard];
    const grebe_allocator *a = l->s->a;
    const uint32_t dim = l->s->meta.config.dimension;
    struct lsh_point *points = (struct lsh_point *)(void *)l->points.data;
    struct vdb_rows_writer ids, payloads;
    struct buf blobs[VDB_PART_KINDS] = { BUF_INIT(a), BUF_INIT(a), BUF_INIT(a) };
    grebe_status st = GREBE_OK;

    vdb_rows_writer_init(&ids, VDB_ROWS_IDS, a);
    vdb_rows_writer_init(&payloads, VDB_ROWS_PAYLOADS, a);
    GREBE_TRY(vdb_matrix_encode(VDB_MATRIX_VECTORS, NULL, 0, dim, &blobs[2], err));
    store_le32(blobs[2].data + VDB_MATRIX_HEADER - 4, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct read_point *p = rows + i;
        points[p->index].at = (struct vdb_place){ shard, i };
        GREBE_TRY(vdb_rows_writer_add_id(&ids, &p->id, err));
        GREBE_TRY(vdb_rows_writer_add(&payloads, l->payloads.data + p->payload_at, p->payload_len, err));
        GREBE_TRY(buf_put(&blobs[2], l->floats.data + p->index * dim * sizeof(float), dim * sizeof(float), err));
    }
    GREBE_TRY(vdb_rows_writer_end(&ids, &blobs[0], err));
    GREBE_TRY(vdb_rows_writer_end(&payloads, &blobs[1], err));
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        GREBE_TRY(to_region(&blobs[kind], a, &sh->regions[kind], err));
    }
    GREBE_TRY(vdb_rows_open(VDB_ROWS_IDS, sh->regions[0]->data, sh->regions[0]->len, &sh->ids, err));
    GREBE_TRY(vdb_rows_open(VDB_ROWS_PAYLOADS, sh->regions[1]->data, sh->regions[1]->len, &sh->payloads, err));
    GREBE_TRY(vdb_matrix_open(VDB_MATRIX_VECTORS, sh->regions[2]->data, sh->regions[2]->len, dim, &sh->vectors, err));
    sh->n = n;
    sh->exists = true;
    sh->loaded = VDB_PART_ALL;
out:
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        buf_release(&blobs[kind]);
    }
    vdb_rows_writer_release(&ids);
    vdb_rows_writer_release(&payloads);
    return st;
}

static grebe_status fill_shards(struct loader *l, grebe_error *err)
{
    struct read_point *rows = (struct read_point *)(void *)l->read.data;
    const size_t n = l->read.len / sizeof *rows;
    grebe_status st = GREBE_OK;

    if (n > 1) {
        qsort(rows, n, sizeof *rows, compare_read);
    }
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        while (end < n && rows[end].shard == rows[begin].shard) {
            end++;
        }
        if (end - begin > UINT32_MAX) {
            return GREBE_FAIL(err, GREBE_ELIMIT, "a shard of %zu rows: at most %" PRIu32 " fit", end - begin,
                              UINT32_MAX);
        }
        st = fill_shard(l, rows[begin].shard, rows + begin, (uint32_t)(end - begin), err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status keep_points(struct loader *l, grebe_error *err)
{
    struct vdb_snapshot *s = l->s;

    s->lsh = arena_alloc_zero(&s->ar, sizeof *s->lsh);
    if (s->lsh == NULL) {
        return mem_fail(err, sizeof *s->lsh, "points");
    }
    s->lsh->n = l->points.len / sizeof(struct lsh_point);
    s->lsh->points = arena_array(&s->ar, s->lsh->n, sizeof(struct lsh_point));
    if (s->lsh->points == NULL) {
        return mem_fail(err, l->points.len, "points");
    }
    if (s->lsh->n > 0) {
        memcpy(s->lsh->points, l->points.data, l->points.len); /* trees are in the order of names, so these ascend */
    }
    return GREBE_OK;
}

grebe_status vdb_lsh_load(struct vdb_snapshot *s, const struct repo_tree *points, grebe_error *err)
{
    struct loader l = { .s = s,
                        .ar = ARENA_INIT(s->a),
                        .read = BUF_INIT(s->a),
                        .points = BUF_INIT(s->a),
                        .payloads = BUF_INIT(s->a),
                        .floats = BUF_INIT(s->a) };
    grebe_status st = GREBE_OK;
    char quoted[80];

    for (size_t i = 0; i < points->n; i++) {
        const char *name = points->entries[i].name;
        if (strlen(name) != 2) {
            st = GREBE_FAIL(err, GREBE_ECORRUPT, "%s: expected two hexadecimal digits",
                            error_quote(quoted, sizeof quoted, name, strlen(name)));
            goto out;
        }
        GREBE_TRY(take_prefix(&l, points, name, err));
    }
    GREBE_TRY(fill_shards(&l, err));
    GREBE_TRY(keep_points(&l, err));
out:
    buf_release(&l.floats);
    buf_release(&l.payloads);
    buf_release(&l.points);
    buf_release(&l.read);
    arena_release(&l.ar);
    return error_wrap(err, st, "points");
}
