/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_INDEX_SPARSE_INDEX_H
#define GREBE_INDEX_SPARSE_INDEX_H

/*
 * Kind sparse: lists of rows by term give sums of codes for a window of rows at a time; the rows with the best sums are
 * ranked by their float values (docs/internals/sparse_index.md).
 */

#include "index/index.h"
#include "index/index_bits.h"
#include "index/sparse_lists.h"

struct sparse_index {
    struct index base;
    struct vector_sparse rows; /* views of what is owned, or of a mapped file; offsets begin with 0 */
    int64_t *own_offsets;      /* NULL: mapped */
    uint32_t *own_terms;
    float *own_values;
    size_t row_capacity, value_capacity; /* of what is owned: rows, values */
    struct sparse_window *windows;       /* shape [n_windows], of SPARSE_WINDOW_ROWS rows each but the last */
    size_t n_windows;
    struct index_bits removed;
};

struct sparse_params {
    double query_prune;  /* share of the query's mass whose lists are left out */
    uint32_t candidates; /* rows that are ranked at least; 0: chosen by k */
    uint32_t exact;      /* 1: whatever could be among the k nearest is ranked */
};

/* ---- sparse_search.c ---- */

/** As index_ops.search and .range, with the parameters in their final form. */
grebe_status sparse_search(struct sparse_index *x, const struct vector_sparse *queries, const struct index_search *s,
                           const struct sparse_params *params, uint32_t *positions, float *distances, grebe_error *err);
grebe_status sparse_range(struct sparse_index *x, const struct vector_sparse *queries, float radius,
                          const struct index_search *s, struct index_ranges *out, grebe_error *err);

/* ---- sparse_file.c ---- */

grebe_status sparse_save(struct index *ix, struct index_writer *w, grebe_error *err);
grebe_status sparse_load(grebe_context *ctx, const struct index_config *config, struct index_file *file,
                         struct index **out, grebe_error *err);
/** An empty one. */
grebe_status sparse_new(grebe_context *ctx, const struct index_config *config, struct sparse_index **out,
                        grebe_error *err);
void sparse_free(struct index *ix);

#endif
