/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_INDEX_STORE_H
#define GREBE_INDEX_INDEX_STORE_H

/*
 * The rows that an index keeps for ranking: one array, each row padded with zeros to a multiple of 64 bytes, in huge
 * pages where the system gives them, or a section of a mapped file. Rows of COSINE are unit length (I8 and U8 ones
 * are therefore kept as F32: `elem` tells). The first rows get room for themselves alone, later ones by doubling; a
 * mapped array is copied when rows are added.
 */

#include "index/index.h"
#include "vector/distance.h"

enum { INDEX_DIM_MAX = 65536, INDEX_ROW_ALIGN = 64 };

/** Most components of a row of the type. */
uint32_t index_dim_max(enum vector_elem elem);

struct index_store {
    const grebe_allocator *a;
    enum vector_metric metric;
    enum vector_elem elem;
    uint32_t dim;
    size_t stride;
    const unsigned char *rows; /* of `owned`, or of a mapped file */
    unsigned char *owned;
    size_t owned_bytes;
    uint64_t n;
    const struct vector_distance_ops *ops;
};

grebe_status index_store_init(struct index_store *s, const grebe_allocator *a, enum vector_metric metric,
                              enum vector_elem elem, uint32_t dim, grebe_error *err);
void index_store_release(struct index_store *s); /* idempotent */
/** Room for n rows in all, in memory of its own. */
grebe_status index_store_reserve(struct index_store *s, uint64_t n, grebe_error *err);
/** Append; rows may be of another element type: converted to the store's, refused where that loses range (I8, U8). */
grebe_status index_store_append(struct index_store *s, const struct vector_rows *rows, grebe_error *err);
/** The query in the form of the store: converted, normalised. dst: stride bytes, aligned to 64. */
grebe_status index_store_query(const struct index_store *s, const struct vector_rows *queries, uint64_t i, void *dst,
                               grebe_error *err);
grebe_status index_store_save(const struct index_store *s, struct index_writer *w, grebe_error *err);
grebe_status index_store_load(struct index_store *s, const grebe_allocator *a, const struct index_config *config,
                              const struct index_file *f, uint64_t n, grebe_error *err);

static inline const void *index_store_row(const struct index_store *s, uint32_t position)
{
    return s->rows + (size_t)position * s->stride;
}

#endif
