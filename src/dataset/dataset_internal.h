/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_DATASET_INTERNAL_H
#define GREBE_DATASET_DATASET_INTERNAL_H

/*
 * The data set behind its pointer. Invariants: rows of the data set are rows of the table, or, with indices, the rows of
 * the table that they name, in their order; indices are below the table's rows; features, table columns and info agree.
 */

#include <stdatomic.h>

#include "dataset/dataset_table.h"
#include "feature/features.h"
#include "grebe/dataset.h"

struct grebe_dataset {
    atomic_uint refs;
    grebe_context *ctx;
    struct dataset_table *table;
    struct dataset_indices *indices; /* NULL: all rows of the table in order */
    int64_t n_rows;
    struct features *features; /* owned */
    struct ArrowSchema schema; /* of the features, without metadata of the whole */
    /* what grebe_dataset_info tells; owned */
    char *features_json, *info_json, *fingerprint, *split;
    grebe_dataset_format format;
    const char **columns, **files;
    size_t n_files;
};

/** A data set over the table. All moved in on success. features: of the table's columns. */
grebe_status dataset_new(grebe_context *ctx, struct dataset_table *table, struct dataset_indices *indices,
                         struct features *features, const char *info_json, const char *split, const char *fingerprint,
                         const grebe_dataset_format *format, grebe_dataset **out, grebe_error *err);

/** Prepared or saved Arrow files as one data set. features NULL: from the first file. */
grebe_status dataset_open_files(grebe_context *ctx, const char *const *paths, size_t n, const struct features *features,
                                bool in_memory, const char *info_json, const char *split, const char *fingerprint,
                                grebe_dataset **out, grebe_error *err);

/** A dict of n sets. names copied, sets moved in on success. */
grebe_status dataset_dict_new(grebe_context *ctx, const char *const *names, grebe_dataset **sets, size_t n,
                              grebe_dataset_dict **out, grebe_error *err);

void dataset_format_release(const grebe_allocator *a, grebe_dataset_format *f);
/** src NULL: none. */
grebe_status dataset_format_copy(const grebe_allocator *a, const grebe_dataset_format *src, grebe_dataset_format *out,
                                 grebe_error *err);
grebe_status dataset_copy_features(const grebe_dataset *ds, struct features **out, grebe_error *err);

/** Columns by name as numbers, shape [n]; GREBE_ENOTFOUND naming the columns that there are. */
grebe_status dataset_find_columns(const grebe_dataset *ds, const char *const *names, size_t n, int *out, grebe_error *err);
int dataset_find_column(const grebe_dataset *ds, const char *name); /* -1: none */

/** Rows [begin, end) of the data set, of columns by number (NULL: all). */
grebe_status dataset_read_rows(const grebe_dataset *ds, int64_t begin, int64_t end, const int *columns, size_t n_columns,
                               struct ArrowArray *out, grebe_error *err);
/** The same of rows [begin, *end), or of so many fewer (*end is set) as 32-bit offsets count. */
grebe_status dataset_read_some(const grebe_dataset *ds, int64_t begin, int64_t *end, const int *columns, size_t n_columns,
                               struct ArrowArray *out, grebe_error *err);
/** A row at which a batch that is read cheaply may end: behind `row`, at most `most` rows further. */
int64_t dataset_batch_end(const grebe_dataset *ds, int64_t row, int64_t most);

/** Batches of the features' storage types as a data set. batches: shape [n], and features: moved in on success. */
grebe_status dataset_of_batches(grebe_context *ctx, struct features *features, struct ArrowArray *batches, size_t n,
                                grebe_dataset **out, grebe_error *err);

/** Data sets of the same number of rows side by side; none has a mapping, unless it is the only one. */
grebe_status dataset_join(const grebe_dataset *const *sets, size_t n, const char *fingerprint, grebe_dataset **out,
                          grebe_error *err);

/** Whether columns of the schema are of the features' types, in their order. GREBE_ESCHEMA. */
grebe_status dataset_check_types(grebe_context *ctx, const struct features *f, const struct ArrowSchema *schema,
                                 grebe_error *err);

#endif
