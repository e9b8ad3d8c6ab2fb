/* SPDX-License-Identifier: Apache-2.0 */
/* The inverted file of a collection's content: which points train it, its centroids, the nearest of every row. */
#include "gitvdb/vdb_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"

enum { NO_CENTROID = UINT16_MAX };

/* ---- the sample ---- */

static struct vdb_id id_at(const struct vdb_built *b, struct vdb_place at)
{
    return vdb_rows_id(&b->parts[at.shard]->ids, at.row);
}

static const float *vector_at(const struct vdb_built *b, struct vdb_place at)
{
    const struct vdb_matrix *m = &b->parts[at.shard]->vectors;
    return m->values + (size_t)at.row * m->dim;
}

static int compare_digests(const void *x, const void *y)
{
    const struct vdb_sample_point *a = x, *b = y;
    int by_digest = memcmp(a->digest, b->digest, VDB_DIGEST_BYTES);
    if (by_digest != 0) {
        return by_digest;
    }
    /* rows of a shard are in the order of their ids, and equal digests lie in one shard */
    return a->at.row < b->at.row ? -1 : a->at.row > b->at.row;
}

/* Candidates for the sample: all rows of the leading shards, shard after shard. */
struct candidates {
    const struct vdb_built *b;
    struct vdb_sample_point *all;
    size_t first[VDB_SHARDS]; /* of a shard's, in all */
};

static grebe_status sort_shard(void *arg, size_t i, grebe_error *err)
{
    struct candidates *c = arg;
    uint32_t shard = (uint32_t)i, rows = c->b->parts[i] == NULL ? 0 : c->b->parts[i]->n;
    struct vdb_sample_point *first = c->all + c->first[i];
    for (uint32_t row = 0; row < rows; row++) {
        struct vdb_sample_point *p = &first[row];
        p->at = (struct vdb_place){ shard, row };
        struct vdb_id id = id_at(c->b, p->at);
        vdb_id_digest(&id, p->digest);
        if (vdb_shard_of(p->digest) != shard) {
            return GREBE_FAIL(err, GREBE_ECORRUPT, "points/ids/%03x.bin: row %u: expected an id of this shard, "
                                                   "found one of shard %03x",
                              (unsigned)shard, (unsigned)row, (unsigned)vdb_shard_of(p->digest));
        }
    }
    qsort(first, rows, sizeof *first, compare_digests);
    return vdb_built_load(c->b, shard, VDB_PART_VECTORS, err);
}

/*
 * The points of smallest digest. A shard is the first 6 bits of the digest, so they are the leading shards and a part of the
 * next one: only ids of those are hashed.
 */
static grebe_status choose_sample(struct vdb_built *b, const struct vdb_work *work, grebe_error *err)
{
    size_t wanted = b->n < VDB_SAMPLE_MAX ? (size_t)b->n : VDB_SAMPLE_MAX;
    struct candidates c = { .b = b };
    size_t n = 0;
    uint32_t shards = 0;
    grebe_status st = GREBE_OK;
    for (; n < wanted; shards++) {
        c.first[shards] = n;
        n += b->parts[shards] == NULL ? 0 : b->parts[shards]->n;
    }
    c.all = mem_alloc(b->a, n * sizeof *c.all);
    b->sample = mem_alloc(b->a, wanted * sizeof *b->sample);
    if (c.all == NULL || b->sample == NULL) {
        st = mem_fail(err, n * sizeof *c.all, "the training sample");
        goto out;
    }
    b->m = wanted;
    GREBE_TRY(parallel_for(work->pool, work->threads, shards, sort_shard, &c, work->cancel, err));
    if (wanted != 0) {
        memcpy(b->sample, c.all, wanted * sizeof *b->sample);
    }
out:
    mem_free(b->a, c.all, n * sizeof *c.all);
    return st;
}

/* Same points with the same bits in the same order? */
static bool is_same_sample(const struct vdb_built *x, const struct vdb_built *y)
{
    if (x->m != y->m) {
        return false;
    }
    for (size_t i = 0; i < x->m; i++) {
        struct vdb_place a = x->sample[i].at, b = y->sample[i].at;
        if (a.shard != b.shard || memcmp(x->sample[i].digest, y->sample[i].digest, VDB_DIGEST_BYTES) != 0) {
            return false;
        }
        if (x->parts[a.shard] != y->parts[b.shard] &&
            memcmp(vector_at(x, a), vector_at(y, b), x->meta.config.dimension * sizeof(float)) != 0) {
            return false;
        }
    }
    return true;
}

struct vector_digests {
    const struct vdb_built *b;
    unsigned char (*digests)[VDB_DIGEST_BYTES]; /* shape [m] */
};
enum { DIGESTS_AT_ONCE = 256 };

static grebe_status digest_vectors(void *arg, size_t piece, grebe_error *err)
{
    struct vector_digests *job = arg;
    size_t end = min_size(job->b->m, (piece + 1) * DIGESTS_AT_ONCE);
    (void)err;
    for (size_t i = piece * DIGESTS_AT_ONCE; i < end; i++) {
        vdb_sha256(vector_at(job->b, job->b->sample[i].at), job->b->meta.config.dimension * sizeof(float),
                   job->digests[i]);
    }
    return GREBE_OK;
}

static grebe_status put_sample_entry(struct buf *out, const struct vdb_id *id, const unsigned char *digest,
                                     grebe_error *err)
{
    unsigned char word[8];
    size_t len = id->is_number ? 10 : 2 + id->len;
    grebe_status st;
    GREBE_TRY(buf_reserve(out, 4 + len + VDB_DIGEST_BYTES, err));
    store_le32(word, (uint32_t)len);
    GREBE_TRY(buf_put(out, word, 4, err));
    GREBE_TRY(buf_put(out, id->is_number ? "u\0" : "s\0", 2, err));
    if (id->is_number) {
        store_be64(word, id->number);
        GREBE_TRY(buf_put(out, word, 8, err));
    } else {
        GREBE_TRY(buf_put(out, id->text, id->len, err));
    }
    st = buf_put(out, digest, VDB_DIGEST_BYTES, err);
out:
    return st;
}

grebe_status vdb_index_sample(const struct vdb_built *b, const struct vdb_work *work, struct buf *out,
                              grebe_error *err)
{
    struct vector_digests job = { b, mem_alloc(b->a, b->m * sizeof *job.digests) };
    unsigned char word[4];
    grebe_status st;
    if (job.digests == NULL) {
        return mem_fail(err, b->m * sizeof *job.digests, "digests of the training sample");
    }
    GREBE_TRY(parallel_for(work->pool, work->threads, (b->m + DIGESTS_AT_ONCE - 1) / DIGESTS_AT_ONCE, digest_vectors,
                           &job, work->cancel, err));
    GREBE_TRY(buf_put(out, "GTV2SMP\0", 8, err));
    store_le32(word, (uint32_t)b->m);
    GREBE_TRY(buf_put(out, word, 4, err));
    for (size_t i = 0; i < b->m; i++) {
        struct vdb_id id = id_at(b, b->sample[i].at);
        GREBE_TRY(put_sample_entry(out, &id, job.digests[i], err));
    }
out:
    mem_free(b->a, job.digests, b->m * sizeof *job.digests);
    return st;
}

/* ---- centroids ---- */

static grebe_status alloc_nearest(struct vdb_built *b, grebe_error *err)
{
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        size_t size = b->parts[i] == NULL ? 0 : b->parts[i]->n * sizeof *b->nearest[i];
        if (size == 0 || b->nearest[i] != NULL) {
            continue;
        }
        b->nearest[i] = mem_alloc(b->a, size);
        if (b->nearest[i] == NULL) {
            return mem_fail(err, size, "nearest centroids");
        }
        memset(b->nearest[i], 0xff, size);
    }
    return GREBE_OK;
}

static grebe_status train(struct vdb_built *b, const struct vdb_work *work, grebe_error *err)
{
    const float **sample = mem_alloc(b->a, b->m * sizeof *sample);
    if (sample == NULL) {
        return mem_fail(err, b->m * sizeof *sample, "the training sample");
    }
    for (size_t i = 0; i < b->m; i++) {
        sample[i] = vector_at(b, b->sample[i].at);
    }
    grebe_status st = vdb_train(work, sample, b->m, b->meta.config.dimension, b->k, b->codebook, err);
    mem_free(b->a, sample, b->m * sizeof *sample);
    return st;
}

struct assign_job {
    struct vdb_built *b;
    struct vdb_assigner *assigner;
};

/* Runs of rows that have no centroid yet. */
static grebe_status assign_shard(void *arg, size_t i, grebe_error *err)
{
    struct assign_job *job = arg;
    struct vdb_built *b = job->b;
    uint16_t *nearest = b->nearest[i];
    uint32_t n = b->parts[i] == NULL ? 0 : b->parts[i]->n;
    for (uint32_t row = 0; row < n;) {
        uint32_t end = row;
        while (end < n && nearest[end] == NO_CENTROID) {
            end++;
        }
        if (end > row) {
            grebe_status st = vdb_built_load(b, (uint32_t)i, VDB_PART_VECTORS, err);
            struct vdb_place at = { (uint32_t)i, row };
            st = st == GREBE_OK ? vdb_assign(job->assigner, vector_at(b, at), end - row, nearest + row, err) : st;
            if (st != GREBE_OK) {
                return st;
            }
        }
        row = end + 1;
    }
    return GREBE_OK;
}

static grebe_status assign_rest(struct vdb_built *b, const struct vdb_work *work, grebe_error *err)
{
    struct assign_job job = { b, NULL };
    grebe_status st = vdb_assigner_new(work, b->codebook, b->k, b->meta.config.dimension, &job.assigner, err);
    if (st == GREBE_OK) {
        st = parallel_for(work->pool, work->threads, VDB_SHARDS, assign_shard, &job, work->cancel, err);
        vdb_assigner_free(job.assigner);
    }
    return st;
}

/* ---- what can be kept ---- */

/* The nearest centroids that the repository's postings say. */
static grebe_status nearest_from_postings(struct vdb_built *b, grebe_error *err)
{
    grebe_status st;
    uint64_t seen = 0;
    GREBE_TRY(alloc_nearest(b, err));
    for (uint32_t c = 0; c < b->k; c++) {
        GREBE_TRY(vdb_snapshot_posting(b->base, c, err));
        const struct vdb_posting *posting = &b->base->postings[c];
        for (uint32_t i = 0; i < posting->n; i++) {
            struct vdb_place at = vdb_posting_get(posting, i);
            const struct vdb_part *part = b->parts[at.shard];
            if (part == NULL || at.row >= part->n || b->nearest[at.shard][at.row] != NO_CENTROID) {
                st = GREBE_FAIL(err, GREBE_ECORRUPT,
                                "index/ivf-flat-v2/postings/%04x.bin: expected a row that no other posting has, "
                                "found shard %03x row %u",
                                (unsigned)c, (unsigned)at.shard, (unsigned)at.row);
                goto out;
            }
            b->nearest[at.shard][at.row] = (uint16_t)c;
            seen++;
        }
    }
    if (seen != b->n) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "index/ivf-flat-v2/postings: expected %llu rows, found %llu",
                        (unsigned long long)b->n, (unsigned long long)seen);
    }
out:
    return st;
}

/* Codebook and nearest centroids of `from`, which was read from the repository and never written. */
static grebe_status know_index(struct vdb_built *from, grebe_error *err)
{
    grebe_status st;
    if (from->codebook != NULL) {
        return GREBE_OK;
    }
    GREBE_TRY(vdb_snapshot_codebook(from->base, err));
    size_t size = (size_t)from->k * from->meta.config.dimension * sizeof(float);
    GREBE_TRY(nearest_from_postings(from, err));
    from->codebook = mem_alloc(from->a, size);
    if (from->codebook == NULL) {
        return mem_fail(err, size, "the codebook");
    }
    memcpy(from->codebook, from->base->codebook.values, size);
out:
    return st;
}

/* Rows that did not change keep their centroid. */
static void carry_nearest(struct vdb_built *b, const struct vdb_built *from, uint32_t shard)
{
    const struct vdb_part *new = b->parts[shard];
    uint16_t *to = b->nearest[shard];
    if (new == from->parts[shard]) {
        memcpy(to, from->nearest[shard], new->n * sizeof *to);
        return;
    }
    size_t n;
    const struct vdb_run *runs = vdb_part_runs(new, &n);
    for (size_t i = 0; i < n; i++) {
        memcpy(to + runs[i].new_row, from->nearest[shard] + runs[i].old_row, runs[i].n * sizeof *to);
    }
}

static grebe_status keep_index(struct vdb_built *b, struct vdb_built *from, grebe_error *err)
{
    grebe_status st;
    GREBE_TRY(know_index(from, err));
    GREBE_TRY(alloc_nearest(b, err));
    memcpy(b->codebook, from->codebook, (size_t)b->k * b->meta.config.dimension * sizeof(float));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        if (b->parts[i] != NULL) {
            carry_nearest(b, from, i);
        }
    }
out:
    return st;
}

grebe_status vdb_index_build(struct vdb_built *b, struct vdb_built *from, const struct vdb_work *work,
                             grebe_error *err)
{
    grebe_status st;
    size_t size = 0;
    b->k = vdb_centroid_count(b->n);
    b->meta.centroid_count = b->k;
    GREBE_TRY(choose_sample(b, work, err));
    if (b->n == 0) {
        return GREBE_OK;
    }
    if (!checked_mul_size(b->k, b->meta.config.dimension, &size) || !checked_mul_size(size, sizeof(float), &size)) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "expected a codebook that memory can hold, found %u centroids of %u floats",
                          (unsigned)b->k, (unsigned)b->meta.config.dimension);
    }
    b->codebook = mem_alloc(b->a, size);
    if (b->codebook == NULL) {
        return mem_fail(err, size, "the codebook");
    }
    bool is_kept = false;
    if (from != NULL && from->n != 0 && vdb_centroid_count(from->n) == b->k) {
        from->k = b->k;
        if (from->sample == NULL) {
            GREBE_TRY(choose_sample(from, work, err));
        }
        is_kept = is_same_sample(b, from);
    }
    if (is_kept) {
        GREBE_TRY(keep_index(b, from, err));
    } else {
        GREBE_TRY(vdb_built_load_all(b, work, VDB_PART_VECTORS, err));
        GREBE_TRY(train(b, work, err));
        GREBE_TRY(alloc_nearest(b, err));
    }
    GREBE_TRY(assign_rest(b, work, err));
out:
    return st;
}

grebe_status vdb_index_postings(const struct vdb_built *b, struct buf *out, size_t *end, grebe_error *err)
{
    size_t at = 0;
    memset(end, 0, b->k * sizeof *end);
    for (uint32_t shard = 0; shard < VDB_SHARDS; shard++) {
        for (uint32_t row = 0; b->parts[shard] != NULL && row < b->parts[shard]->n; row++) {
            end[b->nearest[shard][row]]++;
        }
    }
    grebe_status st = buf_reserve(out, (size_t)b->k * 12 + (size_t)b->n * 6, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (uint32_t c = 0; c < b->k; c++) { /* counts become the places where entries go next */
        memcpy(out->data + at, "GTV2PST\0", 8);
        store_le32(out->data + at + 8, (uint32_t)end[c]);
        size_t n = end[c];
        end[c] = at + 12;
        at += 12 + n * 6;
    }
    out->len = at;
    for (uint32_t shard = 0; shard < VDB_SHARDS; shard++) {
        for (uint32_t row = 0; b->parts[shard] != NULL && row < b->parts[shard]->n; row++) {
            size_t *next = &end[b->nearest[shard][row]];
            store_le16(out->data + *next, (uint16_t)shard);
            store_le32(out->data + *next + 2, row);
            *next += 6;
        }
    }
    return GREBE_OK;
}
