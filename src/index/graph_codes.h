/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_GRAPH_CODES_H
#define GREBE_INDEX_GRAPH_CODES_H

/*
 * What a walk measures distances with: the rows of a store themselves, or short codes of them. Code rows are padded
 * with zeros to a multiple of 32 bytes, so that no row touches more cache lines than it has to.
 *
 * A component x of column c is (x - mean[c]) * scale, rounded and clipped. Taking the mean away changes no order: for
 * L2 both sides move, for products every row's value moves by the same query . mean.
 *
 *   sq8, products: base -127…127, query in a scale of its own -127…127
 *   sq8, L2:       base and query -63…63 in one scale, so that a difference fits 8 bits
 *   sq4, products: base 0…15 (for -7.5…7.5), query as above; byte i of a block of 32 holds components i and i + 32
 *   sq4, L2:       the same base times 8, query 0…127 in the same scale
 *
 * All sums are exact in 32 bits: every variant gives the same value.
 */

#include "index/index_store.h"

enum graph_quant { GRAPH_QUANT_NONE = 0, GRAPH_QUANT_SQ8 = 1, GRAPH_QUANT_SQ4 = 2 };

enum { GRAPH_CODE_BLOCK = 32 };

/** Value per row: smaller is nearer. `dim` of the function type is the number of blocks here. */
struct graph_code_kernels {
    vector_gather_fn gather;
    vector_many_fn many;
};

struct graph_codes {
    const grebe_allocator *a;
    enum graph_quant quant;
    bool is_l2;
    uint32_t dim, blocks; /* `blocks` is what the kernels take as dim; without codes the store's dim */
    size_t stride, query_bytes;
    float scale;
    float *mean; /* shape [dim]; NULL without codes */
    const unsigned char *rows;
    unsigned char *owned;
    size_t owned_bytes;
    uint64_t n, n_trained; /* n_trained: rows that means and scale were learnt of */
    struct graph_code_kernels kernels;
};

/** The kernels of a level; false: the machine cannot run it. */
bool graph_code_kernels_of(enum cpu_simd level, enum graph_quant quant, bool is_l2, struct graph_code_kernels *out);
bool graph_code_kernels_avx2(enum graph_quant quant, bool is_l2, struct graph_code_kernels *out);

/** Codes of a store's rows; without codes the struct only points at the store's rows. */
grebe_status graph_codes_init(struct graph_codes *c, const struct index_store *s, enum graph_quant quant,
                              grebe_error *err);
void graph_codes_release(struct graph_codes *c); /* idempotent */
/**
 * Encode the store's rows from c->n on. Means and scale are learnt of a sample of the rows first, and once more (all
 * rows are encoded anew then) when there are twice as many, until the sample is a large one.
 *
 * @param is_anew All codes have changed. On failure none has.
 */
grebe_status graph_codes_append(struct graph_codes *c, const struct index_store *s, bool *is_anew, grebe_error *err);
/**
 * A query in the form of the kernels.
 *
 * @param row   In the store's form (index_store_query, or a row of it).
 * @param wide  Room for dim floats.
 * @param dst   query_bytes, aligned to 64. Without codes: not used.
 * @return What the kernels take: dst, or row.
 */
const void *graph_codes_query(const struct graph_codes *c, enum vector_elem elem, const void *row, float *wide,
                              void *dst);
/**
 * What a value of the kernels is worth: the store's kernel would give about value * factor + offset.
 * @param wide The query's components, as graph_codes_query() leaves them.
 */
void graph_codes_worth(const struct graph_codes *c, const float *wide, float *factor, float *offset);
/** The row that a code row stands for. dst: shape [dim]. */
void graph_codes_decode(const struct graph_codes *c, const unsigned char *row, float *dst);
grebe_status graph_codes_save(const struct graph_codes *c, struct index_writer *w, grebe_error *err);
/** After graph_codes_init(). */
grebe_status graph_codes_load(struct graph_codes *c, const struct index_file *f, uint64_t n, grebe_error *err);

#endif
