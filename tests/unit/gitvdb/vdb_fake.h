/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_TEST_VDB_FAKE_H
#define GREBE_TEST_VDB_FAKE_H

/* A snapshot of format 2 that is in memory from the start, without a repository; and plain loops that say what a search finds. */

#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "gitvdb/vdb_search.h"
#include "gitvdb/vdb_topk.h"

struct fake_point {
    struct vdb_id id;
    const float *vector;
    struct vdb_place at;
};

struct fake {
    struct vdb_snapshot *s;
    struct fake_point *points; /* shape [n], in the order of ids */
    float *vectors;            /* shape [n, dim], as the caller gave them */
    char (*texts)[24];         /* shape [n] */
    size_t n;
    uint32_t dim;
    uint16_t *nearest;         /* shape [n] */
};

static inline int fake_compare_points(const void *a, const void *b)
{
    const struct fake_point *x = a, *y = b;
    return vdb_id_compare(&x->id, &y->id);
}

static inline struct region *fake_region(const struct buf *b)
{
    struct region *r = NULL;
    assert_int_equal(region_new(mem_system(), b->len, &r, NULL), GREBE_OK);
    memcpy(r->data, b->data, b->len);
    return r;
}

/* The three blobs of one shard from its points. */
static inline void fake_shard(struct fake *f, uint32_t shard)
{
    struct vdb_shard *sh = &f->s->shards[shard];
    struct vdb_rows_writer ids, payloads;
    struct buf floats = BUF_INIT(mem_system()), blob = BUF_INIT(mem_system());
    grebe_error err = GREBE_ERROR_INIT;
    uint32_t row = 0;
    vdb_rows_writer_init(&ids, VDB_ROWS_IDS, mem_system());
    vdb_rows_writer_init(&payloads, VDB_ROWS_PAYLOADS, mem_system());
    for (size_t i = 0; i < f->n; i++) {
        struct fake_point *p = &f->points[i];
        unsigned char digest[VDB_DIGEST_BYTES];
        vdb_id_digest(&p->id, digest);
        if (vdb_shard_of(digest) == shard) {
            char payload[32];
            snprintf(payload, sizeof payload, "{\"n\":%zu}", i % 7);
            assert_ok(vdb_rows_writer_add_id(&ids, &p->id, &err));
            assert_ok(vdb_rows_writer_add(&payloads, payload, strlen(payload), &err));
            assert_ok(buf_put(&floats, p->vector, f->dim * sizeof(float), &err));
            p->at = (struct vdb_place){ shard, row++ };
        }
    }
    if (row > 0) {
        sh->exists = true;
        sh->loaded = VDB_PART_ALL;
        sh->n = row;
        assert_ok(vdb_rows_writer_end(&ids, &blob, &err));
        sh->regions[0] = fake_region(&blob);
        assert_ok(vdb_rows_open(VDB_ROWS_IDS, sh->regions[0]->data, blob.len, &sh->ids, &err));
        buf_clear(&blob);
        assert_ok(vdb_rows_writer_end(&payloads, &blob, &err));
        sh->regions[1] = fake_region(&blob);
        assert_ok(vdb_rows_open(VDB_ROWS_PAYLOADS, sh->regions[1]->data, blob.len, &sh->payloads, &err));
        buf_clear(&blob);
        assert_ok(vdb_matrix_encode(VDB_MATRIX_VECTORS, (const float *)(void *)floats.data, row, f->dim, &blob, &err));
        sh->regions[2] = fake_region(&blob);
        assert_ok(vdb_matrix_open(VDB_MATRIX_VECTORS, sh->regions[2]->data, blob.len, f->dim, &sh->vectors, &err));
    }
    buf_release(&blob);
    buf_release(&floats);
    vdb_rows_writer_release(&ids);
    vdb_rows_writer_release(&payloads);
}

/* Codebook and postings. Any centroids do for a search: these are points at equal steps. */
static inline void fake_index(struct fake *f)
{
    struct vdb_snapshot *s = f->s;
    const uint32_t k = vdb_centroid_count(f->n);
    grebe_error err = GREBE_ERROR_INIT;
    struct buf blob = BUF_INIT(mem_system());
    float *book = calloc((size_t)k * f->dim + 1, sizeof *book);
    f->nearest = calloc(f->n + 1, sizeof *f->nearest);
    for (uint32_t c = 0; c < k; c++) {
        memcpy(book + (size_t)c * f->dim, f->points[c * f->n / k].vector, f->dim * sizeof *book);
    }
    assert_ok(vdb_matrix_encode(VDB_MATRIX_CODEBOOK, book, k, f->dim, &blob, &err));
    s->codebook_region = fake_region(&blob);
    assert_ok(vdb_matrix_open(VDB_MATRIX_CODEBOOK, s->codebook_region->data, blob.len, f->dim, &s->codebook, &err));
    s->meta.centroid_count = k;
    s->posting_oids = mem_alloc_zero(mem_system(), k * sizeof *s->posting_oids);
    s->posting_regions = mem_alloc_zero(mem_system(), k * sizeof *s->posting_regions);
    s->postings = mem_alloc_zero(mem_system(), k * sizeof *s->postings);
    for (size_t i = 0; i < f->n; i++) {
        double best = -2.0;
        for (uint32_t c = 0; c < k; c++) {
            double score = vdb_cosine(f->points[i].vector, book + (size_t)c * f->dim, f->dim);
            if (score > best) {
                best = score;
                f->nearest[i] = (uint16_t)c;
            }
        }
    }
    for (uint32_t c = 0; c < k; c++) {
        uint32_t n = 0;
        buf_clear(&blob);
        assert_ok(buf_put(&blob, "GTV2PST\0\0\0\0\0", 12, &err));
        for (uint32_t shard = 0; shard < VDB_SHARDS; shard++) {
            for (size_t i = 0; i < f->n; i++) {
                if (f->nearest[i] == c && f->points[i].at.shard == shard) {
                    unsigned char entry[6] = { (unsigned char)shard, 0 };
                    store_le32(entry + 2, f->points[i].at.row);
                    assert_ok(buf_put(&blob, entry, sizeof entry, &err));
                    n++;
                }
            }
        }
        store_le32(blob.data + 8, n);
        s->posting_regions[c] = fake_region(&blob);
        assert_ok(vdb_posting_open(s->posting_regions[c]->data, blob.len, &s->postings[c], &err));
    }
    free(book);
    buf_release(&blob);
}

/** Point i has a number as id, every third a text. @param vectors shape [n, dim], copied. */
static inline void fake_open(struct fake *f, const float *vectors, size_t n, uint32_t dim)
{
    memset(f, 0, sizeof *f);
    f->n = n;
    f->dim = dim;
    f->points = calloc(n + 1, sizeof *f->points);
    f->texts = calloc(n + 1, sizeof *f->texts);
    f->vectors = malloc(n * dim * sizeof *f->vectors + 1);
    memcpy(f->vectors, vectors, n * dim * sizeof *f->vectors);
    f->s = mem_alloc_zero(mem_system(), sizeof *f->s);
    f->s->a = mem_system();
    f->s->ar = ARENA_INIT(mem_system());
    f->s->meta = (struct vdb_meta){ .config = VDB_CONFIG_INIT(dim), .format = 2, .point_count = n };
    pthread_mutex_init(&f->s->lock, NULL);
    for (size_t i = 0; i < n; i++) {
        struct fake_point *p = &f->points[i];
        p->vector = f->vectors + i * dim;
        p->id = (struct vdb_id){ true, i * UINT64_C(0x9e3779b97f4a7c15), NULL, 0 };
        if (i % 3 == 0) {
            snprintf(f->texts[i], sizeof f->texts[i], "p%zu", i * 7919 % 100003);
            p->id = (struct vdb_id){ false, 0, f->texts[i], strlen(f->texts[i]) };
        }
    }
    qsort(f->points, n, sizeof *f->points, fake_compare_points);
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        pthread_mutex_init(&f->s->shards[i].lock, NULL);
        fake_shard(f, i);
    }
    fake_index(f);
}

static inline void fake_close(struct fake *f)
{
    vdb_snapshot_close(f->s);
    free(f->points);
    free(f->vectors);
    free(f->texts);
    free(f->nearest);
}

#endif
