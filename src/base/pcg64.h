/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_BASE_PCG64_H
#define GREBE_BASE_PCG64_H

/*
 * The generator of numpy's default_rng: SeedSequence, PCG64 (XSL-RR 128/64), and the draws that data sets are ordered by.
 * Every number equals numpy's. Source: O'Neill 2014; numpy 2.4 random module (behaviour).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

struct pcg64 {
    uint64_t state_high, state_low, inc_high, inc_low;
    uint32_t half;      /* the upper half of a number of 64 bits, of which the lower was drawn */
    bool has_half;
};

/** words: shape [n], lowest first; n 0 counts as one word 0. A sequence of seeds is its words one after another. */
grebe_status pcg64_seed(const grebe_allocator *a, const uint32_t *words, size_t n, struct pcg64 *out, grebe_error *err);
/** A seed of 64 bits. */
void pcg64_seed_u64(uint64_t seed, struct pcg64 *out);

uint64_t pcg64_next64(struct pcg64 *g);
uint32_t pcg64_next32(struct pcg64 *g);
double pcg64_double(struct pcg64 *g); /* [0, 1) */
/** integers(0, last, endpoint=True): 0 … last, by Lemire's method. */
uint64_t pcg64_integer(struct pcg64 *g, uint64_t last);

/** Fisher and Yates with masked rejection, as permutation() and shuffle() do. rows: shape [n], permuted in place. */
void pcg64_shuffle(struct pcg64 *g, int64_t *rows, int64_t n);
/** permutation(n) into rows, shape [n]. */
void pcg64_permutation(struct pcg64 *g, int64_t n, int64_t *rows);

/** choice(p): cdf as pcg64_cdf() made it, shape [n]. */
size_t pcg64_choose(struct pcg64 *g, const double *cdf, size_t n);
/** Checked probabilities to their cumulative sums. GREBE_EINVAL as numpy's choice. */
grebe_status pcg64_cdf(const double *p, size_t n, double *cdf, grebe_error *err);
/** choice(n, size, replace=False) into out, shape [size]. */
grebe_status pcg64_choose_distinct(const grebe_allocator *a, struct pcg64 *g, int64_t n, int64_t size, int64_t *out,
                                   grebe_error *err);

#endif
