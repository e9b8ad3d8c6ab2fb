/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_IVF_CODES_H
#define GREBE_INDEX_IVF_CODES_H

/*
 * First-pass codes of rows in lists. A row is its list's centroid c and a residual p that the code decodes to p'.
 * With squared L2 its value for a query is |q - c - p'|^2 less |q|^2 = (|c|^2 - 2 q.c) + (|p'|^2 + 2 c.p') - 2 q.p':
 * the first bracket comes from choosing lists, the second is the row's bias, the last a sum of integers whose terms
 * depend on the query alone. With inner products: -q.c + (c.p' - c.p) - q.p', so that the error is that of q - c, as it
 * is with L2. Quant none keeps panels of floats (vector/tile.h).
 */

#include "index/index.h"
#include "index/ivf_kernels.h"

struct ivf_codes {
    const grebe_allocator *a;
    enum index_quant quant;
    bool is_l2;
    uint32_t dim, steps; /* of struct ivf_query */
    uint32_t row_codes;  /* bytes of one row before it is packed */
    size_t block_bytes, form_bytes;
    float *low, *step;   /* sq8, sq4: a component is low[d] + step[d] * code; shape [steps * 8] */
    float *tables;       /* pq4: shape [steps * 2][16][2] */
    struct ivf_rotation *rotation; /* rabitq */
    ivf_block_fn block; /* of the machine; NULL: panels */
};

/** @param seed Of the rotation (rabitq). */
grebe_status ivf_codes_init(struct ivf_codes *c, const grebe_allocator *a, enum index_quant quant, bool is_l2,
                            uint32_t dim, uint64_t seed, grebe_error *err);
void ivf_codes_release(struct ivf_codes *c); /* idempotent */

/** @param residuals shape [n][dim], n >= 1. */
grebe_status ivf_codes_train(struct ivf_codes *c, grebe_context *ctx, const float *residuals, size_t n,
                             const struct call *call, uint64_t seed, grebe_error *err);

/** Put a row into place r of a block. @return Its bias. */
float ivf_codes_put(const struct ivf_codes *c, const float *row, const float *centroid, uint8_t *block, uint32_t r);

/**
 * A query as the kernels want it. form: form_bytes, aligned to 32; borrowed by *out.
 * @return What every row's value has in common, to be added to that of the list.
 */
float ivf_codes_query(const struct ivf_codes *c, const float *query, void *form, struct ivf_query *out);

/** Quant none: values of two panels. */
uint32_t ivf_codes_panels(const struct ivf_codes *c, const uint8_t *block, const float *bias, const struct ivf_query *q,
                          float limit, float *values);
/** As ivf_block_fn, of the quantiser. */
static inline uint32_t ivf_codes_block(const struct ivf_codes *c, const uint8_t *block, const float *bias,
                                       const struct ivf_query *q, float base, float limit, float *values)
{
    return c->block != NULL ? c->block(block, bias, q, base, limit, values)
                            : ivf_codes_panels(c, block, bias, q, limit, values);
}

/** Sections and fields of what was trained. */
grebe_status ivf_codes_save(const struct ivf_codes *c, struct index_writer *w, grebe_error *err);
grebe_status ivf_codes_load(struct ivf_codes *c, const struct index_file *f, grebe_error *err);

#endif
