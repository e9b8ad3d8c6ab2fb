/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_BLOB_H
#define GREBE_GITVDB_VDB_BLOB_H

/*
 * The blobs of format 2, checked once and then read in place: rows of ids and payloads (an offset table and a body), matrices of
 * floats (shards of vectors, the codebook), the training sample, postings. All integers little-endian.
 */

#include "gitvdb/vdb_id.h"
#include "git/git_repo.h"

/** Rows of ids or payloads: row i is body[offset(i), offset(i+1)). */
struct vdb_rows {
    const unsigned char *bytes; /* the blob, borrowed; NULL: not loaded */
    size_t len;
    uint32_t n;
};
enum vdb_rows_kind { VDB_ROWS_IDS, VDB_ROWS_PAYLOADS };
/** Magic, offsets, lengths. For ids also type bytes, UTF-8 and strictly ascending order; for payloads nothing of the JSON.
 *  GREBE_OK; GREBE_ECORRUPT with expected and found (the caller puts the path in front). */
grebe_status vdb_rows_open(enum vdb_rows_kind kind, const void *bytes, size_t len,
                           struct vdb_rows *out, grebe_error *err);
const unsigned char *vdb_rows_get(const struct vdb_rows *r, uint32_t row, size_t *len);
struct vdb_id vdb_rows_id(const struct vdb_rows *ids, uint32_t row);
/** Row of an id by bisection; false: not there, *row is where it would stand. */
bool vdb_rows_find(const struct vdb_rows *ids, const struct vdb_id *id, uint32_t *row);

/** Builds a blob of rows. Zero n_rows gives the empty blob. */
struct vdb_rows_writer {
    enum vdb_rows_kind kind;
    struct buf body;
    struct buf ends; /* u32 each */
};
void vdb_rows_writer_init(struct vdb_rows_writer *w, enum vdb_rows_kind kind, const grebe_allocator *a);
grebe_status vdb_rows_writer_add(struct vdb_rows_writer *w, const void *row, size_t len,
                                 grebe_error *err); /* a row as vdb_rows_get() gives it */
grebe_status vdb_rows_writer_add_id(struct vdb_rows_writer *w, const struct vdb_id *id, grebe_error *err);
grebe_status vdb_rows_writer_end(struct vdb_rows_writer *w, struct buf *out, grebe_error *err);
void vdb_rows_writer_release(struct vdb_rows_writer *w);

/** Floats, row-major; values are those in the blob (alignment 4 is not promised by foreign memory: regions are). */
struct vdb_matrix {
    const float *values; /* shape [n, dim], borrowed; NULL: not loaded */
    uint32_t n, dim;
};
enum vdb_matrix_kind { VDB_MATRIX_VECTORS, VDB_MATRIX_CODEBOOK };
/** Magic, dim, length, finite values. n is what the header says. */
grebe_status vdb_matrix_open(enum vdb_matrix_kind kind, const void *bytes, size_t len, uint32_t dim,
                             struct vdb_matrix *out, grebe_error *err);
enum { VDB_MATRIX_HEADER = 16 };
/** What stands before the values. */
void vdb_matrix_header(enum vdb_matrix_kind kind, uint32_t n, uint32_t dim, unsigned char out[VDB_MATRIX_HEADER]);
grebe_status vdb_matrix_encode(enum vdb_matrix_kind kind, const float *values, uint32_t n,
                               uint32_t dim, struct buf *out, grebe_error *err);

/** One entry of a posting. */
struct vdb_place {
    uint32_t shard, row;
};
/** count entries of 6 bytes behind a header of 12; shard < 64, ascending by (shard, row). */
struct vdb_posting {
    const unsigned char *entries; /* borrowed */
    uint32_t n;
};
grebe_status vdb_posting_open(const void *bytes, size_t len, struct vdb_posting *out, grebe_error *err);
static inline struct vdb_place vdb_posting_get(const struct vdb_posting *p, uint32_t i)
{
    const unsigned char *e = p->entries + (size_t)i * 6;
    struct vdb_place at = { (uint32_t)e[0] | (uint32_t)e[1] << 8,
                            (uint32_t)e[2] | (uint32_t)e[3] << 8 | (uint32_t)e[4] << 16 |
                                (uint32_t)e[5] << 24 };
    return at;
}

/** sample.bin of a collection of n_points: count, ids, their order by digest, nothing behind. Not the hashes. GREBE_ECORRUPT. */
grebe_status vdb_sample_check(const void *blob, size_t len, uint64_t n_points, grebe_error *err);

/* ---- meta.json ---- */

struct vdb_config {
    uint32_t dimension;
    uint64_t tables, signature_bits, projection_seed; /* "index" */
    uint64_t full_scan_threshold, default_probes, default_candidate_limit;
    const char *vector_space; /* NULL: null; borrowed */
    size_t vector_space_len;
};
#define VDB_CONFIG_INIT(dim) { (dim), 12, 12, UINT64_C(0x6769742d76646231), 1000, 96, 10000, NULL, 0 }
struct vdb_meta {
    struct vdb_config config;
    uint32_t format;       /* 1 or 2 */
    uint64_t point_count;
    uint64_t centroid_count, shard_bits, training_iterations, training_sample_limit; /* format 2 */
};
/** Reads, prints again and compares, then format and codec. The text of vector_space goes to the arena. */
grebe_status vdb_meta_parse(struct arena *ar, const void *bytes, size_t len, struct vdb_meta *out,
                            grebe_error *err);
grebe_status vdb_meta_encode(const struct vdb_meta *m, struct buf *out, grebe_error *err);
/** dimension 1..2^32-1, probes and limit at least 1; format 1: tables >= 1, 1 <= signature_bits <= 64. GREBE_EINVAL. */
grebe_status vdb_config_check(const struct vdb_config *c, uint32_t format, grebe_error *err);

#endif
