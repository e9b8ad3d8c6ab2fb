/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_IVF_H
#define GREBE_GITVDB_VDB_IVF_H

/*
 * The inverted file of format 2: how many centroids, which points train them, the four rounds of training, and the nearest
 * centroid of every point. All results are bit-equal to plain loops in f64 over ascending components, for any thread
 * count and instruction set: a fast f32 pass finds the candidates, within a proven bound of the error, and f64 decides among them.
 */

#include "base/pool.h"
#include "gitvdb/vdb_blob.h"

enum { VDB_SAMPLE_MAX = 8192, VDB_ROUNDS = 4, VDB_CENTROIDS_MAX = 4096, VDB_SHARD_BITS = 6 };

/** Centroids of a collection of n points: a power of two near sqrt(n), at most 4096; 0 for none. */
uint32_t vdb_centroid_count(uint64_t n);

/** The format's cosine: one f64 accumulator a sum, ascending; 0 where either vector is zero. */
double vdb_cosine(const float *a, const float *b, uint32_t dim);
/** sum of squares in f64, ascending. */
double vdb_norm2(const float *a, uint32_t dim);

/** Threads and cancel token of heavy work. */
struct vdb_work {
    const grebe_allocator *a;
    struct pool *pool;
    uint32_t threads;
    const grebe_cancel *cancel;
};

/**
 * Train.
 *
 * @param sample    Pointers to the vectors in the order of the sample. Shape [m], each [dim].
 * @param centroids Written, shape [k, dim]; k = vdb_centroid_count of the whole collection, 1 <= k.
 */
grebe_status vdb_train(const struct vdb_work *work, const float *const *sample, size_t m,
                       uint32_t dim, uint32_t k, float *centroids, grebe_error *err);

/** A codebook made ready for assignment; used by many threads. */
struct vdb_assigner;
grebe_status vdb_assigner_new(const struct vdb_work *work, const float *centroids, uint32_t k,
                              uint32_t dim, struct vdb_assigner **out, grebe_error *err);
/** Nearest centroid (the lowest of equals) of each of n vectors. @param vectors shape [n, dim]. @param out shape [n]. */
grebe_status vdb_assign(const struct vdb_assigner *s, const float *vectors, size_t n, uint16_t *out,
                        grebe_error *err);
void vdb_assigner_free(struct vdb_assigner *s);

#endif
