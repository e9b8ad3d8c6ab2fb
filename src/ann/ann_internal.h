/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_ANN_ANN_INTERNAL_H
#define GREBE_ANN_ANN_INTERNAL_H

#include "ann/ann_dataset.h"
#include "hdf5/hdf5_file.h"

/** A file being read into a data set. */
struct ann_reader {
    grebe_context *ctx;
    struct hdf5_file *f;
    struct ann_open_options o;
    const struct call *call;
    struct ann_dataset *d;
};

/** Report a finding, if somebody listens. */
void ann_find(const struct ann_reader *r, enum ann_level level, const char *place, const char *fmt, ...)
    GREBE_PRINTF(4, 5);

/** The data set of that name. GREBE_ECORRUPT: "data set X is missing". */
grebe_status ann_need(struct ann_reader *r, const char *name, const struct hdf5_data **out, grebe_error *err);
/** It has this rank (or 1 or 2 with 0) and numbers. */
grebe_status ann_need_rank(const struct hdf5_data *h, unsigned rank, grebe_error *err);
/** n times bytes stay below the call's memory limit. */
grebe_status ann_need_memory(const struct ann_reader *r, const struct hdf5_data *h, uint64_t n, uint64_t bytes,
                             grebe_error *err);
/** The whole of a data set of rank 1 as int64, in the data set's memory. */
grebe_status ann_read_ints(struct ann_reader *r, const struct hdf5_data *h, int64_t **out, grebe_error *err);

/* Vectors of both sides by layout. */
grebe_status ann_read_dense(struct ann_reader *r, grebe_error *err);
/** A data set whose base vectors stay in the file takes the file with it: r->f becomes NULL. */
void ann_own_file(struct ann_reader *r);
grebe_status ann_read_sparse(struct ann_reader *r, grebe_error *err);
grebe_status ann_read_sets(struct ann_reader *r, grebe_error *err);
grebe_status ann_read_multi(struct ann_reader *r, grebe_error *err);

/* What ann_check() looks at beyond loading. Findings go to `find`, which counts errors. */
struct ann_checker {
    const struct ann_dataset *d;
    const struct call *call;
    enum ann_profile profile;
    bool allow_padding;
    ann_finding_fn finding;
    void *arg;
    uint64_t n_errors;
};
void ann_checker_find(struct ann_checker *c, enum ann_level level, const char *place, const char *fmt, ...)
    GREBE_PRINTF(4, 5);
/** Everything beyond loading, of c->d. */
grebe_status ann_check_content(struct ann_checker *c, grebe_error *err);
/** Stored distances against exact ones, with the convention that they follow if it is another one. */
grebe_status ann_check_distances(struct ann_checker *c, grebe_error *err);
/** Whether what is stored are the nearest: an exact search for some queries. */
grebe_status ann_check_nearest(struct ann_checker *c, grebe_error *err);

#endif
