/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_MAP_BESIDE_H
#define GREBE_DATASET_MAP_BESIDE_H

/*
 * Columns that a function leaves as they are need not be written again: a part of a map is then a file of the columns that it
 * gave, and its table is made of both. Which columns stay, and where those given stand, follows from their names alone
 * (map_merge.h), so a file that was written before is opened without a word from the function.
 */

#include "dataset/map_merge.h"

/** Whether parts may be written so: the rows of the table as they lie, in a place of the library's own choice. */
bool map_beside_allowed(const struct map_job *j);
/** Whether a batch leaves a column as it was, with the feature that the result has for it. features: of the result. */
bool map_beside_fits(const struct map_job *j, const struct map_batch *b, const struct features *features);

/** The columns of b that are not in the data set as they are, moved out of it; b is empty then. */
grebe_status map_beside_given(const struct map_job *j, struct map_batch *b, struct map_batch *given, grebe_error *err);
/** Features of those columns. b: before they were moved out. */
grebe_status map_beside_given_features(const struct map_job *j, const struct map_batch *b, const struct features *features,
                                       struct features **out, grebe_error *err);
/** Whether exactly the columns of `given` are those that b does not leave as they are. */
bool map_beside_is_alike(const struct map_batch *b, const struct features *given);

/**
 * Rows [begin, begin + rows of given) of the data set with the columns given.
 *
 * @param features Of the result, made new.
 * @param n_rows   Of given.
 * @return GREBE_OK; GREBE_ECORRUPT: given has other than n_rows rows; GREBE_ESCHEMA: no column would stay.
 */
grebe_status map_beside_join(const struct map_job *j, int64_t begin, int64_t n_rows, const struct dataset_table *given,
                             const struct features *given_features, struct features **features, struct dataset_table **out,
                             grebe_error *err);

#endif
