/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_IVF_INTERNAL_H
#define GREBE_INDEX_IVF_INTERNAL_H

/* The index of kind ivf (docs/internals/ivf.md). */

#include "index/index_exact.h"
#include "index/ivf_lists.h"
#include "vector/tile.h"

struct ivf_build_params {
    uint32_t lists, quant, rerank, train_rows, iterations, seed;
};

struct ivf_search_params {
    uint32_t nprobe;
    double k_factor;
};

struct ivf {
    struct index base;
    struct ivf_build_params params;
    struct index_store store;    /* rows by position, for ranking */
    struct index_bits removed;
    float *centroids;            /* shape [lists.n_lists][dim]; NULL: nothing was added yet */
    size_t centroid_bytes;
    struct tile_rows panels;     /* the centroids again */
    struct ivf_codes codes;
    struct ivf_lists lists;
};

/** Metric of lists and codes: squared L2 but for inner products. Unit rows under angular are in the order of L2. */
static inline bool ivf_is_l2(const struct ivf *x) { return x->store.metric != VECTOR_IP; }

/** How many candidates are ranked for k results. */
size_t ivf_candidates(const struct ivf *x, const struct ivf_search_params *p, size_t k);

grebe_status ivf_search(struct ivf *x, const struct vector_rows *queries, const struct index_search *s,
                        const struct ivf_search_params *p, uint32_t *positions, float *distances, grebe_error *err);
grebe_status ivf_range(struct ivf *x, const struct vector_rows *queries, float radius, const struct index_search *s,
                       const struct ivf_search_params *p, struct index_ranges *out, grebe_error *err);

#endif
