/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_history.h"

#include <string.h>

#include "git/git_delta.h"

enum { ROWS_HEADER = 12 };

/* Magic and, for matrices, the dimension are the same; the count of rows is not. */
static grebe_status delta_header(struct repo_delta *d, const struct region *old, size_t same, grebe_error *err)
{
    grebe_status st = repo_delta_copy(d, 0, same, err);
    return st == GREBE_OK ? repo_delta_insert(d, old->data + same, 4, err) : st;
}

static size_t rows_body(const struct vdb_rows *r) { return ROWS_HEADER + ((size_t)r->n + 1) * 4; }

/* Bytes of the old blob from row `first` up to row `end`. */
static size_t row_start(const struct vdb_rows *r, uint32_t row)
{
    size_t len;
    return row == r->n ? r->len : (size_t)(vdb_rows_get(r, row, &len) - r->bytes);
}

static grebe_status delta_rows(struct repo_delta *d, const struct vdb_part *old, const struct vdb_part *new, int kind,
                               grebe_error *err)
{
    const struct vdb_rows *x = kind == 0 ? &old->ids : &old->payloads;
    const struct vdb_rows *y = kind == 0 ? &new->ids : &new->payloads;
    size_t n_runs, same = ROWS_HEADER, least = rows_body(x) < rows_body(y) ? rows_body(x) : rows_body(y);
    const struct vdb_run *runs = vdb_part_runs(new, &n_runs);
    grebe_status st;
    GREBE_TRY(repo_delta_begin(d, y->len, x->len, err));
    GREBE_TRY(delta_header(d, old->regions[kind], 8, err));
    while (same + 4 <= least && memcmp(x->bytes + same, y->bytes + same, 4) == 0) {
        same += 4;
    }
    GREBE_TRY(repo_delta_copy(d, ROWS_HEADER, same - ROWS_HEADER, err));
    GREBE_TRY(repo_delta_insert(d, x->bytes + same, rows_body(x) - same, err));
    size_t at = rows_body(x);
    for (size_t i = 0; i < n_runs; i++) {
        size_t start = row_start(x, runs[i].old_row), end = row_start(x, runs[i].old_row + runs[i].n);
        GREBE_TRY(repo_delta_insert(d, x->bytes + at, start - at, err));
        GREBE_TRY(repo_delta_copy(d, row_start(y, runs[i].new_row), end - start, err));
        at = end;
    }
    GREBE_TRY(repo_delta_insert(d, x->bytes + at, x->len - at, err));
out:
    return st;
}

static grebe_status delta_vectors(struct repo_delta *d, const struct vdb_part *old, const struct vdb_part *new,
                                  grebe_error *err)
{
    const struct region *x = old->regions[2];
    size_t n_runs, at = VDB_MATRIX_HEADER, row_bytes = (size_t)old->vectors.dim * sizeof(float);
    const struct vdb_run *runs = vdb_part_runs(new, &n_runs);
    grebe_status st;
    GREBE_TRY(repo_delta_begin(d, new->regions[2]->len, x->len, err));
    GREBE_TRY(delta_header(d, x, 12, err));
    for (size_t i = 0; i < n_runs; i++) {
        size_t start = VDB_MATRIX_HEADER + runs[i].old_row * row_bytes, len = runs[i].n * row_bytes;
        GREBE_TRY(repo_delta_insert(d, x->data + at, start - at, err));
        GREBE_TRY(repo_delta_copy(d, VDB_MATRIX_HEADER + runs[i].new_row * row_bytes, len, err));
        at = start + len;
    }
    GREBE_TRY(repo_delta_insert(d, x->data + at, x->len - at, err));
out:
    return st;
}

/* A version that came before, comes back: it may stand on `old` already, which then must stand by itself. */
static grebe_status put_whole(struct repo_pack *p, const void *bytes, size_t len, grebe_error *err)
{
    struct repo_oid oid;
    return repo_pack_add(p, REPO_BLOB, bytes, len, -1, &oid, err);
}

static grebe_status put_delta(struct repo_pack *p, struct repo_delta *d, const struct repo_oid *old,
                              const struct repo_oid *new, grebe_error *err)
{
    const unsigned char *bytes;
    size_t len;
    grebe_status st = repo_delta_end(d, &bytes, &len, err);
    return st == GREBE_OK ? repo_pack_add_delta(p, old, new, bytes, len, err) : st;
}

grebe_status vdb_history_part(struct repo_pack *p, const struct vdb_part *old, const struct vdb_part *new, grebe_error *err)
{
    struct repo_delta d;
    grebe_status st = GREBE_OK;
    repo_delta_init(&d, old->a);
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        if (repo_oid_equal(&old->oids[kind], &new->oids[kind])) {
            continue;
        }
        if (repo_pack_has(p, &new->oids[kind])) {
            GREBE_TRY(put_whole(p, old->regions[kind]->data, old->regions[kind]->len, err));
            continue;
        }
        GREBE_TRY(kind == 2 ? delta_vectors(&d, old, new, err) : delta_rows(&d, old, new, kind, err));
        GREBE_TRY(put_delta(p, &d, &old->oids[kind], &new->oids[kind], err));
    }
out:
    repo_delta_release(&d);
    return st;
}

/* Length of the sample's entry for point i. */
static size_t entry_bytes(const struct vdb_built *b, size_t i)
{
    struct vdb_place at = b->sample[i].at;
    struct vdb_id id = vdb_rows_id(&b->parts[at.shard]->ids, at.row);
    return 4 + (id.is_number ? 10 : 2 + id.len) + VDB_DIGEST_BYTES;
}

grebe_status vdb_history_sample(struct repo_pack *p, const struct vdb_built *old, const struct vdb_built *new,
                                grebe_error *err)
{
    const unsigned char *x = old->sample_blob.data, *y = new->sample_blob.data;
    size_t at = ROWS_HEADER, there = ROWS_HEADER;
    struct repo_delta d;
    grebe_status st;
    if (repo_pack_has(p, &new->sample_oid)) {
        return put_whole(p, old->sample_blob.data, old->sample_blob.len, err);
    }
    repo_delta_init(&d, old->a);
    GREBE_TRY(repo_delta_begin(&d, new->sample_blob.len, old->sample_blob.len, err));
    GREBE_TRY(repo_delta_insert(&d, x, ROWS_HEADER, err));
    for (size_t i = 0, j = 0; i < old->m; i++) { /* both ascend by digest */
        size_t len = entry_bytes(old, i);
        while (j < new->m && memcmp(new->sample[j].digest, old->sample[i].digest, VDB_DIGEST_BYTES) < 0) {
            there += entry_bytes(new, j++);
        }
        bool is_same = j < new->m && len <= new->sample_blob.len - there && memcmp(x + at, y + there, len) == 0;
        GREBE_TRY(is_same ? repo_delta_copy(&d, there, len, err) : repo_delta_insert(&d, x + at, len, err));
        at += len;
    }
    GREBE_TRY(put_delta(p, &d, &old->sample_oid, &new->sample_oid, err));
out:
    repo_delta_release(&d);
    return st;
}
