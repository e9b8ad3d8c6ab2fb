/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GREBE_SOURCE_DATASET_H
#define GREBE_GREBE_SOURCE_DATASET_H

/* A saved data set as a source: FOLDER, FOLDER#SPLIT. */

#include "grebe/dataset.h"
#include "grebe/source.h"
#include "io/io.h"

struct source_dataset;

/** Whether uri is a folder that grebe_dataset_save_to_disk() writes, perhaps with "#SPLIT" behind it. */
bool source_is_dataset(struct io_store *store, const char *uri);
/** @param out Owned: source_dataset_close(). GREBE_EINVAL where several splits are there and none is named. */
grebe_status source_dataset_open(grebe_context *ctx, struct io_store *store, const char *uri,
                                 struct source_dataset **out, grebe_error *err);
void source_dataset_close(struct source_dataset *d); /* NULL accepted */
int64_t source_dataset_rows(const struct source_dataset *d);
grebe_status source_dataset_schema(struct source_dataset *d, struct ArrowSchema *out, grebe_error *err);
grebe_status source_dataset_scan(struct source_dataset *d, const grebe_scan_options *options,
                                 struct ArrowArrayStream *out, grebe_error *err);

#endif
