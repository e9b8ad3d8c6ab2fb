/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_ANN_LOAD_H
#define GREBE_GREBE_ANN_LOAD_H

/* Vectors and labels from anything that can be read: sources of rows, csr files, files of documents. */

#include "ann/ann_dataset.h"
#include "grebe/context.h"

/**
 * Rows of a source into v, in the memory of d. Sets d->layout (of both sides: is_first false expects the same).
 *
 * float64 and float16 become float32 (a float64 that does not fit exactly is rounded); uint8 becomes float32 unless
 * is_uint8_kept; bool is packed as bits.
 *
 * @param column NULL: the only column of lists.
 * @return GREBE_OK; GREBE_ESCHEMA (nulls, lists of several lengths, types); what opening and reading give.
 */
grebe_status ann_load_side(struct ann_dataset *d, struct ann_vectors *v, const char *uri, const char *column,
                           bool is_uint8_kept, bool is_first, const grebe_call_options *call, grebe_error *err);

/** One column of integers. @param n As many are expected. @param out In the memory of d. */
grebe_status ann_load_labels(struct ann_dataset *d, const char *uri, uint64_t n, const grebe_call_options *call, int64_t **out,
                             grebe_error *err);

#endif
