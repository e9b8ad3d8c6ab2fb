/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_DATASET_TRANSFORM_H
#define GREBE_DATASET_TRANSFORM_H

/* What every transform does: options, fingerprint, place of the result, a data set like the one before. */

#include "base/context_internal.h"
#include "dataset/dataset_internal.h"
#include "dataset/fingerprint.h"

struct transform {
    const grebe_dataset *ds;
    grebe_transform_options o;
    struct call call;
    struct fingerprint f; /* arguments are absorbed in ascending order of their names */
    char fingerprint[65];
    struct buf path;
};

/** name: of the method of `datasets`. */
grebe_status transform_begin(struct transform *t, const grebe_dataset *ds, const grebe_transform_options *options,
                             const char *name, grebe_error *err);
void transform_end(struct transform *t); /* idempotent after a begin that failed, too */
/** All arguments are absorbed: the fingerprint, unless the caller gave one. given NULL: options' own. */
grebe_status transform_seal(struct transform *t, const char *given, grebe_error *err);
/* Arguments of all: absorbed when they are not the default. */
grebe_status transform_arg_name(struct transform *t, grebe_error *err);   /* fingerprint_name */
grebe_status transform_arg_memory(struct transform *t, grebe_error *err); /* keep_in_memory */
grebe_status transform_arg_batch(struct transform *t, grebe_error *err);  /* writer_batch_size */

/**
 * Where the result is written: the caller's cache file, or by the fingerprint beside the data set's first file.
 *
 * @param given  NULL: options' own.
 * @param suffix Behind the fingerprint; "" mostly.
 * @param out    NULL: it stays in memory. Borrowed from t until the next call.
 */
grebe_status transform_path(struct transform *t, const char *given, const char *suffix, const char **out,
                            grebe_error *err);
/** Whether a result may be taken from that file. */
bool transform_finds(const struct transform *t, const char *path);
grebe_status transform_check(struct transform *t, grebe_error *err);
void transform_progress(const struct transform *t, const char *phase, int64_t done, int64_t total);

/** Of what it becomes, whatever is not NULL is new; moved in, also on failure. */
struct derived {
    struct dataset_table *table;
    struct dataset_indices *indices;
    bool are_rows_new; /* indices are as given, not those of the data set before */
    struct features *features;
    const grebe_dataset_format *format; /* NULL: as before; columns that came are formatted, those that went are not */
};
grebe_status dataset_derive(const grebe_dataset *ds, struct derived *d, const char *fingerprint, grebe_dataset **out,
                            grebe_error *err);

/** Rows by position in the data set, all in range: a slice when they follow each other, else a mapping, written to path
 * unless that is NULL. */
grebe_status dataset_select_rows(struct transform *t, const int64_t *rows, int64_t n, const char *path,
                                 grebe_dataset **out, grebe_error *err);
/** The same; rows (allocated by mem_alloc(n * 8)) are moved in, also on failure, and become the mapping. */
grebe_status dataset_select_order(struct transform *t, int64_t *rows, int64_t n, const char *path, grebe_dataset **out,
                                  grebe_error *err);
/** Rows [begin, end). */
grebe_status dataset_slice_rows(struct transform *t, int64_t begin, int64_t end, grebe_dataset **out, grebe_error *err);
/** A result that a file of indices holds. */
grebe_status dataset_with_indices_file(struct transform *t, const char *path, grebe_dataset **out, grebe_error *err);
/** rows: shape [n], of the table. */
grebe_status dataset_write_indices(struct transform *t, const char *path, const uint64_t *rows, int64_t n,
                                   grebe_error *err);

/** A file's rows, of features `to`, are the result. GREBE_ESCHEMA: it has others. */
grebe_status transform_take_file(struct transform *t, const char *path, const struct features *to, grebe_dataset **out,
                                 grebe_error *err);

/** What becomes of a batch. rows: moved in, also on failure; NULL fn: they stay as they are. */
typedef grebe_status (*rewrite_fn)(void *arg, struct ArrowArray *rows, int64_t first_row, struct ArrowArray *out,
                                   grebe_error *err);
/** All rows written anew as features `to`, or found written. */
grebe_status dataset_rewrite(struct transform *t, const struct features *to, rewrite_fn fn, void *arg,
                             grebe_dataset **out, grebe_error *err);

#endif
