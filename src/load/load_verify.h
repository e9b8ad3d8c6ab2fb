/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_LOAD_LOAD_VERIFY_H
#define GREBE_LOAD_LOAD_VERIFY_H

/* What a README says of the splits, against what they are. */

#include "load/load_prepared.h"

/** Whether the plan has something to compare with, and shall. */
bool load_is_verified(const struct load_plan *p);

/** Splits that were prepared. GREBE_ESCHEMA: one is missing, one is not recorded, or has another number of rows. */
grebe_status load_verify(const struct load_plan *p, const struct prepared_split *splits, size_t n, grebe_error *err);
/** The names alone. */
grebe_status load_verify_names(const struct load_plan *p, grebe_error *err);

/**
 * A loader that counts: when all files of a split have been read to their ends, rows are compared; the last read fails if
 * they differ.
 *
 * @param inner Moved in, also on failure.
 */
grebe_status load_verified_builder(struct load_plan *p, struct builder *inner, struct builder **out, grebe_error *err);

#endif
