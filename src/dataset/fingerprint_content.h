/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_FINGERPRINT_CONTENT_H
#define GREBE_DATASET_FINGERPRINT_CONTENT_H

/* Rows in memory have no history to be named by: their values are. */

#include "dataset/dataset_table.h"

/**
 * Of names, types and values; however the rows are cut into batches. Bytes under nulls do not count.
 *
 * @param features JSON.
 */
grebe_status fingerprint_of_rows(const struct dataset_table *t, const char *features, char out[17], grebe_error *err);

#endif
