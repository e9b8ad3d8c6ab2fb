/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_VECTOR_VECTOR_TYPES_H
#define GREBE_VECTOR_VECTOR_TYPES_H

/* Element types and metrics, and rows as every kernel and index sees them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** How one component is stored. The numbers are written to index files. */
enum vector_elem {
    VECTOR_F32 = 0,
    VECTOR_F16 = 1,
    VECTOR_BF16 = 2,
    VECTOR_I8 = 3,
    VECTOR_U8 = 4,
    VECTOR_BIT = 5, /* packed, most significant bit first (numpy.packbits) */
    VECTOR_F64 = 6  /* read and converted only */
};

/**
 * What is compared. Smaller is nearer for all of them. The numbers are written to index files.
 * What a kernel gives is named in brackets; vector_metric_finish() makes the distance of it that callers see.
 */
enum vector_metric {
    VECTOR_EUCLIDEAN = 0, /* [sum (a-b)^2]  sqrt of it */
    VECTOR_L2SQ = 1,      /* [sum (a-b)^2]  the same, not rooted: what hnswlib, faiss, VSAG's indexes give */
    VECTOR_IP = 2,        /* [-a.b]         1 - a.b */
    VECTOR_COSINE = 3,    /* [-a.b of unit rows]  1 - cos; exactly 1 when a or b is zero */
    VECTOR_HAMMING = 4,   /* [differing bits]     share of them, in [0, 1] */
    VECTOR_JACCARD = 5    /* [1 - |a and b| / |a or b|]  the same; 1 when either is empty */
};

/** Bytes of one packed row; 0 for an unknown type. */
size_t vector_row_bytes(enum vector_elem elem, uint32_t dim);

/** "float32", …; NULL for an unknown number. */
const char *vector_elem_name(enum vector_elem elem);
/** "euclidean", "l2", "ip", "angular", "hamming", "jaccard"; NULL for an unknown number. */
const char *vector_metric_name(enum vector_metric metric);
/** Also "cosine" (angular), "sqeuclidean" and "l2sq" (l2), "dot" (ip). GREBE_EINVAL names the legal ones. */
grebe_status vector_metric_parse(const char *name, enum vector_metric *out, grebe_error *err);

/** The distance for callers, of what a kernel gave; dim is for hamming. */
float vector_metric_finish(enum vector_metric metric, uint32_t dim, float kernel_value);

/** Borrowed dense rows. Row i begins at data + i * stride bytes. */
struct vector_rows {
    const void *data;
    size_t stride; /* bytes; at least vector_row_bytes() */
    uint64_t n;
    uint32_t dim;
    enum vector_elem elem;
};

/** Borrowed sparse rows: row i has terms and values [offsets[i], offsets[i + 1]). Terms of a row ascend strictly. */
struct vector_sparse {
    const int64_t *offsets; /* shape [n + 1] */
    const uint32_t *terms;
    const float *values;
    uint64_t n;
};

/**
 * n components of `elem` (not BIT) as float32, exact but for F64 (rounded to nearest).
 * @param dst shape [n]; must not overlap src.
 */
void vector_to_f32(enum vector_elem elem, const void *src, size_t n, float *dst);

#endif
