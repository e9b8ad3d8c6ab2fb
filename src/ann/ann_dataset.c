/* SPDX-License-Identifier: Apache-2.0 */
#include "ann/ann_dataset.h"

#include <string.h>

#include "base/checked.h"
#include "vector/distance.h"
#include "vector/sparse_dot.h"

/* Memory of a data set: it stands behind this head, aligned for vectors. */
struct ann_block {
    struct ann_block *next;
    size_t bytes; /* with the head */
};

enum { HEAD = 64 };

grebe_status ann_dataset_new(grebe_context *ctx, struct ann_dataset **out, grebe_error *err)
{
    struct ann_dataset *d = mem_alloc_zero(ctx->a, sizeof *d);
    *out = d;
    if (d == NULL) {
        return mem_fail(err, sizeof *d, "a data set");
    }
    d->ctx = ctx;
    d->is_maxsim_squared = true;
    d->distance_tolerance = 1e-4;
    return GREBE_OK;
}

void ann_dataset_free(struct ann_dataset *d)
{
    if (d == NULL) {
        return;
    }
    if (d->close_rows != NULL) {
        d->close_rows(d->train.rows.arg);
    }
    while (d->blocks != NULL) {
        struct ann_block *b = d->blocks;
        d->blocks = b->next;
        mem_free_aligned(d->ctx->a, b, b->bytes, MEM_ALIGN_VECTOR);
    }
    mem_free(d->ctx->a, d, sizeof *d);
}

grebe_status ann_array(struct ann_dataset *d, uint64_t n, size_t elem_bytes, const char *what, void **out,
                       grebe_error *err)
{
    uint64_t bytes = 0;
    *out = NULL;
    if (!checked_mul_u64(n, elem_bytes, &bytes) || !checked_add_u64(bytes, 2 * HEAD, &bytes) || bytes > SIZE_MAX / 2) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %llu elements of %zu bytes are beyond any memory", what,
                          (unsigned long long)n, elem_bytes);
    }
    struct ann_block *b = mem_alloc_aligned(d->ctx->a, (size_t)bytes, MEM_ALIGN_VECTOR);
    if (b == NULL) {
        return mem_fail(err, (size_t)bytes, what);
    }
    memset(b, 0, (size_t)bytes);
    b->next = d->blocks;
    b->bytes = (size_t)bytes;
    d->blocks = b;
    *out = (unsigned char *)b + HEAD;
    return GREBE_OK;
}

static double sparse_distance(const struct ann_vectors *x, uint64_t i, const struct ann_vectors *y, uint64_t j)
{
    int64_t a = x->offsets[i], b = y->offsets[j];
    return 1 - vector_sparse_dot(x->terms + a, x->values + a, (size_t)(x->offsets[i + 1] - a), y->terms + b, y->values + b,
                                 (size_t)(y->offsets[j + 1] - b));
}

static double set_distance(const struct ann_vectors *x, uint64_t i, const struct ann_vectors *y, uint64_t j)
{
    int64_t a = x->offsets[i], a_end = x->offsets[i + 1], b = y->offsets[j], b_end = y->offsets[j + 1];
    int64_t n = a_end - a, m = b_end - b, both = 0;
    while (a < a_end && b < b_end) {
        uint32_t t = x->terms[a], u = y->terms[b];
        both += t == u;
        a += t <= u;
        b += u <= t;
    }
    return n == 0 || m == 0 ? 1 : 1 - (double)both / (double)(n + m - both);
}

static double maxsim_distance(const struct ann_dataset *d, uint64_t q, uint64_t r)
{
    enum vector_metric metric = d->metric == VECTOR_EUCLIDEAN && d->is_maxsim_squared ? VECTOR_L2SQ : d->metric;
    int64_t a = d->test.offsets[q], b = d->train.offsets[r], dim = d->train.dim;
    return vector_maxsim(metric, (const float *)d->test.dense + a * dim, (size_t)(d->test.offsets[q + 1] - a),
                         (const float *)d->train.dense + b * dim, (size_t)(d->train.offsets[r + 1] - b), d->train.dim);
}

double ann_distance(const struct ann_dataset *d, uint64_t q, uint64_t r)
{
    if (d->layout == ANN_SPARSE) {
        return sparse_distance(&d->test, q, &d->train, r);
    }
    if (d->layout == ANN_SETS) {
        return set_distance(&d->test, q, &d->train, r);
    }
    if (d->layout == ANN_MULTI) {
        return maxsim_distance(d, q, r);
    }
    return ann_distance_to(d, q, (const unsigned char *)d->train.dense + r * vector_row_bytes(d->train.elem, d->train.dim));
}

double ann_distance_to(const struct ann_dataset *d, uint64_t q, const void *row)
{
    size_t bytes = vector_row_bytes(d->train.elem, d->train.dim);
    double x = vector_distance_exact(d->metric, d->train.elem, (const unsigned char *)d->test.dense + q * bytes, row,
                                     d->train.dim);
    return d->is_int8_negated_ip ? x - 1 : x;
}
