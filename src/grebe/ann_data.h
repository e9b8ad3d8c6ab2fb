/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_ANN_DATA_H
#define GREBE_GREBE_ANN_DATA_H

#include "ann/ann_dataset.h"
#include "grebe/ann.h"

/** Public content as the room's model: arrays are borrowed from it. */
grebe_status ann_data_of_content(grebe_context *ctx, const grebe_ann_content *content, struct ann_dataset *out,
                                 grebe_error *err);

/** A data set to the caller; d is moved in on success. */
grebe_status ann_data_new(struct ann_dataset *d, grebe_ann_data **out, grebe_error *err);
struct ann_dataset *ann_data_get(grebe_ann_data *data);

#endif
