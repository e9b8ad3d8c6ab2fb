/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_ANN_LOAD_H
#define GREBE_GREBE_ANN_LOAD_H

/* Vectors and labels from anything that can be read: sources of rows, csr files, files of documents. */

#include "ann/ann_dataset.h"
#include "grebe/context.h"

struct ann_load {
    const char *uri;
    const char *column; /* NULL: the only column of lists */
    bool is_uint8_kept;
    bool is_by_rows;    /* dense vectors above half of the memory limit are left in their source: v->rows */
    const grebe_call_options *call;
};

/**
 * Rows of a source into v, in the memory of d. Sets d->layout (of both sides: is_first false expects the same).
 *
 * float64 and float16 become float32 (a float64 that does not fit exactly is rounded); uint8 becomes float32 unless
 * is_uint8_kept; bool is packed as bits.
 *
 * @return GREBE_OK; GREBE_ESCHEMA (nulls, lists of several lengths, types); what opening and reading give.
 */
grebe_status ann_load_side(struct ann_dataset *d, struct ann_vectors *v, const struct ann_load *o, bool is_first,
                           grebe_error *err);

/**
 * Of rows that were left in their source: those that are drawn are no longer among them. v->n and v->rows.n stay.
 * @param drawn Shape [n], ascending row numbers; in the memory of the data set.
 */
void ann_load_leave_out(struct ann_vectors *v, const uint64_t *drawn, uint64_t n);

/**
 * Neighbours of the queries that others found, and distances with them: neighbors, k and distances of d.
 *
 * @param distances     NULL: those behind the ids of a .gt or .knn file, if it is one.
 * @param k             That many columns are taken; 0: all.
 * @param has_distances Whether there were any; else they are 0.
 * @return GREBE_OK; GREBE_ESCHEMA (rows, columns, types); what opening and reading give.
 */
grebe_status ann_load_truth(struct ann_dataset *d, const char *neighbors, const char *distances, uint64_t k,
                            const grebe_call_options *call, bool *has_distances, grebe_error *err);

/** One column of integers. @param n As many are expected. @param out In the memory of d. */
grebe_status ann_load_labels(struct ann_dataset *d, const char *uri, uint64_t n, const grebe_call_options *call, int64_t **out,
                             grebe_error *err);

#endif
